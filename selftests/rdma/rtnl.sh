#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rtnl.sh siw-netns|rxe MOST_MS: an interface goes down, and 500 others that stand on it, each in a
# namespace of its own and with addresses. All that is under one hold of the RTNL, to which RDMA adds
# MOST_MS at most: without connections, and with many over the interface. The kernel's own part is
# measured before rds_rdma is loaded. The guest counts instructions as time, so that the bound means the
# same on any machine.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

variant=$1 most=$2
spaces=500 ends=24
[ "${RDS_LOAD:-ci}" != light ] || { spaces=100 ends=10; }

# vlans FROM TO: namespaces with a VLAN of rds0 each
vlans() {
	_n=$1
	while [ "$_n" -le "$2" ]; do
		echo "netns add v$_n"
		echo "link add v$_n link rds0 netns v$_n type vlan id $_n"
		_n=$((_n + 1))
	done | ip -batch - || return 1
	_n=$1
	while [ "$_n" -le "$2" ]; do
		printf '%s\n' "link set v$_n up" "addr add 10.20.$((_n / 250)).$((_n % 250 + 1))/32 dev v$_n" \
			"addr add 10.21.$((_n / 250)).$((_n % 250 + 1))/32 dev v$_n" | ip -n "v$_n" -batch - || return 1
		_n=$((_n + 1))
	done
}

more_addresses() {
	_n=1
	while [ $_n -le $ends ]; do
		echo "addr add 192.168.61.$_n/24 dev rds0"
		_n=$((_n + 1))
	done | ip -batch -
}

network() { modprobe 8021q && rdma_net && more_addresses && vlans 1 $spaces; }

load() {
	case "$variant" in
	siw-netns)	rdma_netns_siw "$variant" ;;
	*)	rdma_modules "$variant" && rdma_netns_stack ;;
	esac || return 1
	rdma_add "${variant%-netns}" && rdma_ready "$RDS_SELF4" 192.168.61.$ends
}

# measure ADDR...: print the time of link down
measure() { /usr/bin/python3 -B selftests/rdma/rtnl.py 3 $((120 * ${RDS_SLOW:-1})) "$@"; }

# adds NAME MS: what RDMA adds to the time of the kernel alone is within the bound, if that is judged
adds() {
	_d=$(($2 - alone))
	echo "# $1: $2 ms, the kernel alone $alone ms, of at most $most ms more"
	if [ -n "${RDS_JUDGED:-}" ]; then check "$1" [ $_d -lt $most ]; else ok "$1"; fi
}

plan 5
network && ok rtnl.network || { not_ok rtnl.network "see above"; exit 1; }
alone=$(measure) && ok rtnl.alone || { not_ok rtnl.alone "see above"; exit 1; }
load && ok rtnl.loaded || { not_ok rtnl.loaded "see above"; exit 1; }
adds rtnl.idle "$(measure)"
# shellcheck disable=SC2046
adds rtnl.connections "$(measure $(seq -f 192.168.61.%.0f $ends))"
exit $LIB_FAILED
