# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rds-stress: runs between the namespaces, and against a peer that knows only the documented bytes.

# pair NAME PORT ARGS...: an active side in A and a passive one in B, in the background
pair() {
	_p=$1 _port=$2
	shift 2
	$B rds-stress -p "$_port" >"$T/$_p.passive" 2>&1 &
	eval "${_p}_passive=$!"
	$A rds-stress -r 10.0.0.1 -s 10.0.0.2 -p "$_port" --connect-retries 20 "$@" \
		>"$T/$_p.active" 2>&1 &
	eval "${_p}_active=$!"
}

# The first of two groups: its output lines are checked, and a busy guest prints few.
stress_first() {
	plan 2
	pair duplex 5000 -t 2 -d 4 -q 4096 -a 256 -T 3 -v --show-params
	pair widow 5300 -T 600 -d 1
	wait_for 30 grep -q '^tsks' "$T/widow.active"
	kill -KILL "$widow_passive"
	ended tools.stress_widow 1 "$widow_active"
	says tools.stress_widow_text "$T/widow.active" '^Peer unexpectedly closed connection$'
	wait "$widow_passive"
	stress_duplex
}

stress_begin() {
	pair oneway 5100 -o -Q 1 -d 2 -T $((2 * ${RDS_SLOW:-1})) -z --show-histogram
	pair csv 5200 -q 200 -T 2 --show-perfdata --use-cong-monitor 0
	$B rds-stress -r 10.0.0.2 -p 5400 -T 60 >"$T/python.passive" 2>&1 &
	python_passive=$!
	$A python3 selftests/tools/stresspeer.py active 10.0.0.1 10.0.0.2 5400 >"$T/python.a" 2>&1 &
	python_a=$!
	$B python3 selftests/tools/stresspeer.py passive 10.0.0.2 10.0.0.1 5500 >"$T/python.p" 2>&1 &
	python_p=$!
	$A rds-stress -s 10.0.0.2 -p 5500 --connect-retries 20 -d 3 -q 1000 -v -Q 1 \
		>"$T/python.active" 2>&1 &
	python_active=$!
	$B rds-stress -r 10.0.0.2 -p 5600 >"$T/bogus.passive" 2>&1 &
	bogus_passive=$!
	$A python3 selftests/tools/stresspeer.py bogus 10.0.0.1 10.0.0.2 5600 >"$T/bogus.a" 2>&1 &
	bogus_a=$!
	$A python3 selftests/tools/stresspeer.py options 10.0.0.1 - 5700 >"$T/options" 2>&1 &
	options=$!
}

# A script calls rds-stress -c, and continues afterwards. timeout gives each script a process group
# of its own: a program that kills its process group kills the script and timeout, not this shell.
stress_cpu() {
	plan 5
	$B timeout $((60 * ${RDS_SLOW:-1})) sh -c 'rds-stress -c -p 5650; echo "went on after $?"' \
		>"$T/cpu.passive" 2>&1 &
	_passive=$!
	gives tools.stress_cpu 0 '^went on after 0$' ip netns exec A sh -c \
		'rds-stress -c -r 10.0.0.1 -s 10.0.0.2 -p 5650 --connect-retries 20 -T 1; echo "went on after $?"'
	says tools.stress_cpu_share "$T/out" '^   1 .* [0-9]+\.[0-9]{2}  \(average\)$'
	ended tools.stress_cpu_passive 0 $_passive
	says tools.stress_cpu_passive_text "$T/cpu.passive" '^went on after 0$'
	gives tools.stress_cpu_refused 0 '^went on after 1$' ip netns exec A sh -c \
		'rds-stress -c -s 10.0.0.2 -p 5990 --connect-retries 1; echo "went on after $?"'
}

stress_refusals() {
	plan 5
	gives tools.stress_refused 1 'connect\(10\.0\.0\.2\) failed, errno: 111 ' \
		ip netns exec A rds-stress -s 10.0.0.2 -p 5990
	gives tools.stress_retries 1 'Connection refused - retrying\.$' \
		ip netns exec A rds-stress -s 10.0.0.2 -p 5990 --connect-retries 1
	gives tools.stress_no_rdma 1 '^RDMA not supported from 10\.0\.0\.1: the transport of this address has no remote memory' \
		ip netns exec A rds-stress -r 10.0.0.1 -s 10.0.0.2 -p 5990 -D 4096
	# A passive side refuses impossible options.
	$B rds-stress -r 10.0.0.2 -p 5800 >"$T/greedy.passive" 2>&1 &
	_pid=$!
	$A python3 selftests/tools/stresspeer.py greedy 10.0.0.1 10.0.0.2 5800 >/dev/null 2>&1
	ended tools.stress_greedy_exit 1 $_pid
	says tools.stress_greedy "$T/greedy.passive" '^options of the active side refused: '
}

