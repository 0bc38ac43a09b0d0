#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.sh rxe|siw ORDER TEST...: TEST is WORD[:options of rds-rdmat with commas for blanks]. In a line
# of two guests a is the agent and b the driver, then the other way round; in a line of one guest
# both run there, over two addresses (pair) and over one (self).
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

dev=$1 order=$2
shift 2
port=7000

# drive FAMILY TEST SELF PEER CTL OPTIONS...
drive() {
	_t=$1 _self=$2 _peer=$3 _ctl=$4
	shift 4
	timeout $((200 * ${RDS_SLOW:-1})) "$RDS_BIN/rds-rdmat" "$_t" -c "$_ctl" -d "$dev" "$@" "$_self" "$_peer"
}

# one_guest TEST SELF PEER OPTIONS...
one_guest() {
	_test=$1 _a=$2 _b=$3
	shift 3
	port=$((port + 1))
	drive agent "$_b" "$_a" "127.0.0.1,$port" "$@" &
	drive "$_test" "$_a" "$_b" "127.0.0.1,$port" "$@"
	_rc=$?
	wait
	check "rdma.$_test.done_v$fam" [ $_rc = 0 ]
}

# two_guests TEST DRIVER SELF PEER OPTIONS...
two_guests() {
	_test=$1 _driver=$2 _a=$3 _b=$4
	shift 4
	port=$((port + 1))
	if [ "$RDS_GUEST" = "$_driver" ]; then
		drive "$_test" "$_a" "$_b" "$RDS_CTLPEER,$port" "$@"
	else
		drive agent "$_a" "$_b" "$RDS_CTLSELF,$port" "$@"
	fi
	_rc=$?
	check "rdma.$_test.done_v${fam}_$RDS_GUEST$_driver" [ $_rc = 0 ]
}

# stacks OTHER: the -s option
stacks() { echo "$RDS_STACK,${RDS_PEER_STACK:-$RDS_STACK}"; }

each() {
	_what=${1%%:*} _opts=
	case "$1" in *:*) _opts=$(echo "${1#*:}" | tr , ' ') ;; esac
	for fam in ${RDS_FAMILIES:-4 6}; do
		eval "_me=\$RDS_SELF$fam _you=\$RDS_PEER$fam"
		if [ -n "${RDS_ONE:-}" ]; then
			for _to in "$_you" "$_me"; do
				echo "# $_what over IPv$fam, to $_to"
				# shellcheck disable=SC2086
				one_guest "$_what" "$_me" "$_to" -s "$(stacks)" $_opts
			done
		else
			for _d in a b; do
				echo "# $_what over IPv$fam, driver $_d"
				barrier "$_what$fam$_d$port" 90
				# shellcheck disable=SC2086
				two_guests "$_what" $_d "$_me" "$_you" -s "$(stacks)" $_opts
			done
		fi
	done
}

rdma_up "$dev" "$order" && ok rdma.up || { not_ok rdma.up "see above"; exit 1; }
[ -n "${RDS_ONE:-}" ] || barrier up 90
for t in "$@"; do
	each "$t"
done
[ -n "${RDS_ONE:-}" ] || barrier down 90
rdma_left rdma
exit $LIB_FAILED
