#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# guest.sh: the demonstration in each guest; guest a is the sender, guest b the receiver.
# Lines for the reader start with "> ", commands with "$ ".
set -u
. selftests/lib/lib.sh

PATH=$RDS_BIN:$PATH
deb=$(ls -S build/kernel/6.12/deb/linux-image-*.deb | head -n 1)
name=${deb##*/}
tmp=/run/demo
port=4000

say() { echo "> $*"; }

bound() { rds-info -k | grep -q " $1 "; }

# At both ends: show the kernel's TCP connection that carries the transfer.
tcp_sockets() {
	echo '$ ss -tn "sport = 16385 or dport = 16385"'
	ss -tn "sport = 16385 or dport = 16385" | sed 's/^/  /'
	n=$(ss -Htn "sport = 16385 or dport = 16385" | wc -l)
	[ "$n" -gt 0 ] && ok demo.tcp_sockets || not_ok demo.tcp_sockets "none on port 16385"
}

sha_of() { sha256sum "$1" | cut -d ' ' -f 1; }

sender() {
	say "the file: $name, $(stat -c %s "$deb") bytes, downloaded by apt"
	check demo.file_of_64_mib test "$(stat -c %s "$deb")" -ge 67108864
	sum=$(sha_of "$deb")
	say "SHA-256 here: $sum"
	barrier listening 120
	echo "\$ rdscat $RDS_PEER4:$port < $name"
	start=$(date +%s%N)
	rdscat -q "$RDS_PEER4:$port" <"$deb"
	rc=$?
	ms=$((($(date +%s%N) - start) / 1000000))
	if [ $rc = 0 ]; then ok demo.sent; else not_ok demo.sent "rdscat exit status $rc"; fi
	say "sent in $((ms / 1000)).$((ms % 1000 / 100)) s, $(($(stat -c %s "$deb") / (ms + 1))) kB/s (emulated processors)"
	tcp_sockets
	barrier sent
	barrier received 120
	# The receiver compares this checksum with that of the file it received.
	echo "$sum" | rdscat -q "$RDS_PEER4:$((port + 1))"
	barrier compared
}

receiver() {
	mkdir -p $tmp
	mount -t tmpfs -o size=400m demo $tmp
	echo "\$ rdscat -l $RDS_SELF4:$port > $tmp/$name"
	rdscat -q -l "$RDS_SELF4:$port" >"$tmp/$name" &
	pid=$!
	wait_for 10 bound $port || not_ok demo.listening "rdscat is not bound"
	barrier listening 120
	check demo.received wait $pid
	barrier sent
	tcp_sockets
	say "received $(stat -c %s "$tmp/$name") bytes into a tmpfs of its own"
	sum=$(sha_of "$tmp/$name")
	say "SHA-256 here: $sum"
	rdscat -q -l "$RDS_SELF4:$((port + 1))" >$tmp/sum &
	pid=$!
	wait_for 10 bound $((port + 1)) || not_ok demo.listening "rdscat is not bound"
	barrier received 120
	wait $pid
	if [ "$sum" = "$(cat $tmp/sum)" ] && [ ${#sum} = 64 ]; then
		say "SHA-256 sent: $(cat $tmp/sum): the same"
		ok demo.same_sha256
	else
		say "SHA-256 sent: $(cat $tmp/sum): DIFFERENT"
		not_ok demo.same_sha256 "the file arrived changed"
	fi
	barrier compared
}

# logged NAME CMD...: print the command and its output, and its success as result NAME
logged() {
	result=$1
	shift
	[ "$1" = moved_counters ] || echo "\$ $*"
	[ "$1" != moved_counters ] || echo "\$ rds-info -c (those that are not zero)"
	"$@" >/run/demo.out 2>&1
	rc=$?
	sed 's/^/  /' /run/demo.out
	if [ $rc = 0 ]; then ok "$result"; else not_ok "$result" "exit status $rc"; fi
}

# Print the counters that are not zero; fail if rds-info -c has 30 lines or less.
moved_counters() { rds-info -c | awk 'NF != 2 || $2 != 0' && [ "$(rds-info -c | wc -l)" -gt 30 ]; }

stress_listens() { ss -Htln "sport = 4100" | grep -q .; }

# The sender or the receiver, the stress run, and two at each end
if [ "$RDS_GUEST" = a ]; then plan $((3 + 2 + 2)); else plan $((3 + 1 + 2)); fi
if [ "$RDS_GUEST" = a ]; then
	sender
	logged demo.ping rds-ping -c 5 -i 0.2 "$RDS_PEER4"
	barrier stress
	logged demo.stress rds-stress -s "$RDS_PEER4" -p 4100 -T 5 -t 1 -d 4 -q 4096 -a 64
else
	receiver
	rds-stress -r "$RDS_SELF4" -p 4100 >/run/stress.out 2>&1 &
	pid=$!
	wait_for 10 stress_listens
	barrier stress
	check demo.stress_passive wait $pid
fi
[ "$RDS_GUEST" = a ] || barrier informed
logged demo.info rds-info -n -T
logged demo.counters moved_counters
[ "$RDS_GUEST" = b ] || barrier informed
exit $LIB_FAILED
