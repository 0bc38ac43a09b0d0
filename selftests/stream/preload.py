#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks librds_rsocket.so without the modules: make check runs it.

The library has to define what librdmacm's programs import. Then its functions are called, and
rstream, rcopy and the programs of this folder run against each other, on sockets of TCP: with
rds-tcpsocket.so in front a stream socket of AF_RDS becomes one.
"""

import ctypes
import errno
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VERSION = "RDMACM_1.0"
HEADER = "/usr/include/rdma/rsocket.h"
PROGRAMS = ("rstream", "rcopy", "riostream", "udpong")
WAIT_S = 60
SOL_RDMA = 0x10000
failed = 0


def ok(cond, name, why=""):
    global failed
    failed += not cond
    print("%s %s%s" % ("ok" if cond else "not ok", name, "" if cond else " # " + why))


def build():
    """Builds what is checked; returns the folder."""
    out = subprocess.run([os.path.join(TOP, "selftests/vm/build-dir.sh")], text=True, check=True,
                         stdout=subprocess.PIPE).stdout.strip() + "/bin"
    os.makedirs(out, exist_ok=True)
    for part, names in (("tools", ("librds_rsocket.so",)),
                        ("selftests", ("rds-echo", "rds-credit", "rds-tcpsocket.so"))):
        subprocess.run(["make", "-s", "-C", os.path.join(TOP, part), "O=" + out]
                       + ["%s/%s" % (out, n) for n in names], check=True)
    return out


# ---- symbols

def symbols(path, kind):
    """Names with librdmacm's version that a file defines (kind T) or imports (U)."""
    text = subprocess.run(["nm", "-D", path], text=True, check=True, stdout=subprocess.PIPE).stdout
    return set(re.findall(r" %s (\w+)@@?%s\b" % (kind, VERSION), text))


def check_symbols(lib):
    with open(HEADER, encoding="ascii") as f:
        api = set(re.findall(r"^\w+ (r\w+)\(", f.read(), re.M))
    have = symbols(lib, "T")
    ok(api and have == api, "rsocket.symbols",
       "missing %s, unknown %s" % (sorted(api - have), sorted(have - api)))
    for prog in PROGRAMS:
        need = symbols(shutil.which(prog), "U") & api
        ok(need and need <= have, "rsocket.imports." + prog, "missing %s" % sorted(need - have))


# ---- functions, called on a connection of TCP

def tcp_pair():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        return one, listener.accept()[0]


def iovec(text):
    buf = ctypes.create_string_buffer(text, len(text))
    return buf, struct.pack("PN", ctypes.addressof(buf), len(text))


def moves(lib):
    """[(name, sends, receives)] of the functions that move bytes; each takes descriptor and bytes,
    or returns bytes."""
    def receive(call):
        def take(fd):
            buf = ctypes.create_string_buffer(64)
            n = call(fd, buf)
            return buf.raw[:max(n, 0)]
        return take

    def vector(call):
        def take(fd):
            buf, vec = iovec(bytes(64))
            n = call(fd, vec)
            return buf.raw[:max(n, 0)]
        return take

    def msg(vec):
        # the fields of struct msghdr; the vector is kept alive by its caller
        return struct.pack("PIPNPNi4x", 0, 0, ctypes.addressof(vec), 1, 0, 0, 0)

    def put_msg(fd, text):
        buf, vec = iovec(text)
        v = ctypes.create_string_buffer(vec, len(vec))
        return lib.rsendmsg(fd, msg(v), 0) if buf else -1

    def take_msg(fd):
        buf, vec = iovec(bytes(64))
        v = ctypes.create_string_buffer(vec, len(vec))
        n = lib.rrecvmsg(fd, msg(v), 0)
        return buf.raw[:max(n, 0)]

    def put_vector(fd, text):
        buf, vec = iovec(text)
        return lib.rwritev(fd, vec, 1) if buf else -1

    return [
        ("rsend_rrecv", lambda fd, t: lib.rsend(fd, t, len(t), 0),
         receive(lambda fd, b: lib.rrecv(fd, b, 64, 0))),
        ("rsendto_rrecvfrom", lambda fd, t: lib.rsendto(fd, t, len(t), 0, None, 0),
         receive(lambda fd, b: lib.rrecvfrom(fd, b, 64, 0, None, None))),
        ("rwrite_rread", lambda fd, t: lib.rwrite(fd, t, len(t)),
         receive(lambda fd, b: lib.rread(fd, b, 64))),
        ("rwritev_rreadv", put_vector, vector(lambda fd, v: lib.rreadv(fd, v, 1))),
        ("rsendmsg_rrecvmsg", put_msg, take_msg),
    ]


