# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Acknowledgement by number, between this module and a peer that offers it (wire.rst)."""
import socket
import struct

from lab import (Deadline, Fail, Netns, SLOW, check, equal, eventually, ifup, ip_batch, log, run,
                 veth_pair)
from wirelib import (F_RETRANS, INFO6_RECV, INFO6_RETRANS, INFO6_SEND, ROLES, SOL_RDS, case, counters, drops,
                     gen, info, npaths, pattern, queued)

F_ACK = 0x02
OURS_ONLY = ('ours',)
SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
ZCOPY_COOKIE, ZCOPY_COMPLETION = 12, 13


def offer(g, late=False):
    """The extensions of a peer that acknowledges by number."""
    return npaths(1) + gen(g) + struct.pack('>BI', 7, 0x300 if late else 0x100)


def frame(p, what, seconds=3.0):
    """The next frame that is no map."""
    end = Deadline(seconds)
    while True:
        m = p.conn.read(end.left() / SLOW)
        check(m, '%s did not come', what)
        if not m.is_map:
            return m


def greeted(p, flags, late=False):
    """A's handshake is the first frame behind the map, and has no number. late: A sent messages over
    a connection that began without one."""
    m = frame(p, 'the handshake')
    equal((m.seq, m.ack, m.sport, m.dport, m.len, m.flags), (0, 0, 1, 0, 0, flags), 'the handshake')
    equal((m.ext[3], m.without_host()[8:13].hex()), (6, '0700000300' if late else '0700000100'), 'its extensions')
    return m


def ask(p, g):
    """Ask A for what it has; returns that."""
    p.handshake(offer(g), seq=0)
    m = frame(p, 'the answer')
    equal((m.seq, m.sport, m.dport, m.len), (0, 0, 1, 0), 'the answer')
    equal(m.without_host()[8:13].hex(), '0700000100', 'its extensions')
    return m.ack


def tell(p, g, have):
    p.send(0, 1, ext=offer(g), seq=0, ack=have)


def modern(c, role, g=70, **kw):
    """A peer that acknowledges by number, and A knows it."""
    p = c.peer(role, **kw)
    p.auto = False
    greeted(p, 0)
    equal(ask(p, g), 0, 'number that A has of a new peer')
    tell(p, g, 0)
    return p


def again(p, how='reset'):
    """Another connection; A greets a peer that knows its numbers."""
    p.reopen(how, 5)
    greeted(p, F_RETRANS)


def ack(p, n):
    p.send(0, 0, seq=0, ack=n)


def left(c, p, n, what, seconds=3.0):
    # In this order, as a message that is begun meanwhile would be in neither dump.
    eventually(lambda: queued(c.net.a, INFO6_SEND, p.addr) + queued(c.net.a, INFO6_RETRANS, p.addr) == n,
               '%d messages %s' % (n, what), seconds)


def sent(c, p, n):
    """A socket of A sends n messages, and the peer has them."""
    r = c.rds(sndbuf=1 << 20)
    for i in range(n):
        r.send(pattern(3000, i), p.addr, 4000)
    for i in range(n):
        m = frame(p, 'message %d' % i)
        equal((m.seq, m.flags, m.dport), (i + 1, 0, 4000), 'message %d' % i)
    return r


def lend(r, p, n):
    """Send zeros in pages of this program, with cookie 7; returns the pages' object."""
    data = bytes(n)
    r.s.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
    r.s.sendmsg([data], [(SOL_RDS, ZCOPY_COOKIE, struct.pack('=I', 7))], MSG_ZEROCOPY, (p.addr, 4000))
    return data


@case('wire.ack_keeps', ROLES, families=(4, 6), stacks=OURS_ONLY)
def ack_keeps(c, role, family):
    """A message that the peer's TCP has is kept until the peer says that it is delivered."""
    p = modern(c, role, family=family)
    p.auto = True
    r = c.rds(family=family)
    for i in range(3):
        r.send(pattern(3000, i), p.addr, 4000)
    for i in range(3):
        p.expect(seq=i + 1)
    p.ping()                                # A's TCP has the acknowledgement of the messages
    left(c, p, 4, 'are kept, with the pong')
    ack(p, 2)
    left(c, p, 2, 'are not acknowledged')
    p.send(4001, r.port, b'x', ack=4)
    left(c, p, 0, 'are left')


