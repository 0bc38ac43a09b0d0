/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages of outgoing messages, used again.
 *
 * Messages are written to the page fragment of the sending task, one behind the other.  When its
 * page is full, the task's reference of it passes to the socket, which remembers the pages in the
 * order in which they were filled.  The oldest is the task's next one if nobody else refers to it
 * any more: not a queue, not a transport, not a reader over loopback.  That spares getting a page
 * and, where the kernel clears what it gives (init_on_alloc), clearing it, which costs half as
 * much as copying the message.
 *
 * A socket remembers twice what its send buffer lets it have under way at most, and every
 * RDS_TXPAGES_HOLD forgets all beyond the pages that it filled in that time.  What it remembers
 * may hold old messages, of which nothing ever leaves: a message's header is written whole and its
 * payload copied before either is sent.
 *
 * Ownership: one reference for each page of the ring.  The lock guards head, tail, seen, held and
 * the entries; the ring itself is made once and goes with the socket.
 */
#ifndef _RDS_MSG_TXPAGE_H
#define _RDS_MSG_TXPAGE_H

#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#define RDS_TXPAGES		512U	/* most that are remembered; a power of two */
#define RDS_TXPAGES_HOLD	HZ

/**
 * struct rds_txpages - the pages that a socket remembers
 * @lock: guards the following
 * @head: pages remembered so far
 * @tail: the oldest that still is
 * @seen: @head when @work last looked
 * @held: @work runs, or will
 * @ring: RDS_TXPAGES of them; made when the first page is full
 * @sndbuf: bytes that may be under way, the socket's sk_sndbuf
 * @work: forgets those that are not needed
 */
struct rds_txpages {
	spinlock_t		lock;
	unsigned int		head;
	unsigned int		tail;
	unsigned int		seen;
	bool			held;
	struct page		**ring;
	const int		*sndbuf;
	struct delayed_work	work;
};

/**
 * rds_txpages_init - prepare
 * @p: zeroed
 * @sndbuf: read whenever a page is full
 */
void rds_txpages_init(struct rds_txpages *p, const int *sndbuf);

/**
 * rds_txpages_end - let go of everything
 * @p: of a socket that nobody sends from any more
 *
 * Context: process; sleeps.
 */
void rds_txpages_end(struct rds_txpages *p);

/**
 * rds_txpages_refill - make room in the task's fragment
 * @p: of the sending socket
 * @frag: &current->task_frag
 * @want: bytes that are needed in one piece, at most PAGE_SIZE
 * @gfp: GFP_KERNEL in a system call
 *
 * Context: process.
 * Return: false without memory.
 */
bool rds_txpages_refill(struct rds_txpages *p, struct page_frag *frag, size_t want, gfp_t gfp);

#endif
