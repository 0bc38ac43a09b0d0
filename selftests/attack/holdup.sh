#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Snapshots of what others have hold up nobody (rds-holdup).
. selftests/lib/lib.sh

ip link add d0 type dummy && ip addr add 10.66.0.1/24 dev d0 && ip link set d0 up || exit 1
# One neighbour for all peers: there is room for a thousand.
ip route add 10.67.0.0/16 via 10.66.0.2 || exit 1
"$RDS_BIN/rds-holdup" 10.66.0.1 10.67.0.1
