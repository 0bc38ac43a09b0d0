#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.sh [rdma] [profile]
# Inside the guest: every row on in-tree RDS, on ours and on framed TCP, in one boot. A result is
# the median of three runs; a run of ours or of TCP that does not end fails its row. Words in
# RDS_ARGS select rows by name, a number there replaces three.
# With rdma: the rows of rows.rdma over rdma_rxe instead, without TCP. With profile, also as a word
# in RDS_ARGS: each row runs once, and the samples of bench_sampler are printed (see profile.py).
. selftests/lib/lib.sh
. selftests/lib/stack.sh

bin=$RDS_BIN/rds-bench
over=${1:-tcp}
table=selftests/bench/rows
[ "$over" != rdma ] || table=selftests/bench/rows.rdma
out=/tmp/bench
repeat=3
select=
profile=
for w in ${2:-} $RDS_ARGS; do
	case "$w" in
	profile)	profile=1 repeat=1 ;;
	[0-9]*)	repeat=$w ;;
	*)	select="$select $w" ;;
	esac
done
mkdir -p $out

setup() {
	ns_pair A B
	for i in $(seq 1 20); do
		ip -n B addr add 10.0.1.$i/32 dev veth0
	done
	ip -n A route add 10.0.1.0/24 via 10.0.0.2
}

# RDMA devices serve only the initial namespace: use two addresses of one device, which loops
# messages back by itself.
setup_rdma() {
	. selftests/rdma/rdma.sh
	export BENCH_ONE_NETNS=1
	rdma_modules rxe || return 1
	ip link add rds0 mtu 4200 type veth peer name rds1 mtu 4200 || return 1
	ip addr add 10.0.0.1/24 dev rds0
	ip addr add 10.0.0.2/24 dev rds0
	for i in $(seq 1 51); do
		ip addr add 10.0.1.$i/32 dev rds0
	done
	ip link set rds1 up
	ip link set rds0 up
	rdma_add rxe
}

rows() {
	sed 's/[ \t]*|[ \t]*/|/g; /^#/d' $table | while IFS= read -r r; do
		case "${select:- all} " in
		*" all "*|*" ${r%%|*} "*) echo "$r" ;;
		esac
	done
}

# median [ended]: the median of the numbers on standard input, one in a line. 0 stands for a run
# that did not end and makes the median 0, which no floor accepts; with "ended" such runs are left
# out.
median() {
	sort -g | awk -v ended="$1" '$1 > 0 || !ended { v[++n] = $1 } $1 <= 0 { hung++ }
		END { print hung && !ended || !n ? 0 : v[int(n / 2) + 1] }'
}

# measure STACK PROTO WHAT FAMILY SIZE COUNT SOCKETS DESTS: the median of the repeats. Congestion
# may make a run of in-tree wait for ever: in-tree's median is that of the runs that ended.
measure() {
	_stack=$1
	shift
	case "$2" in
	idle)	timeout 600 "$RDS_BIN/rds-idle" "$4" || echo 0; return ;;
	silent)	timeout 600 "$RDS_BIN/rds-idle" "$4" silent || echo 0; return ;;
	esac
	for _i in $(seq $repeat); do
		timeout 600 $bin "$2" "$1" "$3" "$4" "$5" "$6" "$7" || {
			echo "# $_stack $2 of $4 bytes: run $_i did not end" >&2
			echo 0
		}
	done >$out/runs
	case "$_stack" in
	intree)	median ended ;;
	*)	median ;;
	esac <$out/runs
}

