// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reassembles messages from received frames.
 *
 * A frame is a header and up to 4096 bytes of its message (protocol.rst 4.7),
 * or, from a peer that announced joined frames (rds_rdma_peer.joins), several
 * small messages one behind the other, each whole and with a header of its own:
 * Documentation/rdma.rst, "Joined messages".  In a joined frame only the first
 * header's acknowledgement and credit count.
 *
 * One context at a time takes frames in (defer.c).  When a message has filled
 * the socket of a reader, the core makes the path wait; then that context
 * closes the intake, and the rest of a joined frame waits as well.  An invalid
 * frame fails the connection, and no later frame is taken in.
 */
#include <linux/mm.h>
#include <linux/net.h>

#include "data.h"

/**
 * struct frame_result - effects of a frame
 * @why: why the connection must end, or RDS_DROP_NONE
 * @seq: number of the last message that the frame completes, or 0
 * @ack_required: a message that the frame completes asks for acknowledgement
 * @frames: number of full frames of the message that the frame begins, or 0
 * @held: the path has to wait for a reader
 * @rest: messages of the frame are not delivered, and wait
 * @acked: number of the last message that the frame acknowledged, or 0 if all
 *	were acknowledged before
 * @writable: xmit waited for credits that the frame granted
 * @fill: receives lack pages
 */
struct frame_result {
	enum rds_drop_reason	why;
	u64			seq;
	bool			ack_required;
	unsigned int		frames;
	bool			held;
	bool			rest;
	u64			acked;
	bool			writable;
	bool			fill;
};

/* Record a message that was delivered; maps are not acknowledged. */
static void frame_complete(struct frame_result *res,
			   const struct rds_wire_header *h)
{
	if (h->flags == RDS_WIRE_F_CONG)
		return;
	res->seq = be64_to_cpu(h->seq);
	res->ack_required |= h->flags & RDS_WIRE_F_ACK_REQUIRED;
}

/*
 * Add the payload of a frame to its message: copied, or as a page that is lent.
 */
static bool frame_store(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
			u32 pay)
{
	u8 *buf = rds_rx_buffer(conn->rx.inc);

	if (!pay)
		return true;
	if (buf) {
		buf += be32_to_cpu(conn->rx.inc_hdr.len) - conn->rx.inc_left;
		memcpy(buf, page_address(r->page), pay);
		return true;
	}
	get_page(r->page);
	if (!rds_rx_add_page(conn->rx.inc, r->page, 0, pay,
			     PAGE_SIZE << rds_rdma_recv_order(conn))) {
		put_page(r->page);
		return false;
	}
	rds_rdma_page_lend(r);
	return true;
}

static void frame_deliver(struct rds_rdma_conn *conn, struct frame_result *res)
{
	struct rds_incoming *inc = conn->rx.inc;
	struct rds_rx_batch batch;

	conn->rx.inc = NULL;
	rds_rdma_count(conn, ib_rx_total_incs);
	rds_rx_begin(&batch, conn->path);
	rds_rx_deliver(&batch, inc, &conn->rx.inc_hdr);
	res->held = rds_rx_is_held(&batch, false);
	rds_rx_end(&batch);
	frame_complete(res, &conn->rx.inc_hdr);
}

/* Take in a frame of one message, which is a part of it or the whole. */
static enum rds_drop_reason frame_message(struct rds_rdma_conn *conn,
					  struct rds_rdma_recv *r,
					  const struct rds_wire_header *h,
					  u32 pay, struct frame_result *res)
{
	enum rds_drop_reason why;

	why = rds_rdma_frame_check(h, pay,
				   conn->rx.inc ? &conn->rx.inc_hdr : NULL,
				   conn->rx.inc_left);
	if (unlikely(why != RDS_DROP_NONE))
		return why;
	if (!conn->rx.inc) {
		conn->rx.inc_hdr = *h;
		conn->rx.inc_left = be32_to_cpu(h->len);
		res->frames = conn->rx.inc_left / RDS_RDMA_FRAG;
		conn->rx.inc = rds_rx_alloc(conn->path, conn->rx.inc_left,
					    h->flags == RDS_WIRE_F_CONG,
					    GFP_ATOMIC);
		if (unlikely(!conn->rx.inc))
			return RDS_DROP_NO_MEMORY;
	}
	if (unlikely(!frame_store(conn, r, pay)))
		return RDS_DROP_NO_MEMORY;
	conn->rx.inc_left -= pay;
	if (!conn->rx.inc_left)
		frame_deliver(conn, res);
	return RDS_DROP_NONE;
}

