/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rxmem.c: the account of the memory of received messages, in the terms of the
 * kernel's sockets.
 *
 * A message that is queued at a socket whose senders may be on other hosts is
 * charged to it: to the memory cgroup of the task that made the socket, and to
 * the memory of all RDS sockets of the host, which net.rds.mem limits.  Both
 * are charged in pages.  rds_sock.rx_raised has the bytes that are charged,
 * and rds_sock.rx_spare those of them that no message uses.
 * rds_sock.rx_lock guards the two, and rds_incoming.charged of a queued
 * message.  Of the kernel's own fields sk_forward_alloc is not 0 only while
 * pages move, and sk_rmem_alloc has what is used as of the last time.
 *
 * A message of a loopback address is charged to the cgroup of its sender by the
 * allocator, and not here.
 */
#ifndef _RDS_SOCK_RXMEM_H
#define _RDS_SOCK_RXMEM_H

#include <linux/lockdep.h>
#include <linux/percpu.h>

#include "msg/incoming.h"
#include "sock/state.h"

extern long rds_rxmem_limits[3];
extern atomic_long_t rds_rxmem_pages;
DECLARE_PER_CPU(int, rds_rxmem_pages_here);
extern int rds_rxmem_small;

void rds_rxmem_init(void);
unsigned long rds_rxmem_share(void);
bool rds_rxmem_raise(struct rds_sock *rs, int bytes);
void rds_rxmem_trim(struct rds_sock *rs);
void rds_rxmem_end(struct rds_sock *rs);

/* Bytes of memory of the queued messages that are charged */
static inline int rds_rxmem_used(const struct rds_sock *rs)
{
	lockdep_assert_held(&rs->rx_lock);
	return rs->rx_raised - rs->rx_spare;
}

/**
 * rds_rxmem_charge - charge a message to a socket that is about to queue it
 * @rs: socket
 * @inc: message; its field charged is set
 *
 * Context: rds_sock.rx_lock held.
 * Return: false if a limit does not allow it.  The caller may queue the message
 * all the same.
 */
static inline bool rds_rxmem_charge(struct rds_sock *rs,
				    struct rds_incoming *inc)
{
	int bytes = inc->truesize;

	lockdep_assert_held(&rs->rx_lock);
	inc->charged = false;
	if (rs->local_only)
		return true;
	if (bytes > rs->rx_spare && !rds_rxmem_raise(rs, bytes))
		return false;
	rs->rx_spare -= bytes;
	inc->charged = true;
	return true;
}

/**
 * rds_rxmem_uncharge - take back the charge of a message, if it has one
 * @rs: socket
 * @inc: message, which is not queued any more
 *
 * Context: rds_sock.rx_lock held.
 */
static inline void rds_rxmem_uncharge(struct rds_sock *rs,
				      struct rds_incoming *inc)
{
	lockdep_assert_held(&rs->rx_lock);
	if (inc->charged)
		rs->rx_spare += inc->truesize;
	inc->charged = false;
	if (rs->rx_spare >= 2 * (int)PAGE_SIZE)
		rds_rxmem_trim(rs);
}

#endif
