# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdscat: files arrive unchanged, and each end reports the failure of the other.

# listen ADDR:PORT ARGS...: start a receiver in B and wait until it is bound; its PID is in $rx, its
# output in $T/got
listen() {
	_at=$1
	shift
	$B rdscat "$@" -l "$_at" >"$T/got" 2>"$T/rx.err" &
	rx=$!
	wait_for 10 bound B "${_at##*:}"
}

# transfer NAME ADDR:PORT FILE: both ends succeed, and the contents are the same
transfer() {
	listen "$2"
	$A timeout $((60 * ${RDS_SLOW:-1})) rdscat "$2" <"$3" 2>"$T/tx.err"
	_txrc=$?
	wait $rx
	_rxrc=$?
	if [ $_txrc -ne 0 ] || [ $_rxrc -ne 0 ]; then
		not_ok "$1" "exit $_txrc and $_rxrc: $(cat "$T/tx.err" "$T/rx.err" | tr '\n' ' ')"
	elif [ "$(sha256sum <"$3")" != "$(sha256sum <"$T/got")" ]; then
		not_ok "$1" "contents differ"
	else
		ok "$1"
	fi
}

# under_way PORT ARGS...: start an endless transfer; the PIDs are in $tx and $rx. The output is
# discarded: a fast guest would fill its memory while the next command of this script starts.
under_way() {
	_p=$1
	shift
	: >"$T/got"
	rm -f "$T/endless"
	mkfifo "$T/endless"
	{ head -c 1 >"$T/got"; exec cat >/dev/null; } <"$T/endless" &
	$B rdscat "$@" -l "10.0.0.2:$_p" >"$T/endless" 2>"$T/rx.err" &
	rx=$!
	wait_for 10 bound B "$_p"
	$A rdscat "$@" "10.0.0.2:$_p" </dev/zero 2>"$T/tx.err" &
	tx=$!
	wait_for 10 test -s "$T/got"
}

rdscat_misfortunes() {
	plan 22
	under_way 6101 -w 1.5
	kill -KILL $rx
	ended tools.rdscat_receiver_killed 1 $tx
	says tools.rdscat_receiver_killed_text "$T/tx.err" '10\.0\.0\.2:6101 stopped answering'
	wait $rx

	under_way 6102 -w 1.5
	kill -KILL $tx
	ended tools.rdscat_sender_killed 1 $rx
	says tools.rdscat_sender_killed_text "$T/rx.err" '10\.0\.0\.1:[0-9]+ vanished'
	wait $tx

	under_way 6103
	kill -INT $tx
	ended tools.rdscat_sender_interrupted 130 $tx
	ended tools.rdscat_sender_interrupted_peer 1 $rx
	says tools.rdscat_sender_interrupted_text "$T/rx.err" 'the sender was interrupted'

	under_way 6104
	kill -TERM $rx
	ended tools.rdscat_receiver_interrupted 143 $rx
	ended tools.rdscat_receiver_interrupted_peer 1 $tx
	says tools.rdscat_receiver_interrupted_text "$T/tx.err" 'the receiver was interrupted'

	under_way 6105
	gives tools.rdscat_busy 1 'the receiver is busy with another transfer' \
		ip netns exec A rdscat 10.0.0.2:6105
	kill -KILL $rx
	wait $rx
	listen 10.0.0.2:6105
	ended tools.rdscat_receiver_restarted 1 $tx
	says tools.rdscat_receiver_restarted_text "$T/tx.err" 'does not know this transfer'
	kill $rx
	wait $rx

	$B rdscat -l 10.0.0.2:6106 >/dev/full 2>"$T/rx.err" &
	rx=$!
	wait_for 10 bound B 6106
	gives tools.rdscat_full_peer 1 'cannot write its output: No space left on device' \
		ip netns exec A sh -c 'echo text | rdscat 10.0.0.2:6106'
	ended tools.rdscat_full 1 $rx
	says tools.rdscat_full_text "$T/rx.err" 'write the output: No space left on device'

	gives tools.rdscat_nobody 1 'no answer from 10\.0\.0\.2:6107' \
		ip netns exec A rdscat -w 1 10.0.0.2:6107
	gives tools.rdscat_unreachable 1 'no answer from 10\.0\.0\.99:6107' \
		ip netns exec A rdscat -w 1 10.0.0.99:6107
	gives tools.rdscat_no_input 1 'standard input is closed' \
		ip netns exec A sh -c 'rdscat 10.0.0.2:6108 <&-'
	gives tools.rdscat_no_output 1 'standard output is closed' \
		ip netns exec A sh -c 'rdscat -l 10.0.0.1:6108 >&-'
	listen 10.0.0.2:6108
	$A rdscat 10.0.0.2:6108 </ 2>"$T/tx.err"
	ended tools.rdscat_no_file_peer 1 $rx
	says tools.rdscat_no_file "$T/tx.err" 'reading the input: Is a directory'
}

