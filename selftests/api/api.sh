#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The socket API suite in a guest: `api.sh run [rds-api options]` against the stack that is loaded,
# `api.sh compare` against ours and then in-tree, and comparison of the results.
. selftests/lib/lib.sh

settled() {
	[ -z "$(ip -n A -6 addr show tentative)$(ip -n B -6 addr show tentative)" ]
}

namespaces() {
	ip link set lo up
	ns_pair A B || return 1
	ip -n A addr add 10.0.0.3/32 dev lo
	wait_for 20 settled
}

run_as() {
	RDS_STACK=$1
	export RDS_STACK
	shift
	namespaces || { not_ok api.namespaces "cannot be made"; return 1; }
	[ "$RDS_STACK" != ours ] || ns_for_all A B || { not_ok api.access "cannot be set"; return 1; }
	# shellcheck disable=SC2086
	"$RDS_BIN/rds-api" "$@" ${RDS_ARGS:-}
	_rc=$?
	[ "$RDS_STACK" = ours ] || cut
	ip netns del A
	ip netns del B
	[ "$RDS_STACK" = ours ] || let_go
	return $_rc
}

# A healthy connection of in-tree keeps its namespace alive for good: delete the link, then destroy
# the TCP sockets.
cut() {
	ip -n A link del veth0
	for _n in A B; do
		ip netns exec $_n ss -K -t 'sport = :16385 or dport = :16385' >/dev/null
	done
}

# Each failed bind keeps a reference to in-tree's rds_tcp for good: remove the module by force.
let_go() {
	rmmod -f rds_tcp
	rmmod rds
}

# Ours first: in-tree's failing binds keep references to rds_tcp for good, so that the module cannot
# be unloaded.
compare() {
	for stack in ours intree; do
		load_stack $stack || { not_ok api.load_$stack "cannot be loaded"; return 1; }
		run_as $stack -o "/tmp/api.$stack" | sed 's/^ok/# ok/; s/^not ok/# not ok/; s/^1\.\./# 1../'
		[ $stack = intree ] || unload_stack 60 ||
			{ not_ok api.unload "still loaded"; return 1; }
	done
	python3 selftests/api/compare.py /tmp/api.intree /tmp/api.ours
}

case "$1" in
run)
	shift
	run_as "$RDS_STACK" "$@"
	;;
compare)
	compare
	;;
*)
	echo "usage: api.sh run|compare" >&2
	exit 2
	;;
esac
