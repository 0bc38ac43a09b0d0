# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Connections: who dials, loss, reconnect, retransmission, and the dumps meanwhile."""
import fcntl
import re
import select
import socket
import struct
import termios
import time

from lab import (A4, AC4, C4, Deadline, Fail, OURS, RDS_TCP_PORT, SLOW, bound, check, equal,
                 eventually, log, run)
from wirelib import (Conn, F_CONG, F_RETRANS, INFO6_RETRANS, INFO6_SEND, MAP_BYTES, ROLES,
                     Sniffer, case, count_dials, drops, header, map_ports, misled, neighbour, pattern,
                     queued, tcp_info, setting)


# --- who dials ------------------------------------------------------------------------------------

@case('wire.larger_refused', families=(4,))
def larger_refused(c):
    """A larger peer's connection ends without a byte, by FIN and RST, and A dials instead."""
    p = c.peer('server', up=False)
    sniff = c.sniffer()
    conn = p.dial()
    _, got = conn.wait_closed()
    equal(got, b'', 'bytes on the refused connection')
    p.conn = p.accept()
    equal(p.name[0], A4, 'address A dials from')
    m = p.conn.read()
    check(m and m.is_map, 'no map on the dialled connection')
    lport = conn.s.getsockname()[1]
    flags = [s.flags for s in sniff.segments() if s.src == A4 and s.dport == lport]
    conn.close()
    check(any(f & (Sniffer.FIN | Sniffer.RST) for f in flags), 'flags of A were %r', flags)
    fin = [i for i, f in enumerate(flags) if f & Sniffer.FIN]
    rst = [i for i, f in enumerate(flags) if f & Sniffer.RST]
    check(fin and rst and fin[0] <= rst[0], 'not a FIN and then a RST: flags %r', flags)


@case('wire.larger_refused_up')
def larger_refused_up(c):
    """While a connection is up, a larger peer's further ones are refused without effect on it."""
    p = c.peer('server')
    for _ in range(5):
        conn = p.dial()
        equal(conn.wait_closed()[1], b'', 'bytes on the refused connection')
        conn.close()
    p.ping()
    c.quiet(p)


def more_pokes(p, seconds):
    """Number of further connections without a byte within the time."""
    end, n = time.monotonic() + seconds, 0
    while select.select([p.listener], [], [], max(0, end - time.monotonic()))[0]:
        conn = p.accept()
        equal(conn.wait_closed()[1], b'', 'bytes on a poking connection')
        conn.close()
        n += 1
    return n


@case('wire.nudge')
def nudge(c):
    """The larger side opens path 0 only as a poke: no byte, plain FIN, no retry by itself."""
    p = c.peer('client', up=False)
    sniff = c.sniffer()
    r = c.rds()
    for i in range(2):
        r.send(b'poke %d' % i, p.addr, 4000)
        conn = p.accept()
        lport = p.name[1]
        how, got = conn.wait_closed()
        equal((how, got), ('EOF', b''), 'the poking connection')
        segs = [s for s in sniff.segments() if s.src == A4 and s.sport == lport]
        check(any(s.flags & Sniffer.FIN for s in segs), 'no FIN seen')
        check(not any(s.data for s in segs), 'A sent bytes')
        conn.close()
        again = more_pokes(p, 0.3 if not OURS else 1.0)
        # This module pokes again while messages wait, after each back-off (see differences).
        check(OURS or not again, 'poked %d more times after poke %d', again, i)
        bound(again <= 30, 'poked %d more times after poke %d', again, i)
    p.open()
    p.expect(dport=4000, data=b'poke 0')
    p.expect(dport=4000, data=b'poke 1')
    # A poke that A began before may still be in the backlog.
    late = more_pokes(p, 0.1)
    check(late <= 1, '%d pokes before the connection was up', late)
    c.quiet(p)


@case('wire.own_address_refused')
def own_address_refused(c):
    """A connection from an address of the machine itself is closed without a byte."""
    for addr in (A4, '127.0.0.1'):
        with c.net.a:
            s = socket.create_connection((addr, RDS_TCP_PORT), 3)
        conn = Conn(s)
        equal(conn.wait_closed()[1], b'', 'bytes from %s to itself' % addr)
        conn.close()
    c.peer('client').ping()


