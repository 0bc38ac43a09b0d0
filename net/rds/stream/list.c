// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* /proc/net/rds_streams; list.h has the rules. */
#include <linux/ipv6.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/seq_file_net.h>
#include <linux/xarray.h>
#include <net/inet_sock.h>
#include <net/tcp_states.h>

#include "conn.h"
#include "list.h"
#include "listen.h"
#include "net.h"
#include "sock.h"

#define LIST_FLAGS	(XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH | \
			 XA_FLAGS_ACCOUNT)

/* Who is listed */

bool rds_ss_list_conn(struct rds_ss_conn *conn)
{
	struct rds_ss_net *sn = conn->sn;

	return xa_alloc_cyclic_bh(&sn->conns, &conn->serial, conn, xa_limit_32b,
				  &sn->next_conn, GFP_KERNEL) >= 0;
}

void rds_ss_unlist_conn(struct rds_ss_conn *conn)
{
	struct rds_ss_net *sn = conn->sn;

	spin_lock_bh(&sn->conns_lock);
	xa_erase_bh(&sn->conns, conn->serial);
	spin_unlock_bh(&sn->conns_lock);
}

/* A place among @max_conns, which one of those gets who come at once */
static bool tcp_reserve(struct rds_ss_sock *ss)
{
	struct rds_ss_net *sn = ss->sn;
	bool mine;

	spin_lock_bh(&sn->conns_lock);
	if (!ss->counted)
		rds_ss_count(sn, ss->accepted ?
					 RDS_SS_STAT_stream_tcp_accepted :
					 RDS_SS_STAT_stream_tcp_connects, 1);
	ss->counted = true;
	mine = !ss->listed && sn->nr_tcps < READ_ONCE(sn->max_conns);
	if (mine) {
		ss->listed = true;
		sn->nr_tcps++;
	}
	spin_unlock_bh(&sn->conns_lock);
	return mine;
}

static void tcp_unlist(struct rds_ss_sock *ss)
{
	lockdep_assert_held(&ss->sn->conns_lock);
	ss->listed = false;
	ss->sn->nr_tcps--;
}

void rds_ss_list_tcp(struct rds_ss_sock *ss)
{
	struct rds_ss_net *sn = ss->sn;

	if (!tcp_reserve(ss))
		return;
	if (xa_alloc_cyclic_bh(&sn->tcps, &ss->serial, ss, xa_limit_32b,
			       &sn->next_tcp, GFP_KERNEL) >= 0)
		return;
	spin_lock_bh(&sn->conns_lock);
	tcp_unlist(ss);
	spin_unlock_bh(&sn->conns_lock);
}

void rds_ss_unlist_tcp(struct rds_ss_sock *ss)
{
	struct rds_ss_net *sn = ss->sn;

	spin_lock_bh(&sn->conns_lock);
	if (ss->listed) {
		xa_erase_bh(&sn->tcps, ss->serial);
		tcp_unlist(ss);
	}
	spin_unlock_bh(&sn->conns_lock);
}

/* A connection over RDMA */

static const char *const state_names[RDS_SS_NR_STATES] = {
	[RDS_SS_CONNECTING]	= "connecting",
	[RDS_SS_OPEN]		= "open",
	[RDS_SS_SHUTTING]	= "shutting",
	[RDS_SS_HALF_OUT]	= "half-out",
	[RDS_SS_HALF_IN]	= "half-in",
	[RDS_SS_CLOSING]	= "closing",
	[RDS_SS_ENDING]		= "ending",
	[RDS_SS_LEFT]		= "left",
	[RDS_SS_RESET]		= "reset",
	[RDS_SS_CLOSED]		= "closed",
};

static u16 local_port(const struct rds_ss_conn *conn)
{
	if (conn->active)
		return READ_ONCE(conn->local_port);
	return conn->listener ? conn->listener->svc.port : 0;
}

/* A connection without the locks: each value is one that it had. */
static void conn_show(struct seq_file *seq, const struct rds_ss_conn *conn)
{
	const struct rds_ss_engine *e = &conn->e;

	seq_printf(seq, "%pI6c %u %pI6c %u rdma %s %s %s",
		   &conn->id.local.addr,
		   local_port(conn),
		   &conn->id.remote,
		   conn->active ? conn->id.port : conn->peer_port,
		   conn->active ? "out" : "in",
		   state_names[READ_ONCE(e->state)],
		   READ_ONCE(e->ours) ? "rds" : "rsocket");
	seq_printf(seq, " %u %u %u %u %u %u %u\n", READ_ONCE(conn->unread),
		   READ_ONCE(conn->tx.bytes), READ_ONCE(e->queued),
		   rds_ss_target_room(&e->target),
		   (u16)(READ_ONCE(e->flow.limit) - READ_ONCE(e->flow.sent)),
		   READ_ONCE(e->data), READ_ONCE(e->controls));
}

/* A stream that TCP carries */

