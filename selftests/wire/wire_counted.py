# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Several paths between this module and a peer that counts them as 7.2 does (wire.rst)."""
import select

from lab import check, equal, eventually
from wire_ack import OURS_ONLY
from wire_paths import Path, further, greeting, several
from wirelib import case, drops, gen, npaths, tcp_info

SPORT_IDX = b'\x08\x00'
# So many flows use each of eight lanes.
MANY = 200


def counts(g, n=8):
    """The extensions of a handshake of 7.2."""
    return npaths(n) + gen(g) + SPORT_IDX


def own(n, m):
    """A's handshake to such a peer: the number of paths, its generation, and nothing private."""
    equal(m.ext[:4].hex(), '0500%02x06' % n, 'the number of paths of %s' % m.brief())
    equal(m.ext[8:].hex(), '0800' + '00' * 6, 'what follows the generation')


def raised(p, n=8):
    """A tells the number of paths."""
    m = p.conn.read()
    check(m, 'no handshake came')
    check(m.seq and (m.sport, m.dport) == (1, 0), 'no numbered handshake: %s', m.brief())
    own(n, m)
    return m


def asked(p):
    """A asks what the peer is, and says no number of paths."""
    m = p.conn.read()
    check(m and m.seq and (m.sport, m.dport) == (1, 0), 'no numbered handshake: %s', m and m.brief())
    equal((m.ext[0], m.ext[5:].hex()), (6, '0800' + '00' * 9), 'its elements')


def pong(p, g, n=8):
    p.send(0, 1, ext=counts(g, n))


def counted(c, g=80, offer=8, n=8):
    """A peer that A has dialled, and that has learned the number of paths, with its paths."""
    several(c)
    p = c.peer('server')
    p.auto = False
    greeting(p.conn.read(), 0)
    pong(p, g, offer)
    if n == 1:
        return p, {}
    raised(p, n)
    pong(p, g, offer)
    paths = further(p, n - 1)
    equal(sorted(paths), list(range(1, n)), 'indexes of further connections')
    return p, paths


def alone(p, what):
    """A opens no further connection before it has answered this ping and has had time to dial."""
    p.send(7700, 0)
    while True:
        m = p.conn.read()
        check(m, 'no answer to the ping')
        if m.dport == 7700:
            break
    check(not select.select([p.listener], [], [], 0.5)[0], 'a further connection %s', what)


def spread(p, paths, r, tag):
    """Messages of many flows come over all paths; the number of the first one on each."""
    for i in range(MANY):
        r.send(b'%s %d' % (tag, i), p.addr, 4000 + i)
    first, got = {}, set()
    every = dict(paths)
    every[0] = p
    while len(got) < MANY:
        for i, q in every.items():
            m = q.conn.read(0.01)
            while m:
                if m.sport not in (0, 1) and not m.is_map:
                    first.setdefault(i, m.seq)
                    got.add(m.data)
                m = q.conn.read(0.01)
    equal(got, {b'%s %d' % (tag, i) for i in range(MANY)}, 'messages that came')
    equal(sorted(first), sorted(every), 'paths with messages')
    return first


def ended(paths):
    """A has ended these paths, and the peer does."""
    for q in paths.values():
        q.conn.wait_closed()
        q.conn.close()


@case('wire.counted_raise', stacks=OURS_ONLY)
def counted_raise(c):
    """The number of paths rises when the peer has answered a handshake that says it, not before;
    then A dials all further paths, greets on none, and distributes messages over all."""
    several(c)
    p = c.peer('server')
    p.auto = False
    m = p.conn.read()
    greeting(m, 0)
    equal(m.ext[:3].hex(), '050001', 'paths that A offers to a peer it does not know')
    # A ping of the peer, ahead of its answer: A has not seen that the peer knows the number.
    p.send(1, 0, ext=counts(80))
    m = p.conn.read()
    equal((m.sport, m.dport), (0, 1), 'the answer')
    own(8, m)
    alone(p, 'while the first handshake has no answer')
    pong(p, 80)
    raised(p)
    alone(p, 'while the number of paths has no answer')
    pong(p, 80)
    paths = further(p, 7)
    equal(sorted(paths), list(range(1, 8)), 'indexes of further connections')
    r = c.rds(sndbuf=1 << 20)
    first = spread(p, paths, r, b'a')
    equal({i: first[i] for i in paths}, {i: 1 for i in paths}, 'first numbers')
    for i, q in paths.items():
        q.send(4000 + i, r.port, b'from %d' % i, seq=1)
        r.expect(b'from %d' % i)


