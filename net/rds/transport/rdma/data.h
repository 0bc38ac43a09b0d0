/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The data path of a connection: what its files share.
 *
 * Ownership of a slot: xmit owns a slot outside [tx_tail, tx_head).  A slot
 * inside belongs to the device, with the page references that the slot holds,
 * until the slot or a later one completes.  Only the completion context
 * advances tx_tail, so it releases slots without a lock, and then advances
 * tx_tail under rds_rdma_conn.tx_lock.
 *
 * Ownership of a receive: tx_lock guards receives on rx.bare and rx.ready.  A
 * posted receive belongs to the device, a completed one to its completion
 * handler, then to rx.waiting if its frame has to wait (defer.c) and to the
 * context that takes the frame in, and one taken off rx.bare to the context
 * that allocates a page for it.  A page with payload is lent to the message,
 * which has a reference to it, and the receive gets another page; the
 * connection keeps its own reference and the mapping for some time (rxpage.c).
 *
 * Ownership of an operation (op.c): struct rds_rdma_op is on rds_rdma_conn.ops
 * from before its first work request is posted until rds_operation_done() has
 * returned.  The completion of its last work request ends an operation, or
 * rds_rdma_ops_stop() if that completion never comes.
 *
 * Errors: the first completion with an error, of any kind, fails the
 * connection.  Slots, receives and operations keep their state then, until
 * rds_rdma_data_stop() ends the operations and rds_rdma_data_free() the rings.
 * A work request that is not signalled has no completion when it is flushed.
 * None is missed: slots are freed without one in rds_rdma_data_free(), and
 * receives and operations are always signalled.
 *
 * Room in the send queue: at most rds_rdma_limits.send_slots frames,
 * rds_rdma_limits.op_wrs work requests of operations, those that make their
 * keys among them, and RDS_RDMA_ACK_SLOTS frames that only acknowledge are
 * under way.  Each is counted until a completion says that the device has
 * finished it.  One more entry is left for the drain.  The completion queue has
 * an entry for each of them and for each receive, as all of them may be flushed
 * at once.
 */
#ifndef _RDS_RDMA_DATA_H
#define _RDS_RDMA_DATA_H

#include "decode.h"
#include "rdma.h"

/* Bits of rds_rdma_conn.blocked */
#define RDS_RDMA_NO_SLOT	BIT(0)
#define RDS_RDMA_NO_CREDIT	BIT(1)
/* no room for an operation, or op_fenced is not 0 */
#define RDS_RDMA_NO_OP		BIT(2)
#define RDS_RDMA_NO_MEM		BIT(3)	/* no memory; data_work wakes xmit */

/**
 * struct rds_rdma_slot - a frame under way (send.c, slot.c)
 * @wr: work request, prepared but for the fields that differ from frame to
 *	frame
 * @cqe: completion of the frame, which frees all older slots as well
 * @conn: connection of the slot
 * @sge: first the header, or header and payload in one piece; then further
 *	payload
 * @page: counted pages behind the mapped entries of @sge; NULL for a header in
 *	rds_rdma_conn.tx_hdr
 */
struct rds_rdma_slot {
	struct ib_send_wr	wr;
	struct ib_cqe		cqe;
	struct rds_rdma_conn	*conn;
	struct ib_sge		sge[RDS_RDMA_SEND_SGE];
	struct page		*page[RDS_RDMA_SEND_SGE];
};

/**
 * struct rds_rdma_recv - a receive (recv.c, frame.c)
 * @wr: work request, ready to post; its @next links receives that are not
 *	posted
 * @cqe: completion of the receive
 * @conn: connection of the receive
 * @page: mapped page for payload, or NULL
 * @bytes: length of the received frame; 0 if it had immediate data
 * @retired: rkey that the frame ended by Send with Invalidate, or 0
 * @heard: acknowledgement and credits of the frame are taken over
 * @lent: messages of a joined frame refer to @page
 * @joined: number of messages of a joined frame that are delivered, while the
 *	others wait
 * @sge: entries RDS_RDMA_RECV_HDR, a header in rds_rdma_rx.hdr, and
 *	RDS_RDMA_RECV_PAGE, @page; with rds_dev_props.recv_one the latter only,
 *	which begins with a header in front of @page
 */
