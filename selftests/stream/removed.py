#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What streams get when their link goes down, or their device, address, namespace or module goes.

removed.py rxe|siw OWN PEER SILENT [CASE...]: both ends are in this process, at OWN and PEER; SILENT is
on-link, and does not answer. A case is a name, or a kind of far.py. Prints a result for each case.
"""
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys

from auto import (IB, LIBC, TCP, Failed, Thread, carrier, in_plain, rds_bind, rds_call, setting, stat,
                  want)
from far import (ACCEPT, CONNECT, EPOLL_WAIT, RECVFROM, SENDTO, SLOW, Blocked, Far, Kind, drain, fill,
                 obey, outcome, pattern, port_of, pump, run, wait_for, whole)

ORPHANS, ROUNDS = 200, 10
UNREAD, SIOCINQ = 10000, 0x541B
MODULE = "/run/rds/mod/ours/rds_stream.ko"


def sh(*words):
    """Run a command, which has to succeed"""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed("%s: %s" % (" ".join(words), done.stderr.strip()))


def settings():
    """A slow machine is not a silent peer, in a module that was just loaded, too."""
    setting("rdma_ms", 60000)


def exchange(a, b):
    """Bytes go both ways."""
    for s, t in (a, b), (b, a):
        s.sendall(pattern(20000))
        got = bytearray()
        while len(got) < 20000:
            part = t.recv(20000)
            if not part:
                raise Failed("the end after %d bytes" % len(got))
            got += part
        whole(bytes(got), 20000, "what was sent")


def alive(s):
    """Signs of life are sent, so that an end that waits learns that its peer is gone."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)


def has_unread(s, n):
    return struct.unpack("i", fcntl.ioctl(s, SIOCINQ, bytes(4)))[0] == n


def keeps_on(s):
    """Send without waiting until there is an error other than EAGAIN, which is returned"""
    s.setblocking(False)
    while True:
        error = outcome(s.send, bytes(1000))
        if isinstance(error, str) and error != "EAGAIN":
            return error
        select.select([], [], [], 0.001)


class Streams:
    """Streams between two addresses: one that is idle, with a reader at each end and an epoll_wait(),
    one whose writer waits, one whose writer does not wait, one with bytes that have come and are not
    read, and one that is closed with bytes queued"""

    def __init__(self, kind, own, peer):
        self.server = kind.listening(peer)
        self.kind, self.own, self.peer, self.port = kind, own, peer, port_of(self.server)
        self.idle, self.full, self.told = self.both(), self.both(), self.both()
        self.busy, self.unread = self.both(), self.both()
        for s in self.idle[0], self.full[0], self.busy[0]:
            alive(s)
        self.unread[0].sendall(pattern(UNREAD))
        wait_for(lambda: has_unread(self.unread[1], UNREAD), "the bytes that are not read")
        self.left = self.both()
        self.readers = [Blocked(RECVFROM, s.recv, 1) for s in self.idle]
        self.writer = Blocked(SENDTO, pump, self.full[0])
        self.other = Thread(lambda: keeps_on(self.busy[0]))
        p = select.epoll()
        p.register(self.told[1], select.EPOLLIN | select.EPOLLRDHUP)
        self.poller = Blocked(EPOLL_WAIT, p.poll, 60 * SLOW)
        fill(self.left[0])
        self.left[0].close()

    def both(self):
        a = self.kind.dialled(self.own, self.peer, self.port)
        return a, self.kind.accept(self.server)

    def over(self, at_own, at_peer):
        """All have ended: readers and writers have that error at the one and the other address."""
        want(self.readers[1].done(), at_peer, "recv() at the peer")
        want(self.readers[0].done(), at_own, "recv()")
        want(self.writer.done(), at_own, "send()")
        want(self.other.done(), at_own, "send() without waiting")
        want(drain(self.unread[1]), (pattern(UNREAD), at_peer), "what had come, and the error")
        events = dict(self.poller.done()).get(self.told[1].fileno(), 0)
        bits = select.EPOLLERR | select.EPOLLHUP | select.EPOLLIN | select.EPOLLRDHUP
        want(events, bits, "events")
        want(outcome(self.told[1].recv, 1), at_peer, "recv() after epoll_wait()")
        for s in self.idle + self.told[1:]:
            want(outcome(s.recv, 1), b"", "recv() again")
            want(outcome(s.send, b"x"), "EPIPE", "send()")
        got, end = drain(self.left[1])
        whole(got, len(got), "what came of the stream that was closed")
        want(end, at_peer, "its end")

    def again(self):
        """The listener serves as before, by RDMA; nobody says when."""
        def both():
            s = dial(self.kind, self.own, self.peer, self.port)
            c = Kind("plain").accept(self.server) if s else None
            return s and carrier(s) == IB and (s, c)
        a, b = wait_for(both, "the listener")
        exchange(a, b)


