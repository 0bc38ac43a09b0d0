# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Headers, flags, extensions, maps, probes and numbers: the statements about single frames."""
import threading

from lab import (Deadline, OURS, SLOW, check, equal, eventually)
from wirelib import (F_CONG, F_RETRANS, HDR, MAP_BYTES, MIB, RDS_CMSG_CONG_UPDATE, RDS_CONG_MONITOR,
                     ROLES, SOL_RDS, bitmap, case, counters, drops, gen, header, map_ports, npaths, pattern)

NPATHS_HERE = 1 if OURS else 8


# --- what the module sends ------------------------------------------------------------------------

@case('wire.map_first', ROLES, families=(4, 6))
def map_first(c, role, family):
    """The first frame on a new connection is an all-zero map, byte for byte."""
    p = c.peer(role, family)
    want = b'\0' * 16 + b'\x00\x00\x20\x00' + b'\0' * 4 + b'\x01' + b'\0' * 23
    equal(p.first.raw[:48].hex(), want.hex(), 'map header')
    equal(len(p.first.data), MAP_BYTES, 'map length')
    equal(map_ports(p.first.data), [], 'ports marked in the map')


@case('wire.header_exact', ROLES, families=(4, 6))
def header_exact(c, role, family):
    """User messages: numbers from 1 without gaps, every other field zero, payload right behind."""
    p = c.peer(role, family)
    r = c.rds(family=family)
    p.auto = False
    for n in (1, 0, 47, 48, 49, 5000):
        r.send(pattern(n), p.addr, 4000)
    seq, left = 0, [1, 0, 47, 48, 49, 5000]
    while left:
        m = p.conn.read()
        check(m, 'messages missing: %r', left)
        if m.is_map:
            continue
        if m.is_probe and not m.seq:
            continue                        # the handshake that comes first
        seq += 1
        equal(m.seq, seq, 'sequence')
        if m.is_probe:
            continue
        n = left.pop(0)
        want = HDR.pack(seq, 0, n, r.port, 4000, 0, 0, b'', 0, b'') + pattern(n)
        check(m.raw == want, 'frame of %d bytes is %s', n, m.raw[:48].hex())


@case('wire.seq_one', ROLES)
def seq_one(c, role, family):
    """The first numbered message of a path has number 1, whatever its kind."""
    p = c.peer(role, family)
    p.auto = False
    c.rds().send(b'x', p.addr, 4000)
    m = p.conn.read()
    while m and (m.is_map or (OURS and m.is_probe)):
        m = p.conn.read()
    equal(m and m.seq, 1, 'first number')


@case('wire.len_max', ROLES)
def len_max(c, role, family):
    """1 MiB in one message, both ways."""
    p = c.peer(role, family)
    r = c.rds(sndbuf=2 * MIB, rcvbuf=4 * MIB)
    big = pattern(MIB)
    r.send(big, p.addr, 4000)
    p.expect(10, sport=r.port, dport=4000, len=MIB, flags=0, data=big)
    p.send(4001, r.port, big)
    r.expect(big, (p.addr, 4001), 10)


@case('wire.user_ping', ROLES)
def user_ping(c, role, family):
    """A socket's message to port 0 is sent as a ping; the answer reaches the socket from port 0."""
    p = c.peer(role, family)
    r = c.rds()
    r.send(b'', p.addr, 0)
    m = p.expect(sport=r.port, dport=0, len=0, flags=0)
    equal(m.ext, b'\0' * 16, 'extensions of a user ping')
    p.send(0, r.port)
    r.expect(b'', (p.addr, 0))


# --- what the module must read --------------------------------------------------------------------

@case('wire.deliver', ROLES, families=(4, 6))
def deliver(c, role, family):
    """Messages of all sizes reach the socket with content and source."""
    p = c.peer(role, family)
    r = c.rds(family=family)
    for n in (0, 1, 47, 48, 49, 1447, 1448, 4096, 8192, 65536):
        p.send(4000, r.port, pattern(n))
        r.expect(pattern(n), (p.addr, 4000))


