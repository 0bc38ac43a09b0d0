#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bounds that the module does not keep yet, as cases of remote.py; no case line runs them.

Usage: remote_open.py [WORD...]. For a line of your own, see run.py --cases-file.
"""
import sys

import remote
import wirelib
from remote import judge_time
from wirelib import case, count_dials

wirelib.CASES.clear()


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
