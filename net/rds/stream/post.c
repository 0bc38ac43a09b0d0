// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The queue pair of a stream: how decisions of the engine become work requests,
 * and completions become calls of the engine.
 *
 * On InfiniBand and RoCE a message is the immediate of a write, and a receive
 * has no memory.  On iWARP it is a Send of 4 bytes behind the write, and
 * receives complete in the order in which they were posted, so the place of a
 * message follows from the number of receives.
 *
 * A completion finds the connection by its ib_cqe, or by the context of the
 * queue pair, and needs no reference: the queue pair is destroyed before the
 * connection can be freed.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include <net/rds/dev_domain.h>

#include "conn.h"
#include "net.h"
#include "sock.h"

#define ENTRY_AT(nr)	((nr) * RDS_SS_ENTRY_BYTES)
#define MSG_AT(nr)	(ENTRY_AT(RDS_SS_SQ_MAX) + (nr) * RDS_SS_MSG_BYTES)
#define SLOT_BYTES	(RDS_SS_ENTRY_BYTES + RDS_SS_MSG_BYTES)

/* Receives that may be posted at once */
#define RECV_BATCH	16

static bool iwarp(const struct rds_ss_conn *conn)
{
	return conn->id.dev->props.iwarp;
}

static u32 local_key(const struct rds_ss_conn *conn)
{
	return conn->id.dom->pd->local_dma_lkey;
}

static unsigned int max_sge(const struct rds_ss_conn *conn)
{
	return min_t(u32, conn->id.dev->props.max_sge, RDS_SS_SGE);
}

static unsigned int receives(const struct rds_ss_conn *conn)
{
	return rds_ss_flow_receives(&conn->e.flow);
}

/* Before the device reads what was written, or the other way round */
static void wire_sync(struct rds_ss_conn *conn, u32 at, u32 bytes, bool out)
{
	struct ib_device *ib = conn->id.dev->ib;

	if (out)
		ib_dma_sync_single_for_device(ib, conn->wire.dma + at, bytes,
					      DMA_BIDIRECTIONAL);
	else
		ib_dma_sync_single_for_cpu(ib, conn->wire.dma + at, bytes,
					   DMA_BIDIRECTIONAL);
}

/* Completions */

static void rx_done(struct ib_cq *cq, struct ib_wc *wc);
static void part_done(struct ib_cq *cq, struct ib_wc *wc);
static void slot_done(struct ib_cq *cq, struct ib_wc *wc);

/*
 * The CM flushes the queue pair of an attempt that the peer refuses before it
 * says so by an event, which says more.
 */
static bool flushed_early(struct rds_ss_conn *conn, const struct ib_wc *wc)
{
	bool early;

	if (wc->status != IB_WC_WR_FLUSH_ERR)
		return false;
	spin_lock_bh(&conn->lock);
	early = !conn->up;
	if (early)
		conn->flushed = true;
	spin_unlock_bh(&conn->lock);
	return early;
}

/*
 * What fails by itself comes before what is flushed for it, in the order of the
 * queue.  So where a flush is the first sign, the peer has closed the
 * connection, or the CM has for it: siw does not always tell by an event.
 */
static void wc_failed(struct rds_ss_conn *conn, const struct ib_wc *wc)
{
	enum rds_dev_why why = RDS_DEV_WHY_QP;

	if (flushed_early(conn, wc))
		return;
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		why = RDS_DEV_WHY_CLOSED;
	else if (wc->status == IB_WC_RETRY_EXC_ERR)
		why = RDS_DEV_WHY_TIMEOUT;
	rds_dev_id_fail(&conn->id, why);
}

/* The message of a receive; false if it is none. */
static bool rx_message(struct rds_ss_conn *conn, const struct ib_wc *wc,
		       u32 *msg, u32 *payload)
{
	u32 at;

	if (!iwarp(conn)) {
		*msg = be32_to_cpu(wc->ex.imm_data);
		*payload = wc->byte_len;
		return wc->wc_flags & IB_WC_WITH_IMM;
	}
	at = conn->wire.rx + conn->rx_done * RDS_SS_MSG_BYTES;
	wire_sync(conn, at, RDS_SS_MSG_BYTES, false);
	*msg = rds_ss_msg_get(conn->wire.cpu + at);
	*payload = RDS_SS_UNKNOWN;
	return wc->byte_len == RDS_SS_MSG_BYTES;
}

static void rx_take(struct rds_ss_conn *conn, const struct ib_wc *wc)
{
	struct rds_ss_news news;
	enum rds_ss_why why;
	u32 msg, payload;

	lockdep_assert_held(&conn->lock);
	if (!rx_message(conn, wc, &msg, &payload)) {
		rds_ss_refused(conn->sn, RDS_SS_WHY_OPCODE);
		rds_ss_on(&conn->e, RDS_SS_EV_FAIL);
		return;
	}
	conn->rx_done = (conn->rx_done + 1) % receives(conn);
	conn->heard = jiffies;
	conn->nudges = 0;
	rds_dev_cq_turn(&conn->cq, true, 1);
	why = rds_ss_receive(&conn->e, msg, payload, &news);
	if (why)
		rds_ss_refused(conn->sn, why);
	rds_ss_conn_news(conn, &news);
}