/*
 * Add the payload of a joined message: copied, or as a reference to the page.
 */
static bool joined_store(struct rds_rdma_recv *r, struct rds_incoming *inc,
			 u32 off, u32 len)
{
	void *buf = rds_rx_buffer(inc);

	if (buf) {
		memcpy(buf, page_address(r->page) + off, len);
		return true;
	}
	get_page(r->page);
	if (!rds_rx_add_page(inc, r->page, off, len,
			     PAGE_SIZE << rds_rdma_recv_order(r->conn))) {
		put_page(r->page);
		return false;
	}
	r->lent = true;
	return true;
}

/* Deliver one message of a joined frame; false without memory. */
static bool joined_message(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
			   struct rds_rx_batch *batch,
			   const struct rds_rdma_joined *it,
			   struct frame_result *res)
{
	struct rds_incoming *inc = rds_rx_alloc(conn->path, it->len, false,
						GFP_ATOMIC);

	if (unlikely(!inc || !joined_store(r, inc, it->off, it->len))) {
		rds_rx_free(inc);
		return false;
	}
	rds_rdma_count(conn, ib_rx_total_incs);
	rds_rdma_count(conn, rdma_rx_joined);
	rds_rx_deliver(batch, inc, it->h);
	frame_complete(res, it->h);
	return true;
}

/*
 * Take in a frame of several messages, or the rest of it.  @h is its first
 * header, the page has what follows.
 */
static enum rds_drop_reason frame_joined(struct rds_rdma_conn *conn,
					 struct rds_rdma_recv *r,
					 const struct rds_wire_header *h,
					 struct frame_result *res)
{
	struct rds_rdma_joined it;
	struct rds_rx_batch batch;
	enum rds_drop_reason why;
	unsigned int i = 0;

	rds_rx_begin(&batch, conn->path);
	why = rds_rdma_joined_first(&it, h, page_address(r->page), r->bytes);
	while (likely(why == RDS_DROP_NONE)) {
		if (i++ >= r->joined) {
			if (!joined_message(conn, r, &batch, &it, res)) {
				why = RDS_DROP_NO_MEMORY;
				break;
			}
			r->joined = i;
			res->held = rds_rx_is_held(&batch, false);
		}
		res->rest = !rds_rdma_joined_last(&it);
		if (res->held || !res->rest)
			break;
		why = rds_rdma_joined_next(&it);
	}
	rds_rx_end(&batch);
	if (r->lent && !res->rest)
		rds_rdma_page_lend(r);
	return why;
}

/* Take over the credits and the acknowledgement of a header. */
static void frame_header(struct rds_rdma_conn *conn,
			 const struct rds_wire_header *h,
			 struct frame_result *res)
{
	u64 ack = be64_to_cpu(h->ack);

	lockdep_assert_held(&conn->tx_lock);
	if (h->credit) {
		conn->credit.send += h->credit;
		rds_rdma_count(conn, ib_rx_credit_updates);
	}
	if (ack > conn->rx.ack) {
		if (unlikely(ack > conn->last_seq)) {
			res->why = RDS_DROP_BAD_ACK;
			return;
		}
		conn->rx.ack = ack;
		res->acked = ack;
	}
	if (conn->blocked & RDS_RDMA_NO_CREDIT &&
	    rds_rdma_credit_some(&conn->credit)) {
		conn->blocked = 0;
		res->writable = true;
	}
}

/* Post the receive of a frame again; false if the device refused. */
static bool frame_again(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
			const struct frame_result *res)
{
	if (unlikely(res->rest))
		return true;
	r->lent = false;
	if (likely(!conn->id.dev->props.recv_one))
		ib_dma_sync_single_for_device(conn->id.dev->ib,
					      r->sge[RDS_RDMA_RECV_HDR].addr,
					      RDS_RDMA_HDR, DMA_FROM_DEVICE);
	return rds_rdma_recv_again(conn, r, res->frames);
}