@case('wire.ack_bare', ROLES, stacks=OURS_ONLY)
def ack_bare(c, role, family):
    """What A delivers it acknowledges: alone, or in a message that goes there."""
    p = modern(c, role)
    r = c.rds()
    for i in range(3):
        p.send(4000, r.port, b'%d' % i)
        r.expect(b'%d' % i)
    m = frame(p, 'an acknowledgement')
    equal((m.seq, m.sport, m.dport, m.len, m.flags, m.ext), (0, 0, 0, 0, 0, b'\0' * 16), 'frame that acknowledges')
    while m.ack < 3:
        m = frame(p, 'the last acknowledgement')
    equal(m.ack, 3, 'number acknowledged')
    p.send(4000, 9, b'to no socket')
    p.send(4000, r.port, b'last')
    r.expect(b'last')
    r.send(b'back', p.addr, 4000)
    seen = []
    while not seen or seen[-1].dport != 4000:
        seen.append(frame(p, 'the message'))
    equal(max(m.ack for m in seen), 5, 'number acknowledged by %d frames' % len(seen))


@case('wire.ack_required', stacks=OURS_ONLY)
def ack_required(c):
    """The send buffer is for what the peer's TCP lacks. A asks for an acknowledgement when it keeps
    much for the peer to acknowledge, once until the answer, and gives one when asked."""
    p = modern(c, 'client')
    r = c.rds(sndbuf=16384)
    asked = []
    for i in range(150):
        eventually(lambda: not r.send_error(pattern(12000, i), p.addr, 4000), 'room in the send buffer')
        m = frame(p, 'message %d' % i)
        if m.flags:
            equal(m.flags, F_ACK, 'flags of message %d' % i)
            asked.append(m.seq)
    equal(len(asked), 1, 'requests without an answer')
    check(80 <= asked[0] <= 100, 'asked by message %d', asked[0])
    ack(p, asked[0])
    left(c, p, 150 - asked[0], 'are kept')
    for i in range(60):
        eventually(lambda: not r.send_error(pattern(12000, i), p.addr, 4000), 'room in the send buffer')
        m = frame(p, 'message %d' % i)
        if m.flags:
            asked.append(m.seq)
    equal(len(asked), 2, 'requests after the answer')
    ack(p, 210)
    left(c, p, 0, 'are left')
    p.send(4000, r.port, b'now', flags=F_ACK)
    equal(frame(p, 'the acknowledgement').ack, 1, 'number acknowledged')


@case('wire.ack_zcopy', stacks=OURS_ONLY)
def ack_zcopy(c):
    """A zero-copy message asks, and its pages are the program's again when it is acknowledged."""
    p = modern(c, 'client')
    r = c.rds()
    data = lend(r, p, 8192)
    m = frame(p, 'the message')
    equal((m.flags, m.data), (F_ACK, data), 'the message')
    p.send(7000, 0)
    equal(frame(p, 'the pong').dport, 7000, 'port of the pong')
    equal(r.recv_now(256), None, 'completions before the acknowledgement')
    ack(p, 1)
    eventually(lambda: r.recv_now(256) is not None, 'the completion')
    equal([(a[:2], struct.unpack_from('=2I', a[2])) for a in r.anc], [((SOL_RDS, ZCOPY_COMPLETION), (1, 7))],
          'control messages')


