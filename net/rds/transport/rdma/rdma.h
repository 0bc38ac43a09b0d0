/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RDMA transport: paths and their connections.
 *
 * struct rds_rdma_path is the private part of a path and lives as long.  struct
 * rds_rdma_conn is one connection of a path, a queue pair with all that belongs
 * to it, from path_connect or path_attach to the end of path_close, or of the
 * work of its id to which path_close may leave the rest.
 *
 * Ownership of a connection: rds_rdma_path.conn, which path_connect,
 * path_attach and path_close change under the core's control mutex.
 * <net/rds/dev_id.h> says who else finds it until it is freed.
 *
 * A path to its own address (laddr equal to faddr) has two: @conn, which
 * transmits and receives acknowledgements, and its @twin, the accepting end,
 * which receives messages and sends acknowledgements.  Both deliver into the
 * one path.
 *
 * Contexts: completions of one connection (both
 * queues have one CQ, see cq.c) one at a time, in softirq.  One context at a
 * time takes received frames in: completions, or a worker while frames wait
 * (defer.c).  xmit in process context, one at a time.
 *
 * Locks: rds_rdma_conn.tx_lock (spin, bh) guards what xmit and the completions
 * share: free slots, credits, acknowledgements to send, receives to post.  It
 * is a leaf.  ib_post_send() and ib_post_recv() are called under it, so that
 * headers carry credits and acknowledgements in the order in which they leave,
 * and only while the connection does not end.  path_close has it end, and takes
 * tx_lock once before it drains the queue pair, so nothing is posted behind the
 * drain.
 */
#ifndef _RDS_RDMA_RDMA_H
#define _RDS_RDMA_RDMA_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include <net/rds/dev.h>
#include <net/rds/dev_cq.h>
#include <net/rds/dev_domain.h>
#include <net/rds/dev_id.h>
#include <net/rds/dev_key.h>
#include <net/rds/dev_service.h>
#include <net/rds/dev_user.h>
#include <net/rds/memop.h>
#include <net/rds/transport.h>

#include "credit.h"
#include "privdata.h"
#include "rings.h"
#include "stats.h"

/*
 * CM ports (protocol.rst 4.2); iWARP uses 18634 for IPv6 as well, as a real TCP
 * port
 */
#define RDS_RDMA_PORT		18634
#define RDS_RDMA_PORT_IPV6	16385

struct rds_rdma_conn;
struct rds_rdma_slot;

/**
 * struct rds_rdma_path - private part of a path
 * @path: the path
 * @conn: present connection or attempt, NULL when closed; changed under the
 *	control mutex
 */
struct rds_rdma_path {
	struct rds_path		*path;
	struct rds_rdma_conn	*conn;
};

