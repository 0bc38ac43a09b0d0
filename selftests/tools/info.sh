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

# What the kernel may say of streams, with a carrier that does not know all, and a column that
# rds-info does not know
streams_text() {
	cat <<-'END'
		local port remote port carrier way state peer unread unacked queued room new
		::ffff:10.0.0.1 40000 ::ffff:10.0.0.2 8080 rdma out open rds 1 2 3 4 5
		::ffff:10.0.0.1 0 ::ffff:10.0.0.2 8081 tcp in open - 10 20 - - -
		fd00::1 40001 fd00::2 8082 rdma out half-out rsocket 0 0 0 0 0
	END
}

# of_text ARGS...: rds-info in a mount namespace where that is in /proc/net
of_text() {
	streams_text >"$T/streams"
	unshare -m sh -c 'mount -t tmpfs proc /proc && mkdir /proc/net &&
		cp "$T/streams" /proc/net/rds_streams && [ -z "$MORE" ] || echo "$MORE" >>/proc/net/rds_streams
		exec rds-info "$@"' rds-info "$@"
}

info_streams() {
	plan 7
	of_text -S >"$T/info"
	if [ "$(head -n 3 "$T/info")" = "$(printf '\n%s\n%s' 'Streams:' \
		'      LocalAddr LPort      RemoteAddr RPort Carrier Way      State    Peer   Unread  Unacked   Queued')" ]; then
		ok tools.info_S
	else
		not_ok tools.info_S "$(tr '\n' '/' <"$T/info")"
	fi
	says tools.info_S_rdma "$T/info" \
		'^       10\.0\.0\.1 40000        10\.0\.0\.2  8080    rdma out       open     rds        1        2        3$'
	says tools.info_S_tcp "$T/info" \
		'^       10\.0\.0\.1     0        10\.0\.0\.2  8081     tcp  in       open       -       10       20        -$'
	check tools.info_S_v4_only test "$(wc -l <"$T/info")" = 5
	of_text -aSv >"$T/info"
	says tools.info_S_all "$T/info" \
		'^ +fd00::1 40001 +fd00::2  8082    rdma out   half-out rsocket        0        0        0  room=0, new=0$'
	of_text -aS --json >"$T/json"
	json tools.info_S_json "$T/json" '[s["carrier"] for s in d["streams"]] == ["rdma", "tcp", "rdma"] and
		d["streams"][0]["new"] == 5 and d["streams"][0]["remote_port"] == 8080 and
		set(d["streams"][1]) == {"local_addr", "local_port", "remote_addr", "remote_port", "carrier",
		"way", "state", "unread", "unacked"} and d["errors"] == {}'
	MORE='1 2' of_text -S >"$T/info" 2>&1
	says tools.info_S_odd "$T/info" '^rds-info: Unable get statistics: Protocol error \(Streams\)$'
}

info_cases() {
	plan 3
	export T MORE=
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
	info_streams
	gives tools.hello 0 '^hello, RDS$' rds-hello
}
