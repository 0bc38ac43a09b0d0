// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Transmits messages, frame by frame.
 *
 * Frames are built under one hold of tx_lock, as many as there is room for and
 * up to TX_CHAIN, chained, and posted in one call.  A message that fits one
 * frame and lies in one piece is sent from its own memory, with its header, as
 * one SGE.  In all other frames the header is a copy in the slot, and the
 * payload stays in place.  Each slot has references to its pages.  A frame that
 * the device takes inline is copied when it is posted, and its slot has no
 * page.
 *
 * Small messages that wait one behind the other share a frame, if the peer
 * takes such: they are copied to a page of the slot's own, each with its header
 * (Documentation/rdma.rst, "Joined messages").  No message is held back to be
 * joined.
 *
 * A message may be taken in part: rds_tx_batch.off then is the header and a
 * multiple of RDS_RDMA_FRAG.  Its operations were posted by this connection in
 * that case, or it has none.  A message whose operations are posted
 * (rds_tx_request.posted) and of which no frame is taken was blocked in
 * between; its frames come next, or after a map that the core puts in front,
 * and always wait for rds_rdma_conn.op_fenced.
 *
 * A lone small frame asks for no completion, as no context waits for its slot;
 * a run of frames or a large one does, at its end, to release their pages.
 * Where a completion comes before the data have left
 * (rds_dev_props.write_early) every frame is signalled: siw copies signalled
 * frames first, and otherwise may read a header that belongs to another frame
 * by then.
 */
#include <linux/highmem.h>

#include "data.h"

#define TX_CHAIN	32U	/* most frames in one ib_post_send() */
/* bytes copied under one hold of the lock, plus up to a frame */
#define TX_COPY		32768U
/* most payload that is held without a completion to come */
#define TX_LARGE	1024

/*
 * Unacknowledged messages and bytes before one asks for acknowledgement
 * (protocol.rst 4.8)
 */
#define TX_UNACKED_MSGS		8
#define TX_UNACKED_BYTES	(16U * 1024 * 1024)

/**
 * struct tx_run - frames of one ib_post_send()
 * @conn: connection
 * @first: slot of the first frame
 * @last: slot of the last frame
 * @n: number of frames
 * @bytes: bytes of payload, and of whole joined frames
 * @copied: bytes of joined frames
 */
struct tx_run {
	struct rds_rdma_conn	*conn;
	struct rds_rdma_slot	*first;
	struct rds_rdma_slot	*last;
	unsigned int		n;
	unsigned int		bytes;
	unsigned int		copied;
};

/*
 * Next byte of payload, and the previous header of the message if it is in the
 * same chain
 */
struct tx_cursor {
	const struct bio_vec		*bv;
	unsigned int			skip;
	const struct rds_wire_header	*sealed;
};

static void tx_cursor_set(struct tx_cursor *cur, const struct rds_tx_msg *m,
			  unsigned int skip)
{
	cur->bv = m->bv;
	while (skip && skip >= cur->bv->bv_len)
		skip -= cur->bv++->bv_len;
	cur->skip = skip;
	cur->sealed = NULL;
}

/*
 * Add the next @len bytes of payload; the core's layout needs two entries at
 * most.
 */
static bool tx_slot_payload(struct rds_rdma_conn *conn,
			    struct rds_rdma_slot *slot, struct tx_cursor *cur,
			    unsigned int len)
{
	unsigned int part;

	for (; len; len -= part) {
		while (cur->skip == cur->bv->bv_len) {
			cur->bv++;
			cur->skip = 0;
		}
		part = min(len, cur->bv->bv_len - cur->skip);
		if (WARN_ON_ONCE(slot->wr.num_sge == RDS_RDMA_SEND_SGE) ||
		    !rds_rdma_slot_add(conn, slot, cur->bv, cur->skip, part))
			return false;
		cur->skip += part;
	}
	return true;
}

/* Whether a message with payload lies in one piece and fits one frame. */
static bool tx_in_place(const struct rds_tx_msg *m)
{
	return m->nr_bv == 1 && m->bytes > RDS_RDMA_HDR &&
	       m->bytes <= RDS_RDMA_HDR + RDS_RDMA_FRAG;
}