@case('wire.ack_resume', ROLES, stacks=OURS_ONLY)
def ack_resume(c, role, family):
    """After a loss A holds its messages until the peer says which it has, and sends only the others."""
    p = modern(c, role)
    r = sent(c, p, 5)
    ack(p, 2)
    left(c, p, 3, 'are not acknowledged')
    again(p)
    equal(ask(p, 70), 0, 'number that A has')
    tell(p, 70, 4)
    m = frame(p, 'the message that is missing')
    equal((m.seq, m.flags, m.data), (5, F_RETRANS, pattern(3000, 4)), 'first message')
    left(c, p, 1, 'are not acknowledged')
    again(p)
    equal(ask(p, 70), 0, 'number that A has')
    tell(p, 70, 5)
    left(c, p, 0, 'are left')
    r.send(b'new', p.addr, 4000)
    m = frame(p, 'the next message')
    equal((m.seq, m.flags, m.data), (6, 0, b'new'), 'next message')


@case('wire.ack_backlog', ROLES, stacks=OURS_ONLY)
def ack_backlog(c, role, family):
    """Messages that wait, begun or not, come once each and in order over several losses."""
    p = modern(c, role, rcvbuf=4096)
    r = c.rds(sndbuf=8 << 20)
    sizes = [40000, 10, 300000, 0] + [5000] * 60
    for i, n in enumerate(sizes):
        r.send(pattern(n, i), p.addr, 4000)
    got = []
    for part in (1, 2, 20, len(sizes)):
        while len(got) < part:
            m = frame(p, 'message %d' % len(got))
            equal(m.seq, len(got) + 1, 'number')
            check(m.data == pattern(sizes[len(got)], len(got)), 'message %d is another one', len(got))
            got.append(m)
        again(p)
        equal(ask(p, 70), 0, 'number that A has')
        tell(p, 70, len(got))
    left(c, p, 0, 'are left')


@case('wire.ack_silent', stacks=OURS_ONLY)
def ack_silent(c):
    """A peer that does not answer any more is an old one after a time, and gets everything."""
    p = modern(c, 'client')
    sent(c, p, 3)
    again(p)
    for i in range(3):
        m = frame(p, 'message %d' % i, 20)
        equal((m.seq, m.flags & F_RETRANS), (i + 1, F_RETRANS), 'message %d' % i)
    left(c, p, 0, 'are left')


@case('wire.ack_old_again', ROLES, stacks=OURS_ONLY)
def ack_old_again(c, role, family):
    """A peer that was replaced by an old one gets everything at once, and nothing that is private."""
    p = modern(c, role)
    r = sent(c, p, 3)
    lend(r, p, 8192)
    equal(frame(p, 'the fourth message').flags, F_ACK, 'its flags')
    again(p)
    p.seq = 0
    p.handshake(npaths(1) + gen(71))
    for i in range(4):
        m = frame(p, 'message %d' % i)
        equal((m.seq, m.flags, m.ack), (i + 1, F_RETRANS, 0), 'message %d' % i)
    m = frame(p, 'the pong')
    equal((m.seq, m.dport, m.ext[8:]), (5, 1, b'\0' * 8), 'the pong')
    left(c, p, 0, 'are left')
    for i in range(600):
        p.send(4000, r.port, b'')
    p.send(7000, 0, flags=F_ACK)
    m = frame(p, 'the second pong')
    equal((m.seq, m.ack, m.flags, m.dport), (6, 0, 0, 7000), 'next frame')


@case('wire.ack_unanswered', ROLES, stacks=OURS_ONLY)
def ack_unanswered(c, role, family):
    """A greets first until it has heard the peer: the peer may know numbers of an earlier incarnation,
    and would drop what comes before the handshake. An old peer is asked again behind the messages."""
    p = c.peer(role)
    p.auto = False
    greeted(p, 0)
    sent(c, p, 2)
    for old in False, True:
        p.reopen('reset', 5)
        greeted(p, F_RETRANS)
        for i in range(2):
            m = frame(p, 'message %d' % i)
            equal((m.seq, m.flags, m.data), (i + 1, F_RETRANS, pattern(3000, i)), 'message %d' % i)
        m = frame(p, 'the second handshake')
        equal((m.seq, m.sport, m.dport, m.flags), (3, 1, 0, F_RETRANS if old else 0), 'the handshake')
    p.handshake(npaths(1) + gen(90))
    equal(frame(p, 'the pong').seq, 4, 'number of the pong')
    left(c, p, 0, 'are left')