class Cases:
    """For one kind and family"""

    def __init__(self, kind, dev, own, peer, silent):
        self.kind, self.dev, self.own, self.peer, self.silent = kind, dev, own, peer, silent
        self.length = 64 if ":" in own else 24

    def connecting(self):
        """An attempt that waits for a peer that is silent, of AF_RDS"""
        if self.kind.name != "rds":
            return None
        port = 9
        if self.dev == "siw":
            port = port_of(in_plain(lambda: Kind("plain").listening(self.silent)))
        s = self.kind.opened(self.silent)
        return Blocked(CONNECT, rds_call, LIBC.connect, s, self.silent, port)

    def rdma_link(self):
        """The link goes down, and comes up. An attempt that begins meanwhile waits for that."""
        s, attempt, late = Streams(self.kind, self.own, self.peer), self.connecting(), None
        sh("ip", "link", "set", "rds0", "down")
        try:
            s.over("ENETDOWN", "ENETDOWN")
            if attempt:
                want(attempt.done(), "ENETDOWN", "connect()")
                late = Blocked(CONNECT, self.kind.dialled, self.own, self.peer, s.port)
        finally:
            sh("ip", "link", "set", "rds0", "up")
        if attempt:
            exchange(late.done(), self.kind.accept(s.server))
        s.again()

    def rdma_device(self):
        """The device goes, and comes back."""
        s, attempt = Streams(self.kind, self.own, self.peer), self.connecting()
        waits = Blocked(ACCEPT, Kind("plain").accept, s.server)
        sh("rdma", "link", "delete", self.dev + "0")
        try:
            s.over("ENETDOWN", "ENETDOWN")
            if attempt:
                want(attempt.done(), "ENETDOWN", "connect()")
            # The orphan is gone; the others are gone with their sockets.
            want(stat("stream_connections"), 11 + bool(attempt), "connections")
            c = self.kind.opened(self.peer)
            if self.kind.name == "door":
                rds_bind(c, self.own, 0)
                rds_call(LIBC.connect, c, self.peer, s.port)
                want((carrier(c), carrier(waits.done())), (TCP, TCP), "carriers without a device")
                exchange(c, waits.result)
                waits = None
            else:
                want(outcome(rds_bind, c, self.own, 0), "EADDRNOTAVAIL", "bind() without a device")
        finally:
            sh("rdma", "link", "add", self.dev + "0", "type", self.dev, "netdev", "rds0")
        if not waits:
            s.again()
            return
        wait_for(lambda: bindable(self.kind, self.own), "the device")
        c = wait_for(lambda: dial(self.kind, self.own, self.peer, s.port), "the listener")
        exchange(c, waits.done())
        s.again()

    def rdma_address(self):
        """The address of the listener goes, and comes back. What has that address of IPv6 cannot say
        that it ends, as the routes are gone by then: its peers learn of it by their signs of life."""
        s = Streams(self.kind, self.own, self.peer)
        name = "%s/%d" % (self.peer, self.length)
        sh("ip", "addr", "del", name, "dev", "rds0")
        try:
            s.over("ECONNRESET" if self.length == 24 else "ETIMEDOUT", "ENETDOWN")
        finally:
            sh("ip", "addr", "add", name, "dev", "rds0", *["nodad"] * (self.length == 64))
        s.again()

    def tcp_link(self):
        """What TCP carries lives on: it is sent again when the link is up."""
        server = self.kind.listening(self.peer)
        a = self.kind.dialled(self.own, self.peer, port_of(server))
        b = self.kind.accept(server)
        sh("ip", "link", "set", "rds0", "down")
        try:
            a.send(b"?")
        finally:
            sh("ip", "link", "set", "rds0", "up")
        want(b.recv(1), b"?", "what was sent")
        exchange(a, b)

    def tcp_device(self):
        """What TCP carries does not need the device."""
        server = self.kind.listening(self.peer)
        a = self.kind.dialled(self.own, self.peer, port_of(server))
        b = self.kind.accept(server)
        sh("rdma", "link", "delete", self.dev + "0")
        try:
            exchange(a, b)
            c = self.kind.dialled(self.own, self.peer, port_of(server))
            exchange(c, self.kind.accept(server))
        finally:
            sh("rdma", "link", "add", self.dev + "0", "type", self.dev, "netdev", "rds0")

    def tcp_namespace(self):
        """A namespace is deleted: its streams live until their process ends, and it ends with them."""
        own, peer = ("fd00:62::1", "fd00:62::2") if self.length == 64 else ("10.62.0.1", "10.62.0.2")
        sh("ip", "netns", "add", "gone")
        sh("ip", "link", "add", "gone0", "type", "veth", "peer", "name", "gone1", "netns", "gone")
        nodad = ["nodad"] * (self.length == 64)
        sh("ip", "addr", "add", "%s/%d" % (own, self.length), "dev", "gone0", *nodad)
        sh("ip", "link", "set", "gone0", "up")
        sh("ip", "-n", "gone", "addr", "add", "%s/%d" % (peer, self.length), "dev", "gone1", *nodad)
        sh("ip", "-n", "gone", "link", "set", "gone1", "up")
        far = Far(serves_in, "gone", self.kind, peer)
        port = far.link.hear()
        # An address of IPv6 can be used when the link has come up.
        s = wait_for(lambda: dial(self.kind, own, peer, port), "the namespace")
        want(far.link.hear(), "there", "the far end")
        waits = self.kind.dialled(own, peer, port)
        sh("ip", "netns", "del", "gone")
        far.ask("send", 1000)
        want(s.recv(1000, socket.MSG_WAITALL), pattern(1000), "what came after that")
        b = Blocked(RECVFROM, s.recv, 1)
        far.kill()
        want(b.done(), b"", "recv() when the process is gone")
        want(outcome(waits.recv, 1), "ECONNRESET", "recv() of a stream that was not accepted")
        wait_for(lambda: not os.path.exists("/sys/class/net/gone0"), "the end of the namespace")

    # ---- the module; at the end of the line

    def module_in_use(self):
        """A listener, a stream, and one of its ends hold the module; without, it goes at once."""
        server = self.kind.listening(self.peer)
        refused()
        a = self.kind.dialled(self.own, self.peer, port_of(server))
        b = self.kind.accept(server)
        server.close()
        refused()
        a.close()
        refused()
        b.close()
        self.reloaded()

    def module_orphans(self):
        """The module goes as soon as 200 streams are gone that were closed with bytes queued."""
        server = self.kind.listening(self.peer, ORPHANS)
        ends = []
        for i in range(ORPHANS):
            a = self.kind.dialled(self.own, self.peer, port_of(server))
            ends += [a, self.kind.accept(server)]
            a.sendall(pattern(1000 * (i % 20)))
        server.close()
        # Half of them go with bytes that were not read, and are reset.
        for s in ends:
            s.close()
        self.reloaded()

    def module_loop(self):
        """The module comes and goes, with a stream each time."""
        for _ in range(ROUNDS):
            server = self.kind.listening(self.peer)
            a = self.kind.dialled(self.own, self.peer, port_of(server))
            b = self.kind.accept(server)
            exchange(a, b)
            for s in server, a, b:
                s.close()
            self.reloaded()

    def reloaded(self):
        wait_for(lambda: stat("stream_connections") == 0, "the end of the streams")
        sh("rmmod", "rds_stream")
        sh("insmod", MODULE)
        settings()
        for addr in self.own, self.peer:
            wait_for(lambda a=addr: bindable(self.kind, a), "the device")