@case('wire.dial_tuple')
def dial_tuple(c):
    """A dials from its own address to port 16385; the accepted side answers from 16385."""
    p = c.peer('server')
    equal(p.name[0], A4, 'source')
    check(p.name[1] != RDS_TCP_PORT, 'source port is 16385')
    equal(p.conn.s.getsockname(), (p.addr, c.net.port), 'destination')


@case('wire.any_source_port')
def any_source_port(c):
    """A dialler may use any port, also 16385 (where it can be bound) and a privileged one."""
    for port in (77, RDS_TCP_PORT) if c.net.vrf else (77, 1000):
        p = c.peer('client', up=False, listen=False)
        conn = p.dial(sport=port)
        m = conn.read()
        check(m and m.is_map, 'no map for source port %d', port)
        c.net.kept.append(conn)


@case('wire.second_connection')
def second_connection(c):
    """A smaller peer's surplus connection is not served and does not affect the first."""
    p = c.peer('client')
    p.settle()
    first, extra = p.conn, p.dial()
    p.ping()
    p.conn = first
    # It is closed once the first one has proven to be alive.
    _, got = extra.wait_closed()
    equal(got, b'', 'bytes on the surplus connection')
    extra.close()
    p.ping()
    p.reopen()
    p.ping()


@case('wire.keepalive', ROLES)
def keepalive(c, role, family):
    """Keepalive is on, with less than 5 s to go, on dialled and on accepted sockets."""
    p = c.peer(role, family)
    p.settle()

    def timer():
        with c.net.a:
            out = run('ss', '-tnoH', 'state', 'established', 'dst', p.addr)
        return re.findall(r'timer:\(keepalive,([0-9.]+)(ms|sec)', out)

    found = eventually(timer, 'keepalive timer in ss -o')
    for value, unit in found:
        check(float(value) <= 5 if unit == 'sec' else True, 'keepalive fires in %s %s', value, unit)
    equal(p.conn.s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0], 1, 'state of the connection')


@case('wire.connect_fin', ROLES)
def connect_fin(c, role, family):
    """A connection that ends at once does not block the next."""
    p = c.peer(role, family, up=False)
    if role == 'server':
        p.nudge()
        for _ in range(3):
            p.accept().close()
        p.conn = True
    else:
        for _ in range(3):
            conn = p.dial()
            conn.fin()
            conn.close()
    p.open()
    p.ping()


# --- loss and retransmission ----------------------------------------------------------------------

def stuffed(c, role, sizes, port=4000, p=None):
    """A peer that does not read, and a socket whose messages of these sizes wait for the peer."""
    p = p or c.peer(role, rcvbuf=4096)
    p.settle()
    # The peer's TCP may delay the acknowledgement of the last pong, which would be retransmitted.
    eventually(lambda: not queued(c.net.a, INFO6_RETRANS, p.addr), 'pong acknowledged')
    p.auto = False
    r = c.rds(sndbuf=8 << 20)
    for i, n in enumerate(sizes):
        r.send(pattern(n, i), p.addr, port)
    # The transmitter has stopped when the dumps do not change any more.
    state = [None]

    def steady():
        now = (queued(c.net.a, INFO6_SEND, p.addr), queued(c.net.a, INFO6_RETRANS, p.addr),
               fcntl.ioctl(p.conn.s, termios.FIONREAD, b'\0' * 4))
        same, state[0] = now == state[0], now
        return same and now[1]

    try:
        eventually(steady, 'transmitter at rest', step=0.03)
    except Fail:
        raise Fail('transmitter not at rest: %r' % (state[0],)) from None
    return p, r


def stream(p, count, seconds=5.0):
    """The next count messages that are neither maps nor probes."""
    p.auto = True
    out = []
    while len(out) < count:
        m = p.read(seconds)
        check(m, 'only %d of %d messages came', len(out), count)
        out.append(m)
    return out


@case('wire.reconnect_order', ROLES)
def reconnect_order(c, role, family):
    """Map; then the cut-off message, whole, with 04 and its number; then the others unflagged."""
    sizes = [100000] * 24
    p, r = stuffed(c, role, sizes)
    check(queued(c.net.a, INFO6_SEND, p.addr), 'every message was started: nothing to see')
    p.conn.fill(5000, Deadline(3))          # a part of the first message is read and then lost
    p.reopen('reset', 5)
    equal(p.first.seq, 0, 'first frame after the reconnect')
    got = stream(p, len(sizes))
    for i, m in enumerate(got):
        check(m.data == pattern(sizes[i], i), 'message %d is another one or damaged', i)
        equal(m.seq, got[0].seq + i, 'number of message %d' % i)
    flags = [m.flags for m in got]
    k = flags.count(F_RETRANS)
    check(k >= 1, 'the cut-off message was not flagged')
    equal(flags, [F_RETRANS] * k + [0] * (len(flags) - k), 'flags')
    check(k < len(flags), 'never started messages were flagged')
    p.ping()


