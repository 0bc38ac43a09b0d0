#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Inside the guest: every row on in-tree RDS, on ours and on framed TCP, in one boot, each the
# median of three.  Words in RDS_ARGS select rows by name, a number there changes the three.
. selftests/lib/lib.sh
. selftests/lib/stack.sh

bin=$RDS_BIN/rds-bench
out=/tmp/bench
repeat=3
select=
for w in $RDS_ARGS; do
	case "$w" in
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

rows() {
	sed 's/[ \t]*|[ \t]*/|/g; /^#/d' selftests/bench/rows | while IFS= read -r r; do
		case "${select:- all} " in
		*" all "*|*" ${r%%|*} "*) echo "$r" ;;
		esac
	done
}

# measure PROTO WHAT FAMILY SIZE COUNT SOCKETS DESTS: median of the repeats
measure() {
	for _i in $(seq $repeat); do
		timeout 600 $bin "$2" "$1" "$3" "$4" "$5" "$6" "$7" || echo 0
	done | sort -g | sed -n "$((repeat / 2 + 1))p"
}

# run_stack NAME PROTO
run_stack() {
	rows | while IFS='|' read -r name what fam size count socks dests floor tcp; do
		[ "$1" != tcp ] || [ "$tcp" = yes ] || continue
		v=$(measure "$2" "$what" "$fam" "$size" "$count" "$socks" "$dests" </dev/null)
		echo "$v" >$out/$name.$1
		echo "# $1 $name $v"
	done
}

get() { cat $out/$1.$2 2>/dev/null || echo -; }

# verdict NAME WHAT FLOOR: a row of the table and its result
verdict() {
	awk -v n="$1" -v i="$(get $1 intree)" -v o="$(get $1 ours)" -v t="$(get $1 tcp)" -v f="$3" \
	    -v w="$2" 'BEGIN {
		r = i > 0 ? o / i : 0; lim = substr(f, 2)
		good = o > 0 && i > 0 && (substr(f, 1, 1) == "+" ? r >= lim : r <= lim)
		if (w == "ping" && o >= 500) good = 0
		rel = t > 0 ? sprintf("%.2f", o / t) : "-"
		printf "# table | %s | %s | %s | %.2f | %s | %s | %s |\n", n, i, o, r, f, t, rel
		printf "%s - %s # %.2f, floor %s\n", good ? "ok" : "not ok", n, r, f }'
}

setup
for s in intree ours; do
	load_stack $s || { echo "not ok - load $s"; exit 1; }
	# in-tree may take a minute to get its first connections up on one CPU
	timeout 300 $bin rate rds 4 64 10 1 1 >/dev/null
	timeout 300 $bin rate rds 6 64 10 1 1 >/dev/null
	timeout 300 $bin rate rds 4 64 40 1 20 >/dev/null
	run_stack $s rds
	unload_stack 30 || { echo "not ok - unload $s"; exit 1; }
done
run_stack tcp tcp
echo "# table | row | in-tree | ours | ratio | floor | framed TCP | ours to TCP |"
rows | while IFS='|' read -r name what fam size count socks dests floor tcp; do
	verdict "$name" "$what" "$floor"
done