def refused():
    """The module is in use."""
    done = subprocess.run(["rmmod", "rds_stream"], capture_output=True, text=True, check=False)
    if not done.returncode or "in use" not in done.stderr:
        raise Failed("rmmod: %d, %s" % (done.returncode, done.stderr.strip()))


def serves_in(link, netns, kind, addr):
    """A far end in a namespace, whose listener stays"""
    with open("/run/netns/" + netns, "rb") as f:
        if LIBC.setns(f.fileno(), 0):
            raise Failed("setns()")
    server = wait_for(lambda: listener(kind, addr), "the address")
    link.say(port_of(server))
    c = kind.accept(server)
    link.say("there")
    obey(link, c)


def bindable(kind, addr):
    return outcome(rds_bind, kind.opened(addr), addr, 0) is None


def listener(kind, addr):
    s = outcome(kind.listening, addr)
    return None if isinstance(s, str) else s


def dial(kind, own, peer, port):
    s = kind.opened(peer)
    err = outcome(rds_bind, s, own, 0) or outcome(rds_call, LIBC.connect, s, peer, port)
    return None if err else s


def main():
    dev, only = sys.argv[1], sys.argv[5:]
    tests = []
    settings()
    for name, words in ("rds", ["rdma"]), ("door", ["rdma"]), ("tcp", ["tcp"]), ("rds", ["module"]):
        # Over iWARP the rule is TCP.
        if name == "door" and dev == "siw":
            continue
        cases = Cases(Kind(name), *sys.argv[1:5])
        tests += [("%s.%s" % (name, n), getattr(cases, n)) for n in vars(Cases)
                  if n.partition("_")[0] in words]
    version = "v6" if ":" in sys.argv[2] else "v4"
    return run("stream.removed_%s_%s" % (dev, version), tests, only)


if __name__ == "__main__":
    sys.exit(main())
