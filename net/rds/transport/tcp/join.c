// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Accepted connections that may belong to a path between further addresses:
 * each waits for the first frame, which says so or does not.
 *
 * Only accept_work uses the list.  The callbacks of a waiting socket queue that
 * work.  Most wait for one flight of the peer.  The oldest ends its wait when
 * its time is over, or when too many wait.  Of two connections with the same
 * addresses the later one waits for the earlier one, as the core takes them in
 * their order.
 */
#include <linux/module.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/rds/join.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/* Time for the first frame */
#define JOIN_TIME	(2 * HZ)
#define JOIN_MAX	64

/* A frame that says which two hosts the connection is between */
struct join_frame {
	struct rds_wire_header	hdr;
	struct rds_wire_join	join;
} __packed;

enum join_state { JOIN_WAITS, JOIN_IS_NONE, JOIN_IS_ONE };

static void join_callback(struct sock *sk)
{
	struct rds_tcp_net *tn;

	read_lock_bh(&sk->sk_callback_lock);
	tn = sk->sk_user_data;
	if (tn)
		queue_work(rds_tcp_wq, &tn->accept_work);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void join_attach(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, ts->tn);
	sk->sk_data_ready = join_callback;
	sk->sk_state_change = join_callback;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void join_detach(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_data_ready = ts->tn->def_data_ready;
	sk->sk_state_change = ts->tn->def_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
}

static int join_read(struct rds_tcp_sock *ts, struct join_frame *frame,
		     int flags)
{
	struct kvec vec = { frame, sizeof(*frame) };
	struct msghdr msg = {};

	return kernel_recvmsg(ts->sock, &msg, &vec, 1, sizeof(*frame),
			      flags | MSG_DONTWAIT);
}

/* Look at what has come, which remains in TCP's queue. */
static enum join_state join_look(struct rds_tcp_sock *ts)
{
	const struct join_frame like = {
		.hdr.len = cpu_to_be32(sizeof(struct rds_wire_join)),
		.join.magic = RDS_JOIN_MAGIC,
	};
	size_t same = offsetof(struct join_frame, join.token);
	struct join_frame frame;
	int n = join_read(ts, &frame, MSG_PEEK);

	if (n == -EAGAIN)
		return JOIN_WAITS;
	if (n <= 0 || memcmp(&frame, &like, min_t(size_t, n, same)))
		return JOIN_IS_NONE;
	return n == sizeof(frame) ? JOIN_IS_ONE : JOIN_WAITS;
}

static void join_hand_over(struct rds_tcp_sock *ts, bool joins)
{
	struct rds_tcp_net *tn = ts->tn;
	struct rds_path_addr route;
	struct join_frame frame;

	list_del_init(&ts->node);
	tn->nr_joins--;
	join_detach(ts);
	if (!joins) {
		rds_tcp_accepted(ts);
		return;
	}
	rds_tcp_sock_addr(ts->sock->sk, &route);
	if (join_read(ts, &frame, 0) == sizeof(frame) &&
	    rds_path_joined(&rds_tcp_transport, tn->net, &route,
			    ntohs(inet_sk(ts->sock->sk)->inet_dport),
			    &frame.join, ts))
		return;
	rds_tcp_stat_inc(tn, tcp_connect_raced);
	rds_tcp_refuse(tn->net, ts);
}

/* Is an earlier connection between the same addresses waiting? */
static bool join_is_behind(const struct rds_tcp_sock *ts)
{
	struct rds_path_addr a, b;
	struct rds_tcp_sock *other;

	rds_tcp_sock_addr(ts->sock->sk, &a);
	list_for_each_entry(other, &ts->tn->joins, node) {
		if (other == ts)
			return false;
		rds_tcp_sock_addr(other->sock->sk, &b);
		if (ipv6_addr_equal(&a.laddr, &b.laddr) &&
		    ipv6_addr_equal(&a.faddr, &b.faddr))
			return true;
	}
	return false;
}

/**
 * rds_tcp_join_wait - let an accepted connection wait for its first frame
 * @ts: connection that was just accepted, the caller's until here
 *
 * The caller calls rds_tcp_join_step() afterwards.
 */
void rds_tcp_join_wait(struct rds_tcp_sock *ts)
{
	struct rds_tcp_net *tn = ts->tn;
	struct rds_tcp_sock *first;

	if (tn->nr_joins == JOIN_MAX) {
		first = list_first_entry(&tn->joins, struct rds_tcp_sock, node);
		join_hand_over(first, join_look(first) == JOIN_IS_ONE);
	}
	ts->accepted = jiffies;
	list_add_tail(&ts->node, &tn->joins);
	tn->nr_joins++;
	join_attach(ts);
}

/**
 * rds_tcp_join_step - hand over the connections whose first frame has come, or
 * whose time is over
 * @tn: namespace; called by accept_work
 */
void rds_tcp_join_step(struct rds_tcp_net *tn)
{
	struct rds_tcp_sock *ts, *next;
	enum join_state state;

	list_for_each_entry_safe(ts, next, &tn->joins, node) {
		if (join_is_behind(ts))
			continue;
		state = join_look(ts);
		if (state == JOIN_WAITS &&
		    time_before(jiffies, ts->accepted + JOIN_TIME))
			continue;
		join_hand_over(ts, state == JOIN_IS_ONE);
	}
	ts = list_first_entry_or_null(&tn->joins, struct rds_tcp_sock, node);
	if (ts)
		mod_delayed_work(rds_tcp_wq, &tn->join_work,
				 max(1L, (long)(ts->accepted + JOIN_TIME -
						jiffies)));
}

/* The time of the oldest is over. */
static void join_worker(struct work_struct *work)
{
	struct rds_tcp_net *tn = container_of(to_delayed_work(work),
					      struct rds_tcp_net, join_work);

	queue_work(rds_tcp_wq, &tn->accept_work);
}

void rds_tcp_join_init(struct rds_tcp_net *tn)
{
	INIT_LIST_HEAD(&tn->joins);
	INIT_DELAYED_WORK(&tn->join_work, join_worker);
}

/**
 * rds_tcp_join_exit - refuse the connections that wait
 * @tn: namespace; accept_work does not run, and does nothing if it is queued
 */
void rds_tcp_join_exit(struct rds_tcp_net *tn)
{
	struct rds_tcp_sock *ts, *next;

	cancel_delayed_work_sync(&tn->join_work);
	list_for_each_entry_safe(ts, next, &tn->joins, node) {
		list_del_init(&ts->node);
		join_detach(ts);
		rds_tcp_refuse(tn->net, ts);
	}
}