/**
 * struct rds_rdma_conn - one connection of a path
 * @path: path of the connection, NULL while it has none
 * @rpath: private part of @path
 * @id: connection id; its lock guards @path, @rpath and @why
 * @lim: see struct rds_rdma_limits
 * @why: reason of the failure that ended the connection
 * @cq: completion queue (cq.c)
 * @self_node: entry in self_attempts (cm.c)
 * @twin: accepting end of a path to its own address, else NULL
 * @is_twin: the connection is the @twin of another
 * @peer: contents of the peer's private data
 *
 * @tx_lock: guards what xmit and completions share; initialised with the
 *	connection
 * @stats: counters of the namespace
 * @data_work: fills the receive ring and wakes xmit after a shortage of memory
 *	(data.c)
 * @hold_work: takes in frames that waited for a reader (defer.c)
 * @lent_work: releases lent pages that are kept for later use (rxpage.c)
 *
 * Send side (send.c, ack.c, op.c), under @tx_lock unless said otherwise:
 * @tx_open: rds_rdma_data_established() was called
 * @slots: array of rds_rdma_limits.send_slots
 * @max_inline: most bytes that the queue pair takes inline, or 0
 * @tx_hdr: one mapped page with the headers of @slots and of the frame that
 *	only acknowledges
 * @tx_hdr_dma: bus address of @tx_hdr
 * @tx_head: number of frames posted so far
 * @tx_tail: number of the oldest frame whose slot is in use; advanced by
 *	completions only
 * @unsignalled: frames since the last signalled one
 * @tx_flags: header flags of the message being sent; used by xmit only
 * @blocked: RDS_RDMA_NO_* that xmit waits for; the context that clears it calls
 *	rds_path_writable()
 * @credit: credits, see credit.h
 * @last_seq: highest message number posted, and the highest that the peer may
 *	acknowledge
 * @unacked_msgs: messages that may be sent before one asks for acknowledgement
 * @unacked_bytes: bytes that may be sent before a message asks for
 *	acknowledgement
 * @ack_seq: number of the last message received whole, to be acknowledged
 * @ack_told: what the last header acknowledged
 * @ack_due: the peer asked for an acknowledgement that is not sent yet, or
 *	@ack_work found one
 * @ack_armed: @ack_work is queued
 * @ack_work: acknowledges what the peer did not ask to (ack.c)
 * @ack_busy: the one frame that only acknowledges is under way
 * @grant_next: while the path waits for a reader, when the next such frame may
 *	be sent only to grant credits, in jiffies
 * @ack_cqe: completion of the frame that only acknowledges
 * @op_wrs: work requests of operations that are under way
 * @nr_ops: length of @ops
 * @op_fenced: number of @ops whose following frames wait in xmit, and not in
 *	the device
 * @op_retries: consecutive attempts without memory or keys; used by xmit only
 * @ops: operations under way, struct rds_rdma_op (op.c)
 * @op_pending: operations with work requests still to be posted, in order
 * @ops_idle: woken when @ops becomes empty
 * @confirm_page: memory for READs that confirm WRITEs; made by xmit when first
 *	needed, or NULL
 * @confirm: object of the key of @confirm_page; made by xmit with the page
 * @confirm_keyed: the device has taken the work request that makes @confirm
 *	valid
 *
 * @rx: receive side
 */
struct rds_rdma_conn {
	struct rds_path		*path;
	struct rds_rdma_path	*rpath;
	struct rds_dev_id	id;
	struct rds_rdma_limits	lim;
	enum rds_drop_reason	why;
	struct rds_dev_cq	cq;
	struct list_head	self_node;
	struct rds_rdma_conn	*twin;
	bool			is_twin;
	struct rds_rdma_peer	peer;

	spinlock_t		tx_lock;
	struct rds_rdma_stats __percpu *stats;
	struct delayed_work	data_work;
	struct delayed_work	hold_work;
	struct delayed_work	lent_work;

	bool			tx_open;
	struct rds_rdma_slot	*slots;
	u32			max_inline;
	struct rds_wire_header	*tx_hdr;
	u64			tx_hdr_dma;
	unsigned int		tx_head;
	unsigned int		tx_tail;
	unsigned int		unsignalled;
	u8			tx_flags;
	u8			blocked;
	struct rds_rdma_credit	credit;
	u64			last_seq;
	u32			unacked_msgs;
	u32			unacked_bytes;
	u64			ack_seq;
	u64			ack_told;
	bool			ack_due;
	bool			ack_armed;
	bool			ack_busy;
	unsigned long		grant_next;
	struct ib_cqe		ack_cqe;
	struct delayed_work	ack_work;
	unsigned int		op_wrs;
	unsigned int		nr_ops;
	unsigned int		op_fenced;
	unsigned int		op_retries;
	struct list_head	ops;
	struct list_head	op_pending;
	wait_queue_head_t	ops_idle;
	struct page		*confirm_page;
	struct rds_dev_mr	*confirm;
	bool			confirm_keyed;

	struct rds_rdma_rx	rx;
};

/* conn.c and cm.c: functions of &rds_transport */
int rds_rdma_path_init(struct rds_path *path);
void rds_rdma_path_free(struct rds_path *path);
int rds_rdma_path_connect(struct rds_path *path);
void rds_rdma_path_attach(struct rds_path *path, void *handle);
void rds_rdma_path_close(struct rds_path *path, bool graceful);
void rds_rdma_refuse(struct net *net, void *handle);

