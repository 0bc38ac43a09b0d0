#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The program that kbuild runs as CHECK: sparse, with its findings appended to $RDS_SPARSE_LOG,
# apart from the compiler's. It always succeeds, so that findings do not end the build.
sparse "$@" 2>>"$RDS_SPARSE_LOG"
exit 0
