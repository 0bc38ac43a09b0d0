// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/rxrule.h"

/**
 * rds_rx_check() - the duplicate rule, for a message that has arrived whole
 * @expected: next number of this path, advanced when the message is kept
 * @seq: number of the message
 * @flags: flags of its header
 *
 * Only a message marked as retransmitted can be a duplicate.  Any other is kept and sets the
 * number, backwards too: cancelled messages leave holes, and a peer that restarted counts from
 * 1 again.
 *
 * Return: RDS_RX_DUP for a message that was kept before.
 */
enum rds_rx_verdict rds_rx_check(u64 *expected, u64 seq, u8 flags)
{
	if (seq < *expected && flags & RDS_WIRE_F_RETRANSMITTED)
		return RDS_RX_DUP;
	*expected = seq + 1;
	return RDS_RX_ACCEPT;
}
