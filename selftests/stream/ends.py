#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What an end of a stream gets when the process at the other one is killed, or stopped.

ends.py rxe|siw OWN PEER SILENT [CASE...]: the other end is at PEER; SILENT is on-link, and does not
answer. A case is a name, or a kind of far.py. The four kinds have to give the same answers, but where a
case says what TCP does. Prints a result for each case.
"""
import select
import socket
import struct
import sys

from auto import LIBC, Failed, in_plain, rds_call, setting, stat, want
from far import (ACCEPT, CLOSE, CONNECT, EPOLL_WAIT, RECVFROM, SENDTO, SLOW, Blocked, Far, Kind, drain,
                 fill, outcome, pair, pattern, port_of, pump, run, unacked, wait_for, whole)

MANY = 100
# Kinds that a case is about, if not all
ONLY = {"kill_connecting": ("rds",), "stop_orphan": ("rds", "door"),
        "stop_lingers": ("rds", "door")}


def ended(s):
    """The end of a stream whose peer has closed without a byte unread; what is sent then fails."""
    want(outcome(s.recv, 1), b"", "recv()")
    want(outcome(s.recv, 1), b"", "recv() again")
    # TCP learns by what it sends that nobody reads.
    wait_for(lambda: outcome(s.send, b"x") == "EPIPE", "EPIPE")


def reset(s):
    """The end of a stream whose peer has closed with bytes unread: told once"""
    want(outcome(s.recv, 1), "ECONNRESET", "recv()")
    want(outcome(s.recv, 1), b"", "recv() again")
    want(outcome(s.send, b"x"), "EPIPE", "send()")


def timed_out(s, ms):
    """A writer that waits gets ETIMEDOUT: what it has sent was not taken for that time."""
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, ms)
    b = Blocked(SENDTO, pump, s)
    want(b.done(), "ETIMEDOUT", "send()")
    want(outcome(s.recv, 1), b"", "recv()")
    want(outcome(s.send, b"x"), "EPIPE", "send() again")


class Cases:
    """For one kind and family; the far end accepts with IPv4, and has dialled with IPv6."""

    def __init__(self, kind, dev, own, peer, silent):
        self.kind, self.dev, self.own, self.peer, self.silent = kind, dev, own, peer, silent

    def pair(self):
        return pair(self.kind, self.own, self.peer, "." in self.own)

    # ---- killed

    def kill_idle(self):
        far, s = self.pair()
        far.kill()
        ended(s)

    def kill_shut(self):
        """This end has shut before, and waits for the other one."""
        far, s = self.pair()
        s.shutdown(socket.SHUT_WR)
        b = Blocked(RECVFROM, s.recv, 1)
        far.kill()
        want(b.done(), b"", "recv()")

    def kill_sent(self):
        """All that the killed process had sent comes, and then the end."""
        far, s = self.pair()
        n = far.ask("fill")
        far.kill()
        got, end = drain(s)
        whole(got, n, "what was sent")
        want(end, None, "the end")

    def kill_unread(self):
        far, s = self.pair()
        s.sendall(pattern(1000))
        far.ask("unread", 1000)
        far.kill()
        reset(s)

    def kill_while_recv(self):
        far, s = self.pair()
        b = Blocked(RECVFROM, s.recv, 1)
        far.kill()
        want(b.done(), b"", "recv()")

    def kill_while_send(self):
        far, s = self.pair()
        b = Blocked(SENDTO, pump, s)
        far.kill()
        want(b.done(), "ECONNRESET", "send()")
        want(outcome(s.send, b"x"), "EPIPE", "send() again")

    def kill_while_epoll(self):
        """epoll_wait() tells the end; with bytes unread at the killed process the error as well."""
        for sent in 0, 1000:
            far, s = self.pair()
            p = select.epoll()
            p.register(s, select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET)
            want(p.poll(0), [], "epoll_wait() before")
            if sent:
                s.sendall(pattern(sent))
                far.ask("unread", sent)
            b = Blocked(EPOLL_WAIT, p.poll, 30 * SLOW)
            far.kill()
            want(len(b.done()), 1, "sockets that epoll_wait() tells of")
            wanted = select.EPOLLIN | select.EPOLLRDHUP
            wanted |= select.EPOLLERR | select.EPOLLHUP if sent else 0
            p.modify(s, select.EPOLLIN | select.EPOLLRDHUP)
            want(p.poll(0)[0][1], wanted, "events")
            s.close()

    def kill_many(self):
        """A process with 100 streams, of which each second one has bytes that it has not read"""
        server = self.kind.listening(self.own, MANY)
        port = port_of(server)

        def body(link):
            ends = [self.kind.dialled(self.peer, self.own, port) for _ in range(MANY)]
            for i, s in enumerate(ends):
                s.sendall(b"%03d" % i)
            link.say("there")
            link.hear()

        far, ends = Far(body), {}
        for _ in range(MANY):
            s = self.kind.accept(server)
            ends[int(s.recv(3, socket.MSG_WAITALL))] = s
        want(far.link.hear(), "there", "the far end")
        for i, s in ends.items():
            if i % 2:
                s.sendall(b"unread")
        # Over RDMA what was sent is there when it is acknowledged, and TCP sends that at once.
        for i, s in ends.items():
            wait_for(lambda s=s: not unacked(s), "the acknowledgement")
        far.kill()
        for i, s in ends.items():
            want(outcome(s.recv, 1), "ECONNRESET" if i % 2 else b"", "recv() of stream %d" % i)

    def kill_listener(self):
        """The backlog is full of streams that nobody has accepted; for some bytes have come."""
        def body(link):
            server = self.kind.listening(self.peer, 4)
            link.say(port_of(server))
            link.hear()

        far = Far(body)
        port = far.link.hear()
        ends = [self.kind.dialled(self.own, self.peer, port) for _ in range(4)]
        for s in ends[:2]:
            s.sendall(pattern(100))
            wait_for(lambda s=s: not unacked(s), "the acknowledgement")
        b = Blocked(RECVFROM, ends[0].recv, 1)
        far.kill()
        want(b.done(), "ECONNRESET", "recv() that waits")
        for s in ends[1:]:
            reset(s)
        s = self.kind.opened(self.peer)
        want(outcome(rds_call, LIBC.connect, s, self.peer, port), "ECONNREFUSED", "connect()")

    def kill_accepting(self):
        """The process that is killed waits in accept(): nobody listens then, and the port is free."""
        def body(link):
            server = self.kind.listening(self.peer)
            link.say(port_of(server))
            self.kind.accept(server)

        far = Far(body)
        port = far.link.hear()
        far.sleeps_in(ACCEPT)
        far.kill()
        s = self.kind.opened(self.peer)
        want(outcome(rds_call, LIBC.connect, s, self.peer, port), "ECONNREFUSED", "connect()")
        self.kind.listening(self.peer, port=port)

    def kill_connecting(self):
        """The process that is killed waits in connect(): the attempt is over at once."""
        before, failed = stat("stream_connections"), stat("stream_connect_failed")
        name = self.silent
        # For siw a peer is silent whose TCP answers, and who does not speak MPA.
        server = in_plain(lambda: Kind("plain").listening(name)) if self.dev == "siw" else None
        port = port_of(server) if server else 9

        def body(_):
            rds_call(LIBC.connect, self.kind.opened(name), name, port)

        far = Far(body)
        far.sleeps_in(CONNECT)
        want(stat("stream_connections"), before + 1, "attempts")
        far.kill()
        wait_for(lambda: stat("stream_connections") == before, "the end of the attempt")
        want(stat("stream_connect_failed"), failed, "attempts that have ended by themselves")

    def kill_woken(self):
        """The process that is killed waits itself: in recv(), and in send()."""
        far, s = self.pair()
        far.ask("recv")
        far.sleeps_in(RECVFROM)
        far.kill()
        ended(s)
        far, s = self.pair()
        far.link.say("pump")
        far.sleeps_in(SENDTO)
        far.kill()
        got, end = drain(s)
        if got != pattern(len(got)):
            raise Failed("wrong bytes")
        want(end, None, "the end")

    # ---- stopped

    def stop_sender_waits(self):
        """The peer is stopped: a writer waits, or gets EAGAIN in time; nothing is lost."""
        far, s = self.pair()
        far.ask("drain")
        far.stop()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 100000))
        n, got = 0, 0
        while not isinstance(got, str):
            n += got
            at = n % 16064
            got = outcome(s.send, pattern(at + 100000)[at:])
        want(got, "EAGAIN", "send() after its time")
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 0))
        at, more = n % 16064, 2000000
        b = Blocked(SENDTO, s.sendall, pattern(at + more)[at:])
        far.go_on()
        want(b.done(), None, "sendall()")
        s.shutdown(socket.SHUT_WR)
        want(far.link.hear(), (n + more, True, None), "what the peer has read")

    def stop_orphan(self):
        """The peer is stopped, and this end closes with bytes queued: they have orphan_ms, over RDMA.
        The peer reads what has come when it goes on, and then gets ECONNRESET."""
        far, s = self.pair()
        far.stop()
        n, late = fill(s), stat("stream_orphan_late")
        setting("orphan_ms", 300)
        try:
            s.close()
            wait_for(lambda: stat("stream_orphan_late") == late + 1, "the end of the orphan")
        finally:
            setting("orphan_ms", 60000)
        far.go_on()
        far.ask("drain")
        got, right, end = far.link.hear()
        want((right, end), (True, "ECONNRESET"), "bytes that are right, and the end")
        if not 0 < got < n:
            raise Failed("%d of %d bytes" % (got, n))

    def stop_orphan_goes_on(self):
        """The peer goes on in time: it gets all."""
        far, s = self.pair()
        far.stop()
        n = fill(s)
        s.close()
        far.go_on()
        far.ask("drain")
        want(far.link.hear(), (n, True, None), "what the peer has read")

    def stop_lingers(self):
        """SO_LINGER is for longer than orphan_ms, which begins when close() does not wait any more."""
        (far, s), (other, t) = self.pair(), self.pair()
        far.stop()
        other.stop()
        n, late = fill(s), stat("stream_orphan_late")
        fill(t)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
        setting("orphan_ms", 100)
        try:
            waits = Blocked(CLOSE, s.close)
            t.close()
            wait_for(lambda: stat("stream_orphan_late") == late + 1, "the end of the other one")
        finally:
            setting("orphan_ms", 60000)
        far.go_on()
        far.ask("drain")
        want(far.link.hear(), (n, True, None), "what the peer has read")
        waits.done()

    def stop_user_timeout(self):
        """The peer is stopped, and takes nothing for TCP_USER_TIMEOUT."""
        far, s = self.pair()
        far.stop()
        timed_out(s, 1000)
        far.go_on()
        far.ask("drain")
        want(far.link.hear()[1:], (True, "ECONNRESET"), "bytes that are right, and the end")

    def stop_keepalive(self):
        """The peer is stopped, and its host answers: signs of life go on, and the stream lives. How long
        is said by a stream with TCP_USER_TIMEOUT."""
        far, s = self.pair()
        far.stop()
        for name in socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT:
            s.setsockopt(socket.IPPROTO_TCP, name, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        other, t = self.pair()
        other.stop()
        timed_out(t, 4000)
        far.go_on()
        far.ask("drain")
        s.sendall(pattern(1000))
        s.shutdown(socket.SHUT_WR)
        want(far.link.hear(), (1000, True, None), "what the peer has read")

    def stop_kill(self):
        """A stopped process is killed."""
        far, s = self.pair()
        far.stop()
        b = Blocked(SENDTO, pump, s)
        far.kill()
        want(b.done(), "ECONNRESET", "send()")


def main():
    dev, only = sys.argv[1], sys.argv[5:]
    tests = []
    setting("orphan_ms", 60000)
    # A slow machine is not a silent peer.
    setting("rdma_ms", 60000)
    for name in ("rds", "door", "tcp", "plain"):
        # Over iWARP the rule is TCP.
        if name == "door" and dev == "siw":
            continue
        cases = Cases(Kind(name), *sys.argv[1:5])
        for n in vars(Cases):
            if n[:4] in ("kill", "stop") and name in ONLY.get(n, name):
                tests.append(("%s.%s" % (name, n), getattr(cases, n)))
    version = "v6" if ":" in sys.argv[2] else "v4"
    return run("stream.ends_%s_%s" % (dev, version), tests, only)


if __name__ == "__main__":
    sys.exit(main())
