# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A user-space RDS/TCP peer of raw bytes, sockets of the module under test, and the cases."""
import collections
import contextlib
import ctypes
import errno
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time
import traceback

from lab import (A4, A6, Deadline, Fail, ICOUNT, RDS_TCP_PORT, SLOW, STACK, check, equal, libc,
                 libc_call, log, run, sock_destroy)

AF_RDS = 21
SOL_RDS = 276
RDS_CANCEL_SENT_TO = 1
RDS_CONG_MONITOR = 6
SO_RDS_MSG_RXPATH_LATENCY = 10
RDS_CMSG_RDMA_DEST = 2
RDS_CMSG_CONG_UPDATE = 5
RDS_CMSG_RXPATH_LATENCY = 11
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
INFO_COUNTERS = 10000
INFO_TCP = 10007
INFO6_TCP = 10016
INFO6_SEND = 10012
INFO6_RETRANS = 10013
INFO6_RECV = 10014
MAP_BYTES = 8192
MIB = 1 << 20
SYNC_PORT = 30000                           # first port of Peer.sync()

F_CONG, F_ACK, F_RETRANS = 0x01, 0x02, 0x04
HDR = struct.Struct('>QQIHHBB4sH16s')


class Closed(Exception):
    """The connection ended where a message was expected."""

    def __init__(self, how, junk=b''):
        super().__init__('%s after %d stray bytes' % (how, len(junk)))
        self.how, self.junk = how, junk


# --- RDS sockets of the module under test ---------------------------------------------------------

def sockaddr(addr, port):
    if ':' in addr:
        return struct.pack('=HHI16sI', socket.AF_INET6, socket.htons(port), 0,
                           socket.inet_pton(socket.AF_INET6, addr), 0)
    return struct.pack('=HH4s8x', socket.AF_INET, socket.htons(port), socket.inet_aton(addr))


ROOM = ctypes.create_string_buffer(MIB + 64)


class Rds:
    """An AF_RDS socket in namespace ns, bound to addr:port (0 = any), non-blocking."""

    def __init__(self, ns, addr=A4, port=0, rcvbuf=None, sndbuf=None):
        with ns:
            self.s = socket.socket(AF_RDS, socket.SOCK_SEQPACKET, 0)
        self.s.setblocking(False)
        if rcvbuf is not None:
            self.s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, rcvbuf)
        if sndbuf is not None:
            self.s.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, sndbuf)
        self.addr = addr
        if ':' in addr:
            sa = sockaddr(addr, port)
            libc_call('bind', self.s.fileno(), sa, len(sa))
            name, size = ctypes.create_string_buffer(28), ctypes.c_int(28)
            libc_call('getsockname', self.s.fileno(), name, ctypes.byref(size))
            self.port = struct.unpack_from('>H', name.raw, 2)[0]
        else:
            self.s.bind((addr, port))
            self.port = self.s.getsockname()[1]

    def send(self, data, addr, port):
        """Non-blocking send; raises BlockingIOError (EAGAIN) or OSError(ENOBUFS)."""
        if ':' not in addr:
            return self.s.sendto(data, (addr, port))
        sa = sockaddr(addr, port)
        return libc_call('sendto', self.s.fileno(), data, len(data), 0, sa, len(sa))

    def send_error(self, data, addr, port):
        try:
            self.send(data, addr, port)
        except OSError as e:
            return errno.errorcode.get(e.errno, e.errno)
        return None

    def recv_now(self, ctl=0):
        """(payload, source) or None. With ctl an IPv6 source is None: Python cannot parse it."""
        try:
            if ':' in self.addr and not ctl:
                return self.recv6()
            data, anc, _, src = self.s.recvmsg(MIB + 64, ctl)
        except BlockingIOError:
            return None
        self.anc = anc
        return data, None if ':' in self.addr else src

    def recv6(self):
        name, size = ctypes.create_string_buffer(28), ctypes.c_int(28)
        n = libc.recvfrom(self.s.fileno(), ROOM, len(ROOM), 0, name, ctypes.byref(size))
        if n < 0:
            raise OSError(ctypes.get_errno(), 'recvfrom')
        port, addr = struct.unpack_from('>2xH4x16s', name.raw)
        return ROOM[:n], (socket.inet_ntop(socket.AF_INET6, addr), port)

    def recv(self, seconds=3.0, ctl=0):
        end = Deadline(seconds)
        while True:
            got = self.recv_now(ctl)
            if got is not None:
                return got
            check(not end.over(), 'no message at port %d within %.1f s', self.port, seconds)
            # POLLIN may have ended already; then wait a bit instead of spinning. A look at the queue
            # would take a notification, which may have come meanwhile.
            p = select.poll()
            p.register(self.s, select.POLLIN)
            if p.poll(end.left() * 1000) and (ctl or self.recv_peek() is None):
                time.sleep(0.001)

    def recv_peek(self):
        try:
            return self.s.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return None

    def expect(self, data, src=None, seconds=3.0):
        got, name = self.recv(seconds)
        check(got == data, 'port %d got %d bytes %r.., not %d bytes %r..', self.port, len(got), got[:24],
              len(data), data[:24])
        if src and name:
            equal(tuple(name[:2]), src, 'source of the message')

    def empty(self):
        got = self.recv_now()
        check(got is None, 'port %d got an unexpected message %r', self.port, got and got[0][:32])

    def cancel(self, addr, port):
        self.s.setsockopt(SOL_RDS, RDS_CANCEL_SENT_TO, sockaddr(addr, port))

    def close(self):
        self.s.close()


