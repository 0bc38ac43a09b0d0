/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RDMA transport: paths and their connections.
 *
 * struct rds_rdma_path is the private part of a path and lives as long.  struct rds_rdma_conn is
 * one connection of it, a queue pair with all that belongs to it, from path_connect or
 * path_attach to the end of path_close.
 *
 * Ownership of a connection: rds_rdma_path.conn, which path_connect, path_attach and path_close
 * change under the core's control mutex.  CM events find it by rdma_cm_id.context, and end when
 * rdma_destroy_id() has returned; completions find it by their ib_cqe, and end when the queue
 * pair has been drained.  Both happen in path_close, before the connection is freed, so neither
 * needs a reference.
 *
 * A path to its own address (laddr equal to faddr) has two: @conn, which transmits and receives
 * acknowledgements, and its @twin, the accepting end, which receives the messages and sends
 * acknowledgements.  Both deliver into the one path.
 *
 * Contexts: CM events in the one ordered work queue of rdma_cm, where nothing may wait.
 * Completions of one connection (both queues have one CQ, see cq.c) one at a time, in softirq.
 * xmit in process context, one at a time.
 *
 * Locks: rds_rdma_conn.tx_lock (spin, bh) guards what xmit and the completions share: free
 * slots, credits, acknowledgements to send, receives to post.  It is a leaf.  ib_post_send() and
 * ib_post_recv() are called under it, so that headers carry credits and acknowledgements in the
 * order in which they leave, and only while @ending is false: whoever sets that does so under
 * the lock, so nothing is posted behind the work requests that drain the queue pair.
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

/* CM ports (wire 4.2); on iWARP 18634 is used for both families, as it is a real TCP port there */
#define RDS_RDMA_PORT		18634
#define RDS_RDMA_PORT_IPV6	16385

struct rds_rdma_conn;
struct rds_rdma_slot;

/**
 * struct rds_rdma_path - private part of a path
 * @path: the path
 * @conn: present connection or attempt; NULL when closed.  Changed under the control mutex.
 */
struct rds_rdma_path {
	struct rds_path		*path;
	struct rds_rdma_conn	*conn;
};

/**
 * struct rds_rdma_conn - one connection of a path
 * @path: the path
 * @rpath: its private part
 * @dev: device, entered
 * @dev_node: in rds_rdma_dev.conns, later .closing
 * @local: its local address
 * @remote: the peer's
 * @id: CM id; its context is this
 * @qp: queue pair, @id's
 * @cq: completion queue (cq.c)
 * @cm: what only conn.c and cm.c use, and another lock
 * @accepted: the peer opened it
 * @twin: accepting end of a path to its own address; NULL otherwise
 * @is_twin: this is one
 * @established: CM says so
 * @silent: the accepting end on a device with active_first: nothing may be sent yet
 * @up: rds_path_up() was called
 * @ending: path_close has begun, or the connection failed: nothing is posted any more (whoever
 *	posts does it, and looks at this, under @tx_lock)
 * @peer: what the peer's private data say
 * @connect_work: CM steps that would wait, outside of its handlers
 *
 * @tx_lock: see above; initialised with the connection
 * @stats: counters of its namespace
 * @lent_work: lets go of received pages that are kept for use again (rxpage.c)
 * @data_work: fills the receive ring and wakes xmit when softirq had no memory (data.c)
 *
 * send side (send.c, ack.c, op.c), under @tx_lock unless said otherwise:
 * @tx_open: rds_rdma_data_established() was called
 * @slots: RDS_RDMA_SEND_SLOTS
 * @max_inline: bytes that the queue pair takes inline; 0 if it does not
 * @tx_hdr: their headers and the acknowledgement's, one mapped page
 * @tx_hdr_dma: its bus address
 * @tx_head: frames handed to the device, counts on
 * @tx_tail: oldest of them whose slot is in use; only completions advance it
 * @unsignalled: frames since the last signalled one
 * @tx_flags: header flags of the message that is being sent; xmit's alone
 * @blocked: RDS_RDMA_NO_*: what xmit found missing; who provides it calls rds_path_writable()
 * @credit: see credit.h
 * @last_seq: highest number handed to the device; an acknowledgement of more is a lie
 * @unacked_msgs: messages, and
 * @unacked_bytes: bytes that may follow before one asks for acknowledgement
 * @ack_seq: what to acknowledge: last message that was received whole
 * @ack_due: the peer asked for it
 * @ack_busy: the one frame that only acknowledges is under way
 * @ack_cqe: its completion
 * @op_wrs: work requests of operations that are under way
 * @nr_ops: entries of @ops
 * @op_fenced: those for which following frames wait here and not in the device
 * @op_retries: attempts in a row without memory or keys; xmit's alone
 * @ops: operations under way, struct rds_rdma_op (op.c)
 * @op_pending: those of them that the device does not have wholly yet, in order
 * @ops_idle: woken when @ops becomes empty
 * @confirm_page: sink of the READs that confirm WRITEs; made when first needed, by xmit
 * @confirm: its key
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

/* conn.c and cm.c: connections, the core's path ops, CM events */
int rds_rdma_path_init(struct rds_path *path);
void rds_rdma_path_free(struct rds_path *path);
int rds_rdma_path_connect(struct rds_path *path);
void rds_rdma_path_attach(struct rds_path *path, void *conn);
void rds_rdma_path_close(struct rds_path *path, bool graceful);
void rds_rdma_conn_drop(struct net *net, void *conn);

