// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages out of the frames that were received.
 *
 * A frame is a header and up to 4096 bytes of its message (wire 4.7), or, from a peer that said it
 * sends such (rds_rdma_peer.joins), several small messages one behind the other, each whole and
 * with a header of its own: Documentation/rdma.rst, "Joined messages".  In that case the first
 * header's acknowledgement and credit speak for the frame.
 *
 * All of it runs in completion context, for one frame at a time.  A frame that cannot be fails
 * the connection, and nothing behind it is taken in.
 */
#include <linux/mm.h>
#include <linux/net.h>

#include "data.h"

/**
 * struct frame_result - what came of a frame
 * @why: why the connection must end; RDS_DROP_MAX: it must not
 * @seq: last message that is complete with it; 0: none
 * @ack_required: one of them asks for acknowledgement
 * @frames: frames that the message it begins takes, or 0
 * @acked: it acknowledged something
 * @writable: xmit waited for the credit it brought
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

/* A message is with the core; maps are not acknowledged. */
static void frame_complete(struct frame_result *res, const struct rds_wire_header *h)
{
	if (h->flags == RDS_WIRE_F_CONG)
		return;
	res->seq = be64_to_cpu(h->seq);
	res->ack_required |= h->flags & RDS_WIRE_F_ACK_REQUIRED;
}

static bool frame_is_ack(const struct rds_wire_header *h, u32 pay)
{
	return !h->sport && !h->dport && !pay;
}

/* Why a frame cannot be, or RDS_DROP_MAX.  @pay: its payload. */
static enum rds_drop_reason frame_check(const struct rds_rdma_conn *conn,
					const struct rds_wire_header *h, u32 pay)
{
	u32 left = conn->rx.inc_left, len = be32_to_cpu(h->len);

	if (conn->rx.inc) {
		if (h->seq != conn->rx.inc_hdr.seq || h->len != conn->rx.inc_hdr.len ||
		    h->sport != conn->rx.inc_hdr.sport || h->dport != conn->rx.inc_hdr.dport)
			return RDS_DROP_BAD_FRAME;
	} else {
		if (len > RDS_MAX_MSG_SIZE)
			return RDS_DROP_BAD_LENGTH;
		if (h->flags == RDS_WIRE_F_CONG && len != RDS_CONG_MAP_BYTES)
			return RDS_DROP_BAD_MAP;
		left = len;
	}
	return pay == min_t(u32, left, RDS_RDMA_FRAG) ? RDS_DROP_MAX : RDS_DROP_BAD_FRAME;
}

