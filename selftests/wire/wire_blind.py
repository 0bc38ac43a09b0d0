# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Several paths between this module and a peer that counts them and does not show which path a
connection is, as 6.1 and 6.12 (wire.rst)."""
import errno
import select

from lab import check, equal, eventually
from wire_ack import OURS_ONLY
from wire_counted import alone, dial, over_one, raised
from wire_paths import Path, further, greeting, several
from wirelib import Sniffer, case, drops, npaths, pattern, tcp_info

# So many flows use each of eight lanes.
MANY = 200
# The ports from which such a peer dials say nothing: all of these are of one path of 7.2.
PORT = 44005


def old(c, n=8, paths=8):
    """Let A have so many paths with such a peer for the rest of the case."""
    several(c, paths)
    write(c.net.a, n)
    c.stack.callback(write, c.net.a, 1)


def write(ns, value):
    """Write the setting; the error, or None."""
    try:
        with ns, open('/proc/sys/net/rds/paths_old', 'w', encoding='ascii') as f:
            f.write('%s' % value)
    except OSError as e:
        return errno.errorcode[e.errno]
    return None


def value(ns):
    with ns, open('/proc/sys/net/rds/paths_old', encoding='ascii') as f:
        return int(f.read())


def pong(p, n=8):
    p.send(0, 1, ext=npaths(n))


def rises(p, n=8):
    """The peer says what it is, and learns the number of paths."""
    pong(p)
    raised(p, n)
    pong(p)


def server(c, n=8, **kw):
    """A peer that A dials, and its further paths, in the order in which A dials them."""
    old(c, n, **kw)
    p = c.peer('server')
    p.auto = False
    greeting(p.conn.read(), 0)
    rises(p, n)
    return p, in_order(p, list(range(1, n)))


def in_order(p, indexes, **kw):
    """A dials these paths, each when the peer has answered over the one before."""
    paths = {}
    for i in indexes:
        paths.update(further(p, 1))
        equal(list(paths)[-1], i, 'path that dials next')
        placed(p, paths[i], i, **kw)
    return paths


def placed(p, q, i, seq=1):
    """A pings over the path, and does not dial before the answer."""
    m = q.conn.read()
    while m and m.dport:
        m = q.conn.read()
    check(m and m.is_probe and m.ext[0] == 6, 'no handshake without a number: %s', m and m.brief())
    if i == 1:
        check(not select.select([p.listener], [], [], 0.3)[0], 'A dials before the answer')
    q.send(0, 1, seq=seq, ext=npaths(8))


def client(c, n=8):
    """A peer that dials, and its further paths, by the place in which A has them."""
    old(c, n)
    p = c.peer('client', up=False)
    p.conn, p.auto = dial(p, PORT - 5).conn, False
    m = p.conn.read()
    check(m and m.is_map, 'no map came over path 0')
    greeting(p.conn.read(), 0)
    rises(p, n)
    paths = {}
    for i in range(1, n):
        paths[i] = another(p, i)
    return p, paths


def another(p, i, seq=1000, early=None):
    """The peer dials, and A takes the connection."""
    q = dial(p, PORT + 8 * i)
    if early:
        early(q)
    q.send(7900 + i, 0, seq=seq)
    while True:
        m = q.conn.read()
        check(m, 'no answer to a ping over connection %d', i)
        if m.dport == 7900 + i:
            return q


def spread(p, paths, r, tag):
    """Messages of many flows come over all paths: the path of each flow. Nothing comes twice."""
    for i in range(MANY):
        r.send(b'%s %d' % (tag, i), p.addr, 4000 + i)
    got, every = {}, dict(paths)
    every[0] = p
    while len(got) < MANY:
        for i, q in every.items():
            m = q.conn.read(0.01)
            while m:
                if m.dport >= 4000 and not m.is_map and not m.is_probe:
                    equal(m.data, b'%s %d' % (tag, m.dport - 4000), 'a message of path %d' % i)
                    check(m.dport not in got, 'message %r came twice', m.data)
                    got[m.dport] = i
                m = q.conn.read(0.01)
    equal(sorted(set(got.values())), sorted(every), 'paths with messages')
    return got


@case('wire.blind_default', stacks=OURS_ONLY, roles=('client', 'server'))
def blind_default(c, role, family):  # pylint: disable=unused-argument
    """By default there is one path with such a peer, however many A has: A says so."""
    equal(value(c.net.a), 1, 'the default')
    several(c)
    p = c.peer(role)
    p.auto = False
    greeting(p.conn.read(), 0)
    p.handshake(npaths(8))
    m = p.conn.read()
    equal((m.sport, m.dport, m.ext[:3].hex()), (0, 1, '050001'), 'the answer')
    pong(p)
    if role == 'server':
        alone(p, 'by default')
        return
    was = drops(c.net.a).get('peer_parked', 0)
    q = dial(p, PORT)
    q.conn.wait_closed()
    equal(drops(c.net.a).get('peer_parked', 0) - was, 1, 'connections that A did not take')


@case('wire.blind_setting', stacks=OURS_ONLY)
def blind_setting(c):
    """Values from 1 to 8, for each namespace alone; a power of two counts, up to `paths`."""
    for bad in ('0', '9', '-1', 'x', '4294967297'):
        equal((write(c.net.a, bad), value(c.net.a)), ('EINVAL', 1), 'after writing ' + bad)
    old(c)
    equal((value(c.net.a), value(c.net.b)), (8, 1), 'values of two namespaces')
    for n, paths, used in ((3, 8, 2), (8, 4, 4), (8, 1, 1)):
        old(c, n, paths)
        p = c.peer('server')
        p.auto = False
        p.conn.read()
        p.handshake(npaths(8))
        m = p.conn.read()
        equal((m.sport, m.dport, m.ext[:3].hex()), (0, 1, '0500%02x' % used), 'the answer')
        pong(p)
        if used > 1:
            raised(p, used)
            pong(p)
            in_order(p, list(range(1, used)))
        alone(p, 'beyond %d' % used)
        c.stack.close()
    equal(value(c.net.a), 1, 'after all')


@case('wire.blind_dials', stacks=OURS_ONLY)
def blind_dials(c):
    """A dials one path after the other, so that the peer, which takes each for its first one that
    is down, has them in the same places. After a loss of several only the lowest dials."""
    p, paths = server(c)
    r = c.rds(sndbuf=1 << 20)
    lanes = spread(p, paths, r, b'a')
    for i, q in paths.items():
        q.send(4000 + i, r.port, b'from %d' % i, seq=2)
        r.expect(b'from %d' % i)
    sniffer = c.sniffer()
    p.listener.close()
    for i in (6, 2, 4):
        paths[i].conn.reset()
    # Path 6 may dial before the others are down.
    eventually(lambda: len(tcp_info(c.net.a, p.addr)) == 5, 'connections that are left')
    refused(p, sniffer)
    dials = set()
    eventually(lambda: dials.update(refused(p, sniffer)) or len(dials) > 2, 'dials that are refused')
    equal({port % 8 for port in dials}, {2}, 'paths that dial')
    p.listen()
    paths.update(in_order(p, [2, 4, 6], seq=3))
    equal(spread(p, paths, r, b'b'), lanes, 'lanes of all flows')


def refused(p, sniffer):
    """The ports from which A has dialled."""
    return {s.sport for s in sniffer.segments()
            if s.flags & (Sniffer.SYN | Sniffer.ACK) == Sniffer.SYN and s.dst == p.addr}


@case('wire.blind_zero', stacks=OURS_ONLY)
def blind_zero(c):
    """Path 0 is lost with another one: path 0 comes first."""
    p, paths = server(c, 4)
    r = c.rds(sndbuf=1 << 20)
    lanes = spread(p, paths, r, b'c')
    # Path 2, lost first, would dial before path 0 is lost.
    p.conn.reset()
    paths[2].conn.reset()
    p.open()
    p.seq = 0
    equal(p.name[1] % 8, 0, 'path that dials first')
    m = p.conn.read()
    check(m and m.is_probe and m.ext[0] == 6, 'no handshake without a number: %s', m and m.brief())
    alone(p, 'before the peer has said what it is')
    rises(p, 4)
    paths.update(in_order(p, [2], seq=3))
    equal(spread(p, paths, r, b'd'), lanes, 'lanes of all flows')


@case('wire.blind_fence', stacks=OURS_ONLY)
def blind_fence(c):
    """Further paths carry nothing before the peer's TCP has all messages of path 0."""
    old(c)
    p = c.peer('server', rcvbuf=4096)
    p.auto = False
    greeting(p.conn.read(), 0)
    r = c.rds(sndbuf=8 << 20)
    for i in range(MANY):
        r.send(pattern(20000, i), p.addr, 4000 + i)
    # Two pongs: A has the number of paths as answered, though the peer has read nothing.
    pong(p)
    pong(p)
    got = 0
    while not select.select([p.listener], [], [], 0.01)[0]:
        m = p.conn.read()
        check(m, 'A does not dial')
        got += m.dport >= 4000
    for i in range(MANY):
        r.send(b'late %d' % i, p.addr, 4000 + i)
    q = further(p, 1)[1]
    check(got < MANY, 'path 0 had no more messages')
    while got < MANY:
        check(not select.select([q.conn.s], [], [], 0)[0], 'path 1 sends after %d of path 0', got)
        m = p.conn.read()
        check(m, '%d of %d messages of path 0 came', got, MANY)
        got += m.len == 20000
    while True:
        m = q.conn.read()
        check(m, 'no message over path 1')
        if m.data.startswith(b'late'):
            break
    q.send(0, 1, seq=1, ext=npaths(8))
    in_order(p, list(range(2, 8)))


