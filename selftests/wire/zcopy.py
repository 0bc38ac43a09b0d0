# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Zero-copy sends to a peer that stops reading: pins, completions, and their order.

Cases of hostile.py. The peer's TCP holds less than one message, so no message can be acknowledged.
"""
import ctypes
import mmap
import socket
import struct

from lab import check, equal, eventually, libc, log
from wirelib import (BOTH, F_RETRANS, INFO6_RETRANS, ONE, ROLES, SOL_RDS, case, pattern, queued, sockaddr)

SO_ZEROCOPY = 60
MSG_ZEROCOPY = 0x4000000
RDS_CMSG_ZCOPY_COOKIE = 12
RDS_CMSG_ZCOPY_COMPLETION = 13
PAGE = 4096
PIECE = 16 * PAGE
SNDBUF = 4 * PIECE
# The socket has twice the room requested, and accepts a message while any room is left.
MOST = 2 * SNDBUF // PIECE + 1


class IoVec(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('len', ctypes.c_size_t)]


class MsgHdr(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('namelen', ctypes.c_uint),
                ('iov', ctypes.POINTER(IoVec)), ('iovlen', ctypes.c_size_t),
                ('control', ctypes.c_char_p), ('controllen', ctypes.c_size_t), ('flags', ctypes.c_int)]


def pinned():
    """Number of pages pinned in the whole machine."""
    with open('/proc/sys/vm/stat_refresh', encoding='ascii') as f:
        f.read()                            # adds up the counts of all CPUs
    with open('/proc/vmstat', encoding='ascii') as f:
        count = dict(line.split() for line in f)
    return int(count['nr_foll_pin_acquired']) - int(count['nr_foll_pin_released'])


class Lender:
    """A socket, and the memory of its messages: message i is piece i, with cookie i."""

    def __init__(self, c, p):
        self.r, self.p, self.n = c.rds(sndbuf=SNDBUF), p, 0
        self.r.s.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
        self.mem = mmap.mmap(-1, PIECE * (MOST + 1))
        for i in range(MOST + 1):
            self.put(i, pattern(PIECE, i))
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.mem))

    def put(self, i, data):
        self.mem[i * PIECE:(i + 1) * PIECE] = data

    def lend(self, i):
        to = sockaddr(self.p.addr, 4000)
        ctl = struct.pack('=QiiI4x', 20, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, i)
        iov = IoVec(self.base + i * PIECE, PIECE)
        msg = MsgHdr(to, len(to), ctypes.pointer(iov), 1, ctl, len(ctl), 0)
        return libc.sendmsg(self.r.s.fileno(), ctypes.byref(msg), MSG_ZEROCOPY)

    def completed(self):
        """Cookies that were reported since the last call."""
        out = []
        while self.r.recv_now(256) is not None:
            for level, kind, data in self.r.anc:
                equal((level, kind), (SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION), 'control message')
                out += struct.unpack_from('=%dI' % struct.unpack_from('=I', data)[0], data, 4)
        return out

    def all_completed(self, want, what):
        got = []
        eventually(lambda: got.extend(self.completed()) or len(got) >= len(want), what, 5)
        equal(got, want, what)


def stalled(c, role, family):
    """A peer that does not read, and a lender whose socket is full of messages for the peer."""
    p = c.peer(role, family, rcvbuf=4096)
    p.settle()
    eventually(lambda: not queued(c.net.a, INFO6_RETRANS, p.addr), 'pong acknowledged')
    p.auto = False
    z, before = Lender(c, p), pinned()
    while z.n <= MOST and z.lend(z.n) == PIECE:
        z.n += 1
    err = ctypes.get_errno()
    check(2 <= z.n <= MOST, '%d messages were taken, room is for %d', z.n, MOST)
    equal(err, 11, 'errno of the send without room')
    z.before = before
    equal(pinned() - before, z.n * PIECE // PAGE, 'pages pinned for %d messages' % z.n)
    eventually(lambda: queued(c.net.a, INFO6_RETRANS, p.addr), 'a message on its way')
    equal(z.completed(), [], 'completions of messages nobody has read')
    return p, z


def nothing_pinned(z):
    eventually(lambda: pinned() == z.before, 'no page pinned', 5)


@case('hostile.zcopy_stalled', ROLES, BOTH, roles6=ONE)
def zcopy_stalled(c, role, family):
    """The peer reads later: the contents, then a completion for each message, then no pin."""
    p, z = stalled(c, role, family)
    p.auto = True
    for i in range(z.n):
        p.expect(data=pattern(PIECE, i), dport=4000)
    z.all_completed(list(range(z.n)), 'completions')
    nothing_pinned(z)


@case('hostile.zcopy_reset', ROLES, BOTH, roles6=ONE)
def zcopy_reset(c, role, family):
    """The connection is reset: all is retransmitted from the same pages, and reported once."""
    p, z = stalled(c, role, family)
    p.reopen('reset', 5)
    equal(pinned() - z.before, z.n * PIECE // PAGE, 'pages pinned after the reset')
    p.auto = True
    for i in range(z.n):
        m = p.expect(data=pattern(PIECE, i), dport=4000)
        check(i or m.flags == F_RETRANS, 'the first message: %s', m.brief())
    z.all_completed(list(range(z.n)), 'completions')
    nothing_pinned(z)


@case('hostile.zcopy_cancelled', ROLES, BOTH, roles6=ONE, stacks=('ours',))
def zcopy_cancelled(c, role, family):
    """Cancelled messages release their pages; those sent all the same have the original bytes."""
    p, z = stalled(c, role, family)
    z.r.cancel(p.addr, 4000)
    back = z.completed()
    log('%d of %d given back by the cancel: %r', len(back), z.n, back)
    for i in back:
        z.put(i, b'Z' * PIECE)
    equal(pinned() - z.before, (z.n - len(back)) * PIECE // PAGE, 'pages pinned after the cancel')
    p.send(4001, 0)
    p.auto = True
    seen = []
    while True:
        m = p.read(5)
        check(m, 'no pong behind the messages')
        if m.dport == 4001:
            break
        seen.append(next((i for i in range(z.n) if m.data == pattern(PIECE, i)), 'altered'))
    log('came all the same: %r', seen)
    check('altered' not in seen and seen == sorted(seen), 'messages that came were %r', seen)
    z.all_completed([i for i in range(z.n) if i not in back], 'the other completions')
    nothing_pinned(z)


@case('hostile.zcopy_closed', ROLES, BOTH, roles6=ONE)
def zcopy_closed(c, role, family):
    """The socket is closed and the peer disappears: no page stays pinned."""
    p, z = stalled(c, role, family)
    z.r.close()
    p.conn.reset()
    p.conn = None
    nothing_pinned(z)
