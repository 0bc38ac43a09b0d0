# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Generation numbers, and a peer that restarts at a bad moment."""
from lab import OURS, check, equal, eventually
from wirelib import (F_RETRANS, INFO6_RETRANS, INFO6_SEND, ROLES, case, drops, gen, npaths, pattern, queued)
from wire_tcp import stuffed


class Receiver:
    """What a peer that follows protocol.rst 6.2 keeps, from the start of one incarnation on."""

    def __init__(self):
        self.expected, self.kept, self.dropped = 0, [], []

    def take(self, m):
        if m.is_map:
            return
        if m.seq < self.expected and m.flags & F_RETRANS:
            self.dropped.append(m)
            return
        self.expected = m.seq + 1
        if m.sport:
            self.kept.append(m.data)

    def take_all(self, p, want):
        """Read until there are as many messages of programs as wanted, and a pong."""
        p.auto = False
        while len(self.kept) + len(self.dropped) < want:
            m = p.conn.read()
            check(m, '%d messages kept and %d dropped of %d', len(self.kept), len(self.dropped), want)
            self.take(m)
        p.send(7779, 0)
        while True:
            m = p.conn.read()
            check(m, 'no pong after the messages')
            self.take(m)
            if m.dport == 7779:
                return


def restarted(c, role, before, after):
    """A peer restarts, names its generation while messages of these sizes are on their way, has more
    of them sent, and loses that connection before it has read a message whole. TCP's buffer at A
    holds 12000 bytes, and its window at the peer does not."""
    p = c.peer(role, rcvbuf=4096)
    p.handshake(npaths(1) + gen(11))
    p.settle(5)                             # the numbers are well above 1
    p.reopen('reset', 5)
    sizes = [12000] + before
    _, r = stuffed(c, role, sizes, p=p)
    s = c.rds()
    p.handshake(npaths(1) + gen(12))
    p.send(4000, s.port, b'done')
    s.expect(b'done')
    for i, n in enumerate(after, len(sizes)):
        r.send(pattern(n, i), p.addr, 4000)
    if not before:
        eventually(lambda: not queued(c.net.a, INFO6_SEND, p.addr), 'all messages begun')
    p.reopen('reset', 5)
    return p, [pattern(n, i) for i, n in enumerate(sizes + after)]


@case('wire.restart_pong', ROLES, stacks=('ours',))
def restart_pong(c, role, family):
    """After a restart a pong is lost with its connection: no later message is below its number."""
    p, want = restarted(c, role, [], [10, 20, 30])
    rx = Receiver()
    rx.take_all(p, len(want))
    equal([(m.seq, len(m.data)) for m in rx.dropped], [], 'messages the peer drops as duplicates')
    check(rx.kept == want, 'other messages than were sent: %d of %d', len(rx.kept), len(want))


@case('wire.restart_backlog', ROLES, stacks=('ours',))
def restart_backlog(c, role, family):
    """A peer that restarts with 400 messages on their way and 400 to come gets all, once."""
    p, want = restarted(c, role, [1000] * 400, [50] * 400)
    rx = Receiver()
    rx.take_all(p, len(want))
    equal(len(rx.dropped), 0, 'messages the peer drops as duplicates')
    check(rx.kept == want, 'other messages than were sent: %d of %d', len(rx.kept), len(want))


@case('wire.restart_twice', ROLES, stacks=('ours',))
def restart_twice(c, role, family):
    """What a new incarnation sent before its handshake, and repeats after a loss, comes once."""
    p = c.peer(role)
    r = c.rds()
    p.handshake(npaths(1) + gen(21))
    p.send(4000, r.port, b'old', seq=900)
    r.expect(b'old')
    p.reopen()                              # the restart
    for seq in range(1, 4):
        p.send(4000, r.port, b'%d' % seq, seq=seq)
    p.auto = False
    p.handshake(npaths(1) + gen(22), seq=4)
    for seq in range(1, 4):
        r.expect(b'%d' % seq)
    p.expect(sport=0, dport=1)              # the handshake has had its effect
    p.reopen()
    for seq in (1, 2, 3, 5):
        p.send(4000, r.port, b'%d' % seq, seq=seq, flags=F_RETRANS)
    p.send(4000, r.port, b'6', seq=6)
    r.expect(b'5')
    r.expect(b'6')
    p.send(7778, 0, seq=7)
    p.until(lambda m: m.dport == 7778, 'the pong')
    r.empty()


