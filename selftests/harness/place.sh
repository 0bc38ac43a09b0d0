#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# place.sh: a guest finds programs and modules built in the checkout, and the modules of its kernel,
# at the expected paths, wherever the checkout is on the host.
. selftests/lib/lib.sh

prints_usage() { "$RDS_BIN/barrier" 2>&1 | grep -q '^usage: barrier'; }

plan 3
check place.program prints_usage
check place.module modinfo "$RDS_TOP/build/mod/$RDS_KERNEL-harness/foreign_hurt.ko"
check place.kernels_modules modprobe veth
exit $LIB_FAILED
