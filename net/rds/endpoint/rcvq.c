// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The receive queue, and when it makes its port congested: at more than the receive buffer,
 * until less than half of it is left.  The limit is advice to senders, nothing is refused.
 */
#include <linux/sched/clock.h>

#include "endpoint/endpoint.h"
#include "msg/incoming.h"
#include "netns.h"

DEFINE_STATIC_KEY_FALSE(rds_rx_trace_key);

/*
 * Tell the map what `congested` says.  Who flips it comes here afterwards, so whoever comes last
 * sees, and tells, the last state, whatever the order in between.
 */
static void cong_publish(struct rds_sock *rs)
{
	spin_lock_bh(&rs->cong_lock);
	if (rs->lmap) {
		bool on = READ_ONCE(rs->congested);

		if (on != rs->cong_published &&
		    rds_cong_set(rs->lmap, be16_to_cpu(rs->bound_port), on))
			rs->cong_published = on;
	}
	spin_unlock_bh(&rs->cong_lock);
}

/* Returns whether the map is to be told. */
static bool rx_added(struct rds_sock *rs, u32 len)
{
	unsigned int limit = rds_sock_rcvbuf(rs);

	rs->rx_count++;
	rs->rx_bytes += len;
	if (rs->local_only)
		return false;
	if (!rs->congested && ((len && rs->rx_bytes > limit) || rs->rx_count > limit))
		WRITE_ONCE(rs->congested, true);
	/* A difference stays only where the map had no memory; it is tried again then. */
	return rs->congested != rs->cong_published;
}

/* An empty message changes the state only by being the one that makes the number small enough. */
static bool rx_removed(struct rds_sock *rs, u32 len)
{
	unsigned int low = rds_sock_rcvbuf(rs) / 2;

	rs->rx_count--;
	rs->rx_bytes -= len;
	if (!rs->congested || rs->rx_bytes >= low || rs->rx_count >= low)
		return false;
	if (!len && rs->rx_count + 1 < low)
		return false;
	WRITE_ONCE(rs->congested, false);
	return true;
}

/**
 * rds_sock_queue - give a message to its receiver
 * @rs: receiver, found in this RCU read section
 * @inc: the message; the socket's if it is taken
 *
 * Context: any but hard interrupts.  Does not wake readers, rds_sock_wake_rx() does.
 * Return: false if the socket is closed; the message stays the caller's.
 */
bool rds_sock_queue(struct rds_sock *rs, struct rds_incoming *inc)
{
	u32 len = inc->len;
	bool flip;

	if (sock_flag(&rs->sk, SOCK_RCVTSTAMP))
		inc->tstamp = ktime_get_real();
	if (rds_rx_traced())
		inc->trace[RDS_MSG_RX_DGRAM_DELIVERED] = local_clock();

	spin_lock_bh(&rs->rx_lock);
	if (unlikely(rs->dead)) {
		spin_unlock_bh(&rs->rx_lock);
		return false;
	}
	list_add_tail(&inc->list, &rs->rx_queue);
	flip = rx_added(rs, len);
	spin_unlock_bh(&rs->rx_lock);

	if (!READ_ONCE(rs->answered))
		WRITE_ONCE(rs->answered, true);
	rds_stats_inc(rs->rn, recv_queued);
	rds_stats_add(rs->rn, recv_bytes_added_to_sock, len);
	if (unlikely(flip))
		cong_publish(rs);
	return true;
}

/**
 * rds_sock_dequeue - take the oldest message
 * @rs: socket
 * @more: set to whether there are others
 *
 * Context: process.
 * Return: the message, the caller's now, or NULL.
 */
struct rds_incoming *rds_sock_dequeue(struct rds_sock *rs, bool *more)
{
	struct rds_incoming *inc;
	bool flip;

	spin_lock_bh(&rs->rx_lock);
	inc = list_first_entry_or_null(&rs->rx_queue, struct rds_incoming, list);
	if (!inc) {
		spin_unlock_bh(&rs->rx_lock);
		return NULL;
	}
	list_del(&inc->list);
	flip = rx_removed(rs, inc->len);
	*more = !list_empty(&rs->rx_queue);
	spin_unlock_bh(&rs->rx_lock);

	rds_stats_add(rs->rn, recv_bytes_freed_fromsock, inc->len);
	if (unlikely(flip))
		cong_publish(rs);
	return inc;
}

/**
 * rds_sock_peek - look at the oldest message
 * @rs: socket
 *
 * Context: process.
 * Return: the message with a reference, still queued, or NULL.
 */
struct rds_incoming *rds_sock_peek(struct rds_sock *rs)
{
	struct rds_incoming *inc;

	spin_lock_bh(&rs->rx_lock);
	inc = list_first_entry_or_null(&rs->rx_queue, struct rds_incoming, list);
	if (inc)
		refcount_inc(&inc->refs);
	spin_unlock_bh(&rs->rx_lock);
	return inc;
}

/**
 * rds_sock_requeue - put a message back that could not be copied
 * @rs: socket, not closed
 * @inc: taken by rds_sock_dequeue(); the socket's again
 *
 * Context: process.
 */
void rds_sock_requeue(struct rds_sock *rs, struct rds_incoming *inc)
{
	u32 len = inc->len;
	bool flip;

	spin_lock_bh(&rs->rx_lock);
	list_add(&inc->list, &rs->rx_queue);
	flip = rx_added(rs, len);
	spin_unlock_bh(&rs->rx_lock);

	rds_stats_add(rs->rn, recv_bytes_added_to_sock, len);
	if (flip)
		cong_publish(rs);
	rds_sock_wake_rx(rs);
}

/**
 * rds_sock_rx_purge - drop what a closed socket has received, and be uncongested
 * @rs: killed
 */
void rds_sock_rx_purge(struct rds_sock *rs)
{
	struct rds_incoming *inc, *tmp;
	LIST_HEAD(queue);
	u64 bytes;

	spin_lock_bh(&rs->rx_lock);
	WARN_ON_ONCE(!rs->dead);
	list_splice_init(&rs->rx_queue, &queue);
	bytes = rs->rx_bytes;
	rs->rx_bytes = 0;
	rs->rx_count = 0;
	WRITE_ONCE(rs->congested, false);
	spin_unlock_bh(&rs->rx_lock);

	list_for_each_entry_safe(inc, tmp, &queue, list)
		rds_inc_put(inc);
	rds_stats_add(rs->rn, recv_bytes_freed_fromsock, bytes);
	cong_publish(rs);
}

/**
 * rds_sock_visit_rx - look at the received messages
 * @rs: socket
 * @fn: called under the queue's lock
 * @arg: for @fn
 */
void rds_sock_visit_rx(struct rds_sock *rs,
		       void (*fn)(const struct rds_incoming *inc, void *arg), void *arg)
{
	const struct rds_incoming *inc;

	spin_lock_bh(&rs->rx_lock);
	list_for_each_entry(inc, &rs->rx_queue, list)
		fn(inc, arg);
	spin_unlock_bh(&rs->rx_lock);
}