static void rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ss_conn *conn = container_of(wc->wr_cqe, struct rds_ss_conn,
						rx_cqe);

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		wc_failed(conn, wc);
		return;
	}
	if (unlikely(READ_ONCE(conn->id.silent)))
		rds_dev_id_heard(&conn->id);
	spin_lock_bh(&conn->lock);
	/* close_work does not wait for completions of a late id. */
	if (!rds_dev_id_is_late(&conn->id)) {
		rx_take(conn, wc);
		rds_ss_pump(conn);
	}
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
}

static void part_done(struct ib_cq *cq, struct ib_wc *wc)
{
	if (unlikely(wc->status != IB_WC_SUCCESS))
		wc_failed(container_of(wc->wr_cqe, struct rds_ss_conn,
				       part_cqe), wc);
}

static void slot_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ss_slot *slot = container_of(wc->wr_cqe, struct rds_ss_slot,
						cqe);
	struct rds_ss_conn *conn = container_of(slot - slot->nr,
						struct rds_ss_conn, slots[0]);
	u32 bytes;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		wc_failed(conn, wc);
		return;
	}
	spin_lock_bh(&conn->lock);
	rds_dev_cq_turn(&conn->cq, false, 1);
	bytes = rds_ss_complete(&conn->e, slot->nr);
	rds_ss_clock_answer(conn, bytes);
	if (bytes) {
		rds_ss_tx_done(conn, bytes);
		rds_ss_conn_space(conn);
	}
	rds_ss_pump(conn);
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
}

/* Posting */

static void recv_fill(struct rds_ss_conn *conn, struct ib_recv_wr *wr,
		      struct ib_sge *sge)
{
	memset(wr, 0, sizeof(*wr));
	wr->wr_cqe = &conn->rx_cqe;
	if (iwarp(conn)) {
		sge->addr = conn->wire.dma + conn->wire.rx +
			    conn->rx_post * RDS_SS_MSG_BYTES;
		sge->length = RDS_SS_MSG_BYTES;
		sge->lkey = local_key(conn);
		wr->sg_list = sge;
		wr->num_sge = 1;
	}
	conn->rx_post = (conn->rx_post + 1) % receives(conn);
}

static bool recv_post(struct rds_ss_conn *conn, unsigned int n)
{
	struct ib_recv_wr wr[RECV_BATCH];
	struct ib_sge sge[RECV_BATCH];
	const struct ib_recv_wr *bad;
	unsigned int i;

	for (i = 0; i < n; i++) {
		recv_fill(conn, &wr[i], &sge[i]);
		if (i)
			wr[i - 1].next = &wr[i];
	}
	return !ib_post_recv(conn->id.qp, wr, &bad);
}

/* Post @n receives; false if the device refuses. */
static bool post_receives(struct rds_ss_conn *conn, unsigned int n)
{
	unsigned int part;

	for (; n; n -= part) {
		part = min_t(unsigned int, n, RECV_BATCH);
		if (!recv_post(conn, part))
			return false;
	}
	return true;
}

/* A message and what is written with it, as work requests */
struct post {
	struct ib_rdma_wr	write;
	struct ib_send_wr	send;
	struct ib_sge		sge[RDS_SS_SGE];
	struct ib_sge		msg;
};

static void post_payload(struct rds_ss_conn *conn, const struct rds_ss_post *p,
			 struct post *post)
{
	unsigned int n = 0, i;

	if (p->what == RDS_SS_DATA) {
		n = rds_ss_tx_take(&conn->tx, p->bytes, post->sge);
	} else if (p->bytes) {
		memcpy(conn->wire.cpu + ENTRY_AT(p->slot), p->entry, p->bytes);
		wire_sync(conn, ENTRY_AT(p->slot), p->bytes, true);
		post->sge[0].addr = conn->wire.dma + ENTRY_AT(p->slot);
		post->sge[0].length = p->bytes;
		n = 1;
	}
	for (i = 0; i < n; i++)
		post->sge[i].lkey = local_key(conn);
	post->write.wr.sg_list = post->sge;
	post->write.wr.num_sge = n;
	post->write.wr.opcode = IB_WR_RDMA_WRITE;
	post->write.remote_addr = p->addr;
	post->write.rkey = p->key;
}

static void post_send(struct rds_ss_conn *conn, const struct rds_ss_post *p,
		      struct post *post)
{
	u32 at = MSG_AT(p->slot);

	rds_ss_msg_put(conn->wire.cpu + at, p->msg);
	wire_sync(conn, at, RDS_SS_MSG_BYTES, true);
	post->msg.addr = conn->wire.dma + at;
	post->msg.length = RDS_SS_MSG_BYTES;
	post->msg.lkey = local_key(conn);
	post->send.sg_list = &post->msg;
	post->send.num_sge = 1;
	post->send.opcode = IB_WR_SEND;
}

