#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# make bench: ratios of in-tree RDS, ours and framed TCP, measured in instruction-exact boots; and
# several paths on two processors; and of streams over librdmacm, ours and TCP.
cd "$(dirname "$0")/../.." || exit 1
K=${KERNEL:-6.12}
python3 selftests/vm/run.py --kernel "$K" --cases-file selftests/bench/bench.cases
rc=$?
echo "One virtual CPU that executes one instruction a nanosecond: times are instruction counts."
echo "Rates are messages a second at the receiver, rtt and ping are microseconds; of streams transfers"
echo "a second, and microseconds of one."
for line in bench bench-rdma bench-paths bench-paths-2cpu bench-mixed bench-stream bench-door; do
	[ -e "build/logs/$K/$line-a.log" ] || continue
	echo
	echo "$line"
	sed -n 's/^.*# table //p' "build/logs/$K/$line-a.log" |
		awk 'NR == 1 { print; gsub(/[^|]+/, " --- "); print; next } { print }'
done
if [ -e "build/logs/$K/bench-profile-a.log" ]; then
	echo
	echo "Instructions an operation over rdma_rxe"
	python3 selftests/bench/profile.py --kernel "$K" --no-run || rc=1
fi
if [ -e "build/logs/$K/bench-stream-profile-a.log" ]; then
	echo
	echo "Instructions a transfer of a stream"
	python3 selftests/bench/profile.py --kernel "$K" --stream --no-run || rc=1
fi
exit $rc