@case('wire.split', ROLES)
def split(c, role, family):
    """TCP may cut header and payload anywhere."""
    p = c.peer(role, family)
    r = c.rds()
    for cut in range(1, 60):
        f = p.frame(4000, r.port, pattern(12, cut))
        p.conn.write(f[:cut])
        p.conn.write(f[cut:])
        r.expect(pattern(12, cut))
    f = p.frame(4000, r.port, pattern(20))
    for i in range(len(f)):
        p.conn.write(f[i:i + 1])
    r.expect(pattern(20))


@case('wire.batch', ROLES)
def batch(c, role, family):
    """Hundreds of messages in one TCP write are separated, in order."""
    p = c.peer(role, family)
    r = c.rds()
    p.conn.write(b''.join(p.frame(4000, r.port, pattern(n % 97, n)) for n in range(300)))
    for n in range(300):
        r.expect(pattern(n % 97, n))


@case('wire.flags_unknown', ROLES)
def flags_unknown(c, role, family):
    """Unknown flag bits, and the map bit together with any other bit, make an ordinary message."""
    p = c.peer(role, family)
    r = c.rds()
    for flags in (0x02, 0x08, 0x10, 0x20, 0x40, 0x80, 0xfa, 0x03, 0x09, 0x21, 0x41, 0x81):
        p.send(4000, r.port, b'%02x' % flags, flags=flags)
        r.expect(b'%02x' % flags)


@case('wire.ignored_fields', ROLES)
def ignored_fields(c, role, family):
    """ack, credit, checksum and padding are ignored over TCP, in data and in maps."""
    p = c.peer(role, family)
    r = c.rds()
    junk = {'ack': 0xfedcba9876543210, 'credit': 0xaa, 'pad': b'\xde\xad\xbe\xef', 'csum': 0x1234}
    for key, value in junk.items():
        p.send(4000, r.port, key.encode(), **{key: value})
        r.expect(key.encode())
    p.send(4000, r.port, b'all', **junk)
    r.expect(b'all')
    p.send_map(bitmap(4321), **junk)
    p.ping()
    equal(r.send_error(b'x', p.addr, 4321), 'ENOBUFS', 'send to a port of that map')


@case('wire.no_socket', ROLES)
def no_socket(c, role, family):
    """A message to an unbound port is dropped and counted, the connection goes on."""
    p = c.peer(role, family)
    before = counters(c.net.a)['recv_drop_no_sock']
    p.send(4000, 4999, b'nobody')
    p.ping()
    equal(counters(c.net.a)['recv_drop_no_sock'] - before, 1, 'recv_drop_no_sock')


@case('wire.ext_ignored_on_data', ROLES)
def ext_ignored_on_data(c, role, family):
    """Irrelevant extensions do not affect an ordinary message (never RDMA_DEST: see hostile)."""
    p = c.peer(role, family)
    r = c.rds()
    for ext in (b'\1\0\0\3\1', b'\2\0\0\0\7', b'\4' + b'\0' * 8, npaths(8), gen(77), b'\7\7\7', b'\x08\0',
                b'\x09', b'\x0f' * 16, b'\x10', b'\xff' * 16, b'\0\5\0\4'):
        p.send(4000, r.port, ext, ext=ext)
        r.expect(ext)


# --- congestion maps ------------------------------------------------------------------------------

@case('wire.map_bits', ROLES)
def map_bits(c, role, family):
    """Port p is bit p%8 of byte p/8 of the peer's map; neighbours are free."""
    p = c.peer(role, family)
    r = c.rds()
    p.settle()
    for port in (2, 4000, 4001, 4007, 4008, 32767, 65535):
        p.send_map(bitmap(port))
        p.ping()
        equal(r.send_error(b'no', p.addr, port), 'ENOBUFS', 'send to marked port %d' % port)
        for other in {port - 1, port + 1, port ^ 7} - {port, 1, 0, 65536}:
            equal(r.send_error(b'yes', p.addr, other), None, 'send to free port %d' % other)
            p.expect(dport=other, data=b'yes')
    p.send_map(bitmap())
    p.ping()
    equal(r.send_error(b'yes', p.addr, 4000), None, 'send after an empty map')


