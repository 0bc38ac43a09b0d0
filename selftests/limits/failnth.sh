#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Each call, and each connection, with the n-th allocation or user copy failing; only the debug kernel
# can make them fail.
. selftests/lib/lib.sh
. selftests/limits/held.sh

# B has as many addresses as there are connections to be opened.
hosts() {
	ns_pair A B && ns_for_all A B &&
		ip -n A addr add 10.1.0.1/16 dev lo &&
		ip -n B addr add 10.2.0.1/16 dev lo &&
		ip -n A route add 10.2.0.0/16 via 10.0.0.2
}

plan 2
before=$(held)
check failnth.hosts hosts
"$RDS_BIN/rds-failnth" || LIB_FAILED=1
ip netns del A && ip netns del B
held_as failnth.caches "$before"
exit $LIB_FAILED
