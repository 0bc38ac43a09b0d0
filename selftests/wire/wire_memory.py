# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Messages that wait for their readers while the host, or their sender, may have no more memory for
them."""
import errno
import os
import socket
import struct
import time

from lab import check, equal, eventually
from wire_ack import OURS_ONLY
from wire_bound import BOUND, BYTES, MANY, MESSAGES, Flood
from wirelib import INFO6_RECV, MIB, case, drops, info, setting

# Pages of messages that wait at all sockets of the host
PAGES = 4 * MIB // 4096
# The kernel counts in steps of up to so many pages.
STEP = 256 * os.cpu_count()


def memory():
    """Pages that are charged for messages of all RDS sockets."""
    with open('/proc/net/protocols', encoding='ascii') as f:
        return next(int(line.split()[3]) for line in f if line.startswith('RDS '))


def limit_memory(c, pages=PAGES):
    """Limit the memory of all sockets of the host for the rest of the case."""
    with open('/proc/sys/net/rds/mem', 'r+', encoding='ascii') as f:
        before = f.read()
        f.seek(0)
        f.write('%d %d %d' % (pages, pages, pages))

    def restore():
        with open('/proc/sys/net/rds/mem', 'w', encoding='ascii') as f:
            f.write(before)
    c.stack.callback(restore)


@case('wire.memory_waits', stacks=OURS_ONLY)
def memory_waits(c):
    """If the sockets of the host may have no more memory the peer waits for the reader; an empty queue
    always takes a message, so other sockets that are read go on. Nothing is lost."""
    f = Flood(c, 60000)
    limit_memory(c)
    f.write_all()
    eventually(f.is_held, 'the path waits', 30)
    # One message may come as the queue has just been found full, and one in the time of grace.
    check(f.queued() <= (PAGES + STEP) * 4096 + 2 * BYTES, '%d bytes wait for the reader', f.queued())
    # Now and then the path looks for more, and that is counted until it is refused.
    eventually(lambda: memory() <= PAGES + STEP, 'no more is charged')
    q = c.peer('server')
    for i in range(20):
        q.send(4000, f.other.port, MESSAGES[i])
        f.other.expect(MESSAGES[i])
    f.expect_all()
    f.other.expect(b'behind', seconds=10.0)
    equal(f.lost(), 0, 'messages dropped')


@case('wire.memory_returns', stacks=OURS_ONLY)
def memory_returns(c):
    """A peer that waits for memory goes on as soon as there is some, in the time of grace."""
    f = Flood(c, 60000)
    limit_memory(c, 1)
    f.write_all()
    eventually(f.is_held, 'the path waits', 30)
    check(f.queued() <= STEP * 4096 + 3 * BYTES, '%d bytes wait for the reader', f.queued())
    limit_memory(c, 2 * BOUND // 4096)
    eventually(lambda: f.queued() > BOUND // 2, 'the path goes on', 30)
    f.expect_all()
    equal(f.lost(), 0, 'messages dropped')


@case('wire.memory_drops', stacks=OURS_ONLY)
def memory_drops(c):
    """After the grace messages are dropped and counted, what is behind them comes, and the reader is
    told once. What is charged is given back."""
    f = Flood(c, 500)
    limit_memory(c)
    f.write_all()
    f.other.expect(b'behind', seconds=30.0)
    check(f.is_held(), 'the path did not wait')
    check(f.queued() <= (PAGES + STEP) * 4096 + 2 * BYTES, '%d bytes wait for the reader', f.queued())
    equal(f.error(), errno.ENOBUFS, 'what the reader is told')
    n, lost = f.read(), f.lost()
    equal(n + lost, MANY, 'messages that came or were counted')
    check(lost > MANY // 2, '%d messages were dropped', lost)
    f.p.send(4000, f.full.port, b'later')
    f.full.expect(b'later')
    check(memory() <= STEP, '%d pages are charged', memory())


@case('wire.memory_reads', stacks=OURS_ONLY)
def memory_reads(c):
    """If there is no more memory a socket that is read still gets all messages, in order, also when
    several come at once, and for longer than the grace."""
    f = Flood(c, 500)
    limit_memory(c)
    f.write_all()
    f.other.expect(b'behind', seconds=30.0)
    q, held, end, n = c.peer('server'), f.holds(), time.monotonic() + 1.5, 0
    while n < 10 or time.monotonic() < end:
        burst = [b'%d of %d' % (i, n) for i in range(10)]
        q.conn.write(b''.join(q.frame(4000, f.other.port, m) for m in burst))
        for m in burst:
            f.other.expect(m, seconds=10.0)
        n += 1
    check(f.holds() >= held + n, '%d bursts, the path waited %d times', n, f.holds() - held)
    # Each of these is more than the receive buffer allows.
    small = c.rds(rcvbuf=32768)
    for _ in range(3):
        large = [bytes([i]) * MIB for i in range(2)]
        q.conn.write(b''.join(q.frame(4000, small.port, m) for m in large), 30.0)
        for m in large:
            small.expect(m, seconds=10.0)


# Effective send buffer, and the memory of messages beside which it counts payload
SNDBUF, OVERHEAD = 256 * 1024, 160


@case('wire.memory_sends', stacks=OURS_ONLY)
def memory_sends(c):
    """The send buffer counts payload; small messages for a peer that is not there fill it when they hold
    eight times as much memory, and what holds no more than that is not refused."""
    p, r = c.peer('client', up=False), c.rds(sndbuf=SNDBUF)
    c.stack.callback(r.cancel, p.addr, 4000)
    for size, least, most in ((1, 8 * SNDBUF // 400, 8 * SNDBUF // OVERHEAD),
                              (0, 8 * SNDBUF // 400, 8 * SNDBUF // OVERHEAD),
                              (64, SNDBUF // 64, SNDBUF // 64), (4096, SNDBUF // 4096, SNDBUF // 4096)):
        n = 0
        while n <= most and not r.send_error(bytes(size), p.addr, 4000):
            n += 1
        check(least <= n <= most, '%d messages of %d bytes fill the buffer', n, size)
        r.cancel(p.addr, 4000)


class Spread(Flood):
    """The same for several sockets, none of which reaches its bound; all of them together reach that of
    the peer."""

    SOCKETS = 8

    def __init__(self, c, grace):
        super().__init__(c, grace)
        setting(c, 'recv_queue_max_bytes', 8 * BOUND, 4 * BOUND)
        setting(c, 'recv_peer_max_bytes', BOUND, 4 * BOUND)
        # Each is congested with one message, and has its share of memory with the next.
        self.all = [c.rds(rcvbuf=4096) for _ in range(self.SOCKETS)]
        self.full = self.all[0]

    def dropped(self):
        return drops(self.c.net.a).get('full_peer', 0)

    def frame(self, i):
        return self.p.frame(4000, self.all[i % self.SOCKETS].port, MESSAGES[i])

    def queued(self):
        ports = [struct.pack('>H', r.port) for r in self.all]
        return sum(struct.unpack_from('=I', r, 8)[0] for r in info(self.c.net.a, INFO6_RECV)
                   if r[44:46] in ports or r[46:48] in ports)

    def expect_all(self):
        for i, data in enumerate(MESSAGES):
            check(self.all[i % self.SOCKETS].recv(10.0)[0] == data, 'message %d is another one', i)


# The first message of each comes before the port is congested.
FREE = Spread.SOCKETS * BYTES


@case('wire.memory_peer_waits', stacks=OURS_ONLY)
def memory_peer_waits(c):
    """Above its bound at congested ports the peer waits for the readers; other peers send to the same
    sockets, and nothing is lost."""
    f = Spread(c, 60000)
    f.write_all()
    eventually(f.is_held, 'the path waits', 30)
    # The bound counts memory, of which payload is a part.
    check(BOUND // 2 < f.queued() <= BOUND + BYTES + FREE, '%d bytes wait for the readers', f.queued())
    q, queued = c.peer('server'), f.queued()
    q.send(4000, f.full.port, MESSAGES[0])
    eventually(lambda: f.queued() == queued + BYTES, 'a message of another peer')
    f.other.empty()
    for i, data in enumerate(MESSAGES):
        r, got = f.all[i % f.SOCKETS], None
        while got is None or got[1] == (q.addr, 4000):
            got = r.recv(10.0)
        check(got[0] == data, 'message %d is another one', i)
    f.other.expect(b'behind', seconds=10.0)
    equal(f.lost(), 0, 'messages dropped')


@case('wire.memory_peer_drops', stacks=OURS_ONLY)
def memory_peer_drops(c):
    """After the grace the peer's messages for congested ports are dropped and counted, its others come,
    and each socket is told once. Then all is well."""
    f = Spread(c, 500)
    f.write_all()
    f.other.expect(b'behind', seconds=30.0)
    check(f.is_held(), 'the path did not wait')
    check(f.queued() <= BOUND + BYTES + FREE, '%d bytes wait for the readers', f.queued())
    lost = f.lost()
    check(lost >= MANY - (BOUND + BYTES + FREE) // BYTES, '%d messages were dropped', lost)
    came = told = 0
    for r in f.all:
        told += r.s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ENOBUFS
        while r.recv_now() is not None:
            came += 1
    equal(came + lost, MANY, 'messages that came or were counted')
    equal(told, min(lost, f.SOCKETS), 'sockets that were told')
    # There is a new grace.
    setting(c, 'recv_queue_grace_ms', 60000, 2000)
    held = f.holds()
    f.write_all()
    eventually(lambda: f.holds() > held, 'the path waits again', 30)
    equal(f.lost(), lost, 'messages dropped')
    f.expect_all()
    f.other.expect(b'behind', seconds=10.0)
    equal(f.lost(), lost, 'messages dropped')


@case('wire.memory_peer_share', stacks=OURS_ONLY)
def memory_peer_share(c):
    """While a peer is above its bound for sockets that do not read, one that reads gets what the peer
    sent before it knew that the port is congested."""
    f = Spread(c, 500)
    f.write_all()
    f.other.expect(b'behind', seconds=30.0)
    check(f.lost() > 0, 'nothing was dropped')
    lost, some = f.lost(), [bytes([i]) * 100000 for i in range(8)]
    f.p.conn.write(b''.join(f.p.frame(4000, f.other.port, m) for m in some))
    for m in some:
        f.other.expect(m, seconds=10.0)
    equal(f.lost(), lost, 'messages dropped')