@case('wire.blind_accepts', stacks=OURS_ONLY)
def blind_accepts(c):
    """The peer dials, from ports that say nothing: A has the connections in the order in which they
    come, and another one takes the place of the one that was lost."""
    p, paths = client(c)
    r = c.rds(sndbuf=1 << 20)
    for i, q in paths.items():
        q.send(4000 + i, r.port, b'from %d' % i, seq=1001 + i)
        r.expect(b'from %d' % i)
    lanes = spread(p, paths, r, b'e')
    paths[3].conn.reset()

    def again(q):
        """What was delivered comes again, and what was not."""
        q.send(4003, r.port, b'from 3', seq=1004, flags=4)
        q.send(4003, r.port, b'next', seq=1005, flags=4)
    eventually(lambda: len(tcp_info(c.net.a, p.addr)) == 7, 'connections that are left')
    paths[3] = another(p, 3, 1006, again)
    r.expect(b'next')
    r.empty()
    equal(spread(p, paths, r, b'f'), lanes, 'lanes of all flows')


@case('wire.blind_early', stacks=OURS_ONLY)
def blind_early(c):
    """The connections come before the answer that proves that the peer has the number: they wait
    at path 0, which the peer uses, and nothing is lost."""
    old(c)
    p = c.peer('client', up=False)
    p.conn, p.auto = dial(p, PORT - 5).conn, False
    m = p.conn.read()
    check(m and m.is_map, 'no map came over path 0')
    greeting(p.conn.read(), 0)
    pong(p)
    raised(p)
    r = c.rds(sndbuf=1 << 20)
    paths = {i: dial(p, PORT + 8 * i) for i in range(1, 8)}
    for i, q in paths.items():
        q.send(4000, r.port, b'early', seq=i)
    pong(p)
    for _ in paths:
        r.expect(b'early')
    spread(p, paths, r, b'g')


