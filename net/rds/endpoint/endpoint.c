// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Life of a socket below the system calls, and the room it has to send. */
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>

#include "endpoint/endpoint.h"
#include "endpoint/note.h"
#include "netns.h"

/* One atomic for both limits: messages in the high half, payload bytes in the low one. */
#define SND_ONE		((s64)BIT_ULL(32))
#define SND_BYTES(v)	((u32)(v))
#define SND_MSGS(v)	((u32)((u64)(v) >> 32))

/* Messages that follow each other within this time may be a stream. */
#define STREAM_NS	(50 * NSEC_PER_USEC)

/**
 * rds_endpoint_setup - prepare a new socket
 * @rs: zeroed but for @rs->sk
 * @rn: namespace
 */
void rds_endpoint_setup(struct rds_sock *rs, struct rds_net *rn)
{
	rs->rn = rn;
	INIT_HLIST_NODE(&rs->bind_node);
	spin_lock_init(&rs->lock);
	init_waitqueue_head(&rs->snd_wait);
	rds_txpages_init(&rs->tx_pages, &rs->sk.sk_sndbuf);
	spin_lock_init(&rs->rx_lock);
	INIT_LIST_HEAD(&rs->rx_queue);
	init_waitqueue_head(&rs->rx_wait);
	INIT_LIST_HEAD(&rs->zrecords);
	INIT_LIST_HEAD(&rs->zspare);
	INIT_LIST_HEAD(&rs->notes);
	INIT_LIST_HEAD(&rs->notes_due);
	spin_lock_init(&rs->mr_lock);
	rs->mrs = RB_ROOT;
	spin_lock_init(&rs->cong_lock);
	spin_lock_init(&rs->mon_lock);
	rds_sock_list_add(rs);
}

/**
 * rds_endpoint_kill - take no more messages
 * @rs: closing
 *
 * The second step of the end, see endpoint.h.
 */
void rds_endpoint_kill(struct rds_sock *rs)
{
	rds_sock_list_del(rs);
	rds_bind_remove(rs);
	spin_lock_bh(&rs->rx_lock);
	rs->dead = true;
	spin_unlock_bh(&rs->rx_lock);
}

/**
 * rds_endpoint_purge - drop all that a closed socket has
 * @rs: killed, and no message's owner any more
 */
void rds_endpoint_purge(struct rds_sock *rs)
{
	struct rds_cong_map *lmap;

	rds_sock_monitor(rs, false);
	rds_sock_rx_purge(rs);
	rds_sock_zcopy_purge(rs);
	rds_sock_note_purge(rs);
	spin_lock_bh(&rs->cong_lock);
	lmap = rs->lmap;
	rs->lmap = NULL;
	spin_unlock_bh(&rs->cong_lock);
	if (lmap)
		rds_cong_put(lmap);
}

/*
 * Full by bytes, or by messages: their number is limited by the same figure, so that empty ones
 * are not for free.
 */
static bool snd_full(const struct rds_sock *rs, s64 snd)
{
	unsigned int limit = rds_sock_sndbuf(rs);

	return SND_BYTES(snd) >= limit || SND_MSGS(snd) >= limit;
}

/**
 * rds_sock_writable - is there room to send?
 * @rs: socket
 *
 * Return: true if a message of any size would be admitted.
 */
bool rds_sock_writable(const struct rds_sock *rs)
{
	return !snd_full(rs, atomic64_read(&rs->snd));
}

/**
 * rds_sock_half_full - is it time to hear from the peer?
 * @rs: socket
 *
 * Return: true if half of what may be queued is.
 */
bool rds_sock_half_full(const struct rds_sock *rs)
{
	s64 snd = atomic64_read(&rs->snd);
	unsigned int half = rds_sock_sndbuf(rs) / 2;

	return SND_BYTES(snd) >= half || SND_MSGS(snd) >= half;
}

/**
 * rds_sock_charge - take room for one message
 * @rs: socket
 * @bytes: its payload
 *
 * Return: false if the queue is full already; a message that is admitted may overshoot.
 */
