# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# For test scripts in a guest: results, barriers, waiting, namespaces. A script sources this file
# with the repository's root as working directory, and ends with `exit $LIB_FAILED`.

: "${RDS_TOP:=$PWD}" "${RDS_BIN:=$RDS_TOP/build/bin}"
. "$RDS_TOP/selftests/lib/stack.sh"
LIB_N=0 LIB_FAILED=0

# plan N: announce N results, before the first of them. The plans of a guest's programs add up;
# fewer or more results than that sum fail the case line.
plan() {
	echo "1..$1"
}

# ok NAME
ok() {
	LIB_N=$((LIB_N + 1))
	echo "ok $LIB_N $1"
}

# not_ok NAME REASON...
not_ok() {
	LIB_N=$((LIB_N + 1)) LIB_FAILED=1
	_name=$1
	shift
	echo "not ok $LIB_N $_name # $*"
}

# skip NAME REASON...
skip() {
	LIB_N=$((LIB_N + 1))
	_name=$1
	shift
	echo "ok $LIB_N $_name # SKIP $*"
}

# check NAME CMD...: ok if the command succeeds, otherwise not_ok
check() {
	_name=$1
	shift
	if "$@"; then ok "$_name"; else not_ok "$_name" "exit $? of: $*"; fi
}

# wait_for SECONDS CMD...: repeat CMD until it succeeds; fail after SECONDS * RDS_SLOW
wait_for() {
	_end=$(($(date +%s) + $1 * ${RDS_SLOW:-1}))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt $_end ] || return 1
		sleep 0.05
	done
}

# barrier NAME [SECONDS]: return once both guests have called it with NAME; fail after SECONDS (60)
barrier() {
	"$RDS_BIN/barrier" "$RDS_GUEST" "$RDS_CTLPEER" "$1" "$((${2:-60} * ${RDS_SLOW:-1}))"
}

# ns_for_all NS...: the namespaces are for all users, as the first one is, and as each is in-tree
ns_for_all() {
	for _n in "$@"; do
		ip netns exec "$_n" sh -c 'echo 3 >/proc/sys/net/rds/access' || return 1
	done
}

# ns_pair A B: make two namespaces, connected by a veth pair with the name veth0 at both ends
ns_pair() {
	ip netns add "$1" && ip netns add "$2" || return 1
	ip link add veth0 netns "$1" type veth peer name veth0 netns "$2" || return 1
	ip -n "$1" addr add 10.0.0.1/24 dev veth0
	ip -n "$1" addr add fd00::1/64 dev veth0 nodad
	ip -n "$2" addr add 10.0.0.2/24 dev veth0
	ip -n "$2" addr add fd00::2/64 dev veth0 nodad
	for _n in "$1" "$2"; do
		ip -n "$_n" link set lo up
		ip -n "$_n" link set veth0 up
	done
}
