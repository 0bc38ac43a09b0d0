// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Processing of received messages: the duplicate rule, messages to the kernel,
 * and delivery to a socket.
 */
#include <linux/jiffies.h>
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
#include "recv/handshake.h"
#include "recv/rx_state.h"
#include "sock/rcvq.h"
#include "sock/state.h"
#include "sock/table.h"
#include <net/rds/transport.h>

/* Messages and bytes after which an acknowledgement does not wait any longer */
#define ACK_MESSAGES	128
#define ACK_BYTES	(512 * 1024)

void rds_rx_state_init(struct rds_rx_state *rx, struct rds_path *path,
		       struct rds_net *rn, struct rds_cong_map *fmap,
		       struct rds_rx_peer *peer,
		       const struct rds_probe_vtable *vtable)
{
	memset(rx, 0, sizeof(*rx));
	rx->path = path;
	rx->rn = rn;
	rx->fmap = fmap;
	rx->peer = peer;
	rx->vtable = vtable;
}

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

/*
 * Does the socket still wait for its reader whose messages held the path up?
 */
static bool rx_is_held(struct rds_path *path)
{
	struct rds_sock *rs = rds_bind_lookup(path->rx->rn, &path->addr->laddr,
					      path->rx->held,
					      path->addr->ifindex);

	if (rs && rds_sock_holds(rs, path->rx->peer))
		return true;
	WRITE_ONCE(path->rx->held, 0);
	return false;
}

