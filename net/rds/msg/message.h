/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A message to be sent.
 *
 * Ownership: a message has one owner at a time and no reference count.  The
 * context that makes a message owns it until it is queued on a path.  From then
 * on the queue owns the message, and the lock of the queue guards all its
 * fields.  Messages of the batch being transmitted are removed only by the
 * transmitter.  A context that takes a message off a list under the lock frees
 * the message or puts it on another list.  Pages that a transport still uses
 * after that are kept by its page references.
 *
 * Header: written until the message is queued, and after that only as long as
 * no transport has taken a byte of it.  A transport may read the pages for long
 * after the connection is lost, so a message that is sent again gets another
 * header (rds_message_renew_header()), while the payload stays where it is.
 *
 * Charge: the socket that sent a message is charged for it until the message
 * is retired; for its bytes only until RDS_MSG_PAID is set.  So a socket that
 * closes knows whether a message refers to it.  A message with an owner is on
 * the list of that socket, too, see struct rds_own, from the moment it is
 * queued until its charge ends.  rds_message.owner is cleared under the lock
 * of the queue when that socket closes or cancels a message that stays there.
 * A context that retires messages stays within one RCU read section from the
 * read of owner to its last use, and sockets are freed after a grace period.
 */
#ifndef _RDS_MSG_MESSAGE_H
#define _RDS_MSG_MESSAGE_H

#include <linux/bvec.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/uio.h>

#include <net/rds/tx.h>

struct rds_request;
struct rds_sock;
struct rds_txpages;
struct rds_txq;

/* a transport has taken bytes of the message */
#define RDS_MSG_STARTED		BIT(0)
/* finished if begun, never retransmitted */
#define RDS_MSG_CANCELLED	BIT(1)
/* ping, pong, handshake, or a map sent as a probe */
#define RDS_MSG_PROBE		BIT(2)
/* of this connection only: no number, no acknowledgement */
#define RDS_MSG_ONCE		BIT(3)
/* on rds_txq.kept */
#define RDS_MSG_KEPT		BIT(5)
/* its owner is not charged for its bytes any more */
#define RDS_MSG_PAID		BIT(6)
/* dropped as the peer could not be reached */
#define RDS_MSG_UNREACHED	BIT(7)
/* begun over an earlier connection: needs another header */
#define RDS_MSG_AGAIN		BIT(4)
/* is rds_txq.visited */
#define RDS_MSG_VISITED		BIT(8)

/**
 * struct rds_own - entry in the list of a socket's queued messages
 * @node: entry in rds_sock.sent, guarded by rds_sock.sent_lock
 * @lane: queue that has the message; NULL for a message that was taken off its
 *	list there, and for a cursor.  Written under the locks of the queues
 *	that the message leaves and joins; a context that holds another lock
 *	gets a hint, and looks again under the lock of that queue.
 */
struct rds_own {
	struct hlist_node	node;
	struct rds_txq		*lane;
};

/**
 * struct rds_message - one message
 * @tx: part that the transport sees; with user pages, struct rds_zcopy is in
 *	front of @tx.bv
 * @owner: socket that is charged for the message, or NULL
 * @len: payload bytes
 * @flags: RDS_MSG_*
 * @seq: number of the message on its path, valid once queued
 * @request: remote memory operations, or NULL; rds_message_free() does not
 *	release them
 * @own: entry in the list of @owner
 * @inline_bv: what @tx.bv refers to for messages in one piece
 */
struct rds_message {
	struct rds_tx_msg	tx;
	struct rds_sock		*owner;
	u32			len;
	u32			flags;
	u64			seq;
	struct rds_request	*request;
	struct rds_own		own;
	struct bio_vec		inline_bv;
};

#define rds_tx_to_message(t)	container_of(t, struct rds_message, tx)

/*
 * Charge of the user pages lent to a message, and the cookie that reports their
 * release
 */
struct rds_zcopy {
	struct mmpin	mmp;
	u32		cookie;
};

/* Of a message with user pages, which never has @inline_bv, or NULL */
static inline struct rds_zcopy *
rds_message_zcopy_of(const struct rds_message *m)
{
	return m->tx.lent ? (struct rds_zcopy *)m->tx.bv - 1 : NULL;
}