struct rds_rdma_recv {
	struct ib_recv_wr	wr;
	struct ib_cqe		cqe;
	struct rds_rdma_conn	*conn;
	struct page		*page;
	u32			bytes;
	u32			retired;
	bool			heard;
	bool			lent;
	unsigned int		joined;
	struct ib_sge		sge[2];
};

/* Slot of the frame with number @pos */
static inline struct rds_rdma_slot *
rds_rdma_slot_of(const struct rds_rdma_conn *conn, unsigned int pos)
{
	return &conn->slots[pos & (conn->lim.send_slots - 1)];
}

#define RDS_RDMA_RECV_HDR	0
#define RDS_RDMA_RECV_PAGE	1

/*
 * Fill in acknowledgement, credits and checksum of a header, just before its
 * frame is posted.
 */
static inline void rds_rdma_hdr_seal(struct rds_rdma_conn *conn,
				     struct rds_wire_header *h)
{
	lockdep_assert_held(&conn->tx_lock);
	h->ack = cpu_to_be64(conn->ack_seq);
	conn->ack_told = conn->ack_seq;
	h->credit = rds_rdma_credit_grant(&conn->credit);
	h->csum = 0;
	h->csum = (__force __be16)(u16)~rds_rdma_hdr_sum(h);
	conn->ack_due = false;
}

/*
 * With rds_dev_props.recv_one a receive has two pages: the header lies at the
 * end of the first one, and the payload in the second, rds_rdma_recv.page, as
 * it would without.
 */
static inline unsigned int rds_rdma_recv_order(const struct rds_rdma_conn *conn)
{
	return conn->id.dev->props.recv_one ? 1 : 0;
}

/* Bytes of a page of a receive that are mapped */
static inline u32 rds_rdma_recv_mapped(const struct rds_rdma_conn *conn)
{
	bool one = conn->id.dev->props.recv_one;

	return RDS_RDMA_FRAG + (one ? RDS_RDMA_HDR : 0);
}

/*
 * The first header of a received frame, valid until the receive is posted
 * again.
 */
static inline const struct rds_wire_header *
rds_rdma_recv_hdr(const struct rds_rdma_recv *r)
{
	return &r->conn->rx.hdr[r - r->conn->rx.recvs];
}

#define rds_rdma_count(conn, field)	this_cpu_inc((conn)->stats->field)

/* data.c: fail the connection for a completion with an error, of any kind */
void rds_rdma_wc_failed(struct rds_rdma_conn *conn, const struct ib_wc *wc);

/* Queue data_work after DATA_RETRY_MS.  Any context. */
void rds_rdma_data_kick(struct rds_rdma_conn *conn);

/* Queue a work that does not block, unless it is queued. */
static inline void rds_rdma_data_later(struct delayed_work *work,
				       unsigned long delay)
{
	queue_delayed_work(rds_rdma_data_wq, work, delay);
}

/*
 * slot.c.  _add refers to a piece of a message's memory, false if it cannot be
 * mapped; _page gives the slot a page of its own for @bytes, NULL without
 * memory or mapping.  _release unmaps and puts all pages of the slot.
 */
bool rds_rdma_slot_add(struct rds_rdma_conn *conn, struct rds_rdma_slot *slot,
		       const struct bio_vec *bv, unsigned int skip,
		       unsigned int len);
u8 *rds_rdma_slot_page(struct rds_rdma_conn *conn, struct rds_rdma_slot *slot,
		       unsigned int bytes);
void rds_rdma_slot_release(struct rds_rdma_conn *conn,
			   struct rds_rdma_slot *slot);
int rds_rdma_send_create(struct rds_rdma_conn *conn);
void rds_rdma_send_stop(struct rds_rdma_conn *conn);

/*
 * ack.c: send a frame of its own if an acknowledgement or credits are due that
 * no other frame has carried.  tx_lock is held.  If false, the caller fails the
 * connection after it drops tx_lock.
 */
bool rds_rdma_ack_try(struct rds_rdma_conn *conn);
void rds_rdma_ack_create(struct rds_rdma_conn *conn);
void rds_rdma_ack_stop(struct rds_rdma_conn *conn);
/* Messages have come: acknowledge them soon, asked or not.  tx_lock is held. */
void rds_rdma_ack_later(struct rds_rdma_conn *conn);

