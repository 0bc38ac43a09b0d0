#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bounce.sh: keys under bounce buffers (swiotlb=force), over an rxe with real DMA.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

plan 1
check bounce.setup rdma_up rxe tcp-first
/usr/bin/python3 selftests/rdma/bounced.py "$RDS_SELF4" || LIB_FAILED=1
exit $LIB_FAILED
