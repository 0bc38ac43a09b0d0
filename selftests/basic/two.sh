#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two guests reach each other by ICMP, and pings to RDS port 0 are answered, over IPv4 and IPv6, in
# both directions at once.
. selftests/lib/lib.sh

# Two barriers, and for each family a ping of ICMP and one of RDS
plan $((2 + 2 * 2))
check "basic.barrier_before_$RDS_GUEST" barrier before 60
for a in 4 6; do
	eval "self=\$RDS_SELF$a peer=\$RDS_PEER$a"
	check "basic.icmp$a" ping -q -c 1 -W 5 "$peer"
	check "basic.rds_ping$a" "$RDS_BIN/rds-smoke" "$self" "$peer" $((10 * ${RDS_SLOW:-1}))
done
# Neither guest may end while the other still pings.
check "basic.barrier_after_$RDS_GUEST" barrier after 60
exit $LIB_FAILED