void rds_rx_begin(struct rds_rx_batch *batch, struct rds_path *path)
	__acquires(RCU)
{
	/* Keeps the sockets in wake[] from being freed until rds_rx_end(). */
	rcu_read_lock();
	batch->path = path;
	batch->acked = 0;
	batch->nr_wake = 0;
	batch->held = unlikely(path->rx->held) && rx_is_held(path);
	batch->again = path->rx->by_number;
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

/*
 * The peer's core has delivered what the path sent up to the number @seq; 0 if
 * it does not say.  The position that came with the batch is applied as well.
 */
static void rx_acked(struct rds_rx_batch *batch, u64 seq)
{
	struct rds_path *path = batch->path;
	u64 pos = batch->acked;

	batch->acked = 0;
	path->rx->vtable->acked(path, path->index, seq, pos);
}

void rds_rx_end(struct rds_rx_batch *batch)
	__releases(RCU)
{
	unsigned int i;

	for (i = 0; i < batch->nr_wake; i++)
		rds_sock_wake_rx(batch->wake[i]);
	if (batch->acked)
		rx_acked(batch, 0);
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

/* The count of the peer, if a transport waits that brings too much */
static struct rds_rx_peer *rx_bounds(const struct rds_path *path)
{
	return path->trans->caps & RDS_CAP_RX_HOLDS ? path->rx->peer : NULL;
}

/*
 * Queue the message on the socket that is bound to @inc->daddr and @inc->dport,
 * or drop it.
 */
static void rx_to_socket(struct rds_rx_batch *batch, struct rds_incoming *inc)
{
	struct rds_rx_state *rx = batch->path->rx;
	__be16 port = inc->dport;
	struct rds_sock *rs = NULL;

	if (batch->nr_wake)
		rs = batch->wake[batch->nr_wake - 1];
	rs = rds_bind_lookup_near(rx->rn, rs, &inc->daddr, port,
				  batch->path->addr->ifindex);
	if (!rs) {
		rds_stats_inc(rx->rn, recv_drop_no_sock);
		rds_drop(rx->rn->net, RDS_DROP_NO_SOCKET);
		rds_rx_free(inc);
		return;
	}
	switch (rds_sock_queue(rs, inc, rx_bounds(batch->path))) {
	case RDS_QUEUED:
		break;
	case RDS_QUEUED_HOLD:
		batch->held = true;
		WRITE_ONCE(rx->held, port);
		rds_stats_inc(rx->rn, recv_delayed_retry);
		break;
	case RDS_QUEUED_FULL:
		rds_drop(rx->rn->net, RDS_DROP_FULL_SOCKET);
		rds_rx_free(inc);
		break;
	case RDS_QUEUED_FULL_PEER:
		rds_drop(rx->rn->net, RDS_DROP_FULL_PEER);
		rds_rx_free(inc);
		break;
	case RDS_QUEUED_DEAD:
		rds_stats_inc(rx->rn, recv_drop_dead_sock);
		rds_drop(rx->rn->net, RDS_DROP_DEAD_SOCKET);
		rds_rx_free(inc);
		return;
	}
	rx_wake_later(batch, rs);
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
	WRITE_ONCE(rx->mapped, true);
	if (!rds_cong_receive(rx->fmap, bits))
		rds_drop(rx->rn->net, RDS_DROP_NO_MEMORY);
}

/*
 * The peer tells its further addresses, once for each connection of path 0; so
 * a peer cannot make this host work with them all the time.
 */
static void rx_told(struct rds_rx_state *rx, const struct rds_incoming *inc)
{
	const void *payload = rds_inc_data(inc);

	if (rx->told || rx->path->index || !payload)
		return;
	rx->told = true;
	rx->vtable->told(rx->path, payload, inc->len);
}

/* The peer acknowledges messages of all lanes. */
static void rx_lanes_acked(struct rds_rx_state *rx, const void *payload)
{
	__be64 acks[RDS_MAX_PATHS];
	unsigned int i;

	static_assert(sizeof(acks) == RDS_LANES_ACK_BYTES);
	if (!payload)
		return;
	memcpy(acks, payload, sizeof(acks));
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		if (acks[i])
			rx->vtable->acked(rx->path, i, be64_to_cpu(acks[i]), 0);
	}
}

/*
 * The connection is between further addresses of two hosts, and the transport
 * took it for one of these addresses, as the first frame came late.  What
 * follows is for another connection.
 */
static bool rx_is_stray(const struct rds_incoming *inc,
			const struct rds_wire_header *hdr)
{
	const struct rds_wire_join *join = (const void *)rds_inc_data(inc);

	return inc->len == sizeof(*join) && join && !hdr->sport &&
	       !hdr->dport &&
	       !memcmp(join->magic, RDS_JOIN_MAGIC, sizeof(join->magic));
}

/*
 * Messages without a number, which only a peer that acknowledges by number
 * sends (wire.rst).  Returns whether it was one.
 */
static bool rx_unnumbered(struct rds_rx_batch *batch,
			  const struct rds_incoming *inc,
			  const struct rds_wire_header *hdr)
{
	struct rds_rx_state *rx = batch->path->rx;
	u16 sport = be16_to_cpu(hdr->sport), dport = be16_to_cpu(hdr->dport);
	bool ask = sport == RDS_PROBE_PORT && dport == RDS_PING_PORT;
	struct rds_handshake hs;

	if (!(rx->path->trans->caps & RDS_CAP_MULTIPATH))
		return false;
	if (unlikely(rx_is_stray(inc, hdr))) {
		rds_rx_give_up(rx, RDS_DROP_BAD_JOIN);
		return true;
	}
	if (rx->by_number && !sport && !dport) {
		rx_acked(batch, be64_to_cpu(hdr->ack));
		if (rx->moves && inc->len == RDS_LANES_ACK_BYTES)
			rx_lanes_acked(rx, rds_inc_data(inc));
		else if (rx->moves && inc->len)
			rx_told(rx, inc);
		return true;
	}
	if (!ask && (sport != RDS_PING_PORT || dport != RDS_PROBE_PORT))
		return false;
	rds_handshake_parse(hdr->exthdr, &hs);
	if (!rds_handshake_acks(&hs))
		return false;
	rds_rx_handshake(rx, hdr, &hs, ask, false);
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
		rds_rx_numbered_handshake(rx, hdr, true);
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

/*
 * Is the connection of the incarnation of the peer that the lane counts for?
 * The connection that first brings the lane of the present incarnation begins
 * it anew.
 */
static bool rx_is_current(struct rds_rx_state *rx, struct rds_rx_lane *lane)
{
	if (!rds_rx_is_shared(rx) || !rx->by_number || lane->gen == rx->gen)
		return true;
	if (rx->gen != READ_ONCE(*rx->peer_gen))
		return false;
	rds_rx_lane_forget(lane);
	WRITE_ONCE(lane->gen, rx->gen);
	return true;
}

static bool rx_duplicate(struct rds_rx_state *rx, struct rds_rx_lane *lane,
			 u64 seq, u8 flags)
{
	if (rds_rx_check(&lane->expected, seq, flags, rx->by_number) ==
	    RDS_RX_ACCEPT)
		return false;
	rds_stats_inc(rx->rn, recv_drop_old_seq);
	rds_drop(rx->rn->net, RDS_DROP_DUPLICATE);
	return true;
}

static bool rx_is_handshake(const struct rds_wire_header *hdr)
{
	const __be16 probe = cpu_to_be16(RDS_PROBE_PORT);
	const __be16 ping = cpu_to_be16(RDS_PING_PORT);

	return (hdr->sport == probe && hdr->dport == ping) ||
	       (hdr->sport == ping && hdr->dport == probe);
}

/* Deliver a numbered message.  Returns true if the caller has to free @inc. */
static bool rx_message(struct rds_rx_batch *batch, struct rds_incoming *inc,
		       const struct rds_wire_header *hdr)
{
	u16 dport = be16_to_cpu(hdr->dport);
	struct rds_path *path = batch->path;
	struct rds_rx_state *rx = path->rx;

	/* A handshake is about the connection that it was made for. */
	if (rx->moves && rds_lane_is_tagged(hdr->exthdr) &&
	    rx_is_handshake(hdr))
		return true;
	rx_set_source(inc, path, hdr);
	if (dport == RDS_PING_PORT && rx->rn->sysctl.ping_enable)
		return rx_ping(batch, inc, hdr);
	if (dport == RDS_PROBE_PORT && !hdr->sport &&
	    path->trans->caps & RDS_CAP_MULTIPATH) {
		rds_rx_numbered_handshake(rx, hdr, false);
		return true;
	}
	if (hdr->exthdr[0])
		rx_extensions(rx, inc, hdr);
	rx_to_socket(batch, inc);
	return false;
}

/*
 * All messages of the lane up to @seq are on the queue of their socket, or
 * dropped for good.
 */
static void rx_delivered(struct rds_rx_state *rx, struct rds_rx_lane *lane,
			 u64 seq)
{
	WRITE_ONCE(lane->delivered, seq);
	rx->begun = true;
}

/* The peer waits for an acknowledgement; it may not know that of a duplicate */
static void rx_owes(struct rds_rx_state *rx, const struct rds_rx_lane *lane,
		    u32 len, u8 flags)
{
	if (!rx->by_number)
		return;
	rx->owed++;
	rx->owed_bytes += len;
	if (flags & RDS_WIRE_F_ACK_REQUIRED)
		rx->ack_now = true;
	if (likely(lane == rx->lane))
		return;
	/* Whoever sees the flag sees what is delivered. */
	smp_store_release(&rx->foreign, true);
}

/*
 * The lane of a message, or NULL if the header names none that there is.  Only
 * a peer that sends messages of any lane names one.
 */
static struct rds_rx_lane *rx_lane(const struct rds_rx_state *rx,
				   const struct rds_wire_header *hdr)
{
	unsigned int i;

	if (likely(!rx->moves || !rds_lane_is_tagged(hdr->exthdr)))
		return rx->lane;
	i = rds_lane_of(hdr->exthdr);
	return i < RDS_MAX_PATHS ? &rx->lanes[i] : NULL;
}

/*
 * A message of the lane, which is locked.  Returns true if the caller has to
 * free @inc.
 */
static bool rx_take(struct rds_rx_batch *batch, struct rds_incoming *inc,
		    const struct rds_wire_header *hdr, struct rds_rx_lane *lane)
{
	struct rds_rx_state *rx = batch->path->rx;
	u64 seq = be64_to_cpu(hdr->seq);
	bool drop;

	if (unlikely(!rx_is_current(rx, lane))) {
		rds_rx_give_up(rx, RDS_DROP_PEER_REPLACED);
		return true;
	}
	if (rx_duplicate(rx, lane, seq, hdr->flags))
		return true;
	if (likely(!rx_is_handshake(hdr)))
		WRITE_ONCE(lane->used, jiffies);
	drop = rx_message(batch, inc, hdr);
	rx_delivered(rx, lane, seq);
	return drop;
}

/* A message with a number.  Returns true if the caller has to free @inc. */
static bool rx_numbered(struct rds_rx_batch *batch, struct rds_incoming *inc,
			const struct rds_wire_header *hdr)
{
	struct rds_rx_state *rx = batch->path->rx;
	struct rds_rx_lane *lane = rx_lane(rx, hdr);
	u32 len = inc->len;
	bool drop;

	if (unlikely(!lane)) {
		rds_rx_give_up(rx, RDS_DROP_BAD_FRAME);
		return true;
	}
	rds_rx_lock(rx, lane);
	drop = rx_take(batch, inc, hdr, lane);
	rds_rx_unlock(rx, lane);
	rx_owes(rx, lane, len, hdr->flags);
	return drop;
}

void rds_rx_deliver(struct rds_rx_batch *batch, struct rds_incoming *inc,
		    const struct rds_wire_header *hdr)
{
	struct rds_rx_state *rx = batch->path->rx;
	bool drop = true, map;

	if (unlikely(!rx->heard)) {
		WRITE_ONCE(rx->heard, true);
		rx->vtable->heard(rx->path);
	}
	inc->seq = be64_to_cpu(hdr->seq);
	if (unlikely(rx->misplaced)) {
		rds_rx_free(inc);
		return;
	}
	map = rds_header_is_cong_map(hdr->flags);
	if (!map && !inc->seq && rx_unnumbered(batch, inc, hdr)) {
		/* The frame is applied. */
	} else if (unlikely(rx->doubted && !rx->by_number)) {
		rds_rx_give_up(rx, RDS_DROP_PEER_REPLACED);
	} else if (map) {
		rx_map(rx, inc);
	} else {
		if (rx->by_number && hdr->ack)
			rx_acked(batch, be64_to_cpu(hdr->ack));
		drop = rx_numbered(batch, inc, hdr);
	}
	if (drop)
		rds_rx_free(inc);
}
EXPORT_SYMBOL_NS_GPL(rds_rx_deliver, RDS_NS);
