# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Paths between several addresses, between this module and a peer that tells some (wire.rst)."""
import itertools
import socket
import struct

from lab import A4, AC4, C4, Fail, check, equal, eventually, ip_batch
from wire_ack import OURS_ONLY, frame
from wire_paths import ACK, LANES, MANY, PATHS, Path, greeting, several
from wirelib import Closed, case, drops, gen, header, npaths

ADDRS = 0x1000
ALL = ACK | PATHS | LANES | ADDRS
# A's further address, on the link to B
FURTHER = '10.0.0.250'
TOKEN = bytes(range(1, 9))


def mapped(addr):
    return bytes(10) + b'\xff\xff' + socket.inet_aton(addr)


def offer(g, index, caps=ALL):
    return npaths(1) + gen(g) + struct.pack('>BI', 7, caps | index << 16)


def join(token, sender, receiver):
    """The first frame of a connection between further addresses."""
    return header(0, 0, 0, 48, 0, b'') + b'RDS JOIN' + token + mapped(sender) + mapped(receiver)


def addresses(token, *addrs):
    return token + b''.join(mapped(a) for a in addrs)


def has_sets(c, text):
    """A's addresses belong together for the rest of the case."""
    def write(value):
        with c.net.a, open('/proc/sys/net/rds/path_addresses', 'w', encoding='ascii') as f:
            f.write(value + '\n')

    several(c)
    # It stays, as connections of the test do to the end of the run.
    ip_batch(['addr replace %s/23 dev ab' % FURTHER], 'A')
    write(text)
    c.stack.callback(write, '')


def sets_up(c, role, further=FURTHER):
    """A peer of A, which has two addresses, and has greeted over path 0."""
    has_sets(c, '%s,%s' % (A4, further))
    return greeted(c, role)


def greeted(c, role):
    p = c.peer(role, up=role == 'server')
    p.auto = False
    if role == 'client':
        # A waits for the first frame, which may be another one.
        p.conn = p.dial(sport=port_of(0))
        p.send(1, 0, ext=offer(71, 0), seq=0)
    greeting(frame(p, 'the handshake'), 0, ALL)
    return p


def told(m, further=FURTHER):
    """A tells its further address; returns the token."""
    equal((m.seq, m.ack, m.sport, m.dport, m.flags, m.ext), (0, 0, 0, 0, 0, bytes(16)), 'what A tells')
    equal(m.data[8:], mapped(further), 'its address')
    check(any(m.data[:8]), 'no token')
    return m.data[:8]


def wants_all(c, p):
    """Messages of all lanes wait."""
    r = c.rds(sndbuf=1 << 20)
    for port in range(4000, 4000 + MANY):
        r.send(b'x', p.addr, port)
    return r


def joined(c, p, q, conn, index):
    """A's connection between further addresses says who joins whom, and then greets."""
    path = Path(p, conn)
    m = frame(path, 'the first frame')
    equal(m.raw, join(TOKEN, A4, p.addr), 'the first frame')
    greeting(frame(path, 'the handshake'), index, ALL)
    equal(path.conn.s.getpeername()[0], FURTHER, 'where A dials from')
    equal(path.conn.s.getsockname()[0], q.addr, 'where A dials to')
    return path


def in_turn(p, q):
    """A dials both addresses of the peer: {index: connection}."""
    got = {}
    for h in [p] * 3 + [q] * 4:
        conn = h.accept()
        got[h.name[1] % 8] = (h, conn)
    return got


