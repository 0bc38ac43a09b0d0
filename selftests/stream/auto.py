#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""RDMA or TCP: what carries a stream of the second door, and of AF_RDS by SO_RDS_TRANSPORT.

auto.py rxe|siw OWN PEER PLAIN FAR: OWN and PEER are addresses of the device in this namespace; PLAIN is
on-link in the namespace "plain", which has no device; FAR is behind it. Prints a result for each case.
Durations are judged where the guest's clock counts instructions.
"""
import ctypes
import errno
import os
import select
import signal
import socket
import struct
import sys
import time
import traceback

from door import (AF_RDS, DOOR, Failed, LIBC, SOL_RDS, SO_RDS_TRANSPORT, Skipped, Thread, beside,
                  carrier, changed, family, in_plain, listed, listening, name_of, opened,
                  rds_accept, rds_bind, rds_call, rds_name, reset, server_has, setting, stat,
                  wait_error, wait_for, want)

IB, TCP, NONE = 0, 2, -1
QUESTION, ANSWER = b"a question, and nothing before it", b"an answer"
# More attempts than may be under way at a device: 64 with a place, 256 slow ones
CROWD = 400
CLONE_NEWUSER = 0x10000000
# uid_map of a user namespace that user 1000 has made, and of one that root has made for that user
MAPS = {"numbers": "0 200000 100", "sandbox": "1000 1000 1"}
JUDGED = bool(os.environ.get("RDS_JUDGED"))


def serve(s):
    """All that comes until the end is the question: no byte of MPA. Returns the connection."""
    return serve_at(s.accept()[0])


def serve_at(c):
    text = b""
    while True:
        part = c.recv(100)
        if not part:
            break
        text += part
    want(text, QUESTION, "what the server got")
    c.sendall(ANSWER)
    return c


def ask(s):
    s.sendall(QUESTION)
    s.shutdown(socket.SHUT_WR)
    text = b""
    while True:
        part = s.recv(100)
        if not part:
            break
        text += part
        if len(text) >= len(ANSWER):
            break
    want(text, ANSWER, "the answer")


def dialled(addr, port, proto=DOOR):
    """A socket that is connected, and the seconds that took"""
    s = opened(addr, proto)
    t = time.monotonic()
    s.connect((addr, port))
    return s, time.monotonic() - t


def talk(server, s):
    """A question over a connection to a listening socket; the end of the server"""
    t = Thread(lambda: serve(server))
    ask(s)
    return t.done()


def quick(seconds, most):
    if JUDGED and seconds > most:
        raise Failed("took %.3f s, more than %.3f" % (seconds, most))
    print("# %.4f s" % seconds)


class Cases:
    """The cases, for one family; names begin with a word of the device they are for."""

    def __init__(self, dev, own, peer, plain, far):
        self.dev, self.own, self.peer, self.plain, self.far = dev, own, peer, plain, far
        # On iWARP the rule is always TCP.
        self.best = IB if dev == "rxe" else TCP

    def rdma_alone(self, s, server):
        """There is no RDMA at a port of TCP. On iWARP the server would get MPA's request."""
        if self.dev != "siw":
            want(s.connect_ex((self.peer, server.getsockname()[1])), errno.ECONNREFUSED,
                 "connect() by RDMA alone")

    def tries_rdma(self):
        if self.dev == "siw":
            raise Skipped("RDMA is not tried over iWARP")

    def all_both(self):
        """Both ends at the door"""
        server = listening(self.peer)
        s, took = dialled(self.peer, server.getsockname()[1])
        c = talk(server, s)
        want((carrier(s), carrier(c)), (self.best, self.best), "carriers")
        want(s.getpeername()[:2], server.getsockname()[:2], "name of the peer")
        want(c.getpeername()[:2], s.getsockname()[:2], "name of the client")
        quick(took, 0.02)

    def all_tcp_client(self):
        """A client of TCP at a port of the door, beside one of RDMA"""
        server = listening(self.peer)
        port = server.getsockname()[1]
        one = dialled(self.peer, port)[0]
        two = dialled(self.peer, port, socket.IPPROTO_TCP)[0]
        ends = [talk_end(server) for _ in range(2)]
        for s in one, two:
            ask(s)
        want(sorted(carrier(e.done()) for e in ends), sorted([self.best, TCP]), "carriers")

    def all_wildcard(self):
        """The port of a wildcard serves both."""
        server = listening("::" if ":" in self.own else "0.0.0.0")
        port = server.getsockname()[1]
        for addr in self.own, self.peer:
            s, _ = dialled(addr, port)
            want(carrier(talk(server, s)), self.best, "carrier")
        if ":" not in self.own:
            s, _ = dialled("127.0.0.1", port)
            want(carrier(talk(server, s)), TCP, "carrier of 127.0.0.1")

    def all_no_listener(self):
        """The device has no listener of RDMA: TCP at once"""
        server = listening(self.peer, socket.IPPROTO_TCP)
        for _ in range(2):
            s, took = dialled(self.peer, server.getsockname()[1])
            want(carrier(s), TCP, "carrier")
            talk(server, s)
            quick(took, 0.02)

    def all_nobody(self):
        """Nobody listens at all."""
        probe = listening(self.peer, socket.IPPROTO_TCP)
        port = probe.getsockname()[1]
        probe.close()
        s = opened(self.peer)
        want(s.connect_ex((self.peer, port)), errno.ECONNREFUSED, "connect()")
        s = opened(self.peer)
        s.setblocking(False)
        p = select.poll()
        p.register(s, select.POLLOUT)
        want(s.connect_ex((self.peer, port)), errno.EINPROGRESS, "connect() without waiting")
        want(len(p.poll(30000)), 1, "poll()")
        want(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), errno.ECONNREFUSED, "SO_ERROR")
        want(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0, "SO_ERROR again")

    def silent_hosts(self):
        """A peer without a device: its silence is waited for once."""
        server = in_plain(lambda: listening(self.plain, socket.IPPROTO_TCP))
        port, late = server.getsockname()[1], stat("stream_rdma_late")
        for n in range(2):
            s, took = dialled(self.plain, port)
            want(carrier(s), TCP, "carrier")
            talk(server, s)
            quick(took, 0.02 if n or self.dev == "siw" else 1.2)
            if JUDGED and self.dev == "rxe" and not n and took < 0.5:
                raise Failed("RDMA was not tried")
        want(stat("stream_rdma_late") - late, int(self.dev == "rxe"), "attempts that were late")

    def silent_sndtimeo(self):
        """SO_SNDTIMEO bounds the attempts of both together, where no TCP answers either."""
        host = another(self.plain, 5)
        server = in_plain(lambda: opened(host, socket.IPPROTO_TCP))
        server.bind((host, 0))
        server.listen(0)
        # It has no room for a second one.
        full, _ = dialled(host, server.getsockname()[1], socket.IPPROTO_TCP)
        s = opened(host)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 1, 500000))
        t = time.monotonic()
        want(s.connect_ex(server.getsockname()), errno.EINPROGRESS, "connect()")
        quick(time.monotonic() - t, 1.7)
        want(carrier(s), TCP, "carrier")
        full.close()

    def silent_nonblock(self):
        """As silent_hosts, without waiting, and with an epoll that was there before"""
        host = another(self.plain, 1)
        server = in_plain(lambda: listening(host, socket.IPPROTO_TCP))
        s = opened(host)
        s.setblocking(False)
        p = select.epoll()
        p.register(s, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        p.poll(0)
        want(s.connect_ex((host, server.getsockname()[1])), errno.EINPROGRESS, "connect()")
        t, now = time.monotonic(), 0
        while not now & select.EPOLLOUT:
            now = dict(p.poll(30)).get(s.fileno(), 0)
            if not now:
                raise Failed("epoll tells nothing")
        want(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0, "SO_ERROR")
        quick(time.monotonic() - t, 1.2)
        c, _ = server.accept()
        c.sendall(b"x")
        want(dict(p.poll(30)).get(s.fileno(), 0) & select.EPOLLIN, select.EPOLLIN, "epoll of data")
        want(s.recv(2), b"x", "recv()")
        s.setblocking(True)
        t = Thread(lambda: serve_at(c))
        ask(s)
        t.done()
        want(carrier(s), TCP, "carrier")

    def silent_given_up(self):
        """Closed, or shut, while RDMA is tried: TCP does not go on with it."""
        self.tries_rdma()
        for n, how in enumerate(("close", "shutdown")):
            s, before = opened(self.plain), stat("stream_tcp_connects")
            s.setblocking(False)
            want(s.connect_ex((another(self.plain, 2 + n), 9)), errno.EINPROGRESS, "connect()")
            if how == "shutdown":
                s.shutdown(socket.SHUT_RDWR)
                p = select.poll()
                p.register(s, 0)
                want(p.poll(30000)[0][1] & select.POLLHUP, select.POLLHUP, "poll()")
            s.close()
            want(stat("stream_tcp_connects"), before, "attempts of TCP")

    def silent_calls(self):
        """While RDMA is tried calls say EAGAIN, or wait for what TCP brings."""
        self.tries_rdma()
        host = another(self.plain, 4)
        server = in_plain(lambda: listening(host, socket.IPPROTO_TCP))
        s = opened(host)
        s.setblocking(False)
        want(s.connect_ex((host, server.getsockname()[1])), errno.EINPROGRESS, "connect()")
        want(s.connect_ex((host, server.getsockname()[1])), errno.EALREADY, "connect() again")
        p = select.poll()
        p.register(s, select.POLLIN | select.POLLOUT)
        want(p.poll(0), [], "poll()")
        for call in lambda: s.recv(1), lambda: s.send(b"x"):
            try:
                raise Failed("a call gave %r" % call())
            except BlockingIOError:
                pass
        s.setblocking(True)
        reader, writer = Thread(lambda: s.recv(100)), Thread(lambda: s.send(QUESTION))
        c, _ = server.accept()
        c.sendall(ANSWER)
        want((reader.done(), c.recv(100)), (ANSWER, QUESTION), "what waited")
        want((writer.done(), carrier(s)), (len(QUESTION), TCP), "what was sent")

    def all_far(self):
        """Off-link: TCP without an attempt"""
        server = in_plain(lambda: listening(self.far, socket.IPPROTO_TCP))
        failed = stat("stream_rdma_failed") + stat("stream_rdma_late")
        s, took = dialled(self.far, server.getsockname()[1])
        want(carrier(s), TCP, "carrier")
        talk(server, s)
        quick(took, 0.02)
        want(stat("stream_rdma_failed") + stat("stream_rdma_late"), failed, "attempts")

    def silent_policy(self):
        """Where a rule or IPsec has TCP of a user go another way, or none, RDMA is not tried."""
        self.tries_rdma()
        host, ip = another(self.plain, 6), ["ip", "-6" if ":" in self.plain else "-4"]
        tried = stat("stream_rdma_late") + stat("stream_rdma_failed")
        with changed(ip + ["rule"], ["pref", "10", "uidrange", "4242-4242", "prohibit"]):
            s = Thread(lambda: opened_as(4242, host)).done()
            want(s.connect_ex((host, 9)), errno.EACCES, "connect() of a user that may not")
        every = "::/0" if ":" in host else "0.0.0.0/0"
        with changed(["ip", "xfrm", "policy"], ["dir", "out", "src", every, "dst", host],
                     ["tmpl", "proto", "esp", "mode", "transport"]):
            s = opened(host)
            s.setblocking(False)
            want(s.connect_ex((host, 9)), errno.EINPROGRESS, "connect() by IPsec")
            want(carrier(s), TCP, "carrier of what IPsec is to protect")
        want(stat("stream_rdma_late") + stat("stream_rdma_failed"), tried, "attempts")

    def all_bound_device(self):
        """SO_BINDTODEVICE of a listener is for RDMA, too, and when it listens already."""
        self.tries_rdma()
        server, wrong = listening(self.peer), stat("stream_wrong_device")
        port = server.getsockname()[1]
        server.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"other")
        # On 6.1 TCP has the option with the next call.
        select.select([server], [], [], 0)
        want(opened(self.peer).connect_ex((self.peer, port)), errno.ECONNREFUSED, "connect() to a device")
        want(stat("stream_wrong_device"), wrong + 1, "requests at another device")
        server.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"rds0")
        select.select([server], [], [], 0)
        s, _ = dialled(self.peer, port)
        want(carrier(talk(server, s)), IB, "carrier to a listener at rds0")

    def all_namespace(self):
        """A client in a namespace without a device, and a server there"""
        server = listening(self.own)
        s, took = in_plain(lambda: dialled(self.own, server.getsockname()[1]))
        want((carrier(s), carrier(talk(server, s))), (TCP, TCP), "carriers")
        quick(took, 0.02)
        there = in_plain(lambda: listening(self.plain))
        s, _ = in_plain(lambda: dialled(self.plain, there.getsockname()[1]))
        want((carrier(s), carrier(talk(there, s))), (TCP, TCP), "carriers there")

    def all_shared_port(self):
        """Two listeners share a port: RDMA has one of them, and the other is TCP's alone."""
        before, servers = stat("stream_tcp_only"), [opened(self.peer) for _ in range(2)]
        for s in servers:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            s.bind((self.peer, servers[0].getsockname()[1]))
            s.listen(8)
        want(stat("stream_tcp_only") - before, 1 if self.best == IB else 2, "listeners of TCP alone")
        s, _ = dialled(self.peer, servers[0].getsockname()[1])
        want(carrier(talk(servers[0], s) if self.best == IB else s), self.best, "carrier")

    def all_port_in_use(self):
        """Another program has the port of RDMA: TCP serves there."""
        holder, before = socket.socket(AF_RDS, socket.SOCK_STREAM, 0), stat("stream_tcp_only")
        rds_bind(holder, self.peer, 7070)
        server = listening(self.peer, port=7070)
        want(stat("stream_tcp_only"), before + 1, "listeners of TCP alone")
        s, _ = dialled(self.peer, 7070)
        want(carrier(talk(server, s)), TCP, "carrier")

    def all_turns(self):
        """accept() takes from RDMA and from TCP in turn, as long as there are of both."""
        self.tries_rdma()
        server = listening(self.peer)
        port = server.getsockname()[1]
        ends = [dialled(self.peer, port, proto)[0]
                for proto in (socket.IPPROTO_TCP, DOOR) for _ in range(3)]
        # The end that has dialled may know of the connection first.
        wait_for(lambda: len(listed(port, "in", "open")) == 3, "the connections")
        wait_for(lambda: server_has(port, 3), "those of TCP")
        order = [carrier(server.accept()[0]) for _ in ends]
        want(sorted(order), sorted([IB, TCP] * 3), "carriers")
        if any(a == b for a, b in zip(order, order[1:])):
            raise Failed("one after the other of the same: %r" % order)

    def all_listed(self):
        """TCP's are listed up to net.rds.stream.max; there is no limit for TCP itself."""
        server = listening(self.peer, socket.IPPROTO_TCP)
        port, ends = server.getsockname()[1], []
        setting("max", len(listed(None, "tcp")) + 2)
        try:
            for _ in range(4):
                s = opened(self.peer)
                s.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, TCP)
                s.connect((self.peer, port))
                ends.append(s)
                talk(server, s)
            want(len(listed(port, "tcp")), 2, "connections that are listed")
            # The place of one that has gone is for the next one.
            ends.pop(0).close()
            want(len(listed(port, "tcp")), 1, "connections when one is gone")
            s = opened(self.peer)
            s.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, TCP)
            s.connect((self.peer, port))
            want(len(listed(port, "tcp")), 2, "connections with a new one")
        finally:
            setting("max", 4096)

    def all_rdma_port(self):
        """A listener of RDMA alone has its port of TCP, too, on iWARP, and only there."""
        holder = socket.socket(AF_RDS, socket.SOCK_STREAM, 0)
        rds_bind(holder, self.peer, 7072)
        holder.listen(1)
        wanted = errno.EADDRINUSE if self.dev == "siw" else 0
        want(tcp_at(self.peer, 7072), wanted, "TCP at the port of a listener")
        holder.close()
        want(tcp_at(self.peer, 7072), 0, "TCP at the port when the listener is closed")
        server = opened(self.peer, socket.IPPROTO_TCP)
        server.bind((self.peer, 7072))
        server.listen(1)
        holder = socket.socket(AF_RDS, socket.SOCK_STREAM, 0)
        try:
            rds_bind(holder, self.peer, 7072)
            holder.listen(1)
            got = 0
        except OSError as e:
            got = e.errno
        want(got, wanted, "bind() and listen() at a port that TCP has")

    def silent_many(self):
        """256 hosts are remembered; who was asked for last stays."""
        self.tries_rdma()
        if ":" in self.own:
            raise Skipped("hosts of both families are in one table")
        setting("rdma_ms", 1)
        try:
            for n in range(256):
                want(self.was_tried(n), True, "host %d was tried" % n)
            want(self.was_tried(0), False, "the first one was tried again")
            want(self.was_tried(256), True, "one more was tried")
            want(self.was_tried(1), True, "the second one was tried again")
            want(self.was_tried(0), False, "the first one was tried then")
            want(self.was_tried(3), False, "the fourth one was tried again")
        finally:
            setting("rdma_ms", 1000)

    def silent_crowd(self):
        """Attempts of a user at silent peers do not hold up those of another user."""
        self.tries_rdma()
        server = listening(self.peer)
        with beside(self.other_user) as (_, here):
            want(here.recv(10), b"%d" % CROWD, "attempts")
            s, took = dialled(self.peer, server.getsockname()[1])
            here.send(b"?")
            want(here.recv(10), b"%d" % CROWD, "attempts that have no result yet")
            want((carrier(s), carrier(talk(server, s))), (IB, IB), "carriers")
            quick(took, 0.5)

    def other_user(self, there):
        """Begins attempts and says how many, and when it is asked how many have no result, until killed"""
        os.setresuid(1000, 1000, 1000)
        begun, p = [attempt(another(self.plain, 6)) for _ in range(CROWD)], select.poll()
        there.send(b"%d" % len(begun))
        for s in begun:
            p.register(s, select.POLLOUT)
        there.recv(1)
        there.send(b"%d" % (len(begun) - len(p.poll(0))))
        signal.pause()

    def silent_user_limit(self):
        """A user leaves connections of the namespace to others."""
        self.leaves_some("plain")

    def silent_user_numbers(self):
        """So does a user with the numbers of a user namespace of its own."""
        self.leaves_some("numbers")

    def silent_user_sandbox(self):
        """So does a user in a user namespace without a root, which root has made."""
        self.leaves_some("sandbox")

    def silent_user_pairs(self):
        """So does a user who has both ends of each connection."""
        self.leaves_some("pairs")

    def leaves_some(self, way):
        self.tries_rdma()
        wait_for(lambda: not stat("stream_connections"), "ends of connections")
        setting("max", 16)
        refused = stat("stream_share_limit")
        try:
            with beside(lambda there: self.takes_all(there, way)) as (child, here):
                want(here.recv(10), b"map?", "the child")
                if way in MAPS:
                    with open("/proc/%d/uid_map" % child, "w", encoding="ascii") as f:
                        f.write(MAPS[way])
                here.send(b"mapped")
                want(here.recv(10), b"done", "the child")
                want(stat("stream_connections"), 12, "connections of the user, of 16")
                want(stat("stream_share_limit") - refused, 4, "attempts that were refused")
                server = listening(self.peer)
                s, _ = dialled(self.peer, server.getsockname()[1])
                want((carrier(s), carrier(talk(server, s))), (IB, IB), "carriers")
        finally:
            setting("max", 4096)

    def takes_all(self, there, way):
        """Begins attempts as a user, perhaps each with another number, and keeps them until killed"""
        become(there, way)
        kept, to, numbers = [], (another(self.plain, 6), 9), way == "numbers"
        if way == "pairs":
            kept.append(listening(self.peer))
            to = kept[0].getsockname()[:2]
        # Of a pair either end counts.
        most = 6 if way == "pairs" else 12
        for n in range(most + 4):
            if numbers:
                os.seteuid(n)
            s = opened(self.plain)
            if numbers:
                os.seteuid(0)
            s.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, IB)
            s.setblocking(way == "pairs")
            good = 0 if way == "pairs" else errno.EINPROGRESS
            want(s.connect_ex(to), good if n < most else errno.ENOBUFS, "attempt %d" % n)
            kept.append(s)
        there.send(b"done")
        signal.pause()

    def was_tried(self, n):
        """Whether RDMA was tried to a host, which has no device and refuses TCP"""
        before = stat("stream_rdma_late") + stat("stream_rdma_failed")
        s = opened(self.own)
        want(s.connect_ex(("192.168.%d.%d" % (64 + n // 128, 1 + n % 128), 9)), errno.ECONNREFUSED,
             "connect() to host %d" % n)
        return stat("stream_rdma_late") + stat("stream_rdma_failed") != before

    def all_sysctl(self):
        """auto: 0 is TCP, 2 is RDMA"""
        plain = listening(self.peer, socket.IPPROTO_TCP)
        try:
            setting("auto", 0)
            server = listening(self.peer)
            s, _ = dialled(self.peer, server.getsockname()[1])
            want((carrier(server), carrier(talk(server, s))), (TCP, TCP), "carriers")
            setting("auto", 2)
            self.rdma_alone(opened(self.peer), plain)
        finally:
            setting("auto", 1)

    def all_option(self):
        """SO_RDS_TRANSPORT, at the door and of AF_RDS"""
        plain = listening(self.peer, socket.IPPROTO_TCP)
        s = opened(self.peer)
        want(carrier(s), NONE, "carrier that is not decided")
        s.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, IB)
        self.rdma_alone(s, plain)
        server = listening(self.peer)
        s = opened(self.peer)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 3)
        s.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, TCP)
        s.connect(server.getsockname()[:2])
        want((carrier(s), carrier(talk(server, s))), (TCP, TCP), "carriers")
        try:
            s.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, IB)
            raise Failed("the carrier of a connection was changed")
        except OSError as e:
            want(e.errno, errno.EOPNOTSUPP, "SO_RDS_TRANSPORT of a connection")

    def all_af_rds(self):
        """AF_RDS over TCP, both ends; the names have the family that was given"""
        server = socket.socket(AF_RDS, socket.SOCK_STREAM, 0)
        server.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, TCP)
        rds_bind(server, self.peer, 7071)
        server.listen(4)
        s = socket.socket(AF_RDS, socket.SOCK_STREAM, 0)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 30, 0))
        s.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, TCP)
        rds_call(LIBC.connect, s, self.peer, 7071)
        c = rds_accept(server)
        want(rds_name(LIBC.getpeername, s), name_of(self.peer, 7071), "name of the peer")
        want(rds_name(LIBC.getpeername, c), rds_name(LIBC.getsockname, s), "name of the client")
        s.send(QUESTION)
        want(c.recv(100), QUESTION, "the question")
        want((carrier(s), carrier(c)), (TCP, TCP), "carriers")

    def all_errors(self):
        """A reset is told once: by recv(), or by SO_ERROR and not by recv()."""
        for by_option in False, True:
            server = listening(self.peer, socket.IPPROTO_TCP)
            s, _ = dialled(self.peer, server.getsockname()[1])
            reset(server.accept()[0])
            wait_error(s)
            if by_option:
                want(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), errno.ECONNRESET, "SO_ERROR")
            else:
                try:
                    raise Failed("recv() gave %r" % s.recv(1))
                except OSError as e:
                    want(e.errno, errno.ECONNRESET, "recv()")
                want(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0, "SO_ERROR")
            want(s.recv(1), b"", "recv() behind it")

    def all_listener_errors(self):
        """A connection that is reset tells itself, and not the socket that listened for it."""
        for order in "listen", "connect", "both":
            server = opened(self.peer)
            server.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, TCP)
            server.bind((self.peer, 0))
            if order == "connect":
                want(server.connect_ex((self.peer, 1)), errno.ECONNREFUSED, "connect()")
                server.bind((self.peer, 0))
            server.listen(4)
            if order == "both":
                want(server.connect_ex((self.peer, 1)), errno.EISCONN, "connect() of a listener")
            s, _ = dialled(self.peer, server.getsockname()[1], socket.IPPROTO_TCP)
            c, _ = server.accept()
            server.close()
            reset(s)
            wait_error(c)
            want(c.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), errno.ECONNRESET, "SO_ERROR")

    def all_reset_early(self):
        """Reset before accept(): the new socket says so."""
        server = listening(self.peer)
        s, _ = dialled(self.peer, server.getsockname()[1], socket.IPPROTO_TCP)
        reset(s)
        c, _ = server.accept()
        wait_error(c)
        want(c.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), errno.ECONNRESET, "SO_ERROR")
        want(c.recv(1), b"", "recv()")

    def all_fast_open(self):
        """Data with the attempt: refused as long as RDMA may carry it"""
        s = opened(self.peer)
        try:
            s.sendto(b"x", socket.MSG_FASTOPEN, (self.peer, 9))
            raise Failed("sendto() works")
        except OSError as e:
            want(e.errno, errno.EOPNOTSUPP, "sendto()")

    def all_options(self):
        """What was set before the carrier was decided holds for TCP, too."""
        server = listening(self.peer, socket.IPPROTO_TCP)
        s = opened(self.peer)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 50000))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 77)
        s.connect(server.getsockname()[:2])
        want(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), 1, "TCP_NODELAY")
        want(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE), 77, "TCP_KEEPIDLE")
        try:
            raise Failed("recv() gave %r" % s.recv(1))
        except BlockingIOError:
            pass

    def all_seen(self):
        """/proc/net/rds_streams has both kinds."""
        server = listening(self.peer)
        port = server.getsockname()[1]
        ends = [dialled(self.peer, port)[0], dialled(self.peer, port, socket.IPPROTO_TCP)[0]]
        ends += [server.accept()[0] for _ in range(2)]
        seen = [line[4:7] for line in listed(port)]
        word = "rdma" if self.best == IB else "tcp"
        want(sorted(seen), sorted([[word, "out", "open"], [word, "in", "open"], ["tcp", "in", "open"]]),
             "lines")