/*
 * Finish a frame, under one hold of tx_lock: take over its header, post its
 * receive again unless some of it waits, and send an acknowledgement if one is
 * due.
 */
static void frame_finish(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
			 const struct rds_wire_header *h,
			 struct frame_result *res)
{
	spin_lock(&conn->tx_lock);
	rds_dev_cq_turn(&conn->cq, true, 1);
	if (!r->heard)
		frame_header(conn, h, res);
	r->heard = true;
	if (res->seq) {
		conn->ack_seq = res->seq;
		rds_rdma_ack_later(conn);
	}
	if (res->ack_required)
		conn->ack_due = true;
	if (unlikely(res->held))
		rds_rdma_defer_hold(conn, res->rest ? r : NULL);
	if (!frame_again(conn, r, res) || !rds_rdma_ack_try(conn))
		res->why = RDS_DROP_SEND_ERROR;
	res->fill = rds_rdma_recv_missing(conn);
	spin_unlock(&conn->tx_lock);
}

/*
 * Give the receive a page again, unless the ring shrinks or there is no memory.
 * While frames wait for a reader the ring does not shrink: see
 * recv_may_shrink().
 */
static void frame_repage(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	/*
	 * A guess is enough without the lock: if two contexts give up too many
	 * pages, rds_rdma_recv_fill() follows.
	 */
	if (!READ_ONCE(conn->rx.nr_waiting) &&
	    READ_ONCE(conn->rx.posted) + READ_ONCE(conn->rx.nr_ready) >
		    READ_ONCE(conn->rx.target))
		rds_rdma_page_free(r);
	else if (!r->page)
		rds_rdma_page_add(r, GFP_ATOMIC);
	else
		rds_rdma_page_sync(r);
}

static void frame_invalidated(struct rds_rdma_conn *conn, u32 rkey)
{
	rds_dev_mr_invalidated(conn->id.dom, rkey);
	rds_mr_invalidated(conn->path, rkey);
}

/* Take in the messages of a frame whose checksum is correct. */
static enum rds_drop_reason frame_payload(struct rds_rdma_conn *conn,
					  struct rds_rdma_recv *r,
					  const struct rds_wire_header *h,
					  struct frame_result *res)
{
	u32 pay = r->bytes - RDS_RDMA_HDR;

	switch (rds_rdma_frame_kind(h, pay, conn->peer.joins, conn->rx.inc)) {
	case RDS_RDMA_FRAME_ACK:
		rds_rdma_count(conn, ib_ack_received);
		return RDS_DROP_NONE;
	case RDS_RDMA_FRAME_JOINED:
		return frame_joined(conn, r, h, res);
	default:
		return frame_message(conn, r, h, pay, res);
	}
}

/*
 * Let the processor read a frame.  A header that came in one piece with its
 * payload is copied to where other receives have theirs: the page may go to a
 * message, and the header is read until the receive is posted again.
 */
static void frame_sync(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	const struct ib_sge *hdr = &r->sge[RDS_RDMA_RECV_HDR],
			    *page = &r->sge[RDS_RDMA_RECV_PAGE];
	struct ib_device *ib = conn->id.dev->ib;

	if (unlikely(conn->id.dev->props.recv_one)) {
		ib_dma_sync_single_for_cpu(ib, page->addr, r->bytes,
					   DMA_FROM_DEVICE);
		memcpy(&conn->rx.hdr[r - conn->rx.recvs],
		       page_address(r->page) - RDS_RDMA_HDR, RDS_RDMA_HDR);
		return;
	}
	ib_dma_sync_single_for_cpu(ib, hdr->addr, RDS_RDMA_HDR,
				   DMA_FROM_DEVICE);
	if (r->bytes > RDS_RDMA_HDR)
		ib_dma_sync_single_for_cpu(ib, page->addr,
					   r->bytes - RDS_RDMA_HDR,
					   DMA_FROM_DEVICE);
}

/*
 * A frame has arrived, and is the processor's to read.  Returns why it is not
 * usable.
 */
static enum rds_drop_reason frame_check(struct rds_rdma_conn *conn,
					struct rds_rdma_recv *r,
					const struct rds_wire_header *h)
{
	if (r->retired)
		frame_invalidated(conn, r->retired);
	if (r->bytes < RDS_RDMA_HDR)
		return RDS_DROP_BAD_FRAME;
	frame_sync(conn, r);
	return h->csum && rds_rdma_hdr_sum(h) != 0xffff ? RDS_DROP_BAD_CSUM :
							  RDS_DROP_NONE;
}