def info(ns, what):
    """Records of an RDS_INFO_* dump, as seen in namespace ns."""
    with ns, socket.socket(AF_RDS, socket.SOCK_SEQPACKET, 0) as s:
        size = 4096
        while True:
            buf, n = ctypes.create_string_buffer(size), ctypes.c_int(size)
            rec = libc.getsockopt(s.fileno(), SOL_RDS, what, buf, ctypes.byref(n))
            if rec >= 0:
                raw = buf.raw[:n.value]
                return [raw[i:i + rec] for i in range(0, len(raw), rec)] if rec else []
            if ctypes.get_errno() != errno.ENOSPC:
                raise OSError(ctypes.get_errno(), 'info %d' % what)
            size = n.value + 4096


def counters(ns):
    out = {}
    for r in info(ns, INFO_COUNTERS):
        name, value = struct.unpack('=32sQ', r)
        out[name.rstrip(b'\0').decode()] = value
    return out


TcpInfo = collections.namedtuple('TcpInfo', 'lport peer pport hdr_rem data_rem')


def tcp_info(ns, peer):
    """The RDS_INFO_TCP_SOCKETS or RDS6_INFO_TCP_SOCKETS records of this peer."""
    if ':' in peer:
        family, what, layout = socket.AF_INET6, INFO6_TCP, '>16sH16sH8s8s'
    else:
        family, what, layout = socket.AF_INET, INFO_TCP, '>4sH4sH8s8s'
    out = []
    for r in info(ns, what):
        # Stacks differ in the byte order of ports in the record; addresses and counts agree.
        _, lport, pa, pport, hdr, data = struct.unpack_from(layout, r)
        hdr, data = (struct.unpack('=Q', x)[0] for x in (hdr, data))
        if pa == socket.inet_pton(family, peer):
            out.append(TcpInfo(lport, peer, pport, hdr, data))
    return out


def kill_tcp(ns, peer, port):
    """End this peer's connection that has the port at either end, as `ss -K` does: the peer gets a RST.

    Starting ss means hundreds of reads from the host, for which a guest's clock that counts
    instructions runs ahead.
    """
    family, layout = (socket.AF_INET6, '>16sH16sH') if ':' in peer else (socket.AF_INET, '>4sH4sH')
    for r in info(ns, INFO6_TCP if ':' in peer else INFO_TCP):
        la, lport, pa, pport = struct.unpack_from(layout, r)
        if pa == socket.inet_pton(family, peer) and port in (lport, pport):
            sock_destroy(ns, family, (la, lport), (pa, pport))


