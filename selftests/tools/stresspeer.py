#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The other side of rds-stress, from the documented bytes only.

    stresspeer.py active|passive|bogus|greedy SELF PEER PORT
    stresspeer.py options SELF - PORT

active: dictates verified requests until ENOUGH were answered in each direction. passive:
acknowledges the requests of an active side, and prints "enough" after ENOUGH; then the active side
is to end. bogus: like active, but one sequence number is wrong. greedy: requests impossible
options. options: listens and compares the option message of two active sides with the recorded
bytes.
"""
import ctypes
import fcntl
import select
import socket
import struct
import subprocess
import sys
import termios
import time

libc = ctypes.CDLL(None, use_errno=True)
HEADER = struct.Struct("!I4s4sHHHBB")
REQ, ACK = 1, 2
DEPTH, SIZE = 2, 500
ENOUGH = 40
# The namespace of the peer of an active side, which runs in A
PEER_NS = "B"
# Seconds; only a hang takes so long, on any machine.
HANG_S = 100
# The recorded run: -t 1 -d 8 -q 1024 -a 1024 -T 3, without its addresses.
SHORT = ("00000008" "00000400" "00000400" "00000000" "%s" "%s" "%04x" "0001" "00000003"
         "00000000" "0000" "01" "0000" "01" "0000" "ff" "00" "00" "00000001" "00000000" "00000000")


def pattern(n):
    out, v = bytearray(), 11
    for i in range(n):
        if i:
            v = (41 * (v + 3) + (i >> 8)) & 255
        out.append(v)
    return bytes(out)


def sockaddr(addr, port):
    return struct.pack("=H", 2) + struct.pack("!H4s8x", port, socket.inet_aton(addr))


class Rds:
    """An RDS socket; Python's own methods do not know RDS addresses."""

    def __init__(self, addr, port):
        self.s = socket.socket(21, socket.SOCK_SEQPACKET, 0)
        if libc.bind(self.s.fileno(), sockaddr(addr, port), 16):
            sys.exit("bind: errno %d" % ctypes.get_errno())

    def send(self, data, to):
        return libc.sendto(self.s.fileno(), data, ctypes.c_size_t(len(data)), 0, to, 16)

    def wait(self, seconds):
        if not select.select([self.s], [], [], max(0, seconds))[0]:
            return None
        try:
            return self.s.recv(1 << 20, socket.MSG_DONTWAIT) or None
        except BlockingIOError:
            return None

    def must(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            data = self.wait(end - time.monotonic())
            if data:
                return data
        sys.exit("nothing came within %d s" % seconds)


class Side:
    """Sequence numbers and slots of one pair of tasks."""

    def __init__(self, me, peer, port, depth, ack_size):
        self.rds = Rds(me, port + 1)
        self.me, self.peer, self.port, self.depth = me, peer, port, depth
        self.ack_size = ack_size
        self.tx = self.rx = self.req_slot = self.ack_slot = self.in_slot = self.open = 0
        self.requests = self.acks = 0

    def send(self, op, slot, size, seq=None):
        head = HEADER.pack(self.tx if seq is None else seq, socket.inet_aton(self.me),
                           socket.inet_aton(self.peer), self.port + 1, self.port + 1, slot, op, 0)
        data = head + bytes(63 - len(head)) + pattern(size - 63)
        if self.rds.send(data, sockaddr(self.peer, self.port + 1)) != size:
            sys.exit("sendto: errno %d" % ctypes.get_errno())
        self.tx += 1

    def request(self, seq=None):
        self.send(REQ, self.req_slot, SIZE, seq)
        self.req_slot = (self.req_slot + 1) % self.depth
        self.open += 1

    def take(self, data):
        seq, src, dst, sport, dport, slot, op, rdma = HEADER.unpack(data[:HEADER.size])
        want = (self.rx, socket.inet_aton(self.peer), socket.inet_aton(self.me), self.port + 1,
                self.port + 1, 0)
        if (seq, src, dst, sport, dport, rdma) != want or any(data[19:63]):
            sys.exit("header %s, expected seq %d" % (data[:63].hex(), self.rx))
        if data[63:] != pattern(len(data) - 63):
            sys.exit("payload differs")
        self.rx += 1
        if op == REQ:
            if slot != self.in_slot:
                sys.exit("slot %d instead of %d" % (slot, self.in_slot))
            self.in_slot = (self.in_slot + 1) % self.depth
            self.requests += 1
            self.send(ACK, slot, self.ack_size)
        elif op == ACK and slot == self.ack_slot and len(data) == self.ack_size:
            self.ack_slot = (self.ack_slot + 1) % self.depth
            self.open -= 1
            self.acks += 1
        else:
            sys.exit("op %d slot %d length %d" % (op, slot, len(data)))


def options(me, peer, port, depth=DEPTH, req=SIZE, ack=64):
    return struct.pack("!4I4s4sHHI", depth, req, ack, 0, socket.inet_aton(peer),
                       socket.inet_aton(me), port, 1, 60) + bytes.fromhex(
        "00000001000001" "0000010000ff0000" "00000001" "00000000" "00000000")


def connect(peer, port):
    end = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection((peer, port), 20)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def is_read(ctl):
    """Has the peer's TCP got all that was sent, and the peer's program read it?"""
    if struct.unpack("i", fcntl.ioctl(ctl, termios.TIOCOUTQ, bytes(4)))[0]:
        return False
    row = subprocess.run(["ss", "-N", PEER_NS, "-tnH", "dport = :%d" % ctl.getsockname()[1]],
                         stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    if not row:
        sys.exit("the peer has no connection")
    return row[1] == "0"


def wait_read(ctl):
    end = time.monotonic() + HANG_S
    while not is_read(ctl):
        if time.monotonic() > end:
            sys.exit("not read within %d s" % HANG_S)
        time.sleep(0.02)


def active(me, peer, port, bogus):
    side = Side(me, peer, port, DEPTH, 64)
    ctl = connect(peer, port)
    msg = options(me, peer, port)
    assert len(msg) == 59, len(msg)
    # In two pieces, which are read one after the other: TCP does not keep message boundaries.
    ctl.sendall(msg[:20])
    wait_read(ctl)
    ctl.sendall(msg[20:])
    ctl.sendall(b"\xa5")
    if ctl.recv(1) != b"\xa5":
        sys.exit("GO was not echoed")
    # The first request shows that the tasks of the other side have their sockets.
    side.take(side.rds.must(HANG_S))
    while side.acks < ENOUGH or side.requests < ENOUGH:
        while side.open < DEPTH:
            side.request()
        side.take(side.rds.must(HANG_S))
        if bogus and side.acks > 20:
            side.request(seq=77777)
            break
    if bogus:
        # The other side gives up and closes.
        ctl.settimeout(20)
        try:
            ctl.recv(1)
        except ConnectionResetError:
            pass
    ctl.close()
    print("%d requests acknowledged, %d requests received" % (side.acks, side.requests))


def passive(me, peer, port):
    listener = socket.create_server((me, port))
    ctl = listener.accept()[0]
    msg = ctl.recv(77, socket.MSG_WAITALL)
    if msg[:6] != b"2.0.7\0" or msg[75:77] != b"\1\0":
        sys.exit("no long form with tos 1: " + msg.hex())
    depth, req, ack = struct.unpack("!3I", msg[16:28])
    side = Side(me, peer, port, depth, ack)
    if (depth, req, ack) != (3, 1000, 63):
        sys.exit("options %d %d %d" % (depth, req, ack))
    go = ctl.recv(1)
    ctl.sendall(go)
    while not select.select([ctl], [], [], 0)[0]:
        data = side.rds.wait(0.1)
        if data:
            side.take(data)
        if data and side.requests == ENOUGH:
            print("enough", flush=True)
    print("%d requests" % side.requests)
    if side.requests < ENOUGH:
        sys.exit("too few")


def greedy(me, peer, port):
    ctl = connect(peer, port)
    ctl.sendall(options(me, peer, port, depth=0xffffffff, req=9 << 20, ack=10))
    ctl.recv(1)


def check_options(me, port):
    listener = socket.create_server((me, port))
    addr = socket.inet_aton(me).hex()
    short = bytes.fromhex(SHORT % (addr, addr, port))
    for extra, want in (([], short), (["-Q", "1"],
                                      b"2.0.7\0" + b"\xff" * 10 + short + b"\1\0")):
        run = subprocess.Popen(["rds-stress", "-r", me, "-s", me, "-p", str(port), "-t", "1", "-d",
                                "8", "-q", "1024", "-a", "1024", "-T", "3"] + extra,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ctl = listener.accept()[0]
        # The classic passive side expects the first 16 bytes from a single call.
        got = ctl.recv(16)
        got += ctl.recv(len(want) - 16, socket.MSG_WAITALL)
        if got != want:
            sys.exit("got %s\ninstead of %s" % (got.hex(), want.hex()))
        ctl.close()
        if run.wait(20) != 1:
            sys.exit("an active side that lost its peer ended with %d" % run.returncode)


def main():
    role, me, peer, port = sys.argv[1:4] + [int(sys.argv[4])]
    if role in ("active", "bogus"):
        active(me, peer, port, role == "bogus")
    elif role == "passive":
        passive(me, peer, port)
    elif role == "greedy":
        greedy(me, peer, port)
    else:
        check_options(me, port)


if __name__ == "__main__":
    main()
