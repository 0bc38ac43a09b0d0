#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Connections are reaped while other processes send over them. RDS_ARGS is the number of seconds.
. selftests/lib/lib.sh

seconds=${RDS_ARGS:-15}
param=/sys/module/rds_reap/parameters

plan 3
ip link add d0 type dummy && ip addr add 10.66.0.1/24 dev d0 && ip link set d0 up ||
	not_ok reap.address "no interface"
if ! insmod "build/mod/$RDS_KERNEL/testko/rds_reap.ko"; then
	not_ok reap.probe "rds_reap cannot be loaded"
	exit 1
fi
check reap.survives "$RDS_BIN/rds-reap" 10.66.0.1 "$seconds"
shut=$(cat $param/shut) sends=$(cat $param/sends) deepest=$(cat $param/deepest)
echo "# $sends sends over $shut connections that were forgotten, calls nested $deepest deep at most"
check reap.was_provoked test "$shut" -gt 100 -a "$sends" -gt 1000
check reap.no_nesting test "$deepest" = 1
rmmod rds_reap
exit $LIB_FAILED