@case('wire.ack_greets_late', ROLES, stacks=OURS_ONLY)
def ack_greets_late(c, role, family):
    """A new incarnation that greets after its first messages: these are delivered, and acknowledged."""
    p = modern(c, role)
    r = c.rds()
    p.send(4000, r.port, b'old', seq=900)
    r.expect(b'old')
    p.reopen('reset', 5)
    greeted(p, 0)
    for seq in (1, 2):
        p.send(4000, r.port, b'%d' % seq, seq=seq)
    for seq in (1, 2):
        r.expect(b'%d' % seq)
    equal(ask(p, 71), 2, 'number that A has of the new incarnation')
    p.reopen('reset', 5)
    greeted(p, 0)
    for seq in (1, 2, 3):
        p.send(4000, r.port, b'%d' % seq, seq=seq, flags=F_RETRANS)
    r.expect(b'3')
    r.empty()


@case('wire.ack_upgraded', ROLES, stacks=OURS_ONLY)
def ack_upgraded(c, role, family):
    """A peer took A for an old one, sent messages, and lost the connection before it greeted: what it
    repeats then is dropped. Its next incarnation begins anew."""
    p = c.peer(role)
    p.auto = False
    r = c.rds()
    for seq in (1, 2):
        p.send(4000, r.port, b'%d' % seq, seq=seq)
    for seq in (1, 2):
        r.expect(b'%d' % seq)
    for g in 75, 76:
        p.reopen('reset', 5)
        p.handshake(offer(g, late=True), seq=0)
        while True:
            m = frame(p, 'the answer')
            if m.dport == 1:
                break
        equal(m.ack, 2 if g == 75 else 0, 'number that A has')
        for seq in (1, 2, 3):
            p.send(4000, r.port, b'%d of %d' % (seq, g), seq=seq, flags=F_RETRANS)
        for seq in (3,) if g == 75 else (1, 2, 3):
            r.expect(b'%d of %d' % (seq, g))
    r.empty()


@case('wire.ack_silent_again', stacks=OURS_ONLY)
def ack_silent_again(c):
    """A peer that was silent for a time is greeted and asked on the next connection, and believed."""
    p = modern(c, 'client')
    sent(c, p, 1)
    again(p)
    equal(frame(p, 'the message', 20).flags & F_RETRANS, F_RETRANS, 'its flags')
    left(c, p, 0, 'are left')
    again(p)
    m = frame(p, 'the second handshake')
    equal((m.seq, m.sport, m.dport, m.without_host()[8:13].hex()), (2, 1, 0, '0700000100'), 'the handshake')
    tell(p, 70, 2)
    r = c.rds()
    r.send(b'kept', p.addr, 4000)
    equal(frame(p, 'a message').seq, 3, 'its number')
    p.send(7000, 0)
    equal(frame(p, 'the pong').dport, 7000, 'port of the pong')
    left(c, p, 2, 'are kept')
    ack(p, 4)
    left(c, p, 0, 'are left')


@case('wire.ack_upgrade', ROLES, stacks=OURS_ONLY)
def ack_upgrade(c, role, family):
    """An old peer that is replaced by one that acknowledges is believed on the present connection."""
    p = c.peer(role)
    p.handshake(npaths(1) + gen(80))
    n = p.settle()
    left(c, p, 0, 'are left')
    p.reopen('reset', 5)
    p.auto = False
    p.handshake(offer(81), seq=0)
    greeted(p, F_RETRANS, late=True)
    m = frame(p, 'the answer')
    equal((m.seq, m.dport, m.ack), (0, 1, 0), 'the answer')
    tell(p, 81, 0)
    r = c.rds()
    r.send(b'kept', p.addr, 4000)
    m = frame(p, 'a message')
    equal((m.seq, m.flags), (n + 1, 0), 'message')
    p.seq = 0
    p.send(7000, 0)
    equal(frame(p, 'the pong').dport, 7000, 'port of the pong')
    left(c, p, 2, 'are kept')
    ack(p, n + 2)
    left(c, p, 0, 'are left')


