# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Streams in guests: the device, the module, and attempts with a server in one guest and a client in
# the other. Source this file after selftests/lib/lib.sh and selftests/rdma/rdma.sh.

slow=${RDS_SLOW:-1}

# stream_device rxe|siw: set up network and device; prints what failed
stream_device() {
	RDMA_DEV=$1
	rdma_net || { echo "# no network"; return 1; }
	rdma_modules "$1" || { echo "# no module for $1"; return 1; }
	rdma_add "$1" || { echo "# no device ${1}0"; return 1; }
}

# The addresses of a device are found asynchronously; that nobody is told of.
stream_ready() { wait_for 20 "$RDS_BIN/rds-echo" ready "$1" 2>/dev/null; }

# stream_module: load rds_stream; returns when streams can listen at this end's addresses
stream_module() {
	load_stack "$RDS_STACK" rds rds_stream || { echo "# rds_stream does not load"; return 1; }
	for _a in "$RDS_SELF4" "$RDS_SELF6" ${RDS_ONE:+"$RDS_PEER4" "$RDS_PEER6"}; do
		stream_ready "$_a" || { echo "# nothing listens at $_a"; return 1; }
	done
}

# Connections that were closed go on in the kernel until the peer has heard of it. Then there are the
# registrar's queue pairs, and nobody listens.
streams_gone() {
	_reg=2
	[ "$RDMA_DEV" != rxe ] || _reg=1
	[ "$(rdma_count qp)" -le $_reg ] && [ "$(rdma_count pd)" -le 1 ] &&
		! rdma_ours cm_id | grep -q 'state LISTEN'
}

# Results of stream_left
STREAM_LEFT_PLAN=$((1 + RDMA_GONE_PLAN))

# stream_left: no connection is left once all programs have ended, and nothing once rds_stream is
# unloaded
stream_left() {
	wait_for 30 streams_gone && ok stream.gone || { not_ok stream.gone "see below"; rdma_show; }
	rdma_left_gone stream
}

# ---- attempts

# all_listen PORT...: does a program listen at each, by way of librdmacm or of the kernel?
all_listen() {
	_all="$(rdma resource show cm_id | grep 'state LISTEN' | tr '\n' ' ') "
	for _p in "$@"; do
		case "$_all" in
		*":$_p "*)	;;
		*)		return 1 ;;
		esac
	done
}

all_ended() {
	for _p in "$@"; do
		! kill -0 "$_p" 2>/dev/null || return 1
	done
}

# end_servers PID...: the clients are done; end the servers that do not end soon. A server of
# librdmacm does not notice that the connection failed under it.
end_servers() {
	[ "$stays" = 1 ] || ! wait_for 5 all_ended "$@" 2>/dev/null || return 0
	kill "$@" 2>/dev/null
	wait_for 5 all_ended "$@" || kill -9 "$@" 2>/dev/null
}

# meet NAME SECONDS: as barrier; without the other guest nothing here has a sense any more
meet() { barrier "$@" || exit 1; }

# The meetings of the guests, and programs that look what listens, take longer than a connection:
# the servers of that many attempts listen at the same time, and the clients ask one after the other.
group=12
# With stays=1 servers are ended when the clients are done. An attempt may take $longest seconds.
stays=0 longest=20
# The port of attempt 0
base=7001

# set_up K CMD...: CMD sets up attempt number $k: it defines server_cmd and client_cmd, which run an
# end of a connection, with $port, $me and $you. Its output goes to $log.
set_up() {
	k=$1 port=$((base + $1)) log=/run/stream.$(($1 % group)).log
	shift
	fam=$((4 + k % 2 * 2))
	# A server waits for the clients before its own.
	limit=$((longest * slow))
	[ "$RDS_GUEST" != "$_server" ] || limit=$((limit * group))
	"$@"
	eval "me=\$RDS_SELF$fam you=\$RDS_PEER$fam"
}

# count STATUS: the end of attempt $k in this guest has ended with that; it has to be 0, and no output
# may say that something is wrong. Does without programs, which take long without KVM.
count() {
	_said='' _rc=$1
	while read -r _l || [ -n "$_l" ]; do
		_said="$_said$_l; "
	done <"$log"
	case "$_said" in
	*erif*|*"is wrong"*|*"# byte"*)		damaged=$((damaged + 1)) _rc="$_rc, wrong data" ;;
	*rsend*|*rrecv*|*rpoll*)		_rc="$_rc, failed call" ;;
	esac
	if [ "$_rc" = 0 ]; then
		good=$((good + 1))
	elif [ $_told -lt 3 ]; then
		_told=$((_told + 1))
		echo "# $_name, attempt $k: exit $_rc: $(echo "$_said" | tail -c 300)"
	fi
}

