#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# door.sh: what the second door costs where TCP carries: librdmacm's rstream on sockets of TCP (-T s),
# as it is and under rds-run, in one boot, taking turns. There is no device. RDS_ARGS: number of runs.
# A transfer takes at most 1.06 of the time of TCP, and an end of an idle connection 4 KiB more.
. selftests/lib/lib.sh

out=/tmp/bench
repeat=${RDS_ARGS:-5}
port=7001
addr=127.0.0.1
mkdir -p $out

# through STACK COMMAND...: become a command on TCP's sockets, or those of the door
through() {
	_s=$1
	shift
	case "$_s" in
	door)	exec "$RDS_BIN/rds-run" --preload "$@" ;;
	*)	exec "$@" ;;
	esac
}

listens() { ss -Hltn "sport = :$1" | grep -q .; }

# transfer STACK OPTIONS...: print the microseconds of a transfer, or 0
transfer() {
	_st=$1
	shift
	(through "$_st" timeout 600 rstream "$@" -T s -T b -p $port -b $addr) >$out/server 2>&1 &
	_pid=$!
	wait_for 20 listens $port || cat $out/server >&2
	(through "$_st" timeout 600 rstream "$@" -T s -T b -p $port -s $addr) >$out/client 2>&1 ||
		{ sed 's/^/# /' $out/client >&2; kill $_pid; }
	wait $_pid
	awk '/^custom/ { v = $NF } END { print v + 0 }' $out/client
}

median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] + 0 }'; }

# row NAME OPTIONS...
row() {
	_name=$1
	shift
	rm -f $out/plain $out/door
	for _i in $(seq "$repeat"); do
		for _stack in plain door; do
			port=$((port + 1))
			transfer $_stack "$@" >>$out/$_stack
		done
	done
	echo "$(median $out/plain) $(median $out/door)" | awk -v n="$_name" '{
		r = ($1 > 0) ? $2 / $1 : 0
		printf "# table | %s | %s | %s | %.3f | -1.06 |\n", n, $1, $2, r
		printf "%s - door.%s # %.3f\n", (r > 0 && r <= 1.06) ? "ok" : "not ok", n, r }'
}

idle() {
	rm -f $out/tcp $out/258
	for _i in 1 2 3; do
		for _stack in tcp 258; do
			timeout 600 "$RDS_BIN/rds-held" $_stack 800 $addr >>$out/$_stack || echo 0 >>$out/$_stack
		done
	done
	echo "$(median $out/tcp) $(median $out/258)" | awk '{
		printf "# table | idle | %s | %s | +%.1f | +4 |\n", $1, $2, $2 - $1
		printf "%s - door.idle # %.1f KiB more\n", ($2 > 0 && $2 <= $1 + 4) ? "ok" : "not ok", $2 - $1 }'
}

tcp_carried() { [ "$(awk '$1 == "stream_tcp_connects" { print $2 }' /proc/net/rds_stream_stats)" -ge 20 ]; }

plan 7
ip link set lo up
check door.module load_stack ours rds rds_stream
transfer door -S 64 -C 100 -I 1 >/dev/null
transfer plain -S 64 -C 100 -I 1 >/dev/null
echo "# table | row | TCP | door | ratio | bound |"
row lat-64 -S 64 -C 1 -I 2000
row bw-64 -S 64 -C 20000 -I 1
row bw-1k -S 1024 -C 5000 -I 1
row bw-64k -S 65536 -C 200 -I 1
idle
check door.tcp_carried tcp_carried
exit "$LIB_FAILED"
