// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages out of TCP's receive queue.
 *
 * One run takes all that is there, straight from the callback.  Headers and the payload of
 * small messages are copied out of the socket buffers, larger payload is referenced.  When
 * memory is short the bytes stay in TCP's queue (its window closes in the end) and a timer
 * tries again; nothing is lost, and nothing is allocated because a header announces it.
 */
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/* One run over the queue */
struct rds_tcp_rx {
	struct rds_tcp_conn	*conn;
	struct rds_rx_batch	batch;
	bool			stop;
};

static void rx_die(struct rds_tcp_rx *rx, enum rds_drop_reason why)
{
	struct rds_tcp_conn *conn = rx->conn;

	conn->rx_state = RDS_TCP_RX_DEAD;
	rx->stop = true;
	if (!conn->closing)
		rds_path_lost(conn->path, why);
}

static void rx_stall(struct rds_tcp_rx *rx)
{
	rx->stop = true;
	rx->conn->rx_stalled = true;
	rds_drop(rx->conn->tn->net, RDS_DROP_NO_MEMORY);
	rds_tcp_retry_later(rx->conn);
}

static void rx_message_end(struct rds_tcp_rx *rx)
{
	struct rds_tcp_conn *conn = rx->conn;
	struct rds_incoming *inc = conn->inc;

	conn->rx_state = RDS_TCP_RX_HEADER;
	conn->inc = NULL;
	conn->buf = NULL;
	if (inc)
		rds_rx_deliver(&rx->batch, inc, &conn->stream.hdr.wire);
}

/* The header is there: get a message to hold what follows.  False without memory. */
static bool rx_message_begin(struct rds_tcp_rx *rx)
{
	struct rds_tcp_conn *conn = rx->conn;
	u32 len = conn->stream.body_left;
	/* A map is what has this flag and no other; the core wants it in one piece. */
	bool map = conn->stream.hdr.wire.flags == RDS_WIRE_F_CONG;

	if (map && len != RDS_CONG_MAP_BYTES) {
		rds_drop(conn->tn->net, RDS_DROP_BAD_MAP);
		conn->rx_state = RDS_TCP_RX_SKIP;
	} else {
		conn->inc = rds_rx_alloc(conn->path, len, map, GFP_ATOMIC);
		if (!conn->inc) {
			conn->rx_state = RDS_TCP_RX_ALLOC;
			rx_stall(rx);
			return false;
		}
		conn->buf = rds_rx_buffer(conn->inc);
		conn->rx_state = conn->buf ? RDS_TCP_RX_COPY : RDS_TCP_RX_REF;
	}
	if (!len)
		rx_message_end(rx);
	return true;
}

/* Contiguous bytes; stops early before payload that is to be referenced.  Returns those used. */
static size_t rx_bytes(struct rds_tcp_rx *rx, const u8 *p, size_t n)
{
	struct rds_tcp_conn *conn = rx->conn;
	size_t done = 0, used;

	while (done < n && !rx->stop && conn->rx_state != RDS_TCP_RX_REF) {
		enum rds_stream_ev ev = rds_stream_feed(&conn->stream, p + done, n - done, &used);

		switch (ev) {
		case RDS_STREAM_NEED_MORE:
			break;
		case RDS_STREAM_HEADER:
			rx_message_begin(rx);
			break;
		case RDS_STREAM_BODY:
		case RDS_STREAM_BODY_END:
			if (conn->rx_state == RDS_TCP_RX_COPY) {
				memcpy(conn->buf, p + done, used);
				conn->buf += used;
			}
			if (ev == RDS_STREAM_BODY_END)
				rx_message_end(rx);
			break;
		case RDS_STREAM_BAD_LENGTH:
			rx_die(rx, RDS_DROP_BAD_LENGTH);
			break;
		}
		done += used;
	}
	return done;
}

/* Payload that is kept where it is; returns how much of it. */
static size_t rx_reference(struct rds_tcp_rx *rx, struct sk_buff *skb, unsigned int off, size_t n)
{
	struct rds_tcp_conn *conn = rx->conn;
	size_t take = min_t(size_t, n, conn->stream.body_left);
	size_t used;

	if (!rds_rx_add_skb(conn->inc, skb, off, take, GFP_ATOMIC)) {
		rx_stall(rx);
		return 0;
	}
	if (rds_stream_feed(&conn->stream, NULL, take, &used) == RDS_STREAM_BODY_END)
		rx_message_end(rx);
	return take;
}

/*
 * Where the link is memory (veth), fragments can be pages that the sending process lent for a
 * zero-copy send and writes to again once we have acknowledged them.  Such pages, and no others
 * that get here, belong to a mapping.  False without memory.
 */
static bool rx_own_pages(struct sk_buff *skb)
{
	const struct skb_shared_info *sh = skb_shinfo(skb);
	struct page *page;
	int i;

	for (i = 0; i < sh->nr_frags; i++) {
		page = skb_frag_page(&sh->frags[i]);
		if (unlikely(page && page_folio(page)->mapping))
			return !skb_copy_ubufs(skb, GFP_ATOMIC);
	}
	return true;
}

/* The bytes, if they are in one place, as those of small messages mostly are; or NULL. */
static const u8 *rx_contiguous(const struct sk_buff *skb, unsigned int off, size_t len)
{
	unsigned int head = skb_headlen(skb);

	if (off + len <= head)
		return skb->data + off;
	if (off >= head && skb_shinfo(skb)->nr_frags == 1 && !skb_has_frag_list(skb))
		return (const u8 *)skb_frag_address(&skb_shinfo(skb)->frags[0]) + off - head;
	return NULL;
}

/* tcp_read_sock() calls this for every buffer in the queue; returns the bytes done with. */
static int rx_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct rds_tcp_rx *rx = desc->arg.data;
	struct skb_seq_state st;
	size_t done = 0, n;
	const u8 *p;

	if (rx->stop)
		return 0;
	if (!rx_own_pages(skb)) {
		rx_stall(rx);
		return 0;
	}
	p = rx_contiguous(skb, off, len);
	if (p)
		done = rx_bytes(rx, p, len);
	if (done == len)
		return done;
	skb_prepare_seq_read(skb, off, off + len, &st);
	while (done < len && !rx->stop) {
		if (rx->conn->rx_state == RDS_TCP_RX_REF) {
			done += rx_reference(rx, skb, off + done, len - done);
			continue;
		}
		n = skb_seq_read(done, &p, &st);
		if (WARN_ON_ONCE(!n))
			break;
		done += rx_bytes(rx, p, min(n, len - done));
	}
	skb_abort_seq_read(&st);
	return done;
}

/**
 * rds_tcp_receive - deliver what is in TCP's queue
 * @conn: connection; the socket is locked
 */
void rds_tcp_receive(struct rds_tcp_conn *conn)
{
	struct rds_tcp_rx rx = { .conn = conn };
	read_descriptor_t desc = { .arg.data = &rx, .count = 1 };
	struct sock *sk = conn->sock->sk;

	sock_owned_by_me(sk);
	if (!conn->up || conn->rx_state == RDS_TCP_RX_DEAD)
		return;
	conn->rx_stalled = false;
	rds_rx_begin(&rx.batch, conn->path);
	if (conn->rx_state != RDS_TCP_RX_ALLOC || rx_message_begin(&rx))
		tcp_read_sock(sk, &desc, rx_actor);
	/* Urgent data is nothing RDS knows; TCP would stop reading there for good. */
	if (unlikely(tcp_sk(sk)->urg_data))
		rx_die(&rx, RDS_DROP_BAD_FRAME);
	rds_rx_end(&rx.batch);
}
