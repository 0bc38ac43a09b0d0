#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The user ABI of remote memory, between two namespaces over rds_test.ko with owns_ack=1."""
import ctypes
import errno
import mmap
import os
import resource
import select
import signal
import socket
import struct
import sys
import traceback

SOL_RDS = 276
CANCEL, GET_MR, FREE_MR, RECVERR, GET_MR_FOR_DEST = 1, 2, 3, 5, 7
ARGS, DEST, MAP, STATUS, FADD, CSWP, MFADD = 1, 2, 3, 4, 6, 7, 8
RW, FENCE, INVALIDATE, ONCE, NOTIFY, SILENT = 1, 2, 4, 8, 0x20, 0x40
OK, REMOTE, CANCELED, DROPPED, OTHER = range(5)
RETRANS = 10004
PAGE = 4096
PROT_NONE = 0
MIB = 1 << 20
A, B = "10.0.0.1", "10.0.0.2"
libc = ctypes.CDLL(None, use_errno=True)


class Mem:
    """Anonymous memory with an address."""

    def __init__(self, size, prot=mmap.PROT_READ | mmap.PROT_WRITE):
        self.m = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.addr = ctypes.addressof(ctypes.c_char.from_buffer(self.m))
        self.size = size
        if libc.mprotect(ctypes.c_void_p(self.addr), ctypes.c_size_t(size), prot):
            raise OSError(ctypes.get_errno(), "mprotect")

    def __getitem__(self, s):
        return self.m[s]

    def __setitem__(self, s, v):
        self.m[s] = v


def now():
    return os.times().elapsed


def param(name, value=None):
    with open("/sys/module/rds_test/parameters/" + name, "r" if value is None else "w",
              encoding="ascii") as f:
        if value is None:
            return int(f.read())
        return f.write(str(value))


