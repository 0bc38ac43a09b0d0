#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# list.sh rxe|siw: /proc/net/rds_streams with thousands of streams (rds-stream-list)
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

plan $((2 + STREAM_LEFT_PLAN))
ip link set lo up
stream_device "$1" && ok stream.device || { not_ok stream.device "see above"; exit 1; }
stream_module && ok stream.module || { not_ok stream.module "see above"; exit 1; }
"$RDS_BIN/rds-stream-list" "$RDS_SELF4" "$RDS_PEER4" || LIB_FAILED=1
stream_left
exit $LIB_FAILED
