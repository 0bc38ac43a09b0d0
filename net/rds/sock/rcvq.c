// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The receive queue, and when it makes its port congested: as soon as more than
 * the receive buffer is queued, and until less than half of the receive buffer
 * is.  The limit is advice to senders: no message is refused.
 *
 * The receive buffer counts payload.  Behind it stands a limit of the memory
 * that the messages hold, which many small ones reach first.  A loopback
 * address has only this limit: in-tree knows none there.
 *
 * Behind both stands the bound, for peers that do not heed the map.  A message
 * that would exceed it is queued, and its transport reads no further: the
 * peer's transport keeps what follows, and nothing is lost if the reader
 * returns.  After a time of grace messages above the bound are dropped, and the
 * reader is told once (ENOBUFS), so that a socket that does not read holds up
 * others for that time only.  Once a quarter of the bound is free, another time
 * of grace can begin, and the reader can be told again.  All this is for
 * transports with RDS_CAP_RX_HOLDS; senders of this host are refused instead.
 *
 * The memory of all queues of the host has a limit, too (sock/rxmem.h).  A
 * queue that gets no more is full, and a message for it exceeds the bound,
 * unless the queue is empty: others may have taken all there is, and a reader
 * that keeps up must not lose anything for that.
 *
 * So that one peer does not take all of that, each has a bound at the congested
 * ports together (sock/peerbound.h).
 */
#include <linux/net.h>
#include <linux/poison.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sizes.h>

#include "msg/rxpeer.h"
#include "netns.h"
#include "sock/peerbound.h"
#include "sock/rcvq.h"
#include "sock/rxmem.h"
#include "sock/state.h"

/* Lowest limits of the memory in bytes, for loopback addresses and others */
#define LOCAL_TRUE_MIN	SZ_64K
#define TRUE_MIN	SZ_512K
/* Messages that are visited under one lock */
#define VISIT_AT_ONCE	64
/* Least free memory in bytes with which it is not short any more */
#define RX_AGAIN	SZ_64K

atomic_t rds_rx_tracers __read_mostly = ATOMIC_INIT(0);

/*
 * Copy `congested` to the local map.  Each context that changes `congested`
 * calls this afterwards, so the last caller sees the last state, and publishes
 * it, in whatever order the calls come.
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

/*
 * Limit of the memory of received messages, in bytes.  Others see it through
 * the map of a peer and late, so it is wide enough for the payload that the
 * receive buffer allows in messages of some ten bytes.
 */
static u64 rx_true_max(const struct rds_sock *rs)
{
	u64 rcvbuf = READ_ONCE(rs->sk.sk_rcvbuf);

	if (rs->local_only)
		return max_t(u64, 2 * rcvbuf, LOCAL_TRUE_MIN);
	return max_t(u64, 8 * rcvbuf, TRUE_MIN);
}

/*
 * Limit of the memory that messages of the queue share with others, in bytes.
 * A queue that is read in time does not reach it with messages of more than
 * RDS_RX_COPY_MAX in socket buffers of 64 KiB, which takes as many messages
 * that share as the receive buffer allows.
 */
static u64 rx_excess_max(const struct rds_sock *rs)
{
	return 2 * rx_true_max(rs);
}

/*
 * A peer chooses what is in a socket buffer.  If it is mostly messages for
 * others, which are read or dropped, the one for a queue that is not read keeps
 * all of it.  So above the limit a message is queued as a copy.
 */
static void rx_limit_excess(const struct rds_sock *rs, struct rds_incoming *inc)
{
	if (READ_ONCE(rs->rx_excess) + inc->excess > rx_excess_max(rs))
		rds_inc_own(inc, GFP_ATOMIC);
}

/* Has the last message, of so many bytes, made the queue too long? */
static bool rx_is_full(const struct rds_sock *rs, u32 len)
{
	unsigned int limit = rds_sock_rcvbuf(rs);

	lockdep_assert_held(&rs->rx_lock);
	if (rs->rx_true > rx_true_max(rs) || rs->rx_short)
		return true;
	return !rs->local_only &&
	       ((len && rs->rx_bytes > limit) || rs->rx_count > limit);
}

