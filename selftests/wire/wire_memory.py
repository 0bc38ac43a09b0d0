# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Messages that wait for their readers while the host has no more memory for them."""
import errno
import os
import time

from lab import check, equal, eventually
from wire_ack import OURS_ONLY
from wire_bound import BOUND, BYTES, MANY, MESSAGES, Flood
from wirelib import MIB, case

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