def queued(ns, what, peer):
    """Number of messages to this peer in an RDS6 SEND or RETRANS dump.

    The IPv4 dumps cannot be used: in-tree 6.12 leaves the addresses of their records zero.
    """
    full = peer if ':' in peer else '::ffff:' + peer
    return sum(r[28:44] == socket.inet_pton(socket.AF_INET6, full) for r in info(ns, what))


def drops(ns):
    """Drop reasons of this module with their counts; empty where the file does not exist."""
    out = {}
    with ns:
        try:
            with open('/proc/thread-self/net/rds/drops', encoding='ascii') as f:
                for line in f:
                    words = line.split()
                    if len(words) >= 2 and words[-1].isdigit():
                        out[words[0].rstrip(':')] = int(words[-1])
        except FileNotFoundError:
            pass
    return out


# --- the raw peer ---------------------------------------------------------------------------------

# Elements of a handshake and the lengths of their bodies; bits of CAP_BITS that tell the host
CAP_BITS = 7
HANDSHAKE_ELEMENTS = {5: 2, 6: 4, CAP_BITS: 4, 8: 1}
HOST_BITS = 0x00f8e000


class Msg(collections.namedtuple('Msg', 'seq ack len sport dport flags credit pad csum ext data raw')):
    @property
    def is_map(self):
        return self.flags == F_CONG

    @property
    def is_probe(self):
        return (self.sport, self.dport) in ((1, 0), (0, 1))

    def without_host(self):
        """The extensions of a handshake without the bits that tell the host apart from itself after a
        restart, of which one is set."""
        at, ext = 0, bytearray(self.ext)
        while at < len(ext) and ext[at] in HANDSHAKE_ELEMENTS:
            if ext[at] == CAP_BITS:
                caps = int.from_bytes(ext[at + 1:at + 5], 'big')
                check(caps & HOST_BITS, 'no host bits in %08x', caps)
                ext[at + 1:at + 5] = (caps & ~HOST_BITS).to_bytes(4, 'big')
            at += 1 + HANDSHAKE_ELEMENTS[ext[at]]
        return bytes(ext)

    def brief(self):
        return 'seq %d len %d %d->%d flags %02x ext %s' % (self.seq, self.len, self.sport, self.dport,
                                                           self.flags, self.ext.hex())


def header(seq=0, sport=0, dport=0, length=0, flags=0, ext=b'', ack=0, credit=0, pad=b'', csum=0):
    return HDR.pack(seq, ack, length, sport, dport, flags, credit, pad, csum, ext)