@case('wire.ack_fickle', ROLES, stacks=OURS_ONLY)
def ack_fickle(c, role, family):
    """A peer that acknowledges by number, then not, on one connection: A keeps nothing for ever."""
    p = c.peer(role)
    p.handshake(npaths(1) + gen(80))
    p.settle()
    left(c, p, 0, 'are left')
    p.reopen('reset', 5)
    p.auto = False
    tell(p, 80, 0)
    r = c.rds()
    for i in range(3):
        r.send(pattern(3000, i), p.addr, 4000)
    for i in range(3):
        frame(p, 'message %d' % i)
    p.handshake(offer(80), seq=0)
    while frame(p, 'the answer').dport != 1:
        pass
    left(c, p, 3, 'are kept')
    p.handshake(npaths(1) + gen(80))
    # This incarnation has acknowledged by number, so A waits for its answer first.
    left(c, p, 0, 'are left', 10)


@case('wire.ack_outdated', stacks=OURS_ONLY)
def ack_outdated(c):
    """A pong without the offer, of an incarnation that made it before, says nothing: the peer sent it
    when it did not know A, and repeats it."""
    p = modern(c, 'client', g=81)
    sent(c, p, 3)
    again(p)
    p.send(0, 1, ext=npaths(1) + gen(81), seq=1)
    equal(ask(p, 81), 1, 'number that A has')
    left(c, p, 3, 'wait for what the peer has')
    tell(p, 81, 1)
    for i in (1, 2):
        equal(frame(p, 'a repeat').seq, i + 1, 'number of a repeat')
    ack(p, 3)
    left(c, p, 0, 'are left')


@case('wire.ack_withheld', stacks=OURS_ONLY)
def ack_withheld(c):
    """A peer that acknowledges thousands of messages at once, and after a loss thousands again."""
    p = modern(c, 'client')
    r = c.rds(sndbuf=1 << 20)
    n = 0
    for how in 'number', 'answer':
        first = n + 1
        for _ in range(5000):
            r.send(b'small', p.addr, 4000)
            n += 1
        for seq in range(first, n + 1):
            equal(frame(p, 'message %d' % seq).seq, seq, 'number')
        if how == 'answer':
            again(p)
            equal(ask(p, 70), 0, 'number that A has')
            tell(p, 70, n)
        else:
            ack(p, n)
        left(c, p, 0, 'are left', 10)
        n += 1
        r.send(b'next', p.addr, 4000)
        equal(frame(p, 'the next message').seq, n, 'number of the next message')


@case('wire.ack_namespace', stacks=OURS_ONLY, bulky=True)
def ack_namespace(c):
    """All paths of a namespace together keep 64 MiB uncharged, which is free again when acknowledged."""
    r, data, most = c.rds(sndbuf=1 << 20, family=6), pattern(65536), 31

    def fill(p):
        """Messages that go to p uncharged, most of 2 MiB."""
        for i in range(most):
            try:
                eventually(lambda: not r.send_error(data, p.addr, 4000), 'room in the send buffer', 1.0)
            except Fail:
                return i
            frame(p, 'message %d' % i)
        return most

    peers = [modern(c, 'client', family=6) for _ in range(34)]
    got = [fill(p) for p in peers]
    log('messages to each of %d peers: %s', len(peers), got)
    equal(got[:32], [most] * 32, 'messages to the first peers')
    check(got[33] < most, '%d messages to the last peer', got[33])
    for p, n in zip(peers, got):
        ack(p, n)
        left(c, p, 0, 'are left')
    equal(fill(modern(c, 'client', family=6)), most, 'messages to another peer')