/*
 * Largest memory of received messages, in bytes.  It is above the limit, so the
 * port of a queue that reaches it is congested.
 */
static u64 rx_bound(const struct rds_sock *rs)
{
	u64 bound = READ_ONCE(rs->rn->sysctl.recv_queue_max);

	return max(bound, 2 * rx_true_max(rs));
}

/* Is less than a quarter of the bound free, or no memory? */
static bool rx_is_over(const struct rds_sock *rs)
{
	u64 bound = rx_bound(rs);

	return rs->rx_true > bound - bound / 4 || rs->rx_short;
}

/* Charge a message that is about to be queued. */
static void rx_charge(struct rds_sock *rs, struct rds_incoming *inc)
{
	if (unlikely(!rds_rxmem_charge(rs, inc)) && !list_empty(&rs->rx_queue))
		rs->rx_short = true;
}

/*
 * Memory was short.  Is there enough again, after the reader took messages or
 * others gave memory back: for as much as is queued and not charged, and a
 * quarter of the queue?
 */
static bool rx_finds_memory(struct rds_sock *rs)
{
	u64 free = rs->rx_true - rds_rxmem_used(rs) +
		   max_t(u64, rs->rx_true / 4, RX_AGAIN);

	return free <= SZ_1G && rds_rxmem_raise(rs, free);
}

/* Is memory still short, and the queue near the bound? */
static void rx_look_again(struct rds_sock *rs)
{
	lockdep_assert_held(&rs->rx_lock);
	if (rs->rx_short)
		rs->rx_short = rs->rx_count && !rx_finds_memory(rs);
	/* Another time of grace can begin. */
	if (rs->rx_over && !rx_is_over(rs))
		rs->rx_over = false;
}

/* Jiffies wrap, so `rx_late` keeps that the time of grace has ended. */
static bool rx_in_grace(struct rds_sock *rs)
{
	lockdep_assert_held(&rs->rx_lock);
	if (!time_before(jiffies, rs->rx_grace))
		rs->rx_late = true;
	return !rs->rx_late;
}

/*
 * May a message be queued in the time of grace?  Several paths may bring one
 * each.  A quarter of the bound is for these messages.  Of messages that are
 * not charged the queue takes as much memory as makes the port congested.
 */
static bool rx_has_room(const struct rds_sock *rs,
			const struct rds_incoming *inc)
{
	u64 bound = rx_bound(rs);

	/* The charge of a message is in the account before its memory is. */
	if (!inc->charged &&
	    rs->rx_true - rds_rxmem_used(rs) > rx_true_max(rs))
		return false;
	return rs->rx_true + inc->truesize <= bound + bound / 4;
}

/* Does the socket have so little that the peer's bound is not looked at? */
static bool rx_has_share(const struct rds_sock *rs,
			 const struct rds_incoming *inc)
{
	return rs->rx_true + inc->truesize <= 2 * rx_true_max(rs);
}

/*
 * The port is congested, and a peer has sent a message.  The first one that
 * exceeds the bound is always queued, unless there is no grace.
 */
static enum rds_queued rx_judge(struct rds_sock *rs,
				const struct rds_incoming *inc,
				struct rds_rx_peer *peer)
{
	bool first = !rs->rx_over;

	lockdep_assert_held(&rs->rx_lock);
	if (rs->rx_true + inc->truesize <= rx_bound(rs) &&
	    (inc->charged || !rs->rx_short))
		return rx_has_share(rs, inc) ? RDS_QUEUED :
		       rds_peer_judge(peer, rs->rn, inc->truesize);
	if (first) {
		rs->rx_over = true;
		rs->rx_late = false;
		rs->rx_told = false;
		rs->rx_grace = jiffies +
			READ_ONCE(rs->rn->sysctl.recv_queue_grace);
	}
	if (rx_in_grace(rs) && (first || rx_has_room(rs, inc)))
		return RDS_QUEUED_HOLD;
	return RDS_QUEUED_FULL;
}

/* Charge a message, and say whether it may be queued. */
static enum rds_queued rx_admit(struct rds_sock *rs, struct rds_incoming *inc,
				struct rds_rx_peer *peer)
{
	enum rds_queued queued;

