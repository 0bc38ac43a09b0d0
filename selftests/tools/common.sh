# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run a program and check its exit status and its output.

# $A CMD, $B CMD: run CMD in that namespace; ip execs CMD, so that $! is the PID of CMD.
# shellcheck disable=SC2034
A='ip netns exec A' B='ip netns exec B'

# gives NAME STATUS REGEX CMD...: CMD exits with STATUS, and a line of its output or error output
# matches REGEX
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

# ended NAME STATUS PID [FILE]: PID ended with exactly this status; FILE has its output
ended() {
	wait "$3"
	_rc=$?
	if [ $_rc -eq "$2" ]; then
		ok "$1"
	else
		not_ok "$1" "exit $_rc instead of $2: $(tail -c 200 "${4:-/dev/null}" | tr '\n' ' ')"
	fi
}

# says NAME FILE REGEX: a line of FILE matches REGEX
says() {
	if grep -Eq -- "$3" "$2"; then
		ok "$1"
	else
		not_ok "$1" "no '$3' in: $(head -c 300 "$2" | tr '\n' ' ')"
	fi
}

# bound NS PORT: a socket in NS is bound to that port
bound() {
	ip netns exec "$1" "$RDS_BIN/rds-info" -ak | awk -v p="$2" '$2 == p { f = 1 } END { exit !f }'
}

# json NAME FILE EXPRESSION: FILE is JSON for which the Python expression on d is true
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
