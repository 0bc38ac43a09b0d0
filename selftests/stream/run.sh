#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.sh rxe|siw PART...: guest a has rds_stream, guest b has Debian's librdmacm and no module of
# ours. Parts: control (rstream of librdmacm at both ends), rstream, echo, rcopy, credit, all.
#
# Over stock siw librdmacm's server breaks a connection by speaking first, so an attempt towards it
# may fail, as it does in the control; those that got a connection have to be right. Over siw-p2p and
# rxe all attempts have to work.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

dev=$1
shift

# Number of connections of each kind; each takes about a second on a machine without KVM.
case "${RDS_LOAD:-ci}" in
light)	many=12 controls=6 rounds=40 ;;
full)	many=100 controls=20 rounds=100 ;;
*)	many=48 controls=9 rounds=100 ;;
esac

# May librdmacm's server fail by itself?
theirs_fails() { [ "$dev" = siw ] && [ -z "${RDMA_ALTERED:-}" ]; }
! theirs_fails || controls=6

# Whose sockets the programs of this guest use
whose=ours
[ "$RDS_GUEST" = a ] || whose=theirs

# towards SERVER N: number of attempts with a server in that guest
towards() { if [ "$1" = b ] && theirs_fails; then echo $controls; else echo "$2"; fi; }

# judge NAME SERVER N: all attempts were good. Where librdmacm's server fails by itself, both guests
# see that and only print it; data that come are right there, too.
judge() {
	if [ $damaged != 0 ]; then
		not_ok "stream.$1" "$damaged damaged of $3"
	elif [ "$good" = "$3" ]; then
		ok "stream.$1 # $good of $3"
	elif [ "$2" = b ] && theirs_fails; then
		ok "stream.$1 # $good of $3: librdmacm's server speaks first, and fails on siw"
	else
		not_ok "stream.$1" "$good of $3"
	fi
}

# ---- control: rstream of librdmacm at both ends, before rds_stream is loaded

control_attempt() {
	pick
	server_cmd() { patient; rstream_cmd theirs -b "$me"; }
	client_cmd() { rstream_cmd theirs -s "$you"; }
}

control() {
	for _s in a b; do
		attempts control_$_s $_s $controls control_attempt
		# Over stock siw neither end is better than the other: both are librdmacm's. On a
		# slow kernel an end may close before rxe has acknowledged the other one's last
		# message, which then repeats it for ever.
		if [ $good = $controls ] || theirs_fails || [ "$slow" != 1 ]; then
			ok "stream.control_$_s # $good of $controls"
		else
			not_ok stream.control_$_s "$good of $controls"
		fi
	done
}

# ---- rstream at both ends, one of them on the kernel's streams

rstream_attempt() {
	pick
	server_cmd() {
		[ "$serves" = b ] || patient
		rstream_cmd $whose -b "$me"
	}
	client_cmd() { rstream_cmd $whose -s "$you"; }
}

rstream_both() {
	for serves in a b; do
		_many=$(towards $serves $many)
		attempts rstream_$serves $serves "$_many" rstream_attempt
		judge "rstream_server_$serves" $serves "$_many"
	done
}

# ---- rstream against the C echo on the kernel's streams. rstream reads only when it has sent all: an
# echo that does not poll takes one transfer at a time, of what rstream's receive buffer holds.

echo_server_attempt() {
	pick
	echo_mode=-p
	[ $((k / 2 % 2)) = 0 ] || [ "$size" -gt 100000 ] || echo_mode= transfers=1
	# shellcheck disable=SC2086
	server_cmd() { exec timeout $limit "$RDS_BIN/rds-echo" server -v $echo_mode "$me" $port; }
	client_cmd() { rstream_cmd theirs -s "$you"; }
}

echo_client_attempt() {
	pick
	echo_mode=-p transfers=1
	[ $((k / 2 % 2)) = 0 ] || echo_mode=
	server_cmd() { rstream_cmd theirs -b "$me"; }
	# shellcheck disable=SC2086
	client_cmd() {
		timeout $limit "$RDS_BIN/rds-echo" client $echo_mode -s "$size" -i "$iterations" "$you" $port
	}
}

echo_both() {
	attempts echo_server a $many echo_server_attempt
	judge echo_server a $many
	_many=$(towards b $many)
	attempts echo_client b "$_many" echo_client_attempt
	judge echo_client b "$_many"
}

