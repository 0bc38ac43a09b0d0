// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Wake-ups of readers and pollers, and the notifications of completed zero-copy
 * sends and of ports that are not congested any more.
 */
#include <linux/slab.h>

#include "netns.h"
#include "sock/state.h"

static struct kmem_cache *zrecord_cache;

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

/**
 * rds_sock_zcopy_reserve - reserve a record for the completion of a zero-copy
 * send
 * @rs: socket
 *
 * Context: process.
 * Return: false without memory.
 */
bool rds_sock_zcopy_reserve(struct rds_sock *rs)
{
	struct rds_zrecord *rec = kmem_cache_alloc(zrecord_cache, GFP_KERNEL);

	if (!rec)
		return false;
	rec->c.num = 0;
	spin_lock_bh(&rs->rx_lock);
	list_add(&rec->list, &rs->zspare);
	spin_unlock_bh(&rs->rx_lock);
	return true;
}

/**
 * rds_sock_zcopy_unreserve - free the record reserved for a send that failed
 * @rs: socket with a reserved record
 */
void rds_sock_zcopy_unreserve(struct rds_sock *rs)
{
	struct rds_zrecord *rec;

	spin_lock_bh(&rs->rx_lock);
	rec = list_first_entry_or_null(&rs->zspare, struct rds_zrecord, list);
	if (rec)
		list_del(&rec->list);
	spin_unlock_bh(&rs->rx_lock);
	if (rec)
		kmem_cache_free(zrecord_cache, rec);
}

/*
 * Put a cookie into the newest record, or @spare if none has room.  Returns
 * @spare if unused.
 */
static struct rds_zrecord *zrecord_add(struct rds_sock *rs,
				       struct rds_zrecord *spare, u32 cookie)
{
	struct rds_zrecord *rec = NULL;

	if (!list_empty(&rs->zrecords))
		rec = list_last_entry(&rs->zrecords, struct rds_zrecord, list);
	if (!rec || rec->c.num == RDS_MAX_ZCOOKIES) {
		rec = spare;
		spare = NULL;
		list_add_tail(&rec->list, &rs->zrecords);
	}
	rec->c.cookies[rec->c.num++] = cookie;
	return spare;
}

/**
 * rds_sock_zcopy_done - report that the user memory of a zero-copy message is
 * unpinned
 * @rs: owner of the message, which reserved a record when the message was sent
 * @cookie: cookie of the message
 *
 * Context: any but hard interrupts, in the RCU read section in which the owner
 * was read.
 */
void rds_sock_zcopy_done(struct rds_sock *rs, u32 cookie)
{
	struct rds_zrecord *spare = NULL;

	spin_lock_bh(&rs->rx_lock);
	if (!rs->dead && !WARN_ON_ONCE(list_empty(&rs->zspare))) {
		spare = list_first_entry(&rs->zspare, struct rds_zrecord, list);
		list_del(&spare->list);
		spare = zrecord_add(rs, spare, cookie);
	}
	spin_unlock_bh(&rs->rx_lock);
	if (spare)
		kmem_cache_free(zrecord_cache, spare);
	rds_sock_wake_all(rs);
}

/**
 * rds_sock_zcopy_take - take the oldest record of cookies
 * @rs: socket
 * @c: set to the cookies, unused entries to 0
 *
 * Return: false if there is no record.
 */
bool rds_sock_zcopy_take(struct rds_sock *rs, struct rds_zcopy_cookies *c)
{
	struct rds_zrecord *rec;

	if (likely(list_empty(&rs->zrecords)))
		return false;
	spin_lock_bh(&rs->rx_lock);
	rec = list_first_entry_or_null(&rs->zrecords, struct rds_zrecord, list);
	if (rec)
		list_del(&rec->list);
	spin_unlock_bh(&rs->rx_lock);
	if (!rec)
		return false;
	memset(c, 0, sizeof(*c));
	c->num = rec->c.num;
	memcpy(c->cookies, rec->c.cookies, rec->c.num * sizeof(c->cookies[0]));
	kmem_cache_free(zrecord_cache, rec);
	return true;
}

/**
 * rds_sock_zcopy_purge - drop the records of a closed socket
 * @rs: socket after rds_sock_kill()
 */
void rds_sock_zcopy_purge(struct rds_sock *rs)
{
	struct rds_zrecord *rec, *tmp;
	LIST_HEAD(all);

	spin_lock_bh(&rs->rx_lock);
	list_splice_init(&rs->zrecords, &all);
	list_splice_init(&rs->zspare, &all);
	spin_unlock_bh(&rs->rx_lock);
	list_for_each_entry_safe(rec, tmp, &all, list)
		kmem_cache_free(zrecord_cache, rec);
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

/**
 * rds_notify_init - make the cache of zero-copy records, at module start
 *
 * Return: 0 or -ENOMEM.
 */
int rds_notify_init(void)
{
	zrecord_cache = kmem_cache_create("rds_zrecord",
					  sizeof(struct rds_zrecord), 0, 0,
					  NULL);
	return zrecord_cache ? 0 : -ENOMEM;
}

/**
 * rds_notify_exit - destroy the cache of zero-copy records, at module end
 */
void rds_notify_exit(void)
{
	kmem_cache_destroy(zrecord_cache);
}
