// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDS_INFO_*: snapshots read by getsockopt.
 *
 * A snapshot is made in kernel memory and copied to the program when all locks
 * are dropped.  The records are emitted once to count them, and once more to
 * keep them.  If there are more records by then, they are emitted again into a
 * larger buffer, up to INFO_TRIES times.
 *
 * A snapshot takes the locks of what it shows in turns, so that it may be of
 * several moments, but has all that was there all the time, once; except that
 * a message may be missing that moves to another path meanwhile, and two
 * readers who put messages back in another order can make one come twice.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rds.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/rds/transport.h>

#include "ctl/ctl.h"
#include "ctl/info.h"
#include "ctl/internal.h"
#include "netns.h"

#define INFO_TRIES	4
/* Bytes that are copied to the program at once */
#define INFO_COPY	SZ_64K

/**
 * struct rds_info_sink - buffer for the records of one snapshot
 * @size: bytes of one record
 * @buf: the buffer, or NULL while records are counted only
 * @room: bytes of @buf
 * @total: bytes of all records
 * @fits: bytes of complete groups at the start of @buf, which are copied to the
 *	program even if not all records fit
 * @each: every record is a group
 */
struct rds_info_sink {
	size_t	size;
	u8	*buf;
	size_t	room;
	size_t	total;
	size_t	fits;
	bool	each;
};

/*
 * Held for reading during a snapshot: after rds_info_unregister() no function
 * is running.
 */
static DECLARE_RWSEM(info_sem);

static struct {
	size_t		size;
	rds_info_fn	fn;
} info_kinds[RDS_INFO_LAST - RDS_INFO_FIRST + 1];

void rds_info_register(int optname, size_t size, rds_info_fn fn)
{
	down_write(&info_sem);
	info_kinds[optname - RDS_INFO_FIRST].size = size;
	info_kinds[optname - RDS_INFO_FIRST].fn = fn;
	up_write(&info_sem);
}
EXPORT_SYMBOL_NS_GPL(rds_info_register, RDS_NS);

void rds_info_unregister(int optname)
{
	down_write(&info_sem);
	info_kinds[optname - RDS_INFO_FIRST].fn = NULL;
	up_write(&info_sem);
}
EXPORT_SYMBOL_NS_GPL(rds_info_unregister, RDS_NS);

/**
 * rds_info_mark - end a group of records
 * @sink: snapshot; without room for all records, complete groups are copied to
 *	the program
 */
void rds_info_mark(struct rds_info_sink *sink)
{
	if (sink->total <= sink->room)
		sink->fits = sink->total;
}

void rds_info_put(struct rds_info_sink *sink, const void *record)
{
	if (sink->total + sink->size <= sink->room)
		memcpy(sink->buf + sink->total, record, sink->size);
	sink->total += sink->size;
	if (sink->each)
		rds_info_mark(sink);
}
EXPORT_SYMBOL_NS_GPL(rds_info_put, RDS_NS);

/*
 * With too little room, as many connections and messages are copied as fit,
 * counters by group, and other records not at all.
 */
static bool info_each(int optname)
{
	switch (optname) {
	case RDS_INFO_CONNECTIONS:
	case RDS_INFO_SEND_MESSAGES:
	case RDS_INFO_RETRANS_MESSAGES:
	case RDS_INFO_RECV_MESSAGES:
	case RDS_INFO_IB_CONNECTIONS:
	case RDS6_INFO_CONNECTIONS:
	case RDS6_INFO_SEND_MESSAGES:
	case RDS6_INFO_RETRANS_MESSAGES:
	case RDS6_INFO_RECV_MESSAGES:
	case RDS6_INFO_IB_CONNECTIONS:
		return true;
	}
	return false;
}

/* One walk at a time: they are under way in few places then. */
static int info_run(struct net *net, struct rds_info_sink *sink,
		    rds_info_fn fn)
{
	struct rds_net *rn = rds_net(net);

	sink->total = 0;
	sink->fits = 0;
	if (mutex_lock_killable(&rn->info_lock))
		return -EINTR;
	fn(net, sink);
	mutex_unlock(&rn->info_lock);
	/* All records together are a group too, also if there are none. */
	rds_info_mark(sink);
	return 0;
}

/*
 * Make a snapshot of at most @len bytes.  The caller frees the buffer, also
 * after a failure.
 */
