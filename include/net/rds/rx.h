/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a transport hands in what it received.
 *
 *	rds_rx_begin(&batch, path);
 *	for each message:
 *		inc = rds_rx_alloc(path, len, gfp);
 *		fill it: rds_rx_buffer() or rds_rx_add_skb() or rds_rx_add_page()
 *		rds_rx_deliver(&batch, inc, header);
 *	rds_rx_end(&batch);
 *
 * A batch lives on the stack of one context.  The messages of one path are delivered in their
 * order and by one context at a time; the transport sees to that (the socket lock, a completion
 * queue).  All of it may run in softirq or process context with bottom halves off or on, but
 * rds_rx_begin() to rds_rx_end() does not sleep.
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
 * Payload up to here is copied to a buffer of the message's own, the rest is referenced, unless
 * the transport says otherwise (rds_transport.rx_copy_max).
 */
#define RDS_RX_COPY_MAX		2048

#define RDS_RX_BATCH_WAKE	8

/**
 * struct rds_rx_batch - what is gathered over one run of received messages
 * @path: where they came from
 * @nr_wake: entries of @wake
 * @wake: sockets that got a message and are woken once, by rds_rx_end()
 *
 * The core's; a transport only passes it on.
 */
struct rds_rx_batch {
	struct rds_path		*path;
	unsigned int		nr_wake;
	struct rds_sock		*wake[RDS_RX_BATCH_WAKE];
};

void rds_rx_begin(struct rds_rx_batch *batch, struct rds_path *path);
void rds_rx_end(struct rds_rx_batch *batch);

/**
 * rds_rx_alloc - a message to be filled
 * @path: where it comes from
 * @len: payload bytes, at most RDS_MAX_MSG_SIZE
 * @linear: the payload must be in one buffer, however long it is (congestion maps)
 * @gfp: GFP_ATOMIC in softirq
 *
 * Return: the message, the caller's until rds_rx_deliver() or rds_rx_free(); NULL without
 * memory.
 */
struct rds_incoming *rds_rx_alloc(struct rds_path *path, u32 len, bool linear, gfp_t gfp);

/**
 * rds_rx_free - give up a message that was not delivered
 * @inc: the message, or NULL
 */
void rds_rx_free(struct rds_incoming *inc);

/**
 * rds_rx_buffer - where the payload is to be copied
 * @inc: the message
 *
 * Return: @len bytes of memory, or NULL if the payload is to be referenced.
 */
void *rds_rx_buffer(struct rds_incoming *inc);

/**
 * rds_rx_add_skb - append a range of a socket buffer to the payload
 * @inc: a message without buffer
 * @skb: source; a clone of it is kept
 * @off: first byte
 * @len: bytes
 * @gfp: for the clone
 *
 * Return: false without memory; nothing was appended then.
 */
bool rds_rx_add_skb(struct rds_incoming *inc, struct sk_buff *skb, unsigned int off,
		    unsigned int len, gfp_t gfp);

/**
 * rds_rx_add_page - append a page fragment to the payload
 * @inc: a message without buffer
 * @page: its reference goes to the message
 * @off: first byte
 * @len: bytes
 *
 * Return: false without memory; the reference stays the caller's then.
 */
bool rds_rx_add_page(struct rds_incoming *inc, struct page *page, unsigned int off,
		     unsigned int len);

/**
 * rds_rx_deliver - a message is complete
 * @batch: open batch of the message's path
 * @inc: the message, filled; the core's from here on
 * @hdr: its header, checked by the transport as far as its wire format asks for; not kept
 *
 * Duplicates, probes, handshakes, congestion maps, and messages nobody takes are all dealt
 * with (and counted) inside.
 */
void rds_rx_deliver(struct rds_rx_batch *batch, struct rds_incoming *inc,
		    const struct rds_wire_header *hdr);

#endif