# The counters of the device and of the stack, as lines "name value"
counted() {
	grep -H . /sys/class/infiniband/*/ports/1/hw_counters/* 2>/dev/null | sed 's/.*\///; s/:/ /'
	"$RDS_BIN/rds-info" -c | awk 'NF == 2'
}

# samples STACK ROW COUNT: the samples of a row's measured time, and the counters that changed
samples() {
	counted >$out/after
	awk -v p="# counted | $1 | $2" 'NR == FNR { was[$1] = $2; next }
		$2 != was[$1] && $1 != "lifespan" { print p, "|", $1, "|", $2 - was[$1] }' \
		$out/before $out/after
	sort /proc/bench_sampler | uniq -c | sort -rn | while read -r n owner func; do
		echo "# profile | $1 | $2 | $3 | $n | $owner | $func"
	done
}

# run_stack NAME PROTO
run_stack() {
	rows | while IFS='|' read -r name what fam size count socks dests floor tcp; do
		[ "$1" != tcp ] || [ "$tcp" = yes ] || continue
		# In-tree cannot run idle: idle rings use up its limit of receive memory.
		case "$1 $profile $what" in
		"intree "*" idle"|"intree "*" silent"|*" 1 idle"|*" 1 silent") continue ;;
		esac
		[ -z "$profile" ] || counted >$out/before
		v=$(measure "$1" "$2" "$what" "$fam" "$size" "$count" "$socks" "$dests" </dev/null)
		[ -z "$profile" ] || samples "$1" "$name" "$count"
		echo "$v" >$out/$name.$1
		echo "# $1 $name $v"
	done
}

get() { cat $out/$1.$2 2>/dev/null || echo -; }

# verdict NAME WHAT FLOOR: print a row of the table and its result
verdict() {
	awk -v n="$1" -v i="$(get $1 intree)" -v o="$(get $1 ours)" -v t="$(get $1 tcp)" -v f="$3" \
	    -v w="$2" 'BEGIN {
		r = i > 0 ? o / i : 0; lim = substr(f, 2) + 0
		good = o > 0 && i > 0 && (substr(f, 1, 1) == "+" ? r >= lim : r <= lim)
		if (substr(f, 1, 1) == "=") good = o > 0 && o <= lim
		if (w == "ping" && o >= 500) good = 0
		if (t != "-" && t <= 0) good = 0
		rel = t > 0 ? sprintf("%.2f", o / t) : "-"
		printf "# table | %s | %s | %s | %.2f | %s | %s | %s |\n", n, i, o, r, f, t, rel
		printf "%s - %s # %.2f, floor %s\n", good ? "ok" : "not ok", n, r, f }'
}

# start_stack STACK: load the stack and bring up its first connections
start_stack() {
	if [ $over = rdma ]; then
		load_stack "$1" rds rds_rdma && rdma_ready 10.0.0.1 10.0.0.2 || return 1
		timeout 300 $bin rate rds 4 64 10 1 1 >/dev/null
		return 0
	fi
	load_stack "$1" || return 1
	# On one CPU in-tree may take a minute to bring up its first connections.
	timeout 300 $bin rate rds 4 64 10 1 1 >/dev/null
	timeout 300 $bin rate rds 6 64 10 1 1 >/dev/null
	timeout 300 $bin rate rds 4 64 40 1 20 >/dev/null
	return 0
}

# A result for each row, but one alone while the sampler runs
if [ -n "$profile" ]; then plan 1; else plan "$(rows | wc -l)"; fi
if [ $over = rdma ]; then
	setup_rdma || { echo "not ok - device"; exit 1; }
else
	setup
fi
if [ -n "$profile" ]; then
	insmod "$RDS_TOP/build/mod/$RDS_KERNEL/testko/bench_sampler.ko" || exit 1
	export BENCH_PROFILE=1
fi
for s in intree ours; do
	start_stack $s || { echo "not ok - load $s"; exit 1; }
	run_stack $s rds
	unload_stack 30 || { echo "not ok - unload $s"; exit 1; }
done
if [ -n "$profile" ]; then
	# Rates are not judged while the sampler runs.
	ok profile
	exit 0
fi
[ $over = rdma ] || run_stack tcp tcp
echo "# table | row | in-tree | ours | ratio | floor | framed TCP | ours to TCP |"
rows | while IFS='|' read -r name what fam size count socks dests floor tcp; do
	verdict "$name" "$what" "$floor"
done