@case('wire.reconnect_unacked', ROLES)
def reconnect_unacked(c, role, family):
    """After FIN or RST messages TCP has not acknowledged are resent with 04 and their numbers."""
    for how in ('close', 'reset'):
        sizes = [12000, 10, 0, 20, 30]
        p, r = stuffed(c, role, sizes)
        eventually(lambda: not queued(c.net.a, INFO6_SEND, p.addr), 'all messages started')
        p.reopen(how, 5)
        got = stream(p, len(sizes))
        for i, m in enumerate(got):
            check(m.data == pattern(sizes[i], i), 'message %d is another one or damaged', i)
            equal((m.seq, m.flags), (got[0].seq + i, F_RETRANS), 'number and flags of message %d' % i)
        r.send(b'fresh', p.addr, 4000)
        m = p.expect(data=b'fresh', flags=0)
        check(m.seq > got[-1].seq, 'number %d was used twice', m.seq)


@case('wire.reconnect_acked', ROLES)
def reconnect_acked(c, role, family):
    """Messages acknowledged by TCP are not retransmitted; the numbers continue."""
    p = c.peer(role, family)
    n = p.settle()
    r = c.rds()
    for how in ('close', 'reset'):
        for i in range(5):
            r.send(b'%d' % i, p.addr, 4000)
        for i in range(5):
            n = p.expect(dport=4000, data=b'%d' % i).seq
        eventually(lambda: not queued(c.net.a, INFO6_RETRANS, p.addr), 'acknowledgement')
        p.reopen(how)
        r.send(b'next', p.addr, 4000)
        m = p.expect(dport=4000, data=b'next', flags=0)
        check(m.seq > n, 'number %d after %d', m.seq, n)


@case('wire.reconnect_expected', ROLES)
def reconnect_expected(c, role, family):
    """The expected number outlives the connection: a flagged repeat is dropped."""
    p = c.peer(role, family)
    r = c.rds()
    for seq in range(101, 106):
        p.send(4000, r.port, b'%d' % seq, seq=seq)
    for seq in range(101, 106):
        r.expect(b'%d' % seq)
    p.reopen()
    for seq in range(104, 108):
        p.send(4000, r.port, b'%d' % seq, seq=seq, flags=F_RETRANS)
    r.expect(b'106')
    r.expect(b'107')
    p.ping()
    r.empty()


@case('wire.reconnect_partial', ROLES)
def reconnect_partial(c, role, family):
    """A message received in part is lost with its connection, and delivered once when resent."""
    p = c.peer(role, family)
    r = c.rds()
    for how in ('close', 'reset'):
        for cut in (10, 48, 60, 5000):
            f = p.frame(4000, r.port, pattern(6000, cut))
            p.conn.write(f[:cut])
            p.reopen(how)
            p.conn.write(p.frame(4000, r.port, pattern(6000, cut), seq=p.seq, flags=F_RETRANS))
            r.expect(pattern(6000, cut), (p.addr, 4000))
            p.ping()
            r.empty()


@case('wire.drain_on_fin', ROLES)
def drain_on_fin(c, role, family):
    """200 messages and at once a FIN: all arrive."""
    p = c.peer(role, family)
    r = c.rds()
    for how in ('fin', 'close'):
        p.settle()                          # all is read here, or the close would be a RST
        p.conn.write(b''.join(p.frame(4000, r.port, pattern(100, i)) for i in range(200)))
        p.reopen(how)
        for i in range(200):
            r.expect(pattern(100, i))
        p.ping()


