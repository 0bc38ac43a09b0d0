#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# state.sh change|see: change what a guest's lines share, or see that nobody has. The guest must put
# all of it back between two lines of a batch.
. selftests/lib/lib.sh

unchanged() {
	[ "$(cat /proc/sys/net/ipv4/ip_default_ttl)" = 64 ] && [ ! -e /sys/class/net/left0 ] &&
		! ip -o addr show dev lo | grep -q 10.77.0.1 && [ ! -e /tmp/left ] &&
		! grep -q /run/left /proc/mounts && [ ! -e /run/netns/left ]
}

plan 2
case "$1" in
change)
	check state.at_first unchanged
	echo 77 >/proc/sys/net/ipv4/ip_default_ttl
	dmesg -n 1
	ip link add left0 type veth peer name left1
	ip addr add 10.77.0.1/32 dev lo
	ip netns add left
	mkdir -p /run/left && mount -t tmpfs left /run/left
	echo left >/tmp/left
	setsid sleep 1000 &
	check state.changed [ -e /tmp/left ]
	;;
see)
	check state.unchanged unchanged
	check state.processes sh -c '! pgrep -x sleep >/dev/null'
	;;
esac
exit $LIB_FAILED
