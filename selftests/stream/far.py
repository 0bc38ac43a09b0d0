# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What ends.py and removed.py share: kinds of streams, an end in a process of its own, and calls that
block."""
import ctypes
import errno
import fcntl
import gc
import os
import signal
import socket
import struct
import sys
import termios
import threading
import time
import traceback

from auto import (AF_RDS, DOOR, IB, LIBC, SO_RDS_TRANSPORT, SOL_RDS, TCP, Failed, carrier, family,
                  rds_bind, rds_call, rds_name, stat, want)

SLOW = int(os.environ.get("RDS_SLOW") or 1)
LONG = 60 * SLOW
# Numbers of system calls on x86-64
CLOSE, SENDTO, RECVFROM, CONNECT, ACCEPT, EPOLL_WAIT = 3, 44, 45, 42, 43, 232
BLOCK = bytes(i * 7 % 251 for i in range(251 * 64))


def wait_for(call, what, seconds=30):
    """The first value of call() that is true; nobody is told of what is waited for here."""
    end = time.monotonic() + seconds * SLOW
    while True:
        got = call()
        if got:
            return got
        if time.monotonic() > end:
            raise Failed("%s does not come" % what)
        time.sleep(0.02)


def outcome(call, *args):
    """What a call returns, or the name of its error"""
    try:
        return call(*args)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))


def pattern(n):
    return (BLOCK * (n // len(BLOCK) + 1))[:n]


class Kind:
    """A kind of streams. By RDMA: rds (AF_RDS) and door (the rule); by TCP: tcp (the second door) and
    plain, a socket of TCP, which has to give the same answers."""

    def __init__(self, name):
        self.name = name
        self.rdma = name in ("rds", "door")

    def opened(self, addr):
        if self.name == "rds":
            return socket.socket(AF_RDS, socket.SOCK_STREAM, 0)
        s = socket.socket(family(addr), socket.SOCK_STREAM,
                          socket.IPPROTO_TCP if self.name == "plain" else DOOR)
        if self.name == "tcp":
            s.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, TCP)
        return s

    def listening(self, addr, backlog=8, port=0):
        s = self.opened(addr)
        rds_bind(s, addr, port)
        s.listen(backlog)
        return s

    def dialled(self, own, addr, port):
        """A stream from an address to another"""
        s = self.opened(addr)
        rds_bind(s, own, 0)
        rds_call(LIBC.connect, s, addr, port)
        return self.checked(s)

    def accept(self, server):
        """The socket that accept() returns; its family is that of the listener"""
        fd = LIBC.accept(server.fileno(), None, None)
        if fd < 0:
            e = ctypes.get_errno()
            raise OSError(e, os.strerror(e))
        return self.checked(socket.socket(server.family, socket.SOCK_STREAM, 0, fileno=fd))

    def checked(self, s):
        """The carrier is the one that the kind is for."""
        if self.name != "plain":
            want(carrier(s), IB if self.rdma else TCP, "carrier")
        return s


def port_of(s):
    return struct.unpack_from("!H", rds_name(LIBC.getsockname, s), 2)[0]


def asked(s, number):
    buf = bytearray(4)
    fcntl.ioctl(s.fileno(), number, buf)
    return struct.unpack("i", buf)[0]


def unread(s):
    """Bytes that can be read"""
    return asked(s, termios.FIONREAD)


def unacked(s):
    """Bytes that were sent, and are not acknowledged"""
    return asked(s, termios.TIOCOUTQ)


def fill(s):
    """Send until nothing more fits at the moment; returns the bytes"""
    sent = 0
    s.setblocking(False)
    while True:
        at = sent % len(BLOCK)
        n = outcome(s.send, pattern(at + 65536)[at:])
        if isinstance(n, str):
            s.setblocking(True)
            want(n, "EAGAIN", "send() into what is full")
            return sent
        sent += n


def pump(s):
    """Send until that fails"""
    while True:
        s.send(BLOCK)


def drain(s):
    """Read up to the end; returns the bytes, and the error or None"""
    got = bytearray()
    while True:
        part = outcome(s.recv, 1 << 20)
        if isinstance(part, str):
            return bytes(got), part
        if not part:
            return bytes(got), None
        got += part


def whole(got, n, what):
    """The pattern has come, once and in order"""
    if got != pattern(len(got)):
        raise Failed("%s: wrong bytes" % what)
    want(len(got), n, what)


def asleep(pid, tid, call):
    """Whether a thread sleeps in that system call"""
    at = "/proc/%d/task/%d/" % (pid, tid)
    try:
        with open(at + "syscall", encoding="ascii") as f:
            number = f.read().split()[0]
        with open(at + "stat", encoding="ascii") as f:
            state = f.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return number == str(call) and state == "S"


class Blocked(threading.Thread):
    """A call in a thread, which sleeps in it once this is made"""

    def __init__(self, number, call, *args):
        super().__init__(daemon=True)
        self.call, self.args, self.result = call, args, None
        self.start()
        wait_for(lambda: asleep(os.getpid(), self.native_id, number) or not self.is_alive(),
                 "the call")
        if not self.is_alive():
            raise Failed("the call does not wait: %r" % (self.result,))

    def run(self):
        self.result = outcome(self.call, *self.args)

    def done(self):
        """The outcome"""
        self.join(LONG)
        if self.is_alive():
            raise Failed("%s does not end" % self.call)
        return self.result


class Link:
    """Words between two processes"""

    def __init__(self, s):
        self.s = s
        s.settimeout(LONG)

    def say(self, *words):
        self.s.send(repr(words).encode())

    def hear(self):
        text = self.s.recv(4096).decode()
        if not text:
            raise Failed("the other process is gone")
        words = eval(text, {})  # pylint: disable=eval-used
        return words[0] if len(words) == 1 else words


class Far:
    """A process; body(link, ...) runs in it, and it has no file of this process."""

    all = []

    def __init__(self, body, *args):
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            self.child(body, there, args)
        there.close()
        self.link, self.alive = Link(here), True
        Far.all.append(self)

    @staticmethod
    def child(body, there, args):
        # The sockets of this process would be closed with their objects, when others have their number.
        gc.disable()
        fd = os.dup2(there.fileno(), 3) if there.fileno() != 3 else 3
        os.closerange(4, 4096)
        try:
            body(Link(socket.socket(fileno=fd)), *args)
        except Exception as e:  # pylint: disable=broad-except
            where = ", ".join(str(w.lineno) for w in traceback.extract_tb(e.__traceback__))
            print("# the other process: %r, line %s" % (e, where), flush=True)
        os._exit(0)

    def ask(self, *words):
        self.link.say(*words)
        return self.link.hear()

    def sleeps_in(self, number):
        wait_for(lambda: asleep(self.pid, self.pid, number), "the call of the other process")

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def kill(self):
        """On return the process is gone, and its files are closed."""
        if self.alive:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.alive = False
            self.link.s.close()

    @classmethod
    def end_all(cls):
        while cls.all:
            cls.all.pop().kill()


def obey(link, c):
    """An end that does what it is told"""
    while True:
        words = link.hear()
        word, n = words if isinstance(words, tuple) else (words, 0)
        if word == "fill":
            link.say(fill(c))
        elif word == "send":
            c.sendall(pattern(n))
            link.say("sent")
        elif word == "unread":
            wait_for(lambda: unread(c) >= n, "what is to be unread")  # pylint: disable=W0640
            link.say("there")
        elif word == "drain":
            # Said before, as this end may be stopped meanwhile.
            link.say("draining")
            got, end = drain(c)
            link.say(len(got), got == pattern(len(got)), end)
        elif word == "recv":
            link.say("receiving")
            c.recv(1)
        elif word == "pump":
            pump(c)


def far_serves(link, kind, addr):
    s = kind.listening(addr)
    link.say(port_of(s))
    c = kind.accept(s)
    s.close()
    link.say("there")
    obey(link, c)


def far_dials(link, kind, own, addr, port):
    c = kind.dialled(own, addr, port)
    link.say("there")
    obey(link, c)


def pair(kind, own, peer, serves):
    """The far end, at peer, and this one: a socket. The far end accepts, or has dialled."""
    if serves:
        far = Far(far_serves, kind, peer)
        s = kind.dialled(own, peer, far.link.hear())
    else:
        server = kind.listening(own)
        far = Far(far_dials, kind, peer, own, port_of(server))
        s = kind.accept(server)
        server.close()
    want(far.link.hear(), "there", "the far end")
    return far, s


def none_left(conns):
    """All connections over RDMA but so many are gone"""
    wait_for(lambda: stat("stream_connections") <= conns, "the end of the connections")


def run(prefix, tests, only):
    """Run the tests, (name, call); returns the exit status"""
    bad = 0
    tests = [(n, c) for n, c in tests if not only or set(only) & {n, *n.split(".")}]
    print("1..%d" % len(tests), flush=True)
    for name, call in tests:
        begin = time.monotonic()
        try:
            before = stat("stream_connections")
            call()
            gc.collect()
            Far.end_all()
            none_left(before)
            print("ok %s.%s" % (prefix, name), flush=True)
        except Exception as e:  # pylint: disable=broad-except
            where = [w for w in traceback.extract_tb(e.__traceback__) if w.name != "run"]
            print("# %s: %s, %s" % (type(e).__name__, e, " ".join(
                "%s:%d" % (os.path.basename(w.filename), w.lineno) for w in where)))
            print("not ok %s.%s" % (prefix, name), flush=True)
            bad = 1
            Far.end_all()
        if time.monotonic() - begin > 5:
            print("# %.1f s" % (time.monotonic() - begin), flush=True)
    return bad
