#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What Kbuild calls as CHECK: sparse, its findings in a file of their own, so that they are told
# from the compiler's, and never the reason for a build to end early.
sparse "$@" 2>>"$RDS_SPARSE_LOG"
exit 0
