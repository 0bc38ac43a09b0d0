#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The smallest run: the modules under test are loaded, and two namespaces reach each other by ICMP
# and by RDS, over IPv4 and IPv6.
. selftests/lib/lib.sh

# under_test: are rds and rds_tcp loaded, from the files of the line's stack?
under_test() {
	_found=0
	for _w in $(stack_files "$RDS_STACK"); do
		case "$_w" in
		rds:*|rds_tcp:*) _found=$((_found + 1)) ;;
		*) continue ;;
		esac
		echo "# ${_w%%:*}: loaded $(loaded_identity "${_w%%:*}"), file ${_w#*:}"
		[ "$(loaded_identity "${_w%%:*}")" = "${_w#*:}" ] || return 1
	done
	[ $_found = 2 ]
}

# both FAMILY ADDR_A ADDR_B
both() {
	check "basic.ping$1" ip netns exec A ping -q -c 1 -W $((2 * ${RDS_SLOW:-1})) "$3"
	check "basic.rds_ping$1" ip netns exec A "$RDS_BIN/rds-smoke" "$2" "$3" $((10 * ${RDS_SLOW:-1}))
}

# The modules, and for each family a ping of ICMP and one of RDS
plan $((1 + 2 * 2))
check basic.loaded under_test
ns_pair A B
both 4 10.0.0.1 10.0.0.2
both 6 fd00::1 fd00::2
exit $LIB_FAILED
