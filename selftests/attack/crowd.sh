#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A message costs the same among many sockets, and among many peers, as among few (rds-crowd).
. selftests/lib/lib.sh

group=/run/cgroup/crowd
ns_pair A B || exit 1
ip -n B route add local 10.1.0.0/16 dev lo
ip -n A route add 10.1.0.0/16 via 10.0.0.2
mkdir -p /run/cgroup
mountpoint -q /run/cgroup || mount -t cgroup2 none /run/cgroup
echo +memory >/run/cgroup/cgroup.subtree_control && mkdir -p $group || { echo "# no cgroup"; exit 1; }
sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" "$1/memory.stat"' - $group "$RDS_BIN/rds-crowd"