@case('wire.map_equality')
def map_equality(c):
    """Only flags equal to 01 make a map; 8192 bytes with another bit are a message."""
    p = c.peer('client')
    r = c.rds()
    for flags in (0x03, 0x05, 0x11, 0x21, 0x81, 0x00):
        p.send(4000, r.port, bitmap(4100), flags=flags)
        r.expect(bitmap(4100))
        equal(r.send_error(b'x', p.addr, 4100), None, 'send after flags %02x' % flags)


@case('wire.map_any_seq', ROLES)
def map_any_seq(c, role, family):
    """A map may carry any number and any ports and does not touch the numbering of data."""
    p = c.peer(role, family)
    r = c.rds()
    p.send(4000, r.port, b'first')
    r.expect(b'first')
    for seq in (1, 7, 1 << 40, (1 << 64) - 1):
        p.conn.write(header(seq, 3, 4, MAP_BYTES, F_CONG) + bitmap(4200))
        p.ping()
        equal(r.send_error(b'x', p.addr, 4200), 'ENOBUFS', 'send after map number %d' % seq)
        p.conn.write(header(seq, 3, 4, MAP_BYTES, F_CONG) + bitmap())
        p.ping()
        equal(r.send_error(b'x', p.addr, 4200), None, 'send after an empty map')
        p.expect(dport=4200)
    p.send(4000, r.port, b'old', seq=1, flags=F_RETRANS)
    p.send(4000, r.port, b'new', flags=F_RETRANS)
    r.expect(b'new')


@case('wire.map_wrong_size', ROLES)
def map_wrong_size(c, role, family):
    """A map of another size than 8192 is consumed without effect."""
    p = c.peer(role, family)
    r = c.rds()
    p.settle()
    for n in (0, 1, 48, 4096, 8191, 8193, 16384):
        p.conn.write(header(0, 0, 0, n, F_CONG) + b'\xff' * n)
        p.ping()
        equal(r.send_error(b'x', p.addr, 4000), None, 'send after a map of %d bytes' % n)
        p.expect(dport=4000)
    r.empty()


@case('wire.map_between', ROLES)
def map_between(c, role, family):
    """Maps take effect between any two messages of a batch."""
    p = c.peer(role, family)
    r = c.rds()
    out = b''
    for n in range(10):
        out += p.frame(4000, r.port, b'%d' % n) + header(0, 0, 0, MAP_BYTES, F_CONG) + bitmap(4300 + n)
    p.conn.write(out)
    for n in range(10):
        r.expect(b'%d' % n)
    p.ping()
    equal(r.send_error(b'x', p.addr, 4309), 'ENOBUFS', 'send to the port of the last map')
    equal(r.send_error(b'x', p.addr, 4308), None, 'send to the port of the map before')


@case('wire.map_wakes_blocked', ROLES)
def map_wakes_blocked(c, role, family):
    """A sender blocked by congestion goes on when a map clears its port."""
    p = c.peer(role, family)
    r = c.rds()
    p.settle()
    p.send_map(bitmap(4000))
    p.ping()
    equal(r.send_error(b'x', p.addr, 4000), 'ENOBUFS', 'send without blocking')
    r.s.setblocking(True)
    t = threading.Thread(target=lambda: r.send(b'late', p.addr, 4000), daemon=True)
    t.start()
    p.send_map(bitmap(4000, 4001))
    p.ping()
    check(t.is_alive(), 'sender did not block')
    p.send_map(bitmap())
    p.expect(dport=4000, data=b'late')
    t.join(3 * SLOW)
    check(not t.is_alive(), 'sender still asleep')


@case('wire.map_monitor')
def map_monitor(c):
    """With RDS_CONG_MONITOR a map that clears the port yields a notification with its group."""
    p = c.peer('client')
    r = c.rds()
    r.s.setsockopt(SOL_RDS, RDS_CONG_MONITOR, 1)
    p.send_map(bitmap(4000))
    p.ping()
    equal(r.send_error(b'x', p.addr, 4000), 'ENOBUFS', 'send')
    p.send_map(bitmap())
    data, src = r.recv(ctl=256)
    equal((data, [(a[0], a[1], int.from_bytes(a[2], 'little')) for a in r.anc]),
          (b'', [(SOL_RDS, RDS_CMSG_CONG_UPDATE, 1 << (4000 % 64))]), 'notification')
    check(not src, 'a notification has no source, not %r', src)