/*
 * Whether a message lies in one piece that the device copies when it is posted.
 */
static bool tx_inline(const struct rds_rdma_conn *conn,
		      const struct rds_tx_msg *m)
{
	return m->nr_bv == 1 && m->bytes <= conn->max_inline;
}

/*
 * Header flags of a message, which may ask for an acknowledgement (protocol.rst
 * 4.8).  The congestion map never asks, as it is recognised by flags that equal
 * RDS_WIRE_F_CONG.
 */
static u8 tx_msg_flags(struct rds_rdma_conn *conn, const struct rds_tx_msg *m)
{
	u8 flags = m->hdr->flags;

	if (flags == RDS_WIRE_F_CONG)
		return flags;
	if (m->want_ack || flags & RDS_WIRE_F_RETRANSMITTED ||
	    !conn->unacked_msgs || conn->unacked_bytes < m->bytes) {
		conn->unacked_msgs = TX_UNACKED_MSGS;
		conn->unacked_bytes = TX_UNACKED_BYTES;
		return flags | RDS_WIRE_F_ACK_REQUIRED;
	}
	conn->unacked_msgs--;
	conn->unacked_bytes -= m->bytes;
	return flags;
}

/* Fill in opcode and flags of a frame, but for IB_SEND_SIGNALED. */
static void tx_frame_wr(struct rds_rdma_conn *conn, struct rds_rdma_slot *slot,
			const struct rds_tx_msg *m, bool first, bool last)
{
	const struct rds_tx_request *req = m->request;

	slot->wr.opcode = IB_WR_SEND;
	slot->wr.send_flags = last ? IB_SEND_SOLICITED : 0;
	if (likely(!req))
		return;
	/* The fence holds back all that follows the first frame as well. */
	if (first &&
	    ((req->rdma && req->rdma->fence) ||
	     (req->atomic && req->atomic->fence)) &&
	    !conn->id.dev->props.iwarp)
		slot->wr.send_flags |= IB_SEND_FENCE;
	/*
	 * The message's operations are done by now (op_fenced); later frames
	 * need not wait.
	 */
	if (first && req->invalidate_rkey && conn->id.dev->props.remote_inv) {
		slot->wr.opcode = IB_WR_SEND_WITH_INV;
		slot->wr.ex.invalidate_rkey = req->invalidate_rkey;
		rds_rdma_count(conn, rdma_send_inv);
	}
}

/*
 * Fewer than half of the slots, so that a last completion always leaves room to
 * wake xmit.
 */
static unsigned int tx_max_unsignalled(const struct rds_rdma_conn *conn)
{
	return min(READ_ONCE(rds_rdma_max_unsignaled),
		   conn->lim.send_slots / 2 - 1);
}

static bool tx_slots_full(const struct rds_rdma_conn *conn)
{
	return conn->tx_head - conn->tx_tail == conn->lim.send_slots;
}

static void tx_signal(struct rds_rdma_conn *conn, struct rds_rdma_slot *slot)
{
	slot->wr.send_flags |= IB_SEND_SIGNALED;
	conn->unsignalled = 0;
}

/* Add the frame in @slot to the chain. */
static void tx_run_add(struct tx_run *run, struct rds_rdma_slot *slot)
{
	struct rds_rdma_conn *conn = run->conn;

	if (conn->id.dev->props.write_early ||
	    conn->unsignalled++ >= tx_max_unsignalled(conn))
		tx_signal(conn, slot);
	conn->tx_head++;
	if (run->n++)
		run->last->wr.next = &slot->wr;
	else
		run->first = slot;
	run->last = slot;
}

/*
 * Write the header of a frame.  Acknowledgement and credits do not change while
 * the lock is held, so the next header of a message is a copy, once no credit
 * is left to grant.
 */
