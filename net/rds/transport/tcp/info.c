// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDS_INFO_TCP_SOCKETS and RDS6_INFO_TCP_SOCKETS.  The values are read without
 * the socket lock: each is valid, but they may be of different moments.
 */
#include <linux/rds.h>
#include <linux/sched.h>
#include <linux/tcp.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/rds/access.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "tcp.h"

/* Connections that are shown under one lock */
#define INFO_AT_ONCE	32

/* With these a process could write into the connection from elsewhere. */
static void info_fill_numbers(const struct rds_tcp_sock *ts,
			      struct rds6_info_tcp_socket *info)
{
	info->last_sent_nxt = READ_ONCE(ts->last_start);
	info->last_expected_una = READ_ONCE(ts->last_end);
	/* TCP knows of acknowledgements that were not reported to the core. */
	info->last_seen_una = READ_ONCE(ts->up) ?
				      READ_ONCE(tcp_sk(ts->sock->sk)->snd_una) :
				      0;
}

static void info_fill(const struct rds_tcp_sock *ts,
		      struct rds6_info_tcp_socket *info)
{
	const struct inet_sock *inet = inet_sk(ts->sock->sk);
	struct rds_path_addr addr = *ts->path->addr;

	/* Those of a path may be others than those of the connection. */
	if (ts->sock->sk->sk_state != TCP_CLOSE)
		rds_tcp_sock_addr(ts->sock->sk, &addr);
	memset(info, 0, sizeof(*info));
	info->local_addr = addr.laddr;
	info->local_port = inet->inet_sport;
	info->peer_addr = addr.faddr;
	info->peer_port = inet->inet_dport;
	info->hdr_rem = rds_stream_hdr_rem(&ts->stream);
	info->data_rem = READ_ONCE(ts->stream.body_left);
}

static void info_put_v4(struct rds_info_sink *sink,
			const struct rds_tcp_sock *ts,
			const struct rds6_info_tcp_socket *info6)
{
	struct rds_info_tcp_socket info = {
		.local_addr = info6->local_addr.s6_addr32[3],
		.local_port = info6->local_port,
		.peer_addr = info6->peer_addr.s6_addr32[3],
		.peer_port = info6->peer_port,
		.hdr_rem = info6->hdr_rem,
		.data_rem = info6->data_rem,
		.last_sent_nxt = info6->last_sent_nxt,
		.last_expected_una = info6->last_expected_una,
		.last_seen_una = info6->last_seen_una,
		.tos = ts->path->addr->tos,
	};

	rds_info_put(sink, &info);
}

/* What is shown to whom */
struct info_dump {
	struct rds_info_sink	*sink;
	bool			v4;
	bool			numbers;
};

static void info_put(const struct info_dump *d, const struct rds_tcp_sock *ts)
{
	struct rds6_info_tcp_socket info;

	info_fill(ts, &info);
	if (d->numbers)
		info_fill_numbers(ts, &info);
	if (!d->v4)
		rds_info_put(d->sink, &info);
	else if (ipv6_addr_v4mapped(&info.local_addr))
		info_put_v4(d->sink, ts, &info);
}

/* Show some connections.  Returns whether there are more. */
static bool info_some(struct rds_tcp_net *tn, struct rds_walk *walk,
		      const struct info_dump *d)
{
	unsigned int left = INFO_AT_ONCE;
	struct list_head *entry = NULL;

	lockdep_assert_held(&tn->lock);
	while (left-- && (entry = rds_walk_next(walk, &tn->socks)))
		info_put(d, list_entry(entry, struct rds_tcp_sock, node));
	return entry;
}

static void info_visit(struct net *net, struct rds_info_sink *sink, bool v4)
{
	const struct info_dump d = { sink, v4, rds_access_sees_all(net) };
	struct rds_tcp_net *tn = rds_tcp_net(net);
	struct rds_walk walk;

	spin_lock_bh(&tn->lock);
	rds_walk_begin(&walk, &tn->socks);
	while (info_some(tn, &walk, &d)) {
		spin_unlock_bh(&tn->lock);
		cond_resched();
		spin_lock_bh(&tn->lock);
	}
	rds_walk_end(&walk);
	spin_unlock_bh(&tn->lock);
}

static void info_v4(struct net *net, struct rds_info_sink *sink)
{
	info_visit(net, sink, true);
}

static void info_v6(struct net *net, struct rds_info_sink *sink)
{
	info_visit(net, sink, false);
}

void rds_tcp_info_init(void)
{
	rds_info_register(RDS_INFO_TCP_SOCKETS,
			  sizeof(struct rds_info_tcp_socket), info_v4);
	rds_info_register(RDS6_INFO_TCP_SOCKETS,
			  sizeof(struct rds6_info_tcp_socket), info_v6);
}

void rds_tcp_info_exit(void)
{
	rds_info_unregister(RDS6_INFO_TCP_SOCKETS);
	rds_info_unregister(RDS_INFO_TCP_SOCKETS);
}