@case('wire.cancel_hole', ROLES)
def cancel_hole(c, role, family):
    """CANCEL_SENT_TO removes waiting messages, leaving a gap; one on the wire is completed."""
    p, r = stuffed(c, role, [300000])
    r.send(b'two', p.addr, 4001)
    r.send(b'three', p.addr, 4001)
    r.send(b'four', p.addr, 4002)
    r.cancel(p.addr, 4001)
    r.cancel(p.addr, 4000)
    one, four = stream(p, 2)
    check(one.data == pattern(300000), 'message in transmission was not completed')
    equal((four.data, four.seq - one.seq), (b'four', 3), 'message and distance after the cancelled ones')


@case('wire.cancel_cut', ROLES)
def cancel_cut(c, role, family):
    """A message cancelled in mid-transmission and then cut off is not retransmitted."""
    p, r = stuffed(c, role, [300000])
    r.send(b'two', p.addr, 4001)
    r.cancel(p.addr, 4000)
    p.reopen('reset', 5)
    m, = stream(p, 1)
    equal((m.data, m.flags), (b'two', 0), 'first message after the reset')


@case('wire.close_completes', ROLES)
def close_completes(c, role, family):
    """close() discards waiting messages; the message half on the wire is completed."""
    p, r = stuffed(c, role, [300000])
    r.send(b'two', p.addr, 4001)
    r.close()
    s = c.rds()
    s.send(b'three', p.addr, 4002)
    one, three = stream(p, 2)
    check(one.data == pattern(300000), 'message in transmission was not completed')
    equal((three.data, three.seq - one.seq), (b'three', 2), 'next message and its distance')


@case('wire.much_then_end', ROLES, stacks=('ours',))
def much_then_end(c, role, family):
    """A peer sends many small messages at once and ends the connection: what its TCP has delivered for
    it is delivered, although it is more than what A takes in one run."""
    p, r, number = c.peer(role, family), c.rds(family=family, rcvbuf=16 << 20), 8000
    p.settle()
    for first in range(0, number, 2000):
        p.conn.write(b''.join(p.frame(4000, r.port, struct.pack('>I', i))
                              for i in range(first, first + 2000)), 10.0)
    p.conn.fin()
    for i in range(number):
        got = struct.unpack('>I', r.recv(10.0)[0])[0]
        check(got == i, 'wanted message %d, got %d', i, got)


@case('wire.backpressure', ROLES)
def backpressure(c, role, family):
    """A peer that stops reading and continues later gets every byte, once, in order."""
    sizes = [50000] * 20
    p, _ = stuffed(c, role, sizes)
    for i, m in enumerate(stream(p, len(sizes))):
        check(m.data == pattern(sizes[i], i) and m.flags == 0, 'message %d: %s', i, m.brief())


@case('wire.map_inserted_between', ROLES)
def map_inserted_between(c, role, family):
    """A map due in mid-message waits for the end of the message and precedes waiting messages."""
    p, _ = stuffed(c, role, [300000, 300000])
    s = c.rds(rcvbuf=1)
    p.send(4000, s.port, pattern(2000))
    eventually(lambda: s.recv_peek() is not None, 'delivery')
    got = []
    while len(got) < 3:
        m = p.conn.read()
        check(m, 'only %d frames came', len(got))
        if not m.is_probe:
            got.append(m)
    check(got[0].data == pattern(300000), 'first came %s', got[0].brief())
    check(got[1].is_map and map_ports(got[1].data) == [s.port], 'second came %s', got[1].brief())
    check(got[2].data == pattern(300000, 1), 'third came %s', got[2].brief())


# --- back-off -------------------------------------------------------------------------------------

@case('wire.backoff')
def backoff(c):
    """A refusing host is dialled repeatedly, at most 1 s apart, and soon after it is back."""
    p = c.peer('server', up=False, listen=False)
    sniff = c.sniffer()
    c.rds().send(b'waiting', p.addr, 4000)
    syns, end = [], time.monotonic() + 2.5
    while select.select([sniff.s], [], [], max(0, end - time.monotonic()))[0]:
        syns += [s.when for s in sniff.segments()
                 if s.src == A4 and s.dst == p.addr and s.flags & Sniffer.SYN]
    log('dials after %s s', ' '.join('%.2f' % (t - syns[0]) for t in syns))
    check(syns, 'no dial')
    bound(3 <= len(syns) <= 60, '%d dials in 2.5 s', len(syns))
    gaps = [b - a for a, b in zip(syns, syns[1:] + [end])]
    bound(max(gaps) < 1.1, 'dials were %.2f s apart', max(gaps))
    p.listen()
    t0 = time.monotonic()
    p.conn = p.accept(8)
    took = time.monotonic() - t0
    log('dialled again after %.2f s', took)
    bound(took < 1.1, 'dialled again after %.2f s', took)
    m = p.conn.read()
    check(m and m.is_map, 'no map after the host came back')
    p.sync()