def bitmap(*ports):
    m = bytearray(MAP_BYTES)
    for p in ports:
        m[p // 8] |= 1 << (p % 8)
    return bytes(m)


def map_ports(data):
    return [8 * i + b for i, v in enumerate(data) if v for b in range(8) if v >> b & 1]


def npaths(n):
    return struct.pack('>BH', 5, n)


def gen(g):
    return struct.pack('>BI', 6, g)


def pattern(n, seed=0):
    """n bytes that depend on position and message."""
    return random.Random(seed * 1000003 + n).randbytes(n)


class Conn:
    """One TCP connection, parsed into RDS messages."""

    def __init__(self, sock):
        self.s, self.buf = sock, bytearray()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def fill(self, need, end):
        while len(self.buf) < need:
            if not select.select([self.s], [], [], end.left())[0]:
                raise TimeoutError
            try:
                chunk = self.s.recv(1 << 18)
            except BlockingIOError:
                continue
            except ConnectionResetError:
                raise Closed('RST', bytes(self.buf)) from None
            if not chunk:
                raise Closed('EOF', bytes(self.buf))
            self.buf += chunk

    def read(self, seconds=3.0):
        """The next message of any kind; None if there is none in time."""
        end = Deadline(seconds)
        try:
            self.fill(48, end)
            fields = HDR.unpack_from(self.buf)
            check(fields[2] <= MIB, 'header announces %d bytes: framing lost', fields[2])
            self.fill(48 + fields[2], end)
        except TimeoutError:
            return None
        raw = bytes(self.buf[:48 + fields[2]])
        del self.buf[:len(raw)]
        return Msg(*fields, raw[48:], raw)

    def write(self, data, seconds=5.0):
        end, view = Deadline(seconds), memoryview(data)
        while view:
            if not select.select([], [self.s], [], end.left())[1]:
                raise Fail('module stopped reading with %d bytes to go' % len(view))
            try:
                view = view[self.s.send(view):]
            except BlockingIOError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                raise Closed('RST') from None

    def wait_closed(self, seconds=3.0):
        """How the other side ended the connection, and the bytes that it sent before."""
        end, got = Deadline(seconds), bytearray(self.buf)
        while True:
            if not select.select([self.s], [], [], end.left())[0]:
                raise Fail('connection still open after %.1f s' % seconds)
            try:
                chunk = self.s.recv(1 << 16)
            except ConnectionResetError:
                return 'RST', bytes(got)
            if not chunk:
                return 'EOF', bytes(got)
            got += chunk

    def fin(self):
        self.s.shutdown(socket.SHUT_WR)

    def close(self):
        self.s.close()

    def reset(self):
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.s.close()

    def vanish(self):
        """Drop the connection without a FIN or RST, as a crashed machine does."""
        self.s.setsockopt(socket.IPPROTO_TCP, 19, 1)  # TCP_REPAIR
        self.s.close()


class Peer:
    """An RDS host in B made of plain TCP sockets.

    client: the host's address is smaller than A's, so the host dials. server: A dials.
    """

    def __init__(self, net, role, family=4, listen=True, rcvbuf=None):
        self.net, self.role, self.family, self.rcvbuf = net, role, family, rcvbuf
        self.addr = net.address(role, family)
        self.aaddr = A6 if family == 6 else A4
        self.seq, self.syncs, self.maps, self.probes, self.auto = 0, 0, [], [], True
        self.conn = self.listener = None
        if listen:
            self.listen()

    def listen(self):
        s = self.net.tcp(self.family)
        if self.rcvbuf:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.rcvbuf)
        s.bind((self.addr, self.net.port))
        s.listen(64)
        self.listener = s

    def dial(self, sport=0, seconds=3.0):
        """A raw TCP connection from the peer's address to A's RDS port."""
        s = self.net.tcp(self.family)
        if self.rcvbuf:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.rcvbuf)
        s.bind((self.addr, sport))
        s.settimeout(seconds * SLOW)
        try:
            s.connect((self.aaddr, RDS_TCP_PORT))
        except socket.timeout:
            raise Fail('A does not accept TCP connections') from None
        except (BrokenPipeError, ConnectionResetError):
            pass                            # the connection came up and ended already
        return Conn(s)

    def accept(self, seconds=3.0):
        end = Deadline(seconds)
        if not select.select([self.listener], [], [], end.left())[0]:
            raise Fail('A did not dial %s within %.1f s' % (self.addr, seconds))
        s, name = self.listener.accept()
        self.name = name
        return Conn(s)

    def nudge(self):
        """Dial in the wrong direction, which only asks A to dial."""
        conn = self.dial_patiently(3.0)
        conn.wait_closed()
        conn.close()

    def dial_patiently(self, seconds):
        """Dial again and again: a full backlog drops SYNs, and TCP retransmits slowly."""
        end = Deadline(seconds)
        while True:
            try:
                return self.dial(seconds=0.5)
            except Fail:
                if end.over():
                    raise

    def open(self, seconds=3.0):
        """Set up a connection and read its first frame, the map."""
        if self.role == 'client':
            self.conn = self.open_client(seconds)
        else:
            if self.conn is None:
                self.nudge()
            self.conn = self.accept(seconds)
        self.first = self.conn.read(seconds)
        check(self.first, 'no frame came on the new connection')
        check(self.first.is_map, 'first frame is no map: %s', self.first.brief())
        self.maps.append(self.first.data)
        return self

    def open_client(self, seconds):
        # A path in teardown refuses the newcomer; a dialler has to try again. A host with several paths
        # says nothing for 0.5 s to one that it does not know and that is not at the port of path 0.
        end = Deadline(seconds)
        while True:
            conn = self.dial_patiently(end.left() / SLOW)
            try:
                conn.fill(48, Deadline(2.0))
                return conn
            except (Closed, TimeoutError) as e:
                check(not end.over(), 'A does not let us in: %r', e)
                conn.close()
                time.sleep(0.01)

    def reopen(self, how='close', seconds=3.0):
        """End the connection by method how and set up the next one."""
        getattr(self.conn, how)()
        return self.open(seconds)

    def frame(self, sport, dport, data=b'', seq=None, flags=0, ext=b'', length=None, **kw):
        if seq is None:
            self.seq += 1
            seq = self.seq
        if length is None:
            length = len(data)
        return header(seq, sport, dport, length, flags, ext, **kw) + data

    def send(self, sport, dport, data=b'', **kw):
        self.conn.write(self.frame(sport, dport, data, **kw))

    def send_map(self, data, **kw):
        kw.setdefault('seq', 0)
        kw.setdefault('flags', F_CONG)
        self.send(0, 0, data, **kw)

    def widen(self, rcvbuf=MIB):
        """Let later connections have a receive buffer of that many bytes."""
        self.rcvbuf = rcvbuf
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)

    def handshake(self, ext=npaths(1), **kw):
        self.send(1, 0, ext=ext, **kw)

    def read(self, seconds=3.0):
        """The next data message or pong; maps and handshakes are stored, and pings answered."""
        end = Deadline(seconds)
        while True:
            m = self.conn.read(end.left() / SLOW)
            if m is None:
                return None
            if m.is_map:
                self.maps.append(m.data)
            elif m.is_probe and self.auto:
                self.probes.append(m)
                if m.dport == 0:
                    self.send(0, 1, ext=npaths(1))
            else:
                return m

    def expect(self, seconds=3.0, **fields):
        m = self.read(seconds)
        check(m is not None, 'nothing came within %.1f s, expected %s', seconds,
              {k: v if not isinstance(v, bytes) else len(v) for k, v in fields.items()})
        for k, v in fields.items():
            check(getattr(m, k) == v, '%s differs in %s', k, m.brief()) if k == 'data' else \
                equal(getattr(m, k), v, k + ' in ' + m.brief())
        return m

    def until(self, found, what, seconds=5.0):
        """Skip earlier messages up to one for which found() is true."""
        end = Deadline(seconds)
        while True:
            m = self.read(end.left() / SLOW)
            check(m, '%s did not come within %.1f s', what, seconds)
            if found(m):
                return m

    def ping(self, port=7777, seconds=3.0, **kw):
        """Ping A and wait for the pong: A has processed all earlier messages by then."""
        self.send(port, 0, **kw)
        return self.expect(seconds, sport=0, dport=port, len=0)

    def sync(self, seconds=5.0):
        """Like ping, but other messages may precede the pong.

        Each call has a port of its own: A repeats a pong whose acknowledgement by TCP it did not see
        on the next connection, and the repeat says nothing of what was sent there.
        """
        self.syncs += 1
        port = SYNC_PORT + self.syncs % 1000
        self.send(port, 0)
        return self.until(lambda m: (m.sport, m.dport) == (0, port), 'the pong', seconds)

    def next_map(self, seconds=3.0):
        """Wait for a new map."""
        n, end = len(self.maps), Deadline(seconds)
        while len(self.maps) == n:
            m = self.conn.read(end.left() / SLOW)
            check(m is not None, 'no map came within %.1f s', seconds)
            if m.is_map:
                self.maps.append(m.data)
            elif m.is_probe and m.dport == 0:
                self.send(0, 1, ext=npaths(1))
        return self.maps[-1]

    def settle(self, rounds=2):
        """Complete the handshakes, so that later messages are numbered without gaps."""
        m = None
        for _ in range(rounds):
            m = self.ping()
        return m.seq

    def retire(self):
        self.net.kept += [x for x in (self.conn, self.listener) if x]


