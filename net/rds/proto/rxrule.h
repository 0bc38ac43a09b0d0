/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which messages a receiver keeps. */
#ifndef _RDS_PROTO_RXRULE_H
#define _RDS_PROTO_RXRULE_H

#include "proto/plat.h"
#include <net/rds/wire.h>

enum rds_rx_verdict {
	RDS_RX_ACCEPT,
	RDS_RX_DUP,
};

enum rds_rx_verdict rds_rx_check(u64 *expected, u64 seq, u8 flags, bool strict);

#endif