@case('wire.counted_numbers', stacks=OURS_ONLY)
def counted_numbers(c):
    """NPATHS 3 is 2, 16 is all that A has; 0 and 1 are one path."""
    for i, (offer, n) in enumerate(((3, 2), (16, 8), (0, 1), (1, 1))):
        p, paths = counted(c, 81 + i, offer, n)
        r = c.rds(sndbuf=1 << 20)
        if paths:
            spread(p, paths, r, b'n')
        else:
            alone(p, 'for NPATHS %d' % offer)
        c.stack.close()


@case('wire.counted_lost', stacks=OURS_ONLY)
def counted_lost(c):
    """A further path ends: A asks over path 0 whether the peer still counts, and dials then."""
    p, paths = counted(c, 86)
    paths[3].conn.reset()
    raised(p)
    alone(p, 'before the peer has answered')
    pong(p, 86)
    q = further(p, 1)
    equal(list(q), [3], 'index of the connection')
    r = c.rds(sndbuf=1 << 20)
    paths.update(q)
    spread(p, paths, r, b'b')


@case('wire.counted_restart', stacks=OURS_ONLY)
def counted_restart(c):
    """The peer restarts: the other paths end, and come again when the new incarnation has the
    number of paths. Its numbers begin anew on each."""
    p, paths = counted(c, 87)
    r = c.rds(sndbuf=1 << 20)
    for i, q in paths.items():
        q.send(4000, r.port, b'before', seq=50)
        r.expect(b'before')
    was = drops(c.net.a).get('wrong_path', 0)
    p.conn.reset()
    p.open()
    p.seq = 0
    asked(p)
    pong(p, 88)
    raised(p)
    ended(paths)
    equal(drops(c.net.a).get('wrong_path', 0) - was, 7, 'paths that ended')
    alone(p, 'before the peer has answered')
    pong(p, 88)
    paths = further(p, 7)
    spread(p, paths, r, b'c')
    for q in paths.values():
        # Flagged as repeated, and far below the numbers of the earlier incarnation.
        q.send(4000, r.port, b'after', seq=1, flags=4)
        r.expect(b'after')


def dial(p, port):
    return Path(p, p.dial(sport=port))


@case('wire.counted_dials', stacks=OURS_ONLY)
def counted_dials(c):
    """A peer that A does not know opens all paths at once, path 3 first: each connection gets to
    the path that its port tells."""
    several(c)
    p = c.peer('client', up=False)
    r = c.rds(sndbuf=1 << 20)
    paths = {}
    for i in (3, 1, 2, 0, 7, 6, 5, 4):
        paths[i] = dial(p, 41000 + i)
        paths[i].send(4000, r.port, b'path %d' % i, seq=i + 1, flags=4)
    p.conn = paths[0].conn
    p.auto = False
    m = p.conn.read()
    check(m and m.is_map, 'no map came over path 0')
    greeting(p.conn.read(), 0)
    r.expect(b'path 0')
    r.empty()
    p.seq = 1
    pong(p, 90)
    raised(p)
    pong(p, 90)
    got = sorted(r.recv()[0] for _ in range(7))
    equal(got, [b'path %d' % i for i in range(1, 8)], 'messages of the further paths')
    del paths[0]
    spread(p, paths, r, b'd')


def all_dialled(c, g, port):
    """A peer that opens all paths, from this port on, and has learned the number."""
    several(c)
    p = c.peer('client', up=False)
    paths = {i: dial(p, port + i) for i in range(8)}
    p.conn, p.auto = paths.pop(0).conn, False
    m = p.conn.read()
    check(m and m.is_map, 'no map came over path 0')
    greeting(p.conn.read(), 0)
    pong(p, g)
    raised(p)
    pong(p, g)
    return p, paths


def over_one(p, r, tag):
    """All messages of many flows come over path 0."""
    for i in range(MANY):
        r.send(b'%s %d' % (tag, i), p.addr, 4000 + i)
    got = set()
    while len(got) < MANY:
        m = p.conn.read()
        check(m, '%d of %d messages came', len(got), MANY)
        if m.dport >= 4000:
            got.add(m.data)