# --- packets --------------------------------------------------------------------------------------

class Sniffer:
    """TCP segments over IPv4 on an interface of B or C."""

    Seg = collections.namedtuple('Seg', 'when src sport dst dport seq flags data')
    FIN, SYN, RST, ACK = 1, 2, 4, 16

    def __init__(self, ns, dev):
        with ns:
            self.s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self.s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        self.s.bind((dev, 3))
        self.s.setblocking(False)

    def segments(self):
        while True:
            try:
                pkt, where = self.s.recvfrom(70000)
            except BlockingIOError:
                return
            if where[1] != 0x0800 or pkt[9] != 6:
                continue
            ihl = (pkt[0] & 15) * 4
            total = struct.unpack_from('>H', pkt, 2)[0] or len(pkt)
            sport, dport, seq = struct.unpack_from('>HHI', pkt, ihl)
            off, flags = (pkt[ihl + 12] >> 4) * 4, pkt[ihl + 13]
            yield self.Seg(time.monotonic(), socket.inet_ntoa(pkt[12:16]), sport,
                           socket.inet_ntoa(pkt[16:20]), dport, seq, flags, pkt[ihl + off:total])

    def close(self):
        self.s.close()


# --- cases ----------------------------------------------------------------------------------------

Case = collections.namedtuple('Case', 'name fn kw family')
CASES = []
# Names of cases that this kernel does not run, for selftests/coverage/collect.py
ELSEWHERE = []
ROLES = ('client', 'server')
BOTH = (4, 6)
ONE = ('client',)


