#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.sh rxe|siw ORDER TEST...: TEST is ping, congestion, or WORD[:options of rds-rdmat, commas for
# blanks], with 4/ or 6/ in front for one family only. In a line of two guests each guest is the
# driver in turn; in a line of one guest driver and agent both run there, over two addresses of a
# device and over one. RDS_STACKS="ours intree" gives the stacks of guests a and b if they differ,
# RDS_FAMILIES the families to test, of 4 and 6.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

dev=$1 order=$2
shift 2
port=7000

# drive TEST SELF PEER CTL OPTIONS...: run one end of a test
drive() {
	_t=$1 _self=$2 _peer=$3 _ctl=$4
	shift 4
	timeout $((200 * ${RDS_SLOW:-1})) "$RDS_BIN/rds-rdmat" "$_t" -c "$_ctl" -d "$dev" "$@" "$_self" "$_peer"
}

# one_guest TEST SELF PEER OPTIONS...: run agent and driver in this guest
one_guest() {
	_test=$1 _a=$2 _b=$3
	shift 3
	port=$((port + 1))
	drive agent "$_b" "$_a" "127.0.0.1,$port" "$@" &
	drive "$_test" "$_a" "$_b" "127.0.0.1,$port" "$@"
	_rc=$?
	wait
	check "rdma.$_test.done_v$fam" [ $_rc = 0 ]
}

# two_guests TEST DRIVER SELF PEER OPTIONS...: run this guest's end; guest DRIVER is the driver
two_guests() {
	_test=$1 _driver=$2 _a=$3 _b=$4
	shift 4
	port=$((port + 1))
	if [ "$RDS_GUEST" = "$_driver" ]; then
		drive "$_test" "$_a" "$_b" "$RDS_CTLPEER,$port" "$@"
	else
		drive agent "$_a" "$_b" "$RDS_CTLSELF,$port" "$@"
	fi
	_rc=$?
	check "rdma.$_test.done_v${fam}_$RDS_GUEST$_driver" [ $_rc = 0 ]
}

# stacks: arguments of the -s option: the stack here, the stack of the other end
stacks() {
	_sa=${RDS_STACKS%% *} _sb=${RDS_STACKS##* }
	if [ "$RDS_GUEST" = a ]; then echo "$_sa,$_sb"; else echo "$_sb,$_sa"; fi
}

# drivers TEST: the guests that drive TEST in turn. Only our stack ends idle connections and waits
# for a receiver.
drivers() {
	for _d in a b; do
		_sd=${RDS_STACKS%% *}
		[ $_d = a ] || _sd=${RDS_STACKS##* }
		case "$1/$_sd" in
		held/intree*|idle/intree*) ;;
		*) echo $_d ;;
		esac
	done
}

# ping PEER: ping PEER from this end's address of the family
ping_peer() {
	check "rdma.ping_v$fam" "$RDS_BIN/rds-probe" ping 10 "$_me" "$1" $((10000 * ${RDS_SLOW:-1}))
}

# slow_reader LABEL CTL SELF PEER: a receiver stops reading until the sender is told to wait, in
# both directions at once. In-tree RDS may fail to wake a congested sender.
slow_reader() {
	case "$RDS_STACK" in intree*) _c0=--tolerate-lost-wakeup ;; *) _c0= ;; esac
	# shellcheck disable=SC2086
	timeout $((120 * ${RDS_SLOW:-1})) "$RDS_BIN/rds-xchg" $2,"$port" --port $((5000 + 100 * fam)) \
		--label "rdma.congestion.$1" --count 400 --flat --max-len 8192 --slow-reader 3 \
		--timeout $((100 * ${RDS_SLOW:-1})) --stuck $((30 * ${RDS_SLOW:-1})) $_c0 "$3" "$4"
}

# Number of congestion maps received over the wire so far
maps_heard() { "$RDS_BIN/rds-info" -c | awk '$1 == "cong_update_received" { print $2 }'; }

congestion() {
	port=$((port + 1))
	if [ -n "${RDS_ONE:-}" ]; then
		# Both ends are one host with one map: a map from the wire must not override the
		# host's own state, and none is sent but the first of a connection.
		_maps=$(maps_heard)
		slow_reader "b.v$fam" "--ctl-listen 127.0.0.1" "$_you" "$_me" &
		check "rdma.congestion_v$fam" slow_reader "a.v$fam" "--ctl-connect 127.0.0.1" "$_me" "$_you"
		check "rdma.congestion_v${fam}_other" wait $!
		_now=$(maps_heard)
		# Each connection begins with a map, so that the counter exists and is not 0.
		check "rdma.congestion_no_map_v$fam # ${_maps:-?} then, ${_now:-?} now" \
			[ "${_now:-0}" -gt 0 -a "${_now:-0}" -le $((${_maps:-0} + 2)) ]
		return
	fi
	if [ "$RDS_GUEST" = a ]; then _c="--ctl-listen $RDS_CTLSELF"; else _c="--ctl-connect $RDS_CTLPEER"; fi
	check "rdma.congestion_v$fam" slow_reader "v$fam" "$_c" "$_me" "$_you"
}