@case('wire.addrs_dials', stacks=OURS_ONLY)
def addrs_dials(c):
    """A tells its further address to a peer that A dials, and dials no further path before the peer
    has told its own. Then each second path is between the further addresses."""
    p, q = sets_up(c, 'server'), c.peer('server', up=False)
    p.send(0, 1, ext=offer(70, 0), seq=0, ack=0)
    m = frame(p, 'what A tells')
    check(told(m) != TOKEN, 'the token is no secret')
    r, last, seen = wants_all(c, p), [0] * 8, set()
    # No other path is up, so path 0 carries all lanes.
    eventually(lambda: ask(p, last, seen) == MANY, 'all messages over path 0')
    p.send(0, 0, addresses(TOKEN, q.addr), seq=0)
    conns = in_turn(p, q)
    equal(sorted(conns), list(range(1, 8)), 'indices of further paths')
    for i, (h, conn) in sorted(conns.items()):
        equal(h is q, i % 2 == 1, 'path %d goes to the further address' % i)
        if h is q:
            path = joined(c, p, q, conn, i)
        else:
            path = Path(p, conn)
            greeting(frame(path, 'the handshake'), i, ALL)
            equal(conn.s.getpeername()[0], A4, 'where A dials from')
        path.send(0, 1, ext=offer(70, i), ack=last[i])
        path.send(1, 0, ext=offer(70, i))
        m = frame(path, 'the answer over path %d' % i)
        equal((m.sport, m.dport), (0, 1), 'the answer over path %d' % i)
    for i, (_, conn) in sorted(conns.items()):
        eventually(lambda i=i, conn=conn: has_own(p, r, last, conn), 'a message of path %d over it' % i)


def has_own(p, r, last, conn):
    """Does a message come over a further path itself? What path 0 carries is acknowledged, so that the
    lane goes back."""
    for port in range(4000, 4000 + MANY):
        r.send(b'y', p.addr, port)
    ask(p, last, set())
    while m := conn.read(0.05):
        if (m.data, m.ext[0]) == (b'y', 0):
            return True
    return False


def ask(p, last, seen):
    """Take what A sends over path 0 before it answers, and acknowledge it: `last` is the number of the
    last message of each lane. Returns the number of ports that got a message."""
    p.send(1, 0, ext=offer(70, 0), seq=0)
    while (m := frame(p, 'the answer')).dport != 1:
        if m.seq:
            lane = m.ext[1] if m.ext[0] == 10 else 0
            last[lane] = max(last[lane], m.seq)
            seen.add(m.dport)
    p.send(0, 0, struct.pack('>8Q', *last), seq=0, ack=last[0])
    return len(seen)


# What no peer can tell: the length of a payload, or addresses of which A can dial none
NONE = (b'x' * 7, TOKEN + b'x' * 15, TOKEN + mapped('10.0.0.9') * 8, TOKEN + mapped('127.0.0.1'),
        TOKEN + mapped('224.0.0.1'), TOKEN + mapped('0.0.0.0'), TOKEN + mapped(A4),
        TOKEN + mapped('10.0.0.9') * 2, TOKEN + socket.inet_pton(socket.AF_INET6, 'fd00::9'))


@case('wire.addrs_bad', stacks=OURS_ONLY)
def addrs_bad(c):
    """What no peer can tell is counted, and further paths are between the first addresses."""
    has_sets(c, '%s,%s' % (A4, FURTHER))
    for bad in NONE:
        p = greeted(c, 'server')
        was = drops(c.net.a).get('bad_addresses', 0)
        p.send(0, 1, ext=offer(70, 0), seq=0, ack=0)
        told(frame(p, 'what A tells'))
        wants_all(c, p)
        p.send(0, 0, bad, seq=0)
        for _ in range(7):
            conn = p.accept()
            path = Path(p, conn)
            greeting(frame(path, 'the handshake'), p.name[1] % 8, ALL)
            equal(conn.s.getpeername()[0], A4, 'where A dials from')
        equal(drops(c.net.a).get('bad_addresses', 0) - was, 1, 'bad addresses of %r' % bad)


PORTS = itertools.count(41024, 8)


def port_of(index):
    """A source port that tells the index, and that no connection has had."""
    return next(PORTS) + index


def host(c):
    """A host that only dials to A's further address."""
    h = c.peer('server', up=False, listen=False)
    h.aaddr = FURTHER
    return h


