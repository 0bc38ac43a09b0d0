# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""When A forgets a peer; idle.py has two hosts with this module."""
import socket
import struct

from lab import check, eventually
from wire_ack import OURS_ONLY
from wirelib import case, info

INFO6_CONNECTIONS = 10011
CONNECTED = 4


def known(c, p):
    """A's connection to a peer: whether it is up; None if A has none in its table."""
    for r in info(c.net.a, INFO6_CONNECTIONS):
        addr = socket.inet_ntop(socket.AF_INET6, r[32:48]).removeprefix('::ffff:')
        if addr == p.addr:
            return bool(struct.unpack_from('B', r, 64)[0] & CONNECTED)
    return None


@case('wire.greeted_forgotten', stacks=OURS_ONLY, families=(6,))
def greeted_forgotten(c):
    """A peer that has only greeted is forgotten when its connection ends, and one that has sent a
    message to a socket is not."""
    p, q, r = c.peer('client', 6), c.peer('client', 6), c.rds(family=6)
    for each in (p, q):
        each.auto = False
        each.handshake()
        each.until(lambda m: (m.sport, m.dport) == (0, 1), 'the pong')
    q.send(4000, r.port, b'x')
    r.expect(b'x')
    check(known(c, p) and known(c, q), 'not connected')
    for each in (p, q):
        each.listener.close()
        each.conn.reset()
    eventually(lambda: known(c, p) is None, 'the end of a connection that carried nothing', 5)
    eventually(lambda: not known(c, q), 'the end of the other', 5)
    check(known(c, q) is False, 'the other is forgotten, too')