def opened_as(uid, addr):
    """A socket of a user, in a thread of its own"""
    LIBC.setfsuid(uid)
    return opened(addr)


def tcp_at(addr, port):
    """The error of bind() and listen() there, or 0"""
    try:
        opened_at = opened(addr, socket.IPPROTO_TCP)
        opened_at.bind((addr, port))
        opened_at.listen(1)
        return 0
    except OSError as e:
        return e.errno


def become(there, way):
    """User 1000, in a user namespace if it has a map, which the other end writes"""
    if way != "sandbox":
        os.setresuid(1000, 1000, 1000)
    if way in MAPS and LIBC.unshare(CLONE_NEWUSER):
        raise OSError(ctypes.get_errno(), "unshare")
    there.send(b"map?")
    there.recv(10)
    if way == "numbers":
        os.setresuid(0, 0, 0)
    elif way == "sandbox":
        os.setresuid(1000, 1000, 1000)


def another(addr, n):
    """Another address of the same host, which is not known to be silent"""
    return addr[:-1] + str(int(addr[-1]) + n)


def attempt(addr):
    """A socket that is being connected by RDMA alone"""
    s = opened(addr)
    s.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, IB)
    s.setblocking(False)
    want(s.connect_ex((addr, 9)), errno.EINPROGRESS, "connect()")
    return s


def talk_end(server):
    return Thread(lambda: serve(server))


def main():
    dev, only = sys.argv[1], sys.argv[6:]
    cases, bad = Cases(*sys.argv[1:6]), 0
    version = "v6" if ":" in sys.argv[2] else "v4"
    for name in [n for n in vars(Cases) if n.startswith("all_") or n.startswith("silent_")]:
        word = name.partition("_")[2]
        if only and word not in only:
            continue
        try:
            getattr(cases, name)()
            print("ok stream.auto_%s_%s.%s" % (dev, version, word), flush=True)
        except Skipped as e:
            print("# stream.auto_%s_%s.%s does not run here: %s" % (dev, version, word, e), flush=True)
        except Exception as e:  # pylint: disable=broad-except
            where = traceback.extract_tb(e.__traceback__)
            print("# %s, line %s" % (e, ", ".join(str(w.lineno) for w in where)))
            print("# " + " ".join("%s %d" % (n, stat("stream_" + n)) for n in (
                "connected", "rdma_failed", "rdma_late", "tcp_connects", "tcp_accepted", "tcp_only")))
            print("not ok stream.auto_%s_%s.%s" % (dev, version, word), flush=True)
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