@case('wire.restart_header', ROLES, stacks=('ours',))
def restart_header(c, role, family):
    """Repeats carry the flag and their number; payload and numbers do not change, twice over."""
    sizes = [300000, 10, 5000, 0, 4048, 9000, 30000]
    p, _ = stuffed(c, role, sizes)
    for _ in range(2):
        p.reopen('reset', 5)
        p.send(7000, 0)                     # a pong behind the repeats
        eventually(lambda: queued(c.net.a, INFO6_RETRANS, p.addr), 'messages in flight')
    p.reopen('reset', 5)
    got = []
    while len(got) < len(sizes):
        m = p.conn.read()
        check(m, 'only %d of %d messages came', len(got), len(sizes))
        if m.dport == 4000:
            got.append(m)
    for i, m in enumerate(got):
        check(m.data == pattern(sizes[i], i), 'message %d is another one or damaged', i)
        equal(m.seq, got[0].seq + i, 'number of message %d' % i)
    equal(got[0].flags, F_RETRANS, 'flags of the first message')


@case('wire.gen_flush', ROLES, stacks=('intree',))
def gen_flush(c, role, family):
    """In-tree drops the messages in flight at a change of generation, and counts from 1."""
    p = c.peer(role, family, rcvbuf=4096)
    p.handshake(npaths(1) + gen(11))
    p.settle()
    p.auto = False
    r, s = c.rds(sndbuf=1 << 20), c.rds()
    for i, n in enumerate([12000, 10, 20]):
        r.send(pattern(n, i), p.addr, 4000)
    eventually(lambda: queued(c.net.a, INFO6_RETRANS, p.addr) >= 3, 'messages in flight')
    p.handshake(npaths(1) + gen(12))
    p.send(4000, s.port, b'done')
    s.expect(b'done')
    p.reopen('reset', 5)
    r.send(b'new', p.addr, 4000)
    p.auto = True
    m = p.expect(5)
    equal(m.data, b'new', 'first message after the change of generation (%s)' % m.brief())
    equal(m.flags, 0, 'its flags')
    check(m.seq <= 3, 'number %d did not restart', m.seq)


@case('wire.gen_restart', ROLES)
def gen_restart(c, role, family):
    """With a new generation ours counts on; in-tree counts from 1 after the pong."""
    p = c.peer(role, family)
    r = c.rds()
    p.handshake(npaths(1) + gen(5))
    n = p.settle(3)
    before = drops(c.net.a).get('peer_rebooted', 0)
    p.auto = False
    p.send(4000, r.port, b'high', seq=5000)
    r.expect(b'high')
    p.handshake(npaths(1) + gen(6))
    equal(p.expect(sport=0, dport=1).seq, n + 1, 'number of the pong')
    if not OURS:
        p.send(4000, r.port, b'low', seq=1, flags=F_RETRANS)
        r.expect(b'low')
    p.seq = 1
    last = n + 1 if OURS else 0
    equal(p.ping().seq, last + 1, 'first number after the restart')
    p.handshake(npaths(1) + gen(6))
    equal(p.expect(sport=0, dport=1).seq, last + 2, 'number with the same generation')
    p.handshake(npaths(1) + gen(0))
    p.handshake(npaths(1))
    p.expect(sport=0, dport=1)
    p.expect(sport=0, dport=1)
    equal(p.ping().seq, last + 5, 'number after unknown generations')
    if OURS:
        equal(drops(c.net.a)['peer_rebooted'] - before, 1, 'restarts counted')