static const char *tcp_state_name(int state)
{
	switch (state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return "connecting";
	case TCP_ESTABLISHED:
		return "open";
	case TCP_CLOSE_WAIT:
		return "half-in";
	case TCP_FIN_WAIT1:
	case TCP_FIN_WAIT2:
		return "half-out";
	case TCP_CLOSE:
		return "closed";
	default:
		return "closing";
	}
}

static void tcp_show_end(struct seq_file *seq, const struct sock *sk, bool peer)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct in6_addr addr;

	if (sk->sk_family == AF_INET6)
		addr = peer ? sk->sk_v6_daddr : sk->sk_v6_rcv_saddr;
	else
		ipv6_addr_set_v4mapped(peer ? inet->inet_daddr :
					      inet->inet_rcv_saddr, &addr);
	seq_printf(seq, "%pI6c %u ", &addr,
		   peer ? be16_to_cpu(inet->inet_dport) : inet->inet_num);
}

/* Without the lock of the socket: each value is one that it had. */
static void tcp_show(struct seq_file *seq, const struct rds_ss_sock *ss)
{
	const struct sock *sk = ss->tcp->sk;

	tcp_show_end(seq, sk, false);
	tcp_show_end(seq, sk, true);
	seq_printf(seq, "tcp %s %s - - - - - - - -\n",
		   ss->accepted ? "in" : "out",
		   tcp_state_name(READ_ONCE(sk->sk_state)));
}

/* The file */

/*
 * A place in the file: 0 is the head.  Then there are the serials of
 * connections, and behind PLACE_TCP those of streams by TCP.
 */
#define PLACE_TCP	BIT_ULL(32)
#define PLACE_END	(2 * PLACE_TCP)

/**
 * struct streams_iter - reader of the file
 * @p: namespace
 * @at: place of the line that is to be shown
 */
struct streams_iter {
	struct seq_net_private	p;
	u64			at;
};

/* The first place from *@at on where somebody is listed */
static bool place_find(struct rds_ss_net *sn, u64 *at)
{
	unsigned long serial = (u32)*at;

	if (!*at)
		return true;
	if (*at < PLACE_TCP) {
		if (xa_find(&sn->conns, &serial, U32_MAX, XA_PRESENT)) {
			*at = serial;
			return true;
		}
		*at = PLACE_TCP;
		serial = 0;
	}
	if (*at >= PLACE_END ||
	    !xa_find(&sn->tcps, &serial, U32_MAX, XA_PRESENT))
		return false;
	*at = PLACE_TCP + serial;
	return true;
}

static void *streams_start(struct seq_file *seq, loff_t *pos)
{
	struct rds_ss_net *sn = rds_ss_net(seq_file_net(seq));
	struct streams_iter *iter = seq->private;
	bool found;

	iter->at = *pos;
	found = place_find(sn, &iter->at);
	*pos = iter->at;
	return found ? iter : NULL;
}

/* To skip a part of the file is to go through it. */
static void *streams_next(struct seq_file *seq, void *v, loff_t *pos)
{
	cond_resched();
	++*pos;
	return streams_start(seq, pos);
}

static void streams_stop(struct seq_file *seq, void *v)
{
}

/* No line, if who was found has gone meanwhile. */
static void place_show(struct seq_file *seq, struct rds_ss_net *sn, u64 at)
{
	const struct rds_ss_conn *conn = NULL;
	const struct rds_ss_sock *ss = NULL;

	spin_lock_bh(&sn->conns_lock);
	if (at < PLACE_TCP)
		conn = xa_load(&sn->conns, at);
	else
		ss = xa_load(&sn->tcps, (u32)at);
	if (conn)
		conn_show(seq, conn);
	else if (ss)
		tcp_show(seq, ss);
	spin_unlock_bh(&sn->conns_lock);
}

static int streams_show(struct seq_file *seq, void *v)
{
	const struct streams_iter *iter = v;

	if (iter->at)
		place_show(seq, rds_ss_net(seq_file_net(seq)), iter->at);
	else
		seq_puts(seq, "local port remote port carrier way state peer unread unacked queued room credits data controls\n");
	return 0;
}

static const struct seq_operations streams_ops = {
	.start	= streams_start,
	.next	= streams_next,
	.stop	= streams_stop,
	.show	= streams_show,
};

/* Begin and end */

int rds_ss_list_begin(struct net *net)
{
	struct rds_ss_net *sn = rds_ss_net(net);

	spin_lock_init(&sn->conns_lock);
	xa_init_flags(&sn->conns, LIST_FLAGS);
	xa_init_flags(&sn->tcps, LIST_FLAGS);
	return proc_create_net("rds_streams", 0440, net->proc_net, &streams_ops,
			       sizeof(struct streams_iter)) ? 0 : -ENOMEM;
}

void rds_ss_list_end(struct net *net)
{
	struct rds_ss_net *sn = rds_ss_net(net);

	remove_proc_entry("rds_streams", net->proc_net);
	WARN_ON_ONCE(!xa_empty(&sn->conns) || !xa_empty(&sn->tcps));
}