@case('wire.map_frees_none', ['server'])
def map_frees_none(c, role, family):
    """Maps in which the port stays congested wake no monitor of it."""
    p = c.peer(role, family)
    r = c.rds()
    r.s.setsockopt(SOL_RDS, RDS_CONG_MONITOR, 1)
    p.send_map(bitmap(4000))
    p.ping()
    equal(r.send_error(b'x', p.addr, 4000), 'ENOBUFS', 'send')
    for ports in ((4000,), (4000, 4001), (4000,)):
        p.send_map(bitmap(*ports))
        p.ping()
        equal(r.recv_now(ctl=256), None, 'notification of a map with %s' % (ports,))
    p.send_map(bitmap())
    data, _ = r.recv(ctl=256)
    equal((data, len(r.anc)), (b'', 1), 'notification')


@case('wire.map_survives_loss', ROLES)
def map_survives_loss(c, role, family):
    """A peer's map stays in force when the connection is lost, until the peer's next map.

    This module drops the map where only the peer would dial, so that no sender waits for a peer
    that does not.
    """
    p = c.peer(role, family)
    r = c.rds()
    p.send_map(bitmap(4000))
    p.ping()
    p.reopen()
    p.ping()
    if role == 'server' or not OURS:
        equal(r.send_error(b'x', p.addr, 4000), 'ENOBUFS', 'send after a reconnect')
    p.send_map(bitmap())
    p.ping()
    equal(r.send_error(b'x', p.addr, 4000), None, 'send after an empty map')


@case('wire.map_on_flip', ROLES)
def map_on_flip(c, role, family):
    """At 1153 of 1152 bytes the bit is set; at 576 it stays set, at 575 it is cleared."""
    p = c.peer(role, family)
    r = c.rds(rcvbuf=1)
    p.settle()
    seen = len(p.maps)
    for n in (577, 1, 574):
        p.send(4000, r.port, pattern(n))
    p.settle()
    equal(len(p.maps), seen, 'maps sent at 1152 bytes')
    p.send(4000, r.port, b'!')
    equal(map_ports(p.next_map()), [r.port], 'ports marked at 1153 bytes')
    r.expect(pattern(577))
    p.settle()
    equal(len(p.maps), seen + 1, 'maps sent at 576 bytes')
    r.expect(pattern(1))
    equal(map_ports(p.next_map()), [], 'ports marked at 575 bytes')
    r.expect(pattern(574))
    r.expect(b'!')
    p.settle()
    equal(len(p.maps), seen + 2, 'maps sent afterwards')


@case('wire.map_on_close', ROLES)
def map_on_close(c, role, family):
    """Closing a congested socket clears its bit and sends the map."""
    p = c.peer(role, family)
    r = c.rds(rcvbuf=1)
    p.settle()
    p.send(4000, r.port, pattern(2000))
    equal(map_ports(p.next_map()), [r.port], 'ports marked')
    r.close()
    equal(map_ports(p.next_map()), [], 'ports marked after close')


@case('wire.map_newest_last', ROLES, stacks=('ours',))
def map_newest_last(c, role, family):
    """Maps become due while A's TCP has a part of a message: an older map never comes last."""
    p = c.peer(role, family, rcvbuf=4096)
    r, s = c.rds(rcvbuf=1), c.rds(sndbuf=4 * MIB)
    p.settle()
    s.send(pattern(MIB), p.addr, 4000)
    p.conn.fill(48, Deadline(3.0))
    n = counters(c.net.a)['cong_update_queued']
    p.send(4000, r.port, pattern(2000))
    eventually(lambda: counters(c.net.a)['cong_update_queued'] > n, 'the mark of the port')
    # A has given more of the message to its TCP by then, and the map behind it to its queue.
    p.conn.fill(400000, Deadline(20.0))
    r.expect(pattern(2000))
    p.expect(len=MIB, seconds=20.0)
    p.settle()
    equal(map_ports(p.maps[-1]), [], 'ports marked in the last map')


