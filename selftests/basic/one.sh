#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The smallest run: the modules are loaded, and two namespaces reach each other by ICMP.
. selftests/lib/lib.sh

plan 3
grep -q '^rds_tcp ' /proc/modules && ok basic.loaded || not_ok basic.loaded "no rds_tcp"
ns_pair A B
ip netns exec A ping -c 1 -W 2 10.0.0.2 >/dev/null && ok basic.ping4 || not_ok basic.ping4 "exit $?"
ip netns exec A ping -c 1 -W 2 fd00::2 >/dev/null && ok basic.ping6 || not_ok basic.ping6 "exit $?"
exit $LIB_FAILED
