#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# paths.sh [judge]
# Inside the guest: eight sockets of one host send to another over one path and over eight, in turn,
# in one boot; and the memory of an idle connection. With judge a row fails whose median over eight
# paths is below 0.75 times that over one, and the memory if it is above 2 KiB. RDS_ARGS is the number
# of runs (5).
. selftests/lib/lib.sh
. selftests/lib/stack.sh

bin=$RDS_BIN/rds-bench
judge=${1:-}
repeat=${RDS_ARGS:-5}
out=/tmp/paths
mkdir -p $out

# hosts TAIL: namespaces A and B with that tail; B has 20 more addresses
hosts() {
	ns_pair "A$1" "B$1" || return 1
	for _i in $(seq 1 20); do
		ip -n "B$1" addr add 10.0.1.$_i/32 dev veth0 || return 1
	done
	ip -n "A$1" route add 10.0.1.0/24 via 10.0.0.2
}

# paths TAIL N: the hosts of that tail use N paths
paths() {
	for _n in A B; do
		ip netns exec "$_n$1" sh -c "echo $2 >/proc/sys/net/rds/paths" || return 1
	done
}

# bench TAIL WHAT...: one run between the hosts of that tail
bench() {
	_tail=$1
	shift
	BENCH_NETNS_TAIL=$_tail timeout 600 $bin rate rds "$@"
}

# connections TAIL: TCP connections that A has dialled or accepted
connections() {
	ip netns exec "A$1" ss -tnH 'sport = :16385 or dport = :16385' | wc -l
}

median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# slabs: bytes in the objects of our caches, and number of connections
slabs() {
	for _c in /sys/kernel/slab/rds_*; do
		echo 1 >$_c/shrink
		_objects=$(cat $_c/objects)
		echo "${_c##*/} ${_objects%% *} $(cat $_c/object_size)"
	done | awk '{ sum += $2 * $3 } $1 == "rds_conn" { n = $2 } END { print sum, n }'
}

# idle TAIL BYTES: KiB of one end of an idle connection, of ours: objects of the caches that 20
# connections add, and BYTES for the lanes of each, which are no object of a cache
# (rds_conn_make_rx_lanes())
idle() {
	set -- "$1" "$2" $(slabs)
	# One message each: a second one could need a path of its own.
	for _i in $(seq 1 20); do
		ip netns exec "A$1" "$RDS_BIN/rds-ping" -c 1 10.0.1.$_i >/dev/null || return 1
	done
	until_idle "$1"
	set -- "$2" "$3" "$4" $(slabs)
	awk -v lanes="$1" -v s0="$2" -v n0="$3" -v s1="$4" -v n1="$5" 'BEGIN {
		if (n1 - n0 < 40) exit 1
		printf "%.2f", ((s1 - s0) / (n1 - n0) + lanes) / 1024 }'
}

# until_idle TAIL: wait until no message is queued at either end
until_idle() {
	for _n in A B; do
		until [ -z "$(ip netns exec "$_n$1" "$RDS_BIN/rds-info" -s -t | grep 10.0.1.)" ]; do
			sleep 0.05
		done
	done
}

# verdict NAME GOOD TEXT
verdict() {
	if [ -z "$judge" ] || [ "$2" = 1 ]; then ok "$1"; else not_ok "$1" "$3"; fi
}

rows=$(sed 's/[ \t]*|[ \t]*/|/g; /^#/d' selftests/bench/rows | awk -F'|' '$2 == "rate" && $6 == 8')
plan $(($(echo "$rows" | wc -l) + 2))
hosts "" && hosts 8 || { not_ok paths.hosts "cannot be made"; exit 1; }
load_stack ours && paths "" 1 && paths 8 8 || { not_ok paths.load "failed"; exit 1; }
for t in "" 8; do
	lanes=32
	[ "$t" != 8 ] || lanes=192
	kib=$(idle "$t" $lanes) || kib=
	echo "# idle connection, ${t:-1} paths allowed: ${kib:-nothing} KiB of ours"
	verdict "paths.idle.${t:-1}" "$(awk -v k="${kib:-9}" 'BEGIN { print (k <= 2) }')" "$kib KiB"
done
for t in "" 8; do
	bench "$t" 4 64 800 8 1 >/dev/null
done
echo "# table | 8 sockets | 1 path | 8 paths | ratio | connections |"
echo "$rows" | {
	while IFS='|' read -r name _ fam size count socks dests _; do
		: >$out/1
		: >$out/8
		for _i in $(seq "$repeat"); do
			bench "" "$fam" "$size" "$count" "$socks" "$dests" >>$out/1 </dev/null
			bench 8 "$fam" "$size" "$count" "$socks" "$dests" >>$out/8 </dev/null
		done
		one=$(median $out/1) eight=$(median $out/8)
		ratio=$(awk -v o="${one:-0}" -v e="${eight:-0}" 'BEGIN { printf "%.3f", (o > 0) ? e / o : 0 }')
		echo "# table | $name | $one | $eight | $ratio | $(connections "") and $(connections 8) |"
		verdict "paths.$name" "$(awk -v r="$ratio" 'BEGIN { print (r >= 0.75) }')" "$ratio"
	done
	unload_stack 30 || not_ok paths.unload "still loaded"
	exit $LIB_FAILED
}