def case(name, roles=(), families=(4,), stacks=('ours', 'intree'), roles6=None, bulky=False):
    """Register a case; with roles it runs once per direction, named NAME.ROLE (NAME.ROLE.v6).

    Without roles the case finds its family in Ctx.family. roles6 gives the roles over IPv6. A bulky
    case takes the debug kernel more than a minute, and does not run there.
    """
    def deco(fn):
        if STACK not in stacks:
            return fn
        if bulky and os.environ.get('RDS_KERNEL') == 'debug':
            ELSEWHERE.append(name)
            return fn
        for family in families:
            tail = '.v6' if family == 6 else ''
            if roles:
                for r in roles6 if roles6 and family == 6 else roles:
                    CASES.append(Case('%s.%s%s' % (name, r, tail), fn, {'role': r, 'family': family},
                                      family))
            else:
                CASES.append(Case(name + tail, fn, {}, family))
        return fn
    return deco


class Ctx:
    """The tools of a case; all that the case opened is closed or retired afterwards."""

    def __init__(self, net, case_):
        self.net, self.name, self.family = net, case_.name, case_.family
        self.stack = contextlib.ExitStack()

    def peer(self, role, family=None, up=True, **kw):
        p = Peer(self.net, role, family or self.family, **kw)
        self.stack.callback(p.retire)
        return p.open() if up else p

    def rds(self, port=0, family=None, ns=None, addr=None, **kw):
        r = Rds(ns or self.net.a, addr or (A6 if (family or self.family) == 6 else A4), port, **kw)
        self.stack.callback(r.close)
        return r

    def quiet(self, p):
        """Require that no connection to this peer follows; checked at the end of the run, or before
        a case that closes all connections."""
        self.net.quiet.append((self.name, p.listener))
        self.net.quiet_since = time.monotonic()

    def closes_all(self):
        """A case calls this before it closes the connections of all cases, which A sets up again."""
        look_for_dials(self.net)

    def sniffer(self, ns=None, dev='ba'):
        s = Sniffer(ns or self.net.b, dev)
        self.stack.callback(s.close)
        return s


def count_dials(p, seconds, meet=lambda p, conn: None):
    """Dials of a host that ends each connection, after meet(peer, connection): the number within the
    time, by the clock, but never less than two."""
    end, n = Deadline(seconds / SLOW), 0
    while n < 2 or not end.over():
        came = select.select([p.listener], [], [], max(end.left(), 0 if n > 1 else 8 * SLOW))[0]
        check(came or n > 1, 'only %d dials', n)
        if came:
            conn = Conn(p.listener.accept()[0])
            meet(p, conn)
            conn.reset()
            n += 1
    log('%d dials in %d s', n, seconds)
    return n


