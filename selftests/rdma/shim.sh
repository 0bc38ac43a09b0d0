#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shim.sh rxe|siw GROUP...: a software device that rds_shim.ko makes behave like other adapters.
# Groups: limits, refuse, events, keys, nomem, late, unanswered. Both ends are in this guest. The
# shim is loaded before rds_rdma, so that rds_rdma sees what it has changed; a device is removed and
# added for other limits.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

dev=$1
shift
slow=${RDS_SLOW:-1}
shim=/sys/module/rds_shim/parameters
port=7000

setup() {
	rdma_modules "$dev" && insmod "$RDS_TOP/build/mod/$RDS_KERNEL/testko/rds_shim.ko" || return 1
	rdma_up "$dev" tcp-first
}

# shim_is NAME=VALUE...: write parameters
shim_is() {
	for _p in "$@"; do
		echo "${_p#*=}" >"$shim/${_p%%=*}" || return 1
	done
}

limits_none() {
	shim_is max_send_sge=0 max_recv_sge=0 max_sge_rd=0 max_qp_wr=0 max_cqe=0 max_rd_atom=0 no_lkey=0 \
		announce_masked=0 max_mr=0
}

# device NAME=VALUE...: the device comes anew, with these limits and no others
device() {
	limits_none && shim_is "$@" && rdma_del "$dev" && rdma_add "$dev" || return 1
	rdma_ready "$RDS_SELF4" "$RDS_PEER4" "$RDS_SELF6"
}

# run WORD [SELF PEER]: a test of rds-rdmashim
run() {
	timeout $((100 * slow)) "$RDS_BIN/rds-rdmashim" "$1" "${2:-$RDS_SELF4}" "${3:-$RDS_PEER4}"
}

# with WORD NAME=VALUE...: the same with a device of these limits
with() {
	_word=$1
	shift
	device "$@" && run "$_word"
}

# The device is not offered, and the log says why.
not_offered() {
	limits_none && shim_is "$@" && rdma_del "$dev" || return 1
	_lines=$(dmesg | grep -c "rds_dev: ${dev}0")
	rdma_add "$dev" || return 1
	wait_for 20 said_more "$_lines" || return 1
	! "$RDS_BIN/rds-rdmat" bind "$RDS_SELF4" 2>/dev/null
}
said_more() { [ "$(dmesg | grep -c "rds_dev: ${dev}0")" -gt "$1" ]; }

# one_guest TEST SELF PEER: a test of rds-rdmat, driver and agent here
one_guest() {
	port=$((port + 1))
	for _end in "agent $3 $2" "$1 $2 $3"; do
		# shellcheck disable=SC2086
		set -- "$1" "$2" "$3" $_end
		timeout $((200 * slow)) "$RDS_BIN/rds-rdmat" "$4" -c "127.0.0.1,$port" -d "$dev" -s ours,ours \
			-n 200 "$5" "$6" &
	done
	wait $!
	_rc=$?
	wait
	return $_rc
}

usual="msg rmem flags atomic"
all_usual() {
	for _t in $usual; do
		check "shim.$1.$_t" one_guest "$_t" "$RDS_SELF4" "$RDS_PEER4"
	done
}

count() { cat "$shim/$1"; }

limits_plan=8
limits() {
	check shim.send_sge_3 with works max_send_sge=3 max_sge_rd=1
	check shim.recv_sge_1 with works max_recv_sge=1
	check shim.recv_sge_1_v6 run works "$RDS_SELF6" "$RDS_PEER6"
	check shim.few_wr with works max_qp_wr=48 max_cqe=128
	check shim.no_lkey with works no_lkey=1
	check shim.all_small with works max_send_sge=3 max_recv_sge=1 max_sge_rd=1 max_qp_wr=48 \
		max_cqe=128 max_rd_atom=1 no_lkey=1
	check shim.too_few_sge not_offered max_send_sge=2
	check shim.too_few_wr not_offered max_qp_wr=8
	device
}

# siw announces no atomic operations.
refuse_plan=4
[ "$dev" = rxe ] || refuse_plan=2
refuse() {
	check shim.key run key
	# The WRITE of this test needs a new connection.
	device
	[ "$dev" = rxe ] || { check shim.sink run sink; return; }
	check shim.atomic run atomic
	check shim.masked with masked announce_masked=1
	device
	check shim.atomic_key run atomic_key
	device
}

events_plan=3
events() {
	check shim.fatal run fatal
	check shim.port_err run port_err
	check shim.harmless run harmless
}

# Keys of another user of the device count, too.
quota() {
	_twin=$RDS_TOP/build/mod/$RDS_KERNEL/testko/rds_twin.ko
	device max_mr=16 && insmod "$_twin" || return 1
	echo "key $RDS_PEER4" >/sys/module/rds_twin/parameters/run && run quota
	_rc=$?
	rmmod rds_twin
	return $_rc
}

keys_plan=5
[ "$dev" = siw ] || keys_plan=4
keys() {
	check shim.busy run busy
	# The device ends the key when it goes.
	device
	check shim.rkeys run rkeys
	check shim.quota quota
	[ "$dev" != siw ] || check shim.invalidated run invalidated
	# No connection has the key for confirming READs yet.
	device
	check shim.registrar run registrar
}

nomem_plan=1
nomem() { check shim.nomem run nomem; }

late_plan=$((2 * 4 + 2))
late() {
	shim_is late_ms=8
	all_usual late
	shim_is late_ms=0 hard_irq=1
	all_usual hard
	shim_is hard_irq=0
	check "shim.was_late # $(count late)" [ "$(count late)" -gt 100 ]
	check "shim.was_hard # $(count hard)" [ "$(count hard)" -gt 100 ]
}

# With iw_mute.ko no queue pair is flushed that was not connected. The close of a path or stream does
# not wait for the answer of a host, which is silent: the path dials again, and the stream ends.
mute=/sys/module/iw_mute/parameters
two_ask() { [ "$(cat $mute/asking)" -ge 2 ]; }
none_asks() { [ "$(cat $mute/asking)" = 0 ]; }

dials_again() {
	"$RDS_BIN/rds-probe" ping 1 "$RDS_SELF4" 10.77.1.1 $((60000 * slow)) 2>/dev/null &
	wait_for 60 two_ask
	_rc=$?
	kill $!
	return $_rc
}

# stream_fails ERROR ADDR: connect() says so, which the end of the queue pair precedes
stream_fails() {
	timeout $((60 * slow)) /usr/bin/python3 -c '
import errno, socket, sys
try:
    socket.socket(21, socket.SOCK_STREAM).connect((sys.argv[2], 7471))
except OSError as e:
    sys.exit(errno.errorcode[e.errno] != sys.argv[1])
sys.exit("it has connected")' "$@"
}

unanswered_plan=5
unanswered() {
	load_stack "$RDS_STACK" rds_stream && insmod "$RDS_TOP/build/mod/$RDS_KERNEL/testko/iw_mute.ko" &&
		rdma_silent
	check shim.silent_dialled_again dials_again
	check shim.silent_stream_ends stream_fails ETIMEDOUT 10.77.1.2
	check shim.silent_stream_refused stream_fails ECONNREFUSED "$RDS_PEER4"
	check shim.silent_over wait_for 60 none_asks
	rmmod rds_stream
	check shim.silent_works run works
}

sum=1
for g in "$@"; do
	eval "sum=\$((sum + ${g}_plan))"
done
plan $((sum + $(rdma_left_plan)))
setup && ok shim.up || { not_ok shim.up "see above"; exit 1; }
for g in "$@"; do
	$g
done
rdma_left shim
exit $LIB_FAILED
