# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The memory cgroup of a socket pays for the messages that wait for its reader."""
import errno
import os
import socket

from lab import check, equal, eventually
from wire_ack import OURS_ONLY
from wire_memory import STEP, limit_memory, memory
from wirelib import INFO6_RECV, MIB, case, info

BYTES = MIB // 4
MANY = 32
ROOT = '/run/cgroup'
SO_RESERVE_MEM = 73


class Cgroup:
    """A memory cgroup, which this process can enter and leave."""

    def __init__(self, c):
        if not os.path.ismount(ROOT):
            os.makedirs(ROOT, exist_ok=True)
            equal(os.system('mount -t cgroup2 none ' + ROOT), 0, 'mount')
        self.write('', 'cgroup.subtree_control', '+memory')
        os.mkdir(ROOT + '/reader')
        c.stack.callback(os.rmdir, ROOT + '/reader')

    @staticmethod
    def write(group, name, text):
        with open('/'.join((ROOT, group, name)), 'w', encoding='ascii') as f:
            f.write(text)

    def __enter__(self):
        self.write('reader', 'cgroup.procs', str(os.getpid()))

    def __exit__(self, *exc):
        self.write('', 'cgroup.procs', str(os.getpid()))

    @staticmethod
    def sock():
        """Bytes of network buffers that the cgroup pays for."""
        with open(ROOT + '/reader/memory.stat', encoding='ascii') as f:
            return next(int(line.split()[1]) for line in f if line.startswith('sock '))


TRACING = '/sys/kernel/tracing'


def refusals(c):
    """Trace memory that the kernel refuses to sockets; returns a function that counts what was."""
    if not os.path.exists(TRACING + '/trace'):
        equal(os.system('mount -t tracefs none ' + TRACING), 0, 'mount')

    def switch(on):
        with open(TRACING + '/events/sock/sock_exceed_buf_limit/enable', 'w', encoding='ascii') as f:
            f.write(on)
    switch('1')
    c.stack.callback(switch, '0')

    def count():
        with open(TRACING + '/trace', encoding='ascii') as f:
            return sum('sock_exceed_buf_limit:' in line and 'RDS' in line for line in f)
    return count


class Reader:
    """A socket whose cgroup pays, and a peer that sends to it."""

    def __init__(self, c):
        self.c, self.p, self.group, self.sent = c, c.peer('server'), Cgroup(c), 0
        with self.group:
            self.s = c.rds()
        equal(self.group.sock(), 0, 'bytes charged')

    def send(self, n):
        for i in range(self.sent, self.sent + n):
            self.p.send(4000, self.s.port, bytes([i]) * BYTES)
        self.sent += n
        eventually(lambda: len(info(self.c.net.a, INFO6_RECV)) == self.sent, 'all messages wait', 30)

    def read(self, first, after):
        for i in range(first, after):
            check(self.s.recv(10.0)[0] == bytes([i]) * BYTES, 'message %d is another one', i)

    def pays(self, low, high):
        # The kernel adds up the sums of the processors every two seconds.
        eventually(lambda: low <= self.group.sock() <= high,
                   'the cgroup pays for %d to %d bytes' % (low, high), 10)


@case('wire.cgroup_pays', stacks=OURS_ONLY)
def cgroup_pays(c):
    """For messages of another host that wait for its socket; it is given back as they are read, and
    with the socket."""
    r = Reader(c)
    r.send(MANY)
    low, high = MANY * BYTES, MANY * BYTES * 5 // 4
    r.pays(low, high)
    check(low // 4096 - STEP <= memory() <= high // 4096 + STEP, '%d pages are charged', memory())
    r.read(0, MANY // 2)
    r.pays(low // 2, high * 2 // 3)
    r.s.close()
    r.pays(0, 0)
    check(memory() <= STEP, '%d pages are charged', memory())


@case('wire.cgroup_refused', stacks=OURS_ONLY)
def cgroup_refused(c):
    """What the host has no memory for costs the cgroup nothing, and the kernel can trace it."""
    r = Reader(c)
    r.send(MANY)
    limit_memory(c, 0)
    before, count = r.group.sock(), refusals(c)
    r.send(1)
    check(count() > 0, 'nothing was refused')
    r.pays(MANY * BYTES, before + STEP * 4096)
    r.read(0, MANY + 1)
    # A queue that was read keeps less than two pages.
    r.pays(0, 2 * 4096)


@case('wire.cgroup_reserves', stacks=OURS_ONLY)
def cgroup_reserves(c):
    """Memory that a program reserves for a socket, where the kernel allows that, ends with it."""
    r = Reader(c)
    try:
        r.s.s.setsockopt(socket.SOL_SOCKET, SO_RESERVE_MEM, 4 * MIB)
    except OSError as e:
        equal(e.errno, errno.EOPNOTSUPP, 'SO_RESERVE_MEM')
    r.send(MANY)
    r.read(0, MANY // 2)
    r.s.close()
    r.pays(0, 0)
    check(memory() <= STEP, '%d pages are charged', memory())
