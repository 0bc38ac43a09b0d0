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
 * All of it runs in completion context, for one frame at a time.  An invalid
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
 * @acked: the frame acknowledged messages that were not acknowledged before
 * @writable: xmit waited for credits that the frame granted
 * @fill: receives lack pages
 */
struct frame_result {
	enum rds_drop_reason	why;
	u64			seq;
	bool			ack_required;
	unsigned int		frames;
	bool			acked;
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
	if (!rds_rx_add_page(conn->rx.inc, r->page, 0, pay, PAGE_SIZE)) {
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
			 u32 off, u32 len, bool *lent)
{
	void *buf = rds_rx_buffer(inc);

	if (buf) {
		memcpy(buf, page_address(r->page) + off, len);
		return true;
	}
	get_page(r->page);
	if (!rds_rx_add_page(inc, r->page, off, len, PAGE_SIZE)) {
		put_page(r->page);
		return false;
	}
	*lent = true;
	return true;
}

/*
 * Take in a frame of several messages.  @h is its first header, the page has
 * the rest.
 */
static enum rds_drop_reason frame_joined(struct rds_rdma_conn *conn,
					 struct rds_rdma_recv *r,
					 const struct rds_wire_header *h,
					 struct frame_result *res)
{
	struct rds_rdma_joined it;
	struct rds_incoming *inc;
	struct rds_rx_batch batch;
	enum rds_drop_reason why;
	bool lent = false;

	rds_rx_begin(&batch, conn->path);
	why = rds_rdma_joined_first(&it, h, page_address(r->page), r->bytes);
	while (likely(why == RDS_DROP_NONE)) {
		inc = rds_rx_alloc(conn->path, it.len, false, GFP_ATOMIC);
		if (unlikely(!inc ||
			     !joined_store(r, inc, it.off, it.len, &lent))) {
			rds_rx_free(inc);
			why = RDS_DROP_NO_MEMORY;
			break;
		}
		rds_rdma_count(conn, ib_rx_total_incs);
		rds_rdma_count(conn, rdma_rx_joined);
		rds_rx_deliver(&batch, inc, it.h);
		frame_complete(res, it.h);
		if (rds_rdma_joined_last(&it))
			break;
		why = rds_rdma_joined_next(&it);
	}
	rds_rx_end(&batch);
	if (lent)
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
		res->acked = true;
	}
}

/*
 * Finish a frame, under one hold of tx_lock: take over its header, post its
 * receive again, and send an acknowledgement if one is due.
 */
static void frame_finish(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
			 const struct rds_wire_header *h,
			 struct frame_result *res)
{
	spin_lock(&conn->tx_lock);
	rds_rdma_cq_turn(conn, true, 1);
	frame_header(conn, h, res);
	ib_dma_sync_single_for_device(conn->dev->ib,
				      r->sge[RDS_RDMA_RECV_HDR].addr,
				      RDS_RDMA_HDR, DMA_FROM_DEVICE);
	if (res->seq)
		conn->ack_seq = res->seq;
	if (res->ack_required)
		conn->ack_due = true;
	if (!rds_rdma_recv_again(conn, r, res->frames) ||
	    !rds_rdma_ack_try(conn))
		res->why = RDS_DROP_SEND_ERROR;
	if (conn->blocked & RDS_RDMA_NO_CREDIT &&
	    rds_rdma_credit_some(&conn->credit)) {
		conn->blocked = 0;
		res->writable = true;
	}
	res->fill = rds_rdma_recv_missing(conn);
	spin_unlock(&conn->tx_lock);
}

/*
 * Give the receive a page again, unless the ring shrinks or there is no memory.
 */
static void frame_repage(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	/* Only this context lowers rx.posted, so the test needs no lock. */
	if (READ_ONCE(conn->rx.posted) + READ_ONCE(conn->rx.nr_ready) >
	    READ_ONCE(conn->rx.target))
		rds_rdma_page_free(r);
	else if (!r->page)
		rds_rdma_page_add(r, GFP_ATOMIC);
	else
		ib_dma_sync_single_for_device(conn->dev->ib,
					      r->sge[RDS_RDMA_RECV_PAGE].addr,
					      RDS_RDMA_FRAG, DMA_FROM_DEVICE);
}

static void frame_invalidated(struct rds_rdma_conn *conn, u32 rkey)
{
	rds_rdma_mr_invalidated(conn->dev, rkey);
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

void rds_rdma_frame_in(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	struct frame_result res = { .why = RDS_DROP_BAD_FRAME };
	const struct rds_wire_header *h = rds_rdma_recv_hdr(r);

	if (r->retired)
		frame_invalidated(conn, r->retired);
	if (r->bytes < RDS_RDMA_HDR)
		goto fail;
	ib_dma_sync_single_for_cpu(conn->dev->ib,
				   r->sge[RDS_RDMA_RECV_HDR].addr, RDS_RDMA_HDR,
				   DMA_FROM_DEVICE);
	if (r->bytes > RDS_RDMA_HDR)
		ib_dma_sync_single_for_cpu(conn->dev->ib,
					   r->sge[RDS_RDMA_RECV_PAGE].addr,
					   r->bytes - RDS_RDMA_HDR,
					   DMA_FROM_DEVICE);
	if (h->csum && rds_rdma_hdr_sum(h) != 0xffff) {
		res.why = RDS_DROP_BAD_CSUM;
		goto fail;
	}
	res.why = frame_payload(conn, r, h, &res);
	if (unlikely(res.why != RDS_DROP_NONE))
		goto fail;
	rds_rdma_count(conn, ib_rx_total_frags);
	if (unlikely(conn->silent))
		rds_rdma_conn_heard(conn);
	frame_repage(conn, r);
	frame_finish(conn, r, h, &res);
	if (res.acked)
		rds_path_acked(conn->path, conn->rx.ack);
	if (res.writable)
		rds_path_writable(conn->path);
	if (unlikely(res.fill)) {
		rds_rdma_count(conn, ib_rx_refill_from_cq);
		if (!rds_rdma_recv_fill(conn, GFP_ATOMIC))
			rds_rdma_data_kick(conn);
	}
	if (likely(res.why == RDS_DROP_NONE))
		return;
fail:
	net_info_ratelimited("rds_rdma: frame from %pI6c of %u bytes not usable: %s\n",
			     &conn->path->addr->faddr, r->bytes,
			     rds_drop_name(res.why));
	rds_rdma_conn_fail(conn, res.why);
}