static void tx_header(struct rds_rdma_conn *conn, const struct rds_tx_msg *m,
		      struct rds_wire_header *h, struct tx_cursor *cur)
{
	if (cur->sealed && !cur->sealed->credit &&
	    !rds_rdma_credit_news(&conn->credit)) {
		*h = *cur->sealed;
		return;
	}
	if (h != m->hdr)
		*h = *m->hdr;
	h->flags = conn->tx_flags;
	if (conn->ack_due)
		rds_rdma_count(conn, ib_ack_send_piggybacked);
	rds_rdma_hdr_seal(conn, h);
	cur->sealed = h;
}

/*
 * Build one frame with @len bytes of payload at @cur.  Returns what is missing,
 * RDS_RDMA_NO_*.
 */
static u8 tx_frame(struct tx_run *run, const struct rds_tx_msg *m,
		   struct tx_cursor *cur, unsigned int len, bool first,
		   bool last)
{
	struct rds_rdma_conn *conn = run->conn;
	struct rds_rdma_slot *slot = rds_rdma_slot_of(conn, conn->tx_head);
	unsigned int idx = slot - conn->slots;
	struct rds_wire_header *h = m->hdr;
	bool inl = tx_inline(conn, m), ok = true;

	if (tx_slots_full(conn))
		return RDS_RDMA_NO_SLOT;
	if (inl) {
		/* An inline SGE has a virtual address. */
		slot->sge[0].addr = (uintptr_t)h;
		slot->sge[0].length = m->bytes;
		slot->wr.num_sge = 1;
	} else if (tx_in_place(m)) {
		ok = rds_rdma_slot_add(conn, slot, m->bv, 0, m->bytes);
	} else {
		h = &conn->tx_hdr[idx];
		slot->sge[0].addr = conn->tx_hdr_dma + idx * sizeof(*h);
		slot->sge[0].length = sizeof(*h);
		slot->wr.num_sge = 1;
		ok = tx_slot_payload(conn, slot, cur, len);
	}
	if (unlikely(!ok)) {
		rds_rdma_slot_release(conn, slot);
		rds_rdma_count(conn, ib_tx_sg_mapping_failure);
		return RDS_RDMA_NO_MEM;
	}
	if (unlikely(!rds_rdma_credit_take(&conn->credit))) {
		rds_rdma_slot_release(conn, slot);
		return RDS_RDMA_NO_CREDIT;
	}
	tx_header(conn, m, h, cur);
	tx_frame_wr(conn, slot, m, first, last);
	if (inl)
		slot->wr.send_flags |= IB_SEND_INLINE;
	else
		ib_dma_sync_single_for_device(conn->id.dev->ib,
					      slot->sge[0].addr, sizeof(*h),
					      DMA_TO_DEVICE);
	tx_run_add(run, slot);
	run->bytes += len;
	return 0;
}

static void tx_msg_taken(struct rds_tx_batch *batch, struct rds_tx_msg *m)
{
	m->end = be64_to_cpu(m->hdr->seq);
	batch->off = 0;
	batch->cur = list_is_last(&m->list, batch->head) ?
			     NULL :
			     list_next_entry(m, list);
}

/*
 * Build frames of one message, until the chain is full.  Returns what is
 * missing.
 */
static u8 tx_message(struct tx_run *run, struct rds_tx_batch *batch)
{
	struct rds_rdma_conn *conn = run->conn;
	struct rds_tx_msg *m = batch->cur;
	unsigned int done = batch->off ? batch->off - RDS_RDMA_HDR : 0;
	unsigned int left = m->bytes - RDS_RDMA_HDR - done, len;
	u32 msgs = conn->unacked_msgs, bytes = conn->unacked_bytes;
	struct tx_cursor cur;
	u8 why;

	tx_cursor_set(&cur, m, RDS_RDMA_HDR + done);
	if (!batch->off) {
		conn->tx_flags = tx_msg_flags(conn, m);
		conn->last_seq = max(conn->last_seq, be64_to_cpu(m->hdr->seq));
	}
	for (;; left -= len) {
		len = min_t(unsigned int, left, RDS_RDMA_FRAG);
		why = tx_frame(run, m, &cur, len, !batch->off, len == left);
		if (why)
			break;
		if (len == left) {
			tx_msg_taken(batch, m);
			return 0;
		}
		batch->off = (batch->off ?: RDS_RDMA_HDR) + len;
		if (run->n == TX_CHAIN)
			return 0;
	}
	if (!batch->off) {
		conn->unacked_msgs = msgs;
		conn->unacked_bytes = bytes;
	}
	return why;
}

