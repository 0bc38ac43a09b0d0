#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# apps.sh rxe|siw: programs for TCP under rds-run, in one guest. Data have to be right, and RDMA has to
# have carried them: the counters of streams say so, and TCP's that it opened no connection.
#
# Where the kernel cannot change the protocol of a call (update_socket_protocol() with BPF), all go by
# the library, and a static program is skipped.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

dev=$1
work=/run/apps
run=$RDS_BIN/rds-run
mkdir -p $work

# ---- what carried it

# stat_of NAME: a counter of streams
stat_of() { awk -v n="$1" '$1 == n { print $2 }' /proc/net/rds_stream_stats; }

# Connections that TCP was asked for
tcp_opens() { awk '/^Tcp:/ && $6 ~ /^[0-9]/ { print $6 }' /proc/net/snmp; }

# app NAME CONNECTIONS BYTES CMD...: a result. CMD succeeds, and at least that many connections and
# bytes went over RDMA, and no connection over TCP.
app() {
	_app=$1 _conns=$2 _bytes=$3
	shift 3
	_c0=$(stat_of stream_connected) _b0=$(stat_of stream_bytes_in) _t0=$(tcp_opens)
	"$@" >$work/out 2>&1
	_rc=$?
	if [ $_rc != 0 ]; then
		not_ok "stream.$_app" "exit $_rc of: $*"
		sed 's/^/# /' $work/out | tail -n 12
		return
	fi
	_c=$(($(stat_of stream_connected) - _c0)) _b=$(($(stat_of stream_bytes_in) - _b0))
	_t=$(($(tcp_opens) - _t0))
	if [ $_c -ge "$_conns" ] && [ $_b -ge "$_bytes" ] && [ $_t = 0 ]; then
		ok "stream.$_app # $_c connections, $_b bytes"
	else
		not_ok "stream.$_app" "$_c connections and $_b bytes over RDMA, $_t connections over TCP"
	fi
}

# have NAME PROGRAM: is it installed? Else NAME is skipped.
have() {
	command -v "$2" >/dev/null || [ -x "$2" ] || { skip "stream.$1" "no $2"; return 1; }
}

# server PORT CMD...: start a server, and wait for it
server() {
	_p=$1
	shift
	"$run" $way "$@" >$work/server 2>&1 &
	server=$!
	wait_for 30 all_listen "$_p" && return
	echo "nobody listens at port $_p"
	cat $work/server
	served 1
}

# served STATUS: end the server, and return STATUS; what it said matters if that is not 0
served() {
	kill $server 2>/dev/null
	wait $server
	[ "$1" = 0 ] || cat $work/server
	return "$1"
}

# ---- programs

# 2 workers that wait by epoll, files by sendfile()
nginx_conf() {
	cat <<EOF
daemon off; user root; worker_processes 2; pid $work/pid; error_log $work/error;
events { use epoll; worker_connections 256; }
http {
	sendfile on; tcp_nopush on; access_log off;
	client_body_temp_path $work; proxy_temp_path $work; fastcgi_temp_path $work;
	uwsgi_temp_path $work; scgi_temp_path $work;
	server { listen $RDS_SELF4:8080; listen [$RDS_SELF6]:8080; root $work/www; }
}
EOF
}

FILES=50

# The sums of what 50 connections fetch at the same time are that of the file.
fetch() {
	rm -f $work/got.*
	for _k in $(seq $FILES); do
		echo "url=http://$1:8080/file?$_k"
		echo "output=$work/got.$_k"
	done >$work/curl
	"$run" $way curl -S -f -g -Z --no-progress-meter --parallel-max $FILES -H 'Connection: close' -K $work/curl || return
	[ "$(cat $work/got.* | wc -c)" = $((FILES * size)) ] || return
	for _f in $work/got.*; do
		cmp $work/www/file $_f || return
	done
}

nginx_both() {
	server 8080 nginx -e $work/error -p $work -c $work/nginx.conf || return
	fetch "$RDS_SELF4" && fetch "[$RDS_SELF6]"
	served $?
}

redis_both() {
	_redis() { "$run" $way redis-cli -h "$RDS_SELF4" -p 6390 "$@"; }
	server 6390 redis-server --bind "$RDS_SELF4" --port 6390 --save '' --dir $work \
		--protected-mode no || return
	"$run" $way redis-benchmark -h "$RDS_SELF4" -p 6390 -c 20 -n 500 -P 4 -d 512 -t set,get,lpush -q &&
		base64 -w 0 $work/www/file >$work/value &&
		_redis -x set key <$work/value && _redis get key >$work/value2 &&
		[ "$(cat $work/value)" = "$(cat $work/value2)" ]
	served $?
}

