#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Connections that nobody uses, between two hosts with this module: two namespaces.

Usage: idle.py [WORD...]: only the cases with one of the words in their name. RDS_ARGS is the seed of
the random choices, which is printed.
"""
import socket
import struct
import sys
import time

from lab import LOAD, check, equal, eventually, ip_batch, log
from twohosts import Cases, World, cut, rng
from wirelib import SOL_RDS, Rds, counters, drops, info

ROUNDS = 400 if LOAD == 'full' else 60
LARGE = bytes(100000)
PEER_TIMEOUT, INFO6_CONNECTIONS = 9000, 10011


def held(ns, what='connections'):
    """What a namespace has of a kind, as /proc/net/rds/held counts it."""
    with ns, open('/proc/net/rds/held', encoding='ascii') as f:
        return dict((k, int(n)) for k, n in map(str.split, f))[what]


class Idle(World):
    """Two hosts whose connections end after so many ms."""

    def __init__(self, idle=(500, 500), paths=(1, 1), **kw):
        super().__init__(paths=paths, **kw)
        self.idle = idle
        for ns, ms in zip(self.ns, idle):
            with ns, open('/proc/sys/net/rds/connection_idle_ms', 'w', encoding='ascii') as f:
                f.write('%d' % ms)

    def pair(self):
        """A socket at each host, with a message from the first to the other."""
        a, b = self.sock(0), self.sock(1)
        self.talk(a, b, b'first')
        return a, b

    def talk(self, a, b, data):
        """A message to b comes once, and is all that comes."""
        i = self.host_of(b)
        a.send(data, self.addr[i], b.port)
        b.expect(data, seconds=10)
        equal(b.recv_now(), None, 'another message')

    def host_of(self, s):
        return next(i for i in (0, 1) if s.addr == self.addr[i])

    def known(self, i):
        """Addresses to which host i has a connection in its table."""
        return [socket.inet_ntop(socket.AF_INET6, r[16 + 16:16 + 32]) for r in info(self.ns[i], INFO6_CONNECTIONS)]

    def maps(self, i):
        """Congestion maps that host i has received."""
        return counters(self.ns[i])['cong_update_received']

    def gone(self, what='the end of an idle connection', hosts=(0, 1)):
        eventually(lambda: not any(self.known(i) for i in hosts), what, 20)

    def count(self, why):
        return [drops(ns).get(why, 0) for ns in self.ns]


CASES = Cases('idle.', Idle)
case = CASES.case
BOTH = (('.dials', {}), ('.answers', {'swap': True}), ('.v6', {'family': 6}))


@case('ends', *BOTH)
def ends(w):
    """A connection ends when nobody has used it for a time; both hosts forget it, and neither takes
    the next one for a restart. Messages of both directions come once, however often that happens."""
    a, b = w.pair()
    for n in range(3):
        w.gone()
        src, dst = ((a, b), (b, a))[n % 2]
        w.talk(src, dst, b'round %d' % n)
        w.talk(dst, src, b'answer %d' % n)
    check(min(w.count('idle')) + max(w.count('idle')) >= 3, 'ends that count as idle: %s', w.count('idle'))
    equal([w.count(k) for k in ('peer_rebooted', 'duplicate')], [[0, 0], [0, 0]], 'restarts and duplicates')
    w.gone()
    for s in (a, b):
        s.close()
    w.socks.clear()
    eventually(lambda: not held(w.ns[0]) + held(w.ns[1]), 'the end of what sockets keep')


@case('busy', ('.dials', {'idle': (2000, 2000)}))
def busy(w):
    """A connection that carries a message now and then stays, whichever host sends it."""
    a, b = w.pair()
    before = w.count('idle')
    for src, dst in ((a, b), (b, a)):
        began = last = time.monotonic()
        while last - began < 4:
            w.talk(src, dst, b'again')
            time.sleep(0.3)
            now = time.monotonic()
            if now - last > 1:              # the machine was busy with something else: start over
                began, before = now, w.count('idle')
            last = now
    equal(w.count('idle'), before, 'ends that count as idle')


@case('lanes', *((tail, {'paths': (8, 8), **kw})
                 for tail, kw in BOTH + (('.sooner', {'idle': (100, 500)}),)))
def lanes(w):
    """The same with eight paths, which end and go together."""
    for _ in range(2):
        w.connect(0, 3)
        w.connect(1, 3)
        w.send_all(2)
        w.arrive()
        w.send_all()
        w.arrive()
        w.gone()
        equal([w.ports(i) for i in (0, 1)], [[], []], 'connections')
    w.send_all()
    w.arrive()
    equal(w.count('peer_rebooted'), [0, 0], 'restarts')


@case('one_forgets', ('.dialler', {'idle': (500, 0)}), ('.other', {'idle': (0, 500)}))
def one_forgets(w):
    """One host never ends connections. It keeps what it knows, or not; messages come once."""
    a, b = w.pair()
    for n in range(4):
        w.gone(hosts=[i for i in (0, 1) if w.idle[i]])
        src, dst = ((a, b), (b, a))[n % 2]
        w.talk(src, dst, b'round %d' % n)
        w.talk(src, dst, b'once more %d' % n)
    # Each end is followed by one dial at most; a machine that is busy may make some ends more.
    check(max(w.count('idle')) <= 11, 'connections that ended as idle: %s', w.count('idle'))
    equal(w.count('peer_rebooted'), [0, 0], 'restarts')


@case('moments', *((tail, {'idle': (100, 100), 'paths': paths, **kw})
                   for paths, more in (((1, 1), ''), ((8, 8), '_lanes'))
                   for tail, kw in ((t + more, k) for t, k in BOTH)))
def moments(w):
    """Messages are sent around the moment when connections end, at random from either host, while some
    are cut: each arrives once, in order."""
    w.connect(0, 2)
    w.connect(1, 2)
    for _ in range(ROUNDS):
        for f in rng.sample(w.flows, rng.randrange(1, 4)):
            f.send()
        w.take()
        if rng.randrange(8) == 0:
            ports = w.both()
            if ports:
                cut(w, rng.randrange(2), rng.choice(ports))
        # The moment is not waited for: all moments are wanted.
        time.sleep(rng.choice((0, 0.05, 0.13, 0.2, 0.3)))
    w.arrive()
    log('%d messages, ends %s, dropped %s', sum(f.sent for f in w.flows), w.count('idle'), w.dropped())
    check(max(w.count('idle')) > 0, 'no connection ended')
    equal(w.count('peer_rebooted'), [0, 0], 'restarts')
    w.gone()


@case('watched')
def watched(w):
    """A host with a socket that wants to be told of the peer keeps the connection; the peer, which does
    not know of that, forgets it, and is not reported as restarted."""
    a, b = w.sock(0), w.sock(1)
    a.s.setsockopt(SOL_RDS, PEER_TIMEOUT, struct.pack('=I', 60000))
    w.talk(a, b, b'first')
    w.gone(hosts=(1,))
    equal(len(w.known(0)), 1, 'connections of the host with the socket')
    w.talk(a, b, b'second')
    w.talk(b, a, b'third')
    equal(w.count('peer_rebooted'), [0, 0], 'restarts')


@case('uncalled', ('', {'idle': (0, 300)}))
def uncalled(w):
    """A host that does not listen keeps its connections up, so that it can be answered late."""
    with w.ns[0], open('/proc/sys/net/rds/tcp/listen', 'w', encoding='ascii') as f:
        f.write('0')
    a, b = w.pair()
    eventually(lambda: w.count('idle')[1] > 4, 'a fifth end of a connection that the other wants', 30)
    w.talk(b, a, b'answer')


@case('congested', ('', {'idle': (0, 300)}))
def congested(w):
    """A sender that waits for a full socket waits until that is read, also when the connection ends
    again and again, and the messages in it come once."""
    a, b = w.sock(0), w.sock(1)
    b.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    w.talk(a, b, b'first')
    maps = w.maps(0)
    a.send(LARGE, w.addr[1], b.port)
    eventually(lambda: w.maps(0) > maps, 'a map that has the port of the full socket', 10)
    before = w.count('idle')[1]
    eventually(lambda: w.count('idle')[1] > before + 4, 'a fifth end of a connection that is wanted', 30)
    equal(a.send_error(b'x', w.addr[1], b.port), 'ENOBUFS', 'send to the full socket')
    b.expect(LARGE, seconds=10)
    eventually(lambda: a.send_error(b'more', w.addr[1], b.port) is None, 'room', 10)
    b.expect(b'more', seconds=10)
    equal(b.recv_now(), None, 'another message')


@case('restart', *((tail, {'idle': (0, 0), **kw}) for tail, kw in BOTH))
def restart(w):
    """A host that restarts is known to have, as its connections have other host bits."""
    w.pair()
    w.restart(1, 1)
    b = w.sock(1)
    a = w.socks[0]
    w.talk(a, b, b'to the next incarnation')
    equal(w.count('peer_rebooted'), [1, 0], 'restarts')


class Crowd(Idle):
    """Host X has room for 16 peers; Y has all addresses below 10.20.0.0/14, as X knows, or below
    10.4.0.0/14, which are smaller than X's: Y dials."""

    def __init__(self, block=20, idle=(0, 0), **kw):
        super().__init__(idle=idle, **kw)
        self.block = block
        net = '10.%d.0.0/14' % block
        self.room(16)
        ip_batch(['route add local %s dev lo' % net], 'Y')
        ip_batch(['route add %s via %s' % (net, self.addr[1])], 'X')
        self.at = self.sock(0)

    def room(self, most):
        with self.ns[0], open('/proc/sys/net/rds/peer_connections_max', 'w', encoding='ascii') as f:
            f.write('%d' % most)

    def many(self, addrs):
        """Sockets at Y, each at an address of its own."""
        socks = [Rds(self.ns[1], a) for a in addrs]
        self.socks += socks
        return socks

    def all_send(self, socks, data):
        """Each socket sends once, and all that arrives is one message of each."""
        for r in socks:
            r.send(data, self.addr[0], self.at.port)
            self.at.expect(data, (r.addr, r.port), seconds=10)
        equal(self.at.recv_now(), None, 'another message')

    def below(self, second):
        prefix = '10.%d.' % second
        return sum(a.removeprefix('::ffff:').startswith(prefix) for a in self.known(0))

    def shrinks(self, second, most):
        """What has made room before its peer was told of all that came stays for ten seconds."""
        eventually(lambda: self.below(second) <= most,
                   'at most %d connections below 10.%d' % (most, second), 20)


