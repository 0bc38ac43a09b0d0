/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The data path of a connection: what its files share.
 *
 * Ownership of a slot: xmit's when it is not in [tx_tail, tx_head); from there until a
 * completion of it or of a later one the device's, with the page references it holds.  Only the
 * completion context advances tx_tail, so it releases slots without a lock and then says so under
 * rds_rdma_conn.tx_lock.
 *
 * Ownership of a receive: on rx.bare or rx.ready, guarded by the lock; posted, the device's; in
 * its completion, that one's; taken off rx.bare, the one who took it to find it a page.  A page
 * that holds payload is lent to the message, which has a reference of it, and the receive gets
 * another; the connection keeps its own reference and the mapping for some time (rxpage.c).
 *
 * Ownership of an operation (op.c): struct rds_rdma_op is on rds_rdma_conn.ops from before its
 * first work request is posted until rds_op_done() has returned.  It is ended by the completion
 * of its last work request, or by rds_rdma_ops_stop() if that never comes.
 *
 * Errors: the first bad completion, of whatever kind, fails the connection.  Slots, receives and
 * operations stay what they are then, until rds_rdma_data_stop() ends them.  A work request that
 * was not signalled has no completion when it is flushed; that is no loss, as a slot is freed
 * without one there, and receives and operations are always signalled.
 *
 * Room in the send queue: at most RDS_RDMA_SEND_SLOTS frames, RDS_RDMA_OP_WRS work requests of
 * operations and RDS_RDMA_ACK_SLOTS frames that only acknowledge are under way, each counted
 * until a completion says that the device is through with it, and one more entry is left for the
 * drain.  The completion queue holds an entry for each of them and for each receive, as all of
 * them may be flushed at once.
 */
#ifndef _RDS_RDMA_DATA_H
#define _RDS_RDMA_DATA_H

#include "rdma.h"

#define RDS_RDMA_FRAG		4096	/* payload of a frame */
#define RDS_RDMA_HDR		((u32)sizeof(struct rds_wire_header))
#define RDS_RDMA_JOIN_MAX	4096	/* bytes of a frame with several messages */

/* rds_rdma_conn.blocked */
#define RDS_RDMA_NO_SLOT	BIT(0)
#define RDS_RDMA_NO_CREDIT	BIT(1)
#define RDS_RDMA_NO_OP		BIT(2)	/* no room for an operation, or frames wait for one */
#define RDS_RDMA_NO_MEM		BIT(3)	/* tried again by data_work */

/**
 * struct rds_rdma_slot - a frame under way (send.c, slot.c)
 * @wr: ready for ib_post_send() but for what differs from frame to frame
 * @cqe: its completion, which frees all older slots as well
 * @conn: whose
 * @pos: number of the frame, as rds_rdma_conn.tx_head counts
 * @sge: header, or header and payload in one; payload
 * @page: counted page behind the mapped entry of @sge; NULL for a header of rds_rdma_conn.tx_hdr
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
 * @wr: ready for ib_post_recv(); its @next links receives that are not posted
 * @cqe: its completion
 * @conn: whose
 * @page: payload, mapped; NULL if there is none
 * @bytes: of the frame that came
 * @retired: key that it ended (Send with Invalidate), or 0
 * @sge: its header in rds_rdma_rx.hdr, and @page: RDS_RDMA_RECV_HDR, RDS_RDMA_RECV_PAGE
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
 * Sum of a header for its checksum, folded but not complemented.  A ones-complement sum may be
 * taken in any unit and byte order, so it is taken in the host's 32-bit words.
 */
