#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Calls of a socket cost what is its own, whatever others have waiting (rds-costs).
. selftests/lib/lib.sh

ip link add d0 type dummy && ip addr add 10.66.0.1/24 dev d0 && ip link set d0 up || exit 1
"$RDS_BIN/rds-costs" 10.66.0.1 10.66.0.99
