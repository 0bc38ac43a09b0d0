/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a transport sees of messages on their way out.
 *
 * The core finishes header and payload before a transport sees a message; a transport reads
 * them and never changes them, except for the fields of the header that the wire document
 * leaves to the transport (acknowledgement, credit, checksum, and the flag that asks for an
 * acknowledgement), and those only if it declared RDS_CAP_OWNS_ACK.
 */
#ifndef _NET_RDS_TX_H
#define _NET_RDS_TX_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/types.h>

#include <net/rds/wire.h>

struct rds_tx_ops;

/**
 * struct rds_tx_msg - one message, as a transport sees it
 * @list: the core's
 * @hdr: finished header; the first bytes of @bv[0]
 * @bv: header and payload as one run of page fragments.  The pages are counted (a plain
 *	get_page() keeps them) and are not written to while the message exists.
 * @bytes: header and payload together
 * @nr_bv: entries of @bv
 * @lent: the payload's pages are a user's, who may write to them once the message is
 *	acknowledged; a transport that keeps them longer keeps a copy
 * @want_ack: its sender waits for room: the peer should acknowledge it soon.  For transports with
 *	RDS_CAP_OWNS_ACK.
 * @ops: remote memory operations that come before it, or NULL
 * @end: position on the path just past this message.  rds_path_acked() with this position or
 *	a later one retires the message.  Stream transports leave it to rds_tx_advance();
 *	transports with RDS_CAP_OWNS_ACK set it to the message's number, as acknowledgements name
 *	those, and to 0 for maps.
 */
struct rds_tx_msg {
	struct list_head	list;
	struct rds_wire_header	*hdr;
	struct bio_vec		*bv;
	unsigned int		bytes;
	u16			nr_bv;
	bool			lent;
	bool			want_ack;
	struct rds_tx_ops	*ops;
	u64			end;
};

/**
 * struct rds_tx_batch - messages handed to a transport in one call
 * @head: the messages; only the transmitter of the path changes this list
 * @cur: first message that is not wholly taken, or NULL when all are
 * @off: bytes of @cur that are taken already, the header counted once
 * @pos: position on the path of the next byte to take
 */
struct rds_tx_batch {
	struct list_head	*head;
	struct rds_tx_msg	*cur;
	unsigned int		off;
	u64			pos;
};

/**
 * enum rds_tx_result - how ->xmit() ended
 * @RDS_TX_DONE: all messages of the batch are taken
 * @RDS_TX_BLOCKED: no room; the transport calls rds_path_writable() when there is some.  That
 *	call may come before ->xmit() has returned.
 * @RDS_TX_FAILED: the path is of no use any more; the transport has called rds_path_lost()
 */
enum rds_tx_result {
	RDS_TX_DONE,
	RDS_TX_BLOCKED,
	RDS_TX_FAILED,
};

/**
 * rds_tx_fill_bvec - show the next bytes of a batch as one vector
 * @batch: the batch, left as it is
 * @bv: where the entries go
 * @max: room in @bv
 * @bytes: set to the bytes in all entries
 *
 * Return: entries filled; 0 when nothing is left to take.
 */
unsigned int rds_tx_fill_bvec(const struct rds_tx_batch *batch, struct bio_vec *bv,
			      unsigned int max, size_t *bytes);

/**
 * rds_tx_advance - note that a stream transport took bytes
 * @batch: the batch
 * @bytes: how many, at most what rds_tx_fill_bvec() showed
 *
 * Messages that are wholly taken get their @end.
 */
void rds_tx_advance(struct rds_tx_batch *batch, size_t bytes);

#endif