@case('wire.map_not_for_segments', ('server',), stacks=('ours',))
def map_not_for_segments(c, role, family):
    """A message that comes in segments of three bytes holds little more than its bytes: it does not
    congest the port. What referred to each segment would hold 2 MiB, and 512 KiB may wait."""
    p = c.peer(role, family)
    r = c.rds(rcvbuf=20000)
    p.settle()
    seen = len(p.maps)
    frame_ = p.frame(4000, r.port, pattern(6000))
    for i in range(0, len(frame_), 3):
        p.conn.write(frame_[i:i + 3])
    p.settle()
    equal(len(p.maps), seen, 'maps sent')
    r.expect(pattern(6000))


@case('wire.map_to_all')
def map_to_all(c):
    """A flip goes to every connection of the address, and a newcomer's first map shows it."""
    p, q = c.peer('client'), c.peer('server')
    r = c.rds(rcvbuf=1)
    p.settle()
    q.settle()
    p.send(4000, r.port, pattern(2000))
    for x in (p, q):
        equal(map_ports(x.next_map()), [r.port], 'ports marked')
    for role in ROLES:
        equal(map_ports(c.peer(role).first.data), [r.port], 'ports in the first map')
    r.expect(pattern(2000))
    for x in (p, q):
        equal(map_ports(x.next_map()), [], 'ports marked after reading')


@case('wire.map_not_for_empty')
def map_not_for_empty(c):
    """Zero-length messages never congest."""
    p = c.peer('client')
    r = c.rds(rcvbuf=1)
    p.settle()
    seen = len(p.maps)
    p.conn.write(b''.join(p.frame(4000, r.port) for _ in range(100)))
    p.settle()
    equal(len(p.maps), seen, 'maps sent')
    for _ in range(100):
        r.expect(b'')


@case('wire.over_limit_delivered')
def over_limit_delivered(c):
    """The receive limit is advisory: messages beyond it are delivered."""
    p = c.peer('client')
    r = c.rds(rcvbuf=1)
    for n in range(20):
        p.send(4000, r.port, pattern(1000, n))
    p.ping()
    for n in range(20):
        r.expect(pattern(1000, n))


# --- ping and pong --------------------------------------------------------------------------------

@case('wire.ping_pong', ROLES, families=(4, 6))
def ping_pong(c, role, family):
    """A pong is the next number, from port 0 to the ping's port, empty, and nothing else."""
    p = c.peer(role, family)
    n = p.settle()
    pings = counters(c.net.a)['recv_ping']
    for port in (2, 1234, 65535):
        p.send(port, 0)
        n += 1
        m = p.expect(seq=n, sport=0, dport=port)
        equal(m.raw.hex(), header(n, 0, port).hex(), 'pong')
    equal(counters(c.net.a)['recv_ping'] - pings, 3, 'recv_ping')


@case('wire.ping_payload', ROLES)
def ping_payload(c, role, family):
    """The payload of a ping is discarded."""
    p = c.peer(role, family)
    for n in (1, 100, 70000):
        p.send(4000, 0, pattern(n))
        p.expect(sport=0, dport=4000, len=0)


@case('wire.ping_sport0', ROLES)
def ping_sport0(c, role, family):
    """A ping from port 0 is not answered."""
    p = c.peer(role, family)
    n = p.settle()
    p.send(0, 0)
    p.send(4000, 0)
    p.expect(seq=n + 1, sport=0, dport=4000)


@case('wire.ping_duplicate', ROLES)
def ping_duplicate(c, role, family):
    """Duplicates are dropped before pings are answered: an old flagged ping gets no pong."""
    p = c.peer(role, family)
    n = p.settle()
    p.send(4000, 0, seq=1, flags=F_RETRANS)
    p.send(4001, 0)
    p.expect(seq=n + 1, sport=0, dport=4001)


