// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Processing of received messages: the duplicate rule, messages to the kernel,
 * and delivery to a socket.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <net/ipv6.h>

#include "cong/map.h"
#include "memop/memop.h"
#include "msg/incoming.h"
#include "netns.h"
#include "proto/exthdr.h"
#include "proto/header.h"
#include "proto/rxrule.h"
#include "recv/rx_state.h"
#include "sock/state.h"
#include <net/rds/transport.h>

/* Messages and bytes after which an acknowledgement does not wait any longer */
#define ACK_MESSAGES	128
#define ACK_BYTES	(256 * 1024)

struct rds_incoming *rds_rx_alloc(struct rds_path *path, u32 len, bool linear,
				  gfp_t gfp)
{
	u32 copy_max = path->trans->rx_copy_max ?: RDS_RX_COPY_MAX;
	struct rds_incoming *inc = rds_inc_alloc(len, linear || len <= copy_max,
						 gfp);

	if (rds_rx_traced() && inc) {
		inc->trace[RDS_MSG_RX_HDR_TO_DGRAM_START] =
			inc->trace[RDS_MSG_RX_DGRAM_REASSEMBLE] = local_clock();
		inc->trace[RDS_MSG_RX_DGRAM_DELIVERED] = 0;
	}
	return inc;
}
EXPORT_SYMBOL_NS_GPL(rds_rx_alloc, RDS_NS);

void rds_rx_delayed(struct rds_path *path)
{
	rds_stats_inc(path->rx->rn, recv_delayed_retry);
}
EXPORT_SYMBOL_NS_GPL(rds_rx_delayed, RDS_NS);

void rds_rx_begin(struct rds_rx_batch *batch, struct rds_path *path)
	__acquires(RCU)
{
	/* Keeps the sockets in wake[] from being freed until rds_rx_end(). */
	rcu_read_lock();
	batch->path = path;
	batch->nr_wake = 0;
}
EXPORT_SYMBOL_NS_GPL(rds_rx_begin, RDS_NS);

/*
 * Messages of a peer that acknowledges by number were delivered.  Ask for an
 * acknowledgement now if the peer is waiting for one, or if there was no
 * message to travel with for long.
 */
static void rx_owes_ack(struct rds_rx_state *rx)
{
	bool now = rx->ack_now || rx->owed >= ACK_MESSAGES ||
		   rx->owed_bytes >= ACK_BYTES;

	if (now) {
		rds_rx_state_paid(rx);
	} else {
		/* See rds_rx_state_disarm(). */
		smp_mb();
		if (READ_ONCE(rx->ack_armed))
			return;
		WRITE_ONCE(rx->ack_armed, true);
	}
	rx->vtable->owes_ack(rx->path, now);
}

void rds_rx_end(struct rds_rx_batch *batch)
	__releases(RCU)
{
	unsigned int i;

	for (i = 0; i < batch->nr_wake; i++)
		rds_sock_wake_rx(batch->wake[i]);
	rcu_read_unlock();
	if (batch->path->rx->owed)
		rx_owes_ack(batch->path->rx);
}
EXPORT_SYMBOL_NS_GPL(rds_rx_end, RDS_NS);

/* Wake the socket at the end of the batch, or now if wake[] is full. */
static void rx_wake_later(struct rds_rx_batch *batch, struct rds_sock *rs)
{
	unsigned int i;

	for (i = batch->nr_wake; i-- > 0;) {
		if (batch->wake[i] == rs)
			return;
	}
	if (batch->nr_wake < RDS_RX_BATCH_WAKE)
		batch->wake[batch->nr_wake++] = rs;
	else
		rds_sock_wake_rx(rs);
}

/*
 * Queue the message on the socket that is bound to @inc->daddr and @inc->dport,
 * or drop it.
 */
static void rx_to_socket(struct rds_rx_batch *batch, struct rds_incoming *inc)
{
	struct rds_net *rn = batch->path->rx->rn;
	struct rds_sock *rs;

	rs = rds_bind_lookup(rn, &inc->daddr, inc->dport,
			     batch->path->addr->ifindex);
	if (!rs) {
		rds_stats_inc(rn, recv_drop_no_sock);
		rds_drop(rn->net, RDS_DROP_NO_SOCKET);
		rds_rx_free(inc);
	} else if (!rds_sock_queue(rs, inc)) {
		rds_stats_inc(rn, recv_drop_dead_sock);
		rds_drop(rn->net, RDS_DROP_DEAD_SOCKET);
		rds_rx_free(inc);
	} else {
		rx_wake_later(batch, rs);
	}
}

/*
 * protocol.rst 2.5: store the map of the peer's address.  Over loopback no map
 * is needed, as both ends use the local one.
 */