def neighbour():
    """The MAC of B's end of the link to A."""
    return json.loads(run('ip', '-n', 'B', '-j', 'link', 'show', 'ba'))[0]['address']


def misled(addr, mac):
    """A's neighbour entry for a peer: with another MAC no packet of A reaches it, and none is refused."""
    run('ip', '-n', 'A', 'neigh', 'replace', addr, 'lladdr', mac, 'dev', 'ab', 'nud', 'permanent')


def setting(c, name, value, after):
    """Set a sysctl of net.rds for the rest of the case."""
    def write(n):
        with c.net.a, open('/proc/sys/net/rds/' + name, 'w', encoding='ascii') as f:
            f.write('%d' % n)
    write(value)
    c.stack.callback(write, after)


# A delayed dial comes within the longest back-off, 1 s.
QUIET_S = 1.5


def look_for_dials(net):
    """Record the cases whose quiet peers were dialled once more, after longer than any back-off."""
    if not net.quiet:
        return
    time.sleep(max(0.0, net.quiet_since + QUIET_S * SLOW - time.monotonic()))
    heard = select.select([p for _, p in net.quiet], [], [], 0)[0]
    net.disturbed.update(name for name, p in net.quiet if p in heard)
    net.quiet.clear()


def judge_quiet(net, n, prefix):
    """The result of a whole run: no peer was dialled that must not be; returns whether one was."""
    look_for_dials(net)
    late = sorted(net.disturbed)
    name = '%d %s.no_further_connection' % (n, prefix)
    print(('not ok %s # to peers of %s' % (name, ', '.join(late))) if late else 'ok ' + name,
          flush=True)
    return bool(late)


# Seconds after which a case cannot end any more, before SLOW
CASE_LIMIT = 60


def too_long(_signum, _frame):
    """SIGALRM: a case waits for ever, or goes round in a circle; its place is in the traceback."""
    raise Fail('the case did not end within %d s' % (CASE_LIMIT * SLOW))


def run_cases(net, argv=(), each=None, more=0):
    """Run the cases (only those with a word of argv in their name); return the exit status. The plan
    includes that many more results, which the caller prints."""
    todo = [c for c in CASES if not argv or any(w in c.name for w in argv)]
    for name in ELSEWHERE:
        log('elsewhere %s', name)
    print('1..%d' % (len(todo) + 1 + more), flush=True)
    bad = 0
    t_all = time.monotonic()
    signal.signal(signal.SIGALRM, too_long)
    for n, c in enumerate(todo, 1):
        ctx, t0, why = Ctx(net, c), time.monotonic(), None
        try:
            signal.setitimer(signal.ITIMER_REAL, 0 if ICOUNT else CASE_LIMIT * SLOW)
            with ctx.stack:
                c.fn(ctx, **c.kw)
            if each:
                each(c.name)
        except Exception as e:  # pylint: disable=broad-except
            why = '%s' % e if isinstance(e, Fail) else '%s: %s' % (type(e).__name__, e)
            where = [f for f in traceback.extract_tb(e.__traceback__) if '/wire/' in f.filename]
            why += ' (%s)' % ', '.join('%s:%d' % (os.path.basename(f.filename), f.lineno)
                                       for f in where[-4:])
        signal.setitimer(signal.ITIMER_REAL, 0)
        took = time.monotonic() - t0
        print(('not ok %d %s # %s' % (n, c.name, why.replace('\n', ' '))) if why
              else 'ok %d %s' % (n, c.name), flush=True)
        if took > 1:
            log('%s took %.2f s', c.name, took)
        bad += why is not None
    if todo:
        bad += judge_quiet(net, len(todo) + 1, todo[0].name.split('.')[0])
    log('%d cases, %d failed, %.1f s', len(todo), bad, time.monotonic() - t_all)
    if not todo:
        print('not ok 1 nothing_to_run # no case matches', flush=True)
    return 1 if bad or not todo else 0


if __name__ == '__main__':
    sys.exit('wirelib.py is a library; run wire.py, hostile.py or firstcontact.py')
