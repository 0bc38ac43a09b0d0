# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that write to connections what a peer must not write, as fast as they can."""
import ctypes
import mmap
import os
import select
import signal
import struct

from lab import Deadline, check, libc_call
from wirelib import header

MSG_EOR = 0x80


class Iovec(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('len', ctypes.c_size_t)]


class Msghdr(ctypes.Structure):
    _fields_ = [('name', ctypes.c_void_p), ('namelen', ctypes.c_uint), ('iov', ctypes.c_void_p),
                ('iovlen', ctypes.c_size_t), ('control', ctypes.c_void_p),
                ('controllen', ctypes.c_size_t), ('flags', ctypes.c_int)]


class Mmsghdr(ctypes.Structure):
    _fields_ = [('hdr', Msghdr), ('len', ctypes.c_uint)]


class Burst:
    """Segments of a byte each, many by one call, as an attacker in C would send them."""

    EACH = 1024

    def __init__(self, sock):
        self.s = sock
        self.room = ctypes.create_string_buffer(self.EACH)
        base = ctypes.addressof(self.room)
        self.iov = (Iovec * self.EACH)(*[Iovec(base + i, 1) for i in range(self.EACH)])
        self.vec = (Mmsghdr * self.EACH)()
        for i, m in enumerate(self.vec):
            m.hdr.iov, m.hdr.iovlen = ctypes.addressof(self.iov) + i * ctypes.sizeof(Iovec), 1

    def send(self, data, seconds=300.0):
        """Write the bytes; with MSG_EOR TCP joins none of them, whatever the window."""
        end, at = Deadline(seconds), 0
        while at < len(data):
            check(select.select([], [self.s], [], end.left())[1], '%d bytes to go', len(data) - at)
            part = data[at:at + self.EACH]
            ctypes.memmove(self.room, part, len(part))
            at += libc_call('sendmmsg', self.s.fileno(), self.vec, len(part), MSG_EOR)


class Flood:
    """A process that writes frames to connections whatever the map says, in turn; messages begin with
    their number."""

    def __init__(self, c, peers, port, size, many):
        self.mem = mmap.mmap(-1, 8)
        self.first = peers[0].seq + 1
        self.pid = os.fork()
        if not self.pid:
            try:
                self.write([p.conn.s for p in peers], port, size, many)
            finally:
                os._exit(0)
        c.stack.callback(self.end)

    def block(self, at, port, size, n):
        return b''.join(header(self.first + i, 4000, port, size) + struct.pack('>I', i).ljust(size, b'.')
                        for i in range(at, at + n))

    def write(self, socks, port, size, many):
        n = max(1, 65536 // (size + 48))
        at, left = 0, {}
        while at < many or left:
            n = min(n, many - at)
            for s in socks:
                if s not in left and n:
                    left[s] = memoryview(self.block(at, port, size, n))
            at += n
            while len(left) == len(socks) or (at >= many and left):
                for s in select.select([], list(left), [])[1]:
                    left[s] = left[s][s.send(left[s]):]
                    self.mem[:8] = struct.pack('=Q', self.done() + 1)
                    if not left[s]:
                        del left[s]

    def done(self):
        """Number of writes so far"""
        return struct.unpack('=Q', self.mem[:8])[0]

    def is_over(self):
        if self.pid and os.waitpid(self.pid, os.WNOHANG)[0]:
            self.pid = 0
        return not self.pid

    def end(self):
        if not self.is_over():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
