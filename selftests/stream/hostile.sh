#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hostile.sh rxe: a peer in user space, on libibverbs, breaks the rules of streams, in one guest: it
# dials over IPv4, and is dialled over IPv6. RDS_ARGS are names of cases, by default all.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

dev=$1
# shellcheck disable=SC2086
set -- ${RDS_ARGS:-}

plan $((2 + STREAM_LEFT_PLAN))
stream_device "$dev" && ok stream.device || { not_ok stream.device "see above"; exit 1; }
stream_module && ok stream.module || { not_ok stream.module "see above"; exit 1; }
"$RDS_BIN/rds-stream-hostile" in in_v4 "$RDS_SELF4" "$RDS_PEER4" "$@" || LIB_FAILED=1
"$RDS_BIN/rds-stream-hostile" out out_v6 "$RDS_SELF6" "$RDS_PEER6" "$@" || LIB_FAILED=1
grep -v ' 0$' /proc/net/rds_stream_stats | sed 's/^/# /'
stream_left
exit $LIB_FAILED
