#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ends.sh rxe|siw ends|removed: what an end of a stream gets when the process at the other one is killed
# or stopped (ends.py), and when link, device, address, namespace or module go (removed.py). RDS_ARGS are
# names of cases, by default all.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

dev=$1 program=selftests/stream/$2.py

# The other end of the link is in the namespace "plain", which has no device and does not answer.
silent_net() {
	ip netns add plain && ip link set rds1 netns plain &&
		ip -n plain addr add 192.168.60.3/24 dev rds1 &&
		ip -n plain addr add fd00:60::3/64 dev rds1 nodad &&
		ip -n plain link set lo up && ip -n plain link set rds1 up &&
		wait_for 20 ping -c 1 -W 1 192.168.60.3 >/dev/null &&
		wait_for 20 ping -c 1 -W 1 fd00:60::3 >/dev/null
}

plan $((3 + STREAM_LEFT_PLAN))
stream_device "$dev" && ok stream.device || { not_ok stream.device "see above"; exit 1; }
stream_module && ok stream.module || { not_ok stream.module "see above"; exit 1; }
check stream.silent_net silent_net
ulimit -n 4096
for fam in 4 6; do
	eval "me=\$RDS_SELF$fam you=\$RDS_PEER$fam"
	silent=192.168.60.3
	[ $fam = 4 ] || silent=fd00:60::3
	# shellcheck disable=SC2086
	/usr/bin/python3 -B "$program" "$dev" "$me" "$you" $silent ${RDS_ARGS:-} || LIB_FAILED=1
done
stream_left
exit $LIB_FAILED
