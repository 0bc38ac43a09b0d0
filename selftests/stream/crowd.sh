#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# crowd.sh rxe|siw: what 200 streams that are connected at once cost RDS over the same device, and what
# 200 queue pairs do that programs connect by the CM alone (rds-stream-crowd)
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

plan $((2 + STREAM_LEFT_PLAN))
rdma_up "$1" rdma-only && ok stream.device || { not_ok stream.device "see above"; exit 1; }
stream_module && ok stream.module || { not_ok stream.module "see above"; exit 1; }
"$RDS_BIN/rds-stream-crowd" "$RDS_SELF4" "$RDS_PEER4" || LIB_FAILED=1
unload_rdma() { rmmod rds_rdma; }
wait_for 20 unload_rdma 2>/dev/null
stream_left
exit $LIB_FAILED
