#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Random calls (rds-calls): on sockets of addresses of one host, and of two network namespaces that
# TCP joins. RDS_ARGS is a seed, and the number of programs of both.
. selftests/lib/lib.sh

case "$RDS_LOAD" in
full)	programs=1000000 ;;
ci)	programs=40000 ;;
*)	programs=4000 ;;
esac
set -- $RDS_ARGS
seed=${1:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
each=$((${2:-$programs} / 2))
ip link add d0 type dummy && ip link set d0 up || exit 1
ip addr add 10.66.0.1/24 dev d0 && ip addr add 10.66.0.2/24 dev d0 || exit 1
ip addr add fd66::1/64 dev d0 nodad || exit 1
"$RDS_BIN/rds-calls" calls "$seed" $each 10.66.0.1 10.66.0.2 127.0.0.1 fd66::1 ::1 10.66.0.9 \
	fe80::1 || LIB_FAILED=1
ns_pair CA CB && ns_for_all CA CB || exit 1
"$RDS_BIN/rds-calls" calls.far "$seed" $each @CA 10.0.0.1 fd00::1 @CB 10.0.0.2 fd00::2 || LIB_FAILED=1
exit $LIB_FAILED