/**
 * rds_message_copy - make a message with a copy of user memory
 * @pages: pages that the sending socket remembers
 * @from: payload, which is read to its end
 * @sport: RDS port of the sender, host order
 * @dport: RDS port of the receiver, host order
 * @gfp: GFP_KERNEL_ACCOUNT in a system call
 *
 * Context: process; uses the page fragment of the task.
 * Return: the message or ERR_PTR: -ENOMEM, -EFAULT.
 */
struct rds_message *rds_message_copy(struct rds_txpages *pages,
				     struct iov_iter *from, u16 sport,
				     u16 dport, gfp_t gfp);

/**
 * rds_message_zcopy - make a message that refers to user memory
 * @pages: pages that the sending socket remembers, for the header
 * @from: payload, not empty, which is read to its end
 * @sport: RDS port of the sender, host order
 * @dport: RDS port of the receiver, host order
 * @cookie: number that is reported to the sender when the memory is unpinned
 *
 * Context: process.  The pages are pinned and charged to RLIMIT_MEMLOCK of the
 * user; only rds_message_free() ends both.
 * Return: the message or ERR_PTR: -ENOMEM, -EFAULT.
 */
struct rds_message *rds_message_zcopy(struct rds_txpages *pages,
				      struct iov_iter *from, u16 sport,
				      u16 dport, u32 cookie);

/**
 * rds_message_kernel - make a message that no socket sends: a probe or a
 * congestion map
 * @len: bytes of payload, which is zeroed; at most RDS_CONG_MAP_BYTES
 * @sport: RDS port of the sender, host order
 * @dport: RDS port of the receiver, host order
 * @payload: if not NULL, set to the address of the payload; unchanged if @len
 *	is 0
 * @gfp: GFP_ATOMIC in softirq
 *
 * Context: any but hard interrupts.
 * Return: the message or NULL.
 */
struct rds_message *rds_message_kernel(u32 len, u16 sport, u16 dport,
				       void **payload, gfp_t gfp);

/**
 * rds_message_free - free a message that is on no list
 * @m: message; its zero-copy pages are unpinned, its @request is not released
 *
 * Context: any but hard interrupts.
 */
void rds_message_free(struct rds_message *m);

/**
 * struct rds_message_bin - messages whose memory is given back together, which
 * costs less than one after the other
 * @nr: number of entries of @m; 0 at first
 * @m: messages that have ended
 */
struct rds_message_bin {
	unsigned int	nr;
	void		*m[32];
};

/* As rds_message_free(), at the latest with the next rds_message_bin_empty() */
void rds_message_bin_add(struct rds_message_bin *bin, struct rds_message *m);
void rds_message_bin_empty(struct rds_message_bin *bin);

/*
 * A message that was not begun goes over another connection: take out of its
 * header what was for the last one, and its lane.
 */
void rds_message_untell(struct rds_message *m);

/**
 * rds_message_renew_header - give a message that is sent again another header
 * @m: message, begun over an earlier connection
 * @tag: the path of another lane carries the message, so the header names the
 *	lane
 * @lane: index of the lane of the message
 *
 * The new header is a copy in other memory, with the present number, flagged as
 * retransmitted, and without what was only for the earlier connection.  The old
 * one stays as it is for as long as a transport refers to its page.
 *
 * Context: any but hard interrupts; the caller owns the message, or holds the
 * lock of its queue.
 * Return: false without memory, with nothing changed.
 */
bool rds_message_renew_header(struct rds_message *m, bool tag,
			      unsigned int lane);

/* Take out of a header what was said to the peer of one connection. */
static inline void rds_message_drop_ack(struct rds_wire_header *hdr)
{
	hdr->ack = 0;
	hdr->flags &= ~RDS_WIRE_F_ACK_REQUIRED;
}

/* Bytes for which the owner is charged */
static inline u32 rds_message_charge(const struct rds_message *m)
{
	return m->flags & RDS_MSG_PAID ? 0 : m->len;
}

/* Destination port, host order */
static inline u16 rds_message_dport(const struct rds_message *m)
{
	return be16_to_cpu(m->tx.hdr->dport);
}

int rds_message_init(void);
void rds_message_exit(void);

#endif
