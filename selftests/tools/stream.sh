#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# stream.sh rxe|siw: rdscat --stream, and rds-info of streams, in one guest with two addresses of a
# device.
. selftests/lib/lib.sh
. selftests/tools/common.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

PATH=$RDS_BIN:$PATH
dev=$1
T=$(mktemp -d /tmp/tools.XXXXXX) || exit 1

# listen ADDR:PORT INPUT ARGS...: start the end that listens; its PID is in $rx, its output in $T/got
listen() {
	_at=$1 _input=$2
	shift 2
	rdscat --stream "$@" -l "$_at" <"$_input" >"$T/got" 2>"$T/rx.err" &
	rx=$!
	wait_for 20 all_listen "${_at##*:}"
}

# both NAME ADDR:PORT FILE FILE ARGS...: the files cross, the second one from the end that listens
both() {
	_both=$1 _where=$2 _one=$3 _two=$4
	shift 4
	listen "$_where" "$_two"
	timeout $((60 * slow)) rdscat --stream "$@" "$_where" <"$_one" >"$T/back" 2>"$T/tx.err"
	_txrc=$?
	wait $rx
	_rxrc=$?
	if [ $_txrc -ne 0 ] || [ $_rxrc -ne 0 ]; then
		not_ok "$_both" "exit $_txrc and $_rxrc: $(cat "$T/tx.err" "$T/rx.err" | tr '\n' ' ')"
	elif ! cmp -s "$_one" "$T/got" || ! cmp -s "$_two" "$T/back"; then
		not_ok "$_both" "contents differ"
	elif [ -s "$T/tx.err" ] || [ -s "$T/rx.err" ]; then
		not_ok "$_both" "$(cat "$T/tx.err" "$T/rx.err" | tr '\n' ' ')"
	else
		ok "$_both"
	fi
}

both_cases() {
	plan 7
	head -c 4194304 /dev/urandom >"$T/file"
	head -c 1000003 /dev/urandom >"$T/odd"
	: >"$T/empty"
	echo >"$T/byte"
	both tools.rdscat_stream_v4 "$RDS_PEER4:6001" "$T/file" "$T/odd"
	both tools.rdscat_stream_v6 "[$RDS_PEER6]:6002" "$T/odd" "$T/file"
	both tools.rdscat_stream_one_way "$RDS_PEER4:6003" "$T/file" "$T/empty" -T rdma
	both tools.rdscat_stream_other_way "$RDS_PEER4:6004" "$T/empty" "$T/file"
	both tools.rdscat_stream_small "[$RDS_PEER6]:6005" "$T/byte" "$T/empty" -s "$RDS_SELF6"
	listen 0.0.0.0:6006 "$T/odd"
	rdscat --stream -v "$RDS_PEER4:6006" <"$T/file" >"$T/back" 2>"$T/tx.err"
	ended tools.rdscat_stream_any 0 $rx "$T/rx.err"
	says tools.rdscat_stream_progress "$T/tx.err" '4\.0 MiB of 4\.0 \(100 %\), [0-9.]+ MiB/s'
}

# The end that listens has its input only when its output, which is that of the other end, has ended.
half_closed() {
	plan 4
	mkfifo "$T/input"
	(rdscat --stream -l "$RDS_PEER4:6101" <"$T/input" 2>"$T/rx.err" | sha256sum >"$T/sum") &
	rx=$!
	exec 5>"$T/input"
	wait_for 20 all_listen 6101
	# Not with the descriptor that keeps the pipe open.
	rdscat --stream "$RDS_PEER4:6101" <"$T/file" >"$T/back" 2>"$T/tx.err" 5>&- &
	tx=$!
	check tools.rdscat_stream_half_read wait_for 20 test -s "$T/sum"
	check tools.rdscat_stream_half_sum test "$(cat "$T/sum")" = "$(sha256sum <"$T/file")"
	cat "$T/odd" >&5
	exec 5>&-
	ended tools.rdscat_stream_half_ends 0 $tx "$T/tx.err"
	check tools.rdscat_stream_half_same cmp "$T/odd" "$T/back"
	wait $rx
}

