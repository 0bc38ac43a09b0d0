// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages out of TCP's receive queue.
 *
 * One run takes all received bytes, directly in the callback, unless it takes
 * too long: then a worker goes on.  Headers and the payload of small messages
 * are copied out of the socket buffers, larger payload is referenced.  When
 * memory is short, or the core waits for a reader, the bytes stay in TCP's
 * queue, whose window closes in the end, and a timer tries again.  No byte is
 * lost, and no memory is allocated only because a header announces a length.
 */
#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/*
 * Longest time of a run, in ns: above that of a stream of small messages, which
 * a worker would slow down, and of a run with many frames that are not for
 * sockets, and take longer.
 */
#define RX_RUN_TIME	(2 * NSEC_PER_MSEC)
#define RX_RUN_KERNEL	(NSEC_PER_MSEC / 2)
/*
 * Messages, or socket buffers, between two looks at the clock, what a map
 * counts for, and how many frames that are not for sockets are many
 */
#define RX_RUN_LOOK	32
#define RX_RUN_MAP	8
#define RX_RUN_MANY	64

/*
 * State of one run over the queue; @since is 0 up to the first look, and @copy
 * says that processes may write to the present buffer
 */
struct rds_tcp_rx {
	struct rds_tcp_sock	*ts;
	struct rds_rx_batch	batch;
	unsigned int		count;
	unsigned int		kernel;
	u64			since;
	bool			stop;
	bool			copy;
};

static void rx_die(struct rds_tcp_rx *rx, enum rds_drop_reason why)
{
	struct rds_tcp_sock *ts = rx->ts;

	ts->rx_state = RDS_TCP_RX_DEAD;
	rx->stop = true;
	if (!ts->closing)
		rds_path_lost(ts->path, why);
}

/* No byte is dropped: the bytes not taken now stay in TCP's queue. */
static void rx_wait(struct rds_tcp_rx *rx)
{
	rx->stop = true;
	rx->ts->rx_stalled = true;
	rds_tcp_retry_later(rx->ts, RDS_TCP_RETRY_TIME);
}

static void rx_stall(struct rds_tcp_rx *rx)
{
	rds_rx_delayed(rx->ts->path);
	rx_wait(rx);
}

/* A worker goes on. */
static void rx_pause(struct rds_tcp_rx *rx)
{
	rx->stop = true;
	rx->ts->rx_stalled = true;
	rx->ts->rx_paused = true;
	rds_tcp_retry_later(rx->ts, 0);
}

/* Others want the processor, too: a peer chooses how much is in the queue. */
static void rx_look(struct rds_tcp_rx *rx)
{
	u64 now = local_clock();

	rx->count = 0;
	if (!rx->since)
		rx->since = now;
	else if (now - rx->since > (rx->kernel > RX_RUN_MANY ? RX_RUN_KERNEL :
							       RX_RUN_TIME))
		rx_pause(rx);
}

static void rx_count(struct rds_tcp_rx *rx, unsigned int messages)
{
	rx->count += messages;
	if (unlikely(rx->count >= RX_RUN_LOOK))
		rx_look(rx);
}

/* The frame is at its end. */
static void rx_count_frame(struct rds_tcp_rx *rx)
{
	const struct rds_wire_header *hdr = &rx->ts->stream.hdr.wire;
	unsigned int n = hdr->flags == RDS_WIRE_F_CONG ? RX_RUN_MAP : 1;

	if (!hdr->sport || !hdr->dport)
		rx->kernel += n;
	rx_count(rx, n);
}

static bool rx_is_held(const struct rds_tcp_rx *rx)
{
	return rds_rx_is_held(&rx->batch, rx->ts->rx_last);
}

static void rx_message_end(struct rds_tcp_rx *rx)
{
	struct rds_tcp_sock *ts = rx->ts;
	struct rds_incoming *inc = ts->inc;

	ts->rx_state = RDS_TCP_RX_HEADER;
	ts->inc = NULL;
	ts->buf = NULL;
	if (inc)
		rds_rx_deliver(&rx->batch, inc, &ts->stream.hdr.wire);
	if (unlikely(rx_is_held(rx)))
		rx_wait(rx);
	else
		rx_count_frame(rx);
}

/*
 * The header is complete: allocate the message for its payload.  False without
 * memory.
 */
static bool rx_message_begin(struct rds_tcp_rx *rx)
{
	struct rds_tcp_sock *ts = rx->ts;
	u32 len = ts->stream.body_left;
	/*
	 * A message with this flag alone is a map; the core needs it in one
	 * buffer.
	 */
	bool map = ts->stream.hdr.wire.flags == RDS_WIRE_F_CONG;

	if (map && len != RDS_CONG_MAP_BYTES) {
		rds_drop(ts->tn->net, RDS_DROP_BAD_MAP);
		ts->rx_state = RDS_TCP_RX_SKIP;
	} else {
		ts->inc = rds_rx_alloc(ts->path, len, map, GFP_ATOMIC);
		if (!ts->inc) {
			ts->rx_state = RDS_TCP_RX_ALLOC;
			rx_stall(rx);
			return false;
		}
		ts->buf = rds_rx_buffer(ts->inc);
		ts->rx_state = ts->buf ? RDS_TCP_RX_COPY : RDS_TCP_RX_REF;
	}
	if (!len)
		rx_message_end(rx);
	return true;
}

/*
 * Parse contiguous bytes, up to payload that is to be referenced.  Returns the
 * number parsed.
 */
