#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# On a kernel booted with ipv6.disable=1 (CVE-2026-68322) IPv4 works and IPv6 is refused.
. selftests/lib/lib.sh

plan 6
[ ! -e /proc/sys/net/ipv6 ] && ok noipv6.off || not_ok noipv6.off "IPv6 is there"
ns_pair A B 2>/dev/null
check noipv6.ping ip netns exec A "$RDS_BIN/rds-ping" -c 3 -I 10.0.0.1 10.0.0.2
check noipv6.ping_back ip netns exec B "$RDS_BIN/rds-ping" -c 3 -I 10.0.0.2 10.0.0.1
out=$(ip netns exec A "$RDS_BIN/rds-ping" -c 1 -I fd00::1 fd00::2 2>&1) && not_ok noipv6.bind "$out" || ok noipv6.bind
echo "# rds-ping over IPv6: $out"
# Writing the sysctl closes the connections, which are then established again.
ip netns exec A sh -c 'echo 65536 >/proc/sys/net/rds/tcp/rds_tcp_rcvbuf' && ok noipv6.sysctl ||
	not_ok noipv6.sysctl "exit $?"
check noipv6.ping_again ip netns exec A "$RDS_BIN/rds-ping" -c 3 -I 10.0.0.1 10.0.0.2
exit $LIB_FAILED
