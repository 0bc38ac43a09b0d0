/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the core hands messages to a transport for transmission.
 *
 * Header and payload are complete when a transport gets a message.  The
 * transport reads them and never changes them.  Only a transport with
 * RDS_CAP_OWNS_ACK fills fields of the header (protocol.rst 2.1):
 * acknowledgement, credit, checksum, and the flag that asks for an
 * acknowledgement.  For others the core fills what it needs.
 */
#ifndef _NET_RDS_TX_H
#define _NET_RDS_TX_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/types.h>

#include <net/rds/wire.h>

struct rds_tx_request;

/**
 * struct rds_tx_msg - part of a message that a transport reads
 * @list: link in rds_tx_batch.head; a transport reads it only
 * @hdr: complete header; the first bytes of the first entry of @bv
 * @bv: header and payload as one run of page fragments.  The pages are counted
 *	(a plain get_page() keeps them) and are not written to while the message
 *	exists.
 * @bytes: bytes of header and payload together
 * @nr_bv: number of entries of @bv
 * @lent: the payload is in pages of a program (MSG_ZEROCOPY), which may write
 *	to them once the message is acknowledged; a transport that needs the
 *	payload for longer copies it
 * @want_ack: the sending socket has used half of its send buffer, so the peer
 *	should acknowledge this message soon.  For transports with
 *	RDS_CAP_OWNS_ACK.
 * @request: remote memory operations to post before the message, or NULL
 * @end: position on the path just past this message.  rds_path_acked() with
 *	this position or a later one retires the message.  For stream transports
 *	rds_tx_advance() sets it; transports with RDS_CAP_OWNS_ACK set it to the
 *	number of the message, by which the peer acknowledges, and to 0 for
 *	maps.
 */
struct rds_tx_msg {
	struct list_head	list;
	struct rds_wire_header	*hdr;
	struct bio_vec		*bv;
	unsigned int		bytes;
	u16			nr_bv;
	bool			lent;
	bool			want_ack;
	struct rds_tx_request	*request;
	u64			end;
};

/**
 * struct rds_tx_batch - messages handed to a transport in one call
 * @head: list of the messages; only the transmitter of the path changes this
 *	list
 * @cur: first message that is not completely taken, or NULL if all messages are
 * @off: bytes of @cur, header included, that are taken
 * @pos: position on the path of the next byte to take, for stream transports
 * @quiet: position up to which the core does not wait for the peer to have the
 *	bytes, see rds_rx_acked(); 0 for none
 */
struct rds_tx_batch {
	struct list_head	*head;
	struct rds_tx_msg	*cur;
	unsigned int		off;
	u64			pos;
	u64			quiet;
};

/**
 * enum rds_tx_result - how ->xmit() ended
 * @RDS_TX_DONE: all messages of the batch are taken, or some: the core calls
 *	again for what is left
 * @RDS_TX_BLOCKED: the transport has no room, and calls rds_path_writable()
 *	when there is room. That call may come before ->xmit() has returned.
 * @RDS_TX_FAILED: the path cannot transmit any more; the transport has called
 *	rds_path_lost()
 */
enum rds_tx_result {
	RDS_TX_DONE,
	RDS_TX_BLOCKED,
	RDS_TX_FAILED,
};

/**
 * rds_tx_fill_bvec - get the next bytes of a batch as one vector
 * @batch: batch, which is not changed
 * @bv: array for the entries
 * @max: number of entries that @bv has room for
 * @bytes: set to the sum of the bytes of all entries
 *
 * Return: number of entries filled; 0 if no byte is left to take.
 */
unsigned int rds_tx_fill_bvec(const struct rds_tx_batch *batch,
			      struct bio_vec *bv, unsigned int max,
			      size_t *bytes);

/**
 * rds_tx_advance - record that a stream transport took bytes of a batch
 * @batch: batch; @batch->cur, @batch->off and @batch->pos move on
 * @bytes: number of bytes, at most the sum that rds_tx_fill_bvec() returned
 *
 * Sets rds_tx_msg.end of messages that are completely taken.
 */
void rds_tx_advance(struct rds_tx_batch *batch, size_t bytes);

#endif