static size_t rx_bytes(struct rds_tcp_rx *rx, const u8 *p, size_t n)
{
	struct rds_tcp_sock *ts = rx->ts;
	size_t done = 0, used;

	while (done < n && !rx->stop && ts->rx_state != RDS_TCP_RX_REF) {
		enum rds_stream_ev ev = rds_stream_feed(&ts->stream, p + done,
							n - done, &used);

		switch (ev) {
		case RDS_STREAM_NEED_MORE:
			break;
		case RDS_STREAM_HEADER:
			rx_message_begin(rx);
			break;
		case RDS_STREAM_BODY:
		case RDS_STREAM_BODY_END:
			if (ts->rx_state == RDS_TCP_RX_COPY) {
				memcpy(ts->buf, p + done, used);
				ts->buf += used;
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

/*
 * Reference payload in the socket buffer.  Returns the number of bytes
 * referenced.
 */
static size_t rx_reference(struct rds_tcp_rx *rx, struct sk_buff *skb,
			   unsigned int off, size_t n)
{
	struct rds_tcp_sock *ts = rx->ts;
	size_t take = min_t(size_t, n, ts->stream.body_left);
	size_t used;
	bool done;

	if (unlikely(rx->copy))
		done = rds_rx_copy_skb(ts->inc, skb, off, take, GFP_ATOMIC);
	else
		done = rds_rx_add_skb(ts->inc, skb, off, take, GFP_ATOMIC);
	if (!done) {
		rx_stall(rx);
		return 0;
	}
	if (rds_stream_feed(&ts->stream, NULL, take, &used) ==
	    RDS_STREAM_BODY_END)
		rx_message_end(rx);
	return take;
}

/*
 * Where the link is memory (veth), a fragment can be a page of the sending
 * process, which writes to the page again once this host has acknowledged it
 * (zero-copy send).  Of all pages that arrive here only these have a mapping.
 */
static bool rx_is_lent(const struct sk_buff *skb)
{
	const struct skb_shared_info *sh = skb_shinfo(skb);
	struct page *page;
	int i;

	for (i = 0; i < sh->nr_frags; i++) {
		page = skb_frag_page(&sh->frags[i]);
		if (unlikely(page && page_folio(page)->mapping))
			return true;
	}
	return false;
}

/*
 * Replace lent pages by copies.  Those of buffers that GRO has put together may
 * be shared, and stay: what is taken of them is copied.  False without memory.
 */
static bool rx_own_pages(struct rds_tcp_rx *rx, struct sk_buff *skb)
{
	struct sk_buff *part;

	rx->copy = false;
	if (unlikely(skb_has_frag_list(skb))) {
		skb_walk_frags(skb, part)
			rx->copy |= rx_is_lent(part);
	}
	return rx->copy || !rx_is_lent(skb) || !skb_copy_ubufs(skb, GFP_ATOMIC);
}

/*
 * The bytes if they are contiguous, as those of small messages mostly are, or
 * NULL.
 */
static const u8 *rx_contiguous(const struct sk_buff *skb, unsigned int off,
			       size_t len)
{
	const skb_frag_t *frag = skb_shinfo(skb)->frags;
	unsigned int head = skb_headlen(skb);

	if (off + len <= head)
		return skb->data + off;
	if (off >= head && skb_shinfo(skb)->nr_frags == 1 &&
	    !skb_has_frag_list(skb))
		return (const u8 *)skb_frag_address(frag) + off - head;
	return NULL;
}

/*
 * tcp_read_sock() calls this for every buffer in the queue.  Returns the bytes
 * consumed.
 */
static int rx_actor(read_descriptor_t *desc, struct sk_buff *skb,
		    unsigned int off, size_t len)
{
	struct rds_tcp_rx *rx = desc->arg.data;
	/* Mostly not used: it is not cleared for each buffer. */
	struct skb_seq_state st __uninitialized;
	size_t done = 0, n;
	const u8 *p;

	/* TCP calls once more after a stop, which may be to wait. */
	if (!rx->stop)
		rx_count(rx, 1);
	if (rx->stop)
		return 0;
	if (!rx_own_pages(rx, skb)) {
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
		if (rx->ts->rx_state == RDS_TCP_RX_REF) {
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
 * rds_tcp_receive - deliver the messages in TCP's queue
 * @ts: connection; the socket is locked
 *
 * Return: whether there was so much that the worker has to go on.
 */
bool rds_tcp_receive(struct rds_tcp_sock *ts)
{
	struct rds_tcp_rx rx = { .ts = ts };
	read_descriptor_t desc = { .arg.data = &rx, .count = 1 };
	struct sock *sk = ts->sock->sk;

	sock_owned_by_me(sk);
	if (!ts->up || ts->rx_state == RDS_TCP_RX_DEAD)
		return false;
	ts->rx_stalled = false;
	ts->rx_paused = false;
	rds_rx_begin(&rx.batch, ts->path);
	if (rds_tcp_look_acked(ts))
		rds_rx_acked(&rx.batch, ts->una_pos);
	if (unlikely(rx_is_held(&rx)))
		rx_wait(&rx);
	else if (ts->rx_state != RDS_TCP_RX_ALLOC || rx_message_begin(&rx))
		tcp_read_sock(sk, &desc, rx_actor);
	/* RDS has no urgent data, and TCP would not read past it. */
	if (unlikely(tcp_sk(sk)->urg_data))
		rx_die(&rx, RDS_DROP_BAD_FRAME);
	rds_rx_end(&rx.batch);
	return ts->rx_paused;
}
