#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random frames at port 16385, as client and as server: most of them are nearly right, so that they
get past the first look. Meanwhile a peer that keeps the rules is served.

Usage: frames.py [WORD...]: only the cases with one of the words in their name. RDS_ARGS is the seed,
which is printed, and the number of frames of all four cases. RDS_LOAD=full sends a million.
"""
import ipaddress
import os
import random
import select
import struct
import sys

import wirelib
from hostile import served
from lab import LOAD, Fail, Net, SLOW, check, log
from wirelib import BOTH, F_CONG, F_RETRANS, MAP_BYTES, ROLES, bitmap, case, drops, gen, header, npaths

ARGS = [int(w) for w in os.environ.get('RDS_ARGS', '').split()]
SEED = ARGS[0] if ARGS else 1
# Frames of a case
FRAMES = (ARGS[1] if ARGS[1:] else {'full': 1000000, 'light': 6000}.get(LOAD, 20000)) // 4
# Frames between two looks at the peer that keeps the rules
LOOK = 500
# Reasons to drop that the frames of a case have to bring about
REASONS = 5
# Connections that stay open while others begin
OPEN = 6


class Frames:
    """Frames of one peer. Most of them have the right format, and break a rule by what they say."""

    def __init__(self, rnd, ports, name, to):
        self.rnd, self.ports, self.seq, self.gen = rnd, ports, 0, rnd.getrandbits(32)
        self.join = b'RDS JOIN' + rnd.randbytes(16) + mapped(name) + mapped(to)

    def number(self):
        """A sequence number: mostly the next one"""
        r = self.rnd
        kind = r.randrange(16)
        if kind < 9:
            self.seq += 1
            return self.seq
        return (0, self.seq, max(self.seq - r.randrange(9), 0), self.seq + 2, self.seq + (1 << 32),
                (1 << 64) - 1, r.getrandbits(64))[kind - 9]

    def acked(self):
        r = self.rnd
        return (0, 0, 0, r.randrange(20), self.seq, r.getrandbits(64))[r.randrange(6)]

    def extensions(self):
        """Elements of a handshake and of data, in any order, and what no element begins with"""
        r, area = self.rnd, b''
        while len(area) < 16 and r.randrange(4):
            kind = r.randrange(9)
            if kind == 0:
                self.gen = r.getrandbits(32)
            area += (gen(self.gen), npaths(r.choice((0, 1, 2, 8, 9, 65535))), gen(self.gen),
                     struct.pack('>BI', 7, r.getrandbits(32) & r.getrandbits(32)),
                     struct.pack('>BI', 7, 0x700 | r.randrange(8) << 16), bytes((8, 0)),
                     bytes((10, r.randrange(10))), bytes((r.randrange(256),)),
                     r.randbytes(r.randrange(1, 9)))[kind]
        return area[:16]

    def ends(self):
        """Source and destination port"""
        r = self.rnd
        return r.choice(((4000, r.choice(self.ports)), (4000, r.choice(self.ports)), (1, 0), (0, 1), (0, 0),
                         (4000, 0), (0, r.choice(self.ports)), (r.getrandbits(16), r.getrandbits(16))))

    def length(self):
        r = self.rnd
        return r.choice((0, 0, 0, 1, 5, 48, r.randrange(300), r.randrange(3000), 8192, r.randrange(70000)))

    def map(self):
        r = self.rnd
        n = r.choice((MAP_BYTES, MAP_BYTES, MAP_BYTES, 0, MAP_BYTES - 1, 2 * MAP_BYTES))
        bits = r.randbytes(1) * n if r.randrange(2) else bytes(n)
        return header(r.choice((0, 0, self.number())), 0, 0, n, F_CONG, self.extensions(),
                      self.acked()) + bits

    def message(self):
        r, n = self.rnd, self.length()
        sport, dport = self.ends()
        flags = r.choice((0, 0, 0, 2, F_RETRANS, 6, 0x20, r.randrange(256)))
        return header(self.number(), sport, dport, n, flags, self.extensions(), self.acked(),
                      r.choice((0, r.randrange(256))), csum=r.choice((0, r.getrandbits(16)))) + bytes(n)

    def next(self):
        r = self.rnd
        kind = r.randrange(400)
        if kind < 10:
            return header(0, 0, 0, 48, 0) + self.join
        # The end of a connection: what comes behind is not read.
        if kind == 10:
            return r.randbytes(r.randrange(1, 400))
        return self.map() if kind < 50 else self.message()


def mapped(addr):
    a = ipaddress.ip_address(addr)
    return a.packed if a.version == 6 else bytes(10) + b'\xff\xff' + a.packed


def pour(conn, rnd, data):
    """Write in pieces, take what comes, and give up if the other end does not read."""
    while data:
        n = rnd.choice((len(data), rnd.randrange(1, 64), rnd.randrange(1, 5000)))
        if not select.select([], [conn.s], [], 1 * SLOW)[1]:
            return
        try:
            data = data[conn.s.send(data[:n]):]
        except BlockingIOError:
            pass
        except OSError:
            return
        swallow(conn)


def swallow(conn):
    try:
        while conn.s.recv(1 << 18):
            pass
    except OSError:
        pass


def end(conn, rnd):
    getattr(conn, rnd.choice(('close', 'close', 'reset', 'reset', 'vanish')))()


def begin(p, r, rnd):
    """Another connection of the peer, or None if A does not take or make one now."""
    if p.role == 'client':
        try:
            return p.dial(rnd.choice((0, 0, 40000 + rnd.randrange(20000))), 0.5)
        except (Fail, OSError):
            return None
    r.send_error(b'dial', p.addr, 4000)
    if not select.select([p.listener], [], [], 0.2 * SLOW)[0]:
        return None
    return wirelib.Conn(p.listener.accept()[0])


def drain(socks):
    return sum(1 for s in socks for _ in iter(s.recv_now, None))


class Honest:
    """A peer that keeps the rules, and what it is told"""

    def __init__(self, c, family):
        self.p, self.r, self.n = c.peer('client', family), c.rds(family=family), 0

    def look(self):
        self.n += 1
        self.p.send(4000, self.r.port, b'%d' % self.n)
        self.r.expect(b'%d' % self.n, (self.p.addr, 4000), 10)
        self.r.send(b'back %d' % self.n, self.p.addr, 4000)
        self.p.until(lambda m: m.data == b'back %d' % self.n, 'the answer', 10)


def reasons(ns, was):
    return {k: n - was.get(k, 0) for k, n in sorted(drops(ns).items()) if n > was.get(k, 0)}


@case('frames.random', ROLES, BOTH)
def frames(c, role, family):
    """Whatever comes, other peers are served, and so is this one when it comes back."""
    rnd = random.Random(SEED)
    honest, was = Honest(c, family), drops(c.net.a)
    p, socks = c.peer(role, family, up=False), [c.rds(family=family) for _ in range(2)]
    make = Frames(rnd, [s.port for s in socks], p.addr, p.aaddr)
    conns, sent, began, taken = [], 0, 0, 0
    while sent < FRAMES:
        conn = begin(p, socks[0], rnd)
        if conn:
            conns.append(conn)
            began += 1
        # A dials less often than a client: each of its connections carries more.
        for conn in rnd.choices(conns, k=2 if role == 'client' else 6) if conns else ():
            n = rnd.randrange(1, 60)
            pour(conn, rnd, b''.join(make.next() for _ in range(n)))
            if sent // LOOK != (sent + n) // LOOK:
                honest.look()
                taken += drain(socks)
            sent += n
        while len(conns) > rnd.randrange(1, OPEN):
            end(conns.pop(rnd.randrange(len(conns))), rnd)
    for conn in conns:
        end(conn, rnd)
    got = reasons(c.net.a, was)
    log('%d frames sent, %d to a socket, over %d connections: %s', sent, drain(socks) + taken, began,
        ' '.join('%s=%d' % e for e in got.items()))
    check(len(got) >= REASONS, 'only %d reasons to drop a frame: %r', len(got), got)
    honest.look()
    drain(socks)
    p.seq = 1 << 40
    # Its maps may have said that each of its ports is congested.
    p.open(8)
    p.send_map(bitmap())
    p.sync()
    served(c, p)


if __name__ == '__main__':
    wirelib.CASE_LIMIT = max(120, FRAMES // 50)
    log('seed %d', SEED)
    net = Net()
    wirelib.CASES[:] = [k for k in wirelib.CASES if k.name.startswith('frames.')]
    status = wirelib.run_cases(net, sys.argv[1:])
    net.part()
    sys.exit(status)