# waits: bytes have come on a connection which its program has not read
waits() { rds-info -S --json | python3 -c 'import json, sys
sys.exit(not any(s["unread"] and s["way"] == "in" for s in json.load(sys.stdin)["streams"]))'; }

# Nobody reads the output for a while: the other end has to wait.
slow_output() {
	plan 2
	mkfifo "$T/output"
	rdscat --stream -l "$RDS_PEER4:6102" </dev/null >"$T/output" 2>"$T/rx.err" &
	rx=$!
	exec 6<>"$T/output"
	wait_for 20 all_listen 6102
	rdscat --stream "$RDS_PEER4:6102" <"$T/file" 2>"$T/tx.err" &
	tx=$!
	wait_for 20 waits
	# As above
	sha256sum <"$T/output" >"$T/sum" 6<&- &
	_sum=$!
	exec 6<&-
	ended tools.rdscat_stream_slow 0 $tx "$T/tx.err"
	wait $rx $_sum
	check tools.rdscat_stream_slow_sum test "$(cat "$T/sum")" = "$(sha256sum <"$T/file")"
}

# under_way PORT: start an endless transfer; the PIDs are in $tx and $rx
under_way() {
	rm -f "$T/endless"
	mkfifo "$T/endless"
	: >"$T/first"
	{ head -c 1 >"$T/first"; exec cat >/dev/null; } <"$T/endless" &
	rdscat --stream -l "$RDS_PEER4:$1" </dev/null >"$T/endless" 2>"$T/rx.err" &
	rx=$!
	wait_for 20 all_listen "$1"
	rdscat --stream "$RDS_PEER4:$1" </dev/zero >"$T/back" 2>"$T/tx.err" &
	tx=$!
	wait_for 20 test -s "$T/first"
}

misfortunes() {
	plan 13
	_gone="$RDS_PEER4:[0-9]+ closed the connection|$RDS_PEER4:[0-9]+: Connection reset by peer"
	under_way 6201
	kill -KILL $rx
	ended tools.rdscat_stream_receiver_killed 1 $tx
	says tools.rdscat_stream_receiver_killed_text "$T/tx.err" "$_gone"
	wait $rx

	under_way 6202
	kill -INT $tx
	ended tools.rdscat_stream_sender_interrupted 130 $tx
	ended tools.rdscat_stream_sender_interrupted_peer 1 $rx
	says tools.rdscat_stream_sender_interrupted_text "$T/rx.err" \
		'^rdscat: receiving from [0-9.]+:[0-9]+: Connection reset by peer$'

	under_way 6203
	kill -TERM $rx
	ended tools.rdscat_stream_receiver_interrupted 143 $rx
	ended tools.rdscat_stream_receiver_interrupted_peer 1 $tx
	says tools.rdscat_stream_receiver_interrupted_text "$T/tx.err" "$_gone"

	rdscat --stream -l "$RDS_PEER4:6204" </dev/null >/dev/full 2>"$T/rx.err" &
	rx=$!
	wait_for 20 all_listen 6204
	rdscat --stream "$RDS_PEER4:6204" </dev/zero >"$T/back" 2>"$T/tx.err"
	_rc=$?
	check tools.rdscat_stream_full_peer test $_rc = 1
	ended tools.rdscat_stream_full 1 $rx
	says tools.rdscat_stream_full_text "$T/rx.err" 'write the output: No space left on device'

	rdscat --stream -l "$RDS_PEER4:6205" </dev/null >"$T/got" 2>"$T/rx.err" &
	rx=$!
	wait_for 20 all_listen 6205
	kill -INT $rx
	ended tools.rdscat_stream_nobody_came 130 $rx
	gives tools.rdscat_stream_nobody 1 \
		"cannot connect to $RDS_PEER4:6206: Connection refused \(is rdscat --stream -l" \
		rdscat --stream "$RDS_PEER4:6206"
}

# A program that says a word and closes the connection, while this end has more to send
closes='import socket, sys
l = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 258)
l.bind((sys.argv[1], 6301))
l.listen(1)
c = l.accept()[0]
c.sendall(b"word")
c.close()'

closed_early() {
	plan 3
	python3 -c "$closes" "$RDS_PEER4" &
	rx=$!
	wait_for 20 all_listen 6301
	rdscat --stream "$RDS_PEER4:6301" </dev/zero >"$T/back" 2>"$T/tx.err" &
	tx=$!
	ended tools.rdscat_stream_closed_early 1 $tx
	says tools.rdscat_stream_closed_early_text "$T/tx.err" \
		"$RDS_PEER4:6301 closed the connection before|$RDS_PEER4:6301: Connection reset by peer"
	wait $rx

	# Neither end has anything to send: the failure is heard of all the same.
	mkfifo "$T/idle"
	exec 5<>"$T/idle"
	listen "$RDS_PEER4:6302" "$T/idle"
	echo text >&5
	rdscat --stream "$RDS_PEER4:6302" <"$T/idle" >"$T/back" 2>"$T/tx.err" &
	tx=$!
	wait_for 20 grep -q text "$T/back" "$T/got"
	kill -INT $rx
	ended tools.rdscat_stream_idle_reset 1 $tx "$T/tx.err"
	exec 5>&-
	wait $rx
}