	if (unlikely(rs->dead))
		return RDS_QUEUED_DEAD;
	rx_charge(rs, inc);
	if (likely(!rs->congested) || !peer)
		return RDS_QUEUED;
	queued = rx_judge(rs, inc, peer);
	if (rds_is_queued(queued))
		rds_rx_peer_count(peer, inc);
	else
		rds_rxmem_uncharge(rs, inc);
	return queued;
}

/*
 * A message is dropped: tell the reader, once in the time of `rx_over`.
 * Returns whether it is news.
 */
static bool rx_tell(struct rds_sock *rs)
{
	bool news = !rs->rx_told;

	lockdep_assert_held(&rs->rx_lock);
	if (news) {
		rs->rx_told = true;
		WRITE_ONCE(rs->sk.sk_err, ENOBUFS);
	}
	return news;
}

static bool rx_is_low(const struct rds_sock *rs)
{
	unsigned int low = rds_sock_rcvbuf(rs) / 2;

	lockdep_assert_held(&rs->rx_lock);
	if (rs->rx_true >= rx_true_max(rs) / 2 || rs->rx_short)
		return false;
	return rs->local_only || (rs->rx_bytes < low && rs->rx_count < low);
}

/*
 * Account for a queued message.  Returns whether cong_publish() has to be
 * called.
 */
static bool rx_added(struct rds_sock *rs, const struct rds_incoming *inc)
{
	rs->rx_count++;
	rs->rx_bytes += inc->len;
	rs->rx_true += inc->truesize;
	if (inc->excess)
		WRITE_ONCE(rs->rx_excess, rs->rx_excess + inc->excess);
	if (!rs->congested && rx_is_full(rs, inc->len))
		WRITE_ONCE(rs->congested, true);
	/*
	 * The two stay different only if the map had no memory; then publish
	 * once more.
	 */
	return rs->congested != rs->cong_published;
}

/*
 * Account for a dequeued message.  Returns whether cong_publish() has to be
 * called.
 */
static bool rx_removed(struct rds_sock *rs, struct rds_incoming *inc)
{
	rds_rxmem_uncharge(rs, inc);
	rs->rx_count--;
	rs->rx_bytes -= inc->len;
	rs->rx_true -= inc->truesize;
	if (inc->excess)
		WRITE_ONCE(rs->rx_excess, rs->rx_excess - inc->excess);
	if (!rs->congested)
		return false;
	rx_look_again(rs);
	if (!rx_is_low(rs))
		return false;
	WRITE_ONCE(rs->congested, false);
	rs->rx_told = false;
	return true;
}

static void rx_warn(const struct rds_sock *rs, enum rds_queued queued)
{
	net_warn_ratelimited("rds: %pI6c port %u is not read in time: messages of %s are dropped\n",
			     &rs->bound_addr, be16_to_cpu(rs->bound_port),
			     queued == RDS_QUEUED_FULL_PEER ?
			     "a peer with many here and elsewhere" : "peers");
}

/**
 * rds_sock_holds - must the peers of a full queue wait?
 * @rs: receiving socket, looked up in the present RCU read section
 * @peer: count of the peer that was to wait
 *
 * Context: any but hard interrupts.
 * Return: whether a transport that was told RDS_QUEUED_HOLD has to go on to
 * wait: in the time of grace, until a quarter of the bound is free, that of the
 * socket or of the peer.
 */
bool rds_sock_holds(struct rds_sock *rs, struct rds_rx_peer *peer)
{
	bool holds;

	spin_lock_bh(&rs->rx_lock);
	if (!rs->dead)
		rx_look_again(rs);
	holds = rs->rx_over && !rs->dead && rx_is_over(rs) && rx_in_grace(rs);
	spin_unlock_bh(&rs->rx_lock);
	return holds || rds_peer_holds(peer, rs->rn);
}

/**
 * rds_sock_queue - queue a received message
 * @rs: receiving socket, looked up in the present RCU read section
 * @inc: message; owned by the socket if it is queued, else by the caller
 * @peer: count of the peer that sent it; NULL if the transport waits for no
 *	reader
 *
 * Context: any but hard interrupts.  Readers are not woken: the caller calls
 * rds_sock_wake_rx().
 * Return: enum rds_queued.
 */
