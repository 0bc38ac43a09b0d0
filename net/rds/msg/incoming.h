/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A message that arrived.
 *
 * Owned by whoever holds the pointer: the transport that fills it, then the receive queue of a
 * socket, then the reader that took it off.  A reader that only peeks takes a reference; the
 * payload does not change any more then.  Nothing in it refers to a transport, path or
 * connection, so it outlives them.
 */
#ifndef _RDS_MSG_INCOMING_H
#define _RDS_MSG_INCOMING_H

#include <linux/bvec.h>
#include <linux/in6.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/uio.h>

#include <net/rds/rx.h>

/* Payload up to here is kept inside the object itself. */
#define RDS_INC_INLINE		128

enum rds_inc_form {
	RDS_INC_BUFFER,		/* one buffer: inline or kmalloc'ed */
	RDS_INC_SKBS,		/* ranges of socket buffers */
	RDS_INC_PAGES,		/* page fragments */
};

/**
 * struct rds_incoming - one received message
 * @list: receive queue
 * @refs: the queue's reference, and those of peeking readers
 * @len: payload bytes
 * @sport: sender's RDS port, wire order
 * @dport: receiver's RDS port, wire order
 * @saddr: sender's address
 * @daddr: receiver's address
 * @cookie: of an RDMA_DEST extension, 0 if there was none
 * @seq: its number, for dumps
 * @tstamp: wall clock at queueing, 0 unless somebody wants it
 * @trace: points 0 to 2 of the latency trace, in ns of the local clock; only with tracing on
 * @form: where the payload is
 * @nr: entries of @bv
 * @max: room in @bv
 * @filled: payload bytes there are so far, for the forms that are appended to
 * @buf: RDS_INC_BUFFER
 * @skbs: RDS_INC_SKBS, linked by next; the range in each is in its cb
 * @last: end of that list
 * @bv: RDS_INC_PAGES
 * @inl: short payload, or the first entries of @bv
 */
struct rds_incoming {
	struct list_head	list;
	refcount_t		refs;
	u32			len;
	__be16			sport;
	__be16			dport;
	u8			form;
	u16			nr;
	u16			max;
	u32			filled;
	struct in6_addr		saddr;
	struct in6_addr		daddr;
	u64			cookie;
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

/* What rds_rx_alloc() does, without a path to count for. */
struct rds_incoming *rds_inc_alloc(u32 len, bool linear, gfp_t gfp);

/**
 * rds_inc_copy - copy payload out
 * @inc: the message
 * @to: where to; its count bounds the copy
 *
 * Context: process.
 * Return: bytes copied, or -EFAULT with @to in an undefined place and @inc as it was.
 */
ssize_t rds_inc_copy(struct rds_incoming *inc, struct iov_iter *to);

/* Give up one reference; the last one frees. */
void rds_inc_put(struct rds_incoming *inc);

/* Bytes of the buffer of a message with one, for the core's own reading (maps) */
static inline const u8 *rds_inc_data(const struct rds_incoming *inc)
{
	return inc->form == RDS_INC_BUFFER ? inc->buf : NULL;
}

int rds_incoming_init(void);
void rds_incoming_exit(void);

#endif