class Sock:
    """An RDS socket in a namespace."""

    def __init__(self, addr, port=0):
        with open("/run/netns/" + ("A" if addr == A else "B"), encoding="ascii") as ns:
            if libc.setns(ns.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns")
        self.s = socket.socket(21, socket.SOCK_SEQPACKET, 0)
        self.s.bind((addr, port))
        self.name = self.s.getsockname()
        self.s.setblocking(False)

    def get_mr(self, addr, size, flags=0, cookie_addr=None):
        cookie = ctypes.c_uint64()
        where = ctypes.addressof(cookie) if cookie_addr is None else cookie_addr
        self.s.setsockopt(SOL_RDS, GET_MR, struct.pack("4Q", addr, size, where, flags))
        return cookie.value

    def free_mr(self, cookie, flags=0):
        self.s.setsockopt(SOL_RDS, FREE_MR, struct.pack("2Q", cookie, flags))

    def send(self, to, data, *cmsgs):
        return self.s.sendmsg([data], [(SOL_RDS, t, d) for t, d in cmsgs], 0, to.name)

    def recv(self, control=1024):
        end = now() + 10
        while now() < end and self.wait():
            # A congestion map that arrived makes the socket readable, once.
            try:
                return self.s.recvmsg(MIB, control)
            except BlockingIOError:
                pass
        raise TimeoutError("nothing to read")

    def wait(self, seconds=10):
        return select.select([self.s], [], [], seconds)[0]

    def statuses(self, n):
        """The next n notifications, as (token, status)."""
        out = []
        while len(out) < n:
            out += notes(self.recv())
        return out

    def empty(self):
        try:
            got = self.s.recvmsg(MIB, 1024)
        except BlockingIOError:
            return True
        print("# unexpected:", got)
        return False

    def retrans(self):
        """Size of the namespace's RDS_INFO_RETRANS_MESSAGES: messages not acknowledged yet."""
        size = ctypes.c_int(0)
        libc.getsockopt(self.s.fileno(), SOL_RDS, RETRANS, None, ctypes.byref(size))
        return size.value


def notes(got):
    return [struct.unpack("Qi4x", d) for lv, t, d in got[1] if lv == SOL_RDS and t == STATUS]


def args(cookie, vec, flags, token=1, off=0, remote=None):
    """An RDMA_ARGS control message; KEEP holds its vector until the next test."""
    raw = b"".join(struct.pack("2Q", a, n) for a, n in vec)
    buf = ctypes.create_string_buffer(raw, max(1, len(raw)))
    KEEP.append(buf)
    total = sum(n for _, n in vec) if remote is None else remote
    return ARGS, struct.pack("7Q", cookie, off, total, ctypes.addressof(buf), len(vec), flags, token)


def atomic(kind, cookie, local, flags, *operands, token=1, off=0):
    ops = list(operands) + [0] * (4 - len(operands))
    return kind, struct.pack("9Q", cookie, local, off, *ops, flags, token)


KEEP = []


def fails(want, fn, *a):
    try:
        got = fn(*a)
    except OSError as e:
        if e.errno == want:
            return True
        got = errno.errorcode[e.errno]
    print("# %s instead of %s" % (got, errno.errorcode[want]))
    return False


def same(got, want, what="value"):
    if got != want:
        print("# %s: %r, not %r" % (what, got, want))
    return got == want


def until(fn, seconds=10):
    """Wait until fn() is true, for events without a file descriptor; false after the time."""
    end = now() + seconds
    while not fn():
        if now() > end:
            return False
        select.select([], [], [], 0.01)
    return True


def pins():
    with open("/proc/sys/vm/stat_refresh", encoding="ascii") as f:
        f.read()
    with open("/proc/vmstat", encoding="ascii") as f:
        v = dict(line.split() for line in f)
    return int(v["nr_foll_pin_acquired"]) - int(v["nr_foll_pin_released"])


def nothing_left():
    return until(lambda: pins() == 0 and param("nr_held") == 0) or same(pins(), 0, "pins")


class Pair:
    """A target socket with a key of its memory, and a socket that uses the key."""

    def __init__(self, size=4 * PAGE, flags=RW, local=4 * PAGE):
        self.a, self.b = Sock(A), Sock(B)
        self.mem, self.local = Mem(size), Mem(local)
        self.cookie = self.a.get_mr(self.mem.addr, size, flags)

    def write(self, data, flags=NOTIFY, payload=b"done", off=0, token=1):
        self.local[:len(data)] = data
        return self.b.send(self.a, payload, args(self.cookie, [(self.local.addr, len(data))],
                                                 RW | flags, token, off))

    def read(self, n, flags=NOTIFY, payload=b"done", token=1, off=0):
        return self.b.send(self.a, payload, args(self.cookie, [(self.local.addr, n)], flags,
                                                 token, off))


def t_write_read():
    p = Pair()
    data = os.urandom(PAGE + 100)
    p.write(data, off=7)
    ok = same(p.b.statuses(1), [(1, OK)]) and same(p.mem[7:7 + len(data)], data, "memory")
    ok &= same(p.a.recv()[0], b"done")
    p.mem[:4] = b"abcd"
    p.read(4)
    return ok and same(p.b.statuses(1), [(1, OK)]) and same(p.local[:4], b"abcd")


def t_sizes():
    ok = True
    for size in (1, PAGE, 64 << 10, MIB):
        p = Pair(size + PAGE, local=size + PAGE) if size < MIB else Pair(size, local=size)
        p.mem[:size] = data = os.urandom(size)
        p.read(size)
        ok &= same(p.b.statuses(1), [(1, OK)]) and same(p.local[:size], data)
    return ok


def t_vectors():
    p = Pair(MIB, local=MIB)
    at = p.local.addr

    def send(vec, remote=None):
        return p.b.send(p.a, b"", args(p.cookie, vec, RW | NOTIFY, remote=remote))

    ok = fails(errno.EINVAL, send, []) & fails(errno.EMSGSIZE, send, [(at, 1)] * 1025)
    ok &= fails(errno.EINVAL, send, [(at, 64)], 63) & fails(errno.EINVAL, send, [(at, 0)])
    ok &= fails(errno.EMSGSIZE, send, [(at, MIB)], MIB + 1)
    # the most pieces in the most pages: each piece touches two pages
    send([(at + i % 255 * PAGE + PAGE - 1, 2) for i in range(1024)])
    ok &= same(p.b.statuses(1), [(1, OK)]) & same(pins(), 256, "pins")
    # neighbouring pieces share pages, and each page is pinned once
    param("hold", 1)
    send([(at + i * 64, 64) for i in range(1024)])
    ok &= until(lambda: param("nr_held") == 1) & same(pins(), 256 + 16, "pins")
    param("finish", OK)
    param("hold", 0)
    ok &= same(p.b.statuses(1), [(1, OK)])
    vec = [(at + 5, 3), (at + PAGE - 1, 2), (at + 9 * PAGE + 77, PAGE)]
    for i, (addr, n) in enumerate(vec):
        p.local[addr - at:addr - at + n] = bytes([65 + i]) * n
    send(vec)
    return ok and same(p.b.statuses(1), [(1, OK)]) and \
        same(p.mem[:5 + PAGE], b"AAABB" + b"C" * PAGE)


def t_freed_foreign_short():
    p = Pair(PAGE)
    p.write(b"x" * 100, off=PAGE - 50)
    p.read(100, off=PAGE, token=2)
    ok = same(p.b.statuses(2), [(1, REMOTE), (2, REMOTE)])
    p.a.free_mr(p.cookie)
    ok &= fails(errno.EINVAL, p.a.free_mr, p.cookie)
    p.write(b"x")
    p.a.free_mr(0)
    return ok and same(p.b.statuses(1), [(1, REMOTE)]) and same(param("nr_keys"), 0, "keys")


def t_rights():
    p = Pair(flags=0)
    p.write(b"x")
    p.read(1, token=2)
    return same(p.b.statuses(2), [(1, REMOTE), (2, OK)])


def t_untouched_then_written():
    # The memory is pinned for reading before it is first touched; the process writes it later.
    p = Pair(flags=0)
    p.mem[:4] = b"late"
    p.read(4)
    return same(p.b.statuses(1), [(1, OK)]) and same(p.local[:4], b"late", "memory")


def t_remote_wraps():
    p = Pair()
    vec = [(p.local.addr, 64)]
    return fails(errno.EINVAL, p.b.send, p.a, b"", args(p.cookie, vec, RW, off=2 ** 64 - 10)) & \
        fails(errno.EINVAL, p.b.send, p.a, b"", args(1, vec, RW, off=2 ** 64 - 63)) & \
        nothing_pinned_but(p)


def nothing_pinned_but(p):
    return same(pins(), (p.mem.size + PAGE - 1) // PAGE, "pins")


def t_get_mr_errors():
    s, m = Sock(A), Mem(2 * PAGE)
    ro = Mem(PAGE, mmap.PROT_READ)
    hole = Mem(PAGE, PROT_NONE)
    ok = fails(errno.EINVAL, s.get_mr, m.addr, 0)
    ok &= fails(errno.EINVAL, s.get_mr, m.addr, 1 << 32)
    ok &= fails(errno.EINVAL, s.get_mr, m.addr, 2 ** 64 - 1)
    ok &= fails(errno.EMSGSIZE, s.get_mr, m.addr, MIB + 1)
    ok &= fails(errno.EFAULT, s.get_mr, hole.addr, 1)
    ok &= fails(errno.EFAULT, s.get_mr, ro.addr, 1, RW)
    ok &= fails(errno.EFAULT, s.get_mr, m.addr, 1, RW, hole.addr)
    ok &= fails(errno.EFAULT, s.get_mr, m.addr, 1, RW, ro.addr)
    for err in (errno.ENODEV, errno.EMSGSIZE, errno.ENOSPC, errno.EAGAIN):
        param("fail_map", -err)
        ok &= fails(err, s.get_mr, m.addr, 1)
        ok &= fails(err, s.send, s, b"x", (MAP, struct.pack("4Q", m.addr, 1, 0, 0)))
    param("fail_map", 0)
    ok &= same(pins(), 0, "pins") & same(param("nr_keys"), 0, "keys")
    # ro is the zero page: where a kernel pins it, the pin may not be counted
    s.get_mr(ro.addr, 1)
    return ok and pins() in (0, 1)


def t_for_dest():
    s, m = Sock(A), Mem(PAGE)
    cookie = ctypes.c_uint64()

    def get(dest):
        s.s.setsockopt(SOL_RDS, GET_MR_FOR_DEST, dest.ljust(128, b"\0") +
                       struct.pack("4Q", m.addr, PAGE, ctypes.addressof(cookie), 0))

    ok = fails(errno.EINVAL, get, b"")
    get(struct.pack("=HH", 2, 99) + socket.inet_aton(B))
    s.free_mr(cookie.value)
    return ok


def t_map_use_once():
    a, b, mem, local = Sock(A), Sock(B), Mem(PAGE), Mem(PAGE)
    cookie = ctypes.c_uint64()
    a.send(b, b"take", (MAP, struct.pack("4Q", mem.addr, PAGE, ctypes.addressof(cookie), RW | ONCE)))
    got = b.recv()
    dest = [struct.unpack("Q", d)[0] for _, t, d in got[1] if t == DEST]
    ok = same(dest, [cookie.value], "cookie") & same(got[0], b"take")
    local[:3] = b"abc"
    b.send(a, b"used", args(cookie.value, [(local.addr, 3)], RW | NOTIFY))
    ok &= same(b.statuses(1), [(1, OK)]) & same(a.recv()[0], b"used") & same(mem[:3], b"abc")
    ok &= until(lambda: param("nr_keys") == 0) & fails(errno.EINVAL, a.free_mr, cookie.value)
    b.send(a, b"again", args(cookie.value, [(local.addr, 3)], RW | NOTIFY))
    return ok & same(b.statuses(1), [(1, REMOTE)])


def t_dest():
    a, b, mem = Sock(A), Sock(B), Mem(PAGE)
    key = a.get_mr(mem.addr, PAGE)
    dest = (DEST, struct.pack("Q", key))
    a.send(b, b"x", dest)
    ok = same([d for _, t, d in b.recv()[1] if t == DEST], [dest[1]])
    ok &= fails(errno.EINVAL, a.send, b, b"x", dest, dest)
    ok &= fails(errno.EINVAL, b.send, a, b"x", dest)
    ok &= fails(errno.EINVAL, a.send, b, b"x", dest, args(key, [(mem.addr, 1)], RW))
    a.free_mr(key)
    # a send that fails after its key was made leaves no key
    again = (MAP, struct.pack("4Q", mem.addr, PAGE, 0, 0))
    ok &= fails(errno.EINVAL, a.send, b, b"x", again, again)
    return ok & fails(errno.EINVAL, a.send, b, b"x", dest) & same(param("nr_keys"), 0, "keys")


def t_atomics():
    p = Pair()
    p.mem[:8] = struct.pack("Q", 40)
    at = p.local.addr
    p.b.send(p.a, b"", atomic(FADD, p.cookie, at, NOTIFY, 2))
    p.b.send(p.a, b"", atomic(CSWP, p.cookie, at + 8, NOTIFY, 42, 7, token=2))
    p.b.send(p.a, b"", atomic(MFADD, p.cookie, at + 16, NOTIFY, 1, 0, token=3))
    ok = same(p.b.statuses(3), [(1, OK), (2, OK), (3, OK)])
    ok &= same(struct.unpack("3Q", p.local[:24]), (40, 42, 7)) & same(p.mem[0], 8)
    ok &= fails(errno.EOPNOTSUPP, p.b.send, p.a, b"", atomic(MFADD, p.cookie, at, NOTIFY, 1, 1))
    ok &= fails(errno.EFAULT, p.b.send, p.a, b"", atomic(FADD, p.cookie, at + 4, NOTIFY, 1))
    both = atomic(FADD, p.cookie, at, NOTIFY, 1, token=5)
    p.b.send(p.a, b"", args(p.cookie, [(at + 64, 8)], NOTIFY, token=4), both)
    ok &= same(p.b.statuses(2), [(4, OK), (5, OK)])
    return ok & fails(errno.EINVAL, p.b.send, p.a, b"", both, both) & p.b.empty()


def t_silent():
    p = Pair()
    p.write(b"abc", NOTIFY | SILENT, b"")
    ok = same(p.b.statuses(1), [(1, OK)]) & same(p.mem[:3], b"abc") & p.a.empty()
    ok &= same(p.b.retrans(), 0, "bytes of messages not retired")
    param("hold", 1)
    p.write(b"def", NOTIFY | SILENT, b"")
    ok &= until(lambda: param("nr_held") == 1) & (p.b.retrans() > 0) & same(p.mem[:3], b"abc")
    param("finish", OTHER)
    ok &= same(p.b.statuses(1), [(1, OTHER)]) & same(p.b.retrans(), 0, "bytes")
    param("hold", 0)
    # a silent message with payload is sent nevertheless
    p.write(b"ghi", SILENT, b"payload")
    return ok & same(p.a.recv()[0], b"payload") & p.b.empty()


def t_reader_without_room():
    p = Pair()
    for i in range(3):
        p.write(b"x", token=i)
    ok = bool(p.b.wait()) & fails(errno.EAGAIN, p.b.s.recvmsg, MIB, 0)
    p.a.send(p.b, b"data")
    ok &= same(p.b.recv(0)[0], b"data")
    got = p.b.recv(2 * 32)
    ok &= same(notes(got), [(0, OK), (1, OK)]) & same(got[0], b"") & same(got[2], 0, "flags")
    return ok & same(p.b.statuses(1), [(2, OK)]) & p.b.empty()


def t_recverr():
    p = Pair(flags=0)
    p.write(b"x", 0)
    p.read(1, 0)
    ok = same(p.a.recv()[0] + p.a.recv()[0], b"donedone") & p.b.empty()
    p.b.s.setsockopt(SOL_RDS, RECVERR, 1)
    p.read(1, 0, token=2)
    p.write(b"x", 0, token=3)
    return ok & same(p.b.statuses(1), [(3, REMOTE)]) & p.b.empty()


def cancel(s, host, port):
    s.s.setsockopt(SOL_RDS, CANCEL, struct.pack("=H", 2) + struct.pack("!H", port) +
                   socket.inet_aton(host).ljust(12, b"\0"))


def t_cancel_before_posted():
    b, local = Sock(B), Mem(PAGE)
    b.s.setsockopt(SOL_RDS, RECVERR, 1)
    for flags, token in ((NOTIFY, 1), (0, 2), (NOTIFY | SILENT, 3)):
        b.s.sendmsg([b""], [(SOL_RDS,) + args(1, [(local.addr, 9)], flags, token)], 0,
                    ("10.0.0.77", 4000))
    ok = b.empty()
    cancel(b, "10.0.0.77", 4000)
    return ok & same(b.statuses(2), [(1, CANCELED), (3, CANCELED)]) & b.empty()


def t_cancel_after_posted():
    p = Pair()
    param("hold", 1)
    p.write(b"abc")
    ok = until(lambda: param("nr_held") == 1)
    cancel(p.b, A, p.a.name[1])
    ok &= p.b.empty()
    param("finish", OK)
    param("hold", 0)
    return ok & same(p.b.statuses(1), [(1, OK)]) & same(p.mem[:3], b"abc") & p.b.empty()


def t_close_under_way():
    p = Pair()
    param("hold", 1)
    p.write(b"abc")
    p.read(100, NOTIFY | SILENT, b"")
    ok = until(lambda: param("nr_held") == 2)
    p.b.s.close()
    ok &= pins() > 4
    p.a.s.close()
    ok &= same(param("nr_keys"), 0, "keys")
    param("finish", OK)
    param("hold", 0)
    return ok


def t_killed():
    p = Pair()
    param("hold", 1)
    pid = os.fork()
    if not pid:
        q = Pair()
        q.write(b"abc")
        p.b = q.b
        p.write(b"abc")
        signal.pause()
    ok = until(lambda: param("nr_held") == 2)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    ok &= until(lambda: param("nr_keys") == 1)
    param("finish", OTHER)
    param("hold", 0)
    return ok


def connect(p):
    """Bring up the connection: send a message and receive it."""
    p.b.send(p.a, b"hello")
    return same(p.a.recv()[0], b"hello")


def t_cut_under_way():
    p = Pair()
    ok = connect(p)
    param("hold", 1)
    param("lose", 1)
    p.write(b"abc")
    p.write(b"abc", NOTIFY | SILENT, b"", token=2)
    ok &= until(lambda: param("nr_held") == 2)
    # from here on retransmitted messages are delivered
    param("lose", 0)
    param("cut", 1)
    ok &= same(sorted(p.b.statuses(2)), [(1, DROPPED), (2, DROPPED)])
    param("hold", 0)
    ok &= connect(p)
    # the messages were dropped together with their operations
    return ok & p.a.empty() & p.b.empty() & same(p.mem[:3], bytes(3))


def t_cut_after_success():
    p = Pair()
    ok = connect(p)
    param("lose", 1)
    before = param("nr_executed")
    p.b.send(p.a, b"kept", atomic(FADD, p.cookie, p.local.addr, NOTIFY, 1))
    ok &= same(p.b.statuses(1), [(1, OK)]) & (p.b.retrans() > 0)
    param("lose", 0)
    param("cut", 1)
    ok &= same(p.a.recv()[0], b"kept") & p.b.empty() & p.a.empty()
    return ok & same(param("nr_executed") - before, 1, "executions") & same(p.mem[0], 1)


def t_cut_again_and_again():
    p = Pair()
    ok = connect(p)
    for i in range(50):
        p.b.send(p.a, b"%d" % i, atomic(FADD, p.cookie, p.local.addr, NOTIFY, 1, token=i))
        if i % 5 == 0:
            param("cut", 1)
    got = dict(p.b.statuses(50))
    good = [t for t in got if got[t] == OK]
    ok &= same(len(got), 50, "notifications")
    ok &= same(struct.unpack("Q", p.mem[:8])[0], len(good), "sum")
    arrived = [int(p.a.recv()[0]) for _ in good]
    return ok & same(arrived, sorted(good), "messages") & p.b.empty()


def limited(limit, fn):
    """Run fn in an unprivileged child with RLIMIT_MEMLOCK limit; returns its errno, or 0."""
    pid = os.fork()
    if not pid:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))
        os.setuid(65534)
        try:
            fn()
        except OSError as e:
            os._exit(e.errno)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def t_memlock():
    s, m = Sock(A), Mem(64 * PAGE)

    def two():
        key = s.get_mr(m.addr, 10 * PAGE)
        s.free_mr(key)
        s.get_mr(m.addr, 10 * PAGE)

    ok = same(limited(0, lambda: s.get_mr(m.addr, 1)), errno.EPERM)
    ok &= same(limited(16 * PAGE, lambda: s.get_mr(m.addr, 20 * PAGE)), errno.ENOMEM)
    ok &= same(limited(16 * PAGE, two), 0)
    return ok & same(limited(16 * PAGE, lambda: s.send(
        s, b"", args(1, [(m.addr, 20 * PAGE)], RW))), errno.ENOMEM)


def t_sndbuf_released():
    p = Pair()
    p.b.s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    for i in range(5000):
        p.write(b"x", SILENT, b"", token=i)
        p.write(b"x", 0, b"", token=i)
        p.a.recv()
    return until(lambda: bool(select.select([], [p.b.s], [], 0)[1])) & p.b.empty()


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("t_")]
    print("1..%d" % len(tests), flush=True)
    failed = 0
    for i, (name, fn) in enumerate(tests, 1):
        KEEP.clear()
        try:
            ok = fn()
        except Exception:  # pylint: disable=broad-except
            print("# " + traceback.format_exc().replace("\n", "\n# "))
            ok = False
        for knob in ("hold", "lose", "fail_map", "finish"):
            param(knob, 0)
        ok = nothing_left() and ok
        print("%s %d memop.%s" % ("ok" if ok else "not ok", i, name[2:]), flush=True)
        failed += not ok
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
