// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Wake-ups of readers and pollers, and the notifications of ports that are not
 * congested any more.
 */
#include "netns.h"
#include "sock/state.h"

/**
 * rds_sock_wake_poll - wake pollers
 * @rs: socket, perhaps closed
 * @key: events that happened
 *
 * Context: any but hard interrupts; the caller keeps @rs from being freed.
 */
void rds_sock_wake_poll(struct rds_sock *rs, __poll_t key)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(rs->sk.sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_sync_poll(&wq->wait, key);
	rcu_read_unlock();
}

/**
 * rds_sock_wake_rx - wake a reader and all pollers after messages were queued
 * @rs: socket, perhaps closed
 *
 * Only one blocked reader is woken; it wakes the next reader if more messages
 * are queued.
 * Context: any but hard interrupts; the caller keeps @rs from being freed.
 */
void rds_sock_wake_rx(struct rds_sock *rs)
{
	if (wq_has_sleeper(&rs->rx_wait))
		wake_up_interruptible_sync(&rs->rx_wait);
	rds_sock_wake_poll(rs, EPOLLIN | EPOLLRDNORM);
}

/**
 * rds_sock_wake_all - wake all readers and pollers after a notification was
 * queued
 * @rs: socket, perhaps closed
 *
 * All readers are woken, as not each of them has room for the notification.
 * Context: any but hard interrupts; the caller keeps @rs from being freed.
 */
void rds_sock_wake_all(struct rds_sock *rs)
{
	if (wq_has_sleeper(&rs->rx_wait))
		wake_up_interruptible_all(&rs->rx_wait);
	rds_sock_wake_poll(rs, EPOLLIN | EPOLLRDNORM);
}

/*
 * Called with the groups of ports that became free, under the lock of the table
 * of maps, which is not visible here, so no assertion checks it.
 */
static void mon_update(struct rds_cong_monitor *mon, u64 groups)
{
	struct rds_sock *rs = container_of(mon, struct rds_sock, mon);
	u64 hit;

	spin_lock_bh(&rs->mon_lock);
	hit = rs->cong_waits & groups;
	rs->cong_waits &= ~hit;
	WRITE_ONCE(rs->cong_notify, rs->cong_notify | hit);
	spin_unlock_bh(&rs->mon_lock);
	if (hit)
		rds_sock_wake_all(rs);
}

/**
 * rds_sock_monitor - set or clear RDS_CONG_MONITOR
 * @rs: socket, locked or closed
 * @on: whether ports that become free are reported
 */
void rds_sock_monitor(struct rds_sock *rs, bool on)
{
	if (rs->monitor == on)
		return;
	rs->mon.fn = mon_update;
	if (!on)
		rds_cong_monitor_del(rs->rn, &rs->mon);
	spin_lock_bh(&rs->mon_lock);
	WRITE_ONCE(rs->monitor, on);
	rs->cong_waits = 0;
	WRITE_ONCE(rs->cong_notify, 0);
	spin_unlock_bh(&rs->mon_lock);
	if (on)
		rds_cong_monitor_add(rs->rn, &rs->mon);
}

/**
 * rds_sock_cong_wait - ask for a report when a port becomes free
 * @rs: socket; without effect unless it has RDS_CONG_MONITOR
 * @port: RDS port, host order; the caller tests its bit again after the call
 */
void rds_sock_cong_wait(struct rds_sock *rs, u16 port)
{
	spin_lock_bh(&rs->mon_lock);
	if (rs->monitor)
		rs->cong_waits |= RDS_CONG_MONITOR_MASK(port);
	spin_unlock_bh(&rs->mon_lock);
}

/**
 * rds_sock_cong_take - take the groups of ports that became free
 * @rs: socket
 *
 * Return: mask of the groups; 0 if there is nothing to report.
 */
u64 rds_sock_cong_take(struct rds_sock *rs)
{
	u64 groups;

	if (likely(!READ_ONCE(rs->cong_notify)))
		return 0;
	spin_lock_bh(&rs->mon_lock);
	groups = rs->cong_notify;
	WRITE_ONCE(rs->cong_notify, 0);
	spin_unlock_bh(&rs->mon_lock);
	return groups;
}

/**
 * rds_sock_cong_return - put groups back that could not be copied to the reader
 * @rs: socket
 * @groups: mask that rds_sock_cong_take() returned
 */
void rds_sock_cong_return(struct rds_sock *rs, u64 groups)
{
	spin_lock_bh(&rs->mon_lock);
	if (rs->monitor)
		WRITE_ONCE(rs->cong_notify, rs->cong_notify | groups);
	spin_unlock_bh(&rs->mon_lock);
}
