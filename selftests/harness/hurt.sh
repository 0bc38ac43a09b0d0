#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hurt.sh MODULE HOW: load a module of the harness's test, which does the damage HOW, and unload it,
# except where the harness must find it loaded. The result is always "ok": the harness itself must
# notice the damage.
dir=$RDS_TOP/build/mod/$RDS_KERNEL-harness
ko=$dir/$1.ko

echo 1..1
case "$2" in
netns)	ip netns add victim
	ip netns exec victim insmod "$ko" how=netns ;;
dev)	ip link add veth0 type veth peer name veth1
	insmod "$ko" how=dev
	ip link del veth0 & ;;
block)	echo 3 >/proc/sys/kernel/hung_task_timeout_secs
	insmod "$ko" how=block ;;
*)	insmod "$ko" how="$2" ;;
esac
[ "$2" != dev ] || sleep 14
echo "ok 1 $1.$2"
case "$2" in
pin|kmalloc) ;; # the harness has to take it away, and to name what leaked
*) rmmod "$1" 2>/dev/null ;;
esac
exit 0