@case('wire.ack_wrong', stacks=OURS_ONLY)
def ack_wrong(c):
    """A number that was not sent acknowledges nothing, and is counted."""
    p = modern(c, 'client')
    sent(c, p, 3)
    before = drops(c.net.a).get('bad_ack', 0)
    for n in (4, 1 << 40, (1 << 64) - 1):
        ack(p, n)
    p.send(7000, 0)
    equal(frame(p, 'the pong').dport, 7000, 'port of the pong')
    equal(drops(c.net.a)['bad_ack'] - before, 3, 'wrong numbers counted')
    left(c, p, 4, 'are kept')
    ack(p, 4)
    ack(p, 1)
    left(c, p, 0, 'are left')


@case('wire.ack_strict', ROLES, stacks=OURS_ONLY)
def ack_strict(c, role, family):
    """From such a peer a number that was there is a duplicate without the flag, and is told."""
    p = modern(c, role)
    r = c.rds()
    before = counters(c.net.a)['recv_drop_old_seq']
    for seq in (1, 2, 2, 1, 3):
        p.send(4000, r.port, b'%d' % seq, seq=seq)
    for seq in (1, 2, 3):
        r.expect(b'%d' % seq)
    r.empty()
    equal(counters(c.net.a)['recv_drop_old_seq'] - before, 2, 'duplicates counted')
    m = frame(p, 'an acknowledgement')
    while m.ack < 3:
        m = frame(p, 'the last acknowledgement')


@case('wire.ack_cancelled', ROLES, stacks=OURS_ONLY)
def ack_cancelled(c, role, family):
    """A message that holds an acknowledgement is cancelled before it is begun: A sends another."""
    p = modern(c, role, rcvbuf=4096)
    r, s = c.rds(sndbuf=8 << 20), c.rds()
    for i, n in enumerate((1000000, 500000)):
        r.send(pattern(n, i), p.addr, 4000)
    eventually(lambda: queued(c.net.a, INFO6_RETRANS, p.addr) == 1, 'the first message is begun')
    p.send(4000, s.port, b'x')
    s.expect(b'x')
    # A's TCP had not so much when x came: A has looked at the second message since.
    p.conn.fill(600000, Deadline(30))
    equal(queued(c.net.a, INFO6_RETRANS, p.addr), 1, 'messages begun')
    r.close()
    while frame(p, 'the acknowledgement').ack < 1:
        pass


@case('wire.ack_closed', ROLES, stacks=OURS_ONLY)
def ack_closed(c, role, family):
    """A socket closes while messages are kept for the peer to acknowledge: none refers to it then."""
    p = modern(c, role)
    for _ in range(20):
        r = c.rds()
        for i in range(5):
            r.send(pattern(3000, i), p.addr, 4000)
        for i in range(5):
            frame(p, 'message %d' % i)
        r.close()
        left(c, p, 0, 'are left of a socket that is closed')
    r = c.rds()
    r.send(b'next', p.addr, 4000)
    equal(frame(p, 'the next message').seq, 101, 'number of the next message')
    ack(p, 101)
    left(c, p, 0, 'are left')


@case('wire.ack_has', ROLES, stacks=OURS_ONLY)
def ack_has(c, role, family):
    """A peer that lost its connection hears what A has, and repeats of it are dropped."""
    p = modern(c, role)
    r = c.rds()
    for seq in (1, 2, 3):
        p.send(4000, r.port, b'%d' % seq, seq=seq)
        r.expect(b'%d' % seq)
    p.reopen('reset', 5)
    greeted(p, 0)
    equal(ask(p, 70), 3, 'number that A has')
    for seq in (2, 3, 4):
        p.send(4000, r.port, b'%d' % seq, seq=seq, flags=F_RETRANS)
    r.expect(b'4')
    r.empty()


