// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/rxrule.h"

/**
 * rds_rx_check() - apply the duplicate rule to a complete message
 * @expected: number of the next message of the path; set to @seq + 1 if the
 *	message is kept
 * @seq: number of the message
 * @flags: flags of the header of the message
 * @strict: the numbers of the peer never fall until it restarts, and it says so
 *	before its first message then
 *
 * A message with a number below @expected is a duplicate if it is flagged as
 * retransmitted, or if @strict is set.  Any other message is kept and sets
 * @expected, also backwards: cancelled messages leave holes, and a peer that
 * restarted counts from 1 again.
 *
 * Return: RDS_RX_DUP if the message was kept before, else RDS_RX_ACCEPT.
 */
enum rds_rx_verdict rds_rx_check(u64 *expected, u64 seq, u8 flags, bool strict)
{
	if (seq < *expected && (strict || flags & RDS_WIRE_F_RETRANSMITTED))
		return RDS_RX_DUP;
	*expected = seq + 1;
	return RDS_RX_ACCEPT;
}