@case('wire.counted_astray', stacks=OURS_ONLY)
def counted_astray(c):
    """Path 3 comes alone, and A takes it for path 0 after a while. When the peer turns out to count
    paths the connection ends, and what came over it was delivered."""
    several(c)
    p = c.peer('client', up=False)
    r = c.rds()
    was = drops(c.net.a).get('wrong_path', 0)
    q = dial(p, 41011)
    q.send(4000, r.port, b'once', seq=70)
    m = q.conn.read()
    check(m and m.is_map, 'no map came')
    greeting(q.conn.read(), 0)
    q.send(0, 1, ext=counts(91), seq=71)
    q.send(4000, r.port, b'twice', seq=72)
    q.conn.wait_closed()
    q.conn.close()
    r.expect(b'once')
    equal(drops(c.net.a).get('wrong_path', 0) - was, 1, 'connections in the wrong place')
    # Path 0 expects no number of path 3.
    p.conn = dial(p, 41008).conn
    p.auto, p.seq = False, 0
    m = p.conn.read()
    check(m and m.is_map, 'no map came over path 0')
    p.send(4000, r.port, b'zero', flags=4)
    eventually(lambda: b'zero' in take_all(r), 'the message of path 0')


def take_all(r):
    got, seen = r.recv_now(), []
    while got:
        seen.append(got[0])
        got = r.recv_now()
    return seen


@case('wire.counted_elsewhere', stacks=OURS_ONLY)
def counted_elsewhere(c):
    """The restart shows on path 3 first: all further paths end, and path 0 stays."""
    p, paths = counted(c, 92)
    paths[3].send(1, 0, ext=counts(93), seq=1)
    ended(paths)
    raised(p)
    pong(p, 93)
    paths = further(p, 7)
    r = c.rds(sndbuf=1 << 20)
    spread(p, paths, r, b'e')


@case('wire.counted_replaced', stacks=OURS_ONLY)
def counted_replaced(c):
    """A host with 6.12 has the address now. It never hears of several paths, and gets all messages
    over one."""
    p, paths = counted(c, 94)
    r = c.rds(sndbuf=1 << 20)
    for q in paths.values():
        q.conn.reset()
    p.conn.reset()
    p.open()
    p.seq = 0
    asked(p)
    for i in range(MANY):
        r.send(b'f %d' % i, p.addr, 4000 + i)
    p.send(0, 1, ext=npaths(8))
    got = set()
    while len(got) < MANY:
        m = p.conn.read()
        check(m, '%d of %d messages came', len(got), MANY)
        # A ping of the last connection comes again, without the number of paths.
        check(m.dport or m.ext[0] == 6, 'several paths: %s', m.brief())
        if m.dport:
            got.add(m.data)
    alone(p, 'to a peer that does not tell which path it is')


@case('wire.counted_replaced_astray', stacks=OURS_ONLY)
def counted_replaced_astray(c):
    """The same, and that host dials, from a port that would be of path 3."""
    p, paths = all_dialled(c, 95, 42000)
    r = c.rds(sndbuf=1 << 20)
    spread(p, paths, r, b'g')
    for q in list(paths.values()) + [p]:
        q.conn.reset()
    p.conn = dial(p, 42011).conn
    p.seq = 0
    asked(p)
    p.send(0, 1, ext=npaths(8))
    p.conn.wait_closed()
    p.conn.close()
    p.conn = p.open_client(3)
    over_one(p, r, b'h')


@case('wire.counted_knocks', stacks=OURS_ONLY)
def counted_knocks(c):
    """All paths are down, and a message waits for another one than path 0: A, with the larger
    address, knocks for path 0."""
    p, paths = all_dialled(c, 96, 43000)
    r = c.rds(sndbuf=1 << 20)
    spread(p, paths, r, b'i')
    port = port_of(p, paths, r)
    for q in list(paths.values()) + [p]:
        q.conn.reset()
    eventually(lambda: not tcp_info(c.net.a, p.addr), 'all connections have ended')
    r.send(b'waits', p.addr, port)
    p.accept(5).close()
    equal(p.name[1] % 8, 0, 'path for which A knocks')


def port_of(p, paths, r):
    """A port whose messages do not come over path 0."""
    for port in range(6000, 6100):
        r.send(b'which', p.addr, port)
        ready = select.select([q.conn.s for q in paths.values()], [], [], 0.3)[0]
        if ready:
            return port
        p.conn.read(0.1)
    raise AssertionError('all messages come over path 0')