# Each driver of resets has appended the number that both ends saw. With RDS_LOAD=full the line
# requires RDS_RESETS, half of them in this guest, and with less load a tenth.
resets_total() {
	[ -n "${RDS_RESETS:-}" ] || return 0
	_min=$((RDS_RESETS / 2))
	[ "${RDS_LOAD:-ci}" = full ] || _min=$((_min / 10))
	_sum=$(awk '{ n += $2 } END { print n + 0 }' /run/rdma-resets 2>/dev/null)
	sed 's/^/# resets: /' /run/rdma-resets
	if [ "${_sum:-0}" -ge $_min ]; then
		ok "rdma.resets.total # $_sum of at least $_min"
	else
		not_ok rdma.resets.total "${_sum:-0} of at least $_min"
	fi
	# Links went down under connections in use while peers connected again.
	[ "$dev" = rxe ] || return 0
	_n=$(rdma_not_taken)
	check "rdma.resets.all_taken # $_n not" [ "$_n" = 0 ]
}

# A packet that was queued while rxe ran no task did not hold up the end of its queue pair; one that
# does is a warning of rxe's after 50 s, and the end of the line waits for that.
late_total() {
	_n=$(rxe_param stuck)
	check "rdma.late_packets # $_n" [ "$_n" -gt 0 ]
}

# rxe has accessed memory by way of the IOMMU that the kernel was told to use, or else by way of
# bounce buffers, and found each access allowed by a mapping.
dma_total() {
	if grep -q intel_iommu=on /proc/cmdline; then
		check dma.iommu [ "$(rxe_param iommu)" = 1 ]
	else
		_n=$(rxe_param bounced)
		check "dma.bounced # $_n" [ "$_n" -gt 0 ]
	fi
	_n=$(rxe_param accesses)
	check "dma.accesses # $_n" [ "$_n" -gt 0 ]
	_n=$(rxe_param faults)
	check "dma.faults # $_n" [ "$_n" = 0 ]
	dma_api_total
}

# The kernel's checker of the DMA API, which only the debug kernel has, was on and reported nothing.
dma_api=/sys/kernel/debug/dma-api
dma_api_total() {
	if [ ! -d $dma_api ]; then
		echo "# elsewhere dma.api"
		return
	fi
	_n=$(cat $dma_api/disabled $dma_api/error_count | tr '\n' ' ')
	check "dma.api # disabled, errors: $_n" [ "$_n" = "N 0 " ]
}

altered_total() {
	case "${RDMA_ALTERED:-}" in
	rxe-late)	late_total ;;
	rxe-dma)	dma_total ;;
	esac
}

# parse TEST: set $_what, $_opts and $_fams
parse() {
	_what=${1%%:*} _opts= _fams=${RDS_FAMILIES:-4 6}
	case "$1" in *:*) _opts=$(echo "${1#*:}" | tr , ' ') ;; esac
	case "$_what" in [46]/*) _fams=${_what%%/*} _what=${_what#*/} ;; esac
}

# planned TEST...: print the number of this script's results in this guest; rds-rdmat plans its own.
# A line of one guest has two addresses to send to, a line of two guests has two drivers.
planned() {
	_sum=$((1 + $(rdma_left_plan))) _ping=1 _congestion=1
	[ -n "${RDS_SELF4:-}" ] || _ping=2 _congestion=3
	for _t in "$@"; do
		parse "$_t"
		case "$_what" in
		ping)	_n=$_ping ;;
		congestion)	_n=$_congestion ;;
		*)	_n=$(drivers "$_what" | grep -c .) ;;
		esac
		for _f in $_fams; do
			_sum=$((_sum + _n))
		done
	done
	# resets_total has one result more over rxe.
	[ -z "${RDS_RESETS:-}" ] || _sum=$((_sum + 1))
	[ -z "${RDS_RESETS:-}" ] || [ "$dev" != rxe ] || _sum=$((_sum + 1))
	case "${RDMA_ALTERED:-}" in
	rxe-late)	_sum=$((_sum + 1)) ;;
	rxe-dma)	_sum=$((_sum + 3))
		[ ! -d $dma_api ] || _sum=$((_sum + 1)) ;;
	esac
	echo $_sum
}

each() {
	parse "$1"
	for fam in $_fams; do
		eval "_me=\$RDS_SELF$fam _you=\$RDS_PEER$fam"
		if [ -n "${RDS_ONE:-}" ] && [ "$_what" = congestion ]; then
			congestion
		elif [ -n "${RDS_ONE:-}" ]; then
			for _to in "$_you" "$_me"; do
				[ "$_what" != ping ] || { ping_peer "$_to"; continue; }
				echo "# $_what over IPv$fam, to $_to"
				# shellcheck disable=SC2086
				one_guest "$_what" "$_me" "$_to" -s "$(stacks)" $_opts
			done
		elif [ "$_what" = ping ] || [ "$_what" = congestion ]; then
			barrier "$_what$fam$port" 90
			if [ "$_what" = ping ]; then ping_peer "$_you"; else congestion; fi
			barrier "${_what}end$fam$port" 150
		else
			for _d in $(drivers "$_what"); do
				echo "# $_what over IPv$fam, driver $_d"
				barrier "$_what$fam$_d$port" 90
				# shellcheck disable=SC2086
				two_guests "$_what" $_d "$_me" "$_you" -s "$(stacks)" $_opts
			done
		fi
	done
}

: "${RDS_STACKS:=$RDS_STACK $RDS_STACK}"
plan "$(planned "$@")"
rdma_up "$dev" "$order" && ok rdma.up || { not_ok rdma.up "see above"; exit 1; }
[ -n "${RDS_ONE:-}" ] || barrier up 90
for t in "$@"; do
	each "$t"
done
resets_total
altered_total
if [ -n "${RDS_ONE:-}" ]; then
	rdma_left rdma
else
	barrier down 90
	rdma_left rdma left
fi
exit $LIB_FAILED
