#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# netns.sh siw-netns: RDMA between two namespaces other than the initial one, with a siw that serves
# the namespace of its interface (selftests/vm/softdev.sh). After the programs end no RDMA resource
# keeps a namespace.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

variant=$1
slow=${RDS_SLOW:-1}
port=7000

in_ns() { ip netns exec "$@"; }

# host NS DEV OTHER V4 V6: create namespace NS with DEV, its addresses and a siw device
host() {
	ip netns add "$1" && ip link set "$2" netns "$1" || return 1
	ip -n "$1" addr add "$4/24" dev "$2"
	ip -n "$1" addr add "$5/64" dev "$2" nodad
	ip -n "$1" link set lo up
	ip -n "$1" link set "$2" up
	in_ns "$1" rdma link add "siw$1" type siw netdev "$2"
}

setup() {
	rdma_netns_siw "$variant" || return 1
	ip link add ra mtu 4200 type veth peer name rb mtu 4200 || return 1
	host na ra rb 192.168.70.1 fd00:70::1 && host nb rb ra 192.168.70.2 fd00:70::2
}

# addresses FAMILY: set $a and $b, the addresses of the two ends
addresses() {
	if [ "$1" = 4 ]; then a=192.168.70.1 b=192.168.70.2; else a=fd00:70::1 b=fd00:70::2; fi
}

bindable() { in_ns "$1" "$RDS_BIN/rds-rdmat" bind "$2" 2>/dev/null; }

# drive FAMILY TEST DRIVER OPTIONS...: run the agent in one namespace and the driver in the other
drive() {
	addresses "$1"
	_t=$2 _d=$3
	shift 3
	port=$((port + 1))
	if [ "$_d" = a ]; then _x="na $a $b" _y="nb $b $a"; else _x="nb $b $a" _y="na $a $b"; fi
	# shellcheck disable=SC2086
	set -- $_x -- $_y -- "$@"
	_xn=$1 _xs=$2 _xp=$3 _yn=$5 _ys=$6 _yp=$7
	shift 8
	[ "$_d" = a ] && _c=192.168.70.2 || _c=192.168.70.1
	in_ns "$_yn" timeout $((100 * slow)) "$RDS_BIN/rds-rdmat" agent -c "$_c,$port" -d siw -s ours,ours "$@" "$_ys" "$_yp" &
	in_ns "$_xn" timeout $((100 * slow)) "$RDS_BIN/rds-rdmat" "$_t" -c "$_c,$port" -d siw -s ours,ours "$@" "$_xs" "$_xp"
	_rc=$?
	wait
	return $_rc
}

# Each end pings the other's kernel, which answers while a socket is bound there.
pings() {
	in_ns na "$RDS_BIN/rds-probe" ping 10 "$a" "$b" $((20000 * slow)) &
	in_ns nb "$RDS_BIN/rds-probe" ping 10 "$b" "$a" $((20000 * slow))
	_rc=$?
	wait $! && [ $_rc = 0 ]
}

# No program uses RDMA: no RDMA object is left, not even the registrars' ids in these namespaces.
unused() { [ "$(rdma_count cm_id)" = 0 ] && [ "$(rdma_count qp)" = 0 ]; }

check_unused() {
	wait_for 20 unused && ok "$1" && return
	not_ok "$1" "$(rdma_count cm_id) ids, $(rdma_count qp) queue pairs"
	rdma_show
}

gone() { ! rdma link show | grep -q "siw$1"; }

# Nine results for each family, five after them, and those of rdma_left_gone; rds-rdmat plans its own.
plan $((1 + 2 * 9 + 1 + 3 + RDMA_GONE_PLAN))
setup && ok netns.up || { not_ok netns.up "see above"; exit 1; }
for fam in 4 6; do
	addresses $fam
	check "netns.bind_a_v$fam" wait_for 20 bindable na "$a"
	check "netns.bind_b_v$fam" wait_for 20 bindable nb "$b"
	check_unused "netns.unused_after_bind_v$fam"
	for d in a b; do
		check "netns.msg_v${fam}_$d" drive $fam msg $d -n 100
		check "netns.rmem_v${fam}_$d" drive $fam rmem $d
	done
	check "netns.pings_v$fam" pings
	check_unused "netns.unused_v$fam"
done
check "netns.msg_again" drive 4 msg a -n 100
# na is deleted right after its last program ended, nb when no RDMA object was left.
ip netns del na
check netns.a_is_gone wait_for 30 gone na
check_unused netns.unused_b
ip netns del nb
check netns.b_is_gone wait_for 30 gone nb
rdma_left_gone netns
exit $LIB_FAILED
