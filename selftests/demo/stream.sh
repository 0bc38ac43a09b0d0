#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# stream.sh: the demonstration of streams in each guest: guest b has nginx, guest a curl. The commands
# are those of README.md. Lines for the reader start with "> ", commands with "$ ".
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

PATH=$RDS_BIN:$PATH
top=$PWD
deb=$(ls -S build/kernel/6.12/deb/linux-image-*.deb | head -n 1)
tmp=/run/demo
mkdir -p $tmp
mount -t tmpfs -o size=400m demo $tmp
cd $tmp || exit 1
case "$RDS_GUEST" in
a)	server=$RDS_PEER4 ;;
b)	server=$RDS_SELF4 ;;
esac

say() { echo "> $*"; }

# The commands of the section, but for the one that runs this
commands() {
	sed -n '/^## Streams: nginx and curl over RDMA$/,/^## On a real host$/s/^    //p' "$top/README.md" |
		grep -v '^make demo-stream$'
}

# Here the modules are those that the harness has put into the guest.
modprobe() {
	case "$1" in
	rds_stream)	(cd "$top" && stream_module) ;;
	*)		command modprobe "$@" ;;
	esac
}

# There is no kernel in the guest's root folder.
cp() { command cp "$top/$deb" "$2"; }

# readme NAME WORDS: run the command of README.md that begins with these words, with the names of this
# network, and print it and its output; its success is result NAME
readme() {
	_line=$(commands | grep "^$2")
	_here=$(echo "$_line" | sed "s/^sudo //; s/eth0/rds0/; s/10\\.0\\.0\\.1/$server/")
	echo "\$ $_here"
	echo "$_line" >>$tmp/ran
	eval "$_here" >$tmp/out 2>&1
	_rc=$?
	sed 's/^/  /' $tmp/out
	if [ -n "$_line" ] && [ $_rc = 0 ]; then ok "$1"; else not_ok "$1" "exit status $_rc"; fi
}

# Connections that TCP was asked for, by this host and by others; of the harness's own there are none
# between two calls
tcp_opens() { awk '/^Tcp:/ && $6 ~ /^[0-9]/ { print $6 + $7 }' /proc/net/snmp; }
stat_of() { rds-info -C | awk -v n="$1" '$1 == n { print $2 }'; }
packets() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts; }

sha_of() { sha256sum "$1" | cut -d ' ' -f 1; }

set_up() {
	rdma_net
	rdma_modules rxe
	readme demo.device 'sudo rdma link add'
	readme demo.module 'sudo modprobe'
}

serve() {
	mkdir -p /var/log/nginx
	readme demo.file 'sudo cp'
	say "the file: $(stat -c %s /var/www/html/file) bytes, SHA-256 $(sha_of /var/www/html/file)"
	readme demo.nginx 'sudo rds-run nginx'
	wait_for 20 all_listen 80 && ok demo.listens || not_ok demo.listens "nobody listens at port 80"
	barrier begin 120
	barrier end 240
	say "nginx runs; it listens by RDMA and by TCP:"
	rdma resource show cm_id | grep 'LISTEN.*:80 ' | sed 's/^/  /'
	ss -Htln 'sport = 80' | sed 's/^/  /'
	check demo.tcp_listener test -n "$(ss -Htln 'sport = 80')"
}

# What carried the file: RDMA all of it, and TCP nothing
carried() {
	_size=$(stat -c %s file) _in=$(($(stat_of stream_bytes_in) - in0)) _pkts=$(($(packets) - pkts0))
	_tcp=$(($(tcp_opens) - tcp0))
	say "streams received $_in bytes in $(stat_of stream_connected) connections, the device" \
		"$_pkts packets; TCP opened $_tcp connections"
	if [ $_in -ge "$_size" ] && [ $((_pkts * 4096)) -ge "$_size" ] && [ $_tcp = 0 ]; then
		ok demo.rdma_carried
	else
		not_ok demo.rdma_carried "not RDMA alone"
	fi
}

# The connection as rds-info shows it: curl waits, as nobody reads on.
shown() {
	echo "\$ rds-run curl -sS http://$server/file | { head -c 1 >first; rds-info --streams; cat >rest; }"
	rds-run curl -sS "http://$server/file" | { head -c 1 >first; rds-info --streams; cat >rest; } >$tmp/out 2>&1
	sed 's/^/  /' $tmp/out
	if grep -q " $server  *80 *rdma *out *open " $tmp/out && cat first rest | cmp -s - file; then
		ok demo.shown
	else
		not_ok demo.shown "no such row, or another file"
	fi
}

fetch() {
	barrier begin 120
	in0=$(stat_of stream_bytes_in) pkts0=$(packets) tcp0=$(tcp_opens)
	readme demo.curl 'rds-run curl'
	carried
	size=$(stat -c %s file)
	check demo.file_of_64_mib test "$size" -ge 67108864
	say "the file: $size bytes, SHA-256 $(sha_of file)"
	check demo.same_sha256 test "$(sha_of file)" = "$(sha_of "$top/$deb")"
	readme demo.counters 'rds-info --stream-counters'
	shown
	readme demo.statistic 'rdma statistic'
	say "the same address over TCP, without rds-run:"
	echo "\$ curl http://$server/file"
	in0=$(stat_of stream_bytes_in)
	curl -sS -o by_tcp "http://$server/file"
	if cmp -s by_tcp file && [ "$(stat_of stream_bytes_in)" = "$in0" ]; then
		ok demo.tcp_too
	else
		not_ok demo.tcp_too "another file, or by a stream"
	fi
	barrier end 240
}

# Both guests together have run all that README.md says, and each its part.
all_ran() {
	commands | grep -v "$1" | sort >$tmp/wanted
	sort $tmp/ran | cmp -s - $tmp/wanted && ok demo.readme || not_ok demo.readme "README.md has other commands"
}

if [ "$RDS_GUEST" = a ]; then
	plan 11
	set_up
	fetch
	all_ran '^sudo cp\|^sudo rds-run'
else
	plan 7
	set_up
	serve
	all_ran '^rds-\|^rdma '
fi
exit $LIB_FAILED
