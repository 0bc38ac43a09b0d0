// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The account of the memory of received messages, see rxmem.h. */
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/swap.h>
#include <net/sock.h>

#include "sock/rxmem.h"

/*
 * Largest memory of a queue that is charged.  The kernel counts it in an int.
 * Over RDMA, where nothing bounds a queue, messages above it are not charged.
 */
#define RXMEM_MAX	(SZ_1G + SZ_512M)

/*
 * net.rds.mem: pages of received messages of all sockets.  Above the first
 * value a queue of rds_rxmem_small bytes or more gets no more, above the last
 * one no queue does.  The second value has no meaning, as with UDP.
 */
long rds_rxmem_limits[3] __read_mostly;

atomic_long_t rds_rxmem_pages;
/* Differences to rds_rxmem_pages that the kernel keeps for each processor */
DEFINE_PER_CPU(int, rds_rxmem_pages_here);
/* A queue with less gets memory above the first limit. */
int rds_rxmem_small = SZ_64K;

/**
 * rds_rxmem_init - set the limits to those of UDP: 3/32, 1/8 and 3/16 of the
 * memory
 */
void rds_rxmem_init(void)
{
	unsigned long limit = max(nr_free_buffer_pages() / 8, 128UL);

	rds_rxmem_limits[0] = limit / 4 * 3;
	rds_rxmem_limits[1] = limit;
	rds_rxmem_limits[2] = rds_rxmem_limits[0] * 2;
}

/**
 * rds_rxmem_share - what one peer may have of it by default
 *
 * Return: a quarter of the first limit in bytes, at least 16 MiB, at most 256.
 */
unsigned long rds_rxmem_share(void)
{
	return clamp(READ_ONCE(rds_rxmem_limits[0]) / 4,
		     SZ_16M / (long)PAGE_SIZE, SZ_256M / (long)PAGE_SIZE) *
	       PAGE_SIZE;
}

static void forward_alloc_add(struct sock *sk, int bytes)
{
	WRITE_ONCE(sk->sk_forward_alloc, sk->sk_forward_alloc + bytes);
}

/**
 * rds_rxmem_raise - charge further pages to a socket
 * @rs: socket, not closed
 * @bytes: bytes that rds_sock.rx_spare shall have
 *
 * Context: rds_sock.rx_lock held.
 * Return: false if a limit does not allow it.
 */
bool rds_rxmem_raise(struct rds_sock *rs, int bytes)
{
	struct sock *sk = &rs->sk;
	int more;

	lockdep_assert_held(&rs->rx_lock);
	if (bytes <= rs->rx_spare)
		return true;
	more = PAGE_ALIGN(bytes - rs->rx_spare);
	if (rs->rx_raised > RXMEM_MAX - more)
		return false;
	/* The kernel compares it with rds_rxmem_small. */
	atomic_set(&sk->sk_rmem_alloc, rds_rxmem_used(rs));
	if (!__sk_mem_schedule(sk, more, SK_MEM_RECV))
		return false;
	forward_alloc_add(sk, -more);
	rs->rx_raised += more;
	rs->rx_spare += more;
	return true;
}

static void give_back(struct rds_sock *rs, int bytes)
{
	rs->rx_raised -= bytes;
	rs->rx_spare -= bytes;
	forward_alloc_add(&rs->sk, bytes);
	__sk_mem_reclaim(&rs->sk, bytes);
	atomic_set(&rs->sk.sk_rmem_alloc, rds_rxmem_used(rs));
}

/**
 * rds_rxmem_trim - give back pages that no message uses, but for one
 * @rs: socket
 *
 * A queue that is read at length keeps an eighth of what it still uses, too, so
 * that not each message gives something back.
 *
 * Context: rds_sock.rx_lock held.
 */
void rds_rxmem_trim(struct rds_sock *rs)
{
	int free = rs->rx_spare - PAGE_SIZE - rds_rxmem_used(rs) / 8;

	lockdep_assert_held(&rs->rx_lock);
	if (free >= (int)PAGE_SIZE)
		give_back(rs, free & PAGE_MASK);
}

/**
 * rds_rxmem_end - give back all that is charged to a closed socket
 * @rs: socket; its messages are off the queue, and none is queued any more
 *
 * Context: rds_sock.rx_lock held.
 */
void rds_rxmem_end(struct rds_sock *rs)
{
	struct sock *sk = &rs->sk;

	lockdep_assert_held(&rs->rx_lock);
	rs->rx_spare = rs->rx_raised;
	if (rs->rx_raised)
		give_back(rs, rs->rx_raised);
	/*
	 * Linux 6.1 allows SO_RESERVE_MEM for any socket with an account.  It
	 * may come while pages move, under another lock, and then leave less
	 * than nothing, which the kernel must not be asked to take back.
	 */
	if (sk->sk_forward_alloc > 0)
		__sk_mem_reclaim(sk, sk->sk_forward_alloc);
}
