#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# capture.sh rxe|siw [TEST...]: messages and remote memory operations between two guests (TEST as in
# run.sh), captured in guest a and decoded there by tshark and by capture.py.
. selftests/lib/lib.sh

dev=$1
shift
tests=${*:-ping joined 4/msg:-n,40 4/rmem 4/flags 4/freed}
file=/run/rdma.pcap log=/run/tcpdump.log

sniffing() { grep -q 'listening on' $log; }

none_lost() {
	sed 's/^/# tcpdump: /' $log
	grep -q '^0 packets dropped by kernel' $log
}

analyse() {
	python3 selftests/rdma/capture.py "$dev" $file "$RDS_SELF4" "$RDS_PEER4" "$RDS_SELF6" "$RDS_PEER6"
}

# The results of this script; run.sh and capture.py plan their own.
if [ "$RDS_GUEST" = a ]; then plan 4; else plan 1; fi
# Capture segments as they are on the wire, not merged by the interface.
ethtool -K rds0 tso off gso off gro off >/dev/null 2>&1
if [ "$RDS_GUEST" = a ]; then
	tcpdump -n -i rds0 -s 0 -B 65536 -w $file 2>$log &
	pid=$!
	check capture.starts wait_for 20 sniffing
fi
barrier capture 60
# shellcheck disable=SC2086
check capture.tests sh selftests/rdma/run.sh "$dev" tcp-first $tests
if [ "$RDS_GUEST" = a ]; then
	kill -INT $pid
	wait $pid
	check capture.none_lost none_lost
	check capture.analysis analyse
fi
exit $LIB_FAILED
