// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "netns.h"
#include "sock/calls.h"

/*
 * Without RDS_CONG_MONITOR each poll after an update of any map returns EPOLLIN
 * and EPOLLWRBAND once: a program whose send was refused tries again then.
 */
static __poll_t poll_cong(struct rds_sock *rs)
{
	u32 now;

	if (READ_ONCE(rs->monitor))
		return READ_ONCE(rs->cong_notify) ? EPOLLIN | EPOLLRDNORM : 0;
	now = rds_cong_generation(rs->rn);
	if (READ_ONCE(rs->cong_seen) == now)
		return 0;
	WRITE_ONCE(rs->cong_seen, now);
	return EPOLLIN | EPOLLRDNORM | EPOLLWRBAND;
}

/**
 * rds_poll - poll(2)
 * @file: file of the socket
 * @sock: socket
 * @wait: poll table, which enters the caller on wait queues
 *
 * Return: events of protocol.rst 5.10.
 */
__poll_t rds_poll(struct file *file, struct socket *sock, poll_table *wait)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	__poll_t mask;

	sock_poll_wait(file, sock, wait);
	if (READ_ONCE(rs->cong_refused))
		poll_wait(file, rds_cong_waitq(rs->rn), wait);

	mask = poll_cong(rs);
	if (!list_empty(&rs->rx_queue) || !list_empty(&rs->notes) ||
	    !list_empty(&rs->reports_due) || !list_empty(&rs->zrecords))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (rds_sock_writable(rs) || rds_sock_want_room(rs))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (READ_ONCE(rs->sk.sk_err) ||
	    !skb_queue_empty_lockless(&rs->sk.sk_error_queue))
		mask |= EPOLLERR;
	if (mask)
		WRITE_ONCE(rs->cong_refused, false);
	return mask;
}