stress_duplex() {
	plan 8
	ended tools.stress_duplex_active 0 "$duplex_active"
	ended tools.stress_duplex_passive 0 "$duplex_passive"
	says tools.stress_header "$T/duplex.active" \
		'^tsks   tx/s   rx/s  tx\+rx K/s    mbi K/s    mbo K/s tx us/c   rtt us cpu %$'
	# One line for each of three seconds, of which a busy machine may miss some, and no other.
	if sed -n '/^tsks/,/^---/p' "$T/duplex.active" | sed '1d;$d' |
	   awk '!/^   2 +[0-9]+ +[0-9]+ +[0-9.]+ +0\.00 +0\.00 +[0-9.]+ +[0-9.]+ -1\.00$/ { bad = 1 }
		END { exit bad || NR < 1 || NR > 3 }'; then
		ok tools.stress_lines
	else
		not_ok tools.stress_lines "$(tail -n 6 "$T/duplex.active" | tr '\n' '/')"
	fi
	says tools.stress_rule "$T/duplex.active" '^-{45}$'
	for _side in active passive; do
		says "tools.stress_average_$_side" "$T/duplex.$_side" \
			'^   2 +[1-9][0-9]* +[1-9][0-9]* .* -1\.00  \(average\)$'
	done
	says tools.stress_params "$T/duplex.active" '^  Req size   4096 +$'
}

stress_end() {
	plan 18
	ended tools.stress_oneway 0 "$oneway_active"
	ended tools.stress_oneway_passive 0 "$oneway_passive"
	says tools.stress_oneway_active_sends "$T/oneway.active" '^   1 +[1-9][0-9]* +0 .*average'
	says tools.stress_oneway_passive_does_not "$T/oneway.passive" '^   1 +0 +[1-9][0-9]* .*average'
	says tools.stress_histogram "$T/oneway.active" '^\[ +[0-9]+ - +[0-9]+\] 		 +[1-9][0-9]*$'
	if grep -q '^----' "$T/oneway.active"; then
		not_ok tools.stress_summary_only "rule in spite of -z"
	else
		ok tools.stress_summary_only
	fi
	ended tools.stress_csv 0 "$csv_active"
	wait "$csv_passive"
	says tools.stress_csv_header "$T/csv.active" '^::nr_tasks:count,req_size:bytes,.*,conn_reset:count,'
	# A header and a line for each of two seconds, of which a busy machine may miss one.
	if awk -F, '/^::/ { if (n && NF != n) bad = 1; n = NF; rows++ }
		END { exit bad || rows < 2 || rows > 3 }' "$T/csv.active"; then
		ok tools.stress_csv_fields
	else
		not_ok tools.stress_csv_fields "$(grep '^::' "$T/csv.active" | cut -c 1-60 | tr '\n' '/')"
	fi

	ended tools.stress_documented_active 0 "$python_a"
	ended tools.stress_documented_active_peer 0 "$python_passive"
	# An active side without -T runs until it is interrupted.
	wait_for 100 grep -q '^enough$' "$T/python.p"
	kill -INT "$python_active"
	ended tools.stress_documented_passive 0 "$python_p"
	ended tools.stress_documented_passive_peer 130 "$python_active"
	ended tools.stress_option_bytes 0 "$options"
	ended tools.stress_bogus_peer 0 "$bogus_a"
	ended tools.stress_bogus 1 "$bogus_passive"
	says tools.stress_bogus_table "$T/bogus.passive" '^       seq +[0-9]+ != +77777$'
	says tools.stress_bogus_line "$T/bogus.passive" '^header from 10\.0\.0\.1:5601 to id 5601 bogus$'
	for _f in python.a python.p options bogus.a; do
		sed "s/^/# $_f: /" "$T/$_f"
	done
}

# On in-tree's module the option has no other use.
stress_reset() {
	plan 2
	if [ "$RDS_STACK" = ours ]; then
		check tools.stress_reset $A rds-stress -r 10.0.0.1 -s 10.0.0.2 --reset
		gives tools.stress_reset_none 1 'RDS_CONN_RESET failed, errno: 2 ' \
			$A rds-stress -r 10.0.0.1 -s 10.0.0.99 --reset
	else
		gives tools.stress_reset 1 'RDS_CONN_RESET failed, errno: 95 ' \
			$A rds-stress -r 10.0.0.1 -s 10.0.0.2 --reset
		gives tools.stress_reset_none 1 '^--reset needs -r and -s$' rds-stress -s 10.0.0.2 --reset
	fi
}

stress_cases() {
	stress_first
	stress_begin
	stress_end
	stress_cpu
	stress_refusals
	stress_reset
}
