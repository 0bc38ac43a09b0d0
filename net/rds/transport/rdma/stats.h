/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters of the transport, per namespace and per CPU.  The first 39 have the
 * names and the order of in-tree's (protocol.rst 6.8); counters of mechanisms
 * that do not exist here stay 0.
 */
#ifndef _RDS_RDMA_STATS_H
#define _RDS_RDMA_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

#include <net/rds/dev_user.h>

struct net;

#define RDS_RDMA_STATS(_)		\
	_(ib_connect_raced)		\
	_(ib_listen_closed_stale)	\
	_(ib_evt_handler_call)		\
	_(ib_tasklet_call)		\
	_(ib_tx_cq_event)		\
	_(ib_tx_ring_full)		\
	_(ib_tx_throttle)		\
	_(ib_tx_sg_mapping_failure)	\
	_(ib_tx_stalled)		\
	_(ib_tx_credit_updates)		\
	_(ib_rx_cq_event)		\
	_(ib_rx_ring_empty)		\
	_(ib_rx_refill_from_cq)		\
	_(ib_rx_refill_from_thread)	\
	_(ib_rx_alloc_limit)		\
	_(ib_rx_total_frags)		\
	_(ib_rx_total_incs)		\
	_(ib_rx_credit_updates)		\
	_(ib_ack_sent)			\
	_(ib_ack_send_failure)		\
	_(ib_ack_send_delayed)		\
	_(ib_ack_send_piggybacked)	\
	_(ib_ack_received)		\
	RDS_DEV_MR_STATS(_)		\
	_(ib_atomic_cswp)		\
	_(ib_atomic_fadd)		\
	_(rdma_read)			\
	_(rdma_write)			\
	_(rdma_confirm)			\
	_(rdma_send_inv)		\
	_(rdma_conn_up)			\
	_(rdma_conn_failed)		\
	_(rdma_registrar_rebuilt)	\
	_(rdma_mr_stuck)			\
	_(rdma_rx_grown)		\
	_(rdma_rx_shrunk)		\
	_(rdma_tx_joined)		\
	_(rdma_rx_joined)

struct rds_rdma_stats {
#define RDS_RDMA_STATS_FIELD(name)	u64 name;
	RDS_RDMA_STATS(RDS_RDMA_STATS_FIELD)
#undef RDS_RDMA_STATS_FIELD
};

#define RDS_RDMA_NR_STATS	(sizeof(struct rds_rdma_stats) / sizeof(u64))

/* main.c: counters of a namespace */
struct rds_rdma_stats __percpu *rds_rdma_stats(struct net *net);

#define rds_rdma_stats_inc(net, field) \
	this_cpu_inc(rds_rdma_stats(net)->field)
#define rds_rdma_stats_add(net, field, n) \
	this_cpu_add(rds_rdma_stats(net)->field, n)

#endif
