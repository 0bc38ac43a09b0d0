// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What happens to a message that arrived: the duplicate rule, messages to the kernel itself,
 * and delivery to a socket.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <net/ipv6.h>

#include "cong/map.h"
#include "endpoint/endpoint.h"
#include "memop/memop.h"
#include "msg/incoming.h"
#include "netns.h"
#include "proto/exthdr.h"
#include "proto/header.h"
#include "proto/rxrule.h"
#include "recv/rxq.h"
#include <net/rds/transport.h>

struct rds_incoming *rds_rx_alloc(struct rds_path *path, u32 len, bool linear, gfp_t gfp)
{
	u32 copy_max = path->trans->rx_copy_max ?: RDS_RX_COPY_MAX;
	struct rds_incoming *inc = rds_inc_alloc(len, linear || len <= copy_max, gfp);

	if (!inc)
		rds_drop(path->net, RDS_DROP_NO_MEMORY);
	else if (rds_rx_traced())
		inc->trace[RDS_MSG_RX_HDR_TO_DGRAM_START] =
			inc->trace[RDS_MSG_RX_DGRAM_REASSEMBLE] = local_clock();
	return inc;
}
EXPORT_SYMBOL_NS_GPL(rds_rx_alloc, RDS_NS);

void rds_rx_begin(struct rds_rx_batch *batch, struct rds_path *path)
	__acquires(RCU)
{
	/* sockets in wake[] stay while this lasts */
	rcu_read_lock();
	batch->path = path;
	batch->nr_wake = 0;
}
EXPORT_SYMBOL_NS_GPL(rds_rx_begin, RDS_NS);

void rds_rx_end(struct rds_rx_batch *batch)
	__releases(RCU)
{
	unsigned int i;

	for (i = 0; i < batch->nr_wake; i++)
		rds_sock_wake_rx(batch->wake[i]);
	rcu_read_unlock();
}
EXPORT_SYMBOL_NS_GPL(rds_rx_end, RDS_NS);

/* The socket is woken when the batch is through. */
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

/* Give the message to the socket that @inc->daddr and @inc->dport name, if there is one. */
static void rx_to_socket(struct rds_rx_batch *batch, struct rds_incoming *inc)
{
	struct rds_net *rn = batch->path->rxq->rn;
	struct rds_sock *rs;

	rs = rds_bind_lookup(rn, &inc->daddr, inc->dport, batch->path->addr->ifindex);
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

/* Wire 2.5: the map of the peer's address.  A host's own maps need not travel. */
static void rx_map(struct rds_rxq *rxq, const struct rds_incoming *inc)
{
	const u8 *bits = rds_inc_data(inc);

	if (rxq->path->trans->caps & RDS_CAP_LOCAL_ONLY)
		return;
	if (inc->len != RDS_CONG_MAP_BYTES || !bits) {
		rds_drop(rxq->rn->net, RDS_DROP_BAD_MAP);
		return;
	}
	if (!rds_cong_receive(rxq->fmap, bits))
		rds_drop(rxq->rn->net, RDS_DROP_NO_MEMORY);
}

static void rx_handshake(struct rds_rxq *rxq, const struct rds_wire_header *hdr, bool answer)
{
	struct rds_handshake hs;

	rds_handshake_parse(hdr->exthdr, &hs);
	if (hs.unknown)
		rds_drop(rxq->rn->net, RDS_DROP_BAD_HANDSHAKE);
	rxq->ops->handshake(rxq->path, &hs, answer);
}

/* Wire 2.6.  Returns whether @inc is left to be freed. */
static bool rx_ping(struct rds_rx_batch *batch, struct rds_incoming *inc,
		    const struct rds_wire_header *hdr)
{
	struct rds_path *path = batch->path;
	struct rds_rxq *rxq = path->rxq;
	u16 sport = be16_to_cpu(hdr->sport);

	rds_stats_inc(rxq->rn, recv_ping);
	if (!sport) {
		rds_drop(path->net, RDS_DROP_PING_IGNORED);
		return true;
	}
	if (sport == RDS_PROBE_PORT && path->trans->caps & RDS_CAP_MULTIPATH) {
		rx_handshake(rxq, hdr, true);
		return true;
	}
	if (!(path->trans->caps & RDS_CAP_LOCAL_ONLY)) {
		rxq->ops->ping(path, sport);
		return true;
	}
	/* the path leads away from the sender of a local ping: turn the message round instead */
	swap(inc->saddr, inc->daddr);
	inc->sport = htons(RDS_PING_PORT);
	inc->dport = hdr->sport;
	inc->len = 0;
	rds_stats_inc(rxq->rn, send_pong);
	rx_to_socket(batch, inc);
	return false;
}

/* The sender used a key of the receiver's: it ends here if it was for one use. */
static void rx_key_used(struct rds_rxq *rxq, const struct rds_incoming *inc, u32 rkey)
{
	struct rds_sock *rs;

	if (!rxq->path->trans->memop)
		return;
	rs = rds_bind_lookup(rxq->rn, &inc->daddr, inc->dport, rxq->path->addr->ifindex);
	if (rs)
		rds_mr_used(rs, rkey);
}

/* What a message says about remote memory (wire 2.4); all else means nothing to a receiver. */
static void rx_extensions(struct rds_rxq *rxq, struct rds_incoming *inc,
			  const struct rds_wire_header *hdr)
{
	struct rds_ext_iter it;
	struct rds_ext ext;

	rds_ext_iter_init(&it, hdr->exthdr);
	while (rds_ext_next(&it, &ext)) {
		switch (ext.type) {
		case RDS_EXT_RDMA:
			rx_key_used(rxq, inc, rds_load_be32(ext.body));
			break;
		case RDS_EXT_RDMA_BYTES:
			rds_stats_add(rxq->rn, recv_rdma_bytes, rds_load_be32(ext.body));
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

	/* in memory, sender and receiver share the path, seen from the sender */
	inc->saddr = local ? path->addr->laddr : path->addr->faddr;
	inc->daddr = local ? path->addr->faddr : path->addr->laddr;
	inc->sport = hdr->sport;
	inc->dport = hdr->dport;
}

void rds_rx_deliver(struct rds_rx_batch *batch, struct rds_incoming *inc,
		    const struct rds_wire_header *hdr)
{
	struct rds_path *path = batch->path;
	struct rds_rxq *rxq = path->rxq;
	u16 dport = be16_to_cpu(hdr->dport);

	rxq->heard = true;
	if (rds_header_is_cong_map(hdr->flags)) {
		rx_map(rxq, inc);
		goto free;
	}
	inc->seq = be64_to_cpu(hdr->seq);
	if (rds_rx_check(&rxq->expected, inc->seq, hdr->flags) == RDS_RX_DUP) {
		rds_stats_inc(rxq->rn, recv_drop_old_seq);
		rds_drop(path->net, RDS_DROP_DUPLICATE);
		goto free;
	}
	rx_set_source(inc, path, hdr);
	if (dport == RDS_PING_PORT && rxq->rn->sysctl.ping_enable) {
		if (rx_ping(batch, inc, hdr))
			goto free;
		return;
	}
	if (dport == RDS_PROBE_PORT && !hdr->sport && path->trans->caps & RDS_CAP_MULTIPATH) {
		rx_handshake(rxq, hdr, false);
		goto free;
	}
	if (hdr->exthdr[0])
		rx_extensions(rxq, inc, hdr);
	rx_to_socket(batch, inc);
	return;
free:
	rds_rx_free(inc);
}
EXPORT_SYMBOL_NS_GPL(rds_rx_deliver, RDS_NS);