enum rds_queued rds_sock_queue(struct rds_sock *rs, struct rds_incoming *inc,
			       struct rds_rx_peer *peer)
{
	enum rds_queued queued;
	u32 len = inc->len;
	bool flip;

	if (sock_flag(&rs->sk, SOCK_RCVTSTAMP))
		inc->tstamp = ktime_get_real();
	if (rds_rx_traced())
		inc->trace[RDS_MSG_RX_DGRAM_DELIVERED] = local_clock();
	if (inc->excess)
		rx_limit_excess(rs, inc);

	spin_lock_bh(&rs->rx_lock);
	queued = rx_admit(rs, inc, peer);
	if (unlikely(!rds_is_queued(queued))) {
		flip = queued != RDS_QUEUED_DEAD && rx_tell(rs);
		spin_unlock_bh(&rs->rx_lock);
		if (flip)
			rx_warn(rs, queued);
		return queued;
	}
	list_add_tail(&inc->list, &rs->rx_queue);
	flip = rx_added(rs, inc);
	spin_unlock_bh(&rs->rx_lock);

	if (!READ_ONCE(rs->answered))
		WRITE_ONCE(rs->answered, true);
	rds_stats_inc(rs->rn, recv_queued);
	rds_stats_add(rs->rn, recv_bytes_added_to_sock, len);
	if (unlikely(flip))
		cong_publish(rs);
	return queued;
}

/*
 * Must the reader of the message that was just dequeued free @rx_spent?  So it
 * is for the last message of the queue, and for each RDS_INC_SPENT-th.
 */
static bool rx_is_tidy(struct rds_sock *rs)
{
	lockdep_assert_held(&rs->rx_lock);
	if (++rs->rx_taken < RDS_INC_SPENT && !list_empty(&rs->rx_queue))
		return false;
	rs->rx_taken = 0;
	return true;
}

/**
 * rds_sock_dequeue - take the oldest message off the queue
 * @rs: socket
 * @more: set to whether other messages are queued; unchanged if NULL is
 *	returned
 *
 * The reader passes the message to rds_sock_rx_done() or rds_sock_requeue().
 *
 * Context: process.
 * Return: the message, owned by the caller, or NULL.
 */
struct rds_incoming *rds_sock_dequeue(struct rds_sock *rs, bool *more)
{
	struct rds_incoming *inc;
	bool flip;

	spin_lock_bh(&rs->rx_lock);
	inc = list_first_entry_or_null(&rs->rx_queue, struct rds_incoming,
				       list);
	if (!inc) {
		spin_unlock_bh(&rs->rx_lock);
		return NULL;
	}
	list_del(&inc->list);
	flip = rx_removed(rs, inc);
	inc->tidy = rx_is_tidy(rs);
	*more = !list_empty(&rs->rx_queue);
	spin_unlock_bh(&rs->rx_lock);

	rds_stats_add(rs->rn, recv_bytes_freed_fromsock, inc->len);
	if (unlikely(flip))
		cong_publish(rs);
	return inc;
}

/**
 * rds_sock_rx_done - the reader is done with a message
 * @rs: socket, not closed
 * @inc: message that rds_sock_dequeue() returned
 *
 * Of readers at the same time one may be done after the one that empties the
 * list, so the list has at most RDS_INC_SPENT messages, and one for each
 * reader.
 *
 * Context: process.
 */
void rds_sock_rx_done(struct rds_sock *rs, struct rds_incoming *inc)
{
	bool tidy = inc->tidy;

	/* Mostly so in a dialogue */
	if (tidy && llist_empty(&rs->rx_spent)) {
		rds_inc_put(inc);
		return;
	}
	rds_inc_put_later(inc, &rs->rx_spent);
	if (tidy)
		rds_inc_free_spent(&rs->rx_spent);
}

/**
 * rds_sock_peek - get a reference to the oldest message
 * @rs: socket
 *
 * Context: process.
 * Return: the message, still queued, with a reference for the caller; or NULL.
 */
