#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every statement about RDS/TCP that shows on the wire, in both directions.

Usage: wire.py [WORD...]: only the cases with one of the words in their name; without words all but
those of wire_blind.py, wire_cgroup.py, wire_memory.py and wire_pace.py.
"""
import sys

from lab import Net
import wirelib
import wire_ack     # pylint: disable=unused-import
import wire_bound   # pylint: disable=unused-import
import wire_carry   # pylint: disable=unused-import
import wire_format  # pylint: disable=unused-import
import wire_idle    # pylint: disable=unused-import
import wire_counted  # pylint: disable=unused-import
import wire_paths   # pylint: disable=unused-import
import wire_report  # pylint: disable=unused-import
import wire_restart  # pylint: disable=unused-import
import wire_tcp     # pylint: disable=unused-import
# The last: it makes A and C meet.
import wire_addrs   # pylint: disable=unused-import
if sys.argv[1:]:
    # Only with words. One run does not have enough addresses for all cases.
    import wire_blind   # pylint: disable=unused-import
    import wire_memory  # pylint: disable=unused-import
    # Not every kernel has memory cgroups.
    import wire_cgroup  # pylint: disable=unused-import
    # Its minutes pass at once where the guest's clock counts instructions.
    import wire_pace    # pylint: disable=unused-import

if __name__ == '__main__':
    net = Net()
    status = wirelib.run_cases(net, sys.argv[1:])
    net.part()
    sys.exit(status)