/*
 * frame.c: take in a received frame, or fail the connection.  Called by the
 * context that takes frames in (defer.c), with bottom halves off.  False if no
 * further frame can be taken in: the connection failed, or has to wait for a
 * reader and the intake is closed.
 */
bool rds_rdma_frame_in(struct rds_rdma_conn *conn, struct rds_rdma_recv *r);
/*
 * Take over what a frame that has to wait for a reader says of this end's
 * frames; a frame without messages is taken in.  Completion context.
 */
void rds_rdma_frame_hear(struct rds_rdma_conn *conn, struct rds_rdma_recv *r);
/* Must the path go on to wait?  As _in. */
bool rds_rdma_frame_is_held(struct rds_rdma_conn *conn);

/*
 * defer.c.  rds_rdma_defer() gets each frame that arrives while the intake is
 * not open.  _put appends a receive to rx.waiting; false if the intake is open.
 * _hold closes the intake for a reader; @r: a receive whose frame is not taken
 * in completely, or NULL.  tx_lock is held for both.
 */
void rds_rdma_defer(struct rds_rdma_conn *conn, struct rds_rdma_recv *r);
bool rds_rdma_defer_put(struct rds_rdma_conn *conn, struct rds_rdma_recv *r);
void rds_rdma_defer_hold(struct rds_rdma_conn *conn, struct rds_rdma_recv *r);
void rds_rdma_defer_create(struct rds_rdma_conn *conn);
void rds_rdma_defer_open(struct rds_rdma_conn *conn);
void rds_rdma_defer_stop(struct rds_rdma_conn *conn);

static inline bool rds_rdma_defer_is_open(const struct rds_rdma_conn *conn)
{
	/* Whoever sees it open sees what was done before; see defer_next(). */
	return smp_load_acquire(&conn->rx.intake) == RDS_RDMA_INTAKE_OPEN;
}

/* Number of receives that the device has */
static inline unsigned int rds_rdma_recv_free(const struct rds_rdma_conn *conn)
{
	lockdep_assert_held(&conn->tx_lock);
	return conn->rx.posted - conn->rx.nr_waiting;
}

/*
 * recv.c.  _again takes back a receive whose frame is processed, and posts the
 * receives that are due.  @frames: full frames of the message that the frame
 * begins, or 0.  If false, the device refused, and the caller fails the
 * connection.  _missing: whether receives have to be given pages to reach
 * rx.target.  tx_lock is held for both.
 */
bool rds_rdma_recv_again(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
			 unsigned int frames);
bool rds_rdma_recv_missing(const struct rds_rdma_conn *conn);
int rds_rdma_recv_create(struct rds_rdma_conn *conn);
void rds_rdma_recv_stop(struct rds_rdma_conn *conn);

/*
 * rxpage.c: the page of a receive.  _add allocates and maps one, false without
 * memory; _sync gives it to the device again; _free releases it, if there is
 * one; _lend leaves it to a message, which has a reference of its own, and
 * gives the receive a page that an earlier message returned, if there is one
 * (by the context that takes frames in).  _back: whether there is one.
 */
bool rds_rdma_page_add(struct rds_rdma_recv *r, gfp_t gfp);
void rds_rdma_page_sync(struct rds_rdma_recv *r);
void rds_rdma_page_free(struct rds_rdma_recv *r);
void rds_rdma_page_lend(struct rds_rdma_recv *r);
bool rds_rdma_page_back(const struct rds_rdma_rx *rx);
void rds_rdma_page_create(struct rds_rdma_conn *conn);
void rds_rdma_page_stop(struct rds_rdma_conn *conn);

/*
 * Post receives until rx.target is reached.  False without memory, or if the
 * device refused, for which the connection has been failed.
 */
bool rds_rdma_recv_fill(struct rds_rdma_conn *conn, gfp_t gfp);

/*
 * op.c.  _prepare makes the operations of a message ready and appends them to
 * op_pending; _post posts as many work requests as there is room for.  Both run
 * in the context of xmit, may sleep and take tx_lock.  Both return 0, -EAGAIN
 * if xmit must wait (rds_rdma_conn.blocked says for what), or another error,
 * for which the caller fails the connection.
 */
int rds_rdma_ops_prepare(struct rds_rdma_conn *conn,
			 struct rds_tx_request *req);
int rds_rdma_ops_post(struct rds_rdma_conn *conn);
void rds_rdma_ops_stop(struct rds_rdma_conn *conn);

#endif