def check_moves(lib):
    for name, put, take in moves(lib):
        a, b = tcp_pair()
        text = b"hello " + name.encode()
        sent = put(a.fileno(), text)
        got = take(b.fileno())
        ok(sent == len(text) and got == text, "rsocket." + name, "sent %d, got %r" % (sent, got))
        # An error, and no SIGPIPE, which would end this program
        a.shutdown(socket.SHUT_WR)
        ctypes.set_errno(0)
        ok(put(a.fileno(), text) == -1 and ctypes.get_errno() == errno.EPIPE,
           "rsocket.no_sigpipe." + name.partition("_")[0], os.strerror(ctypes.get_errno()))


def port_in(name):
    """The port in a struct sockaddr_in"""
    return struct.unpack(">H", name.raw[2:4])[0]


def check_setup(lib):
    """The functions that make, name and end connections"""
    listener, name = socket.socket(), ctypes.create_string_buffer(16)
    length = ctypes.c_uint(16)
    any_port = struct.pack("=H2x4s8x", socket.AF_INET, socket.inet_aton("127.0.0.1"))
    ok(lib.rbind(listener.fileno(), any_port, 16) == 0 and lib.rlisten(listener.fileno(), 1) == 0,
       "rsocket.rbind_rlisten")
    ok(lib.rgetsockname(listener.fileno(), name, ctypes.byref(length)) == 0
       and port_in(name) == listener.getsockname()[1], "rsocket.rgetsockname")
    c = socket.socket()
    ok(lib.rconnect(c.fileno(), name, 16) == 0, "rsocket.rconnect")
    s = lib.raccept(listener.fileno(), None, None)
    ok(s >= 0 and lib.rgetpeername(s, name, ctypes.byref(length)) == 0
       and port_in(name) == c.getsockname()[1], "rsocket.raccept_rgetpeername")
    poll = ctypes.create_string_buffer(struct.pack("ihh", s, select.POLLIN | select.POLLOUT, 0))
    ok(lib.rpoll(poll, 1, 0) == 1 and struct.unpack("ihh", poll.raw[:8])[2] == select.POLLOUT,
       "rsocket.rpoll")
    bits = (ctypes.c_ulong * 16)()
    bits[s // 64] = 1 << s % 64
    ok(lib.rselect(s + 1, None, bits, None, None) == 1, "rsocket.rselect")
    value, size = ctypes.c_int(1), ctypes.c_uint(4)
    ok(lib.rsetsockopt(s, socket.IPPROTO_TCP, socket.TCP_NODELAY, ctypes.byref(value), 4) == 0
       and lib.rgetsockopt(s, socket.IPPROTO_TCP, socket.TCP_NODELAY, ctypes.byref(value),
                           ctypes.byref(size)) == 0 and value.value, "rsocket.options")
    # F_SETFL and F_GETFL
    ok(lib.rfcntl(s, 4, ctypes.c_long(os.O_NONBLOCK)) == 0
       and lib.rfcntl(s, 3) & os.O_NONBLOCK, "rsocket.rfcntl")
    ok(lib.rshutdown(s, socket.SHUT_RDWR) == 0 and c.recv(1) == b"", "rsocket.rshutdown")
    ok(lib.rclose(s) == 0 and lib.rfcntl(s, 3) == -1, "rsocket.rclose")


def refused(call):
    """The errno of a call that fails"""
    ctypes.set_errno(0)
    return ctypes.get_errno() if call() in (-1, 2 ** 64 - 1) else 0


def check_errors(lib):
    stream, dgram, inet = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.AF_INET
    buf = ctypes.create_string_buffer(64)
    for name, want, call in (
            ("domain", errno.EAFNOSUPPORT, lambda: lib.rsocket(socket.AF_UNIX, stream, 0)),
            ("datagram", errno.ESOCKTNOSUPPORT, lambda: lib.rsocket(inet, dgram, 0)),
            ("protocol", errno.EPROTONOSUPPORT, lambda: lib.rsocket(inet, stream, 17)),
            ("descriptor", errno.EBADF, lambda: lib.rlisten(-1, 1)),
            ("vectors", errno.EINVAL, lambda: lib.rwritev(0, None, -1)),
            ("riomap", errno.ENOTSUP, lambda: lib.riomap(0, buf, 64, 2, 0, ctypes.c_long(-1))),
            ("riounmap", errno.ENOTSUP, lambda: lib.riounmap(0, buf, 64)),
            ("riowrite", errno.ENOTSUP, lambda: lib.riowrite(0, buf, 64, ctypes.c_long(0), 0))):
        got = refused(call)
        ok(got == want, "rsocket.errno." + name, os.strerror(got))


# ---- programs against each other

def listens(port):
    with open("/proc/net/tcp", encoding="ascii") as f:
        return any(row.split()[1].endswith(":%04X" % port) and row.split()[3] == "0A"
                   for row in f.readlines()[1:])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Programs:
    def __init__(self, bin_dir):
        self.bin = bin_dir
        self.env = dict(os.environ, LD_PRELOAD="%s/librds_rsocket.so %s/rds-tcpsocket.so" % (
            bin_dir, bin_dir))

    def start(self, argv):
        own = os.path.join(self.bin, argv[0])
        return subprocess.Popen([own if os.path.exists(own) else argv[0]] + argv[1:], env=self.env,
                                stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def pair(self, name, server, client, stays=False, good=lambda: True):
        """Runs a server and its client; both have to succeed. "PORT" stands for a free port."""
        port = free_port()
        s = self.start([a.replace("PORT", str(port)) for a in server])
        end = time.monotonic() + WAIT_S
        while not listens(port) and s.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        c = self.start([a.replace("PORT", str(port)) for a in client])
        said = []
        for p in (c, s):
            if p is s and stays:
                p.terminate()
            try:
                said.append(p.communicate(timeout=WAIT_S)[0])
            except subprocess.TimeoutExpired:
                p.kill()
                said.append("hangs: " + p.communicate()[0])
        codes = [c.returncode, 0 if stays else s.returncode]
        text = " / ".join(" ".join(said).split("\n"))
        # rstream may report an error and exit with 0.
        wrong = codes != [0, 0] or re.search(r"rsend|rrecv|verif|hangs", text) or not good()
        ok(not wrong, name, "exit %s: %s" % (codes, text[:300]))


def check_programs(bin_dir):
    run = Programs(bin_dir)
    for mode in ("b", "n", "a"):
        both = ["-p", "PORT", "-S", "5000", "-C", "10", "-I", "10", "-T", "v", "-T", mode]
        run.pair("rsocket.rstream_" + mode, ["rstream", "-b", "127.0.0.1"] + both,
                 ["rstream", "-s", "127.0.0.1"] + both)
    for mode in ([], ["-p"]):
        run.pair("rsocket.echo%s" % "".join(mode).replace("-", "_"),
                 ["rds-echo", "server", "-v"] + mode + ["127.0.0.1", "PORT"],
                 ["rds-echo", "client", "-s", "100000"] + mode + ["127.0.0.1", "PORT"])
    size = ["-p", "PORT", "-S", "5000", "-I", "10", "-T", "v", "-C"]
    run.pair("rsocket.rstream_to_echo", ["rds-echo", "server", "-v", "-p", "127.0.0.1", "PORT"],
             ["rstream", "-s", "127.0.0.1"] + size + ["10"])
    run.pair("rsocket.echo_to_rstream", ["rstream", "-b", "127.0.0.1"] + size + ["1"],
             ["rds-echo", "client", "-s", "5000", "-i", "10", "127.0.0.1", "PORT"])
    for what in ("up", "down", "rounds"):
        end = [what, "50", "127.0.0.1", "PORT"]
        run.pair("rsocket.credit_" + what, ["rds-credit", "server"] + end,
                 ["rds-credit", "client"] + end)
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/from", "wb") as f:
            f.write(os.urandom(3000000))

        def same():
            with open(d + "/from", "rb") as one, open(d + "/to", "rb") as two:
                return one.read() == two.read()

        run.pair("rsocket.rcopy", ["rcopy", "-p", "PORT"],
                 ["rcopy", d + "/from", "127.0.0.1:%s/to" % d, "-p", "PORT"], True, same)


def main():
    if not all(map(shutil.which, PROGRAMS)):
        print("ok rsocket # SKIP no rdmacm-utils")
        return 0
    # Python ignores it otherwise.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    bin_dir = build()
    path = bin_dir + "/librds_rsocket.so"
    check_symbols(path)
    lib = ctypes.CDLL(path, use_errno=True)
    for name in ("rsend rsendto rsendmsg rwrite rwritev rrecv rrecvfrom rrecvmsg rread rreadv "
                 "riomap").split():
        getattr(lib, name).restype = ctypes.c_long
    lib.riowrite.restype = ctypes.c_size_t
    check_moves(lib)
    check_setup(lib)
    check_errors(lib)
    check_programs(bin_dir)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