/* CM handler of listeners (device layer makes those): a request from a peer came in on @id. */
int rds_rdma_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *ev);

/* The device goes: end this connection.  Called once, from process context. */
void rds_rdma_conn_device_gone(struct rds_rdma_conn *conn);
/* A local address goes: end the connection if it has this one. */
void rds_rdma_conn_addr_gone(struct rds_rdma_conn *conn, const struct rds_rdma_laddr *la);

/*
 * The connection failed: nothing more is posted, the core is told (rds_path_lost()), later calls
 * do nothing.  Any context but hard interrupts.
 */
void rds_rdma_conn_fail(struct rds_rdma_conn *conn, enum rds_drop_reason why);

/* A first frame came while @silent or before @established (softirq). */
void rds_rdma_conn_heard(struct rds_rdma_conn *conn);

/*
 * data.c: what the data path needs for a connection.  _attr says what the queue pair must hold,
 * one request in each queue for ib_drain_qp() included; _create allocates rings (may sleep);
 * _start posts the first receives, after the queue pair was made and before connect or accept,
 * and says how many there are in conn->credit; _stop runs after ib_drain_qp(): every slot,
 * receive and operation still there is ended as flushed, and all memory freed.  _stop works on
 * whatever _create and _start left, also when they failed or were never called.
 */
void rds_rdma_data_attr(const struct rds_rdma_dev *dev, struct ib_qp_init_attr *attr);
int rds_rdma_data_create(struct rds_rdma_conn *conn);
int rds_rdma_data_start(struct rds_rdma_conn *conn);
void rds_rdma_data_stop(struct rds_rdma_conn *conn);

/*
 * conn->peer is filled: credits and ack_seq take effect.  Process context; at the accepting end
 * before it accepts.  At the other end receives may complete earlier, when the core does not know
 * yet which incarnation of the peer sent them: they are set aside, and delivered from here.
 */
void rds_rdma_data_established(struct rds_rdma_conn *conn);

/* send.c */
enum rds_tx_result rds_rdma_xmit(struct rds_path *path, struct rds_tx_batch *batch);

/* info.c, sysctl.c, main.c */
int rds_rdma_info_init(void);
void rds_rdma_info_exit(void);
int rds_rdma_sysctl_init(void);
void rds_rdma_sysctl_exit(void);
extern const struct rds_transport rds_rdma_transport;
extern struct workqueue_struct *rds_rdma_wq;	/* may sleep; WQ_MEM_RECLAIM */
extern unsigned int rds_rdma_retry_count;	/* module parameter rds_ib_retry_count */
extern unsigned int rds_rdma_max_unsignaled;	/* sysctl max_unsignaled_wr */

#endif
