#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hostile.sh rxe|siw: guest a has the module under test and a program that answers; guest b has no
# RDS at all, but a peer in user space that breaks the rules one by one (hostile.c).
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

dev=$1

sink_bound() { grep -q 'sink is bound' /run/sink.log 2>/dev/null; }

role_a() {
	rdma_up "$dev" tcp-first && ok hostile.rdma_up_a || { not_ok hostile.rdma_up_a "see above"; return; }
	"$RDS_BIN/rds-hostile" sink "$RDS_SELF4" >/run/sink.log 2>&1 &
	_sink=$!
	wait_for 20 sink_bound
	check hostile.rdma_sink sink_bound
	barrier ready 120
	barrier over 600
	cat /proc/net/rds/drops 2>/dev/null | grep -v ' 0$' | sed 's/^/# /'
	cat /run/sink.log
	kill $_sink 2>/dev/null
	wait $_sink 2>/dev/null
	rdma_left hostile.rdma left
}

role_b() {
	ip link set rds0 mtu 4200
	rdma_modules "$dev" && rdma_add "$dev" && ok hostile.rdma_up_b ||
		{ not_ok hostile.rdma_up_b "no device"; return; }
	barrier ready 120
	"$RDS_BIN/rds-hostile" peer "$RDS_SELF4" "$RDS_PEER4"
	check hostile.rdma_peer [ $? = 0 ]
	barrier over 600
	# Whom nobody answers any more siw asks for minutes; as long as this end is there it refuses.
	barrier left 120
	rdma_del "$dev"
}

role_"$RDS_GUEST"
exit $LIB_FAILED
