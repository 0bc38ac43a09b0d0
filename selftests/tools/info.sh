# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rds-info: the headings of all tables, rows of most of them, order and JSON.

# columns NAME LETTER HEADING COLUMNS: the first three lines are exactly an empty line and these
columns() {
	$A rds-info "-$2" >"$T/info" 2>"$T/err"
	_rc=$?
	if [ $_rc -eq 0 ] && [ "$(head -n 3 "$T/info")" = "$(printf '\n%s\n%s' "$3" "$4")" ]; then
		ok "$1"
	else
		not_ok "$1" "exit $_rc: $(head -n 3 "$T/info" | tr '\n' '/') $(cat "$T/err")"
	fi
}

# shows NAME NS LETTERS REGEX: a row that matches appears
shows() {
	_sh_name=$1 _ns=$2 _letters=$3 _re=$4
	if wait_for 10 sh -c "ip netns exec $_ns rds-info -$_letters | grep -Eq -- '$_re'"; then
		ok "$_sh_name"
	else
		not_ok "$_sh_name" "no '$_re' in: $(ip netns exec "$_ns" rds-info "-$_letters" | tr '\n' '/')"
	fi
}

info_headings() {
	plan 8
	_msg='      LocalAddr LPort      RemoteAddr RPort  Tos              Seq      Bytes'
	columns tools.info_T T 'TCP Connections:' \
		'      LocalAddr LPort      RemoteAddr RPort  HdrRemain DataRemain    SentNxt  ExpectUna    SeenUna'
	columns tools.info_c c 'Counters:' '              CounterName            Value'
	columns tools.info_k k 'RDS Sockets:' \
		'      BoundAddr BPort        ConnAddr CPort     SndBuf     RcvBuf    Inode'
	columns tools.info_n n 'RDS Connections:' \
		'      LocalAddr      RemoteAddr  Tos           NextTX           NextRX Flgs'
	columns tools.info_r r 'Receive Message Queue:' "$_msg"
	columns tools.info_s s 'Send Message Queue:' "$_msg"
	columns tools.info_t t 'Retransmit Message Queue:' "$_msg"
	if grep -q '^rds_rdma ' /proc/modules; then
		gives tools.info_I 0 '^RDS IB Connections:$' rds-info -I
	else
		gives tools.info_I 1 'Unable get statistics: Protocol not available' rds-info -I
	fi
}

info_rows() {
	plan 9
	# A receiver that does not read, and a host that does not answer.
	$B rdscat -q -l 10.0.0.2:4700 >/dev/null 2>&1 &
	_stopped=$!
	wait_for 10 bound B 4700
	kill -STOP $_stopped
	$A rdscat -q -w 30 10.0.0.2:4700 </dev/null >/dev/null 2>&1 &
	_one=$!
	$A rdscat -q -w 30 10.0.0.99:4701 </dev/null >/dev/null 2>&1 &
	_two=$!

	shows tools.info_row_socket B k '^ +10\.0\.0\.2  4700         0\.0\.0\.0     0 +[0-9]+ +[0-9]+ +[0-9]+$'
	shows tools.info_row_recv B r '^ +10\.0\.0\.2  4700 +10\.0\.0\.1 +[0-9]+    0 +[0-9]+ +32$'
	shows tools.info_row_send A s '  4701    0 +[0-9]+ +32$'
	shows tools.info_row_conn A n '^ +10\.0\.0\.1 +10\.0\.0\.2    0 +[0-9]+ +[0-9]+ --C-$'
	shows tools.info_row_tcp A T '^ +10\.0\.0\.1 +[0-9]+ +10\.0\.0\.2 +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+$'
	shows tools.info_row_counter A c '^ +send_queued +[1-9][0-9]*$'
	shows tools.info_row_v6 A an '^ +fd00::1 +fd00::2    - +[0-9]+ +[0-9]+ --C-$'

	$B rds-info -a --json >"$T/json" 2>/dev/null
	json tools.info_json "$T/json" 'd["counters"]["recv_queued"] > 0 and
		any(s["bound_addr"] == "10.0.0.2" and s["bound_port"] == 4700 for s in d["sockets"]) and
		any(m["bytes"] == 32 and m["local_port"] == 4700 for m in d["recv_queue"]) and
		any(c["transport"] == "tcp" and c["remote_addr"] == "fd00::1" for c in d["connections"])'
	$A rds-info -cn --json >"$T/json" 2>/dev/null
	json tools.info_json_selected "$T/json" 'set(d) == {"counters", "connections", "errors"} and
		all(c["remote_addr"] != "fd00::2" for c in d["connections"])'
	kill $_one $_two
	kill -KILL $_stopped
	wait $_one $_two $_stopped
}

info_cases() {
	plan 3
	info_headings
	$A rds-info -nTc | grep ':$' >"$T/order1"
	$A rds-info -cTn | grep ':$' >"$T/order2"
	if [ "$(tr '\n' ' ' <"$T/order1")" = 'TCP Connections: Counters: RDS Connections: ' ] &&
	   cmp -s "$T/order1" "$T/order2"; then
		ok tools.info_order
	else
		not_ok tools.info_order "$(cat "$T/order1" "$T/order2" | tr '\n' ' ')"
	fi
	gives tools.info_all 0 '^Retransmit Message Queue:$' ip netns exec A rds-info
	info_rows
	gives tools.hello 0 '^hello, RDS$' rds-hello
}
