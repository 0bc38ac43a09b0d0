// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Life of a socket below the system calls, and the charge for the messages that
 * it sends.
 */
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>

#include "msg/message.h"
#include "netns.h"
#include "sock/note.h"
#include "sock/rcvq.h"
#include "sock/report.h"
#include "sock/rxmem.h"
#include "sock/state.h"
#include "sock/table.h"
#include "sock/zrecord.h"

/*
 * rds_sock.snd has both counts in one atomic: messages in the high half, bytes
 * in the low one.
 */
#define SND_ONE		((s64)BIT_ULL(32))
#define SND_BYTES(v)	((u32)(v))
#define SND_MSGS(v)	((u32)((u64)(v) >> 32))

/* Messages that follow each other within this time may be a stream. */
#define STREAM_NS	(50 * NSEC_PER_USEC)

/* There may be room: wake one sender that waits for it, and pollers. */
static void sock_wake_tx(struct rds_sock *rs)
{
	/* The caller has made a full barrier. */
	if (waitqueue_active(&rs->snd_wait))
		wake_up_interruptible(&rs->snd_wait);
	if (READ_ONCE(rs->snd_nospace)) {
		WRITE_ONCE(rs->snd_nospace, false);
		rds_sock_wake_poll(rs, EPOLLOUT | EPOLLWRNORM);
	}
}

/* The socket layer has changed SO_SNDBUF; the socket is locked. */
static void sock_write_space(struct sock *sk)
{
	struct rds_sock *rs = rds_sk(sk);

	/* As the atomic of rds_sock_sent() */
	smp_mb();
	if (rds_sock_writable(rs))
		sock_wake_tx(rs);
}

/**
 * rds_sock_setup - prepare a new socket
 * @rs: socket, zeroed except @rs->sk
 * @rn: namespace of the socket
 */
void rds_sock_setup(struct rds_sock *rs, struct rds_net *rn)
{
	rs->rn = rn;
	rs->sk.sk_write_space = sock_write_space;
	spin_lock_init(&rs->lock);
	init_waitqueue_head(&rs->snd_wait);
	spin_lock_init(&rs->sent_lock);
	INIT_HLIST_HEAD(&rs->sent);
	rds_txpages_init(&rs->tx_pages, &rs->sk.sk_sndbuf);
	spin_lock_init(&rs->rx_lock);
	INIT_LIST_HEAD(&rs->rx_queue);
	init_llist_head(&rs->rx_spent);
	init_waitqueue_head(&rs->rx_wait);
	INIT_LIST_HEAD(&rs->zrecords);
	INIT_LIST_HEAD(&rs->zspare);
	INIT_LIST_HEAD(&rs->notes);
	INIT_LIST_HEAD(&rs->notes_due);
	INIT_LIST_HEAD(&rs->reports);
	INIT_LIST_HEAD(&rs->reports_due);
	spin_lock_init(&rs->mr_lock);
	rs->mrs = RB_ROOT;
	spin_lock_init(&rs->cong_lock);
	spin_lock_init(&rs->mon_lock);
	rds_sock_list_add(rs);
}

/**
 * rds_sock_kill - make a socket refuse messages
 * @rs: socket that closes
 *
 * The second step of closing, see state.h.
 */
void rds_sock_kill(struct rds_sock *rs)
{
	rds_sock_list_del(rs);
	rds_bind_remove(rs);
	spin_lock_bh(&rs->rx_lock);
	rs->dead = true;
	spin_unlock_bh(&rs->rx_lock);
}

/**
 * rds_sock_purge - drop messages, notifications and congestion map of a closed
 * socket
 * @rs: socket after rds_sock_kill() and rds_cancel()
 */
void rds_sock_purge(struct rds_sock *rs)
{
	struct rds_cong_map *lmap;

	rds_sock_monitor(rs, false);
	rds_sock_rx_purge(rs);
	rds_sock_zcopy_purge(rs);
	rds_sock_note_purge(rs);
	rds_sock_reports_purge(rs);
	spin_lock_bh(&rs->cong_lock);
	lmap = rs->lmap;
	rs->lmap = NULL;
	spin_unlock_bh(&rs->cong_lock);
	if (lmap)
		rds_cong_put(lmap);
}

/* Memory of a message beside its payload, in bytes */
#define SND_OVERHEAD	\
	(sizeof(struct rds_message) + sizeof(struct rds_wire_header))
/* Lowest limit of the memory of messages, in bytes */
#define SND_TRUE_MIN	SZ_512K

/*
 * Do the messages take so much of the send buffer, in bytes?  It counts
 * payload, and as many messages.  Behind it stands a limit of the memory that
 * they hold, which many small ones reach first.
 */
static bool snd_takes(s64 snd, unsigned int part)
{
	u64 memory = SND_BYTES(snd) + (u64)SND_MSGS(snd) * SND_OVERHEAD;

	return SND_BYTES(snd) >= part || SND_MSGS(snd) >= part ||
	       memory >= max_t(u64, 8ULL * part, SND_TRUE_MIN);
}

static bool snd_full(const struct rds_sock *rs, s64 snd)
{
	return snd_takes(snd, rds_sock_sndbuf(rs));
}