/* Tell the core what the header of a frame says. */
static void frame_report(struct rds_rdma_conn *conn,
			 const struct frame_result *res)
{
	if (res->acked)
		rds_path_acked(conn->path, res->acked);
	if (res->writable)
		rds_path_writable(conn->path);
}

static void frame_fail(struct rds_rdma_conn *conn,
		       const struct rds_rdma_recv *r, enum rds_drop_reason why)
{
	net_info_ratelimited("rds_rdma: frame from %pI6c of %u bytes not usable: %s\n",
			     &conn->path->addr->faddr, r->bytes,
			     rds_drop_name(why));
	rds_rdma_conn_fail(conn, why);
}

/* What is left when the messages of a frame are delivered, or have to wait */
static bool frame_end(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
		      const struct rds_wire_header *h, struct frame_result *res)
{
	if (unlikely(conn->id.silent))
		rds_dev_id_heard(&conn->id);
	if (likely(!res->rest)) {
		rds_rdma_count(conn, ib_rx_total_frags);
		frame_repage(conn, r);
	}
	frame_finish(conn, r, h, res);
	frame_report(conn, res);
	if (unlikely(res->fill)) {
		rds_rdma_count(conn, ib_rx_refill_from_cq);
		if (!rds_rdma_recv_fill(conn, GFP_ATOMIC))
			rds_rdma_data_kick(conn);
	}
	return likely(res->why == RDS_DROP_NONE);
}

bool rds_rdma_frame_in(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	const struct rds_wire_header *h = rds_rdma_recv_hdr(r);
	struct frame_result res = { .why = RDS_DROP_NONE };

	if (likely(!r->heard))
		res.why = frame_check(conn, r, h);
	if (likely(res.why == RDS_DROP_NONE))
		res.why = frame_payload(conn, r, h, &res);
	if (likely(res.why == RDS_DROP_NONE) &&
	    likely(frame_end(conn, r, h, &res)))
		return !res.held;
	frame_fail(conn, r, res.why);
	return false;
}

/*
 * Take over the header of a frame whose messages wait.  False if the intake
 * was opened meanwhile.
 */
static bool frame_wait(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
		       const struct rds_wire_header *h,
		       struct frame_result *res)
{
	bool waits;

	spin_lock(&conn->tx_lock);
	waits = rds_rdma_defer_put(conn, r);
	if (waits) {
		rds_dev_cq_turn(&conn->cq, true, 1);
		frame_header(conn, h, res);
		r->heard = true;
		if (!rds_rdma_recv_free(conn))
			rds_rdma_count(conn, ib_rx_ring_empty);
		if (res->why == RDS_DROP_NONE && !rds_rdma_ack_try(conn))
			res->why = RDS_DROP_SEND_ERROR;
	}
	spin_unlock(&conn->tx_lock);
	return waits;
}

void rds_rdma_frame_hear(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	const struct rds_wire_header *h = rds_rdma_recv_hdr(r);
	struct frame_result res = { .why = frame_check(conn, r, h) };
	u32 pay = r->bytes - RDS_RDMA_HDR;

	if (res.why != RDS_DROP_NONE) {
		frame_fail(conn, r, res.why);
		return;
	}
	r->retired = 0;
	if (rds_rdma_frame_kind(h, pay, false, false) == RDS_RDMA_FRAME_ACK) {
		rds_rdma_count(conn, ib_ack_received);
		frame_end(conn, r, h, &res);
	} else if (frame_wait(conn, r, h, &res)) {
		frame_report(conn, &res);
	} else {
		rds_rdma_frame_in(conn, r);
		return;
	}
	if (res.why != RDS_DROP_NONE)
		frame_fail(conn, r, res.why);
}

bool rds_rdma_frame_is_held(struct rds_rdma_conn *conn)
{
	struct rds_rx_batch batch;
	bool held;

	rds_rx_begin(&batch, conn->path);
	held = rds_rx_is_held(&batch, false);
	rds_rx_end(&batch);
	return held;
}
