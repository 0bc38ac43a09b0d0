# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Several paths between this module and a peer that takes them (wire.rst)."""
import struct

from lab import check, equal
from wire_ack import OURS_ONLY, ack, frame
from wirelib import Closed, F_RETRANS, case, drops, gen, npaths, pattern, setting

ACK, PATHS, LANES = 0x100, 0x400, 0x800
FLOWS = 24
# So many flows use each of eight lanes.
MANY = 200


def offer(g, index):
    """The extensions of a peer that takes several paths, over its path of that index."""
    return npaths(1) + gen(g) + struct.pack('>BI', 7, ACK | PATHS | index << 16)


def several(c, n=8):
    """Let A have n paths for the rest of the case."""
    setting(c, 'paths', n, 1)


def greeting(m, index, caps=ACK | PATHS | LANES):
    """A's handshake tells the index of its path."""
    equal((m.seq, m.sport, m.dport), (0, 1, 0), 'the handshake')
    equal(m.without_host()[8:15].hex(), '08000700%02x%04x' % (index, caps), 'its last elements')


def dialled(c):
    """A peer that A, which has several paths, has dialled and greeted over path 0."""
    several(c)
    p = c.peer('server')
    p.auto = False
    greeting(frame(p, 'the handshake'), 0)
    return p


class Path:
    """A further connection of a peer."""

    def __init__(self, p, conn):
        self.p, self.conn = p, conn
        p.net.kept.append(conn)

    def send(self, sport, dport, data=b'', seq=0, **kw):
        self.conn.write(self.p.frame(sport, dport, data, seq=seq, **kw))


def further(p, n):
    """The connections that A dials next, by the index that their ports tell."""
    got = {}
    for _ in range(n):
        conn = p.accept()
        got[p.name[1] % 8] = Path(p, conn)
    return got


@case('wire.paths_fence', stacks=OURS_ONLY)
def paths_fence(c):
    """What other lanes carry waits until the first has delivered what was sent before."""
    p = dialled(c)
    r = c.rds(sndbuf=1 << 20)
    for i in range(FLOWS):
        r.send(pattern(3000, i), p.addr, 4000 + i)
    for i in range(FLOWS):
        equal(frame(p, 'message %d' % i).seq, i + 1, 'its number')
    p.send(0, 1, ext=offer(70, 0), seq=0, ack=0)
    # A has applied that before it answers this.
    p.handshake(offer(70, 0), seq=0)
    m = frame(p, 'the answer')
    equal((m.seq, m.sport, m.dport), (0, 0, 1), 'the answer')
    for i in range(1, MANY):
        r.send(b'more', p.addr, 4000 + i)
    paths = further(p, 7)
    equal(sorted(paths), list(range(1, 8)), 'indexes of further connections')
    for i, q in paths.items():
        greeting(frame(q, 'the handshake'), i)
        q.send(0, 1, ext=offer(70, i), ack=0)
        # Twice: a message that does not wait would come between the answers.
        for _ in range(2):
            q.send(1, 0, ext=offer(70, i))
            m = frame(q, 'the answer')
            equal((m.seq, m.sport, m.dport), (0, 0, 1), 'what comes over path %d' % i)
    ack(p, FLOWS)
    came = set()
    for i, q in paths.items():
        m = frame(q, 'a message of path %d' % i)
        equal((m.seq, m.data), (1, b'more'), 'first message of path %d' % i)
        came.add(m.dport)
    check(len(came) == 7, 'ports %r', came)
    nothing_early(p, r, *sorted(paths.items())[0])


@case('wire.paths_privileged', stacks=OURS_ONLY)
def paths_privileged(c):
    """A privileged port tells the index of its path, too."""
    several(c)
    setting(c, 'tcp/peer_port_privileged', 1, 0)
    p = c.peer('server', up=False)
    p.nudge = lambda: p.dial(704).wait_closed()
    p.open()
    equal(p.name[1] % 8, 0, 'index of the first path, by its port')
    p.auto = False
    greeting(frame(p, 'the handshake'), 0)
    p.send(0, 1, ext=offer(70, 0), seq=0, ack=0)
    # A has applied that before it answers this. Messages that it sends before need no further path.
    p.handshake(offer(70, 0), seq=0)
    m = frame(p, 'the answer')
    equal((m.seq, m.sport, m.dport), (0, 0, 1), 'the answer')
    r = c.rds(sndbuf=1 << 20)
    for i in range(MANY):
        r.send(b'more', p.addr, 4000 + i)
    for _ in range(7):
        q = Path(p, p.accept())
        check(665 <= p.name[1] < 1024, 'A dials from port %d', p.name[1])
        greeting(frame(q, 'the handshake'), p.name[1] % 8)


def nothing_early(p, r, index, q):
    """A further path that comes up again carries nothing before the peer has answered there."""
    last = 1
    while True:
        q.send(1, 0, ext=offer(70, index))
        m = frame(q, 'the answer')
        if m.sport == 0 and m.dport == 1:
            break
        last = m.seq
    q.send(0, 0, ack=last)
    q.conn.reset()
    for i in range(1, MANY):
        r.send(b'again', p.addr, 4000 + i)
    q = further(p, 1)[index]
    greeting(frame(q, 'the handshake'), index)
    for _ in range(2):
        q.send(1, 0, ext=offer(70, index))
        m = frame(q, 'the answer')
        equal((m.seq, m.sport, m.dport), (0, 0, 1), 'what comes over path %d' % index)


@case('wire.paths_misplaced', stacks=OURS_ONLY)
def paths_misplaced(c):
    """A does not know the peer, and takes a connection of its path 3 for that of path 0: nothing of
    it is delivered. The next connection from such a port is of path 3."""
    several(c)
    p = c.peer('client', up=False)
    r = c.rds()
    was = drops(c.net.a).get('wrong_path', 0)
    first = Path(p, p.dial(sport=40003))
    greeting(frame(first, 'the handshake'), 0)
    first.send(1, 0, ext=offer(71, 3))
    first.send(4000, r.port, b'once', seq=1)
    try:
        first.conn.wait_closed()
    except Closed:
        pass
    equal(drops(c.net.a).get('wrong_path', 0) - was, 1, 'connections in the wrong place')
    r.empty()
    q = Path(p, p.dial(sport=40011))
    m = frame(q, 'the handshake')
    greeting(m, 3)
    equal(m.flags, 0, 'flags of a handshake over a new path')
    q.send(1, 0, ext=offer(71, 3))
    m = frame(q, 'the answer')
    equal((m.sport, m.dport, m.ack), (0, 1, 0), 'the answer')
    q.send(4000, r.port, b'once', seq=1, flags=F_RETRANS)
    r.expect(b'once')
    while frame(q, 'the acknowledgement').ack < 1:
        pass


@case('wire.paths_none', stacks=OURS_ONLY)
def paths_none(c):
    """A peer that leaves the index out has one path, whatever the ports."""
    p = dialled(c)
    p.send(0, 1, ext=npaths(8) + gen(72) + struct.pack('>BI', 7, ACK), seq=0, ack=0)
    r = c.rds(sndbuf=1 << 20)
    for i in range(FLOWS):
        r.send(b'%d' % i, p.addr, 4000 + i)
    for i in range(FLOWS):
        equal(frame(p, 'message %d' % i).seq, i + 1, 'number of message %d' % i)
    c.quiet(p)
