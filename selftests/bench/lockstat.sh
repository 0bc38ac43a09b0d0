#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# In a guest with the debug kernel: how often each lock of ours is taken per message, while eight
# sockets of one address send to four peers, two sockets to each. Locks that peers share must be
# taken rarely. RDS_ARGS is the number of messages that each socket sends. lockstat.sh N: with N paths
# to each peer, so that most sockets have one of their own; then paths must not share locks either.
. selftests/lib/lib.sh

count=${RDS_ARGS:-1000}
paths=${1:-1}
size=64

peers() {
	ip netns add S || return 1
	ip -n S link set lo up
	ip -n S addr add 10.0.0.1/32 dev lo
	for i in 1 2 3 4; do
		ip netns add P$i &&
			ip link add veth$i netns S type veth peer name veth0 netns P$i || return 1
		ip -n P$i addr add 10.0.$i.2/24 dev veth0
		ip -n P$i link set lo up
		ip -n P$i link set veth0 up
		ip -n P$i route add 10.0.0.1/32 dev veth0
		ip -n S link set veth$i up
		ip -n S route add 10.0.$i.0/24 dev veth$i src 10.0.0.1
	done
	for n in S P1 P2 P3 P4; do
		ip netns exec $n sh -c "echo $paths >/proc/sys/net/rds/paths" || return 1
	done
}

plan 2
if [ ! -e /proc/lock_stat ]; then
	not_ok lockstat.kernel "no /proc/lock_stat: this needs the debug kernel"
	exit 1
fi
peers || { not_ok lockstat.peers "cannot be made"; exit 1; }
for what in stream dialogue; do
	if sent=$("$RDS_BIN/rds-lockload" $what $size "$count"); then
		cp /proc/lock_stat /tmp/lock_stat
		LIB_N=$((LIB_N + 1))
		echo "# connections: $(ip netns exec S ss -tnH 'sport = :16385 or dport = :16385' | wc -l)"
		python3 selftests/bench/lockstat.py $what "$sent" /tmp/lock_stat "$paths" || LIB_FAILED=1
	else
		not_ok lockstat.$what "rds-lockload failed"
	fi
done
exit $LIB_FAILED
