# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What tests of the second door and its carriers have in common."""
import contextlib
import ctypes
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time
import traceback

DOOR, SOL_RDS, SO_RDS_TRANSPORT, AF_RDS = 258, 276, 8, 21
SYSCTL = "/proc/sys/net/rds/stream/"
LIBC = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    pass


class Skipped(Exception):
    """What a case is about is not there; the reason."""


def want(got, expected, what):
    if got != expected:
        raise Failed("%s: %r, wanted %r" % (what, got, expected))


def family(addr):
    return socket.AF_INET6 if ":" in addr else socket.AF_INET


def opened(addr, proto=DOOR):
    return socket.socket(family(addr), socket.SOCK_STREAM, proto)


def carrier(s):
    return s.getsockopt(SOL_RDS, SO_RDS_TRANSPORT)


def stat(name):
    with open("/proc/net/rds_stream_stats", encoding="ascii") as f:
        return int(dict(line.split() for line in f)[name])


def setting(name, value):
    with open(SYSCTL + name, "w", encoding="ascii") as f:
        f.write(str(value))


class Thread(threading.Thread):
    """A thread whose exception join() raises, perhaps in the namespace "plain"."""

    def __init__(self, call, plain=False):
        super().__init__(daemon=True)
        self.call, self.plain, self.error, self.result = call, plain, None, None
        self.start()

    def run(self):
        try:
            if self.plain:
                with open("/run/netns/plain", "rb") as f:
                    if LIBC.setns(f.fileno(), 0):
                        raise OSError(ctypes.get_errno(), "setns")
            self.result = self.call()
        except Exception as e:  # pylint: disable=broad-except
            self.error = e

    def done(self):
        self.join(60)
        if self.is_alive():
            raise Failed("a thread does not end")
        if self.error:
            raise self.error
        return self.result


def in_plain(call):
    return Thread(call, plain=True).done()


def listening(addr, proto=DOOR, port=0):
    s = opened(addr, proto)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((addr, port))
    s.listen(8)
    return s


@contextlib.contextmanager
def changed(command, what, more=()):
    """Something of the network is added, and deleted at the end."""
    subprocess.run([*command, "add", *what, *more], check=True)
    try:
        yield
    finally:
        subprocess.run([*command, "delete", *what], check=True)


@contextlib.contextmanager
def beside(call):
    """A process that has call(), with a socket, until it is killed; its number and the other socket"""
    here, there = socket.socketpair()
    child = os.fork()
    if not child:
        try:
            call(there)
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()
        finally:
            os._exit(1)
    there.close()
    try:
        yield child, here
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        here.close()


def listed(port, *words):
    """Lines of /proc/net/rds_streams with that port, if it is not None, and these words"""
    with open("/proc/net/rds_streams", encoding="ascii") as f:
        lines = [line.split() for line in f]
    return [x for x in lines if (port is None or str(port) in (x[1], x[3])) and set(words) <= set(x)]


def server_has(port, n):
    """Whether so many connections of TCP wait at a listener, by the length of its queue"""
    for name in "tcp", "tcp6":
        with open("/proc/net/" + name, encoding="ascii") as f:
            for line in f:
                words = line.split()
                if words[1].endswith(":%04X" % port) and words[3] == "0A":
                    return int(words[4].split(":")[1], 16) == n
    return False


def wait_for(call, what):
    """Nobody is told of what is waited for here."""
    end = time.monotonic() + 30
    while not call():
        if time.monotonic() > end:
            raise Failed("%s do not come" % what)
        time.sleep(0.01)


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def wait_error(s):
    p = select.poll()
    p.register(s, 0)
    want(p.poll(30000)[0][1] & select.POLLERR, select.POLLERR, "poll()")


def name_of(addr, port):
    if ":" in addr:
        return struct.pack("=HHI16sI", socket.AF_INET6, socket.htons(port), 0,
                           socket.inet_pton(socket.AF_INET6, addr), 0)
    return struct.pack("=HH4s8x", socket.AF_INET, socket.htons(port), socket.inet_aton(addr))


def rds_call(call, s, addr, port):
    name = name_of(addr, port)
    if call(s.fileno(), name, len(name)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def rds_bind(s, addr, port):
    rds_call(LIBC.bind, s, addr, port)


def rds_name(call, s):
    buf, size = ctypes.create_string_buffer(28), ctypes.c_int(28)
    if call(s.fileno(), buf, ctypes.byref(size)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return buf.raw[:size.value]


def rds_accept(s):
    fd = LIBC.accept(s.fileno(), None, None)
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return socket.socket(AF_RDS, socket.SOCK_STREAM, 0, fileno=fd)
