# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rds-ping: lines, numbers, exit status, JSON.

# three NAME ARGS...: three answers in the classic form, and no other line on stdout
three() {
	_name=$1
	shift
	if $A timeout $((20 * ${RDS_SLOW:-1})) rds-ping -c 3 -i 100ms "$@" >"$T/ping" 2>"$T/err" &&
	   [ "$(grep -Ec '^ +[123]: [0-9]+ usec$' "$T/ping")" -eq 3 ] &&
	   [ "$(wc -l <"$T/ping")" -eq 3 ]; then
		ok "$_name"
	else
		not_ok "$_name" "$(cat "$T/ping" "$T/err" | tr '\n' ' ')"
	fi
}

ping_cases() {
	plan 14
	three tools.ping_v4 10.0.0.2
	three tools.ping_v6 fd00::2
	three tools.ping_mapped ::ffff:10.0.0.2
	three tools.ping_own_address 10.0.0.1
	three tools.ping_loopback 127.0.0.1
	three tools.ping_source -I 10.0.0.1 10.0.0.2
	three tools.ping_tos -Q 1 10.0.0.2
	gives tools.ping_foreign_source 1 '^bind\(\) failed, errno: 99 ' \
		ip netns exec A rds-ping -c 1 -I 10.0.0.99 10.0.0.2
	gives tools.ping_unroutable 1 '^unable to connect to 192\.0\.2\.1, errno: 101 ' \
		ip netns exec A rds-ping -c 1 192.0.2.1

	# More pings than sockets, to an absent host: rds-ping ends and says which are lost.
	gives tools.ping_unreachable 1 '^   9: ERROR: Connection timed out$' \
		ip netns exec A rds-ping -c 9 -i 20ms 10.0.0.99
	if [ "$(grep -c 'timed out' "$T/out")" -eq 9 ]; then
		ok tools.ping_lost_all
	else
		not_ok tools.ping_lost_all "$(tr '\n' ' ' <"$T/out")"
	fi

	$A rds-ping --json -c 3 -i $((50 * ${RDS_SLOW:-1}))ms fd00::2 >"$T/json"
	json tools.ping_json "$T/json" 'd["answered"] == 3 and len(d["pings"]) == 3 and
		d["destination"] == "fd00::2" and d["source"] == "fd00::1" and
		all(p["usec"] > 0 and p["source"] == "fd00::2" for p in d["pings"])'

	$A rds-ping --json -i 20ms 10.0.0.2 >"$T/json" &
	_pid=$!
	wait_for 10 grep -q '"usec"' "$T/json"
	kill -INT $_pid
	ended tools.ping_interrupted 130 $_pid
	json tools.ping_interrupted_json "$T/json" 'd["answered"] > 0'
}