@case('wire.blind_unnoticed', stacks=OURS_ONLY)
def blind_unnoticed(c):
    """The peer has lost a path and A has not noticed: A finds out which one. When none is dead the
    connection is refused."""
    p, paths = client(c)
    r = c.rds(sndbuf=1 << 20)
    lanes = spread(p, paths, r, b'h')
    was = drops(c.net.a)
    paths[6].conn.vanish()
    q = dial(p, PORT + 80)
    q.send(4000, r.port, b'here', seq=7000)
    r.expect(b'here')
    paths[6] = q
    now = drops(c.net.a)
    equal([now.get(k, 0) - was.get(k, 0) for k in ('peer_parked', 'peer_replaced')], [0, 0],
          'connections refused and given up')
    equal(spread(p, paths, r, b'i'), lanes, 'lanes of all flows')
    q = dial(p, PORT + 88)
    q.conn.wait_closed()
    equal(drops(c.net.a).get('peer_parked', 0) - now.get('peer_parked', 0), 1, 'connections refused')
    equal(spread(p, paths, r, b'j'), lanes, 'lanes of all flows')


@case('wire.blind_stuck', stacks=OURS_ONLY)
def blind_stuck(c):
    """A believes that path 0 is up, and the peer, which has restarted, opens it in the place of
    another one: A tells it the number there, as it would open no other path."""
    p, paths = client(c)
    paths[5].conn.reset()
    eventually(lambda: len(tcp_info(c.net.a, p.addr)) == 7, 'connections that are left')
    q = another(p, 5)
    p.conn.reset()
    m = q.conn.read()
    check(m and (m.sport, m.dport, m.ext[:3].hex()) == (1, 0, '050008'), 'no number of paths: %s',
          m and m.brief())


@case('wire.blind_restart', stacks=OURS_ONLY)
def blind_restart(c):
    """The peer restarts, and knows no number: its path 0 is A's, and the others come when it has
    the number. Its numbers begin anew, and all that is new is delivered."""
    p, paths = client(c)
    r = c.rds(sndbuf=1 << 20)
    lanes = spread(p, paths, r, b'k')
    for q in list(paths.values()) + [p]:
        q.conn.vanish()
    p.conn = dial(p, PORT + 81).conn
    p.seq = 0
    m = p.conn.read()
    check(m and m.is_map, 'no map came over path 0')
    while m.is_map or m.dport >= 4000:
        m = p.conn.read()
        check(m, 'no handshake came')
    rises(p)
    for i in range(1, 8):
        paths[i] = another(p, i + 20)
    got = set()
    for i, q in paths.items():
        q.send(4000 + i, r.port, b'new %d' % i, seq=1)
    while len(got) < 7:
        got.add(r.recv()[0])
    equal(got, {b'new %d' % i for i in paths}, 'messages of the new incarnation')
    equal(spread(p, paths, r, b'l'), lanes, 'lanes of all flows')


@case('wire.blind_replaced', stacks=OURS_ONLY)
def blind_replaced(c):
    """A host with one path has the address now: all messages come over one."""
    p, paths = server(c)
    r = c.rds(sndbuf=1 << 20)
    spread(p, paths, r, b'm')
    # Another path, lost first, would dial before path 0 is lost.
    for q in [p] + list(paths.values()):
        q.conn.reset()
    p.open()
    p.seq = 0
    m = p.conn.read()
    check(m and m.is_probe and m.ext[0] == 6, 'no handshake without a number: %s', m and m.brief())
    pong(p, 1)
    over_one(p, r, b'n')
    alone(p, 'to a peer with one path')