# The server counts what it has read when the client says that it has sent all.
iperf_both() {
	server 5201 iperf3 -s -1 -B "$RDS_SELF4" || return
	"$run" $way iperf3 -c "$RDS_SELF4" -P 8 -n 8M -l 64K -J >$work/json || { cat $work/json; served 1; return; }
	wait $server
	python3 -c 'import json, sys
end = json.load(open(sys.argv[1]))["end"]
sent, got = end["sum_sent"]["bytes"], end["sum_received"]["bytes"]
print("sent %d received %d streams %d" % (sent, got, len(end["streams"])))
sys.exit(not (got > 4000000 and sent >= got and len(end["streams"]) == 8))' $work/json
}

# A file to socat and back, by a process for each connection
socat_echo() {
	rm -f $work/back
	server 7100 socat "TCP$1-LISTEN:7100,bind=$2,fork,reuseaddr" EXEC:cat || return
	"$run" $way socat -t 20 STDIO "TCP$1:$2:7100" <$work/www/file >$work/back && cmp $work/www/file $work/back
	served $?
}

socats() { socat_echo 4 "$RDS_SELF4" && socat_echo 6 "[$RDS_SELF6]"; }

# Mount the exported folder by the socket that rds-run gives: the kernel reads and writes it.
mount_9p='import os, socket, sys
s = socket.create_connection((sys.argv[1], 5640))
os.set_inheritable(s.fileno(), True)
fd = s.fileno()
os.execvp("mount", ["mount", "-i", "-t", "9p", "-o", "trans=fd,rfdno=%d,wfdno=%d,version=9p2000.L,"
                    "cache=none,msize=65536,aname=%s" % (fd, fd, sys.argv[2]), "none", sys.argv[3]])'

mount_export() { "$run" $way python3 -c "$mount_9p" "$RDS_SELF4" $work/export $work/mnt; }

# A file is written by one connection, and read by another.
files_9p() {
	python3 -c 'import random, sys
sys.stdout.buffer.write(random.Random(9).randbytes(int(sys.argv[1])))' $size_9p >$work/written
	mount_export && dd if=$work/written of=$work/mnt/file bs=1M conv=fsync 2>&1 && umount $work/mnt &&
		cmp $work/written $work/export/file || return
	mount_export && cmp $work/written $work/mnt/file && umount $work/mnt
}

size_9p=8388608

diod_9p() {
	mkdir -p $work/export $work/mnt
	modprobe 9pnet_fd 2>/dev/null
	# diod serves nobody whose name it cannot find.
	echo "$RDS_SELF4 self" >>/etc/hosts
	server 5640 diod -f -n -c /dev/null -L stderr -l "$RDS_SELF4:5640" -e $work/export || return
	files_9p
	_files=$?
	! mountpoint -q $work/mnt || umount $work/mnt
	served $_files
}

# ---- rds-run itself

# ends_with STATUS CMD...
ends_with() {
	_want=$1
	shift
	"$@" >/dev/null 2>&1
	_got=$?
	[ $_got = "$_want" ] || { echo "exit $_got, not $_want, of $*"; return 1; }
}

statuses() {
	ends_with 7 "$run" $1 sh -c 'exit 7' && ends_with 143 "$run" $1 sh -c 'kill -TERM $$' &&
		ends_with 127 "$run" $1 /nowhere && ends_with 126 "$run" $1 /etc/passwd &&
		ends_with 125 "$run" $1 && ends_with 125 "$run" --wrong true || return
	# A signal to rds-run is one to the command.
	"$run" $1 sh -c "trap 'exit 9' USR1; echo >$work/trap; while :; do sleep 0.1; done" &
	_pid=$!
	wait_for 10 test -e $work/trap
	rm -f $work/trap
	kill -USR1 $_pid
	wait $_pid
	ends_with 9 sh -c "exit $?"
}

# What a command leaves behind goes on with streams, and the cgroup goes with it.
left_behind() {
	"$run" --bpf sh -c "(sleep 2; '$RDS_BIN/rds-plain' $RDS_SELF4 7200 1000; echo \$? >$work/left) &"
	wait_for 20 test -s $work/left && [ "$(cat $work/left)" = 0 ] && wait_for 10 no_cgroup
}
no_cgroup() { ! ls -d /sys/fs/cgroup/rds-run.* >/dev/null 2>&1; }

