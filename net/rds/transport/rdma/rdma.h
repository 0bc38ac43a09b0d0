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
 * Completions of one connection (both queues share one CQ of the device's pool,
 * IB_POLL_SOFTIRQ) one at a time, in softirq.  xmit in process context, one at a time.
 *
 * Locks: rds_rdma_conn.tx_lock (spin, bh) guards what xmit and the completions share on the
 * sending side: free slots, credits, acknowledgements to send.  It is a leaf; ib_post_send() is called under it, so
 * that headers carry credits and acknowledgements in the order in which they leave.
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
#include "credit.h"
#include "device.h"
#include "privdata.h"
#include "stats.h"

/* CM ports (wire 4.2); on iWARP 18634 is used for both families, as it is a real TCP port there */
#define RDS_RDMA_PORT		18634
#define RDS_RDMA_PORT_IPV6	16385

#define RDS_RDMA_FRAG		4096	/* payload of a frame */
#define RDS_RDMA_HDR		sizeof(struct rds_wire_header)

/* Rings.  The receive ring is posted as far as traffic asks for, between the two limits. */
#define RDS_RDMA_SEND_SLOTS	128
#define RDS_RDMA_OP_WRS		40	/* further work requests, for operations */
#define RDS_RDMA_ACK_SLOTS	2	/* frames with acknowledgement or credit only */
#define RDS_RDMA_RECV_MIN	16
#define RDS_RDMA_RECV_MAX	256
#define RDS_RDMA_SEND_SGE	4	/* header and three pieces of payload */
#define RDS_RDMA_OP_SGE		8

struct rds_rdma_conn;

/**
 * struct rds_rdma_path - private part of a path
 * @path: the path
 * @conn: present connection or attempt; NULL when closed.  Changed under the control mutex.
 */
struct rds_rdma_path {
	struct rds_path		*path;
	struct rds_rdma_conn	*conn;
};

/* A frame under way.  Declared in send.c's terms; the array is rds_rdma_conn.slots. */
struct rds_rdma_slot {
	struct ib_cqe		cqe;
	struct rds_rdma_conn	*conn;
	u16			nr_sge;		/* mapped entries, the header's not counted */
	bool			busy;
	u64			addr[RDS_RDMA_SEND_SGE - 1];
	struct page		*page[RDS_RDMA_SEND_SGE - 1];
	u32			len[RDS_RDMA_SEND_SGE - 1];
};

/* A posted receive: a header in rds_rdma_conn.rx_hdr, and a page */
struct rds_rdma_recv {
	struct ib_cqe		cqe;
	struct rds_rdma_conn	*conn;
	struct page		*page;
	u64			addr;
};

/**
 * struct rds_rdma_conn - one connection of a path
 * @path: the path
 * @rpath: its private part
 * @dev: device, entered
 * @dev_node: in rds_rdma_dev.conns
 * @id: CM id; its context is this
 * @qp: queue pair, @id's
 * @cq: shared completion queue from the device's pool
 * @nr_cqe: entries taken of it
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
 * send side (send.c, ack.c, op.c), under @tx_lock unless said otherwise:
 * @slots: RDS_RDMA_SEND_SLOTS
 * @tx_hdr: their headers, one mapped array
 * @tx_hdr_dma: its bus address
 * @tx_head: next slot to use, counts on
 * @tx_tail: oldest slot in use, counts on
 * @op_wrs: work requests of operations that are under way
 * @unsignalled: frames since the last signalled one
 * @blocked: xmit found no room; the next completion that frees some calls rds_path_writable()
 * @credit: see credit.h
 * @last_seq: highest number handed to the device; an acknowledgement of more is a lie
 * @unacked_msgs: messages since one asked for acknowledgement
 * @unacked_bytes: likewise
 * @ack_seq: what to acknowledge: last message that was received whole
 * @ack_due: the peer asked for it
 * @ack_busy: bit mask of @ack_slots under way
 * @ops: operations under way, struct rds_rdma_op (op.c)
 *
 * receive side (recv.c), by the completion context alone once started:
 * @recvs: RDS_RDMA_RECV_MAX
 * @rx_hdr: headers, one mapped array
 * @rx_hdr_dma: its bus address
 * @rx_target: how many are to be posted
 * @rx_posted: how many are
 * @inc: message being put together, or NULL
 * @inc_hdr: header of its first frame
 * @inc_left: payload still to come
 */
struct rds_rdma_conn {
	struct rds_path		*path;
	struct rds_rdma_path	*rpath;
	struct rds_rdma_dev	*dev;
	struct list_head	dev_node;
	struct rdma_cm_id	*id;
	struct ib_qp		*qp;
	struct ib_cq		*cq;
	unsigned int		nr_cqe;
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
	struct rds_rdma_slot	*slots;
	struct rds_wire_header	*tx_hdr;
	u64			tx_hdr_dma;
	unsigned int		tx_head;
	unsigned int		tx_tail;
	unsigned int		op_wrs;
	unsigned int		unsignalled;
	bool			blocked;
	struct rds_rdma_credit	credit;
	u64			last_seq;
	u32			unacked_msgs;
	u32			unacked_bytes;
	u64			ack_seq;
	bool			ack_due;
	unsigned long		ack_busy;
	struct list_head	ops;

	struct rds_rdma_recv	*recvs;
	struct rds_wire_header	*rx_hdr;
	u64			rx_hdr_dma;
	unsigned int		rx_target;
	unsigned int		rx_posted;
	struct rds_incoming	*inc;
	struct rds_wire_header	inc_hdr;
	u32			inc_left;
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
void rds_rdma_conn_addr_gone(struct rds_rdma_conn *conn, struct net *net,
			     const struct in6_addr *laddr, u32 scope);

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
