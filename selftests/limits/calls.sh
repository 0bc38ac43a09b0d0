#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Random calls on sockets of loopback and TCP addresses (rds-calls). RDS_ARGS is a seed.
. selftests/lib/lib.sh

case "$RDS_LOAD" in
full)	programs=1000000 ;;
ci)	programs=40000 ;;
*)	programs=4000 ;;
esac
ip link add d0 type dummy && ip link set d0 up || exit 1
ip addr add 10.66.0.1/24 dev d0 && ip addr add 10.66.0.2/24 dev d0 || exit 1
ip addr add fd66::1/64 dev d0 nodad || exit 1
seed=${RDS_ARGS:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
"$RDS_BIN/rds-calls" "$seed" $programs 10.66.0.1 10.66.0.2 127.0.0.1 fd66::1 ::1 10.66.0.9 fe80::1