/*
 * Whether a message may share a frame.  Operations set flags of the whole
 * frame, so no.
 */
static bool tx_joins(const struct rds_tx_msg *m, unsigned int room)
{
	return m->bytes <= room && !m->request &&
	       m->hdr->flags != RDS_WIRE_F_CONG;
}

/*
 * Length of a frame with as many waiting messages as fit; 0: the first message
 * goes alone.
 */
static unsigned int tx_join_bytes(const struct rds_rdma_conn *conn,
				  const struct rds_tx_batch *batch)
{
	const struct rds_tx_msg *m = batch->cur;
	unsigned int bytes = 0;

	if (!conn->peer.joins || batch->off ||
	    list_is_last(&m->list, batch->head))
		return 0;
	while (tx_joins(m, RDS_RDMA_JOIN_MAX - bytes)) {
		bytes += m->bytes;
		if (list_is_last(&m->list, batch->head))
			break;
		m = list_next_entry(m, list);
	}
	return bytes > batch->cur->bytes ? bytes : 0;
}

/*
 * Copy a message to its place in a frame, of any alignment.  Only the first
 * header of the frame has acknowledgement and credits.
 */
static void tx_join(struct rds_rdma_conn *conn, u8 *to,
		    const struct rds_tx_msg *m)
{
	struct rds_wire_header h = *m->hdr;
	unsigned int i, off = 0;
	void *from;

	for (i = 0; i < m->nr_bv; off += m->bv[i++].bv_len) {
		/*
		 * Entries of user memory lie within one page, the core's are
		 * never high memory.
		 */
		from = bvec_kmap_local(&m->bv[i]);
		memcpy(to + off, from, m->bv[i].bv_len);
		kunmap_local(from);
	}
	h.flags = tx_msg_flags(conn, m);
	h.ack = 0;
	h.credit = 0;
	h.csum = 0;
	h.csum = (__force __be16)(u16)~rds_rdma_hdr_sum(&h);
	memcpy(to, &h, sizeof(h));
	conn->last_seq = max(conn->last_seq, be64_to_cpu(h.seq));
	rds_rdma_count(conn, rdma_tx_joined);
}

/*
 * Build one frame of the next messages, @bytes long.  Returns what is missing;
 * without a page the first message goes alone.
 */
static u8 tx_joined(struct tx_run *run, struct rds_tx_batch *batch,
		    unsigned int bytes)
{
	struct rds_rdma_conn *conn = run->conn;
	struct rds_rdma_slot *slot = rds_rdma_slot_of(conn, conn->tx_head);
	unsigned int off;
	u8 *buf;

	if (tx_slots_full(conn))
		return RDS_RDMA_NO_SLOT;
	if (!rds_rdma_credit_some(&conn->credit))
		return RDS_RDMA_NO_CREDIT;
	buf = rds_rdma_slot_page(conn, slot, bytes);
	if (unlikely(!buf))
		return tx_message(run, batch);
	rds_rdma_credit_take(&conn->credit);
	for (off = 0; off < bytes;) {
		tx_join(conn, buf + off, batch->cur);
		off += batch->cur->bytes;
		tx_msg_taken(batch, batch->cur);
	}
	if (conn->ack_due)
		rds_rdma_count(conn, ib_ack_send_piggybacked);
	rds_rdma_hdr_seal(conn, (struct rds_wire_header *)buf);
	ib_dma_sync_single_for_device(conn->id.dev->ib, slot->sge[0].addr,
				      bytes, DMA_TO_DEVICE);
	slot->wr.opcode = IB_WR_SEND;
	slot->wr.send_flags = IB_SEND_SOLICITED;
	tx_run_add(run, slot);
	run->bytes += bytes;
	run->copied += bytes;
	return 0;
}

