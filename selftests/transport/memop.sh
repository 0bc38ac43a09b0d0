#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The core's part of remote memory, over the test transport, whose device is memcpy(). On request
# the transport holds operations, loses messages and cuts connections.
set -u
. selftests/lib/lib.sh

loaded() {
	insmod "$RDS_TOP/build/mod/$RDS_KERNEL/testko/rds_test.ko" owns_ack=1
}

settled() {
	[ -z "$(ip -n A -6 addr show tentative)$(ip -n B -6 addr show tentative)" ]
}

gone() {
	rmmod rds_test 2>/dev/null
}

# The results of this script; memop.py plans its own.
plan 2
check memop.load loaded
ns_pair A B && wait_for 20 settled || not_ok memop.namespaces "cannot be made"
python3 selftests/transport/memop.py >/tmp/memop.out 2>&1 || LIB_FAILED=1
cat /tmp/memop.out
ip netns del B
ip netns del A
check memop.unload wait_for 20 gone
exit $LIB_FAILED