@case('wire.backoff_lost')
def backoff_lost(c):
    """A dial whose SYNs were lost goes on soon after the network is back (seconds later in-tree)."""
    mac = neighbour()
    for lost in 1, 9:
        p, n, syns = c.peer('server', up=False), 0, []
        misled(p.addr, '02:00:00:00:00:99')
        sniff = c.sniffer()
        c.rds().send(b'waiting', p.addr, 4000)
        while n < lost:
            check(select.select([sniff.s], [], [], 10 * SLOW)[0], 'only %d SYNs came', n)
            syns += [s.when for s in sniff.segments()
                     if s.src == A4 and s.dst == p.addr and s.flags & Sniffer.SYN]
            n = len(syns)
        misled(p.addr, mac)
        t0 = time.monotonic()
        p.conn = p.accept(8)
        took = time.monotonic() - t0
        log('%d SYNs lost, %s s apart; accepted after %.2f s', n,
            ' '.join('%.2f' % (b - a) for a, b in zip(syns, syns[1:])), took)
        bound(not OURS or took < 0.8, 'accepted after %.2f s, %d SYNs were lost', took, n)
        p.until(lambda m: m.data == b'waiting', 'the message')


@case('wire.backoff_reset')
def backoff_reset(c):
    """A host that accepts and resets at once is dialled at a bounded rate (unbounded in-tree)."""
    p = c.peer('server', up=False)
    p.nudge()
    n = count_dials(p, 1)
    bound(n <= 100 or not OURS, '%d dials in a second', n)
    p.conn = p.accept(3)
    m = p.conn.read()
    check(m and m.is_map, 'no map afterwards')
    p.ping()


# --- dumps ----------------------------------------------------------------------------------------

@case('wire.info_rem', ROLES)
def info_rem(c, role, family):
    """RDS_INFO_TCP_SOCKETS: hdr_rem and data_rem follow the bytes received."""
    p = c.peer(role, family)
    p.settle()
    r = c.rds()

    def rem(want):
        def same():
            got = tcp_info(c.net.a, p.addr)
            return len(got) == 1 and (got[0].hdr_rem, got[0].data_rem) == want
        try:
            eventually(same, 'rem')
        except Fail:
            raise Fail('records %r, expected rem %r' % (tcp_info(c.net.a, p.addr), want)) from None

    rem((48, 0))
    f = p.frame(4000, r.port, pattern(100))
    p.conn.write(f[:10])
    rem((38, 0))
    p.conn.write(f[10:47])
    rem((1, 0))
    p.conn.write(f[47:78])
    rem((0, 70))
    p.conn.write(f[78:])
    rem((48, 0))
    r.expect(pattern(100))
    rec = tcp_info(c.net.a, p.addr)[0]
    ports = {rec.lport, rec.pport}
    check(RDS_TCP_PORT in ports, 'ports of the record are %r', ports)


@case('wire.info_gone')
def info_gone(c):
    """The record disappears with the TCP connection."""
    p = c.peer('client')
    equal(len(tcp_info(c.net.a, p.addr)), 1, 'records while up')
    p.conn.close()
    eventually(lambda: not tcp_info(c.net.a, p.addr), 'record gone')
    p.open()
    p.ping()


# --- captured exchange of two modules -------------------------------------------------------------