static u8 tx_next(struct tx_run *run, struct rds_tx_batch *batch)
{
	unsigned int bytes = tx_join_bytes(run->conn, batch);

	return bytes ? tx_joined(run, batch, bytes) : tx_message(run, batch);
}

/*
 * Whether the next message has operations still to be posted, or is not to be
 * sent at all.
 */
static bool tx_ops_first(const struct rds_tx_batch *batch)
{
	const struct rds_tx_request *req = batch->cur->request;

	return req && !batch->off && (!req->posted || req->silent);
}

static void tx_count_blocked(struct rds_rdma_conn *conn, u8 why)
{
	if (why & RDS_RDMA_NO_SLOT)
		rds_rdma_count(conn, ib_tx_ring_full);
	if (why & RDS_RDMA_NO_CREDIT)
		rds_rdma_count(conn, ib_tx_throttle);
	if (why & RDS_RDMA_NO_MEM)
		rds_rdma_data_kick(conn);
}

/* Build and post one chain.  Returns 0, -EAGAIN if there is no room, -EIO. */
static int tx_chain(struct rds_rdma_conn *conn, struct rds_tx_batch *batch)
{
	struct tx_run run = { .conn = conn };
	const struct ib_send_wr *bad;
	u8 why = 0;
	int ret = 0;

	spin_lock_bh(&conn->tx_lock);
	if (unlikely(rds_dev_id_ends(&conn->id)))
		ret = -EIO;
	else if (unlikely(conn->op_fenced))
		why = RDS_RDMA_NO_OP;
	while (!ret && !why && batch->cur && run.n < TX_CHAIN &&
	       run.copied < TX_COPY && !tx_ops_first(batch))
		why = tx_next(&run, batch);
	if (run.n) {
		rds_dev_cq_turn(&conn->cq, false, run.n);
		run.last->wr.next = NULL;
		if (conn->unsignalled &&
		    (run.n > 1 || run.bytes > TX_LARGE || run.copied))
			tx_signal(conn, run.last);
		ret = ib_post_send(conn->id.qp, &run.first->wr, &bad);
	}
	conn->blocked |= why;
	spin_unlock_bh(&conn->tx_lock);
	if (likely(!why))
		return ret;
	tx_count_blocked(conn, why);
	return ret ?: -EAGAIN;
}

/*
 * Post the operations that precede the next frame; a silent message has no
 * frame.
 */
static int tx_ops(struct rds_rdma_conn *conn, struct rds_tx_batch *batch)
{
	struct rds_tx_request *req;
	int ret;

	/* Only xmit adds to op_pending, so it is read without the lock. */
	if (unlikely(!list_empty(&conn->op_pending))) {
		ret = rds_rdma_ops_post(conn);
		if (ret)
			return ret;
	}
	while (batch->cur && tx_ops_first(batch)) {
		req = batch->cur->request;
		if (!req->posted) {
			ret = rds_rdma_ops_prepare(conn, req);
			if (!ret)
				ret = rds_rdma_ops_post(conn);
			if (ret)
				return ret;
		}
		if (!req->silent)
			break;
		tx_msg_taken(batch, batch->cur);
	}
	return 0;
}

/* Implements &rds_transport.xmit */
enum rds_tx_result rds_rdma_xmit(struct rds_path *path,
				 struct rds_tx_batch *batch)
{
	struct rds_rdma_path *rpath = path->priv;
	struct rds_rdma_conn *conn = rpath->conn;
	int ret;

	while (batch->cur) {
		ret = tx_ops(conn, batch);
		if (!ret && batch->cur)
			ret = tx_chain(conn, batch);
		if (ret == -EAGAIN)
			return RDS_TX_BLOCKED;
		if (ret) {
			rds_rdma_conn_fail(conn, RDS_DROP_SEND_ERROR);
			return RDS_TX_FAILED;
		}
	}
	return RDS_TX_DONE;
}
