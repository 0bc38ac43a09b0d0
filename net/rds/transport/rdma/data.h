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
 * handler, and one taken off rx.bare to the context that allocates a page for
 * it.  A page with payload is lent to the message, which has a reference to it,
 * and the receive gets another page; the connection keeps its own reference and
 * the mapping for some time (rxpage.c).
 *
 * Ownership of an operation (op.c): struct rds_rdma_op is on rds_rdma_conn.ops
 * from before its first work request is posted until rds_operation_done() has
 * returned.  The completion of its last work request ends an operation, or
 * rds_rdma_ops_stop() if that completion never comes.
 *
 * Errors: the first completion with an error, of any kind, fails the
 * connection.  Slots, receives and operations keep their state then, until
 * rds_rdma_data_stop() ends them.  A work request that is not signalled has no
 * completion when it is flushed.  None is missed: slots are freed without one
 * in rds_rdma_data_stop(), and receives and operations are always signalled.
 *
 * Room in the send queue: at most RDS_RDMA_SEND_SLOTS frames, RDS_RDMA_OP_WRS
 * work requests of operations and RDS_RDMA_ACK_SLOTS frames that only
 * acknowledge are under way.  Each is counted until a completion says that the
 * device has finished it.  One more entry is left for the drain.  The
 * completion queue has an entry for each of them and for each receive, as all
 * of them may be flushed at once.
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
 * @pos: number of the frame, a value of rds_rdma_conn.tx_head
 * @sge: first the header, or header and payload in one piece; then further
 *	payload
 * @page: counted pages behind the mapped entries of @sge; NULL for a header in
 *	rds_rdma_conn.tx_hdr
 */
struct rds_rdma_slot {
	struct ib_send_wr	wr;
	struct ib_cqe		cqe;
	struct rds_rdma_conn	*conn;
	unsigned int		pos;
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
 * @sge: entries RDS_RDMA_RECV_HDR, a header in rds_rdma_rx.hdr, and
 *	RDS_RDMA_RECV_PAGE, @page
 */
struct rds_rdma_recv {
	struct ib_recv_wr	wr;
	struct ib_cqe		cqe;
	struct rds_rdma_conn	*conn;
	struct page		*page;
	u32			bytes;
	u32			retired;
	struct ib_sge		sge[2];
};

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
	h->credit = rds_rdma_credit_grant(&conn->credit);
	h->csum = 0;
	h->csum = (__force __be16)(u16)~rds_rdma_hdr_sum(h);
	conn->ack_due = false;
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

/*
 * frame.c: take in a received frame, or fail the connection.  Completion
 * context.
 */
void rds_rdma_frame_in(struct rds_rdma_conn *conn, struct rds_rdma_recv *r);

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
void rds_rdma_recv_open(struct rds_rdma_conn *conn);
void rds_rdma_recv_stop(struct rds_rdma_conn *conn);

/*
 * rxpage.c: the page of a receive.  _add allocates and maps one, false without
 * memory; _free releases it, if there is one; _lend leaves it to a message,
 * which has a reference of its own, and gives the receive a page that an
 * earlier message returned, if there is one (completion context only).  _back:
 * whether there is one.
 */
bool rds_rdma_page_add(struct rds_rdma_recv *r, gfp_t gfp);
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
