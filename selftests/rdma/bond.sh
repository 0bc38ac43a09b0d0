#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bond.sh: guest a has its addresses on a bond of two interfaces, with an RDMA device on each. While
# messages go both ways the bond fails over, so that the same address leads to the other device.
# With RDMA_ALTERED=rxe-bond, as Debian's rxe drops what comes in over a bond.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

slow=${RDS_SLOW:-1}
# Number of times that the bond fails over, and messages in each direction
turns=6 count=6000
RDMA_DEV=rxe

# bond_net: guest a: bond0 over va1 and va2, whose other ends and rds0 are ports of one bridge
bond_net() {
	modprobe bonding && modprobe bridge || return 1
	ip addr flush dev rds0
	ip link add br0 type bridge && ip link set rds0 mtu 4200 master br0 || return 1
	ip link add bond0 mtu 4200 type bond mode active-backup || return 1
	for _i in 1 2; do
		ip link add va$_i mtu 4200 type veth peer name vb$_i mtu 4200 || return 1
		ip link set vb$_i master br0 up
		ip link set va$_i master bond0 || return 1
	done
	echo 1 >/proc/sys/net/ipv6/conf/bond0/keep_addr_on_down
	ip link set br0 up
	ip link set bond0 mtu 4200 up
	ip addr add "$RDS_SELF4/24" dev bond0
	ip addr add "$RDS_SELF6/64" dev bond0 nodad
}

setup() {
	if [ "$RDS_GUEST" = a ]; then bond_net; else rdma_net; fi || return 1
	rdma_modules rxe || return 1
	if [ "$RDS_GUEST" = a ]; then
		rdma link add rxe1 type rxe netdev va1 && rdma link add rxe2 type rxe netdev va2
	else
		rdma_add rxe
	fi || return 1
	rdma_stack tcp-first && rdma_ready "$RDS_SELF4" "$RDS_SELF6"
}

# exchange FAMILY SELF PEER: this end of the exchange
exchange() {
	if [ "$RDS_GUEST" = a ]; then _ctl="--ctl-listen $RDS_CTLSELF"; else _ctl="--ctl-connect $RDS_CTLPEER"; fi
	# shellcheck disable=SC2086
	timeout $((140 * slow)) "$RDS_BIN/rds-xchg" $_ctl,$((7000 + $1)) --port 400$1 \
		--label "bond.xchg_v$1@$RDS_GUEST" --count $count --max-len 65536 --flat \
		--timeout $((120 * slow)) --stuck $((30 * slow)) "$2" "$3"
}

active() { cat /sys/class/net/bond0/bonding/active_slave; }

# over N: connections are up over device rxeN
over() { rdma resource show qp link "rxe$1/1" | grep '\[rdma_cm\]' | grep -q 'state RTS'; }

# fail_over: turns times, as soon as connections are up over the active slave's device
fail_over() {
	_n=1 _worst=0
	while [ $_n -le $turns ]; do
		wait_for 20 over $((2 - _n % 2)) || { echo "# no connection over rxe$((2 - _n % 2))"; return 1; }
		ip link set bond0 type bond active_slave "va$((1 + _n % 2))" || return 1
		_from=$(cut -d ' ' -f 1 /proc/uptime)
		wait_for 20 over $((1 + _n % 2)) || { echo "# no connection over rxe$((1 + _n % 2))"; return 1; }
		_to=$(cut -d ' ' -f 1 /proc/uptime)
		echo "# failover $_n to $(active): up again after $(echo "$_to $_from" | awk '{ printf "%.2f", $1 - $2 }') s"
		_n=$((_n + 1))
	done
}

# still: an exchange is under way
still() { kill -0 "$xchg" 2>/dev/null; }

# family F SELF PEER
family() {
	exchange "$1" "$2" "$3" &
	xchg=$!
	if [ "$RDS_GUEST" = a ]; then
		check "bond.fails_over_v$1" fail_over
		check "bond.under_load_v$1" still
	fi
	check "bond.exchange_v$1" wait $xchg
	barrier "bond-$1" 120
}

if [ "$RDS_GUEST" = a ]; then plan $((1 + 2 * 3)); else plan $((1 + 2)); fi
setup || { not_ok bond.setup "see above"; exit 1; }
ok bond.setup
barrier bond-setup 120
family 4 "$RDS_SELF4" "$RDS_PEER4"
family 6 "$RDS_SELF6" "$RDS_PEER6"
exit $LIB_FAILED
