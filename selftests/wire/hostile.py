#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hostile bytes at port 16385, as client and as server, while another peer's exchange goes on.

Usage: hostile.py [WORD...]: only the cases with one of the words in their name. Every case ends with
the same address connecting again and being served.
"""
import glob
import mmap
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys

import wirelib
from lab import (A4, AC4, C4, CROWD4, Deadline, Fail, LOAD, Net, OURS, RDS_TCP_PORT, SLOW,
                 check, equal, eventually, log)
from wirelib import (Closed, Conn, F_CONG, F_RETRANS, HDR, INFO6_RETRANS, INFO6_SEND, MAP_BYTES,
                     MIB, ROLES, bitmap, case, drops, gen, header, npaths, pattern, queued)


# --- helpers --------------------------------------------------------------------------------------

def served(c, p, how='close'):
    """Whatever happened to the peer's connection, a new one works in both directions."""
    if p.conn not in (None, True):
        getattr(p.conn, how)()
    p.auto = True
    p.open(8)
    r = c.rds()
    p.send(4000, r.port, b'again')
    r.expect(b'again', (p.addr, 4000))
    r.send(b'back', p.addr, 4000)
    p.send(4002, 0)
    p.until(lambda m: m.data == b'back', 'the message sent back')
    p.until(lambda m: (m.sport, m.dport) == (0, 4002), 'the last pong')
    r.close()


def dropped(c, p, reason, data, why):
    """These bytes end the connection and the reason is counted."""
    before = drops(c.net.a).get(reason, 0)
    try:
        p.conn.write(data)
    except Closed:
        pass
    p.conn.wait_closed()
    got = drops(c.net.a).get(reason, 0) - before
    check(got >= 1, '%s: reason %s counted %d times: %r', why, reason, got, drops(c.net.a))


def alive(p):
    """Did the connection survive? (A ping is answered.)"""
    try:
        p.sync()
        return True
    except Closed:
        return False


# --- framing --------------------------------------------------------------------------------------

LENGTHS = (MIB + 1, MIB + 4096, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 49,
           (1 << 32) - 48, (1 << 32) - 1)


@case('hostile.bad_length', ROLES)
def bad_length(c, role, family):
    """More than 1 MiB announced: the connection goes, counted; the next one works."""
    p = c.peer(role, family)
    r = c.rds()
    for n in LENGTHS:
        for flags in (0, F_CONG):
            dropped(c, p, 'bad_length', header(1, 4000, r.port, n, flags) + b'x' * 500,
                    'length %d flags %02x' % (n, flags))
            p.conn.close()
            p.open(8)
    r.empty()
    served(c, p)


@case('hostile.max_length', ROLES)
def max_length(c, role, family):
    """1 MiB exactly is served."""
    p = c.peer(role, family)
    r = c.rds(rcvbuf=4 * MIB)
    p.send(4000, r.port, pattern(MIB))
    r.expect(pattern(MIB), (p.addr, 4000), 10)
    served(c, p)


GARBAGE = (
    b'GET / HTTP/1.1\r\nHost: rds\r\nUser-Agent: none at all, really\r\n\r\n',
    b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + b'\xa5' * 100,
    b'SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 and so on and so on\r\n',
    b'\xff' * 3000,
)


@case('hostile.garbage', ROLES)
def garbage(c, role, family):
    """Text, other protocols and random bytes: dropped and counted."""
    p = c.peer(role, family)
    rnd = random.Random(1)
    for junk in GARBAGE + tuple(rnd.randbytes(16) + b'\x7f' + rnd.randbytes(50000) for _ in range(6)):
        dropped(c, p, 'bad_length', junk, 'garbage %r' % junk[:12])
        p.conn.close()
        p.open(8)
    served(c, p)


@case('hostile.garbage_after_data', ROLES)
def garbage_after_data(c, role, family):
    """Good messages in front of the garbage are delivered."""
    p = c.peer(role, family)
    r = c.rds()
    good = b''.join(p.frame(4000, r.port, b'%d' % i) for i in range(20))
    dropped(c, p, 'bad_length', good + b'\xee' * 200, 'garbage')
    for i in range(20):
        r.expect(b'%d' % i)
    served(c, p)