def dials_in(c):
    """A peer that dials, and whose further address A knows: (peer, host of it, A's token)."""
    p, q = sets_up(c, 'client'), host(c)
    p.send(0, 1, ext=offer(71, 0), seq=0, ack=0)
    for _ in range(2):
        m = frame(p, 'the answer')
        equal((m.seq, m.sport, m.dport), (0, 0, 1), 'A waits for the end that dials to tell')
        p.send(1, 0, ext=offer(71, 0), seq=0)
    equal(frame(p, 'the answer').dport, 1, 'the last answer')
    p.send(0, 0, addresses(TOKEN, q.addr), seq=0)
    return p, q, told(frame(p, 'what A tells'))


def works(c, p, path, index, seq=1):
    """A greets over the path, and takes a message."""
    greeting(frame(path, 'the handshake'), index, ALL)
    path.send(1, 0, ext=offer(71, index))
    m = frame(path, 'the answer')
    equal((m.sport, m.dport, m.ack), (0, 1, seq - 1), 'the answer')
    r = c.rds()
    path.send(4000, r.port, b'once', seq=seq)
    r.expect(b'once', (p.addr, 4000))
    r.empty()


@case('wire.addrs_joins', stacks=OURS_ONLY)
def addrs_joins(c):
    """A takes connections between further addresses that say what A told: as paths of the peer, whether
    the first frame comes whole or in pieces, and from any of its addresses to any of A's."""
    p, q, token = dials_in(c)
    conn = q.dial(sport=port_of(1))
    conn.write(join(token, p.addr, A4))
    works(c, p, Path(p, conn), 1)
    conn = q.dial(sport=port_of(3))
    first = join(token, p.addr, A4)
    for at in range(0, len(first), 7):
        conn.write(first[at:at + 7])
    works(c, p, Path(p, conn), 3)
    q.aaddr, p.aaddr = A4, FURTHER
    for h, index in ((q, 5), (p, 7)):
        conn = h.dial(sport=port_of(index))
        conn.write(join(token, p.addr, A4) + p.frame(1, 0, seq=0, ext=offer(71, index)))
        path = Path(p, conn)
        greeting(frame(path, 'the handshake'), index, ALL)
        equal(frame(path, 'the answer').dport, 1, 'the answer over path %d' % index)


@case('wire.addrs_refused', stacks=OURS_ONLY)
def addrs_refused(c):
    """A connection with another token, from an address that was not told, for path 0, or between hosts
    that do not know each other is closed and counted, and nothing of it is delivered."""
    p, q, token = dials_in(c)
    r, stranger = c.rds(), host(c)
    wrong = bytes(token[:7]) + bytes((token[7] ^ 1,))
    for what, h, index, first in (
            ('a wrong token', q, 1, join(wrong, p.addr, A4)),
            ('no token', q, 1, join(bytes(8), p.addr, A4)),
            ('an address that was not told', stranger, 1, join(token, p.addr, A4)),
            ('path 0', q, 0, join(token, p.addr, A4)),
            ('another host', q, 1, join(token, stranger.addr, A4)),
            ('another local host', q, 1, join(token, p.addr, FURTHER))):
        was = drops(c.net.a).get('bad_join', 0)
        conn = h.dial(sport=port_of(index))
        conn.write(first + p.frame(1, 0, seq=0, ext=offer(71, index)) + p.frame(4000, r.port, b'no', seq=1))
        equal(conn.wait_closed()[1], b'', 'what A says to ' + what)
        equal(drops(c.net.a).get('bad_join', 0) - was, 1, 'refused for ' + what)
    r.empty()
    # The peer itself goes on.
    conn = q.dial(sport=port_of(1))
    conn.write(join(token, p.addr, A4))
    works(c, p, Path(p, conn), 1)


