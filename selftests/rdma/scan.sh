#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scan.sh siw-netns: an address that comes in one namespace does not make the addresses of others be
# probed. The device serves all namespaces, as an adapter does.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

variant=$1
spaces=60 each=4
events=/sys/kernel/tracing

in_ns() { ip netns exec "$@"; }

# How often rdma_cm was asked for the device of an address
probes() { awk '$1 == "rds_scan_bind" { print $2 }' $events/kprobe_profile; }

namespaces() {
	_n=1
	{
		while [ $_n -le $spaces ]; do
			echo "netns add s$_n"
			echo "link add d$_n netns s$_n type dummy"
			_n=$((_n + 1))
		done
	} | ip -batch - || return 1
	_n=1
	while [ $_n -le $spaces ]; do
		_i=1
		{
			echo "link set d$_n up"
			while [ $_i -le $each ]; do
				echo "addr add 10.9.$_n.$_i/32 dev d$_n"
				_i=$((_i + 1))
			done
		} | ip -n "s$_n" -batch - || return 1
		_n=$((_n + 1))
	done
}

setup() {
	rdma_netns_siw "$variant" || return 1
	echo 'p:rds_scan_bind rdma_bind_addr' >$events/kprobe_events || return 1
	echo 1 >$events/events/kprobes/rds_scan_bind/enable
	rdma_net && rdma_add siw && rdma_ready "$RDS_SELF4" && namespaces
}

# No event tells that all is scanned: the number of probes has not changed for a while.
settled() {
	_was=$(probes)
	sleep 1
	[ "$(probes)" = "$_was" ]
}

# probed NAME MOST CMD...: how many probes CMD brings about
probed() {
	_name=$1 _most=$2
	shift 2
	wait_for 30 settled || { not_ok "$_name" "probes do not end"; return; }
	_from=$(probes)
	"$@"
	wait_for 30 settled
	_d=$(($(probes) - _from))
	echo "# $_name: $_d probes, beside $((spaces * each)) addresses of $spaces namespaces"
	check "$_name" [ $_d -le "$_most" ] && check "$_name.some" [ $_d -ge 1 ]
}

new_address() { ip -n s1 addr add 10.9.200.1/32 dev d1; }
new_link() { ip -n s1 link set d1 down && ip -n s1 link set d1 up; }
new_namespace() {
	ip netns add fresh && ip -n fresh link add d0 type dummy && ip -n fresh link set d0 up &&
		ip -n fresh addr add 10.9.201.1/32 dev d0
}

plan 7
setup || { not_ok scan.setup "see above"; exit 1; }
ok scan.setup
# A socket's bind() is one probe, too; an interface has its IPv4 and IPv6 addresses.
probed scan.address 4 new_address
probed scan.link 40 new_link
probed scan.namespace 12 new_namespace
echo 0 >$events/events/kprobes/rds_scan_bind/enable
echo >$events/kprobe_events
exit $LIB_FAILED
