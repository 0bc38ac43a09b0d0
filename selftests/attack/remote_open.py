#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bounds that the module does not keep yet, as cases of remote.py; no case line runs them.

Usage: remote_open.py [WORD...]. For a line of your own, see run.py --cases-file.
"""
import select
import sys
import time

import remote
import wirelib
from lab import A4, log
from remote import connections, crowd, call_once, judge, judge_time
from wirelib import ROLES, Sniffer, case, count_dials

wirelib.CASES.clear()
IDLE_S = 60


def syns(sniff):
    return sum(s.src == A4 and s.flags == Sniffer.SYN for s in sniff.segments())


@case('open.idle', ROLES)
def idle(c, role, family):
    """Of 2,000 hosts that connect once no connection is left after the time, and A dials none."""
    before, number = connections(c), 2000
    for i in range(0, number, 100):
        call_once(c, crowd(role, family, i, 100))
    end, sniff = time.monotonic() + IDLE_S, c.sniffer()
    left, last, dials = connections(c) - before, -1, 0
    while left and time.monotonic() < end:
        select.select([sniff.s], [], [], 1)
        dials += syns(sniff)
        left = connections(c) - before
        if left != last:
            log('%d s: %d connections', IDLE_S - (end - time.monotonic()), left)
        last = left
    judge(not left, '%d connections are left of %d; %d SYN in the time', left, number, dials)


@case('open.redials')
def redials(c):
    """After minutes A dials a host that accepts, talks and resets about once a minute."""
    p, r = c.peer('server', up=False), c.rds()
    r.send(b'waiting', p.addr, 4000)
    c.stack.callback(r.cancel, p.addr, 4000)
    count_dials(p, 600, remote.talk_and_reset)
    late = count_dials(p, 300, remote.talk_and_reset)
    judge_time(late <= 20, '%d dials in five minutes', late)


if __name__ == '__main__':
    sys.exit(remote.main())