# ---- a file by rcopy

# source_file: the same bytes in both guests
source_file() {
	python3 -c 'import random, sys
sys.stdout.buffer.write(random.Random(7).randbytes(3000017))' >/run/source
}

rcopy_attempt() {
	server_cmd() { rm -f /run/copy; end_of $whose rcopy -p $port; }
	client_cmd() { end_of $whose rcopy /run/source "$you:/run/copy" -p $port; }
}

# rcopy listens at the wildcard address of IPv4.
rcopy_v4() { fam=4; rcopy_attempt; }

rcopy_both() {
	# Each server writes the same file.
	stays=1 group=1
	for serves in a b; do
		source_file
		attempts rcopy_$serves $serves "$(towards $serves 1)" rcopy_v4
		[ "$RDS_GUEST" != $serves ] || cmp /run/source /run/copy || good=0
		judge "rcopy_server_$serves" $serves "$(towards $serves 1)"
	done
	stays=0 group=12
}

# ---- credits

# rnr: how often this guest had no receive for a message that came; the peer repeats it. siw has no
# such counter: there the connection ends.
rnr() { cat "/sys/class/infiniband/${dev}0/ports/1/hw_counters/send_rnr_err" 2>/dev/null || echo 0; }

credit_attempt() {
	server_cmd() { end_of $whose "$RDS_BIN/rds-credit" server $pattern $amount "$me" $port; }
	client_cmd() { end_of $whose "$RDS_BIN/rds-credit" client $pattern $amount "$you" $port; }
}

# The client maps memory, which only librdmacm's does, so it is in guest b. In the other patterns the
# roles differ by direction, so one server will do: that of guest a, which works over each device.
credit() {
	_before=$(rnr)
	for _p in "up $((rounds * 10))" "down $((rounds * 10))" "rounds $rounds" "iomap $rounds"; do
		pattern=${_p% *} amount=${_p#* }
		attempts "credit_$pattern" a 2 credit_attempt
		judge "credit_$pattern" a 2
	done
	echo "# messages without a receive here: $(($(rnr) - _before))"
}

# ---- rstream -S all with its own numbers, which takes an hour in a guest without KVM

all_attempt() {
	_all="rstream -S all -T v -p"
	# shellcheck disable=SC2086
	server_cmd() { all_cmd $_all $port -b "$me"; }
	# shellcheck disable=SC2086
	client_cmd() { all_cmd $_all $port -s "$you"; }
}

all_cmd() {
	[ "$RDS_GUEST" = b ] || export LD_PRELOAD="$RDS_BIN/librds_rsocket.so"
	exec stdbuf -oL timeout $((longest * slow)) "$@"
}

# What the ends print shows that the line goes on.
all_both() {
	longest=20000 group=1
	: >/run/stream.0.log
	tail -f /run/stream.0.log 2>/dev/null | sed -u 's/^/# /' &
	_shows=$!
	for serves in a b; do
		attempts all_$serves $serves 1 all_attempt
		judge all_server_$serves $serves 1
	done
	kill $_shows
	longest=20 group=12
}

# ---- the line

# Results of each part: both guests print the same
planned() {
	_sum=1
	for _t in "$@"; do
		case "$_t" in
		credit)	_sum=$((_sum + 4)) ;;
		*)	_sum=$((_sum + 2)) ;;
		esac
	done
	[ "$RDS_STACK" != ours ] || _sum=$((_sum + STREAM_LEFT_PLAN + 1))
	echo $_sum
}

module_needed() {
	[ "$RDS_STACK" = ours ] && [ -z "${module_there:-}" ] || return 0
	module_there=1
	stream_module && ok stream.module || { not_ok stream.module "see above"; exit 1; }
}

plan "$(planned "$@")"
stream_device "$dev" && ok stream.device || { not_ok stream.device "see above"; exit 1; }
for part in "$@"; do
	[ "$part" = control ] || module_needed
	meet "part-$part" 120
	case "$part" in
	control)	control ;;
	rstream)	rstream_both ;;
	echo)		echo_both ;;
	rcopy)		rcopy_both ;;
	credit)		credit ;;
	all)		all_both ;;
	esac
done
barrier over 120
[ "$RDS_STACK" != ours ] || stream_left
# While this end exists it refuses what the other one still asks for.
barrier left 200
exit $LIB_FAILED
