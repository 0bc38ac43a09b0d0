// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a socket is charged for, in the terms of the kernel's sockets: memory
 * for data that come, from the moment when the socket has the connection, and
 * chunks of what it sends.  Both are charged in pages, to the memory cgroup of
 * the task that made the socket, and to the memory of all streams of the host,
 * which net.rds.stream.mem limits.  The backlog and the limit on connections
 * bound what a connection has before it is accepted.
 *
 * Lock: rds_ss_conn.lock guards rds_ss_conn.charged.  A socket whose attempt
 * failed may have two connections for a while, so rds_ss_sock.account (spin,
 * bh, a leaf) guards sk_forward_alloc, which is not 0 only while pages move.
 */
#include <linux/sizes.h>
#include <linux/swap.h>
#include <net/sock.h>

#include "conn.h"
#include "sock.h"

/*
 * net.rds.stream.mem: pages.  Above the first value a socket that has
 * rds_ss_mem_small bytes or more of a kind, to be sent or in all, gets no more
 * of it, above the last one none does.
 */
long rds_ss_mem_limits[3] __read_mostly;

atomic_long_t rds_ss_mem_pages;
DEFINE_PER_CPU(int, rds_ss_mem_pages_here);
int rds_ss_mem_small = SZ_32K;

/* Those of TCP: 3/32, 1/8 and 3/16 of the memory */
void rds_ss_account_init(void)
{
	unsigned long limit = max(nr_free_buffer_pages() / 8, 128UL);

	rds_ss_mem_limits[0] = limit / 4 * 3;
	rds_ss_mem_limits[1] = limit;
	rds_ss_mem_limits[2] = rds_ss_mem_limits[0] * 2;
}

static void forward_alloc_add(struct sock *sk, int bytes)
{
	WRITE_ONCE(sk->sk_forward_alloc, sk->sk_forward_alloc + bytes);
}

/*
 * Both kinds are charged as received: beyond all limits the kernel gives a
 * sender what fills its queue, up to sk_sndbuf, which it lowers for that.
 */
static bool charge_pages(struct rds_ss_sock *ss, int bytes)
{
	bool good = __sk_mem_schedule(&ss->sk, bytes, SK_MEM_RECV);

	if (good)
		forward_alloc_add(&ss->sk, -bytes);
	return good;
}

bool rds_ss_charge(struct rds_ss_conn *conn, u32 bytes, u32 has)
{
	struct rds_ss_sock *ss = rds_ss_sk(conn->sk);
	int more = PAGE_ALIGN(bytes);
	bool good;

	lockdep_assert_held(&conn->lock);
	spin_lock(&ss->account);
	/* The kernel compares it with rds_ss_mem_small. */
	atomic_set(&ss->sk.sk_rmem_alloc, has);
	good = charge_pages(ss, more);
	spin_unlock(&ss->account);
	if (good)
		conn->charged += more;
	return good;
}

void rds_ss_uncharge(struct rds_ss_conn *conn, u32 bytes)
{
	struct rds_ss_sock *ss = rds_ss_sk(conn->sk);
	int less = PAGE_ALIGN(bytes);

	lockdep_assert_held(&conn->lock);
	conn->charged -= less;
	spin_lock(&ss->account);
	forward_alloc_add(&ss->sk, less);
	__sk_mem_reclaim(&ss->sk, less);
	spin_unlock(&ss->account);
}
