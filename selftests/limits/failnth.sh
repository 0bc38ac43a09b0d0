#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Each call, and each connection, with the n-th allocation or user copy failing; only the debug kernel
# can make them fail.
. selftests/lib/lib.sh

# B has as many addresses as there are connections to be opened.
hosts() {
	ns_pair A B && ns_for_all A B &&
		ip -n A addr add 10.1.0.1/16 dev lo &&
		ip -n B addr add 10.2.0.1/16 dev lo &&
		ip -n A route add 10.2.0.0/16 via 10.0.0.2
}

# What the modules hold, by cache
held() {
	for _c in /sys/kernel/slab/rds_*; do
		echo 1 >"$_c/shrink"
		read -r _n _ <"$_c/objects"
		[ "$_n" = 0 ] || echo "${_c##*/} $_n"
	done
}
as_before() { [ "$(held)" = "$before" ]; }

plan 2
before=$(held)
check failnth.hosts hosts
"$RDS_BIN/rds-failnth" || LIB_FAILED=1
ip netns del A && ip netns del B
if wait_for 30 as_before; then
	ok failnth.caches
else
	not_ok failnth.caches "before: $before, after: $(held)"
fi
exit $LIB_FAILED