@case('hostile.random_small')
def random_small(c):
    """Random headers with lengths that are legal: tolerated in any combination."""
    p = c.peer('client')
    rnd = random.Random(7)
    for _ in range(30):
        out = b''
        for _ in range(40):
            n = rnd.choice((0, 0, 1, 48, 200, 3000))
            flags = rnd.choice((0, 2, 4, 0xff, 0x20, rnd.randrange(256) & ~1))
            out += HDR.pack(rnd.getrandbits(64), rnd.getrandbits(64), n, rnd.choice((0, 1, 5, 4000)),
                            rnd.choice((0, 1, 5, 4000)), flags, rnd.randrange(256), rnd.randbytes(4),
                            rnd.getrandbits(16), rnd.randbytes(16)) + rnd.randbytes(n)
        try:
            p.conn.write(out)
        except Closed:
            pass
        p.seq = 1 << 40
        served(c, p)


@case('hostile.truncated_header', ROLES)
def truncated_header(c, role, family):
    """The stream ends anywhere in a header, by FIN or by RST."""
    p = c.peer(role, family)
    r = c.rds()
    for cut in (0, 1, 7, 8, 16, 19, 20, 24, 31, 32, 47):
        for how in ('close', 'reset'):
            p.conn.write(header(1, 4000, r.port, 5)[:cut])
            p.reopen(how, 8)
    r.empty()
    served(c, p)


@case('hostile.truncated_body', ROLES)
def truncated_body(c, role, family):
    """The stream ends in a payload; nothing of it is delivered."""
    p = c.peer(role, family)
    r = c.rds()
    for n, part in ((1, 0), (100, 99), (65536, 1), (65536, 40000), (MIB, 0), (MIB, 500000)):
        for how in ('close', 'reset'):
            p.conn.write(header(1, 4000, r.port, n) + b'y' * part)
            p.reopen(how, 8)
    for part in (0, 4096, 8191):
        p.conn.write(header(0, 0, 0, MAP_BYTES, F_CONG) + b'\xff' * part)
        p.reopen('reset', 8)
        equal(r.send_error(b'', p.addr, 4000), None, 'send after half a map')
    r.empty()
    served(c, p)


# --- header contents ------------------------------------------------------------------------------

BODIES = (b'', b'\0' * 15, b'\1' * 15, b'\xff' * 15, b'\x80' + b'\0' * 14, bytes(range(1, 16)),
          b'\0\0\0\x01\0\0\x10\0' + b'\0' * 7, b'\3' * 15, b'\5\0\x08\6\0\0\0\1\x08\0\3\0\0\0\1')
KINDS = list(range(0, 20)) + [127, 128, 255]


@case('hostile.extensions', ROLES, stacks=('ours',))  # in-tree dies of RDMA_DEST on TCP
def extensions(c, role, family):
    """Every type, known or not (RDMA_DEST too), with every content, on data: delivered intact."""
    p = c.peer(role, family)
    r = c.rds(rcvbuf=MIB)
    for kind in KINDS:
        exts = [(bytes([kind]) + body)[:16] for body in BODIES]
        exts += [b'\x0a' * pos + bytes([kind]) + b'\xff' * (15 - pos) for pos in (7, 8, 11, 12, 15)]
        p.conn.write(b''.join(p.frame(4000, r.port, e, ext=e) for e in exts))
        for e in exts:
            data, _ = r.recv(ctl=256)
            equal(data, e, 'payload with extensions ' + e.hex())
    served(c, p)


@case('hostile.extensions_handshake', ROLES)
def extensions_handshake(c, role, family):
    """The same in handshake pings and pongs: answered, nothing else happens."""
    p = c.peer(role, family)
    for kind in KINDS:
        for body in BODIES:
            e = (bytes([kind]) + body)[:16]
            p.handshake(e)
            p.send(0, 1, ext=e)
        p.sync()
    equal(select.select([p.listener], [], [], 0)[0], [], 'further connections')
    served(c, p)


@case('hostile.flags', ROLES)
def flags_all(c, role, family):
    """All 256 values of flags: data is delivered but for 01, and for duplicates with 04."""
    p = c.peer(role, family)
    r = c.rds()
    for flags in range(256):
        if flags != F_CONG:
            p.send(4000, r.port, b'%d' % flags, flags=flags)
    for flags in range(256):
        if flags != F_CONG:
            r.expect(b'%d' % flags)
    served(c, p)


@case('hostile.map_sizes', ROLES)
def map_sizes(c, role, family):
    """Maps of wrong size have no effect: discarded, or the connection goes and it is counted."""
    p = c.peer(role, family)
    r = c.rds()
    for n in (0, 1, 47, 48, 8191, 8193, 16384, 65536, MIB):
        before = drops(c.net.a).get('bad_map', 0)
        try:
            p.conn.write(header(0, 0, 0, n, F_CONG) + b'\xff' * n)
            lives = alive(p)
        except Closed:
            lives = False
        if not lives:
            check(drops(c.net.a).get('bad_map', 0) > before, 'map of %d bytes: drop not counted', n)
            p.conn.close()
            p.open(8)
        equal(r.send_error(b'', p.addr, 4000), None, 'send after a map of %d bytes' % n)
    served(c, p)