# serve FROM TO CMD...: the servers of these attempts
serve() {
	_from=$1 _to=$2 _pids="" _ports=""
	shift 2
	for _k in $(seq "$_from" "$_to"); do
		set_up "$_k" "$@"
		server_cmd >"$log" 2>&1 &
		_pids="$_pids $!" _ports="$_ports $port"
	done
	# shellcheck disable=SC2086
	wait_for 20 all_listen $_ports || echo "# $_name: not all listen at$_ports"
	meet "begin$port" 120
	meet "end$port" $((longest * group))
	# shellcheck disable=SC2086
	end_servers $_pids
	k=$_from
	for _p in $_pids; do
		log=/run/stream.$((k % group)).log
		wait "$_p"
		_rc=$?
		[ "$stays" = 0 ] || _rc=0
		count $_rc
		k=$((k + 1))
	done
}

# ask FROM TO CMD...: the clients of these attempts
ask() {
	_from=$1 _to=$2
	shift 2
	meet "begin$((base + _to))" 120
	for _k in $(seq "$_from" "$_to"); do
		set_up "$_k" "$@"
		(client_cmd) >"$log" 2>&1
		count $?
	done
	meet "end$port" $((longest * group))
}

# attempts NAME SERVER N CMD...: the server is in that guest. CMD sets up an attempt, see set_up. Counts
# in $good those that worked, in $damaged those with wrong data, and prints what the first others said
attempts() {
	_name=$1 _server=$2 n=$3 good=0 damaged=0 _told=0 _at=0
	shift 3
	while [ $_at -lt "$n" ]; do
		_next=$((_at + group < n ? _at + group : n))
		if [ "$RDS_GUEST" = "$_server" ]; then
			serve $_at $((_next - 1)) "$@"
		else
			ask $_at $((_next - 1)) "$@"
		fi
		_at=$_next
		echo "# $_name: $good of $_at, $(cut -d ' ' -f 1 /proc/uptime) s"
	done
	base=$((base + n))
}

# ---- programs

# end_of ours|theirs PROGRAM...: become a program for rsockets on the kernel's streams, or as it is
end_of() {
	[ "$1" != ours ] || export LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD }$RDS_BIN/librds_rsocket.so"
	shift
	exec timeout -k 5 $limit "$@"
}

# patient: a server of rstream, which the command becomes, ends after its client of librdmacm. With -T a
# rstream polls before each receive and ends with status 16, POLLHUP, if the peer has hung up by then,
# although the last data are there.
patient() { [ "$calls" != a ] || export LD_PRELOAD="$RDS_BIN/rds-patient.so"; }

# The sizes of `rstream -S all`
SIZES="64 128 192 256 384 512 768 1024 1536 2048 3072 4096 6144 8192 12288 16384 24576 32768 49152
65536 98304 131072 196608 262144 393216 524288 786432 1048576 1572864 2097152 3145728 4194304 6291456"

# pick: set size, transfers and iterations, and rstream's option for calls, of attempt $k of $n. A
# hundred attempts have the sizes of -S all with each option: as they are, a byte less, a byte more;
# fewer attempts have some of them.
pick() {
	_k=$((k * 100 / n))
	# shellcheck disable=SC2086
	set -- $SIZES
	shift $((_k % 33))
	case $((_k / 33 % 3)) in
	0)	size=$1 calls=b ;;
	1)	size=$(($1 - 1)) calls=n ;;
	2)	size=$(($1 + 1)) calls=a ;;
	esac
	transfers=10 iterations=5
	[ "$size" -lt 8000 ] || transfers=4 iterations=2
	[ "$size" -lt 100000 ] || transfers=2 iterations=1
	[ "$size" -lt 1000000 ] || transfers=1
}

# rstream_cmd END ARGS...: the numbers of both ends have to be the same
rstream_cmd() {
	_end=$1
	shift
	[ $fam = 4 ] || set -- "$@" -f ipv6
	end_of "$_end" rstream -p $port -S "$size" -C "$transfers" -I "$iterations" -T v -T "$calls" "$@"
}
