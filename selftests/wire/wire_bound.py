# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A peer that sends to a full socket whatever the congestion map says."""
import ctypes
import errno
import socket
import struct
import threading
import time

from lab import Deadline, SLOW, check, equal, eventually
from wire_ack import OURS_ONLY, frame, modern
from wirelib import INFO6_RECV, MIB, case, counters, drops, info, setting

BOUND = 16 * MIB
BYTES = MIB // 2
MANY = 48
SO_ATTACH_FILTER = 26
MESSAGES = [struct.pack('>I', i) * (BYTES // 4) for i in range(MANY)]


class Flood:
    """A peer that does not heed the map, and two sockets of which one is not read."""

    def __init__(self, c, grace, make=lambda c: c.peer('server')):
        self.c = c
        setting(c, 'recv_queue_max_bytes', BOUND, 4 * BOUND)
        setting(c, 'recv_queue_grace_ms', grace, 2000)
        self.p, self.full, self.other = make(c), c.rds(), c.rds()
        self.p.settle()
        self.before = self.holds(), self.dropped()

    def holds(self):
        return counters(self.c.net.a)['recv_delayed_retry']

    def dropped(self):
        return drops(self.c.net.a).get('full_socket', 0)

    def lost(self):
        return self.dropped() - self.before[1]

    def is_held(self):
        return self.holds() > self.before[0]

    def frame(self, i):
        return self.p.frame(4000, self.full.port, MESSAGES[i])

    def write_all(self):
        """All messages, and behind them one for the other socket, which a thread writes."""
        data = b''.join(map(self.frame, range(MANY)))
        data += self.p.frame(4000, self.other.port, b'behind')
        t = threading.Thread(target=self.p.conn.write, args=(data, 60.0))
        t.start()
        self.c.stack.callback(t.join)

    def queued(self):
        """Payload bytes that wait for the reader of the full socket."""
        port = struct.pack('>H', self.full.port)
        return sum(struct.unpack_from('=I', r, 8)[0] for r in info(self.c.net.a, INFO6_RECV)
                   if port in (r[44:46], r[46:48]))

    def error(self):
        """The errno that the reader gets instead of a message, if any."""
        try:
            self.full.recv_peek()
        except OSError as e:
            return e.errno
        return 0

    def expect_all(self):
        """All messages come to the full socket, in order."""
        for i, data in enumerate(MESSAGES):
            check(self.full.recv(10.0)[0] == data, 'message %d is another one', i)

    def read(self):
        """What the full socket has, which are the first messages that were sent."""
        n = 0
        while True:
            got = self.full.recv_now()
            if got is None:
                return n
            check(got[0] == MESSAGES[n], 'message %d is another one', n)
            n += 1


@case('wire.bound_waits', stacks=OURS_ONLY)
def bound_waits(c):
    """Above the bound the peer waits for the reader; other peers do not, and nothing is lost."""
    f = Flood(c, 60000)
    f.write_all()
    eventually(f.is_held, 'the path waits', 30)
    check(f.queued() <= BOUND + BYTES, '%d bytes wait for the reader', f.queued())
    q = c.peer('server')
    q.send(4000, f.other.port, b'from another peer')
    f.other.expect(b'from another peer')
    f.other.empty()
    f.expect_all()
    f.other.expect(b'behind', seconds=10.0)
    equal(f.lost(), 0, 'messages dropped')


@case('wire.bound_used', stacks=OURS_ONLY)
def bound_used(c):
    """A connection that waits for the reader is not ended as an idle one. Those of earlier cases are,
    so nothing is counted."""
    f = Flood(c, 60000, lambda c: modern(c, 'server'))
    # A connection that has carried nothing yet would end soon.
    f.p.send(4000, f.other.port, b'first')
    f.other.expect(b'first')
    # Long enough for a slow guest to write, and looked at eight times
    setting(c, 'connection_idle_ms', int(8000 * SLOW), 600000)
    f.write_all()
    eventually(f.is_held, 'the path waits', 30)
    setting(c, 'connection_idle_ms', 300, 600000)
    # The next look, and five times as long as it may be idle
    time.sleep(SLOW + 1.5)
    setting(c, 'connection_idle_ms', 0, 600000)
    f.expect_all()
    f.other.expect(b'behind', seconds=10.0)
    f.p.sync()
    equal(f.lost(), 0, 'messages dropped')


def deaf(s):
    """TCP of the socket gets no segment with payload any more, and acknowledges none. What it sends is
    acknowledged by others."""
    code = ((0x80, 0, 0, 0), (0x25, 0, 1, 70), (0x06, 0, 0, 0), (0x06, 0, 0, 0xffffffff))
    prog = ctypes.create_string_buffer(b''.join(struct.pack('=HBBI', *i) for i in code))
    s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                 struct.pack('@HP', len(code), ctypes.addressof(prog)))


@case('wire.busy_peer', stacks=OURS_ONLY)
def busy_peer(c):
    """A peer that sends, and whose TCP acknowledges nothing as its host is busy, is not dead: it would
    be reset. When it does not send either, it is."""
    setting(c, 'heartbeat_interval_ms', int(700 * SLOW), 1000)
    p, r = modern(c, 'server'), c.rds()
    p.send(4000, r.port, b'first')
    r.expect(b'first')
    frame(p, 'the acknowledgement')
    deaf(p.conn.s)
    r.send(b'not acknowledged', p.addr, 4000)
    end, n = Deadline(4), 0
    while not end.over():
        p.send(4000, r.port, b'%d' % n)
        r.expect(b'%d' % n)
        n += 1
        time.sleep(0.05)
    p.conn.wait_closed(8)


@case('wire.bound_drops', stacks=OURS_ONLY)
def bound_drops(c):
    """After the grace messages above the bound are dropped and counted, what is behind them comes, and
    the reader is told once. Then all is well."""
    f = Flood(c, 500)
    f.write_all()
    f.other.expect(b'behind', seconds=30.0)
    check(f.is_held(), 'the path did not wait')
    check(f.queued() <= BOUND + BYTES, '%d bytes wait for the reader', f.queued())
    lost = f.lost()
    equal(f.error(), errno.ENOBUFS, 'what the reader is told')
    f.p.conn.write(f.frame(0))
    eventually(lambda: f.lost() > lost, 'one more is dropped')
    n, lost = f.read(), f.lost()
    check(n * BYTES > BOUND // 4 and lost > 1, '%d messages came, %d were dropped', n, lost)
    equal(n + lost, MANY + 1, 'messages that came or were counted')
    f.p.send(4000, f.full.port, b'later')
    f.full.expect(b'later')
    equal(f.lost(), lost, 'messages dropped')


@case('wire.bound_ends', stacks=OURS_ONLY)
def bound_ends(c):
    """The peer ends a connection that waits for the reader: each message comes or is counted."""
    f = Flood(c, 60000)
    sent = 0
    while not f.is_held():
        f.p.conn.write(f.frame(sent % MANY), 30.0)
        sent += 1
        check(sent < MANY - 2, 'the path does not wait')
    for _ in range(2):
        f.p.conn.write(f.frame(sent), 30.0)
        sent += 1
    f.p.conn.fin()
    # A dials again when the old connection has come to its end.
    f.p.conn = f.p.accept(30.0)
    lost = f.lost()
    equal(f.full.s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), errno.ENOBUFS if lost else 0,
          'SO_ERROR')
    equal(f.read() + lost, sent, 'messages that came or were counted')
