#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# late.sh siw: siw is not told of what comes while it accepts (selftests/vm/siw-late.sed, to be chosen
# with RDMA_ALTERED), which is the first message of the end that has dialled. accept() returns: that
# end sends a write of no bytes, too.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

late=/sys/module/siw/parameters/late

# accepts SERVER CLIENT: a connection that is accepted late
accepts() {
	echo 1 >$late
	"$RDS_BIN/rds-stream-basic" rds late "$1" "$2" names >/run/stream.log 2>&1 && [ "$(cat $late)" = 0 ] ||
		{ sed 's/^/# /' /run/stream.log; return 1; }
}

plan $((6 + STREAM_LEFT_PLAN))
stream_device "$1" && ok stream.device || { not_ok stream.device "see above"; exit 1; }
stream_module && ok stream.module || { not_ok stream.module "see above"; exit 1; }
for fam in 4 6; do
	eval "me=\$RDS_SELF$fam you=\$RDS_PEER$fam"
	check "stream.late_own_v$fam" accepts "$me" "$me"
	check "stream.late_two_v$fam" accepts "$me" "$you"
done
stream_left
exit $LIB_FAILED
