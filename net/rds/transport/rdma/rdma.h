/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RDMA transport: paths and their connections.
 *
 * struct rds_rdma_path is the private part of a path and lives as long.  struct
 * rds_rdma_conn is one connection of a path, a queue pair with all that belongs
 * to it, from path_connect or path_attach to the end of path_close, or of
 * reap_work, to which path_close may leave the rest.
 *
 * Ownership of a connection: rds_rdma_path.conn, which path_connect,
 * path_attach and path_close change under the core's control mutex.  CM events
 * find it by rdma_cm_id.context, and end when rdma_destroy_id() has returned;
 * completions find it by their ib_cqe, and end when the queue pair has been
 * drained.  Both happen before the connection is freed, so neither has a
 * reference.
 *
 * A path to its own address (laddr equal to faddr) has two: @conn, which
 * transmits and receives acknowledgements, and its @twin, the accepting end,
 * which receives messages and sends acknowledgements.  Both deliver into the
 * one path.
 *
 * Contexts: CM events in work queues that all RDMA connections of the host
 * share, one at a time for each id (cm.c).  Completions of one connection (both
 * queues have one CQ, see cq.c) one at a time, in softirq.  xmit in process
 * context, one at a time.
 *
 * Locks: rds_rdma_conn.tx_lock (spin, bh) guards what xmit and the completions
 * share: free slots, credits, acknowledgements to send, receives to post.  It
 * is a leaf.  ib_post_send() and ib_post_recv() are called under it, so that
 * headers carry credits and acknowledgements in the order in which they leave,
 * and only while @ending is false.  path_close sets @ending and takes tx_lock
 * once before it drains the queue pair, so nothing is posted behind the drain.
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

#include <net/rds/transport.h>

#include "cm.h"
#include "cq.h"
#include "credit.h"
#include "device.h"
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
 * @dev: device that the connection is entered at, counted
 * @dev_node: entry in @dev's conns, walk or closing, under its lock
 * @local: local address
 * @remote: address of the peer
 * @id: CM id; its context is the connection
 * @qp: queue pair of @id, or NULL
 * @cq: completion queue (cq.c)
 * @cm: state that only conn.c, cm.c and link.c use, with a lock of its own
 * @accepted: the peer opened the connection
 * @twin: accepting end of a path to its own address, else NULL
 * @is_twin: the connection is the @twin of another
 * @established: the CM reported ESTABLISHED
 * @silent: the accepting end on a device with active_first may not send yet
 * @up: rds_path_up() was called
 * @ending: path_close has begun or the connection failed: nothing is posted any
 *	more
 * @peer: contents of the peer's private data
 * @connect_work: steps of connecting that CM handlers cannot wait for
 *
 * @tx_lock: guards what xmit and completions share; initialised with the
 *	connection
 * @stats: counters of the namespace
 * @data_work: fills the receive ring and wakes xmit after a shortage of memory
 *	(data.c)
 * @lent_work: releases lent pages that are kept for later use (rxpage.c)
 *
 * Send side (send.c, ack.c, op.c), under @tx_lock unless said otherwise:
 * @tx_open: rds_rdma_data_established() was called
 * @slots: array of RDS_RDMA_SEND_SLOTS
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
 * @ack_due: the peer asked for an acknowledgement that is not sent yet
 * @ack_busy: the one frame that only acknowledges is under way
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
 * @confirm: key of @confirm_page
 *
 * @rx: receive side
 */
struct rds_rdma_conn {
	struct rds_path		*path;
	struct rds_rdma_path	*rpath;
	struct rds_rdma_dev	*dev;
	struct list_head	dev_node;
	struct rds_rdma_laddr	local;
	struct in6_addr		remote;
	struct rdma_cm_id	*id;
	struct ib_qp		*qp;
	struct rds_rdma_cq	cq;
	struct rds_rdma_cm	cm;
	bool			accepted;
	struct rds_rdma_conn	*twin;
	bool			is_twin;
	bool			established;
	bool			silent;
	bool			up;
	bool			ending;
	struct rds_rdma_peer	peer;
	struct work_struct	connect_work;

	spinlock_t		tx_lock;
	struct rds_rdma_stats __percpu *stats;
	struct delayed_work	data_work;
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
	bool			ack_due;
	bool			ack_busy;
	struct ib_cqe		ack_cqe;
	unsigned int		op_wrs;
	unsigned int		nr_ops;
	unsigned int		op_fenced;
	unsigned int		op_retries;
	struct list_head	ops;
	struct list_head	op_pending;
	wait_queue_head_t	ops_idle;
	struct page		*confirm_page;
	struct rds_rdma_mr	*confirm;

	struct rds_rdma_rx	rx;
};

/* conn.c and cm.c: functions of &rds_transport */
int rds_rdma_path_init(struct rds_path *path);
void rds_rdma_path_free(struct rds_path *path);
int rds_rdma_path_connect(struct rds_path *path);
void rds_rdma_path_attach(struct rds_path *path, void *handle);
void rds_rdma_path_close(struct rds_path *path, bool graceful);
void rds_rdma_refuse(struct net *net, void *handle);

/*
 * CM handler of listeners, which addr.c makes: a connection request of a peer
 * came in on @id.
 */
int rds_rdma_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *ev);

/*
 * End @conn, as its device is being removed.  Called once, in process context.
 */
void rds_rdma_conn_device_gone(struct rds_rdma_conn *conn);
/* End @conn if @la, which is being removed, is its local address. */
void rds_rdma_conn_addr_gone(struct rds_rdma_conn *conn,
			     const struct rds_rdma_laddr *la);

/*
 * Fail @conn: nothing more is posted, and the core is told (rds_path_lost());
 * later calls do nothing.  Any context but hard interrupts.
 */
void rds_rdma_conn_fail(struct rds_rdma_conn *conn, enum rds_drop_reason why);

/* Handle the first frame that came while @silent (softirq). */
void rds_rdma_conn_heard(struct rds_rdma_conn *conn);

/*
 * data.c: the data path of a connection.  _attr fills in what the queue pair
 * must hold, with one request in each queue for ib_drain_qp(); _create
 * allocates rings (may sleep); _start posts the first receives, after the queue
 * pair was made and before connect or accept, and counts them in conn->credit;
 * _stop runs after ib_drain_qp(): it ends every slot, receive and operation
 * that is left as flushed, and frees all memory, also if _create or _start
 * failed or was never called.
 */
void rds_rdma_data_attr(const struct rds_rdma_dev *dev,
			struct ib_qp_init_attr *attr);
int rds_rdma_data_create(struct rds_rdma_conn *conn);
int rds_rdma_data_start(struct rds_rdma_conn *conn);
void rds_rdma_data_stop(struct rds_rdma_conn *conn);

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
/* works may sleep; WQ_MEM_RECLAIM */
extern struct workqueue_struct *rds_rdma_wq;
/* module parameter rds_ib_retry_count */
extern unsigned int rds_rdma_retry_count;
extern unsigned int rds_rdma_max_unsignaled;	/* sysctl max_unsignaled_wr */

#endif
