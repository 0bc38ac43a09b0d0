#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# many.sh rxe|siw link|dev LOCALS PEERS: thousands of connections of one host end at once, as its link
# or device goes and comes again, and are made again. LOCALS and PEERS are the numbers of addresses of
# the guests a and b. Guest b's kernel answers.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

dev=$1 way=$2 locals=$3 peers=$4
# RDS_ARGS has other numbers for a trial.
if [ -n "${RDS_ARGS:-}" ]; then locals=${RDS_ARGS% *} peers=${RDS_ARGS#* }; fi
[ "${RDS_LOAD:-ci}" != light ] || locals=20 peers=10

# addresses NET NUMBER: print so many addresses of 10.8.NET
addresses() { seq -f "10.8.$1.%.0f" "$2"; }

# many_addr NET NUMBER: the addresses are this guest's
many_addr() {
	addresses "$1" "$2" | sed 's,.*,addr add &/16 dev rds0,' | ip -batch - &&
		rdma_ready "10.8.$1.1" "10.8.$1.$2"
}

setup() {
	rdma_up "$dev" tcp-first || return 1
	# The number of connections is what counts, and not of how many hosts the peers are.
	if [ "$RDS_GUEST" = a ]; then many_addr 1 "$locals"; else many_addr 2 $((peers + 1)); fi
}

memory() { awk '/MemAvailable/ { print int($2 / 1024) " MiB of memory are left" }' /proc/meminfo; }

case $way in
link)	down="ip link set rds0 down" up="ip link set rds0 up" ;;
dev)	down="rdma link del ${dev}0" up="rdma link add ${dev}0 type $dev netdev rds0" ;;
esac
# The notifier that ends connections, with the RTNL held: the times at which it begins and ends are
# traced. The time of ip(8) would include what the ends of all connections take from the processors.
trace=/sys/kernel/tracing
trace_on() {
	echo 'p:many_in rds_dev:link_event' >$trace/kprobe_events &&
		echo 'r:many_out rds_dev:link_event' >>$trace/kprobe_events &&
		echo 1 >$trace/events/kprobes/enable
}
trace_off() {
	echo 0 >$trace/events/kprobes/enable
	echo >$trace/kprobe_events
}

# notifier_ms: print the longest time of the notifier
notifier_ms() {
	awk '{ t = ""; for (i = 2; i <= NF; i++) if ($i ~ /^many_(in|out):$/) { t = $(i - 1) + 0; w = $i } }
		t != "" && w == "many_in:" { from = t }
		t != "" && w == "many_out:" && t - from > most { most = t - from }
		END { printf "%.0f\n", 1000 * most }' $trace/trace
}

# It waits, so it takes some time, too.
held_short() {
	_ms=$(notifier_ms)
	echo "# the notifier took $_ms ms at most"
	[ "$_ms" -gt 0 ] && [ "$_ms" -lt $((100 * ${RDS_SLOW:-1})) ]
}

# many WHAT ARGS...
many() { /usr/bin/python3 -B selftests/rdma/many.py "$@"; }

# shellcheck disable=SC2046
guest_a() {
	[ $way != link ] || trace_on || echo "# no trace"
	check many.again many again $((60 * ${RDS_SLOW:-1})) "$down" "$up" $(addresses 1 "$locals") - $(addresses 2 "$peers")
	if [ $way = link ]; then
		check many.rtnl held_short
		trace_off
	fi
	# These have 5 s each until no neighbour has answered, however fast the host is. So they are
	# through in 16 s, and in 80 s if each keeps its place.
	check many.dead many dead 45 10.8.2.$((peers + 1)) $(addresses 1 20) - $(addresses 3 50)
}

_results=2
[ "$RDS_GUEST" = b ] || _results=4
[ "$RDS_GUEST$way" != alink ] || _results=5
plan $_results
setup && ok many.setup || { not_ok many.setup "see above"; exit 1; }
barrier many-up 120
echo "# $(memory)"
[ "$RDS_GUEST" = b ] || guest_a
barrier many-end 1800
echo "# $(memory)"
"$RDS_BIN/rds-info" -c | grep -E 'rdma_conn|raced' | sed 's/^/# /'
grep -v ' 0$' /proc/net/rds/drops | sed 's/^/# drops: /'
[ "$dev" != rxe ] || echo "# $(rdma_not_taken) packets of rxe were not taken"
unload_stack 60 && ok many.unload || not_ok many.unload "rds_rdma is in use"
exit $LIB_FAILED