@case('wire.addrs_stray', stacks=OURS_ONLY)
def addrs_stray(c):
    """A connection that says too late that it joins is ended, also when A knows by then that its two
    addresses have several paths: what follows is not for them."""
    p, q, token = dials_in(c)
    r = c.rds(addr=FURTHER)

    def is_ended(conn, first):
        was = drops(c.net.a).get('bad_join', 0)
        conn.write(first + p.frame(1, 0, seq=0, ext=offer(71, 1)) + p.frame(4000, r.port, b'no', seq=1))
        conn.wait_closed(8.0)
        equal(drops(c.net.a).get('bad_join', 0) - was, 1, 'strays')

    late = q.dial(sport=port_of(1))
    check(late.read(8.0).is_map, 'no map came')
    is_ended(late, join(token, p.addr, A4))
    q.conn = q.dial(sport=port_of(0))
    q.send(1, 0, ext=offer(72, 0), seq=0)
    while frame(q, 'the answer').dport != 1:
        pass
    for _ in range(2):
        late = Path(p, q.dial(sport=port_of(1)))
        greeting(frame(late, 'the handshake', 8.0), 1)
        is_ended(late.conn, join(token, p.addr, A4))
    r.empty()


@case('wire.addrs_listed', stacks=OURS_ONLY)
def addrs_listed(c):
    """A path between further addresses ends when a list leaves out one of these, and no other path
    does: it is refused then, until it is in the list again."""
    p, q, token = dials_in(c)
    c.closes_all()
    for seq, (name, good, why) in enumerate((('listen_networks', A4, 'address_denied'),
                                             ('peer_networks', p.addr, 'peer_denied')), 1):
        conn = q.dial(sport=port_of(1))
        conn.write(join(token, p.addr, A4))
        works(c, p, Path(p, conn), 1, seq)
        c.stack.callback(networks, c, name, '')
        networks(c, name, good)
        conn.wait_closed()
        was = drops(c.net.a).get(why, 0)
        equal(q.dial(sport=port_of(1)).wait_closed()[1], b'', 'what A says to a connection that is not listed')
        check(drops(c.net.a).get(why, 0) > was, 'not counted as ' + why)
        p.send(1, 0, ext=offer(71, 0), seq=0)
        equal(frame(p, 'the answer over path 0').dport, 1, 'the answer over path 0')
        networks(c, name, '')
    conn = q.dial(sport=port_of(1))
    conn.write(join(token, p.addr, A4))
    works(c, p, Path(p, conn), 1, 3)


def networks(c, name, text):
    with c.net.a, open('/proc/sys/net/rds/' + name, 'w', encoding='ascii') as f:
        f.write(text + '\n')


@case('wire.addrs_setting', stacks=OURS_ONLY)
def addrs_setting(c):
    """A keeps its word to a peer when the setting changes."""
    p, q, token = dials_in(c)
    with c.net.a, open('/proc/sys/net/rds/path_addresses', 'w', encoding='ascii') as f:
        f.write('\n')
    conn = q.dial(sport=port_of(1))
    conn.write(join(token, p.addr, A4))
    works(c, p, Path(p, conn), 1)


def let_in(other):
    """A path in teardown refuses a connection."""
    other.conn = other.dial_patiently(3.0)
    try:
        other.send(1, 0, ext=npaths(1) + gen(72), seq=1)
        return other.conn.read(8.0).is_map
    except Closed:
        return False


@case('wire.addrs_plain', stacks=OURS_ONLY)
def addrs_plain(c):
    """A connection to one of A's addresses that begins otherwise, or says nothing for a while, is one
    of the two hosts that it is between. Many silent ones keep nobody out."""
    p, q, token = dials_in(c)
    other = host(c)
    silent = [other.dial() for _ in range(80)]
    conn = q.dial(sport=port_of(1))
    conn.write(join(token, p.addr, A4))
    works(c, p, Path(p, conn), 1)
    check(silent[0].read(5.0).is_map, 'no map came')
    for conn in silent:
        conn.reset()
    eventually(lambda: let_in(other), 'a connection', 10)
    r = c.rds(addr=FURTHER)
    other.send(4000, r.port, b'plain', seq=2)
    r.expect(b'plain')


