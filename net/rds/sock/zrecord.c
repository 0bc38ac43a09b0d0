// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Records of completed zero-copy sends; sock/zrecord.h. */
#include <linux/slab.h>

#include "sock/state.h"
#include "sock/zrecord.h"

/* Cookies of completed zero-copy sends, as recvmsg reports them */
struct rds_zrecord {
	struct list_head		list;
	struct rds_zcopy_cookies	c;
};

static struct kmem_cache *zrecord_cache;

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
	struct rds_zrecord *rec = kmem_cache_alloc(zrecord_cache,
						   GFP_KERNEL_ACCOUNT);

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
 * Context: process.
 * Return: the record, for rds_sock_zcopy_return() or rds_zrecord_free(), or
 * NULL.
 */
struct rds_zrecord *rds_sock_zcopy_take(struct rds_sock *rs,
					struct rds_zcopy_cookies *c)
{
	struct rds_zrecord *rec;

	if (likely(list_empty(&rs->zrecords)))
		return NULL;
	spin_lock_bh(&rs->rx_lock);
	rec = list_first_entry_or_null(&rs->zrecords, struct rds_zrecord, list);
	if (rec)
		list_del(&rec->list);
	spin_unlock_bh(&rs->rx_lock);
	if (!rec)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->num = rec->c.num;
	memcpy(c->cookies, rec->c.cookies, rec->c.num * sizeof(c->cookies[0]));
	return rec;
}

/**
 * rds_sock_zcopy_return - put a record back that could not be copied to the
 * reader
 * @rs: socket, not closed
 * @rec: record that rds_sock_zcopy_take() returned
 *
 * Another reader that waits has room for the record, perhaps.
 *
 * Context: process.
 */
void rds_sock_zcopy_return(struct rds_sock *rs, struct rds_zrecord *rec)
{
	spin_lock_bh(&rs->rx_lock);
	list_add(&rec->list, &rs->zrecords);
	spin_unlock_bh(&rs->rx_lock);
	rds_sock_wake_all(rs);
}

/**
 * rds_zrecord_free - free a record that was reported
 * @rec: record that rds_sock_zcopy_take() returned
 */
void rds_zrecord_free(struct rds_zrecord *rec)
{
	kmem_cache_free(zrecord_cache, rec);
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

/**
 * rds_zrecord_init - make the cache of records, at module start
 *
 * Return: 0 or -ENOMEM.
 */
int rds_zrecord_init(void)
{
	zrecord_cache = kmem_cache_create("rds_zrecord",
					  sizeof(struct rds_zrecord), 0, 0,
					  NULL);
	return zrecord_cache ? 0 : -ENOMEM;
}

/**
 * rds_zrecord_exit - destroy the cache of records, at module end
 */
void rds_zrecord_exit(void)
{
	kmem_cache_destroy(zrecord_cache);
}
