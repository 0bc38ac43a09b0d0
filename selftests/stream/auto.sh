#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# auto.sh rxe|siw: what carries a stream, see auto.py. The other end of the link is in the namespace
# "plain", which has no device, and an address of its is behind a gateway.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

dev=$1

# plain_net: the namespace, its addresses, and the route to those that are off-link
plain_net() {
	ip netns add plain && ip link set rds1 netns plain && ip link add other type dummy &&
		ip link set other up || return 1
	for _n in 3 4 5 6 7 8 9; do
		ip -n plain addr add 192.168.60.$_n/24 dev rds1 &&
			ip -n plain addr add fd00:60::$_n/64 dev rds1 nodad || return 1
	done
	ip -n plain addr add 10.60.0.1/32 dev lo && ip -n plain addr add fd00:61::1/128 dev lo &&
		ip -n plain route add local 192.168.64.0/22 dev lo && ip route add 192.168.64.0/22 dev rds0 &&
		ip -n plain link set lo up && ip -n plain link set rds1 up && ip link set lo up &&
		ip route add 10.60.0.1 via 192.168.60.3 && ip -6 route add fd00:61::1 via fd00:60::3 &&
		ip netns exec plain sysctl -qw net.ipv4.ip_local_port_range="33000 60999" &&
		wait_for 20 ping -c 1 -W 1 192.168.60.3 >/dev/null &&
		wait_for 20 ping -c 1 -W 1 fd00:60::3 >/dev/null
}

# Nothing that MPA says came to a port of TCP.
no_mpa() {
	kill "$dump" 2>/dev/null
	wait "$dump" 2>/dev/null
	! grep -q "MPA ID" /run/auto.pcap
}

# Cases that have nothing to show there do not run: auto.py says why.
cases=$((2 * 34 - 1))
[ "$dev" != siw ] || cases=$((2 * 34 - 22))
plan $((4 + cases + STREAM_LEFT_PLAN))
stream_device "$dev" && ok stream.device || { not_ok stream.device "see above"; exit 1; }
stream_module && ok stream.module || { not_ok stream.module "see above"; exit 1; }
check stream.auto_net plain_net
tcpdump -i any -U -w /run/auto.pcap tcp 2>/run/auto.dump &
dump=$!
wait_for 20 grep -q "listening on" /run/auto.dump || echo "# tcpdump does not begin"
# shellcheck disable=SC2086
python3 selftests/stream/auto.py "$dev" 192.168.60.1 192.168.60.2 192.168.60.3 10.60.0.1 ${RDS_ARGS:-} ||
	LIB_FAILED=1
# shellcheck disable=SC2086
python3 selftests/stream/auto.py "$dev" fd00:60::1 fd00:60::2 fd00:60::3 fd00:61::1 ${RDS_ARGS:-} ||
	LIB_FAILED=1
check stream.auto_no_mpa no_mpa
stream_left
exit $LIB_FAILED