@case('wire.ping_congested', ROLES)
def ping_congested(c, role, family):
    """No pong is sent to a port that the peer has marked; the pong is dropped, not kept."""
    p = c.peer(role, family)
    p.settle()
    p.send_map(bitmap(4000))
    p.send(4000, 0)
    p.send(4001, 0)
    p.expect(sport=0, dport=4001)
    p.send_map(bitmap())
    p.send(4002, 0)
    p.expect(sport=0, dport=4002)


@case('wire.ping_disable')
def ping_disable(c):
    """ping_enable 0 disables pongs and handshakes; the pings count as sent to no socket."""
    p = c.peer('client')
    p.settle()
    r = c.rds()
    path = '/proc/sys/net/rds/ping_enable'
    places = [path]
    with c.net.a:
        try:
            with open(path, 'w', encoding='ascii') as f:
                f.write('0')
        except FileNotFoundError:
            places = []
    with open(path, 'w', encoding='ascii') as f:
        f.write('0')
    try:
        before = counters(c.net.a)['recv_drop_no_sock']
        p.send(4000, 0)
        p.handshake()
        p.send(4000, r.port, b'after')
        r.expect(b'after')
        equal(counters(c.net.a)['recv_drop_no_sock'] - before, 2, 'recv_drop_no_sock')
    finally:
        with open(path, 'w', encoding='ascii') as f:
            f.write('1')
        if places:
            with c.net.a, open(path, 'w', encoding='ascii') as f:
                f.write('1')
    p.auto = False
    p.ping(4001)


# --- handshake and extensions ---------------------------------------------------------------------

# CAP_BITS: acknowledges by number
CAPS = b'\x07\0\0\1\0'


def check_handshake(m, what, caps=b''):
    equal(m.ext[:3].hex(), npaths(NPATHS_HERE).hex(), 'NPATHS in ' + what)
    equal((m.len, m.flags, m.ack, m.credit, m.csum), (0, 0, 0, 0, 0), 'fields of ' + what)
    if not OURS:
        equal(m.ext[3:], b'\0' * 13, 'rest of the extensions of ' + what)
        return 0
    equal(m.ext[3], 6, 'element after NPATHS in ' + what)
    generation = int.from_bytes(m.ext[4:8], 'big')
    check(generation, 'GEN_NUM is 0 in %s', what)
    equal(m.without_host()[8:].hex(), caps.ljust(8, b'\0').hex(), 'extensions behind the generation in ' + what)
    return generation


@case('wire.handshake_pong', ROLES, families=(4, 6))
def handshake_pong(c, role, family):
    """A handshake ping is answered with NPATHS first."""
    p = c.peer(role, family)
    p.auto = False
    gens = set()
    for ext in (npaths(1), npaths(1) + gen(7), npaths(1) + gen(7) + b'\x08\0', b''):
        p.handshake(ext)
        m = p.read()
        while m and m.dport == 0:
            m = p.read()
        check(m, 'handshake not answered')
        equal((m.sport, m.dport), (0, 1), 'ports of the answer')
        gens.add(check_handshake(m, 'the pong'))
    equal(len(gens), 1, 'number of generation numbers seen')


@case('wire.handshake_ping')
def handshake_ping(c):
    """On a connection from a peer of unknown path count the module sends one ping by itself."""
    p = c.peer('client')
    p.auto = False
    m = p.read()
    check(m, 'no handshake ping came')
    first = 0 if OURS else 1
    equal((m.seq, m.sport, m.dport), (first, 1, 0), 'number and ports')
    mine = check_handshake(m, 'the ping', CAPS)
    p.handshake()
    m = p.read()
    equal((m.sport, m.dport), (0, 1), 'ports of the answer')
    equal(check_handshake(m, 'the pong'), mine, 'generation number')
    p.send(0, 1, ext=npaths(1))
    m = p.ping()
    equal(m.seq, first + 2, 'number after the handshake')


@case('wire.npaths')
def paths_advertised(c):
    """In-tree RDS brings up min(8, advertised) paths; this module announced 1 and stays at 1."""
    for n, more in ((None, 0), (0, 0), (1, 0), (2, 1), (4, 3), (8, 7), (16, 7)):
        p = c.peer('server')
        p.handshake(b'' if n is None else npaths(n))
        want = 0 if OURS else more
        for _ in range(want):
            c.net.kept.append(p.accept())
        p.ping()
        c.quiet(p)                          # none beyond these