@case('hostile.map_storm', ROLES)
def map_storm(c, role, family):
    """Hundreds of maps that flip everything; a sender is not left blocked."""
    p = c.peer(role, family)
    r = c.rds()
    full, none = b'\xff' * MAP_BYTES, bitmap()
    for i in range(100):
        p.conn.write(header(0, 0, 0, MAP_BYTES, F_CONG) + full, 10)
        p.conn.write(header(0, 0, 0, MAP_BYTES, F_CONG) + none, 10)
    p.ping()
    equal(r.send_error(b'x', p.addr, 4000), None, 'send after the last map')
    p.send_map(full)
    p.send(4000, r.port, b'marked')
    r.expect(b'marked')
    equal(r.send_error(b'x', p.addr, 4000), 'ENOBUFS', 'send under a full map')
    p.send_map(none)
    served(c, p)


@case('hostile.sequence', ROLES)
def sequence(c, role, family):
    """Numbers that jump anywhere neither stop data nor outlive an unflagged restart."""
    p = c.peer(role, family)
    r = c.rds()
    for i, seq in enumerate((0, 1 << 63, (1 << 64) - 1, 0, (1 << 64) - 1, 1, 1 << 32, (1 << 32) - 1, 2)):
        p.send(4000, r.port, b'%d' % i, seq=seq)
        r.expect(b'%d' % i)
    p.send(4000, r.port, b'far', seq=(1 << 64) - 2)
    r.expect(b'far')
    for seq in (0, 1, 1 << 63):
        p.send(4000, r.port, b'old', seq=seq, flags=F_RETRANS)
    p.ping()
    r.empty()
    p.seq = 0
    served(c, p)


@case('hostile.generation', ROLES)
def generation(c, role, family):
    """A generation number that changes in every message."""
    p = c.peer(role, family)
    r = c.rds()
    for g in range(1, 300):
        p.handshake(npaths(g % 20) + gen(g * 0x01010101 & 0xffffffff), seq=g % 5)
        if g % 50 == 0:
            r.send(b'%d' % g, p.addr, 4000)
    p.sync()
    served(c, p)


@case('hostile.npaths', ROLES)
def npaths_any(c, role, family):
    """Any number of paths may be advertised; one is used."""
    p = c.peer(role, family)
    for n in (0, 1, 3, 8, 9, 255, 256, 32768, 65535):
        p.handshake(npaths(n))
        p.ping()
    equal(select.select([p.listener], [], [], 0.1)[0], [], 'further connections')
    served(c, p)


@case('hostile.no_socket', ROLES)
def no_socket(c, role, family):
    """A flood to ports nobody has: counted, the connection goes on."""
    p = c.peer(role, family)
    before = drops(c.net.a).get('no_socket', 0)
    for i in range(10):
        p.conn.write(b''.join(p.frame(4000, 20000 + j, pattern(j)) for j in range(100)))
    p.ping()
    equal(drops(c.net.a).get('no_socket', 0) - before, 1000, 'counted drops')
    served(c, p)


# --- silence and stubbornness ---------------------------------------------------------------------

@case('hostile.silence', ROLES)
def silence(c, role, family):
    """A peer that never says a word, not even a map, still gets what is sent to it."""
    p = c.peer(role, family)
    r = c.rds()
    for i in range(50):
        r.send(b'%d' % i, p.addr, 4000)
    p.auto = False
    got = []
    while len(got) < 50:
        m = p.read()
        check(m, 'only %d messages came', len(got))
        if m.dport == 4000:
            got.append(m.data)
    equal(got, [b'%d' % i for i in range(50)], 'messages')
    served(c, p)


@case('hostile.half_message', ROLES)
def half_message(c, role, family):
    """A peer that stops in the middle of a header and of a payload blocks only itself."""
    p, q = c.peer(role, family), c.peer(role, family)
    r = c.rds()
    f = p.frame(4000, r.port, pattern(MIB))
    p.conn.write(f[:20])
    served(c, q)
    p.conn.write(f[20:600000], 10)
    served(c, q)
    r.send(b'still', p.addr, 4000)
    p.until(lambda m: m.data == b'still', 'a message meanwhile')
    served(c, p)


