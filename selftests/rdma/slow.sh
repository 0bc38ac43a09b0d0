#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# slow.sh rxe: this host calls a thousand hosts at once that do not answer, and then one that does.
# Each of the thousand keeps an attempt for 10 s, and 320 are under way at a time: 64 with a place, 256
# that gave theirs back. So they are gone through in 31 s. If attempts that could not give their places
# back at once kept them, that would take 14 s for each 320.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

setup() { rdma_up "$1" tcp-first && rdma_silent; }

# shellcheck disable=SC2046
passes() {
	/usr/bin/python3 -B selftests/rdma/many.py dead 36 "$RDS_PEER4" "$RDS_SELF4" - \
		$(for _n in 1 2 3 4; do seq -f 10.77.$_n.%.0f 250; done)
}

plan $((2 + $(rdma_left_plan)))
setup "$1" && ok slow.up || { not_ok slow.up "see above"; exit 1; }
check slow.passes passes
rdma_left slow
exit $LIB_FAILED
