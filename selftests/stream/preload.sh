#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# preload.sh rxe: programs for TCP, unchanged. Guest b has no module of ours and runs them under
# Debian's librspreload.so; guest a runs them under rds-run, or has the C echo on AF_RDS (echo). Before
# that both guests run them under librspreload.so (control). RDS_ARGS are names of programs.
#
# Both guests have the files up, which a client sends, and down, which a server sends: what comes must
# have the same SHA-256. In guest a the counters of streams have to say that RDMA has carried it, and
# that TCP has carried nothing, but for nc. roles() leaves out what librspreload.so cannot do, see
# stream.rst.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

dev=$1
work=/run/preload
programs=${RDS_ARGS:-nc nct socat iperf reverse unread echo}
size=1000003
# Attempts of each program and role; odd ones take IPv6
tries=${TRIES:-2}
LIBRSPRELOAD=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so

# roles PART PROGRAM: the guests in which it serves
roles() {
	case "$1 $2" in
	"control nc"|"control socat"|"control echo"|"control iperf"|"control reverse")	;;
	"control unread")	;;
	"preload nc"|"preload socat"|"preload echo"|"preload iperf"|"preload reverse")	echo a ;;
	"preload unread")	echo a ;;
	*)		echo a b ;;
	esac
}

# ---- programs

# file NAME SEED: make a file, and what sha256sum says of it
file() {
	python3 -c 'import random, sys
sys.stdout.buffer.write(random.Random(int(sys.argv[1])).randbytes(int(sys.argv[2])))' "$2" $size \
		>$work/"$1"
	sha256sum <$work/"$1" >$work/"$1".sum
}

# came NAME: $got is that file
came() {
	sha256sum <"$got" | cmp -s - $work/"$1".sum && return
	echo "file $1: $(wc -c <"$got") of $size bytes, and its sum is wrong"
	return 1
}

# under CMD...: run a program for TCP
under() {
	if [ $whose = ours ]; then
		timeout -k 5 $limit "$RDS_BIN/rds-run" "$@"
	else
		LD_PRELOAD=$LIBRSPRELOAD timeout -k 5 $limit "$@"
	fi
}

# The address of a socat
socat_name() { case "$1" in *:*) echo "[$1]" ;; *) echo "$1" ;; esac; }

# The socket of netcat-openbsd's client stays TCP's under librspreload.so, as the counters say.
nc_server() { under nc.openbsd -l -N "$me" $port <$work/down >$got && came up; }
nc_client() { under nc.openbsd -N "$you" $port <$work/up >$got && came down; }

# netcat-traditional knows no IPv6 and ends with its input, so only the client sends.
nct_server() { under nc.traditional -l -n -s "$me" -p $port </dev/null >$got && came up; }
nct_client() { under nc.traditional -n -q 0 "$you" $port <$work/up; }

socat_server() {
	under socat -t 30 "TCP$fam-LISTEN:$port,bind=$(socat_name "$me"),reuseaddr" STDIO \
		<$work/down >$got && came up
}
socat_client() {
	under socat -t 30 STDIO "TCP$fam:$(socat_name "$you"):$port" <$work/up >$got && came down
}

# iperf3's own check: the receiver has what it counts, and its last word is sent at the end.
iperf_server() { under iperf3 -s -1 -B "$me" -p $port; }
iperf_client() { under iperf3 -c "$you" -p $port -P 2 -n $size -l 16K; }
reverse_server() { iperf_server; }
reverse_client() { under iperf3 -c "$you" -p $port -P 2 -n $size -l 16K -R; }

# The server reads a part and ends. The client, which is for rsockets, hears of that, and its close
# does not wait for the server.
unread_server() {
	under python3 -c 'import socket, sys
s = socket.create_server((sys.argv[1], int(sys.argv[2])), family=int(sys.argv[3]))
c, _ = s.accept()
sys.exit(not c.recv(1000))' "$me" $port $((fam == 4 ? 2 : 10))
}
unread_client() { timeout -k 5 $limit "$RDS_BIN/rds-unread" "$you" $port; }

# The server is on AF_RDS.
echo_server() { timeout -k 5 $limit "$RDS_BIN/rds-echo" server -p -n 1 "$me" $port; }
echo_client() {
	under socat -t 30 STDIO "TCP$fam:$(socat_name "$you"):$port" <$work/up >$got && came up
}

# ---- attempts

attempt() {
	[ $program != nct ] || fam=4
	got=$work/got.$port
	server_cmd() { ${program}_server; }
	client_cmd() { ${program}_client; }
}

stat_of() { awk -v n="$1" '$1 == n { print $2 }' /proc/net/rds_stream_stats; }
# Bytes, both ways
bytes_moved() { echo $(($(stat_of stream_bytes_in) + $(stat_of stream_bytes_out))); }
by_tcp() { echo $(($(stat_of stream_tcp_connects) + $(stat_of stream_tcp_accepted))); }
by_rdma() { echo $(($(stat_of stream_connected) + $(stat_of stream_accepted))); }

# carried: what went in this guest since the last count is right: by RDMA, nothing by TCP; nc by TCP
carried() {
	_c=$(($(by_rdma) - conns)) _b=$(($(bytes_moved) - bytes)) _t=$(($(by_tcp) - tcps))
	echo "# $_c connections and $_b bytes by RDMA, $_t connections by TCP"
	if [ $program = nc ]; then
		[ $_c = 0 ] && [ $_t = $tries ]
	else
		_whole=$size
		[ $program != unread ] || _whole=1000
		[ $_c -ge $tries ] && [ $_b -ge $((tries * _whole)) ] && [ $_t = 0 ]
	fi
}

# judge NAME: all attempts were good
judge() {
	if [ $good != $tries ]; then
		not_ok "stream.$1" "$good of $tries, $damaged of them damaged"
	elif [ $whose = ours ] && ! carried; then
		not_ok "stream.$1" "see above"
	else
		ok "stream.$1 # $good of $tries"
	fi
}

# both PART: each program, with the server in guest a and in guest b
both() {
	for program in $programs; do
		for serves in $(roles "$1" $program); do
			[ $whose = theirs ] || conns=$(by_rdma) bytes=$(bytes_moved) tcps=$(by_tcp)
			attempts "$1_${program}_$serves" $serves $tries attempt
			judge "$1_${program}_$serves"
		done
	done
}

# netcat-openbsd accepts by accept4(), of which librspreload.so knows nothing.
nc_accepts() {
	LD_PRELOAD=$LIBRSPRELOAD timeout 60 nc.openbsd -l "$RDS_SELF4" 7000 2>&1 </dev/null |
		grep "accept: Socket operation on non-socket"
}

# ---- the line

# planned PART: number of results
planned() {
	for program in $programs; do
		roles "$1" "$program"
	done | wc -w
}

_plan=$((2 + $(planned control) + $(planned preload)))
[ "$RDS_STACK" != ours ] || _plan=$((_plan + 1 + STREAM_LEFT_PLAN))
plan $_plan
stream_device "$dev" && ok stream.device || { not_ok stream.device "see above"; exit 1; }
mkdir -p $work
file up 1
file down 2
whose=theirs
check stream.nc_accepts nc_accepts
both control
if [ "$RDS_STACK" = ours ]; then
	stream_module && ok stream.module || { not_ok stream.module "see above"; exit 1; }
	mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
	whose=ours
fi
meet preload 120
both preload
barrier over 120
[ "$RDS_STACK" != ours ] || stream_left
# While this end exists it refuses what the other one still asks for.
barrier left 200
exit $LIB_FAILED
