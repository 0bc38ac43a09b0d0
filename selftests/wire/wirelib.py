# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A user-space RDS/TCP peer that speaks raw bytes, sockets of the module it faces, and the cases."""
import collections
import contextlib
import ctypes
import errno
import os
import random
import select
import socket
import struct
import sys
import time
import traceback

from lab import (A4, A6, Deadline, Fail, RDS_TCP_PORT, SLOW, STACK, check, equal, libc, libc_call,
                 log)

AF_RDS = 21
SOL_RDS = 276
RDS_CANCEL_SENT_TO = 1
RDS_CONG_MONITOR = 6
RDS_CMSG_CONG_UPDATE = 5
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
INFO_COUNTERS = 10000
INFO_TCP = 10007
INFO6_SEND = 10012
INFO6_RETRANS = 10013
MAP_BYTES = 8192
MIB = 1 << 20

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
        """(payload, source) or None; the source address of IPv6 messages is not decoded."""
        try:
            if ':' in self.addr:
                return self.s.recv(MIB + 64), None
            data, anc, _, src = self.s.recvmsg(MIB + 64, ctl)
        except BlockingIOError:
            return None
        self.anc = anc
        return data, src

    def recv(self, seconds=3.0, ctl=0):
        end = Deadline(seconds)
        while True:
            got = self.recv_now(ctl)
            if got is not None:
                return got
            check(not end.over(), 'no message at port %d within %.1f s', self.port, seconds)
            # POLLIN may be a mere pulse; wait a bit then rather than spin.
            p = select.poll()
            p.register(self.s, select.POLLIN)
            if p.poll(end.left() * 1000) and self.recv_peek() is None:
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
    """The RDS_INFO_TCP_SOCKETS records that concern this IPv4 peer."""
    out = []
    for r in info(ns, INFO_TCP):
        # Whatever the record's byte order of ports, the interoperable part is addresses and counts.
        _, lport, pa, pport, hdr, data = struct.unpack_from('>4sH4sH8s8s', r)
        hdr, data = (struct.unpack('=Q', x)[0] for x in (hdr, data))
        if socket.inet_ntoa(pa) == peer:
            out.append(TcpInfo(lport, peer, pport, hdr, data))
    return out


def queued(ns, what, peer):
    """How many messages to this peer an RDS6 SEND or RETRANS dump shows.

    The IPv4 variants would not do: in-tree 6.12 leaves the addresses of their records zero.
    """
    full = peer if ':' in peer else '::ffff:' + peer
    return sum(r[28:44] == socket.inet_pton(socket.AF_INET6, full) for r in info(ns, what))


def drops(ns):
    """Counted drop reasons of our module; empty where the file does not exist."""
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

class Msg(collections.namedtuple('Msg', 'seq ack len sport dport flags credit pad csum ext data raw')):
    @property
    def is_map(self):
        return self.flags == F_CONG

    @property
    def is_probe(self):
        return (self.sport, self.dport) in ((1, 0), (0, 1))

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
    """n bytes that tell position and message apart."""
    return random.Random(seed * 1000003 + n).randbytes(n)


class Conn:
    """One TCP connection, cut into RDS messages."""

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
        """The next message, whatever it is; None when nothing comes in time."""
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
        """How the other side ended the connection, and the bytes it sent before."""
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
        """Forget the connection without a FIN or RST, as a crashed machine does."""
        self.s.setsockopt(socket.IPPROTO_TCP, 19, 1)  # TCP_REPAIR
        self.s.close()