@case('hostile.pings_unread', ROLES)
def pings_unread(c, role, family):
    """A peer that pings and never reads: the pongs kept for it are bounded, and it recovers."""
    p = c.peer(role, family, rcvbuf=4096)
    p.settle()
    p.auto = False
    end, n = Deadline(4), 0
    block = 500
    while n < 60000 and not end.over():
        data = b''.join(header(p.seq + i + 1, 4000 + i % 5, 0) for i in range(block))
        p.seq += block
        n += block
        try:
            p.conn.write(data, 0.5)
        except (Closed, Fail) as e:
            # Refusing to read further, or dropping the peer, are bounds too.
            log('after %d pings: %s', n, e)
            break
    kept = slab_objects()
    pending = queued(c.net.a, INFO6_SEND, p.addr) + queued(c.net.a, INFO6_RETRANS, p.addr)
    log('%d pings: %d pongs in the dumps, %s', n, pending, kept)
    check(n >= 2000, 'only %d pings were taken', n)
    check(pending <= 4096, '%d pongs are queued', pending)
    check(all(v <= 8192 for v in kept.values()), 'objects alive: %r', kept)
    served(c, p, 'reset')


def slab_objects():
    """Objects alive in the module's own caches, without those that KASAN keeps in its quarantine."""
    out = {}
    for shrink in glob.glob('/sys/kernel/slab/rds*/shrink'):
        with open(shrink, 'w', encoding='ascii') as f:
            f.write('1')
    try:
        with open('/proc/slabinfo', encoding='ascii') as f:
            for line in f:
                if line.startswith('rds'):
                    w = line.split()
                    out[w[0]] = int(w[1])
    except OSError:
        pass
    return out


@case('hostile.pings_read_late', ROLES)
def pings_read_late(c, role, family):
    """After a burst of pings what is answered is in order and without repeats, and service goes on."""
    p = c.peer(role, family)
    last = p.settle()
    p.conn.write(b''.join(p.frame(2 + i % 60000, 0) for i in range(3000)), 10)
    p.send(1, 0, ext=npaths(1))
    p.auto = False
    got = 0
    while True:
        m = p.conn.read(2)
        if m is None or (m.sport, m.dport) == (0, 1):
            break
        if m.is_map or m.dport == 0:
            continue
        check(m.seq > last and m.sport == 0, 'after number %d came %s', last, m.brief())
        last, got = m.seq, got + 1
    log('%d of 3000 pings answered', got)
    check(got >= 32, 'only %d pings answered', got)
    served(c, p)


@case('hostile.data_unread')
def data_unread(c):
    """Data is pushed at a peer that does not read, which then disappears: the sender's space comes back."""
    p = c.peer('server', rcvbuf=4096)
    p.settle()
    r = c.rds(sndbuf=100000)
    n = 0
    while r.send_error(pattern(5000), p.addr, 4000) is None:
        n += 1
        check(n < 1000, 'the send queue never fills')
    p.conn.reset()
    r.cancel(p.addr, 4000)
    eventually(lambda: r.send_error(pattern(5000), p.addr, 4001) is None, 'space in the send queue')
    p.conn = True
    served(c, p)


# --- connections ----------------------------------------------------------------------------------

@case('hostile.crowd_same')
def crowd_same(c):
    """300 connections from one address: one is served, the rest get nothing or are closed."""
    p = c.peer('client', up=False)
    conns = []
    for _ in range(300):
        try:
            conns.append(p.dial(seconds=1))
        except (Fail, OSError) as e:
            log('connection %d: %s', len(conns), e)
            break
    check(len(conns) >= 64, 'only %d connections', len(conns))
    for conn in conns:
        conn.close()
    served(c, p)


@case('hostile.crowd')
def crowd(c):
    """Hundreds of connections from a hundred new addresses, larger ones and A's equals included."""
    conns = []
    for i in range(300):
        s = c.net.in_b(socket.AF_INET, socket.SOCK_STREAM)
        s.setblocking(False)
        s.bind((CROWD4[i % len(CROWD4)], 0))
        s.connect_ex((A4, RDS_TCP_PORT))
        conns.append(s)
    eventually(lambda: len(select.select([], conns, [], 0)[1]) >= 100, 'connections', 5)
    for i, s in enumerate(conns):
        if i % 2:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        s.close()
    served(c, c.peer('client'))
    served(c, c.peer('server'))


@case('hostile.connect_loop', ROLES)
def connect_loop(c, role, family):
    """Hundreds of connects that end at once, by RST, FIN, or after a few bytes."""
    p = c.peer(role, family)
    for i in range(500 if LOAD == 'full' else 150):
        try:
            conn = p.dial()
            if i % 3 == 1:
                conn.s.send(header(1, 1, 0, 0, ext=npaths(8))[:i % 49])
            (conn.fin if i % 5 == 0 else conn.reset)()
            conn.close()
        except OSError:
            continue                        # ended under our hands
    served(c, p)


