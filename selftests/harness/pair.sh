#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pair.sh a|b: the named guest leaves an object in a cache that its module destroys, the other does
# nothing
if [ "$RDS_GUEST" = "$1" ]; then
	exec sh selftests/harness/hurt.sh rds_hurt cache
fi
echo 1..1
echo ok 1 whole
