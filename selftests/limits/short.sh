#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Messages between two namespaces while the kernel is short of memory; only the debug kernel can make
# allocations fail.
. selftests/lib/lib.sh

plan 1
check short.link ns_pair A B
"$RDS_BIN/rds-short" A 10.0.0.1 B 10.0.0.2 || LIB_FAILED=1
exit $LIB_FAILED
