#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The other side of an rds-stress run with RDMA, from the documented bytes only.

    rdmapeer.py active|passive|wrong SELF PEER PORT

passive: makes the transfers that an active side requests; fills only the first element of the
vector, like the classic program. wrong: the same, with one wrong byte. active: requests writes and
reads.
"""
import ctypes
import mmap
import select
import socket
import struct
import sys
import time

from stresspeer import ACK, HEADER, REQ, Rds, connect, libc, sockaddr

SOL_RDS, FREE_MR = 276, 3
ARGS, DEST, MAP, STATUS = 1, 2, 3, 4
READ, WRITE = 1, 2
READWRITE, FENCE, NOTIFY = 1, 2, 0x20
COMMAND = struct.Struct("!QQQQII")


class Side:
    """One task with one peer, depth 1; the socket is connected: sendmsg() needs no address."""

    def __init__(self, me, peer, port, size, vector):
        self.rds = Rds(me, port + 1)
        self.s = self.rds.s
        if libc.connect(self.s.fileno(), sockaddr(peer, port + 1), 16):
            sys.exit("connect: errno %d" % ctypes.get_errno())
        self.me, self.peer, self.port = socket.inet_aton(me), socket.inet_aton(peer), port
        self.size, self.vector = size, vector
        # Pages of its own: the device may write them until the kernel has ended the last transfer,
        # which is later than Python frees what it took from the heap.
        self.mem = (ctypes.c_char * (size * vector)).from_buffer(mmap.mmap(-1, size * vector))
        self.tx = self.rx = 0
        self.done = {READ: 0, WRITE: 0}

    def send(self, op, length, rop, command, cmsg):
        data = HEADER.pack(self.tx, self.me, self.peer, self.port + 1, self.port + 1, 0, op, rop)
        data += COMMAND.pack(*command) + bytes(3)
        self.s.sendmsg([data + bytes(length - len(data))],
                       [(SOL_RDS,) + c for c in cmsg])
        self.tx += 1

    def receive(self, seconds):
        """(header, command, key, [(token, status)]); header and command None for a notification."""
        if not select.select([self.s], [], [], seconds)[0]:
            return None, None, 0, []
        data, anc, _, addr = self.s.recvmsg(1 << 16, 1024)
        key, statuses = 0, []
        for level, kind, value in anc:
            if level == SOL_RDS and kind == DEST:
                key, = struct.unpack("=Q", value[:8])
            if level == SOL_RDS and kind == STATUS:
                statuses.append(struct.unpack("=Qi", value[:12]))
        if not addr:
            return None, None, key, statuses
        head = HEADER.unpack(data[:HEADER.size])
        want = (self.rx, self.peer, self.me, self.port + 1, self.port + 1, 0)
        if head[:6] != want or any(data[60:63]):
            sys.exit("header %s, expected seq %d" % (data[:63].hex(), self.rx))
        self.rx += 1
        return head, COMMAND.unpack(data[HEADER.size:60]), key, statuses

    def first(self):
        return self.mem.raw[:self.size]


def transfer(side, rop, command, key, wrong):
    """The control message of one transfer, with as many local pieces as the vector has."""
    if rop == WRITE:
        fill = bytearray(struct.pack("=Q", command[2]) * (side.size // 8))
        if wrong:
            fill[128] ^= 1
        ctypes.memmove(side.mem, bytes(fill), side.size)
    base = ctypes.addressof(side.mem)
    side.vec = ctypes.create_string_buffer(b"".join(
        struct.pack("=QQ", base + i * side.size, side.size) for i in range(side.vector)))
    flags = NOTIFY | (READWRITE if rop == WRITE else FENCE)
    return struct.pack("=7Q", key, 0, side.size * side.vector, ctypes.addressof(side.vec),
                       side.vector, flags, side.tx << 32)


def answer(side, head, command, key, ack, wrong):
    """Acknowledge one request, with the transfer that it requests; return the operation."""
    rop = head[7]
    if head[6] != REQ or (head[0] <= 10 and (rop or any(command) or key)):
        sys.exit("request %d: op %d, rdma op %d" % (head[0], head[6], rop))
    if not rop:
        side.send(ACK, ack, 0, (0,) * 6, [])
        return 0
    if rop not in (READ, WRITE) or command[2] >> 32 != head[0] or not command[0]:
        sys.exit("request %d: rdma op %d, %r" % (head[0], rop, command))
    if command[1] or command[3] or not key or command[4:] != (side.size, side.vector):
        sys.exit("request %d: %r, key %x" % (head[0], command, key))
    command = command[:3] + (key,) + command[4:]
    side.send(ACK, ack, rop, command, [(ARGS, transfer(side, rop, command, key, wrong))])
    return rop


def settle(side, rop, command, statuses):
    """Check that the last transfer succeeded, before its memory is used again."""
    for _, status in statuses:
        if status:
            sys.exit("status %d" % status)
        if rop == READ and side.first() != struct.pack("=Q", command[2]) * (side.size // 8):
            sys.exit("read something else")
        side.done[rop] += 1
    return 0 if statuses else rop


def passive(me, peer, port, wrong):
    ctl = socket.create_server((me, port)).accept()[0]
    msg = ctl.recv(59, socket.MSG_WAITALL)
    ack, size = struct.unpack("!II", msg[8:16])
    vector, = struct.unpack("!I", msg[47:51])
    # use-once, get-mr, fence, cache, key meter; one-way and mode follow
    if msg[39:44] != b"\0\0\1\0\0" or msg[45] != 1 or msg[46] != (2 if wrong else 0):
        sys.exit("options " + msg.hex())
    side = Side(me, peer, port, size, vector)
    ctl.sendall(ctl.recv(1))
    rop, last, held = 0, None, None
    while not select.select([ctl], [], [], 0)[0]:
        head, command, key, statuses = side.receive(0.1)
        rop = settle(side, rop, last, statuses)
        if head:
            held = (head, command, key)
        if held and not rop:
            rop = answer(side, *held, ack, wrong)
            last, held = held[1], None
            if wrong and rop:
                print("wrote something wrong", flush=True)
    print("%d reads, %d writes" % (side.done[READ], side.done[WRITE]))
    if not wrong and (side.done[READ] < 5 or side.done[WRITE] < 5):
        sys.exit("too few")


def options(me, peer, port, size, vector):
    return struct.pack("!4I4s4sHHI", 1, 63, 63, size, socket.inet_aton(peer),
                       socket.inet_aton(me), port, 1, 60) + bytes.fromhex(
        "00000001000001" "0000010000ff0100") + struct.pack("!3I", vector, 0, 0)


def ask(side, cookie):
    """Send one request, from the eleventh on with memory to be written or read in turn."""
    if side.tx <= 10:
        side.send(REQ, 63, 0, (0,) * 6, [])
        return 0, 0
    rop, pattern = READ + (side.tx & 1), side.tx << 32 | 99
    word = struct.pack("=Q", pattern if rop == READ else 0)
    ctypes.memmove(side.mem, word * (len(side.mem) // 8), len(side.mem))
    args = struct.pack("=4Q", ctypes.addressof(side.mem), len(side.mem),
                       ctypes.addressof(cookie), READWRITE)
    side.send(REQ, 63, rop, (ctypes.addressof(side.mem), 0, pattern, 0, side.size, side.vector),
              [(MAP, args)])
    return rop, pattern


def active(me, peer, port):
    side, cookie = Side(me, peer, port, 512, 4), ctypes.c_uint64()
    ctl = connect(peer, port)
    ctl.sendall(options(me, peer, port, 512, 4))
    ctl.sendall(b"\xa5")
    if ctl.recv(1) != b"\xa5":
        sys.exit("GO was not echoed")
    end = time.monotonic() + 60
    while side.done[READ] < 20 or side.done[WRITE] < 20:
        rop, pattern = ask(side, cookie)
        head = None
        while not head:
            head, command, _, _ = side.receive(1)
            if time.monotonic() > end:
                sys.exit("no ack of request %d" % (side.tx - 1))
        if head[6] != ACK or head[7] != rop:
            sys.exit("op %d, rdma op %d instead of %d" % (head[6], head[7], rop))
        if not rop:
            continue
        if command != (ctypes.addressof(side.mem), 0, pattern, cookie.value, 512, 4):
            sys.exit("acknowledged %r" % (command,))
        # Check every element; the classic program would fill only the first.
        if rop == WRITE and side.mem.raw != struct.pack("=Q", pattern) * (len(side.mem) // 8):
            sys.exit("written: " + side.mem.raw[:64].hex())
        side.s.setsockopt(SOL_RDS, FREE_MR, struct.pack("=QQ", cookie.value, 0))
        side.done[rop] += 1
    ctl.close()
    print("%d reads, %d writes" % (side.done[READ], side.done[WRITE]))


def main():
    role, me, peer, port = sys.argv[1:4] + [int(sys.argv[4])]
    if role == "active":
        active(me, peer, port)
    else:
        passive(me, peer, port, role == "wrong")


main()
