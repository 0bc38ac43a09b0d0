#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Several paths between two hosts with this module: two namespaces, one of which restarts.

Usage: paths.py [WORD...]: only the cases with one of the words in their name. RDS_ARGS is the seed of
the random choices, which is printed.
"""
import errno
import os
import random
import sys
import time
import traceback

from lab import Deadline, Fail, LOAD, Netns, RDS_TCP_PORT, check, equal, eventually, ip_batch, log, run
from wirelib import INFO6_RETRANS, INFO6_SEND, Rds, drops, queued, tcp_info

SEED = int(os.environ.get('RDS_ARGS') or int.from_bytes(os.urandom(4), 'little'))
ADDRS = {4: ('10.9.0.1', '10.9.0.2'), 6: ('fd09::1', 'fd09::2')}
NAMES = ('X', 'Y')
SOCKETS = 6
KILLS = 400 if LOAD == 'full' else 40
RESTARTS = 20 if LOAD == 'full' else 4
LIMIT = 20
rng = random.Random(SEED)


class Flow:
    """Numbered messages from a socket to a port, which are taken at one socket for all its flows."""

    def __init__(self, src, dst_addr, dst_port):
        self.src, self.addr, self.port, self.sent, self.got = src, dst_addr, dst_port, 0, 0

    def send(self):
        """Returns whether a message was sent: there may be no room now."""
        try:
            self.src.send(b'%d %d' % (self.src.port, self.sent) + bytes(rng.choice((0, 50, 3000, 70000))),
                          self.addr, self.port)
        except OSError as e:
            if e.errno in (errno.EAGAIN, errno.ENOBUFS, errno.EADDRNOTAVAIL):
                return False
            raise
        self.sent += 1
        return True


class Sink:
    """A socket that many flows end at: each message is the next of its flow."""

    def __init__(self, sock):
        self.sock, self.flows = sock, {}

    def expect(self, flow):
        self.flows[flow.src.port] = flow

    def take(self):
        while (got := self.sock.recv_now()) is not None:
            port, n = got[0].rstrip(b'\0').split(b' ')
            flow = self.flows[int(port)]
            check(int(n) == flow.got, 'port %d: message %d of port %d where %d was due', self.sock.port,
                  int(n), int(port), flow.got)
            flow.got += 1


def sysctl(ns, n):
    with ns, open('/proc/sys/net/rds/paths', 'w', encoding='ascii') as f:
        f.write('%d' % n)


class World:
    """Two hosts; X is the one that dials, unless `swap`."""

    def __init__(self, paths=(8, 8), family=4, swap=False):
        self.family, self.addr = family, ADDRS[family][::-1] if swap else ADDRS[family]
        self.ns, self.flows, self.sinks, self.socks = [None, None], [], [], []
        self.begin(0)
        self.begin(1)
        self.link()
        for i in (0, 1):
            sysctl(self.ns[i], paths[i])

    def begin(self, i):
        ip_batch(['netns add ' + NAMES[i]])
        ip_batch(['link set lo up'], NAMES[i])
        self.ns[i] = Netns.named(NAMES[i])

    def link(self):
        ip_batch(['link add e0 netns X type veth peer name e0 netns Y'])
        for i in (0, 1):
            tail = '/64 dev e0 nodad' if self.family == 6 else '/24 dev e0'
            ip_batch(['link set e0 up', 'addr add %s%s' % (self.addr[i], tail)], NAMES[i])

    def end(self, i):
        self.ns[i].close()
        ip_batch(['netns del ' + NAMES[i]])

    def restart(self, i, paths, before=lambda: None):
        """Host i crashes, without a FIN or RST, and comes up; before() is called before its network
        does."""
        run('ip', '-n', NAMES[i], 'link', 'del', 'e0')
        self.end(i)
        self.begin(i)
        sysctl(self.ns[i], paths)
        ip_batch(['addr add %s dev lo' % self.addr[i]], NAMES[i])
        before()
        self.link()

    def sock(self, i, **kw):
        r = Rds(self.ns[i], self.addr[i], rcvbuf=8 << 20, sndbuf=8 << 20, **kw)
        self.socks.append(r)
        return r

    def connect(self, i, n=SOCKETS):
        """n sockets at host i, each of which sends to each of n sockets at the other."""
        sinks = [Sink(self.sock(1 - i)) for _ in range(n)]
        for src in [self.sock(i) for _ in range(n)]:
            for sink in sinks:
                flow = Flow(src, self.addr[1 - i], sink.sock.port)
                sink.expect(flow)
                self.flows.append(flow)
        self.sinks += sinks

    def take(self):
        for s in self.sinks:
            s.take()

    def send_all(self, rounds=1):
        for _ in range(rounds):
            for f in self.flows:
                f.send()
            self.take()

    def all_here(self):
        self.take()
        return all(f.got == f.sent for f in self.flows)

    def arrive(self, what='all messages'):
        eventually(self.all_here, what, LIMIT)

    def ports(self, i):
        """Source ports of the connections that host i has dialled, or accepted."""
        mine = tcp_info(self.ns[i], self.addr[1 - i])
        return sorted(t.pport if t.lport == RDS_TCP_PORT else t.lport for t in mine)

    def close(self):
        for r in self.socks:
            r.close()
        for i in (0, 1):
            self.end(i)


CASES = []


def case(name, *worlds):
    """Register a case, once for each set of arguments of its world: {suffix: arguments}."""
    def deco(fn):
        for tail, kw in (worlds or (('', {}),)):
            CASES.append(('paths.' + name + tail, fn, kw))
        return fn
    return deco


BOTH = (('.dials', {}), ('.answers', {'swap': True}), ('.v6', {'family': 6}))


@case('one_is_enough', ('.idle', {}))
def one_is_enough(w):
    """Hosts of which one message goes to the other have one connection, or that of its lane, too."""
    a, b = w.sock(0), w.sock(1)
    a.send(b'x', w.addr[1], b.port)
    b.expect(b'x')
    check(len(w.ports(0)) == 1, '%d connections after one message', len(w.ports(0)))
    for size in range(1, 70000, 3500):
        a.send(bytes(size), w.addr[1], b.port)
        b.expect(bytes(size))
    check(len(w.ports(0)) <= 2, '%d connections of one flow', len(w.ports(0)))


@case('spread', *BOTH)
def spread(w):
    """36 flows each way use all eight lanes: connections whose source ports tell the lane."""
    w.connect(0)
    w.connect(1)
    w.send_all()
    w.arrive()
    w.send_all(5)
    w.arrive()
    eventually(lambda: {p % 8 for p in w.ports(0)} == set(range(8)), 'a connection of each lane')
    equal(len(w.ports(0)), 8, 'connections')
    equal(w.ports(0), w.ports(1), 'ports at the other end')
    equal([drops(n).get('wrong_path', 0) for n in w.ns], [0, 0], 'connections in the wrong place')


@case('fewer', ('.2', {'paths': (2, 8)}), ('.4', {'paths': (8, 4)}), ('.3', {'paths': (3, 3)}))
def fewer(w):
    """Each host chooses lanes for what it sends, and takes what the other chooses."""
    w.connect(0)
    w.connect(1)
    w.send_all()
    w.arrive()
    w.send_all(5)
    w.arrive()
    log('%d connections', len(w.ports(0)))


@case('one', ('.here', {'paths': (1, 8)}), ('.there', {'paths': (8, 1)}), ('.both', {'paths': (1, 1)}))
def one(w):
    """With a host that has one path there is one."""
    w.connect(0)
    w.connect(1)
    w.send_all(5)
    w.arrive()
    equal(len(w.ports(0)), 1, 'connections')


@case('kill', *BOTH)
def kill(w):
    """Connections are ended at random, at both ends: each message arrives once, in order."""
    w.connect(0)
    w.connect(1)
    w.send_all(2)
    w.arrive()
    killed = longest = 0
    while killed < KILLS:
        w.send_all()
        i = rng.randrange(2)
        ports = w.ports(i)
        if not ports:
            continue
        port = rng.choice(ports)
        with w.ns[i]:
            run('ss', '-KtH', 'sport = :%d or dport = :%d' % (port, port))
        killed += 1
        for f in w.flows:
            f.send()
        began = time.monotonic()
        if rng.randrange(4) == 0:
            w.arrive('all messages after kill %d' % killed)
            longest = max(longest, time.monotonic() - began)
    w.arrive()
    log('%d connections killed, %d messages, longest wait for all %.3f s', killed,
        sum(f.sent for f in w.flows), longest)


@case('restart', *BOTH)
def restart(w):
    """A host restarts: what is sent to its new sockets arrives, over all lanes, in both directions."""
    for _ in range(RESTARTS):
        w.connect(0)
        w.connect(1)
        w.send_all(2)
        w.arrive()
        w.send_all()                        # may be under way
        for r in w.socks:
            r.close()
        w.socks, w.flows, w.sinks = [], [], []
        w.restart(1, 8)
    log('wrong places: %s', [drops(n).get('wrong_path', 0) for n in w.ns])


def backlog(w, new_paths):
    """Messages of many lanes wait for host 1, which restarts with as many paths; they arrive at
    sockets of the same ports."""
    ports = [4000 + i for i in range(SOCKETS)]
    first = [w.sock(1, port=p) for p in ports]
    srcs = [w.sock(0) for _ in range(SOCKETS)]
    flows = [Flow(s, w.addr[1], p) for s in srcs for p in ports]
    for f in flows:
        f.send()
    for s in first:
        for _ in srcs:
            s.recv()
    eventually(lambda: all(f.send() for f in flows) and len(w.ports(0)) > 1, 'lanes')
    eventually(lambda: not queued(w.ns[0], INFO6_SEND, w.addr[1]) +
               queued(w.ns[0], INFO6_RETRANS, w.addr[1]), 'acknowledgement of all')
    run('ip', '-n', 'Y', 'link', 'set', 'e0', 'down')
    for f in flows:
        f.sent = 0
    for _ in range(5):
        for f in flows:
            check(f.send(), 'no room for the backlog')
    for s in first:
        s.close()

    def sinks():
        # A message to a port without a socket would count as delivered.
        for p in ports:
            sink = Sink(w.sock(1, port=p))
            for f in flows:
                if f.port == p:
                    sink.expect(f)
            w.sinks.append(sink)

    w.restart(1, new_paths, sinks)
    w.flows = flows
    w.arrive('the backlog')
    for f in flows:
        f.send()
    w.arrive()


@case('backlog', *BOTH)
def backlog_stays(w):
    """A backlog of many lanes outlives a restart of the peer."""
    backlog(w, 8)


@case('fall', *BOTH)
def fall(w):
    """The host that comes back has one path: the first lane takes the backlog of all over, in order."""
    backlog(w, 1)
    eventually(lambda: len(w.ports(0)) == 1, 'one connection')


def main(words):
    log('seed %d', SEED)
    todo = [c for c in CASES if not words or any(x in c[0] for x in words)]
    print('1..%d' % len(todo), flush=True)
    bad = 0
    for n, (name, fn, kw) in enumerate(todo, 1):
        why, world, began = None, None, time.monotonic()
        try:
            world = World(**kw)
            fn(world)
        except Exception as e:  # pylint: disable=broad-except
            where = traceback.extract_tb(e.__traceback__)[-1]
            why = '%s: %s (line %d)' % (type(e).__name__, e, where.lineno)
            if world:
                log('connections %s, drops %s', [world.ports(i) for i in (0, 1)],
                    [drops(x) for x in world.ns])
        if world:
            world.close()
        bad += why is not None
        print(('not ok %d %s # %s' % (n, name, why)) if why else 'ok %d %s' % (n, name), flush=True)
        log('%s took %.2f s', name, time.monotonic() - began)
    return 1 if bad or not todo else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