rdscat_patience() {
	plan 5
	# Silence for longer than the limit, at either end: neither end is dead.
	_w=${RDS_SLOW:-1}
	listen 10.0.0.2:6201 -w "$_w"
	$A sh -c "(echo one; sleep $((2 * _w)); echo two) | rdscat -w $_w 10.0.0.2:6201"
	ended tools.rdscat_slow_input 0 $rx
	if [ "$(cat "$T/got")" = "$(printf 'one\ntwo')" ]; then
		ok tools.rdscat_slow_input_text
	else
		not_ok tools.rdscat_slow_input_text "$(cat "$T/got")"
	fi
	$B sh -c "rdscat -w $_w -l 10.0.0.2:6202 2>/dev/null | (sleep $((2 * _w)); sha256sum)" >"$T/sum" &
	rx=$!
	wait_for 10 bound B 6202
	$A rdscat -w "$_w" 10.0.0.2:6202 <"$T/file" 2>"$T/tx.err"
	_rc=$?
	wait $rx
	if [ $_rc -eq 0 ] && [ "$(cat "$T/sum")" = "$(sha256sum <"$T/file")" ]; then
		ok tools.rdscat_slow_output
	else
		not_ok tools.rdscat_slow_output "exit $_rc: $(cat "$T/tx.err" "$T/sum")"
	fi
	# Progress is written to stderr, and without -v only to a terminal.
	listen 10.0.0.2:6203
	$A rdscat -v 10.0.0.2:6203 <"$T/file" >"$T/out" 2>"$T/tx.err"
	wait $rx
	says tools.rdscat_progress "$T/tx.err" '16\.0 MiB of 16\.0 \(100 %\), [0-9.]+ MiB/s'
	if [ -s "$T/out" ] || [ -s "$T/rx.err" ]; then
		not_ok tools.rdscat_quiet "$(cat "$T/out" "$T/rx.err")"
	else
		ok tools.rdscat_quiet
	fi
}

# stuck: the sender's namespace has an RDS connection that has sent bytes again, unacknowledged. Bytes
# that were under way when the link began to lose packets are acknowledged before they are sent again.
stuck() {
	$A ss -tnoH state established '( sport = :16385 or dport = :16385 )' |
		grep -q 'timer:(on,[^,]*,[1-9]'
}

# cut_part: feed a part of the input to a link that loses all packets, and destroy the connection
# when bytes are stuck. The link works again before the rest of the part is sent, and after the
# receiver's end is destroyed, which would else be that of the sender's next connection.
cut_part() {
	tc -n A qdisc add dev veth0 root netem loss 100%
	cat "$T/part" >&4 &
	_feed=$!
	if wait_for 20 stuck; then
		_n=$($A ss -KtnH dst 10.0.0.2 '( sport = :16385 or dport = :16385 )' |
			awk '$3 > 0' | wc -l)
		[ "$_n" -eq 0 ] || _resets=$((_resets + 1))
	fi
	$B ss -KtnH dst 10.0.0.1 '( sport = :16385 or dport = :16385 )' >/dev/null
	tc -n A qdisc del dev veth0 root
	wait $_feed
}

# The TCP connection is reset repeatedly, and everything arrives. The input comes in parts, with a
# reset in each but the first, so that no transfer is too fast to be cut.
rdscat_resets() {
	plan 4
	listen 10.0.0.2:6301
	head -c 4194304 "$T/file" >"$T/part"
	mkfifo "$T/parts"
	$A rdscat 10.0.0.2:6301 <"$T/parts" 2>"$T/tx.err" &
	tx=$!
	exec 4>"$T/parts"
	cat "$T/part" >&4
	_resets=0
	for _part in 1 2 3 4 5; do
		cut_part
	done
	exec 4>&-
	ended tools.rdscat_resets_sender 0 $tx
	ended tools.rdscat_resets_receiver 0 $rx
	check tools.rdscat_resets_made [ $_resets -eq 5 ]
	if cat "$T/part" "$T/part" "$T/part" "$T/part" "$T/part" "$T/part" | cmp -s - "$T/got"; then
		ok tools.rdscat_resets
	else
		not_ok tools.rdscat_resets "$(cat "$T/tx.err" "$T/rx.err" | tr '\n' ' ')"
	fi
}

rdscat_cases() {
	plan 5
	head -c 16777216 /dev/urandom >"$T/file"
	: >"$T/empty"
	head -c 1 /dev/urandom >"$T/byte"
	head -c 1000003 /dev/urandom >"$T/odd"
	transfer tools.rdscat_v4 10.0.0.2:6001 "$T/file"
	transfer tools.rdscat_v6 '[fd00::2]:6002' "$T/file"
	transfer tools.rdscat_empty 10.0.0.2:6003 "$T/empty"
	transfer tools.rdscat_byte 10.0.0.2:6004 "$T/byte"
	transfer tools.rdscat_odd '[fd00::2]:6005' "$T/odd"
	rdscat_misfortunes
	rdscat_patience
	rdscat_resets
}