# A process outside of the cgroup has TCP, at the same time.
others_have_tcp() {
	"$run" --bpf sleep 5 &
	_pid=$!
	_c0=$(stat_of stream_connected)
	"$RDS_BIN/rds-plain" 127.0.0.1 7300 1000 && [ "$(stat_of stream_connected)" = "$_c0" ]
	_rc=$?
	kill $_pid
	wait $_pid
	return $_rc
}

# ---- the access setting is that of the family

door='import socket, sys
for f in socket.AF_INET, socket.AF_INET6:
    try: socket.socket(f, socket.SOCK_STREAM, 258)
    except OSError as e: sys.exit(e.errno)'
nobody() { setpriv --reuid 65534 --clear-groups python3 -c "$door"; }

access_asked() {
	ends_with 0 nobody || return
	echo 1 >/proc/sys/net/rds/access
	ends_with 13 nobody && ends_with 0 python3 -c "$door" || return
	echo 0 >/proc/sys/net/rds/access
	ends_with 13 python3 -c "$door" || return
	echo 3 >/proc/sys/net/rds/access
	ends_with 0 nobody
}

# With ipproto=0 there is no such protocol. Modules must have been unloaded.
closed() {
	for _m in rds rds_dev; do
		insmod /run/rds/mod/ours/$_m.ko || return
	done
	! insmod /run/rds/mod/ours/rds_stream.ko ipproto=6 2>/dev/null || return
	! insmod /run/rds/mod/ours/rds_stream.ko ipproto=262 2>/dev/null || return
	insmod /run/rds/mod/ours/rds_stream.ko ipproto=0 || return
	ends_with 93 python3 -c "$door" && ends_with 125 "$run" true || return
	rmmod rds_stream
	insmod /run/rds/mod/ours/rds_stream.ko ipproto=259 || return
	# It takes a moment until addresses are found.
	wait_for 20 "$run" --preload "$RDS_BIN/rds-plain" "$RDS_SELF4" 7400 1000
}

# ---- the line

plan $((19 + STREAM_LEFT_PLAN))
stream_device "$dev" && ok stream.device || { not_ok stream.device "see above"; exit 1; }
stream_module && ok stream.module || { not_ok stream.module "see above"; exit 1; }
mkdir -p $work/www
# Bytes that do not compress, and no multiple of anything
size=200003
python3 -c 'import random, sys
sys.stdout.buffer.write(random.Random(3).randbytes(int(sys.argv[1])))' $size >$work/www/file
nginx_conf >$work/nginx.conf
mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null

way=--bpf
if grep -q ' update_socket_protocol$' /proc/kallsyms && [ -e /sys/kernel/btf/vmlinux ]; then
	check stream.run_bpf "$run" --bpf --verbose true
else
	way=--preload
	skip stream.run_bpf "this kernel has no update_socket_protocol(), or no BTF"
fi
check stream.run_default "$run" --verbose true
check stream.run_status_preload statuses --preload
if [ $way = --bpf ]; then
	check stream.run_status_bpf statuses --bpf
	app run_left_behind 1 1000 left_behind
	check stream.run_others others_have_tcp
	app static 1 2000000 "$run" --bpf "$RDS_BIN/rds-plain-static" "$RDS_SELF6" 7001 1000000
else
	for t in run_status_bpf run_left_behind run_others static; do
		skip stream.$t "not by BPF here"
	done
fi
app plain 1 2000000 "$run" --preload "$RDS_BIN/rds-plain" "$RDS_SELF4" 7002 1000000
app uring 8 1600000 "$run" $way "$RDS_BIN/rds-uring" "$RDS_SELF4" 7003 8 100000
app asyncio 20 2000000 "$run" $way python3 selftests/stream/asyncio_echo.py "$RDS_SELF4" 7004 20 50000
! have nginx nginx || ! have nginx curl || app nginx $((2 * FILES)) $((2 * FILES * size)) nginx_both
! have redis redis-benchmark || ! have redis redis-server || app redis 60 1000000 redis_both
! have iperf3 iperf3 || app iperf3 9 4000000 iperf_both
! have socat socat || app socat 2 $((4 * size)) socats
! have 9p diod || app 9p 2 $((2 * size_9p)) diod_9p
check stream.access access_asked
stream_left
check stream.closed closed
exit $LIB_FAILED
