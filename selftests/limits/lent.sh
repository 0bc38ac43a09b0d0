#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Pages that a process lends, received on the same machine in buffers as TCP sends them, and in those
# that GRO has put together (rds-lent).
set -u
. selftests/lib/lib.sh

ns_pair A B || exit 1
"$RDS_BIN/rds-lent" plain || LIB_FAILED=1
for n in A B; do
	ip netns exec $n ethtool -K veth0 tso off gso off gro on >/dev/null || exit 1
done
"$RDS_BIN/rds-lent" gro || LIB_FAILED=1
ip netns del A
ip netns del B
exit $LIB_FAILED
