/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a socket wants of its connection. */
#ifndef _RDS_STREAM_WANT_H
#define _RDS_STREAM_WANT_H

#include <linux/types.h>

#include "share.h"

#define RDS_SS_SQ		32
#define RDS_SS_RQ		64
#define RDS_SS_IOMAP_MAX	128	/* of one page */
#define RDS_SS_RQ_SET_MAX	512	/* by the option RDMA_RQSIZE */

/**
 * struct rds_ss_want - what a connection begins with
 * @rq: receives that are announced
 * @sq: work requests of the send queue
 * @iomap: entries of the iomap table; updates of the peer are taken, and have
 *	no effect
 * @nodelay: TCP_NODELAY
 * @max_half: most bytes of a half of the memory for data
 * @shares: for whom it is
 */
struct rds_ss_want {
	u16	rq;
	u16	sq;
	u16	iomap;
	bool	nodelay;
	u32	max_half;
	struct rds_ss_shares shares;
};

#endif
