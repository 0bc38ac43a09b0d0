#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# late.sh siw-late: the accepting end of a connection is not told of the peer's first frames
# (selftests/vm/siw-late.sed). A message still arrives: the accepting end gives up, and the path
# connects again. The peer is another address of the host, or the address itself; then both ends of
# the connection belong to one path. And the device places WRITEs late, whose key ends meanwhile:
# the memory of the key is not changed any more. Hosts whose TCP is silent hold up no other device.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

slow=${RDS_SLOW:-1}
late=/sys/module/siw/parameters/late
port=7000

setup() {
	for _m in ib_core ib_uverbs rdma_ucm libcrc32c iw_cm; do
		modprobe $_m 2>/dev/null
	done
	insmod "$RDS_TOP/build/mod/$RDS_KERNEL/$1/siw.ko" && rdma_up siw tcp-first
}

# Number of attempts to connect that failed so far, at either end
failed() { "$RDS_BIN/rds-info" -c | awk '$1 == "rdma_conn_failed" { n = $2 } END { print n + 0 }'; }

# arrives PEER: the first message to PEER, over a connection that is accepted late, is answered, and
# the attempt that was accepted late has failed
arrives() {
	_before=$(failed)
	echo 1 >$late
	"$RDS_BIN/rds-probe" ping 1 "$_me" "$1" $((40000 * slow)) || return 1
	_left=$(cat $late) _more=$(($(failed) - _before))
	echo "# $_left late accepts left, $_more attempts failed, to $1"
	[ "$_left" = 0 ] && [ $_more -ge 1 ]
}

# stays FROM TO: a WRITE that the device places late does not change memory whose key has ended;
# driver and agent run here
stays() {
	port=$((port + 1))
	for _end in "agent $2 $1" "placed $1 $2"; do
		# shellcheck disable=SC2086
		set -- "$1" "$2" $_end
		timeout $((60 * slow)) "$RDS_BIN/rds-rdmat" "$3" -c "127.0.0.1,$port" -d siw -s ours "$4" "$5" &
	done
	wait $!
	_rc=$?
	wait
	return $_rc
}

# Keys ended while a WRITE was placed.
placed_late() { [ "$(cat ${late%late}placed_late)" -gt 0 ]; }

# other_device: an rxe with addresses of its own, and silent hosts
other_device() {
	ip addr add 192.168.61.1/24 dev rds1 && ip addr add 192.168.61.2/24 dev rds1 &&
		modprobe rdma_rxe && rdma link add rxe0 type rxe netdev rds1 &&
		rdma_ready 192.168.61.1 192.168.61.2 && rdma_silent
}

none_asks() { ! grep -q ' 02 ' /proc/net/tcp; }	# a TCP connection in SYN_SENT

# More silent hosts than a queue of work items has workers do not hold up who dials over another
# device.
silent_hosts() {
	other_device || return 1
	# shellcheck disable=SC2046
	/usr/bin/python3 -B selftests/rdma/many.py silent $((12 * slow)) 192.168.61.2 192.168.61.1 \
		"$_me" - $(seq -f 10.77.1.%.0f 200) $(seq -f 10.77.2.%.0f 100)
	_rc=$?
	wait_for 90 none_asks || { echo "# still asking"; _rc=1; }
	rdma link del rxe0
	return $_rc
}

plan $((1 + 4 + 2 + 1 + 1 + $(rdma_left_plan)))
setup "$1" && ok late.up || { not_ok late.up "see above"; exit 1; }
for fam in 4 6; do
	eval "_me=\$RDS_SELF$fam _you=\$RDS_PEER$fam"
	check "late.other_address_v$fam" arrives "$_you"
	check "late.own_address_v$fam" arrives "$_me"
done
eval "_me=\$RDS_SELF4 _you=\$RDS_PEER4"
check late.memory_stays_there stays "$_me" "$_you"
check late.memory_stays_back stays "$_you" "$_me"
check late.placed_late placed_late
check late.silent_hosts silent_hosts
rdma_left late
exit $LIB_FAILED