@case('hostile.accept_reset')
def accept_reset(c):
    """A host that accepts and resets is not dialled in a storm; let in, it is served."""
    p = c.peer('server', up=False)
    p.nudge()
    end, n = Deadline(1.0 / SLOW), 0        # one second on any machine
    while not end.over():
        if select.select([p.listener], [], [], end.left())[0]:
            Conn(p.listener.accept()[0]).reset()
            n += 1
    log('%d dials in a second', n)
    check(n >= 2, 'only %d dials', n)
    check(not OURS or n <= 100, '%d dials in a second', n)
    p.conn = True
    served(c, p)


@case('hostile.vanish', ROLES)
def vanish(c, role, family):
    """A peer that crashed (no FIN, no RST) and comes back is served before the keepalive gives up."""
    p = c.peer(role, family)
    p.settle()
    p.conn.vanish()
    if role == 'server':
        # The other side only notices when it has something to say.
        r = c.rds()
        r.send(b'anyone?', p.addr, 4100)
        p.conn = p.accept(8)
        p.conn.read()
    else:
        p.conn = None
        p.open(8)
    served(c, p)


@case('hostile.half_open')
def half_open(c):
    """Connection requests that are never completed, from addresses that do not exist."""
    raw = c.net.in_b(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    dst = socket.inet_aton(A4)
    for i in range(200):
        src = socket.inet_aton('10.0.1.%d' % (150 + i % 100))
        tcp = struct.pack('>HHIIBBHHH', 1024 + i, RDS_TCP_PORT, i, 0, 5 << 4, 2, 1000, 0, 0)
        pseudo = src + dst + struct.pack('>BBH', 0, 6, len(tcp)) + tcp
        total = sum(struct.unpack('>%dH' % (len(pseudo) // 2), pseudo))
        total = (total & 0xffff) + (total >> 16)
        total = ~((total & 0xffff) + (total >> 16)) & 0xffff
        tcp = tcp[:16] + struct.pack('>H', total) + tcp[18:]
        ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 40, i, 0, 64, 6, 0, src, dst)
        raw.sendto(ip + tcp, (A4, 0))
    raw.close()
    served(c, c.peer('client'))
    served(c, c.peer('server'))


# --- the bystander --------------------------------------------------------------------------------

class Background:
    """wire-bg between A and C, and what it measured."""

    # A message of the bystander may not take longer than this, whatever the others do.
    LIMIT_US = 3000000 * SLOW

    def __init__(self):
        prog = os.path.join(os.environ.get('RDS_BIN', 'build/bin'), 'wire-bg')
        self.path = '/tmp/wire-bg.status'
        with open(self.path, 'wb') as f:
            f.write(b'\0' * 16)
        self.p = subprocess.Popen([prog, self.path, 'A', AC4, 'C', C4])
        with open(self.path, 'r+b') as f:
            self.mem = mmap.mmap(f.fileno(), 16)
        self.pairs, self.slowest = 0, (0, 'none')
        eventually(lambda: self.read()[0] > 5, 'background exchange', 10)

    def read(self):
        return struct.unpack('=QQ', self.mem[:16])

    def after(self, name):
        """Between two cases: it goes on, and nothing was slow."""
        check(self.p.poll() is None, 'the bystander\'s exchange failed')
        start = self.pairs
        self.pairs = eventually(lambda: self.read()[0] if self.read()[0] > start else 0,
                                'progress of the bystander\'s exchange', 10)
        slow = self.read()[1]
        self.mem[8:16] = b'\0' * 8
        if slow > self.slowest[0]:
            self.slowest = (slow, name)
        log('%s: bystander %d pairs, slowest message %.1f ms', name, self.pairs - start, slow / 1000)
        check(slow <= self.LIMIT_US, 'a message of the bystander took %.1f ms', slow / 1000)

    def finish(self):
        self.p.send_signal(signal.SIGTERM)
        rc = self.p.wait(60)
        log('bystander: %d pairs of messages, slowest message %.1f ms (during %s)', self.read()[0],
            self.slowest[0] / 1000, self.slowest[1])
        return rc


def main():
    net = Net()
    bg = Background()
    rc = wirelib.run_cases(net, sys.argv[1:], bg.after)
    bad = bg.finish()
    net.part()
    n = len(wirelib.CASES) + 1
    print(('not ok %d hostile.bystander # exit status %d' % (n, bad)) if bad
          else 'ok %d hostile.bystander' % n, flush=True)
    return 1 if rc or bad else 0


if __name__ == '__main__':
    sys.exit(main())
