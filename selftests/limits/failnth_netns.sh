#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the modules do as a network namespace is made, with each allocation failing in turn; only the
# debug kernel can make them fail.
. selftests/lib/lib.sh
. selftests/limits/held.sh

# allocations MODULE...: how many the making of a namespace has, with only these modules
allocations() {
	unload_stack 20 && { [ $# = 0 ] || load_stack "$RDS_STACK" "$@" >&2; } &&
		"$RDS_BIN/rds-failnth-netns"
}

plan 2
none=$(allocations) rds=$(allocations rds) tcp=$(allocations rds rds_tcp) rdma=$(allocations rds rds_tcp rds_rdma)
echo "# allocations: $none of the kernel, $((rds - none)) of rds, $((tcp - rds)) of rds_tcp," \
	"$((rdma - tcp)) of rds_rdma"
check failnth.netns_allocations [ "$none" -lt "$rds" -a "$rds" -lt "$tcp" -a "$tcp" -lt "$rdma" ]
before=$(held)
"$RDS_BIN/rds-failnth-netns" rds_net_init $((rds - none)) rds_tcp_net_init $((tcp - rds)) \
	rds_rdma_net_init $((rdma - tcp)) || LIB_FAILED=1
held_as failnth.netns_caches "$before"
exit $LIB_FAILED
