#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# storm.sh: runs in both guests. Numbered messages of 32 streams go both ways over one path, over two
# and over eight, over a link that loses, doubles and reorders packets, while breaker.py of either
# guest in turn breaks connections, link, address or network. Each message arrives once, in order.
set -u
. selftests/lib/lib.sh

# per stream, and per run
if [ "${RDS_LOAD:-ci}" = full ]; then
	count=10500 breaks=336 limit=3000
elif [ "$RDS_KERNEL" = debug ]; then
	count=20 breaks=8 limit=200
else
	count=100 breaks=18 limit=200
fi
limit=$((limit * ${RDS_SLOW:-1}))

if [ "$RDS_GUEST" = a ]; then
	ctl="--ctl-listen $RDS_CTLSELF"
else
	ctl="--ctl-connect $RDS_CTLPEER"
fi

setting() { echo "$2" >"/proc/sys/net/rds/$1"; }

# addresses N FAMILY A B: addresses of the run, of the two guests
addresses() {
	if [ "$RDS_GUEST" = a ]; then self=$3 peer=$4; else self=$4 peer=$3; fi
	if [ "$2" = 4 ]; then
		prefix=24 self=10.80.$1.$self peer=10.80.$1.$peer
		ip addr add "$self/$prefix" dev rds0
	else
		prefix=64 self=fd80:$1::$self peer=fd80:$1::$peer
		ip addr add "$self/$prefix" dev rds0 nodad
	fi
}

# used PATHS: have the flows made as many connections? Of eight lanes some may have no flow.
used() {
	_dst=$peer
	[ "${peer#*:}" = "$peer" ] || _dst="[$peer]"
	_n=$(ss -Htn state established "dst $_dst and ( dport = 16385 or sport = 16385 )" | wc -l)
	case "$1" in
	8)	[ "$_n" -ge 5 ] && [ "$_n" -le 8 ] ;;
	*)	[ "$_n" = "$1" ] ;;
	esac
}

exchange() {
	timeout $((limit + 20)) "$RDS_BIN/rds-xchg" $ctl,$((7000 + $1)) --port 4000 --label "storm.$1" \
		--timeout "$limit" --stuck "$((60 * ${RDS_SLOW:-1}))" --count $count --seed "$1" \
		--max-len 65536 --max-bytes 400000000000 --streams 16 \
		--sndbuf 1048576 --rcvbuf 67108864 --resets $breaks --breaker /tmp/breaker "$self" "$peer"
}

# run PATHS FAMILY A B: one run between the addresses that end with A and B
run() {
	addresses "$@" || { not_ok "storm.$1" "no address"; return; }
	setting paths "$1"
	barrier "addresses$1"
	wait_for 30 "$RDS_BIN/rds-ping" -c 1 -I "$self" "$peer" >/dev/null || :
	rm -f /tmp/breaker
	python3 selftests/storm/breaker.py /tmp/breaker "$self" "$prefix" "$peer" &
	breaker=$!
	wait_for 60 test -S /tmp/breaker || :
	barrier "breaker$1"
	if exchange "$1"; then
		ok "storm.$1"
	else
		not_ok "storm.$1" "see above"
	fi
	check "storm.$1.paths" wait_for 30 used "$1"
	kill $breaker 2>/dev/null
	wait $breaker
	# If the exchange has failed, the last break may not have been healed.
	ip link set rds0 up
	tc qdisc del dev rds0 root
	tc filter del dev rds0 egress
	tc filter del dev rds0 ingress
	awk '$2 { printf "# dropped: %s\n", $0 }' /proc/net/rds/drops
}

# The kernel patches tc_run() when the first filter comes and when the last one goes, which QEMU does
# not like (stale_int3() of splats.py). So this one stays, on a device that has no traffic.
stay() {
	ip link add stay type dummy
	tc qdisc add dev stay clsact
	tc filter add dev stay ingress matchall action pass
}

plan 6
modprobe -q tcp_diag || :
setting heartbeat_interval_ms 200
sysctl -q -w net.ipv6.conf.rds0.keep_addr_on_down=1
tc qdisc add dev rds0 clsact
stay
barrier up 90
# The smaller address, which dials, is that of either guest.
run 1 4 1 2
run 2 6 2 1
run 8 4 1 2
exit $LIB_FAILED
