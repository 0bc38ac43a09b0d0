/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a transport delivers received messages to the core.
 *
 *	rds_rx_begin(&batch, path);
 *	for each message:
 *		inc = rds_rx_alloc(path, len, linear, gfp); fill it:
 *		rds_rx_buffer() or rds_rx_add_skb() or rds_rx_add_page()
 *		rds_rx_deliver(&batch, inc, header);
 *	rds_rx_end(&batch);
 *
 * A batch lives on the stack of one context.  The transport delivers the
 * messages of one path in their order and from one context at a time; the lock
 * of a TCP socket or a completion queue does so.  All functions may run in
 * softirq or process context, with bottom halves off or on.  Between
 * rds_rx_begin() and rds_rx_end() the transport must not sleep.
 */
#ifndef _NET_RDS_RX_H
#define _NET_RDS_RX_H

#include <linux/types.h>

#include <net/rds/wire.h>

struct page;
struct rds_incoming;
struct rds_path;
struct rds_sock;
struct sk_buff;

/*
 * Default of rds_transport.rx_copy_max.  Payload of up to this number of bytes
 * is copied to a buffer of the message; longer payload is referenced.
 */
#define RDS_RX_COPY_MAX		2048

/*
 * Largest number of sockets that rds_rx_end() wakes; a further one is woken
 * with its message.
 */
#define RDS_RX_BATCH_WAKE	8

/**
 * struct rds_rx_batch - state of one run of received messages
 * @path: path of the messages
 * @acked: position that rds_rx_acked() reported, 0 once it is applied
 * @held: see rds_rx_is_held()
 * @again: the peer repeats what is not delivered
 * @nr_wake: number of entries of @wake
 * @wake: sockets that got messages; rds_rx_end() wakes each of them once
 *
 * Only the core uses the fields; a transport passes the pointer on.
 */
struct rds_rx_batch {
	struct rds_path		*path;
	u64			acked;
	bool			held;
	bool			again;
	unsigned int		nr_wake;
	struct rds_sock		*wake[RDS_RX_BATCH_WAKE];
};

void rds_rx_begin(struct rds_rx_batch *batch, struct rds_path *path);
void rds_rx_end(struct rds_rx_batch *batch);

/**
 * rds_rx_is_held - must the path wait for the reader of a full socket?
 * @batch: open batch of a transport with RDS_CAP_RX_HOLDS
 * @last: the connection ends, and this is the last batch: only what the peer
 *	repeats may be left
 *
 * Such a transport looks after rds_rx_begin() and after each message.  If the
 * path must wait the transport leaves what follows where it is, in order that
 * the peer cannot send any more in the end, and begins another batch some
 * milliseconds later.
 *
 * Return: whether the path must wait.
 */
static inline bool rds_rx_is_held(const struct rds_rx_batch *batch, bool last)
{
	return batch->held && (!last || batch->again);
}

/**
 * rds_rx_acked - report a position that the peer has acknowledged ahead of the
 * messages of a batch
 * @batch: open batch that has no message yet
 * @pos: as for rds_path_acked(), whose place this takes
 *
 * The core applies the position together with an acknowledgement of the peer's
 * core in one of the messages, at the latest at rds_rx_end().  A transport that
 * always reports what came with received bytes in this way may leave positions
 * up to rds_tx_batch.quiet to the next report.
 */
static inline void rds_rx_acked(struct rds_rx_batch *batch, u64 pos)
{
	batch->acked = pos;
}

/**
 * rds_rx_alloc - allocate a message that the transport fills
 * @path: path over which the message came
 * @len: payload bytes, at most RDS_MAX_MSG_SIZE
 * @linear: the payload must be in one buffer, whatever its length (congestion
 *	maps)
 * @gfp: GFP_ATOMIC in softirq
 *
 * Return: the message, owned by the caller until rds_rx_deliver() or
 * rds_rx_free(); NULL without memory.  The transport then calls rds_drop() if
 * the message is dropped, rds_path_lost() if the path is closed, or
 * rds_rx_delayed() if the bytes are processed later.
 */
struct rds_incoming *rds_rx_alloc(struct rds_path *path, u32 len, bool linear,
				  gfp_t gfp);

/**
 * rds_rx_delayed - count a delay of received bytes, which are processed when
 * there is memory
 * @path: path of the bytes
 *
 * Context: any but hard interrupts.
 */
void rds_rx_delayed(struct rds_path *path);

/**
 * rds_rx_free - free a message that was not delivered
 * @inc: message or NULL
 */
void rds_rx_free(struct rds_incoming *inc);

/**
 * rds_rx_buffer - get the buffer for the payload
 * @inc: message
 *
 * Return: buffer of as many bytes as rds_rx_alloc() was called for, or NULL if
 * the transport has to append the payload by rds_rx_add_skb() or
 * rds_rx_add_page().
 */
void *rds_rx_buffer(struct rds_incoming *inc);

/**
 * rds_rx_add_skb - append a range of a socket buffer to the payload
 * @inc: message without a buffer
 * @skb: source; the message keeps a clone of it, or a copy of a short range,
 *	which takes less memory
 * @off: offset of the range in @skb
 * @len: bytes of the range
 * @gfp: flags to allocate the clone with
 *
 * Return: true; or false without memory, and nothing is appended.
 */
bool rds_rx_add_skb(struct rds_incoming *inc, struct sk_buff *skb,
		    unsigned int off, unsigned int len, gfp_t gfp);

/**
 * rds_rx_copy_skb - append a copy of a range of a socket buffer to the payload
 * @inc: message without a buffer
 * @skb: source, in which others may change the range
 * @off: offset of the range in @skb
 * @len: bytes of the range
 * @gfp: flags to allocate the copy with
 *
 * Return: true; or false without memory, and nothing is appended.
 */
bool rds_rx_copy_skb(struct rds_incoming *inc, const struct sk_buff *skb,
		     unsigned int off, unsigned int len, gfp_t gfp);

/**
 * rds_rx_add_page - append a page fragment to the payload
 * @inc: message without a buffer
 * @page: page; the message takes over one reference of the caller
 * @off: offset of the fragment in @page
 * @len: bytes of the fragment
 * @truesize: bytes of memory that the message holds by its reference: @len if
 *	others use the rest of the page, else all of the page
 *
 * Return: true; or false without memory, and the caller keeps the reference.
 */
bool rds_rx_add_page(struct rds_incoming *inc, struct page *page,
		     unsigned int off, unsigned int len, u32 truesize);

/**
 * rds_rx_deliver - deliver a complete message
 * @batch: open batch of the message's path
 * @inc: filled message; owned by the core from here on
 * @hdr: header of the message, checked by the transport as far as its wire
 *	format requires; not used after the return
 *
 * Duplicates, probes, handshakes, congestion maps, and messages without a
 * receiver are handled and counted inside.
 */
void rds_rx_deliver(struct rds_rx_batch *batch, struct rds_incoming *inc,
		    const struct rds_wire_header *hdr);

#endif