/* Payload of a frame into the message: copied, or the page changes hands. */
static bool frame_store(struct rds_rdma_conn *conn, struct rds_rdma_recv *r, u32 pay)
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
	if (!rds_rx_add_page(conn->rx.inc, r->page, 0, pay)) {
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

/* A frame of a message, or all of it. */
static enum rds_drop_reason frame_message(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
					  const struct rds_wire_header *h, u32 pay,
					  struct frame_result *res)
{
	enum rds_drop_reason why = frame_check(conn, h, pay);

	if (unlikely(why != RDS_DROP_MAX))
		return why;
	if (!conn->rx.inc) {
		conn->rx.inc_hdr = *h;
		conn->rx.inc_left = be32_to_cpu(h->len);
		res->frames = conn->rx.inc_left / RDS_RDMA_FRAG;
		conn->rx.inc = rds_rx_alloc(conn->path, conn->rx.inc_left,
					    h->flags == RDS_WIRE_F_CONG, GFP_ATOMIC);
		if (unlikely(!conn->rx.inc))
			return RDS_DROP_NO_MEMORY;
	}
	if (unlikely(!frame_store(conn, r, pay)))
		return RDS_DROP_NO_MEMORY;
	conn->rx.inc_left -= pay;
	if (!conn->rx.inc_left)
		frame_deliver(conn, res);
	return RDS_DROP_MAX;
}

/* More behind the message than it has payload: one of several. */
static bool frame_is_joined(const struct rds_rdma_conn *conn, const struct rds_wire_header *h,
			    u32 pay)
{
	return conn->peer.joins && !conn->rx.inc && pay > be32_to_cpu(h->len);
}

/* Why a message with @left bytes behind its header cannot be, or RDS_DROP_MAX. */
static enum rds_drop_reason joined_check(const struct rds_wire_header *h, u32 left)
{
	u32 len = be32_to_cpu(h->len);

	if (h->csum && rds_rdma_hdr_sum(h) != 0xffff)
		return RDS_DROP_BAD_CSUM;
	if (len > left || h->flags == RDS_WIRE_F_CONG || frame_is_ack(h, len))
		return RDS_DROP_BAD_FRAME;
	return RDS_DROP_MAX;
}

/* Its payload: copied, or the message gets a reference of the page. */
static bool joined_store(struct rds_rdma_recv *r, struct rds_incoming *inc, u32 off, u32 len,
			 bool *lent)
{
	void *buf = rds_rx_buffer(inc);

	if (buf) {
		memcpy(buf, page_address(r->page) + off, len);
		return true;
	}
	get_page(r->page);
	if (!rds_rx_add_page(inc, r->page, off, len)) {
		put_page(r->page);
		return false;
	}
	*lent = true;
	return true;
}

/*
 * Messages that came in one frame.  @h is the first header, what is behind it is in the page:
 * a payload, a header, a payload, and so on; the last payload ends with the frame.
 */
static enum rds_drop_reason frame_joined(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
					 const struct rds_wire_header *h,
					 struct frame_result *res)
{
	u32 off = 0, end = r->bytes - RDS_RDMA_HDR, len;
	struct rds_wire_header next;
	struct rds_incoming *inc;
	struct rds_rx_batch batch;
	enum rds_drop_reason why;
	bool lent = false;

	if (r->bytes > RDS_RDMA_JOIN_MAX)
		return RDS_DROP_BAD_FRAME;
	rds_rx_begin(&batch, conn->path);
	for (;; h = &next) {
		why = joined_check(h, end - off);
		if (unlikely(why != RDS_DROP_MAX))
			break;
		len = be32_to_cpu(h->len);
		inc = rds_rx_alloc(conn->path, len, false, GFP_ATOMIC);
		if (unlikely(!inc || !joined_store(r, inc, off, len, &lent))) {
			rds_rx_free(inc);
			why = RDS_DROP_NO_MEMORY;
			break;
		}
		off += len;
		rds_rdma_count(conn, ib_rx_total_incs);
		rds_rdma_count(conn, rdma_rx_joined);
		rds_rx_deliver(&batch, inc, h);
		frame_complete(res, h);
		if (off == end)
			break;
		if (unlikely(end - off < RDS_RDMA_HDR)) {
			why = RDS_DROP_BAD_FRAME;
			break;
		}
		memcpy(&next, page_address(r->page) + off, sizeof(next));
		off += RDS_RDMA_HDR;
	}
	rds_rx_end(&batch);
	if (lent)
		rds_rdma_page_lend(r);
	return why;
}

/* What a header says beside its message.  The lock is held. */
static void frame_header(struct rds_rdma_conn *conn, const struct rds_wire_header *h,
			 struct frame_result *res)
{
	u64 ack = be64_to_cpu(h->ack);

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
 * The end of a frame, under one hold of the lock: what its header says, its receive posted again,
 * an acknowledgement if one is due.
 */
static void frame_finish(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
			 const struct rds_wire_header *h, struct frame_result *res)
{
	spin_lock(&conn->tx_lock);
	rds_rdma_cq_turn(conn, true, 1);
	frame_header(conn, h, res);
	ib_dma_sync_single_for_device(conn->dev->ib, r->sge[RDS_RDMA_RECV_HDR].addr,
				      RDS_RDMA_HDR, DMA_FROM_DEVICE);
	if (res->seq)
		conn->ack_seq = res->seq;
	if (res->ack_required)
		conn->ack_due = true;
	if (!rds_rdma_recv_again(conn, r, res->frames) || !rds_rdma_ack_try(conn))
		res->why = RDS_DROP_SEND_ERROR;
	if (conn->blocked & RDS_RDMA_NO_CREDIT && rds_rdma_credit_some(&conn->credit)) {
		conn->blocked = 0;
		res->writable = true;
	}
	res->fill = rds_rdma_recv_missing(conn);
	spin_unlock(&conn->tx_lock);
}

/* Its receive has a page again, unless there are more than wanted or there is no memory. */
static void frame_repage(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	/* only this context makes rx.posted smaller: looked at without the lock */
	if (READ_ONCE(conn->rx.posted) + READ_ONCE(conn->rx.nr_ready) >
	    READ_ONCE(conn->rx.target))
		rds_rdma_page_free(r);
	else if (!r->page)
		rds_rdma_page_add(r, GFP_ATOMIC);
	else
		ib_dma_sync_single_for_device(conn->dev->ib, r->sge[RDS_RDMA_RECV_PAGE].addr,
					      RDS_RDMA_FRAG, DMA_FROM_DEVICE);
}

static void frame_invalidated(struct rds_rdma_conn *conn, u32 rkey)
{
	rds_rdma_mr_invalidated(conn->dev, rkey);
	rds_mr_retired(conn->path, rkey);
}

/* What the frame carries, as far as its first header lets it be looked at. */
static enum rds_drop_reason frame_payload(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
					  const struct rds_wire_header *h,
					  struct frame_result *res)
{
	u32 pay = r->bytes - RDS_RDMA_HDR;

	if (frame_is_ack(h, pay)) {
		rds_rdma_count(conn, ib_ack_received);
		return RDS_DROP_MAX;
	}
	if (!frame_is_joined(conn, h, pay))
		return frame_message(conn, r, h, pay, res);
	return frame_joined(conn, r, h, res);
}

void rds_rdma_frame_in(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	struct frame_result res = { .why = RDS_DROP_BAD_FRAME };
	const struct rds_wire_header *h = rds_rdma_recv_hdr(r);

	if (r->retired)
		frame_invalidated(conn, r->retired);
	if (r->bytes < RDS_RDMA_HDR)
		goto fail;
	ib_dma_sync_single_for_cpu(conn->dev->ib, r->sge[RDS_RDMA_RECV_HDR].addr, RDS_RDMA_HDR,
				   DMA_FROM_DEVICE);
	if (r->bytes > RDS_RDMA_HDR)
		ib_dma_sync_single_for_cpu(conn->dev->ib, r->sge[RDS_RDMA_RECV_PAGE].addr,
					   r->bytes - RDS_RDMA_HDR, DMA_FROM_DEVICE);
	if (h->csum && rds_rdma_hdr_sum(h) != 0xffff) {
		res.why = RDS_DROP_BAD_CSUM;
		goto fail;
	}
	res.why = frame_payload(conn, r, h, &res);
	if (unlikely(res.why != RDS_DROP_MAX))
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
	if (likely(res.why == RDS_DROP_MAX))
		return;
fail:
	net_info_ratelimited("rds_rdma: frame from %pI6c of %u bytes not usable: reason %u\n",
			     &conn->path->addr->faddr, r->bytes, res.why);
	rds_rdma_conn_fail(conn, res.why);
}
