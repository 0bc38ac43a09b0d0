# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two hosts with this module, as namespaces, with many flows between them; paths.py, addrs.py."""
import errno
import os
import random
import time
import traceback

from lab import LOAD, SLOW, Netns, RDS_TCP_PORT, check, eventually, ip_batch, log, run
from wirelib import Rds, drops, kill_tcp, tcp_info

SEED = int(os.environ.get('RDS_ARGS') or int.from_bytes(os.urandom(4), 'little'))
ADDRS = {4: ('10.9.0.1', '10.9.0.2'), 6: ('fd09::1', 'fd09::2')}
NAMES = ('X', 'Y')
SOCKETS = 6
KILLS = 400 if LOAD == 'full' else 40 if SLOW == 1 else 12
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


# Time between two signs of life of a peer, in ms, and after how many without one it is given up
HEARTBEAT, BEATS = 200, 3


def sysctl(ns, n):
    values = (('paths', n), ('heartbeat_interval_ms', HEARTBEAT), ('heartbeat_limit', BEATS))
    for name, value in values:
        with ns, open('/proc/sys/net/rds/' + name, 'w', encoding='ascii') as f:
            f.write('%d' % value)


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

    def addrs(self, i):
        """Addresses of host i that have connections."""
        return [self.addr[i]]

    def ports(self, i, *addrs):
        """Source ports of the connections that host i has dialled, or accepted, to some addresses."""
        mine = [t for a in addrs or self.addrs(1 - i) for t in tcp_info(self.ns[i], a)]
        return sorted(t.pport if t.lport == RDS_TCP_PORT else t.lport for t in mine)

    def both(self):
        """Source ports of the connections that both hosts have."""
        return sorted(set(self.ports(0)) & set(self.ports(1)))

    def dropped(self):
        return [{k: n for k, n in drops(ns).items() if n} for ns in self.ns]

    def close(self):
        for r in self.socks:
            r.close()
        for i in (0, 1):
            self.end(i)


class Lost:
    """As long as this is entered, TCP packets of some kinds that hosts send, or get, are lost."""

    def __init__(self, w, *kinds, hosts=(0, 1), hook='egress'):
        self.names = [NAMES[i] for i in hosts]
        self.lines = ['qdisc add dev e0 clsact']
        proto = ('ip', 9) if w.family == 4 else ('ipv6', 6)
        for kind in kinds:
            self.lines.append('filter add dev e0 %s protocol %s u32 match u8 6 0xff at %d %s action drop' %
                              (hook, *proto, kind(20 if w.family == 4 else 40)))

    def __enter__(self):
        for name in self.names:
            run('tc', '-n', name, '-b', '-', stdin='\n'.join(self.lines) + '\n')

    def __exit__(self, *exc):
        for name in self.names:
            run('tc', '-n', name, 'qdisc', 'del', 'dev', 'e0', 'clsact')


# Kinds of packets, each a function of the offset of the TCP header
def from_port(port):
    return lambda at: 'match u16 %d 0xffff at %d' % (port, at)


def to_port(port):
    return lambda at: 'match u16 %d 0xffff at %d' % (port, at + 2)


def first_syn(at):
    return 'match u8 0x02 0x12 at %d' % (at + 13)


def any_kind(_):
    return ''


def no_dials(w):
    """As long as this is entered, no host can open a connection to another."""
    return Lost(w, first_syn)


def cut(w, i, port):
    """Host i resets the connection; the peer gets the RST."""
    for addr in w.addrs(1 - i):
        kill_tcp(w.ns[i], addr, port)


class Cases:
    """The cases of a file."""

    def __init__(self, prefix, world):
        self.prefix, self.world, self.cases = prefix, world, []

    def join(self, other):
        """Have the cases of another world run as well."""
        self.cases += other.cases

    def case(self, name, *worlds):
        """Register a case, once for each set of arguments of its world: {suffix: arguments}."""
        def deco(fn):
            for tail, kw in (worlds or (('', {}),)):
                self.cases.append((self.prefix + name + tail, fn, self.world, kw))
            return fn
        return deco

    def run_one(self, fn, make, kw):
        """Returns why the case failed, or None."""
        world = None
        try:
            world = make(**kw)
            fn(world)
        except Exception as e:  # pylint: disable=broad-except
            where = traceback.extract_tb(e.__traceback__)[-1]
            if world:
                log('connections %s, drops %s', [world.ports(i) for i in (0, 1)], world.dropped())
            return '%s: %s (line %d)' % (type(e).__name__, e, where.lineno)
        finally:
            if world:
                world.close()
        return None

    def main(self, words):
        log('seed %d', SEED)
        # For kill_tcp(): otherwise the kernel loads the module when the first connection is cut.
        run('modprobe', '-q', 'tcp_diag', must=False)
        todo = [c for c in self.cases if not words or any(x in c[0] for x in words)]
        print('1..%d' % len(todo), flush=True)
        bad = 0
        for n, (name, *one) in enumerate(todo, 1):
            began = time.monotonic()
            why = self.run_one(*one)
            bad += why is not None
            print(('not ok %d %s # %s' % (n, name, why)) if why else 'ok %d %s' % (n, name), flush=True)
            log('%s took %.2f s', name, time.monotonic() - began)
        return 1 if bad or not todo else 0
