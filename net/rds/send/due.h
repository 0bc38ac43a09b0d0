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

/* Kinds, in the order in which they go */
/* congestion map of the local address */
#define RDS_DUE_MAP		BIT(0)
/* handshake that asks for an answer */
#define RDS_DUE_GREETING	BIT(1)
/* handshake that answers */
#define RDS_DUE_ANSWER		BIT(2)
/* acknowledgement alone */
#define RDS_DUE_ACK		BIT(3)
#define RDS_DUE_KINDS		4

/* Make a message of the kind RDS_DUE_*; NULL without memory.  May sleep. */
typedef struct rds_message *rds_txq_make_fn(struct rds_path *path,
					    unsigned int what);

#endif
