// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDS_INFO_IB_CONNECTIONS and RDS6_INFO_IB_CONNECTIONS.  Only connections that
 * are up are listed.
 */
#include <linux/rds.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "data.h"
#include "rdma.h"

struct info_walk {
	struct net		*net;
	struct rds_info_sink	*sink;
	bool			v4;
};

static void info_fill(const struct rds_rdma_conn *conn,
		      struct rds6_info_rdma_connection *info)
{
	const struct rds_dev_mr_pool *large = &conn->id.dom->pools[1];
	const struct sa_path_rec *rec;

	memset(info, 0, sizeof(*info));
	info->src_addr = conn->path->addr->laddr;
	info->dst_addr = conn->path->addr->faddr;
	info->tos = conn->path->addr->tos;
	rdma_read_gids(conn->id.cm_id, (union ib_gid *)info->src_gid,
		       (union ib_gid *)info->dst_gid);
	rec = conn->id.cm_id->route.path_rec;
	if (rec)
		info->sl = rec->sl;
	info->max_send_wr = conn->lim.send_slots;
	info->max_recv_wr = conn->lim.recv_max;
	info->max_send_sge = RDS_RDMA_SEND_SGE;
	info->rdma_mr_max = large->max;
	info->rdma_mr_size = large->pages;
	info->cache_allocs = READ_ONCE(conn->rx.posted) * (PAGE_SIZE / 1024);
}

static void info_put_v4(struct rds_info_sink *sink,
			const struct rds6_info_rdma_connection *info6)
{
	struct rds_info_rdma_connection info;

	memset(&info, 0, sizeof(info));
	info.src_addr = info6->src_addr.s6_addr32[3];
	info.dst_addr = info6->dst_addr.s6_addr32[3];
	memcpy(info.src_gid, info6->src_gid, sizeof(info.src_gid));
	memcpy(info.dst_gid, info6->dst_gid, sizeof(info.dst_gid));
	info.max_send_wr = info6->max_send_wr;
	info.max_recv_wr = info6->max_recv_wr;
	info.max_send_sge = info6->max_send_sge;
	info.rdma_mr_max = info6->rdma_mr_max;
	info.rdma_mr_size = info6->rdma_mr_size;
	info.tos = info6->tos;
	info.sl = info6->sl;
	info.cache_allocs = info6->cache_allocs;
	rds_info_put(sink, &info);
}

static void info_conn(struct rds_dev_id *id, void *arg)
{
	struct rds_rdma_conn *conn = container_of(id, struct rds_rdma_conn, id);
	struct rds6_info_rdma_connection info;
	struct info_walk *w = arg;

	if (conn->is_twin || !rds_dev_id_is_up(&conn->id) || !conn->path ||
	    !net_eq(conn->path->net, w->net))
		return;
	if (w->v4 && !ipv6_addr_v4mapped(&conn->path->addr->laddr))
		return;
	info_fill(conn, &info);
	if (w->v4)
		info_put_v4(w->sink, &info);
	else
		rds_info_put(w->sink, &info);
}

static void info_domain(struct rds_dev_domain *dom, void *arg)
{
	rds_dev_domain_each_id(dom, info_conn, arg);
}

static void info_v4(struct net *net, struct rds_info_sink *sink)
{
	struct info_walk w = { .net = net, .sink = sink, .v4 = true };

	rds_dev_each_domain(&rds_rdma_user, info_domain, &w);
}

static void info_v6(struct net *net, struct rds_info_sink *sink)
{
	struct info_walk w = { .net = net, .sink = sink };

	rds_dev_each_domain(&rds_rdma_user, info_domain, &w);
}

int rds_rdma_info_init(void)
{
	rds_info_register(RDS_INFO_IB_CONNECTIONS,
			  sizeof(struct rds_info_rdma_connection), info_v4);
	rds_info_register(RDS6_INFO_IB_CONNECTIONS,
			  sizeof(struct rds6_info_rdma_connection), info_v6);
	return 0;
}

void rds_rdma_info_exit(void)
{
	rds_info_unregister(RDS6_INFO_IB_CONNECTIONS);
	rds_info_unregister(RDS_INFO_IB_CONNECTIONS);
}