static int info_snapshot(struct net *net, struct rds_info_sink *sink,
			 rds_info_fn fn, size_t len)
{
	int ret = info_run(net, sink, fn);
	unsigned int i;

	for (i = 0; !ret && i < INFO_TRIES; i++) {
		size_t want = min(len, sink->total + (i ? sink->total / 4 : 0));

		if (want <= sink->room)
			return 0;
		kvfree(sink->buf);
		sink->room = 0;
		sink->buf = kvmalloc(want, GFP_KERNEL_ACCOUNT);
		if (!sink->buf)
			return -ENOMEM;
		sink->room = want;
		ret = info_run(net, sink, fn);
		if (sink->total <= sink->room)
			break;
	}
	return ret;
}

static int info_make(struct net *net, struct rds_info_sink *sink, int optname,
		     size_t len)
{
	rds_info_fn fn = info_kinds[optname - RDS_INFO_FIRST].fn;

	lockdep_assert_held_read(&info_sem);
	if (!fn)
		return -ENOPROTOOPT;
	sink->size = info_kinds[optname - RDS_INFO_FIRST].size;
	return info_snapshot(net, sink, fn, len);
}

/* A copy of some MiB takes so long that others should run meanwhile. */
static int info_copy_records(const struct rds_info_sink *sink,
			     char __user *optval)
{
	size_t done, n;

	for (done = 0; done < sink->fits; done += n) {
		n = min_t(size_t, sink->fits - done, INFO_COPY);
		if (copy_to_user(optval + done, sink->buf + done, n))
			return -EFAULT;
		cond_resched();
	}
	return 0;
}

static int info_copy(const struct rds_info_sink *sink, char __user *optval,
		     int __user *optlen)
{
	if (info_copy_records(sink, optval))
		return -EFAULT;
	if (put_user((int)sink->total, optlen))
		return -EFAULT;
	return sink->fits == sink->total ? (int)sink->size : -ENOSPC;
}

/**
 * rds_info_getsockopt - getsockopt of RDS_INFO_FIRST to RDS_INFO_LAST
 * @net: namespace
 * @optname: option in that range
 * @optval: user buffer for the records
 * @optlen: user address, set to the bytes of all records, also if they do not
 *	fit
 * @len: bytes of @optval
 *
 * Context: process, may sleep.
 * Return: bytes of one record; -ENOSPC: not all records fit; -EINVAL: bad @len;
 * -ENOPROTOOPT: no such snapshot; -EINTR: the process is killed; -EFAULT;
 * -ENOMEM.
 */
int rds_info_getsockopt(struct net *net, int optname, char __user *optval,
			int __user *optlen, int len)
{
	struct rds_info_sink sink = { .each = info_each(optname) };
	int ret;

	if (len < 0 || len > INT_MAX - PAGE_SIZE + 1)
		return -EINVAL;
	down_read(&info_sem);
	ret = info_make(net, &sink, optname, len);
	up_read(&info_sem);
	if (!ret)
		ret = info_copy(&sink, optval, optlen);
	kvfree(sink.buf);
	return ret;
}

/**
 * rds_ctl_init - register the snapshots of the core, as the module is loaded
 *
 * Return: 0.
 */
int rds_ctl_init(void)
{
	rds_info_register(RDS_INFO_COUNTERS, sizeof(struct rds_info_counter),
			  rds_stats_dump);
	rds_info_dump_init();
	return 0;
}

/**
 * rds_ctl_exit - unregister the snapshots of the core, as the module is
 * unloaded
 */
void rds_ctl_exit(void)
{
	rds_info_dump_exit();
	rds_info_unregister(RDS_INFO_COUNTERS);
}

/**
 * rds_ctl_net_init - make the settings and files of a namespace
 * @rn: namespace
 *
 * Return: 0 or -ENOMEM.
 */
int rds_ctl_net_init(struct rds_net *rn)
{
	int err = rds_sysctl_net_init(rn);

	if (err)
		return err;
	err = rds_proc_net_init(rn);
	if (err)
		rds_sysctl_net_exit(rn);
	return err;
}

/**
 * rds_ctl_net_exit - remove the settings and files of a namespace
 * @rn: namespace; no handler of a file runs on return
 */
void rds_ctl_net_exit(struct rds_net *rn)
{
	rds_proc_net_exit(rn);
	rds_sysctl_net_exit(rn);
}