@case('wire.ack_restart', ROLES, stacks=OURS_ONLY)
def ack_restart(c, role, family):
    """A peer that restarted and lost its first connection is not dropped for its low numbers."""
    p = modern(c, role)
    r = c.rds()
    p.send(4000, r.port, b'old', seq=900)
    r.expect(b'old')
    equal(frame(p, 'the acknowledgement').ack, 900, 'number acknowledged')
    p.reopen('reset', 5)                    # the restart; this connection is lost, too
    p.reopen('reset', 5)
    greeted(p, 0)
    equal(ask(p, 71), 0, 'number that A has of the new incarnation')
    for seq in (1, 2):
        p.send(4000, r.port, b'%d' % seq, seq=seq, flags=F_RETRANS)
    for seq in (1, 2):
        r.expect(b'%d' % seq)
    r.empty()
    while frame(p, 'the acknowledgement').ack != 2:
        pass


@case('wire.ack_restart_resend', ROLES, stacks=OURS_ONLY)
def ack_restart_resend(c, role, family):
    """What a peer had not delivered when it restarted goes to its new incarnation, with its number."""
    p = modern(c, role)
    sent(c, p, 4)
    ack(p, 1)
    left(c, p, 3, 'are not acknowledged')
    again(p)
    equal(ask(p, 72), 0, 'number that A has of the new incarnation')
    tell(p, 72, 0)
    for i in (1, 2, 3):
        m = frame(p, 'message %d' % i)
        equal((m.seq, m.flags, m.data), (i + 1, F_RETRANS, pattern(3000, i)), 'message %d' % i)
    ack(p, 4)
    left(c, p, 0, 'are left')


@case('wire.ack_ping_disable', stacks=OURS_ONLY)
def ack_ping_disable(c):
    """ping_enable 0 does not silence handshakes without a number: a restart needs them."""
    path = '/proc/sys/net/rds/ping_enable'
    with c.net.a, open(path, 'w', encoding='ascii') as f:
        f.write('0')
    try:
        p = modern(c, 'client')
        sent(c, p, 1)
        ack(p, 1)
        left(c, p, 0, 'are left')
    finally:
        with c.net.a, open(path, 'w', encoding='ascii') as f:
            f.write('1')


class Host:
    """A host with this module, on a link of its own to A. It crashes without a word."""

    def __init__(self, c, mine, addr):
        self.c, self.addr, self.ns = c, addr, Netns.fresh()
        veth_pair(c.net.a, self.ns, 'ad')
        for ns, ip in ((c.net.a, mine), (self.ns, addr)):
            with ns:
                ifup('ad', ip)

    def crash(self, *sockets):
        ip_batch(['link set dev ad down'], 'A')
        for s in sockets:
            s.close()
        self.ns.close()
        eventually(lambda: 'ad@' not in run('ip', '-n', 'A', '-o', 'link'), 'the host is gone', 30)


@case('wire.ack_host_crash', ROLES, stacks=OURS_ONLY)
def ack_host_crash(c, role, family):
    """A host crashes: what was acknowledged was on its socket's queue; its next incarnation gets the
    rest, once and in order."""
    mine, theirs = ('10.3.0.2', '10.3.0.1') if role == 'client' else ('10.3.0.1', '10.3.0.2')
    host = Host(c, mine, theirs)
    r = c.rds(addr=mine, sndbuf=1 << 20)
    s = c.rds(addr=theirs, ns=host.ns, rcvbuf=1 << 20)
    for i in range(50):
        r.send(pattern(100, i), theirs, s.port)
    left(c, host, 0, 'are left', 10)
    equal(len(info(host.ns, INFO6_RECV)), 50, 'messages on the queue when all are acknowledged')
    ip_batch(['link set dev ad down'], 'A')
    for i in range(50, 80):
        r.send(pattern(3000, i), theirs, s.port)
    host.crash(s)
    left(c, host, 30, 'are kept')
    host = Host(c, mine, theirs)
    s = c.rds(addr=theirs, ns=host.ns, port=s.port, rcvbuf=1 << 20)
    for i in range(50, 80):
        s.expect(pattern(3000, i), seconds=30)
    left(c, host, 0, 'are left', 10)
    s.empty()
    host.crash(s)
