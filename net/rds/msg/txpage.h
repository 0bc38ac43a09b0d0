/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reuse of the pages of outgoing messages.
 *
 * Messages are written to the page fragment of the sending task, one behind the
 * other.  When the page is full, the task's reference to it passes to the
 * socket, which remembers pages in the order in which they were filled.  The
 * oldest one becomes the next page of the task if only the socket refers to it
 * any more: no queue, no transport, no reader over loopback.  That saves the
 * allocation of a page and, where the kernel clears new pages (init_on_alloc),
 * clearing it, which costs half as much as copying the message.
 *
 * A socket remembers pages of twice its sk_sndbuf, which is four times the
 * payload that it may have under way, and of 512 KiB for messages that are kept
 * after that; at most RDS_TXPAGES of them.  Every
 * RDS_TXPAGES_HOLD it drops all beyond the number that it filled in that time.
 * Remembered pages may hold old messages, of which no byte is sent again: the
 * header of a message is written whole, and its payload copied, before either
 * is sent.
 *
 * Ownership: the ring has one reference to each of its pages.  The lock guards
 * `head`, `tail`, `seen`, `held` and the entries; the ring itself is allocated
 * once and freed with the socket.
 */
#ifndef _RDS_MSG_TXPAGE_H
#define _RDS_MSG_TXPAGE_H

#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#define RDS_TXPAGES		512U	/* entries of a ring; a power of two */
#define RDS_TXPAGES_HOLD	HZ

/**
 * struct rds_txpages - pages that a socket remembers
 * @lock: guards @head, @tail, @seen, @held and the entries of @ring
 * @head: number of pages remembered since the socket was created
 * @tail: number of pages taken out since then; the oldest page is at @tail, if
 *	it is not @head
 * @seen: @head at the last run of @work
 * @held: @work is scheduled
 * @ring: RDS_TXPAGES entries, indexed by count; NULL until the first page is
 *	full
 * @sndbuf: sk_sndbuf of the socket, twice the bytes that may be under way
 * @work: drops pages that were not needed in the last RDS_TXPAGES_HOLD
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
 * rds_txpages_init - prepare the pages of a socket
 * @p: pages, zeroed
 * @sndbuf: sk_sndbuf of the socket, read whenever a page is full
 */
void rds_txpages_init(struct rds_txpages *p, const int *sndbuf);

/**
 * rds_txpages_end - drop all pages
 * @p: pages of a socket from which no task sends any more
 *
 * Context: process; sleeps.
 */
void rds_txpages_end(struct rds_txpages *p);

/**
 * rds_txpages_refill - make room in the page fragment of the task
 * @p: pages of the sending socket
 * @frag: &current->task_frag
 * @want: bytes needed in one piece, at most PAGE_SIZE
 * @gfp: GFP_KERNEL_ACCOUNT in a system call: the cgroup of the task that
 *	allocates a page is charged for it, whoever uses the page later
 *
 * Context: process.
 * Return: false without memory.
 */
bool rds_txpages_refill(struct rds_txpages *p, struct page_frag *frag,
			size_t want, gfp_t gfp);

#endif