IMPOSTURES = (
    ('a map', lambda p, i: header(0, 0, 0, 8192, 1, b'') + bytes(8192)),
    ('a message', lambda p, i: p.frame(4000, 4001, b'no', seq=1)),
    ('a message without a number', lambda p, i: p.frame(4000, 4001, b'no', seq=0)),
    ('an acknowledgement', lambda p, i: p.frame(0, 0, seq=0, ack=1)),
    ('an old handshake without a number', lambda p, i: p.frame(1, 0, seq=0, ext=npaths(1))),
    ('an old handshake', lambda p, i: p.frame(1, 0, seq=1, ext=npaths(1) + gen(99))),
    ('another generation', lambda p, i: p.frame(1, 0, seq=0, ext=offer(99, i))),
    ('another path', lambda p, i: p.frame(1, 0, seq=0, ext=offer(70, 0))),
    ('another generation and path', lambda p, i: p.frame(1, 0, seq=0, ext=offer(99, 0))),
)


@case('wire.addrs_impostor', stacks=OURS_ONLY)
def addrs_impostor(c):
    """Another host has the address that the peer told, and talks first: the connection ends, and what A
    knows of the peer stays as it was."""
    p, q = sets_up(c, 'server'), c.peer('server', up=False)
    p.send(0, 1, ext=offer(70, 0), seq=0, ack=0)
    told(frame(p, 'what A tells'))
    # A connection that has carried handshakes only ends after 10 s, and the impostors may take as long.
    r, last = c.rds(), [0] * 8
    r.send(b'x', p.addr, 4001)
    eventually(lambda: ask(p, last, seen := set()) and 4001 in seen, 'the first message at the peer')
    p.send(0, 0, addresses(TOKEN, q.addr), seq=0)
    was = drops(c.net.a).get('peer_rebooted', 0)
    for what, talk in IMPOSTURES:
        conn = q.accept(8.0)
        conn.write(talk(p, q.name[1] % 8))
        try:
            conn.wait_closed()
        except Fail:
            check(False, 'A goes on after %s', what)
    equal(drops(c.net.a).get('peer_rebooted', 0), was, 'incarnations of the peer')
    # A still knows the peer's address, and acknowledges by number.
    r.send(b'x', p.addr, 4000)
    eventually(lambda: ask(p, last, seen := set()) and 4000 in seen, 'a message at the peer')
    conn = q.accept(8.0)
    joined(c, p, q, conn, q.name[1] % 8)


@case('wire.addrs_of_others', stacks=OURS_ONLY)
def addrs_of_others(c):
    """A peer names the address of another host with this module, C: what A sends to the peer goes to
    the peer alone, whatever A tries with C."""
    p = sets_up(c, 'server', AC4)
    p.send(0, 1, ext=offer(70, 0), seq=0, ack=0)
    told(frame(p, 'what A tells'), AC4)
    sink = [c.rds(port, ns=c.net.c, addr=C4) for port in range(4000, 4000 + 20)]
    got, ended = set(), ('wrong_path', 'peer_replaced', 'peer_closed', 'peer_reset')
    was = sum(drops(c.net.a).get(k, 0) for k in ended)
    wants_all(c, p)
    p.send(0, 0, addresses(TOKEN, C4), seq=0)
    paths = {0: Path(p, p.conn)}
    for _ in range(3):
        conn = p.accept()
        i = p.name[1] % 8
        paths[i] = Path(p, conn)
        greeting(frame(paths[i], 'the handshake'), i, ALL)
        paths[i].send(0, 1, ext=offer(70, i), ack=0)
    equal(sorted(paths), [0, 2, 4, 6], 'indices of paths to the peer')
    last = [0] * 8

    def all_came():
        for i, path in paths.items():
            while m := path.conn.read(0.01):
                if m.seq and m.data == b'x':
                    at = m.ext[1] if m.ext[0] == 10 else i
                    last[at] = max(last[at], m.seq)
                    got.add(m.dport)
                if m.sport == 1:
                    path.send(0, 1, ext=offer(70, i), ack=last[i])
            path.send(0, 0, struct.pack('>8Q', *last), ack=last[i])
        return len(got) == MANY

    eventually(all_came, 'all messages at the peer', 10)
    eventually(lambda: sum(drops(c.net.a).get(k, 0) for k in ended) > was, "the end of A's connection to C", 10)
    for r in sink:
        r.empty()
