# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hosts with the module that do not hear that a port of A is congested.

Namespace D has the module, unaltered, and many addresses; for A each of them is a host. D keeps one
congestion map for A's address, whichever connection it comes over. A liar in namespace E has A's
address as well and a connection of its own to D. It sends an empty map whenever a send in D is
refused, so that D's sockets send on, over their connections to the real A.
"""
import errno
import mmap
import os
import select
import signal
import socket
import struct

from lab import A4, A6, RDS_TCP_PORT, Netns, ip_batch, run
from wirelib import F_CONG, Conn, Rds, bitmap, header

# Most hosts of each kind
MANY = 60
# Addresses of D: of hosts that dial A, of hosts that A dials, and the one that the liar dials
HOSTS = {4: ('9.70.0.%d', '11.70.0.%d'), 6: ('fc70::%x', 'fd70::%x')}
TOLD = {4: '11.71.0.1', 6: 'fd71::1'}
# A host may have so many bytes on their way: what A holds is to be measured, not what D holds.
SNDBUF = 32768
# Bytes of pages of sent messages that a socket keeps, beside twice what the kernel counts as its
# SO_SNDBUF
KEPT = 18 * 32768
# Most messages of a host before the next host has its turn
IN_TURN = 4
# After so many ms in which no socket can send the liar tells D again; A may have told it meanwhile.
REPEAT_MS = 50


def make_links():
    """D between A and the liar's E"""
    ip_batch(['netns add D', 'netns add E',
              'link add a2d netns A type veth peer name d2a netns D',
              'link add e2d netns E type veth peer name d2e netns D'])
    ip_batch(['link set a2d up', 'addr add fe80::a/64 dev a2d nodad',
              'route add 9.70.0.0/24 dev a2d', 'route add 11.70.0.0/24 dev a2d',
              'route add fc70::/64 via fe80::d dev a2d',
              'route add fd70::/64 via fe80::d dev a2d'], 'A')
    ip_batch(['link set lo up', 'link set e2d up', 'addr add %s/32 dev e2d' % A4,
              'addr add %s/128 dev e2d nodad' % A6, 'addr add fe80::e/64 dev e2d nodad',
              'route add %s dev e2d' % TOLD[4], 'route add %s via fe80::d dev e2d' % TOLD[6]], 'E')


def make_hosts():
    """D's addresses; what comes from the liar's one goes to the liar, all else to A."""
    lines = ['link set lo up', 'link set d2a up', 'link set d2e up',
             'addr add fe80::d/64 dev d2a nodad', 'addr add fe80::d/64 dev d2e nodad',
             'addr add %s/32 dev d2e' % TOLD[4], 'addr add %s/128 dev d2e nodad' % TOLD[6],
             'route add %s dev d2a' % A4, 'route add %s via fe80::a dev d2a' % A6,
             'route add %s dev d2e table 71' % A4, 'route add %s via fe80::e dev d2e table 71' % A6]
    for i in range(1, MANY + 1):
        lines += ['addr add %s/32 dev d2a' % (form % i) for form in HOSTS[4]]
        lines += ['addr add %s/128 dev d2a nodad' % (form % i) for form in HOSTS[6]]
    ip_batch(lines, 'D')
    # `ip -b` does not know the family of a rule by its prefix.
    for family in (4, 6):
        run('ip', '-n', 'D', '-%d' % family, 'rule', 'add', 'from', TOLD[family], 'lookup', '71')


def namespace(net):
    """D; it stays up to the end of the run, as the connections of B's peers do."""
    if not hasattr(net, 'deaf'):
        make_links()
        make_hosts()
        net.deaf = Netns.named('D')
    return net.deaf


class Liar:
    """Tells D, in the name of A, that no port of A is congested."""

    def __init__(self, family):
        kind = socket.AF_INET6 if family == 6 else socket.AF_INET
        with Netns.named('E'):
            s = socket.socket(kind, socket.SOCK_STREAM)
        s.bind((A6 if family == 6 else A4, 0))
        s.connect((TOLD[family], RDS_TCP_PORT))
        self.conn = Conn(s)
        self.free = header(flags=F_CONG, length=len(bitmap())) + bitmap()

    def tell(self):
        self.conn.write(self.free)


class Deaf:
    """So many hosts of D, and a process that sends from all of them to a port of A whatever A's map
    says"""

    def __init__(self, c, family, number):
        ns = namespace(c.net)
        self.addr, self.liar, self.pid = A6 if family == 6 else A4, Liar(family), 0
        self.socks = [Rds(ns, HOSTS[family][i % 2] % (1 + i // 2), sndbuf=SNDBUF)
                      for i in range(number)]
        # Messages of each host, and lies
        self.counts = mmap.mmap(-1, 8 * (number + 1))
        c.stack.callback(self.end)

    def connect(self, to):
        """Send a message from each host, which all come."""
        for r in self.socks:
            r.send(b'first', self.addr, to.port)
        for _ in self.socks:
            to.expect(b'first', seconds=20.0)

    def start(self, port, size):
        self.pid = os.fork()
        if not self.pid:
            try:
                self.run(port, bytes(size))
            finally:
                os._exit(0)

    def run(self, port, data):
        p, index = select.poll(), {r.s.fileno(): i for i, r in enumerate(self.socks)}
        for fd in index:
            p.register(fd, select.POLLOUT)
        while True:
            came = [index[fd] for fd, _ in p.poll(REPEAT_MS)]
            refused = [i for i in came if not self.send(i, port, data)]
            if refused or not came:
                self.liar.tell()
                self.count(len(self.socks))

    def send(self, i, port, data):
        """Send some messages; false if the port is said to be congested. What A acknowledges at once
        makes room for the next, so that without an end no other host would have its turn."""
        try:
            for _ in range(IN_TURN):
                self.socks[i].send(data, self.addr, port)
                self.count(i)
            return True
        except BlockingIOError:
            return True
        except OSError as e:
            if e.errno != errno.ENOBUFS:
                raise
            return False

    def count(self, i):
        n, = struct.unpack_from('=Q', self.counts, 8 * i)
        struct.pack_into('=Q', self.counts, 8 * i, n + 1)

    def read_counts(self):
        return struct.unpack('=%dQ' % (len(self.socks) + 1), self.counts[:])

    def sent(self):
        """Number of messages that each host has sent"""
        return self.read_counts()[:-1]

    def told(self):
        """Number of lies"""
        return self.read_counts()[-1]

    def own_bytes(self):
        """Memory of D: a socket keeps pages of sent messages, to use them again, for up to 2 s."""
        return len(self.socks) * (4 * SNDBUF + KEPT)

    def stop(self):
        """Nothing is sent any more; what waits in the sockets goes."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def end(self):
        """The sockets close, and what waits in them is dropped."""
        self.stop()
        for r in self.socks:
            r.close()
        # Closed, it would keep its namespace until D closes as well, or for a minute.
        if self.liar:
            self.liar.conn.reset()
            self.liar = None
