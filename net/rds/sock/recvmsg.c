// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* recvmsg: each call returns one message, or notifications of one kind. */
#include <linux/sched/signal.h>

#include "msg/incoming.h"
#include "netns.h"
#include "sock/addr.h"
#include "sock/calls.h"
#include "sock/rcvq.h"

/*
 * Is there a message or notification for this reader?  No lock: each change
 * wakes the reader.
 */
static bool recv_ready(const struct rds_sock *rs, const struct msghdr *msg)
{
	return !list_empty(&rs->rx_queue) || READ_ONCE(rs->cong_notify) ||
	       ((!list_empty(&rs->notes) || !list_empty(&rs->reports_due)) &&
		rds_cmsg_notes_room(msg)) ||
	       (!list_empty(&rs->zrecords) && rds_cmsg_zcopy_room(rs, msg));
}

/*
 * Readers are woken one at a time: a reader that leaves messages queued wakes
 * the next one.
 */
static void recv_wake_next(struct rds_sock *rs)
{
	/*
	 * No barrier: the rest was queued before this reader was woken or took
	 * the lock of the queue, so a reader that goes to sleep later sees it.
	 */
	if (waitqueue_active(&rs->rx_wait))
		wake_up_interruptible(&rs->rx_wait);
}

static int recv_wait(struct rds_sock *rs, const struct msghdr *msg, long *timeo)
{
	DEFINE_WAIT(wait);
	int err = 0;

	for (;;) {
		prepare_to_wait_exclusive(&rs->rx_wait, &wait,
					  TASK_INTERRUPTIBLE);
		if (recv_ready(rs, msg))
			break;
		if (!*timeo) {
			err = -ETIMEDOUT;
			break;
		}
		if (signal_pending(current)) {
			err = sock_intr_errno(*timeo);
			break;
		}
		*timeo = schedule_timeout(*timeo);
		/*
		 * The wake-up ended the wait queue entry; mostly it need not be
		 * made again.
		 */
		if (recv_ready(rs, msg))
			break;
	}
	finish_wait(&rs->rx_wait, &wait);
	/*
	 * A wake-up that coincided with a signal or the timeout is passed on to
	 * another reader.
	 */
	if (err && recv_ready(rs, msg))
		recv_wake_next(rs);
	return err;
}

/*
 * Copy the payload.  A message that cannot be copied is put back on the queue;
 * a message that is peeked at never left the queue.
 */
static int recv_payload(struct rds_sock *rs, struct msghdr *msg,
			struct rds_incoming *inc, int flags)
{
	ssize_t copied = rds_inc_copy(inc, &msg->msg_iter);

	if (copied < 0) {
		if (flags & MSG_PEEK)
			rds_inc_put(inc);
		else
			rds_sock_requeue(rs, inc);
		return copied;
	}
	rds_stats_add(rs->rn, copy_to_user, copied);
	if (copied < inc->len) {
		msg->msg_flags |= MSG_TRUNC;
		if (flags & MSG_TRUNC)
			return inc->len;
	}
	return copied;
}

static void recv_name(const struct rds_sock *rs, struct msghdr *msg,
		      const struct rds_incoming *inc)
{
	if (msg->msg_name)
		msg->msg_namelen = rds_addr_write(msg->msg_name, &inc->saddr,
						  inc->sport,
						  rds_sock_scope(rs));
}

static int recv_message(struct rds_sock *rs, struct msghdr *msg,
			struct rds_incoming *inc, int flags)
{
	int ret = recv_payload(rs, msg, inc, flags);
	int err;

	if (ret < 0)
		return ret;
	err = rds_cmsg_put_message(rs, msg, inc);
	if (!(flags & MSG_PEEK))
		rds_stats_inc(rs->rn, recv_delivered);
	if (err)
		ret = err;
	else
		recv_name(rs, msg, inc);
	if (flags & MSG_PEEK)
		rds_inc_put(inc);
	else
		rds_sock_rx_done(rs, inc);
	return ret;
}

static struct rds_incoming *recv_take(struct rds_sock *rs, int flags)
{
	struct rds_incoming *inc;
	bool more = false;

	if (list_empty(&rs->rx_queue))
		return NULL;
	if (flags & MSG_PEEK) {
		inc = rds_sock_peek(rs);
		/*
		 * A message that is peeked at is still there for the next
		 * reader.
		 */
		more = inc;
	} else {
		inc = rds_sock_dequeue(rs, &more);
	}
	if (more)
		recv_wake_next(rs);
	return inc;
}

/**
 * rds_recvmsg - recvmsg(2)
 * @sock: socket
 * @msg: message header of the reader
 * @size: bytes of room for the payload, also in @msg
 * @flags: MSG_*
 *
 * Return: bytes, 0 for a notification, or an errno; see protocol.rst 5.8.
 */
int rds_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	long timeo;
	int ret;

	if (flags & MSG_OOB)
		return 0;
	if (unlikely(flags & MSG_ERRQUEUE))
		return sock_recv_errqueue(&rs->sk, msg, size, SOL_RDS, 0);

	/* Messages of a peer were dropped, see rcvq.c. */
	if (unlikely(READ_ONCE(rs->sk.sk_err))) {
		ret = sock_error(&rs->sk);
		if (ret)
			return ret;
	}
	timeo = sock_rcvtimeo(&rs->sk, flags & MSG_DONTWAIT);
	for (;;) {
		struct rds_incoming *inc;

		if (unlikely(!list_empty(&rs->notes))) {
			ret = rds_cmsg_put_notes(rs, msg);
			if (ret)
				break;
		}
		if (unlikely(!list_empty(&rs->reports_due))) {
			ret = rds_cmsg_put_report(rs, msg);
			if (ret)
				break;
		}
		ret = rds_cmsg_put_cong(rs, msg);
		if (ret)
			break;
		inc = recv_take(rs, flags);
		if (inc)
			return recv_message(rs, msg, inc, flags);
		ret = rds_cmsg_put_zcopy(rs, msg);
		if (ret)
			break;
		if (!timeo)
			return -EAGAIN;
		ret = recv_wait(rs, msg, &timeo);
		if (ret)
			break;
	}
	/* A notification has no bytes, and only a report of a peer a name. */
	return ret > 0 ? 0 : ret;
}
