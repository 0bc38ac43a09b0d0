#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The user programs between two namespaces: run.sh args|stress|ping|info|rdscat...
. selftests/lib/lib.sh
. selftests/tools/common.sh
. selftests/tools/args.sh
. selftests/tools/stress.sh
. selftests/tools/ping.sh
. selftests/tools/rdscat.sh
. selftests/tools/info.sh

PATH=$RDS_BIN:$PATH
T=$(mktemp -d /tmp/tools.XXXXXX) || exit 1
ns_pair A B || exit 1

# A new connection of in-tree RDS changes paths once it knows their number, and messages are
# reordered then; these tests are of the programs.
for _peer in 10.0.0.2 fd00::2; do
	wait_for 30 $A rds-ping -c 1 $_peer >/dev/null || not_ok tools.warm_up "no ping to $_peer"
done
for _part in "$@"; do
	${_part}_cases
done
# A connection of in-tree RDS keeps its namespace for ever; it must end, and not come up again.
disconnected() {
	for _ns in A B; do
		ip netns exec $_ns ss -K sport = 16385 or dport = 16385 >/dev/null 2>&1
		[ -z "$(ip netns exec $_ns ss -Htn sport = 16385 or dport = 16385)" ] || return 1
	done
}
if [ "$RDS_STACK" = intree ]; then
	for _ns in A B; do
		ip -n $_ns link set veth0 down
		ip -n $_ns link set lo down
	done
	wait_for 10 disconnected
fi
ip netns del A
ip netns del B
rm -rf "$T"
exit $LIB_FAILED
