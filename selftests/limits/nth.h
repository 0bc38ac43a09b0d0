/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rds-failnth: makes the n-th allocation or user copy of a call fail, for each
 * n, and checks what the call returns and leaves behind.
 */
#ifndef SELFTESTS_NTH_H
#define SELFTESTS_NTH_H

#include "rdstest.h"

/* Time for a message to come, in milliseconds */
#define NTH_PATIENCE	20000

/**
 * struct nth_call - a call that is to be made to fail
 * @what: name for reports
 * @before: set up what the call needs, or NULL
 * @call: the call; returns what the system call did, or -errno
 * @undone: check that a failed call has changed nothing, or NULL
 * @after: check that the call has done all, once, and undo it, or NULL
 * @more: another errno that tells of a lack of memory, or 0
 * @every: the call is made again, without a fault, after every @every-th call
 *	that failed; 0 is 1. Until then the same @before holds for further calls
 */
struct nth_call {
	const char	*what;
	void		(*before)(void *arg);
	long		(*call)(void *arg);
	void		(*undone)(void *arg);
	void		(*after)(void *arg);
	int		more;
	unsigned int	every;
};

/** nth_prepare() - let every kind of allocation and user copy fail */
void nth_prepare(void);

/**
 * nth_every() - make a call with the n-th allocation or copy failing, for each n
 * @c: the call
 * @arg: argument of its functions
 */
void nth_every(const struct nth_call *c, void *arg);

/**
 * nth_range() - as nth_every(), for each n from @from to @to
 *
 * No longer than to the first n that the call does not reach.
 */
void nth_range(const struct nth_call *c, void *arg, unsigned int from,
	       unsigned int to);

/** nth_slabs_only() - let no allocation of pages fail, nor count it */
void nth_slabs_only(void);

/**
 * nth_small_only() - of objects let only those of kmalloc() up to 512 bytes fail
 *
 * Those of caches, among them socket buffers, do not fail and are not counted.
 */
void nth_small_only(void);

/** nth_arm() - let the @n-th allocation or user copy of this task fail */
void nth_arm(unsigned int n);

/** nth_disarm() - stop that; true if the n-th was reached and failed */
bool nth_disarm(void);

/* A number of allocations that no call reaches */
#define NTH_MOST	1000000

/**
 * nth_left() - stop that, and count
 *
 * Return: number of allocations and copies that were left to the n-th.
 */
unsigned int nth_left(void);

/* Kworkers: all, and those that are not bound to a processor */
#define NTH_KWORKERS	"kworker/"
#define NTH_UNBOUND	"kworker/u"

/**
 * nth_kworkers() - let the @n-th allocation of each kworker fail
 * @name: what their names begin with
 * @n: the number, 0 to stop
 *
 * Return: number of kworkers of which an allocation has failed since the last
 * call.
 */
unsigned int nth_kworkers(const char *name, unsigned int n);

/**
 * nth_anywhere() - let one allocation of any task or interrupt fail
 * @bytes: bytes allocated before it
 */
void nth_anywhere(unsigned int bytes);

/** nth_anywhere_end() - stop that; true if an allocation failed */
bool nth_anywhere_end(void);

/** nth_point() - count one place that was made to fail */
void nth_point(void);

/** nth_wrong() - record what was wrong; the first text is kept for the result */
__attribute__((format(printf, 1, 2)))
void nth_wrong(const char *fmt, ...);

/**
 * nth_result() - print the result of a group
 * @group: the result is named failnth.@group
 * @least: number of points without which the group has tested nothing
 */
void nth_result(const char *group, unsigned int least);

/** nth_lack() - is @err an errno by which a call may report an injected fault? */
bool nth_lack(long err);

/* ---- groups in other files */

/**
 * struct nth_link - a socket that sends, and one that receives
 * @tx: sender
 * @rx: receiver
 * @to: address of @rx
 */
struct nth_link {
	int		tx;
	int		rx;
	union addr	to;
};

/** nth_come() - receive message @seq of @len bytes at @fd, and no other one */
void nth_come(int fd, size_t len, unsigned int seq);

/** nth_wait() - wait for a message at @fd, and let it stay there */
void nth_wait(int fd);

/**
 * nth_in() - a socket with large buffers, whose calls wait for NTH_PATIENCE
 * @ns: its namespace
 * @host: address that it is bound to
 * @port: port, too
 * @trans: RDS_TRANS_TCP for TCP on loopback, or RDS_TRANS_NONE
 */
int nth_in(const char *ns, const char *host, uint16_t port, int trans);

/** nth_messages() - groups of sendmsg() and recvmsg() */
void nth_messages(struct nth_link *tcp, struct nth_link *lo);

/** nth_files() - groups of files in /proc */
void nth_files(void);

/** nth_paths() - groups of connections, which other tasks open as well */
void nth_paths(struct nth_link *tcp);

#endif