static void rx_map(struct rds_rx_state *rx, const struct rds_incoming *inc)
{
	const u8 *bits = rds_inc_data(inc);

	if (rx->path->trans->caps & RDS_CAP_LOCAL_ONLY)
		return;
	if (inc->len != RDS_CONG_MAP_BYTES || !bits) {
		rds_drop(rx->rn->net, RDS_DROP_BAD_MAP);
		return;
	}
	if (!rx->mapped)
		rds_cong_source_add(rx->fmap);
	rx->mapped = true;
	if (!rds_cong_receive(rx->fmap, bits))
		rds_drop(rx->rn->net, RDS_DROP_NO_MEMORY);
}

/*
 * Is the number expected, if any, of an earlier incarnation of the peer, which
 * greets now?  Not if the messages came before the greeting, over the present
 * connection or, as a late peer says, an earlier one without a greeting.
 */
static bool rx_outdated(const struct rds_rx_state *rx,
			const struct rds_handshake *hs)
{
	if (rx->begun || hs->gen == rx->gen)
		return false;
	return rx->gen || !rds_handshake_late(hs);
}

/*
 * Is the connection another path of the peer?  Its numbers mean nothing here,
 * and what came over it is never acknowledged.  A peer that acknowledges by
 * number and tells no index has one path.
 */
static bool rx_is_misplaced(const struct rds_rx_state *rx,
			    const struct rds_handshake *hs)
{
	if (rds_handshake_paths(hs))
		return rds_handshake_index(hs) != rx->path->index;
	return rx->path->index && rds_handshake_acks(hs);
}

/*
 * Apply a handshake.  One with a number is accepted, so the number expected is
 * right already; a lower one would let in repeats of what the new incarnation
 * sent before its handshake.
 */
static void rx_handshake(struct rds_rx_state *rx,
			 const struct rds_wire_header *hdr,
			 const struct rds_handshake *hs, bool ask)
{
	if (hs->unknown)
		rds_drop(rx->rn->net, RDS_DROP_BAD_HANDSHAKE);
	if (rx_is_misplaced(rx, hs)) {
		rx->misplaced = true;
		rx->vtable->misplaced(rx->path, hs);
		return;
	}
	if (!hdr->seq && rx_outdated(rx, hs))
		rds_rx_state_forget(rx);
	if (hs->gen)
		rx->gen = hs->gen;
	if (rds_handshake_acks(hs))
		rx->by_number = true;
	rx->vtable->handshake(rx->path, hs, ask, be64_to_cpu(hdr->ack));
}

static void rx_numbered_handshake(struct rds_rx_state *rx,
				  const struct rds_wire_header *hdr, bool ask)
{
	struct rds_handshake hs;

	/* The answer may be sent before this returns. */
	WRITE_ONCE(rx->delivered, be64_to_cpu(hdr->seq));
	rds_handshake_parse(hdr->exthdr, &hs);
	rx_handshake(rx, hdr, &hs, ask);
}

/*
 * Messages without a number, which only a peer that acknowledges by number
 * sends (wire.rst).  Returns whether it was one.
 */
static bool rx_unnumbered(struct rds_rx_state *rx,
			  const struct rds_wire_header *hdr)
{
	u16 sport = be16_to_cpu(hdr->sport), dport = be16_to_cpu(hdr->dport);
	bool ask = sport == RDS_PROBE_PORT && dport == RDS_PING_PORT;
	struct rds_handshake hs;

	if (!(rx->path->trans->caps & RDS_CAP_MULTIPATH))
		return false;
	if (rx->by_number && !sport && !dport) {
		rx->vtable->acked(rx->path, be64_to_cpu(hdr->ack));
		return true;
	}
	if (!ask && (sport != RDS_PING_PORT || dport != RDS_PROBE_PORT))
		return false;
	rds_handshake_parse(hdr->exthdr, &hs);
	if (!rds_handshake_acks(&hs))
		return false;
	rx_handshake(rx, hdr, &hs, ask);
	return true;
}

/* protocol.rst 2.6.  Returns true if the caller has to free @inc. */
static bool rx_ping(struct rds_rx_batch *batch, struct rds_incoming *inc,
		    const struct rds_wire_header *hdr)
{
	u16 sport = be16_to_cpu(hdr->sport);
	struct rds_path *path = batch->path;
	struct rds_rx_state *rx = path->rx;

	rds_stats_inc(rx->rn, recv_ping);
	if (!sport) {
		rds_drop(path->net, RDS_DROP_PING_IGNORED);
		return true;
	}
	if (sport == RDS_PROBE_PORT && path->trans->caps & RDS_CAP_MULTIPATH) {
		rx_numbered_handshake(rx, hdr, true);
		return true;
	}
	if (!(path->trans->caps & RDS_CAP_LOCAL_ONLY)) {
		rx->vtable->ping(path, sport);
		return true;
	}
	/*
	 * A loopback path leads only to the receiver of the ping: turn the ping
	 * into the pong.
	 */
	swap(inc->saddr, inc->daddr);
	inc->sport = htons(RDS_PING_PORT);
	inc->dport = hdr->sport;
	inc->len = 0;
	rds_stats_inc(rx->rn, send_pong);
	rx_to_socket(batch, inc);
	return false;
}

