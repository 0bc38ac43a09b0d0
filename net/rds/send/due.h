/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of a transmit queue's own: each tells a state of this host, without
 * a number, over one connection only.  An older state is never sent after a
 * newer one of the same kind.
 */
#ifndef _RDS_SEND_DUE_H
#define _RDS_SEND_DUE_H

#include <linux/bits.h>

struct rds_message;
struct rds_path;
struct rds_txq;

/* Kinds, in the order in which they go */
/* which two hosts the connection is between */
#define RDS_DUE_JOIN		BIT(0)
/* congestion map of the local address */
#define RDS_DUE_MAP		BIT(1)
/* handshake that asks for an answer */
#define RDS_DUE_GREETING	BIT(2)
/* handshake that answers */
#define RDS_DUE_ANSWER		BIT(3)
/* acknowledgement alone */
#define RDS_DUE_ACK		BIT(4)
/* acknowledgement of all lanes */
#define RDS_DUE_LANES		BIT(5)
/* further addresses of this host */
#define RDS_DUE_ADDRS		BIT(6)
#define RDS_DUE_KINDS		7

/**
 * struct rds_txq_ops - what a transmit queue asks of its path
 * @make: make a message of the kind RDS_DUE_*; NULL without memory.  May sleep.
 *	The operation is NULL if the path sends none.
 * @at_fence: called under the lock of the queue when no message is left that
 *	goes before those of other lanes, and when the lane can return to its
 *	path; may not sleep
 * @probe_acked: called under the lock of the queue when the transport has
 *	reported the acknowledgement of a probe before it returned from the call
 *	that sent the probe: rds_txq_probe_acked() did not know of it yet; may
 *	not sleep.  The operation is NULL if `make` is.
 */
struct rds_txq_ops {
	struct rds_message	*(*make)(struct rds_path *path,
					 unsigned int what);
	void			(*at_fence)(struct rds_path *path);
	void			(*probe_acked)(struct rds_path *path);
};

/*
 * Send a message of the kind RDS_DUE_*.  Returns whether to call rds_txq_run().
 */
bool rds_txq_due(struct rds_txq *txq, unsigned int what);

/*
 * Send what a probe is: a map, or a handshake over a path that sends no maps.
 * Returns whether to call rds_txq_run().
 */
bool rds_txq_nudge(struct rds_txq *txq);

/*
 * Have a probe sent, and ask whether the peer has acknowledged it.
 * Only the acknowledgement of bytes that are sent from now on proves that the
 * peer is alive.
 */
void rds_txq_probe(struct rds_txq *txq);
bool rds_txq_probe_acked(struct rds_txq *txq);

#endif
