#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# An external transport module (rds_test.ko) registers, carries messages and unloads.
set -u
. selftests/lib/lib.sh

# Errors of __rds_transport_register(): version, size, op missing, name too long, slot taken
WANT_REFUSED=-93,-93,-22,-22,-17

in_ns() {
	_ns=$1
	shift
	ip netns exec "$_ns" "$@"
}

loaded() {
	insmod "$RDS_TOP/build/mod/$RDS_KERNEL/testko/rds_test.ko"
}

refusals() {
	_got=$(cat /sys/module/rds_test/parameters/refused) || return 1
	[ "$_got" = $WANT_REFUSED ] || { echo "# refused: $_got, not $WANT_REFUSED"; return 1; }
}

settled() {
	[ -z "$(ip -n A -6 addr show tentative)$(ip -n B -6 addr show tentative)" ]
}

# uses NS PEER: NS has connections to the peer, all of them over the test transport
uses() {
	in_ns "$1" "$RDS_BIN/rds-info" --json -n >/tmp/uses
	python3 -c '
import json, sys
rows = [r for t in json.load(sys.stdin).values() if isinstance(t, list) for r in t]
mine = [r for r in rows if sys.argv[1] in r.values()]
print("# connections to %s: %s" % (sys.argv[1], mine))
sys.exit(not mine or any(r["transport"] != "test" for r in mine))
' "$2" </tmp/uses
}

ping_all() {
	in_ns A "$RDS_BIN/rds-smoke" 10.0.0.1 10.0.0.2 10 &&
		in_ns B "$RDS_BIN/rds-smoke" 10.0.0.2 10.0.0.1 10 &&
		in_ns A "$RDS_BIN/rds-smoke" fd00::1 fd00::2 10 &&
		in_ns B "$RDS_BIN/rds-smoke" fd00::2 fd00::1 10
}

# copy FROM TO SOURCE ADDR: send a file from namespace FROM to TO and compare it there
copy() {
	rm -f /tmp/out
	ip netns exec "$2" "$RDS_BIN/rdscat" -w 20 -l "$4:4000" >/tmp/out &
	_pid=$!
	wait_for 20 sh -c "ip netns exec $2 $RDS_BIN/rds-info -k | grep -q ' 4000 '" || return 1
	in_ns "$1" "$RDS_BIN/rdscat" -w 20 -s "$3" "$4:4000" </tmp/in && wait $_pid &&
		cmp /tmp/in /tmp/out
}

# The test transport uses no network: copy a file while the link is down.
copy_unplugged() {
	ip -n A link set veth0 down
	copy A B 10.0.0.1 10.0.0.2
	_rc=$?
	ip -n A link set veth0 up
	return $_rc
}

# deviates FILE: each planned case has a result, no case failed but those in the file deviations,
# and none of those passed. Cases that this kernel does not run are not planned.
deviates() {
	awk 'NR == FNR { if ($0 !~ /^#/) want[$1] = 1; next }
		/^1\.\./ { planned = substr($0, 4) }
		/^ok / { passed++; seen = $3 in want }
		/^not ok / { failed++; seen = !($4 in want) }
		/^(not )?ok / && seen { print "# unexpected: " $0; bad = 1 }
		END {
			printf "# %d cases of the API suite passed, %d deviated, %d planned\n", passed, failed,
				planned
			exit bad || !passed || passed + failed != planned
		}' selftests/transport/deviations "$1"
}

# The whole socket API suite over the test transport. The suite exits with 1 because of the cases
# that deviate, also if it is cut short; a suite that was killed exits with another status.
api() {
	ip link set lo up
	ip -n A addr add 10.0.0.3/32 dev lo
	ns_for_all A B || return 1
	"$RDS_BIN/rds-api" >/tmp/api
	_rc=$?
	[ $_rc -eq 1 ] || { echo "# exit status $_rc of the API suite"; return 1; }
	deviates /tmp/api
}

# Messages wait until the path can connect; then a call of the transport gets as many of them as one
# transmitter may send, and the congestion map, and all come.
batches() {
	_most=$(cat /sys/module/rds/parameters/send_batch_count)
	echo 0 >/sys/module/rds_test/parameters/most
	ip -n B addr add 10.0.0.9/32 dev lo
	python3 selftests/transport/batches.py A 10.0.0.1 B 10.0.0.9 $((5 * _most)) || return 1
	_got=$(cat /sys/module/rds_test/parameters/most)
	echo "# up to $_got of $((5 * _most)) messages at once"
	[ "$_got" -le $((_most + 1)) ] && [ "$_got" -ge "$_most" ]
}

busy() {
	ip netns exec A "$RDS_BIN/rdscat" -l 10.0.0.1:4001 >/dev/null &
	_pid=$!
	wait_for 20 sh -c "ip netns exec A $RDS_BIN/rds-info -k | grep -q ' 4001 '"
	rmmod rds_test 2>/dev/null
	_rc=$?
	kill $_pid
	wait $_pid 2>/dev/null
	[ $_rc -ne 0 ]
}

gone() {
	rmmod rds_test 2>/dev/null
}

plan 12
check transport.load loaded
check transport.refusals refusals
ns_pair A B && wait_for 20 settled || not_ok transport.namespaces "cannot be made"
check transport.ping ping_all
check transport.name uses A 10.0.0.2
check transport.api api
head -c 3000000 /dev/urandom >/tmp/in
check transport.copy_a copy A B 10.0.0.1 10.0.0.2
check transport.copy_b copy B A 10.0.0.2 10.0.0.1
check transport.copy_unplugged copy_unplugged
check transport.batches batches
check transport.busy busy
# Remove one namespace, and then the module, while their connection is up.
check transport.ping_again in_ns A "$RDS_BIN/rds-smoke" 10.0.0.1 10.0.0.2 10
ip netns del B
check transport.unload wait_for 20 gone
ip netns del A
exit $LIB_FAILED