class Peer:
    """An RDS host in B made of plain TCP sockets.

    client: our address is the smaller one, so we dial. server: A dials us.
    """

    def __init__(self, net, role, family=4, listen=True, rcvbuf=None):
        self.net, self.role, self.family, self.rcvbuf = net, role, family, rcvbuf
        self.addr = net.address(role, family)
        self.aaddr = A6 if family == 6 else A4
        self.seq, self.maps, self.probes, self.auto = 0, [], [], True
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
        """A raw TCP connection from our address to A's RDS port."""
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
            pass                            # up and ended again before we could look
        return Conn(s)

    def accept(self, seconds=3.0):
        end = Deadline(seconds)
        if not select.select([self.listener], [], [], end.left())[0]:
            raise Fail('A did not dial %s within %.1f s' % (self.addr, seconds))
        s, name = self.listener.accept()
        self.name = name
        return Conn(s)

    def nudge(self):
        """Dial in the wrong direction, which only asks A to dial back."""
        conn = self.dial_patiently(3.0)
        conn.wait_closed()
        conn.close()

    def dial_patiently(self, seconds):
        """A full backlog swallows SYNs, and TCP is slow to repeat them."""
        end = Deadline(seconds)
        while True:
            try:
                return self.dial(seconds=0.5)
            except Fail:
                if end.over():
                    raise

    def open(self, seconds=3.0):
        """A connection that is up: its first frame, the map, has been read."""
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
        # A path that still tears down refuses the newcomer; a dialler has to come again.
        end = Deadline(seconds)
        while True:
            conn = self.dial_patiently(end.left() / SLOW)
            try:
                conn.fill(48, Deadline(0.5))
                return conn
            except (Closed, TimeoutError) as e:
                check(not end.over(), 'A does not let us in: %r', e)
                conn.close()
                time.sleep(0.01)

    def reopen(self, how='close', seconds=3.0):
        """End the connection in the given way and get the next one."""
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

    def handshake(self, ext=npaths(1), **kw):
        self.send(1, 0, ext=ext, **kw)

    def read(self, seconds=3.0):
        """The next data message or pong; maps and handshakes are kept aside, pings answered."""
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
        """Skip what is left over from before up to a message of which found() is true."""
        end = Deadline(seconds)
        while True:
            m = self.read(end.left() / SLOW)
            check(m, '%s did not come within %.1f s', what, seconds)
            if found(m):
                return m

    def ping(self, port=7777, seconds=3.0):
        """Ping A and wait for the pong: everything sent before has been processed by then."""
        self.send(port, 0)
        return self.expect(seconds, sport=0, dport=port, len=0)

    def sync(self, port=7778, seconds=5.0):
        """As ping, but whatever else is still under way may come first."""
        self.send(port, 0)
        return self.until(lambda m: (m.sport, m.dport) == (0, port), 'the pong', seconds)

    def next_map(self, seconds=3.0):
        """Wait for a map that was not seen yet."""
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
        """Get handshakes out of the way, so that what follows is numbered without gaps."""
        m = None
        for _ in range(rounds):
            m = self.ping()
        return m.seq

    def retire(self):
        self.net.kept += [x for x in (self.conn, self.listener) if x]


# --- packets --------------------------------------------------------------------------------------

class Sniffer:
    """TCP segments on an interface of B or C."""

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

Case = collections.namedtuple('Case', 'name fn kw')
CASES = []
ROLES = ('client', 'server')


def case(name, roles=(), families=(4,), stacks=('ours', 'intree')):
    """Register a case; with roles it runs once per direction, named NAME.ROLE (NAME.ROLE.v6)."""
    def deco(fn):
        if STACK not in stacks:
            return fn
        for family in families:
            tail = '.v6' if family == 6 else ''
            if roles:
                for r in roles:
                    CASES.append(Case('%s.%s%s' % (name, r, tail), fn, {'role': r, 'family': family}))
            else:
                CASES.append(Case(name + tail, fn, {}))
        return fn
    return deco


class Ctx:
    """What a case may use; everything it opened is put away afterwards."""

    def __init__(self, net):
        self.net, self.stack = net, contextlib.ExitStack()

    def peer(self, role, family=4, up=True, **kw):
        p = Peer(self.net, role, family, **kw)
        self.stack.callback(p.retire)
        return p.open() if up else p

    def rds(self, port=0, family=4, ns=None, addr=None, **kw):
        r = Rds(ns or self.net.a, addr or (A6 if family == 6 else A4), port, **kw)
        self.stack.callback(r.close)
        return r

    def sniffer(self, ns=None, dev='ba'):
        s = Sniffer(ns or self.net.b, dev)
        self.stack.callback(s.close)
        return s


def run_cases(net, argv=(), each=None):
    """Run the registered cases (those with a word of argv in their name); the exit status."""
    todo = [c for c in CASES if not argv or any(w in c.name for w in argv)]
    bad = 0
    t_all = time.monotonic()
    for n, c in enumerate(todo, 1):
        ctx, t0, why = Ctx(net), time.monotonic(), None
        try:
            with ctx.stack:
                c.fn(ctx, **c.kw)
            if each:
                each(c.name)
        except Exception as e:  # pylint: disable=broad-except
            why = '%s' % e if isinstance(e, Fail) else '%s: %s' % (type(e).__name__, e)
            where = [f for f in traceback.extract_tb(e.__traceback__) if '/wire/' in f.filename]
            why += ' (%s)' % ', '.join('%s:%d' % (os.path.basename(f.filename), f.lineno)
                                       for f in where[-4:])
        took = time.monotonic() - t0
        print(('not ok %d %s # %s' % (n, c.name, why.replace('\n', ' '))) if why
              else 'ok %d %s' % (n, c.name), flush=True)
        if took > 1:
            log('%s took %.2f s', c.name, took)
        bad += why is not None
    log('%d cases, %d failed, %.1f s', len(todo), bad, time.monotonic() - t_all)
    if not todo:
        print('not ok 1 nothing_to_run # no case matches', flush=True)
    return 1 if bad or not todo else 0


if __name__ == '__main__':
    sys.exit('wirelib.py is a library; run wire.py, hostile.py or firstcontact.py')
