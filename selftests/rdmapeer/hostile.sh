#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hostile.sh rxe|siw: guest a has the module under test and the sink, which answers; guest b has no
# RDS but a peer in user space that breaks the rules one by one (hostile.c).
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

dev=$1

# Addresses of guest a, larger than the first ones of both ends
larger=${RDS_SELF4%.*}.200
[ "$RDS_GUEST" = a ] || larger=${RDS_PEER4%.*}.200
larger6=${RDS_SELF6%:*}:200
[ "$RDS_GUEST" = a ] || larger6=${RDS_PEER6%:*}:200

sinks_bound() { [ "$(cat /run/sink*.log 2>/dev/null | grep -c 'sink is bound')" = 4 ]; }

role_a() {
	rdma_up "$dev" tcp-first && ok hostile.rdma_up_a || { not_ok hostile.rdma_up_a "see above"; return; }
	ip addr add "$larger/24" dev rds0
	ip addr add "$larger6/64" dev rds0 nodad
	rdma_ready "$larger" "$larger6"
	_sinks=
	for _a in "$RDS_SELF4" "$larger" "$RDS_SELF6" "$larger6"; do
		"$RDS_BIN/rds-hostile" sink "$_a" >"/run/sink-$_a.log" 2>&1 &
		_sinks="$_sinks $!"
	done
	wait_for 20 sinks_bound
	check hostile.rdma_sink sinks_bound
	barrier ready 120
	barrier over 600
	cat /proc/net/rds/drops 2>/dev/null | grep -v ' 0$' | sed 's/^/# /'
	cat /run/sink-*.log
	# shellcheck disable=SC2086
	{ kill $_sinks; wait $_sinks; } 2>/dev/null
	rdma_left hostile.rdma left
}

role_b() {
	ip link set rds0 mtu 4200
	rdma_modules "$dev" && rdma_add "$dev" && ok hostile.rdma_up_b ||
		{ not_ok hostile.rdma_up_b "no device"; return; }
	barrier ready 120
	"$RDS_BIN/rds-hostile" peer "$RDS_SELF4" "$RDS_PEER4" "$larger"
	check hostile.rdma_peer [ $? = 0 ]
	"$RDS_BIN/rds-hostile" peer "$RDS_SELF6" "$RDS_PEER6" "$larger6"
	check hostile.rdma_peer.v6 [ $? = 0 ]
	barrier over 600
	# siw repeats a connection request to an absent host for minutes; while this end exists it
	# refuses.
	barrier left 120
	rdma_del "$dev"
}

# The results of this script; rds-hostile plans its own.
if [ "$RDS_GUEST" = a ]; then plan $((2 + $(rdma_left_plan))); else plan 3; fi
role_"$RDS_GUEST"
exit $LIB_FAILED
