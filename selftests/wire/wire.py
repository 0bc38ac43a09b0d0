#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every statement about RDS/TCP that shows on the wire, in both directions.

Usage: wire.py [WORD...]: only the cases with one of the words in their name.
"""
import sys

from lab import Net
import wirelib
import wire_ack     # pylint: disable=unused-import
import wire_format  # pylint: disable=unused-import
import wire_counted  # pylint: disable=unused-import
import wire_paths   # pylint: disable=unused-import
import wire_restart  # pylint: disable=unused-import
import wire_tcp     # pylint: disable=unused-import

if __name__ == '__main__':
    net = Net()
    status = wirelib.run_cases(net, sys.argv[1:])
    net.part()
    sys.exit(status)