struct rds_incoming *rds_sock_peek(struct rds_sock *rs)
{
	struct rds_incoming *inc;

	spin_lock_bh(&rs->rx_lock);
	inc = list_first_entry_or_null(&rs->rx_queue, struct rds_incoming,
				       list);
	if (inc)
		refcount_inc(&inc->refs);
	spin_unlock_bh(&rs->rx_lock);
	return inc;
}

/**
 * rds_sock_requeue - put a message back that could not be copied
 * @rs: socket, not closed
 * @inc: message that rds_sock_dequeue() returned; owned by the socket again
 *
 * Context: process.
 */
void rds_sock_requeue(struct rds_sock *rs, struct rds_incoming *inc)
{
	u32 len = inc->len;
	bool flip;

	/* No other message was told to do this. */
	if (inc->tidy)
		rds_inc_free_spent(&rs->rx_spent);
	spin_lock_bh(&rs->rx_lock);
	rx_charge(rs, inc);
	list_add(&inc->list, &rs->rx_queue);
	flip = rx_added(rs, inc);
	spin_unlock_bh(&rs->rx_lock);

	rds_stats_add(rs->rn, recv_bytes_added_to_sock, len);
	if (flip)
		cong_publish(rs);
	rds_sock_wake_rx(rs);
}

/**
 * rds_sock_rx_purge - drop the received messages of a closed socket, and clear
 * its congestion bit
 * @rs: socket after rds_sock_kill()
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
	rs->rx_true = 0;
	rs->rx_short = false;
	rds_rxmem_end(rs);
	WRITE_ONCE(rs->rx_excess, 0);
	rs->rx_count = 0;
	WRITE_ONCE(rs->congested, false);
	spin_unlock_bh(&rs->rx_lock);

	list_for_each_entry_safe(inc, tmp, &queue, list)
		rds_inc_put(inc);
	rds_inc_free_spent(&rs->rx_spent);
	rds_stats_add(rs->rn, recv_bytes_freed_fromsock, bytes);
	cong_publish(rs);
}

/*
 * The message behind the one that was visited last, to which there is a
 * reference, or the first.  A message that was dequeued stays so or is put back
 * to the front, and those in front of it were dequeued, too.
 */
static struct rds_incoming *rx_visit_next(struct rds_sock *rs,
					  struct rds_incoming *last)
{
	lockdep_assert_held(&rs->rx_lock);
	/* What is left of the queue is being freed. */
	if (rs->dead)
		return NULL;
	if (!last || last->list.next == LIST_POISON1)
		return list_first_entry_or_null(&rs->rx_queue,
						struct rds_incoming, list);
	return list_is_last(&last->list, &rs->rx_queue) ?
		       NULL :
		       list_next_entry(last, list);
}

/**
 * rds_sock_visit_rx - call a function for each received message, for dumps
 * @rs: socket
 * @fn: function, called under rds_sock.rx_lock
 * @arg: argument of @fn
 *
 * Others choose how long the queue is, so the lock is released now and then.
 * Messages that stay in the queue are visited once.
 *
 * Context: process, may sleep.
 */
void rds_sock_visit_rx(struct rds_sock *rs,
		       void (*fn)(const struct rds_incoming *inc, void *arg),
		       void *arg)
{
	struct rds_incoming *inc = NULL, *last = NULL, *held;
	unsigned int left, n;

	spin_lock_bh(&rs->rx_lock);
	for (left = rs->rx_count; left; left -= n) {
		for (n = 0; n < min_t(unsigned int, left, VISIT_AT_ONCE); n++) {
			inc = rx_visit_next(rs, inc);
			if (!inc)
				break;
			fn(inc, arg);
		}
		if (!inc)
			break;
		refcount_inc(&inc->refs);
		held = last;
		last = inc;
		spin_unlock_bh(&rs->rx_lock);
		if (held)
			rds_inc_put(held);
		cond_resched();
		spin_lock_bh(&rs->rx_lock);
	}
	spin_unlock_bh(&rs->rx_lock);
	if (last)
		rds_inc_put(last);
}