bool rds_sock_charge(struct rds_sock *rs, u32 bytes)
{
	s64 snd = atomic64_read(&rs->snd);

	do {
		if (snd_full(rs, snd))
			return false;
	} while (!atomic64_try_cmpxchg(&rs->snd, &snd, snd + SND_ONE + bytes));
	return true;
}

/**
 * rds_sock_streams - is what a socket sends part of a stream?
 * @rs: socket that is sending a message
 * @path_last: when a message was sent on the path, by local_clock(); brought up to date
 *
 * Messages that follow each other closely, from one socket or on one path, are a stream, unless
 * the socket received something since it sent: then this may be a turn of a dialogue.  Senders
 * that race here only make each other look the one or the other way.
 *
 * Context: any but hard interrupts.
 */
bool rds_sock_streams(struct rds_sock *rs, u64 *path_last)
{
	u64 now, last;

	if (READ_ONCE(rs->answered)) {
		WRITE_ONCE(rs->answered, false);
		WRITE_ONCE(rs->last_send, 0);
		return false;
	}
	now = local_clock();
	last = max(READ_ONCE(rs->last_send), *path_last);
	WRITE_ONCE(rs->last_send, now);
	*path_last = now;
	return now - last < STREAM_NS;
}

/**
 * rds_sock_want_room - ask for a poll event when there is room
 * @rs: socket that is full
 *
 * Return: true if there is room by now.
 */
bool rds_sock_want_room(struct rds_sock *rs)
{
	WRITE_ONCE(rs->snd_nospace, true);
	/* Pairs with rds_sock_sent(): it sees the flag, or we its room. */
	smp_mb();
	return rds_sock_writable(rs);
}

/**
 * rds_sock_charge_wait - take room for one message, waiting for it
 * @rs: socket
 * @bytes: the message's payload
 * @timeo: how long, in jiffies
 *
 * Context: process.
 * Return: 0, -ETIMEDOUT, or -ERESTARTSYS or -EINTR for a signal.
 */
int rds_sock_charge_wait(struct rds_sock *rs, u32 bytes, long timeo)
{
	DEFINE_WAIT(wait);
	int err = 0;

	for (;;) {
		prepare_to_wait_exclusive(&rs->snd_wait, &wait, TASK_INTERRUPTIBLE);
		if (rds_sock_charge(rs, bytes))
			break;
		if (!timeo) {
			err = -ETIMEDOUT;
			break;
		}
		if (signal_pending(current)) {
			err = sock_intr_errno(timeo);
			break;
		}
		timeo = schedule_timeout(timeo);
	}
	finish_wait(&rs->snd_wait, &wait);
	/* One is woken at a time: it passes on what it leaves. */
	if (wq_has_sleeper(&rs->snd_wait) && rds_sock_writable(rs))
		wake_up_interruptible(&rs->snd_wait);
	return err;
}

/**
 * rds_sock_sent - messages are released
 * @rs: their owner
 * @bytes: payload of all
 * @msgs: how many
 *
 * Context: any but hard interrupts, in the RCU read section in which the owner was read.
 */
void rds_sock_sent(struct rds_sock *rs, unsigned int bytes, unsigned int msgs)
{
	s64 snd = atomic64_sub_return(msgs * SND_ONE + bytes, &rs->snd);
	/* The atomic is a full barrier: see rds_sock_want_room() and prepare_to_wait(). */
	bool sleeper = waitqueue_active(&rs->snd_wait);

	if (likely(!sleeper && !READ_ONCE(rs->snd_nospace)))
		return;
	if (snd_full(rs, snd))
		return;
	if (sleeper)
		wake_up_interruptible(&rs->snd_wait);
	if (READ_ONCE(rs->snd_nospace)) {
		WRITE_ONCE(rs->snd_nospace, false);
		rds_sock_wake_poll(rs, EPOLLOUT | EPOLLWRNORM);
	}
}

/**
 * rds_endpoint_init - module start
 *
 * Return: 0 or -ENOMEM.
 */
int rds_endpoint_init(void)
{
	return rds_notify_init();
}

/**
 * rds_endpoint_exit - module end
 */
void rds_endpoint_exit(void)
{
	rds_notify_exit();
}
