/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A received message.
 *
 * Ownership: the transport that fills a message owns it, then the receive queue
 * of a socket, then the reader that dequeued it.  A reader that peeks takes a
 * reference to a queued message, whose payload does not change any more.  A
 * message refers to no transport, path or connection, so it may outlive them;
 * the count of its peer (msg/rxpeer.h) lives as long as the message.
 */
#ifndef _RDS_MSG_INCOMING_H
#define _RDS_MSG_INCOMING_H

#include <linux/bvec.h>
#include <linux/in6.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/uio.h>

#include <net/rds/rx.h>

/* Longest payload, in bytes, that is stored inside struct rds_incoming */
#define RDS_INC_INLINE		128

struct rds_rx_peer;

enum rds_inc_form {
	RDS_INC_BUFFER,		/* one buffer: inline or kmalloc'ed */
	RDS_INC_SKBS,		/* ranges of socket buffers */
	RDS_INC_PAGES,		/* page fragments */
};

/**
 * struct rds_incoming - one received message
 * @list: entry in the receive queue
 * @spent: entry in a list of rds_inc_put_later(), instead of @list
 * @refs: one reference of the owner, and one of each reader that peeks
 * @len: payload bytes
 * @sport: sender's RDS port, wire order
 * @dport: receiver's RDS port, wire order
 * @saddr: sender's address
 * @daddr: receiver's address
 * @cookie: value of the RDMA_DEST extension, 0 if the message has none
 * @peer: count of the sender's host that has the message, see msg/rxpeer.h, or
 *	NULL
 * @seq: number of the message on its path, for dumps
 * @tstamp: wall clock when the message was queued, 0 unless the socket had
 *	SOCK_RCVTSTAMP
 * @trace: stamps 0 to 2 of the latency trace, in ns of local_clock().  The
 *	first is 0 if no socket traced when the message was allocated, and the
 *	others are not valid then; the last is 0 if no socket traced when the
 *	message was queued
 * @form: enum rds_inc_form: where the payload is
 * @tidy: the reader that dequeued the message calls rds_inc_free_spent() when
 *	it is done
 * @charged: @truesize is charged to the socket that has queued the message, see
 *	sock/rxmem.h; written under rds_sock.rx_lock
 * @nr: used entries of @bv
 * @max: allocated entries of @bv
 * @filled: payload bytes that were appended as socket buffers or pages
 * @truesize: bytes of memory that the message holds.  Of a page or a socket
 *	buffer that several messages share its part counts, although each keeps
 *	the whole
 * @excess: bytes of the socket buffers that are not in @truesize.  The message
 *	alone keeps them if the others that share the buffers are gone
 * @buf: payload, if @form is RDS_INC_BUFFER
 * @skbs: socket buffers, if @form is RDS_INC_SKBS; linked by next, with the
 *	range of each in its cb
 * @last: last of @skbs
 * @bv: page fragments, each with a page reference, if @form is RDS_INC_PAGES
 * @inl: short payload, or the first entries of @bv
 */
struct rds_incoming {
	union {
		struct list_head	list;
		struct llist_node	spent;
	};
	refcount_t		refs;
	u32			len;
	__be16			sport;
	__be16			dport;
	u8			form;
	u8			tidy : 1,
				charged : 1;
	u16			nr;
	u16			max;
	u32			filled;
	u32			truesize;
	u32			excess;
	struct in6_addr		saddr;
	struct in6_addr		daddr;
	u64			cookie;
	struct rds_rx_peer	*peer;
	u64			seq;
	ktime_t			tstamp;
	u64			trace[3];
	union {
		void			*buf;
		struct {
			struct sk_buff	*skbs;
			struct sk_buff	*last;
		};
		struct bio_vec		*bv;
	};
	u8			inl[RDS_INC_INLINE] __aligned(8);
};

/*
 * Allocate a message as rds_rx_alloc() does, but without the transport's limit
 * and the trace.
 */
struct rds_incoming *rds_inc_alloc(u32 len, bool linear, gfp_t gfp);

/**
 * rds_inc_copy - copy the payload to user memory
 * @inc: message
 * @to: destination; its count limits the copy
 *
 * Context: process.
 * Return: bytes copied; or -EFAULT, with @to advanced by an undefined amount
 * and @inc unchanged.
 */
ssize_t rds_inc_copy(struct rds_incoming *inc, struct iov_iter *to);

/**
 * rds_inc_own - copy what the message shares, so that it has no excess
 * @inc: message that nobody else can see yet
 * @gfp: flags to allocate the copies with
 *
 * What there is no memory for stays shared, and its excess counts in truesize.
 *
 * Context: that of @gfp.
 */
void rds_inc_own(struct rds_incoming *inc, gfp_t gfp);

/* Drop one reference; the last one frees the message. */
void rds_inc_put(struct rds_incoming *inc);

/* Messages on the list of rds_inc_put_later(), for one rds_inc_free_spent() */
#define RDS_INC_SPENT		32

/*
 * As rds_inc_put(), but the memory of the message itself is given back by
 * rds_inc_free_spent(), which costs less for many than for each.  No lock.
 */
void rds_inc_put_later(struct rds_incoming *inc, struct llist_head *spent);
void rds_inc_free_spent(struct llist_head *spent);

/*
 * Payload of a message in one buffer, for the core (congestion maps); NULL for
 * other forms
 */
static inline const u8 *rds_inc_data(const struct rds_incoming *inc)
{
	return inc->form == RDS_INC_BUFFER ? inc->buf : NULL;
}

int rds_incoming_init(void);
void rds_incoming_exit(void);

#endif
