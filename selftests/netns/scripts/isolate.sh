#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# isolate.sh: two pairs of namespaces with the same addresses and ports do not affect each other.
set -u
. selftests/lib/lib.sh

# both SEED ADDR_L ADDR_R: a checked exchange inside each pair at once, with different content
both() {
	for n in 1 2; do
		for side in L R; do
			if [ $side = L ]; then
				how=--ctl-listen me=$2 peer=$3
			else
				how=--ctl-connect me=$3 peer=$2
			fi
			ip netns exec $side$n "$RDS_BIN/rds-xchg" $how "/tmp/iso-$1-$n" --port 4300 \
				--count $count --max-len 65536 --seed "$1$n" --label "isolate.$1.$side$n" --timeout 120 \
				"$me" "$peer" &
			eval "pid_$side$n=$!"
		done
	done
	rc=0
	for p in $pid_L1 $pid_R1 $pid_L2 $pid_R2; do
		wait "$p" || rc=1
	done
	return $rc
}

if [ "${RDS_LOAD:-ci}" = full ]; then count=5000; else count=400; fi

# The exchanges; rds-isolate plans its own results.
plan 2
ns_pair L1 R1 && ns_pair L2 R2 && ip netns add IDLE && ip -n IDLE link set lo up ||
	{ not_ok isolate.setup "no namespaces"; exit 1; }
"$RDS_BIN/rds-isolate" || LIB_FAILED=1
check isolate.exchange_v4 both 4 10.0.0.1 10.0.0.2
check isolate.exchange_v6 both 6 fd00::1 fd00::2
exit $LIB_FAILED