hints() {
	plan 3
	# An address that no device has
	ip addr add 192.168.61.1/32 dev rds1
	gives tools.rdscat_stream_no_device 1 '^hint: no RDMA device has 192\.168\.61\.1: see rdma link$' \
		rdscat --stream -l 192.168.61.1:6401
	gives tools.rdscat_stream_foreign 1 '^hint: 192\.0\.2\.1 is no address of this host: ' \
		rdscat --stream -l 192.0.2.1:6401
	gives tools.rdscat_stream_no_device_here 1 '^hint: no RDMA device has 192\.168\.61\.1: see rdma link$' \
		rdscat --stream -s 192.168.61.1 "$RDS_PEER4:6401"
}

info_of_streams() {
	plan 8
	rm -f "$T/got4" "$T/got6"
	for _fam in 4 6; do
		eval "_you=\$RDS_PEER$_fam"
		[ $_fam = 4 ] || _you="[$_you]"
		mkfifo "$T/idle$_fam"
		rdscat --stream -l "$_you:650$_fam" </dev/null >"$T/got$_fam" 2>&1 &
		eval "rx$_fam=\$!"
		wait_for 20 all_listen 650$_fam
		rdscat --stream "$_you:650$_fam" <"$T/idle$_fam" >"$T/back" 2>&1 &
		eval "tx$_fam=\$!"
	done
	exec 5>"$T/idle4" 6>"$T/idle6"
	echo text >&5
	echo text >&6
	check tools.info_streams_up wait_for 20 test -s "$T/got4" -a -s "$T/got6"
	_n='[0-9]+' _rest='rdma  in +[a-z-]+ +rds +[0-9]+ +[0-9]+ +[0-9]+'
	gives tools.info_streams_out 0 "^ +$RDS_SELF4 +$_n +$RDS_PEER4 +6504 +rdma out +[a-z-]+ +rds +0 +0 +0$" \
		rds-info -S
	gives tools.info_streams_in 0 "^ +$RDS_PEER4 +$_n +$RDS_SELF4 +$_n +$_rest$" rds-info --streams
	gives tools.info_streams_v6 0 \
		"^ +$RDS_PEER6 +$_n +fd00:60::[12] +$_n +$_rest  room=$_n, credits=$_n, data=$_n, controls=$_n$" \
		rds-info -aSv
	rds-info -aS --json >"$T/json"
	json tools.info_streams_json "$T/json" 'set(d) == {"streams", "errors"} and len(d["streams"]) == 4 and
		sum(s["remote_port"] in (6504, 6506) and s["way"] == "out" and s["carrier"] == "rdma" and
		s["room"] > 0 and "controls" in s for s in d["streams"]) == 2'
	rds-info -SC --json >"$T/json"
	json tools.info_streams_counters "$T/json" 'len(d["streams"]) == 2 and
		d["stream_counters"]["stream_bytes_in"] > 4194304 and
		d["stream_counters"]["stream_connections"] == 4'
	gives tools.info_streams_nobody 1 '^rds-info: Unable get statistics: Permission denied \(Streams\)$' \
		setpriv --reuid 65534 --regid 65534 --clear-groups rds-info -S
	gives tools.info_counters_nobody 0 '^ +stream_connected +[1-9][0-9]*$' \
		setpriv --reuid 65534 --regid 65534 --clear-groups rds-info --stream-counters
	exec 5>&- 6>&-
	wait "$rx4" "$tx4" "$rx6" "$tx6"
}

example() {
	plan 2
	rds-stream server "$RDS_PEER6" 6600 >"$T/example" 2>&1 &
	rx=$!
	wait_for 20 all_listen 6600
	gives tools.stream_example 0 '^hello, stream$' rds-stream client "$RDS_PEER6" 6600
	ended tools.stream_example_server 0 $rx "$T/example"
}

plan $((2 + STREAM_LEFT_PLAN))
stream_device "$dev" && ok tools.stream_device || { not_ok tools.stream_device "see above"; exit 1; }
stream_module && ok tools.stream_module || { not_ok tools.stream_module "see above"; exit 1; }
both_cases
half_closed
slow_output
misfortunes
closed_early
hints
info_of_streams
example
stream_left
rm -rf "$T"
exit $LIB_FAILED