/*
 * The sender used a key of the receiving socket: end the key if it was for one
 * use.
 */
static void rx_key_used(struct rds_rx_state *rx, const struct rds_incoming *inc,
			u32 rkey)
{
	struct rds_sock *rs;

	if (!rx->path->trans->memop)
		return;
	rs = rds_bind_lookup(rx->rn, &inc->daddr, inc->dport,
			     rx->path->addr->ifindex);
	if (rs)
		rds_mr_used(rs, rkey);
}

/*
 * Apply the extensions about remote memory (protocol.rst 2.4); a receiver
 * ignores all others.
 */
static void rx_extensions(struct rds_rx_state *rx, struct rds_incoming *inc,
			  const struct rds_wire_header *hdr)
{
	struct rds_ext_iter it;
	struct rds_ext ext;

	rds_ext_iter_init(&it, hdr->exthdr, true);
	while (rds_ext_next(&it, &ext)) {
		switch (ext.type) {
		case RDS_EXT_RDMA:
			rx_key_used(rx, inc, rds_load_be32(ext.body));
			break;
		case RDS_EXT_RDMA_BYTES:
			rds_stats_add(rx->rn, recv_rdma_bytes,
				      rds_load_be32(ext.body));
			break;
		case RDS_EXT_RDMA_DEST:
			inc->cookie = rds_load_be32(ext.body) |
				      (u64)rds_load_be32(ext.body + 4) << 32;
			break;
		}
	}
}

static void rx_set_source(struct rds_incoming *inc, const struct rds_path *path,
			  const struct rds_wire_header *hdr)
{
	bool local = path->trans->caps & RDS_CAP_LOCAL_ONLY;

	/*
	 * Over loopback both ends share one path, with the addresses as the
	 * sender sees them.
	 */
	inc->saddr = local ? path->addr->laddr : path->addr->faddr;
	inc->daddr = local ? path->addr->faddr : path->addr->laddr;
	inc->sport = hdr->sport;
	inc->dport = hdr->dport;
}

static bool rx_duplicate(struct rds_rx_state *rx, u64 seq, u8 flags)
{
	if (rds_rx_check(&rx->expected, seq, flags, rx->by_number) ==
	    RDS_RX_ACCEPT)
		return false;
	rds_stats_inc(rx->rn, recv_drop_old_seq);
	rds_drop(rx->rn->net, RDS_DROP_DUPLICATE);
	return true;
}

/* Deliver a numbered message.  Returns true if the caller has to free @inc. */
static bool rx_message(struct rds_rx_batch *batch, struct rds_incoming *inc,
		       const struct rds_wire_header *hdr)
{
	u16 dport = be16_to_cpu(hdr->dport);
	struct rds_path *path = batch->path;
	struct rds_rx_state *rx = path->rx;

	rx_set_source(inc, path, hdr);
	if (dport == RDS_PING_PORT && rx->rn->sysctl.ping_enable)
		return rx_ping(batch, inc, hdr);
	if (dport == RDS_PROBE_PORT && !hdr->sport &&
	    path->trans->caps & RDS_CAP_MULTIPATH) {
		rx_numbered_handshake(rx, hdr, false);
		return true;
	}
	if (hdr->exthdr[0])
		rx_extensions(rx, inc, hdr);
	rx_to_socket(batch, inc);
	return false;
}

/*
 * All messages up to @seq are on the queue of their socket, or dropped for
 * good.
 */
static void rx_delivered(struct rds_rx_state *rx, u64 seq, u32 len, u8 flags)
{
	WRITE_ONCE(rx->delivered, seq);
	if (!rx->by_number)
		return;
	rx->owed++;
	rx->owed_bytes += len;
	if (flags & RDS_WIRE_F_ACK_REQUIRED)
		rx->ack_now = true;
}

void rds_rx_deliver(struct rds_rx_batch *batch, struct rds_incoming *inc,
		    const struct rds_wire_header *hdr)
{
	struct rds_rx_state *rx = batch->path->rx;
	u64 seq = be64_to_cpu(hdr->seq);
	u32 len = inc->len;
	bool drop = true;

	rx->heard = true;
	inc->seq = seq;
	if (unlikely(rx->misplaced)) {
		rds_rx_free(inc);
		return;
	}
	if (rds_header_is_cong_map(hdr->flags)) {
		rx_map(rx, inc);
	} else if (seq || !rx_unnumbered(rx, hdr)) {
		if (rx->by_number && hdr->ack)
			rx->vtable->acked(rx->path, be64_to_cpu(hdr->ack));
		if (!rx_duplicate(rx, seq, hdr->flags)) {
			rx->begun = true;
			drop = rx_message(batch, inc, hdr);
			rx_delivered(rx, seq, len, hdr->flags);
		}
	}
	if (drop)
		rds_rx_free(inc);
}
EXPORT_SYMBOL_NS_GPL(rds_rx_deliver, RDS_NS);