/**
 * rds_sock_writable - has the send buffer room?
 * @rs: socket
 *
 * Return: true if a message of any size would be admitted.
 */
bool rds_sock_writable(const struct rds_sock *rs)
{
	return !snd_full(rs, atomic64_read(&rs->snd));
}

/**
 * rds_sock_half_full - is the send buffer half full, so that the peer should
 * acknowledge soon?
 * @rs: socket
 *
 * Return: true if half of the bytes, of the messages, or of the memory that may
 * be charged is; of a small buffer all of the memory.
 */
bool rds_sock_half_full(const struct rds_sock *rs)
{
	return snd_takes(atomic64_read(&rs->snd), rds_sock_sndbuf(rs) / 2);
}

/**
 * rds_sock_charge - charge one message to its socket
 * @rs: socket
 * @bytes: payload bytes of the message
 *
 * Return: false if the send buffer is full already; a message that is admitted
 * may exceed it.
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
 * rds_sock_streams - is a message part of a stream?
 * @rs: socket that sends the message
 * @path_last: time of the last message over the connection that may be part
 *	of a stream, by local_clock(), roughly; set to the present
 *
 * Messages that follow each other within STREAM_NS, from one socket or over one
 * connection, are a stream, unless they are turns of a dialogue, see
 * rds_sock_turn().  A race of senders can make the answer wrong, which only
 * affects the choice of the context that transmits.
 *
 * Context: any but hard interrupts.
 */
bool rds_sock_streams(struct rds_sock *rs, u64 *path_last)
{
	u64 now = local_clock();
	u64 last = max(READ_ONCE(rs->last_send), READ_ONCE(*path_last));

	WRITE_ONCE(rs->last_send, now);
	/* Lanes share this: it is not written for each message. */
	if (now - READ_ONCE(*path_last) > STREAM_NS / 8)
		WRITE_ONCE(*path_last, now);
	return now - last < STREAM_NS;
}

/**
 * rds_sock_want_room - ask for a poll event when the send buffer has room
 * @rs: socket whose send buffer was full
 *
 * Return: true if the send buffer has room by now.
 */
bool rds_sock_want_room(struct rds_sock *rs)
{
	WRITE_ONCE(rs->snd_nospace, true);
	/*
	 * Pairs with the atomic of rds_sock_sent(): it sees the flag, or its
	 * room is seen here.
	 */
	smp_mb();
	return rds_sock_writable(rs);
}

/**
 * rds_sock_charge_wait - charge one message to its socket, and wait for room if
 * need be
 * @rs: socket
 * @bytes: payload bytes of the message
 * @timeo: longest wait, in jiffies
 *
 * Context: process.
 * Return: 0, -ETIMEDOUT, or -ERESTARTSYS or -EINTR for a signal.
 */
int rds_sock_charge_wait(struct rds_sock *rs, u32 bytes, long timeo)
{
	DEFINE_WAIT(wait);
	int err = 0;

	for (;;) {
		prepare_to_wait_exclusive(&rs->snd_wait, &wait,
					  TASK_INTERRUPTIBLE);
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
	/*
	 * Senders are woken one at a time: wake the next one if room is left.
	 */
	if (wq_has_sleeper(&rs->snd_wait) && rds_sock_writable(rs))
		wake_up_interruptible(&rs->snd_wait);
	return err;
}

/**
 * rds_sock_sent - end the charge of messages
 * @rs: owner of the messages
 * @bytes: payload bytes of all messages
 * @msgs: number of messages
 *
 * Context: any but hard interrupts, in the RCU read section in which the owner
 * was read.
 */
void rds_sock_sent(struct rds_sock *rs, unsigned int bytes, unsigned int msgs)
{
	s64 snd = atomic64_sub_return(msgs * SND_ONE + bytes, &rs->snd);

	/*
	 * The atomic is a full barrier: pairs with rds_sock_want_room() and
	 * prepare_to_wait().
	 */
	if (likely(!waitqueue_active(&rs->snd_wait) &&
		   !READ_ONCE(rs->snd_nospace)))
		return;
	if (!snd_full(rs, snd))
		sock_wake_tx(rs);
}

/**
 * rds_sock_nr_sent - number of messages that are charged to a socket
 * @rs: socket
 *
 * No more than these refer to the socket: a message is charged before it is
 * queued, and its charge ends after it was taken off its list.
 *
 * Context: any.
 */
unsigned int rds_sock_nr_sent(const struct rds_sock *rs)
{
	return SND_MSGS(atomic64_read(&rs->snd));
}

/**
 * rds_sock_state_init - make caches and tables of sockets, at module start
 *
 * Return: 0 or -ENOMEM.
 */
int rds_sock_state_init(void)
{
	int err = rds_zrecord_init();

	if (err)
		return err;
	rds_rxmem_init();
	err = rds_report_init();
	if (err)
		rds_zrecord_exit();
	return err;
}

/**
 * rds_sock_state_exit - destroy caches and tables of sockets, at module end
 */
void rds_sock_state_exit(void)
{
	rds_report_exit();
	rds_zrecord_exit();
}