CROWD = Cases('idle.', Crowd)


@CROWD.case('crowd', ('.dials', {}), ('.answers', {'block': 4}))
def crowd(w):
    """Peers of many networks connect: the longest idle one makes room, one network has a quarter, and
    what each sends comes once, also when it comes back."""
    block = w.block
    socks = w.many('10.%d.%d.1' % (block, n) for n in range(24))
    for n in range(3):
        w.all_send(socks, b'round %d' % n)
        w.shrinks(block, 16)
    # A message for a guest that makes room is a message of one that comes back.
    for n in range(6):
        for r in socks:
            r.send(b'burst %d' % n, w.addr[0], w.at.port)
        for _ in socks:
            w.at.recv(20)
        w.shrinks(block, 16)
    one = w.many('10.%d.0.%d' % (block + 1, n) for n in range(1, 17))
    for n in range(3):
        w.all_send(one, b'round %d' % n)
        w.shrinks(block + 1, 4)
    log('%d connections, dropped %s', len(w.known(0)), w.dropped())
    check(w.below(block) >= 8, 'one network has pushed others out: %d are left', w.below(block))
    ends = w.count('peer_limit')[0]
    # Each of the 264 messages may end one connection, whose peer dials once more and may end another.
    check(20 < ends < 1056, 'ends for want of room: %d', ends)
    equal([w.count(k)[0] for k in ('peer_rebooted', 'duplicate')], [0, 0], 'restarts and duplicates')


@CROWD.case('lowered', ('', {'idle': (40000, 0)}))
def lowered(w):
    """Guests that are too many make room one after the other, long before they are idle, and without a
    new one."""
    w.room(32)
    socks = w.many('10.%d.%d.1' % (w.block, n) for n in range(28))
    w.all_send(socks, b'first')
    equal(w.below(w.block), 28, 'connections')
    w.room(16)
    w.shrinks(w.block, 16)
    check(w.count('peer_limit')[0] >= 12, 'ends for want of room: %s', w.count('peer_limit'))
    w.all_send(socks, b'once more')
    w.shrinks(w.block, 16)
    equal([w.count(k)[0] for k in ('peer_rebooted', 'duplicate')], [0, 0], 'restarts and duplicates')


if __name__ == '__main__':
    CASES.join(CROWD)
    sys.exit(CASES.main(sys.argv[1:]))
