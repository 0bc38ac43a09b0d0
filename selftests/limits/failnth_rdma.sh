#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# failnth_rdma.sh rxe: each call for remote memory with the n-th allocation or user copy failing; only
# the debug kernel can make them fail.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

plan $((1 + $(rdma_left_plan)))
check failnth.rdma_up rdma_up "$1" tcp-first
"$RDS_BIN/rds-failnth-rdma" "$RDS_SELF4" "$RDS_PEER4" || LIB_FAILED=1
rdma_left failnth.rdma
exit $LIB_FAILED