/* cm.c: functions of &rds_dev_service */
u16 rds_rdma_listen_port(const struct rds_dev_props *props, bool v6);
int rds_rdma_request(struct rds_dev_service *svc, struct rds_dev_domain *dom,
		     struct rdma_cm_id *cm_id,
		     const struct rdma_conn_param *param);

/*
 * Make a connection from @local to @remote and enter it at @dom.  NULL without
 * memory, or if the domain ends.
 */
struct rds_rdma_conn *rds_rdma_conn_new(struct rds_dev_domain *dom,
					const struct rds_dev_laddr *local,
					const struct in6_addr *remote);

/* Give it a path; false if it has ended before.  Does not sleep. */
bool rds_rdma_conn_own(struct rds_rdma_conn *conn, struct rds_path *path,
		       struct rds_rdma_path *rp);

/*
 * Fail @conn: nothing more is posted, and the core is told (rds_path_lost());
 * later calls do nothing.  Any context but hard interrupts.
 */
void rds_rdma_conn_fail(struct rds_rdma_conn *conn, enum rds_drop_reason why);

/* cm.c: .param and .answer of &rds_dev_id_ops */
void rds_rdma_cm_param(struct rds_dev_id *id, struct rdma_conn_param *param,
		       u8 *buf);
bool rds_rdma_cm_answer(struct rds_dev_id *id,
			const struct rdma_conn_param *param);

/*
 * cm.c: let the twin find the attempt, if it is one to an own address; prevent
 * that it gets a twin from now on, and return the one that it has, or NULL.
 */
void rds_rdma_cm_enter_self(struct rds_rdma_conn *conn);
struct rds_rdma_conn *rds_rdma_cm_forget_self(struct rds_rdma_conn *conn);

/*
 * data.c: the data path of a connection.  _lacks says why a device cannot carry
 * it, or NULL; _limits fills in conn->lim.  _attr fills in what the queue pair
 * must hold, with one request in each queue for ib_drain_qp(); _create
 * allocates rings (may sleep); _start posts the first receives, after the queue
 * pair was made and before connect or accept, and counts them in conn->credit;
 * _stop runs after rds_dev_id_stop(), and ends works and every operation that
 * is left, as flushed; _free ends slots and receives, and frees all memory,
 * when no completion runs or will run.  Both may be called if _create or _start
 * failed or was never called.
 */
const char *rds_rdma_data_lacks(const struct rds_dev_props *props);
void rds_rdma_data_limits(struct rds_rdma_limits *lim,
			  const struct rds_dev_props *props);
void rds_rdma_data_attr(const struct rds_rdma_conn *conn,
			struct ib_qp_init_attr *attr);
int rds_rdma_data_create(struct rds_rdma_conn *conn);
int rds_rdma_data_start(struct rds_rdma_conn *conn);
void rds_rdma_data_stop(struct rds_rdma_conn *conn);
void rds_rdma_data_free(struct rds_rdma_conn *conn);

/*
 * Take over the credits of conn->peer and open the receive side.  Process
 * context; at the accepting end before it accepts.  At the other end receives
 * may complete earlier, when the core does not know yet which incarnation of
 * the peer sent them: they are deferred, and delivered from here.
 */
void rds_rdma_data_established(struct rds_rdma_conn *conn);

/* send.c */
enum rds_tx_result rds_rdma_xmit(struct rds_path *path,
				 struct rds_tx_batch *batch);

/* info.c, sysctl.c, main.c */
int rds_rdma_info_init(void);
void rds_rdma_info_exit(void);
int rds_rdma_sysctl_init(void);
void rds_rdma_sysctl_exit(void);
extern const struct rds_transport rds_rdma_transport;
extern struct rds_dev_user rds_rdma_user;
extern const struct rds_memop_vtable rds_rdma_memop_vtable;	/* memop.c */
/* works that connections need beside those that sleep; WQ_MEM_RECLAIM */
extern struct workqueue_struct *rds_rdma_data_wq;
/* module parameter rds_ib_retry_count */
extern unsigned int rds_rdma_retry_count;
extern unsigned int rds_rdma_max_unsignaled;	/* sysctl max_unsignaled_wr */

#endif