/*
 * The first work request of a message; the last one has the completion of the
 * slot.
 */
static struct ib_send_wr *post_build(struct rds_ss_conn *conn,
				     const struct rds_ss_post *p,
				     struct post *post)
{
	struct ib_send_wr *first = &post->write.wr, *last = first;
	int flags = p->signalled ? IB_SEND_SIGNALED : 0;

	post_payload(conn, p, post);
	if (p->what == RDS_SS_BEAT) {
		last = first;
	} else if (!iwarp(conn)) {
		first->opcode = IB_WR_RDMA_WRITE_WITH_IMM;
		first->ex.imm_data = cpu_to_be32(p->msg);
	} else {
		post_send(conn, p, post);
		last = &post->send;
		first->next = last;
		first->wr_cqe = &conn->part_cqe;
		first->send_flags = flags;
		if (!p->bytes)
			first = last;
	}
	last->wr_cqe = &conn->slots[p->slot].cqe;
	last->send_flags = flags;
	return first;
}

/* Post a decision; false if the device refuses. */
static bool post_one(struct rds_ss_conn *conn, const struct rds_ss_post *p)
{
	const struct ib_send_wr *bad;
	struct post post;

	lockdep_assert_held(&conn->lock);
	if (p->what == RDS_SS_RECEIVES)
		return post_receives(conn, p->count);
	memset(&post, 0, sizeof(post));
	return !ib_post_send(conn->id.qp, post_build(conn, p, &post), &bad);
}

/* Begin and end */

static int wire_create(struct rds_ss_conn *conn)
{
	struct rds_ss_wire *w = &conn->wire;

	w->rx = RDS_SS_SQ_MAX * SLOT_BYTES;
	w->bytes = w->rx;
	if (iwarp(conn))
		w->bytes += receives(conn) * RDS_SS_MSG_BYTES;
	w->cpu = kzalloc(w->bytes, GFP_KERNEL_ACCOUNT);
	if (!w->cpu)
		return -ENOMEM;
	w->dma = ib_dma_map_single(conn->id.dev->ib, w->cpu, w->bytes,
				   DMA_BIDIRECTIONAL);
	if (!ib_dma_mapping_error(conn->id.dev->ib, w->dma))
		return 0;
	kfree(w->cpu);
	w->cpu = NULL;
	return -ENOMEM;
}

static int qp_create(struct rds_ss_conn *conn)
{
	struct ib_qp_init_attr attr = { };
	int err;

	/* One of each queue is for the drain. */
	attr.cap.max_send_wr = conn->want.sq + 1;
	attr.cap.max_recv_wr = receives(conn) + 1;
	attr.cap.max_send_sge = max_sge(conn);
	attr.cap.max_recv_sge = 1;
	err = rds_dev_cq_get(&conn->cq, conn->id.dev,
			     attr.cap.max_send_wr + attr.cap.max_recv_wr);
	if (err)
		return err;
	attr.send_cq = conn->cq.cq;
	attr.recv_cq = conn->cq.cq;
	return rds_dev_id_create_qp(&conn->id, &attr);
}

int rds_ss_post_create(struct rds_ss_conn *conn)
{
	unsigned int i;
	int err;

	conn->rx_cqe.done = rx_done;
	conn->part_cqe.done = part_done;
	for (i = 0; i < RDS_SS_SQ_MAX; i++) {
		conn->slots[i].cqe.done = slot_done;
		conn->slots[i].nr = i;
	}
	err = wire_create(conn);
	if (!err)
		err = qp_create(conn);
	if (err)
		return err;
	return post_receives(conn, receives(conn)) ? 0 : -ENOMEM;
}

void rds_ss_post_free(struct rds_ss_conn *conn)
{
	struct rds_ss_wire *w = &conn->wire;

	if (!w->cpu)
		return;
	ib_dma_unmap_single(conn->id.dev->ib, w->dma, w->bytes,
			    DMA_BIDIRECTIONAL);
	kfree(w->cpu);
	w->cpu = NULL;
}

void rds_ss_pump(struct rds_ss_conn *conn)
{
	struct rds_ss_post p;

	lockdep_assert_held(&conn->lock);
	while (!conn->mute && !rds_dev_id_ends(&conn->id) &&
	       rds_ss_due(&conn->e) &&
	       rds_ss_decide(&conn->e,
			     rds_ss_tx_most(&conn->tx, max_sge(conn)), &p)) {
		if (!post_one(conn, &p)) {
			conn->mute = true;
			conn->refused = true;
			break;
		}
		if (p.freed != RDS_SS_NO_MEM)
			rds_ss_mem_ended(conn, p.freed);
		if (p.what == RDS_SS_DATA) {
			rds_ss_count(conn->sn, RDS_SS_STAT_stream_bytes_out,
				     p.bytes);
			rds_ss_count(conn->sn, RDS_SS_STAT_stream_messages_out,
				     1);
		}
	}
	rds_ss_conn_look(conn);
	rds_ss_clock_look(conn);
}
