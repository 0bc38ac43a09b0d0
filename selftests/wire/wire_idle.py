# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""When A forgets a peer; idle.py has two hosts with this module."""
import socket
import struct
import time

from lab import Fail, SLOW, check, equal, eventually
from wire_ack import OURS_ONLY, ask, greeted, modern, tell
from wire_paths import offer, several
from wirelib import case, info, misled, neighbour, setting

INFO6_CONNECTIONS = 10011
CONNECTED = 4
IDLE_MS = 1000 if SLOW == 1 else int(500 * SLOW)
# Longer than untold() takes, also where the machine stalls; A looks eight times in that time.
WHOLE_MS = int(8000 * SLOW)


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


def untold(c, p, r, conn=None):
    """The connection ends before the peer has heard that its message is delivered. Only then do
    connections end that are idle for IDLE_MS, those of all cases."""
    setting(c, 'connection_idle_ms', WHOLE_MS, 600000)
    conn, mac = conn or p.conn, neighbour()
    misled(p.addr, '02:00:00:00:00:99')
    conn.write(p.frame(4000, r.port, b'x', seq=1))
    r.expect(b'x')
    conn.fin()
    misled(p.addr, mac)
    setting(c, 'connection_idle_ms', IDLE_MS, 600000)


@case('wire.untold_again', stacks=OURS_ONLY)
def untold_again(c):
    """A connection ends before A has told what is delivered, and so do those that A makes to tell that.
    A makes another one, and then forgets the peer."""
    c.closes_all()
    p = modern(c, 'server')
    untold(c, p, c.rds())
    for _ in range(2):
        p.net.kept.append(p.conn)
        p.conn = p.accept(10)
        p.conn.read()
        p.conn.fin()
    p.net.kept.append(p.conn)
    p.conn = p.accept(10)
    p.conn.read()
    greeted(p, 0)
    equal(ask(p, 70), 1, 'number that A has')
    tell(p, 70, 0)
    eventually(lambda: known(c, p) is None, 'the end of what A keeps of the peer', 10)


def path(p, g, index):
    """A peer's path of that index comes up, and A has heard its generation."""
    conn = p.dial(sport=40000 + 8 * g + index)
    for m in iter(conn.read, None):
        if (m.sport, m.dport) == (1, 0):
            conn.write(p.frame(0, 1, ext=offer(g, index), seq=0))
            conn.write(p.frame(1, 0, ext=offer(g, index), seq=0))
        elif (m.sport, m.dport) == (0, 1):
            return conn
    raise Fail('path %d did not come up' % index)


@case('wire.untold_further', stacks=OURS_ONLY)
def untold_further(c):
    """A further path ends before A has told what is delivered there. The peer comes back, and has
    forgotten: it does not make further paths for that, and A forgets it, too."""
    c.closes_all()
    several(c, 2)
    p = c.peer('client', up=False)
    first = path(p, 70, 0)
    untold(c, p, c.rds(), path(p, 70, 1))
    first.reset()
    path(p, 71, 0).close()
    eventually(lambda: known(c, p) is None, 'the end of what A keeps of the peer', 10)


@case('wire.new_not_idle', stacks=OURS_ONLY)
def new_not_idle(c):
    """A connection that comes up again is not ended at once, however long the peer is idle."""
    c.closes_all()
    p, r = modern(c, 'client'), c.rds()
    untold(c, p, r)
    q = modern(c, 'client')
    q.send(4000, r.port, b'y')
    r.expect(b'y')
    q.conn.wait_closed(10)
    check(known(c, p) is False, 'A has forgotten the peer')
    began = time.monotonic()
    p.open()
    greeted(p, 0)
    equal(ask(p, 70), 1, 'number that A has')
    p.conn.wait_closed(10)
    took = time.monotonic() - began
    check(took >= 0.9, 'a new connection was ended after %.2f s', took)