static inline u16 rds_rdma_hdr_sum(const struct rds_wire_header *h)
{
	const u32 *w = (const u32 *)h;
	u64 sum;

	BUILD_BUG_ON(sizeof(*h) != 12 * sizeof(*w));
	sum = (u64)w[0] + w[1] + w[2] + w[3] + w[4] + w[5] + w[6] + w[7] + w[8] + w[9] + w[10] +
	      w[11];
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* What the transport adds to a header, just before the frame leaves; tx_lock is held. */
static inline void rds_rdma_hdr_seal(struct rds_rdma_conn *conn, struct rds_wire_header *h)
{
	h->ack = cpu_to_be64(conn->ack_seq);
	h->credit = rds_rdma_credit_grant(&conn->credit);
	h->csum = 0;
	h->csum = (__force __be16)(u16)~rds_rdma_hdr_sum(h);
	conn->ack_due = false;
}

/* The first header of a frame; it stays until the receive is posted again. */
static inline const struct rds_wire_header *rds_rdma_recv_hdr(const struct rds_rdma_recv *r)
{
	return &r->conn->rx.hdr[r - r->conn->rx.recvs];
}

#define rds_rdma_count(conn, field)	this_cpu_inc((conn)->stats->field)

/* data.c: a completion with an error, of any kind */
void rds_rdma_wc_failed(struct rds_rdma_conn *conn, const struct ib_wc *wc);

/* Have data_work run soon.  Any context. */
void rds_rdma_data_kick(struct rds_rdma_conn *conn);

/*
 * slot.c.  _add refers to a piece of a message's memory, _page gives the slot a page of its own
 * for @bytes: false or NULL without memory or mapping.  _release lets go of all that it has.
 */
bool rds_rdma_slot_add(struct rds_rdma_conn *conn, struct rds_rdma_slot *slot,
		       const struct bio_vec *bv, unsigned int skip, unsigned int len);
u8 *rds_rdma_slot_page(struct rds_rdma_conn *conn, struct rds_rdma_slot *slot, unsigned int bytes);
void rds_rdma_slot_release(struct rds_rdma_conn *conn, struct rds_rdma_slot *slot);
int rds_rdma_send_create(struct rds_rdma_conn *conn);
void rds_rdma_send_stop(struct rds_rdma_conn *conn);

/*
 * ack.c: send a frame of its own if there is something to tell and no frame took it along.
 * tx_lock is held.  False if the connection must be failed, which is the caller's, without it.
 */
bool rds_rdma_ack_try(struct rds_rdma_conn *conn);
void rds_rdma_ack_create(struct rds_rdma_conn *conn);

/* frame.c: a frame came in.  Completion context; fails the connection itself if it must. */
void rds_rdma_frame_in(struct rds_rdma_conn *conn, struct rds_rdma_recv *r);

/*
 * recv.c.  _again takes back a receive whose frame is done with, and posts what is due: false if
 * the device refused, and the caller fails the connection; @frames as in frame_result.
 * _missing: some of the ring lack pages.  Both with tx_lock held.
 */
bool rds_rdma_recv_again(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
			 unsigned int frames);
bool rds_rdma_recv_missing(const struct rds_rdma_conn *conn);
int rds_rdma_recv_create(struct rds_rdma_conn *conn);
void rds_rdma_recv_open(struct rds_rdma_conn *conn);
void rds_rdma_recv_stop(struct rds_rdma_conn *conn);

/*
 * rxpage.c: the page of a receive.  _add gets one, false without memory; _free lets it go, if
 * there is one; _lend leaves it to a message, which has a reference of its own, and gives the
 * receive another one if that costs nothing (completion context only).
 */
bool rds_rdma_page_add(struct rds_rdma_recv *r, gfp_t gfp);
void rds_rdma_page_free(struct rds_rdma_recv *r);
void rds_rdma_page_lend(struct rds_rdma_recv *r);
bool rds_rdma_page_back(const struct rds_rdma_rx *rx);
void rds_rdma_page_create(struct rds_rdma_conn *conn);
void rds_rdma_page_stop(struct rds_rdma_conn *conn);

/* Post receives until rx.target; false if memory was short or the device refused. */
bool rds_rdma_recv_fill(struct rds_rdma_conn *conn, gfp_t gfp);

/*
 * op.c.  _prepare makes a message's operations ready and puts them behind those of op_pending;
 * _post gives the device what there is room for.  Both may sleep or not as xmit does, take
 * tx_lock themselves, and return 0, -EAGAIN if xmit must wait (rds_rdma_conn.blocked says for
 * what), or another error after which the connection must be failed.
 */
int rds_rdma_ops_prepare(struct rds_rdma_conn *conn, struct rds_tx_ops *ops);
int rds_rdma_ops_post(struct rds_rdma_conn *conn);
void rds_rdma_ops_stop(struct rds_rdma_conn *conn);

#endif