PARSE = (
    # extensions in front of a GEN_NUM, and whether the generation number must be found
    ('alone', b'', True),
    ('after_npaths', npaths(1), True),
    ('type7_body', b'\x07\0\0\0\1', OURS),
    ('type9_skipped', b'\x09', True),
    ('type15_skipped', b'\x0f', True),
    ('unknown_eleven', b'\x0a' * 11, True),
    ('no_room', b'\x0a' * 12, False),
    ('terminator', b'\0', False),
    ('type16_stops', b'\x10', False),
    ('type255_stops', b'\xff', False),
    ('version', b'\x01\0\0\3\1', True),
    ('rdma', b'\x02\0\0\0\7', True),
    ('sport_idx', b'\x08\0', OURS),
    ('rdma_bytes', b'\x04' + b'\0' * 8, OURS),
)


@case('wire.ext_parse', ROLES)
def ext_parse(c, role, family):
    """Parser rules: they show in whether the GEN_NUM behind an element is taken for a restart."""
    p = c.peer(role, family)
    p.handshake(npaths(1) + gen(1000))
    p.settle()
    wrong = []
    for g, (name, ext, found) in enumerate(PARSE, 1001):
        before = drops(c.net.a).get('peer_rebooted', 0)
        p.handshake((ext + gen(g))[:16])
        last = p.ping(7000)
        n = p.ping(7001).seq
        if OURS:
            seen = drops(c.net.a).get('peer_rebooted', 0) - before
        else:
            # In-tree restarts the numbers: these pongs are the first messages of the new count.
            seen = n < 4 and last.seq < 4
        if seen != found:
            wrong.append('%s: generation %sfound' % (name, '' if not found else 'not '))
        # Move the numbers away from 1, so that the next restart shows.
        for _ in range(4):
            p.ping()
    check(not wrong, '%s', '; '.join(wrong))


# --- numbers --------------------------------------------------------------------------------------

SEQUENCES = (
    # number, flags, delivered
    (1, 0, True), (2, 0, True), (2, F_RETRANS, False), (1, F_RETRANS, False), (3, F_RETRANS, True),
    (3, 0, True),                           # unflagged duplicate: accepted
    (100, 0, True), (101, 0, True),         # gaps are legal
    (50, F_RETRANS, False), (5, 0, True),   # may go back when not flagged
    (5, F_RETRANS, False), (6, F_RETRANS, True), (101, F_RETRANS, True),
    (0, 0, True), (0, F_RETRANS, False), (1, F_RETRANS, True),
    (1 << 63, 0, True), ((1 << 64) - 2, 0, True), (1 << 63, F_RETRANS, False), (7, 0, True),
    (7, F_RETRANS | 0x02, False), (6, 0x02, True), (6, 0xfe, False),
)


@case('wire.sequence', ROLES)
def sequence(c, role, family):
    """Only old flagged messages are dropped; any other sets the expected number, also backwards."""
    p = c.peer(role, family)
    r = c.rds()
    before = counters(c.net.a)['recv_drop_old_seq']
    for i, (seq, flags, _) in enumerate(SEQUENCES):
        p.send(4000, r.port, b'%d' % i, seq=seq, flags=flags)
    p.send(4000, r.port, b'end', seq=1000000)
    for i, (_, _, delivered) in enumerate(SEQUENCES):
        if delivered:
            r.expect(b'%d' % i)
    r.expect(b'end')
    equal(counters(c.net.a)['recv_drop_old_seq'] - before, sum(not s[2] for s in SEQUENCES),
          'recv_drop_old_seq')


@case('wire.ack_required_not_sent')
def ack_required_not_sent(c):
    """No message has a flag on TCP, however many are sent."""
    p = c.peer('client')
    r = c.rds()
    for i in range(20):
        r.send(b'%d' % i, p.addr, 4000)
    for i in range(20):
        p.expect(dport=4000, flags=0, data=b'%d' % i)
