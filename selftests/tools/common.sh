# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Running a program, and judging its exit status and what it wrote.

# $A CMD, $B CMD: in that namespace; ip becomes CMD, so that $! is CMD itself.
# shellcheck disable=SC2034
A='ip netns exec A' B='ip netns exec B'

# gives NAME STATUS REGEX CMD...: exit status, and a line of either output that matches
gives() {
	_name=$1 _want=$2 _re=$3
	shift 3
	timeout $((20 * ${RDS_SLOW:-1})) "$@" >"$T/out" 2>"$T/err" </dev/null
	_rc=$?
	if [ $_rc -ne "$_want" ]; then
		not_ok "$_name" "exit $_rc instead of $_want: $*: $(head -c 200 "$T/err" | tr '\n' ' ')"
	elif ! grep -Eq -- "$_re" "$T/out" "$T/err"; then
		not_ok "$_name" "no '$_re': $(cat "$T/out" "$T/err" | head -c 300 | tr '\n' ' ')"
	else
		ok "$_name"
	fi
}

# ended NAME STATUS PID: PID ended with just this status
ended() {
	wait "$3"
	_rc=$?
	if [ $_rc -eq "$2" ]; then ok "$1"; else not_ok "$1" "exit $_rc instead of $2"; fi
}

# says NAME FILE REGEX
says() {
	if grep -Eq -- "$3" "$2"; then
		ok "$1"
	else
		not_ok "$1" "no '$3' in: $(head -c 300 "$2" | tr '\n' ' ')"
	fi
}

# bound NS PORT: a socket is bound to that port
bound() {
	ip netns exec "$1" "$RDS_BIN/rds-info" -ak | awk -v p="$2" '$2 == p { f = 1 } END { exit !f }'
}

# json NAME FILE PYTHON-EXPRESSION-ON-d
json() {
	if python3 -m json.tool "$2" >/dev/null && python3 - "$2" "$3" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		sys.exit(not eval("(" + sys.argv[2] + ")"))
	END
	then
		ok "$1"
	else
		not_ok "$1" "not so: $3: $(head -c 400 "$2" | tr '\n' ' ')"
	fi
}
