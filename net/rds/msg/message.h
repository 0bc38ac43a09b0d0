/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A message on its way out.
 *
 * Ownership: a message has one owner at a time and no reference count.  It is its maker's until
 * it is put on the queue of a path; then the queue's, whose lock guards all its fields; the
 * batch being transmitted belongs to the transmitter, which alone removes from it; whoever
 * takes a message off a list under the lock frees it, or puts it on another.  Pages handed to a
 * transport live on by the transport's own page references.
 *
 * The socket that sent it is charged for it.  rds_message.owner is cleared under the queue lock
 * when that socket goes away; a context that retires messages stays within one RCU read section
 * from reading owner to its last use of it, and sockets are freed after a grace period.
 */
#ifndef _RDS_MSG_MESSAGE_H
#define _RDS_MSG_MESSAGE_H

#include <linux/bvec.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/uio.h>

#include <net/rds/tx.h>

struct rds_memop;
struct rds_sock;
struct rds_txpages;
struct rds_zcopy;

#define RDS_MSG_STARTED		BIT(0)	/* a transport has bytes of it */
#define RDS_MSG_CANCELLED	BIT(1)	/* finish it if begun, never send it again */
#define RDS_MSG_PROBE		BIT(2)	/* ping, pong or handshake of the kernel's own */
#define RDS_MSG_MAP		BIT(3)	/* congestion map: no number, no acknowledgement */
#define RDS_MSG_FLUSH		BIT(4)	/* its receiver rebooted: do not send it again */

/**
 * struct rds_message - one message
 * @tx: what the transport sees
 * @owner: socket that is charged for it, or NULL
 * @len: payload bytes
 * @flags: RDS_MSG_*
 * @seq: number on its path, once queued
 * @zcopy: user pages and cookie of MSG_ZEROCOPY, or NULL
 * @memop: remote memory operations, or NULL; whoever frees the message releases them first
 * @inline_bv: @tx.bv points here for all but large messages
 */
struct rds_message {
	struct rds_tx_msg	tx;
	struct rds_sock		*owner;
	u32			len;
	u32			flags;
	u64			seq;
	struct rds_zcopy	*zcopy;
	struct rds_memop	*memop;
	struct bio_vec		inline_bv[2];
};

#define rds_tx_to_message(t)	container_of(t, struct rds_message, tx)

/* User pages lent to a message, with what their owner wants to be told when they are free */
struct rds_zcopy {
	struct mmpin	mmp;
	u32		cookie;
};

/**
 * rds_message_copy - make a message out of user memory
 * @pages: those of the sending socket
 * @from: payload; all of it is taken
 * @sport: RDS port of the sender, host order
 * @dport: of the receiver
 * @gfp: GFP_KERNEL in a system call
 *
 * Context: process; uses the task's page fragment.
 * Return: the message or ERR_PTR: -ENOMEM, -EFAULT.
 */
struct rds_message *rds_message_copy(struct rds_txpages *pages, struct iov_iter *from, u16 sport,
				     u16 dport, gfp_t gfp);

/**
 * rds_message_zcopy - make a message that refers to user memory
 * @pages: those of the sending socket
 * @from: payload, not empty; all of it is taken
 * @sport: RDS port of the sender, host order
 * @dport: of the receiver
 * @cookie: what the sender is told when the memory is free again
 *
 * Context: process.  The pages are pinned and charged to RLIMIT_MEMLOCK of the user; both end
 * in rds_message_free() and nowhere else.
 * Return: the message or ERR_PTR: -ENOMEM, -EFAULT.
 */
struct rds_message *rds_message_zcopy(struct rds_txpages *pages, struct iov_iter *from, u16 sport,
				      u16 dport, u32 cookie);

/**
 * rds_message_kernel - make a message of the kernel's own
 * @len: payload bytes, zeroed: at most RDS_CONG_MAP_BYTES
 * @sport: host order
 * @dport: host order
 * @payload: set to the payload's memory if there is any; may be NULL
 * @gfp: GFP_ATOMIC in softirq
 *
 * Context: any but hard interrupts.
 * Return: the message or NULL.
 */
struct rds_message *rds_message_kernel(u32 len, u16 sport, u16 dport, void **payload,
				       gfp_t gfp);

/**
 * rds_message_free - release a message that is on no list
 * @m: the message; its zero-copy pages are unpinned here
 *
 * Context: any but hard interrupts.
 */
void rds_message_free(struct rds_message *m);

/* Destination port, host order */
static inline u16 rds_message_dport(const struct rds_message *m)
{
	return be16_to_cpu(m->tx.hdr->dport);
}

int rds_message_init(void);
void rds_message_exit(void);

#endif