@case('capture.exchange')
def capture_exchange(c):
    """Bytes on the wire between two modules: map first in each direction, then exact headers."""
    sniff = c.sniffer(c.net.c, 'ca')
    ra, rc = c.rds(addr=AC4), c.rds(addr=C4, ns=c.net.c)
    ra.send(b'hello', C4, rc.port)
    rc.expect(b'hello', (AC4, ra.port), 5)
    rc.send(b'world!', AC4, ra.port)
    ra.expect(b'world!', (C4, rc.port), 5)
    flows = reassemble(sniff.segments())
    for src, data, mine, other in ((AC4, b'hello', ra, rc), (C4, b'world!', rc, ra)):
        mine_flows = [(k, frames(buf)) for k, buf in flows.items() if k[0] == src]
        first = mine_flows[0][1][0]
        equal(first[:48].hex(), header(0, 0, 0, MAP_BYTES, F_CONG).hex(), 'first header from ' + src)
        check(not any(first[48:]), 'map from %s is not empty', src)
        found = 0
        for (_, sport, dport), fs in mine_flows:
            # The numerically smaller address is the TCP client, on every path.
            equal(sport if src == AC4 else dport, RDS_TCP_PORT, 'port of the larger side')
            numbered = [f for f in fs if any(f[:8])]
            seqs = [int.from_bytes(f[:8], 'big') for f in numbered]
            equal(seqs, list(range(1, len(seqs) + 1)), 'numbers from ' + src)
            for seq, f in zip(seqs, numbered):
                if f[48:] == data:
                    ack = int.from_bytes(f[8:16], 'big')
                    check(ack <= 1 if OURS else not ack, 'acknowledgement %d in %r', ack, data)
                    equal(f[:48].hex(), header(seq, mine.port, other.port, len(data), ack=ack).hex(),
                          'header of %r' % data)
                    found += 1
        equal(found, 1, 'frames with %r' % data)


def reassemble(segments):
    """(source, source port, destination port) -> the bytes sent, in order of the first segments."""
    flows, isn = {}, {}
    for s in segments:
        key = (s.src, s.sport, s.dport)
        if s.flags & Sniffer.SYN:
            isn[key] = s.seq + 1
        if s.data and key in isn:
            at, buf = (s.seq - isn[key]) & 0xffffffff, flows.setdefault(key, bytearray())
            buf.extend(b'\0' * max(0, at + len(s.data) - len(buf)))
            buf[at:at + len(s.data)] = s.data
    return flows


def frames(buf):
    """The complete RDS frames of a flow."""
    out, at = [], 0
    while at + 48 <= len(buf):
        size = 48 + int.from_bytes(buf[at + 16:at + 20], 'big')
        out.append(bytes(buf[at:at + size]))
        at += size
    return out


# --- who may connect ------------------------------------------------------------------------------

@case('wire.listen_off', stacks=('ours',))
def listen_off(c):
    """A namespace that does not listen has no open port, and can dial all the same."""
    setting(c, 'tcp/listen', 0, 1)
    for family in (6, 4):
        p = c.peer('server', family, up=False)
        try:
            p.dial().close()
            raise Fail('A listens')
        except ConnectionRefusedError:
            pass
    r = c.rds()
    r.send(b'out', p.addr, 4000)
    p.conn = p.accept()
    p.expect(data=b'out')
    p.send(4000, r.port, b'back')
    r.expect(b'back')
    setting(c, 'tcp/listen', 1, 1)
    p.dial().close()


@case('wire.port_privileged', stacks=('ours',))
def port_privileged(c):
    """Peers have to connect from privileged ports, and A does so."""
    setting(c, 'tcp/peer_port_privileged', 1, 0)
    p = c.peer('server', up=False)
    was = drops(c.net.a).get('peer_denied', 0)
    conn = p.dial()
    # The reset may come while the dial still waits, which then tells of it.
    equal(conn.wait_closed()[1], b'', 'what A sends over a connection from another port')
    check(drops(c.net.a).get('peer_denied', 0) > was, 'no connection was counted as refused')
    check(not select.select([p.listener], [], [], 0.3)[0], 'A dials a peer that it refused')
    p.nudge = lambda: p.dial(1023).wait_closed()
    p.open()
    check(665 <= p.name[1] < 1024, 'A dials from port %d', p.name[1])
    p.ping()


# --- last, because it drops every connection of the namespace -------------------------------------

@case('wire.sysctl_drop')
def sysctl_drop(c):
    """Writing a buffer sysctl closes the connections with FIN; they come up again and go on."""
    p, q = c.peer('client'), c.peer('server')
    n = p.settle()
    q.settle()
    c.closes_all()
    with c.net.a, open('/proc/sys/net/rds/tcp/rds_tcp_rcvbuf', 'w', encoding='ascii') as f:
        f.write('200000')
    # The peers that other cases left are closed as well, which takes time in a slow guest.
    for x in (p, q):
        equal(x.conn.wait_closed(30)[0], 'EOF', 'end of a %s connection' % x.role)
        x.conn.close()
        x.open()
        x.ping()
    check(p.ping().seq > n, 'numbering restarted')
