#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# mixed.sh
# Inside the guest: round trips of 64 bytes between two hosts that are idle otherwise, and beside a
# stream of 1 MiB messages between the same hosts on other ports, over a link of 2 Gbit/s (RDS_ARGS):
# TCP with a connection for each, in-tree, and ours over one path and over eight. Prints the median
# and the 99th percentile of all round trips, in microseconds. Over eight paths the percentile may be
# at most 1.5 times that of TCP, also where both flows would share a lane: what the link has taken
# goes first in any case.
. selftests/lib/lib.sh
. selftests/lib/stack.sh

bin=$RDS_BIN/rds-bench
count=2000 rate=${RDS_ARGS:-2gbit}
out=/tmp/mixed
mkdir -p $out

# link TAIL: hosts A and B; the qdisc of the link is that of Debian behind the shaper
link() {
	ns_pair "A$1" "B$1" || return 1
	for _n in A B; do
		tc -n "$_n$1" qdisc add dev veth0 root handle 1: tbf rate ${rate} burst 256k latency 20ms &&
			tc -n "$_n$1" qdisc add dev veth0 parent 1: fq_codel || return 1
	done
}

# rtt TAIL PROTO PORT PERCENT
rtt() {
	BENCH_NETNS_TAIL=$1 BENCH_PORT=$3 BENCH_PERCENTILE=$4 timeout 600 $bin rtt "$2" 4 64 "$count" 1 1
}

# beside TAIL PROTO PORT PERCENT: the same beside a stream
beside() {
	BENCH_NETNS_TAIL=$1 BENCH_PORT=6000 $bin rate "$2" 4 1048576 1000000 1 1 >/dev/null 2>&1 &
	_stream=$!
	until [ "$(received "$1")" -gt 20000000 ]; do sleep 0.05; done
	rtt "$@"
	kill $_stream
	pkill -x rds-bench
	wait $_stream 2>/dev/null
}

# received TAIL: bytes that B's link has received since it was looked at last
received() {
	_now=$(ip netns exec "B$1" cat /sys/class/net/veth0/statistics/rx_bytes)
	_was=$(cat "$out/rx$1" 2>/dev/null || echo 0)
	[ -e "$out/rx$1" ] || echo "$_now" >"$out/rx$1"
	echo $((_now - ${_was:-0}))
}

# measure NAME TAIL PROTO PORT: print a row; the result is its ratio
measure() {
	name=$1
	shift
	rtt "$1" "$2" "$3" 50 >/dev/null
	idle=$(rtt "$1" "$2" "$3" 99)
	rm -f "$out/rx$1"
	received "$1" >/dev/null
	half=$(beside "$1" "$2" "$3" 50)
	rm -f "$out/rx$1"
	received "$1" >/dev/null
	most=$(beside "$1" "$2" "$3" 99)
	ratio=$(awk -v i="${idle:-0}" -v m="${most:-0}" 'BEGIN { printf "%.1f", (i > 0) ? m / i : 0 }')
	echo "# table | $name | $idle | $half | $most | $ratio |"
}

stacks="intree ours"
plan 9
link "" && link 8 || { not_ok mixed.link "cannot be made"; exit 1; }
echo "# table | 64 B between | idle, 99 % | median beside 1 MiB | 99 % | times idle |"
measure "TCP, a connection for each" "" tcp 4000
tcp=${most:-0}
for s in $stacks; do
	load_stack $s || { not_ok mixed.load "$s"; exit 1; }
	if [ $s = intree ]; then
		measure "in-tree" "" rds 4000
	else
		for n in A8 B8; do
			ip netns exec $n sh -c "echo 8 >/proc/sys/net/rds/paths"
		done
		measure "ours, one path" "" rds 4000
		# Ports of eight flows, so that one of them at least has the lane of the stream
		for port in 4000 4001 4002 4003 4004 4005 4006 4007 4008; do
			measure "ours, eight paths, port $port" 8 rds $port
			if awk -v m="${most:-0}" -v t="$tcp" 'BEGIN { exit !(m > 0 && m <= 1.5 * t) }'; then
				ok mixed.$port
			else
				not_ok mixed.$port "$most, and TCP $tcp"
			fi
		done
	fi
	unload_stack 30 || not_ok mixed.unload "$s"
done
exit $LIB_FAILED
