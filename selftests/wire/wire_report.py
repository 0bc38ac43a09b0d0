# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""RDS_PEER_TIMEOUT: peers that cannot be reached, or restart, are reported to sockets."""
import errno
import select
import socket
import struct
import time

from lab import Deadline, Fail, SLOW, check, equal, eventually
from wire_ack import OURS_ONLY, left
from wirelib import INFO6_SEND, MAP_BYTES, ROLES, SOL_RDS, case, drops, gen, info, npaths, queued

RDS_PEER_TIMEOUT = 9000
RDS_CMSG_RDMA_STATUS = 4
DROPPED, RESTARTED = 3, 9000
INFO_CONNECTIONS = 10001
# Addresses of A's own network that no host has
NOBODY = '10.0.1.%d'
# A socket has reports of so many peers.
MAX_REPORTS = 4096


def limit(r, ms):
    r.s.setsockopt(SOL_RDS, RDS_PEER_TIMEOUT, ms)
    return r


def readable(r, seconds=0.0):
    p = select.poll()
    p.register(r.s, select.POLLIN)
    return bool(p.poll(seconds * SLOW * 1000))


def report(r, what, seconds=5.0):
    """The next report: (token, status, address of the peer)."""
    data, name = r.recv(seconds, 64)
    anc = r.anc
    equal(data, b'', what + ': payload')
    equal([a[:2] for a in anc], [(SOL_RDS, RDS_CMSG_RDMA_STATUS)], what + ': control messages')
    token, status = struct.unpack('=Qi4x', anc[0][2])
    if isinstance(name, tuple):
        equal(name[1], 0, what + ': port of the name')
        name = name[0]
    return token, status, name


def silent(r, what):
    """No report. An update of a map is readable, too."""
    r.recv_now(64) is None or check(False, '%s: a report', what)


def connections(ns, peer):
    """Paths to a peer, also those that are down."""
    packed = socket.inet_aton(peer)
    return [r for r in info(ns, INFO_CONNECTIONS) if r[20:24] == packed]


def goes(p):
    """The peer's host goes, and refuses connections."""
    p.listener.close()
    p.conn.reset()


def names(p, g):
    """The peer names its generation, and A has taken notice."""
    p.handshake(npaths(1) + gen(g))
    p.ping()


def comes_back(p):
    p.listen()
    p.auto = True
    p.open(12)
    p.send_map(bytes(MAP_BYTES))            # as each peer does


@case('wire.report_option', stacks=OURS_ONLY)
def report_option(c):
    """Values of the option."""
    r = c.rds()

    def got():
        return r.s.getsockopt(SOL_RDS, RDS_PEER_TIMEOUT)

    def refused(value):
        try:
            r.s.setsockopt(SOL_RDS, RDS_PEER_TIMEOUT, value)
        except OSError as e:
            return errno.errorcode[e.errno]
        return None

    equal(got(), 0, 'the default')
    for ms in (1, 0x7fffffff, 0, 250):
        limit(r, ms)
        equal(got(), ms, 'the value that was set')
    equal([refused(v) for v in (-1, b'', b'\1\0\0')], ['EINVAL'] * 3, 'bad values')
    equal(got(), 250, 'the value after bad ones')


# A dials, or is dialled, over IPv6 only: few addresses are smaller than A's.
@case('wire.report_gone', ('server',), families=(4, 6), roles6=ROLES, stacks=OURS_ONLY)
def report_gone(c, role, family):
    """The messages of a socket with a limit to a host that went are dropped and reported; those of
    others wait, and come once the host is back."""
    p = c.peer(role, family)
    p.settle()
    r, s, t = limit(c.rds(family=family), 600), c.rds(family=family), limit(c.rds(family=family), 60000)
    r.send(b'arrives', p.addr, 4000)
    p.expect(data=b'arrives')
    left(c, p, 0, 'left once the peer has one')
    was = drops(c.net.a).get('unreachable', 0)
    goes(p)
    t.send(b'waits', p.addr, 4000)
    for i in range(3):
        r.send(b'%d' % i, p.addr, 4000)
        s.send(b'%d' % i, p.addr, 4000)
    token, status, name = report(r, 'host gone')
    equal((token, status), (3, DROPPED), 'what is reported')
    family == 6 or equal(name, p.addr, 'peer in the report')
    equal(drops(c.net.a)['unreachable'] - was, 3, 'messages counted')
    equal(queued(c.net.a, INFO6_SEND, p.addr), 4, 'messages left')
    equal(r.send_error(b'late', p.addr, 4000), 'EHOSTUNREACH', 'a send to a host that is known to be gone')
    silent(r, 'once told')
    silent(s, 'without the option')
    silent(t, 'with a longer limit')
    comes_back(p)
    p.expect(12, data=b'waits')
    for i in range(3):
        p.expect(12, data=b'%d' % i, sport=s.port)
    eventually(lambda: not r.send_error(b'again', p.addr, 4000), 'a send to the host that is back')
    p.expect(data=b'again')
    goes(p)
    began = time.monotonic()
    r.send(b'lost', p.addr, 4000)
    token, status, name = report(r, 'gone again')
    # A may not know yet by what rule this peer acknowledges 'again'.
    check(status == DROPPED and token in (1, 2), '%d messages, status %d', token, status)
    check(time.monotonic() - began > 0.5, 'reported before the time was over')


@case('wire.report_inflight', ('server',), stacks=OURS_ONLY)
def report_inflight(c, role, family):
    """Messages that a host took and did not acknowledge are reported as well."""
    p = c.peer(role, rcvbuf=4096)
    r = limit(c.rds(sndbuf=1 << 20), 600)
    for _ in range(20):
        r.send(bytes(3000), p.addr, 4000)
    goes(p)
    token, status, name = report(r, 'host gone')
    equal((status, name), (DROPPED, p.addr), 'what is reported')
    check(0 < token <= 20, '%d of 20 messages', token)
    eventually(lambda: not queued(c.net.a, INFO6_SEND, p.addr), 'no message left')


@case('wire.report_later', ('server',), stacks=OURS_ONLY)
def report_later(c, role, family):
    """Messages from before the option was set go with the first one after that."""
    p = c.peer(role)
    p.settle()
    r, s = c.rds(), limit(c.rds(), 300)
    goes(p)
    for _ in range(2):
        r.send(b'before', p.addr, 4000)
    s.send(b'x', p.addr, 4000)
    equal(report(s, 'host gone'), (1, DROPPED, p.addr), 'what is reported')
    limit(r, 300)
    equal(r.send_error(b'after', p.addr, 4000), 'EHOSTUNREACH', 'the first send')
    equal(report(r, 'host gone'), (2, DROPPED, p.addr), 'what is reported')
    eventually(lambda: not queued(c.net.a, INFO6_SEND, p.addr), 'no message left')


@case('wire.report_mute', ('server',), stacks=OURS_ONLY)
def report_mute(c, role, family):
    """A host that takes a connection and says nothing is not reachable."""
    p = c.peer(role, rcvbuf=4096)
    p.settle()
    r = limit(c.rds(sndbuf=1 << 20), 1000)
    p.conn.reset()
    r.send(bytes(500000), p.addr, 4000)
    p.conn = p.accept()
    equal(report(r, 'mute host'), (1, DROPPED, p.addr), 'what is reported')


@case('wire.report_flaps', ('server',), stacks=OURS_ONLY)
def report_flaps(c, role, family):
    """A host that ends each connection before it says anything is not reachable. (What its TCP has
    acknowledged as a whole counts as delivered.)"""
    p = c.peer(role, rcvbuf=4096)
    p.settle()
    r = limit(c.rds(sndbuf=1 << 20), 1000)
    p.conn.reset()
    r.send(bytes(500000), p.addr, 4000)
    end, ended, got = Deadline(10), 0, None
    while not got:
        check(not end.over(), 'no report after %d connections', ended)
        try:
            p.accept(0.1).reset()
            ended += 1
        except Fail:
            pass
        got = r.recv_now(64)
    check(ended > 1, '%d connections', ended)
    equal(struct.unpack('=Qi4x', r.anc[0][2]), (1, DROPPED), 'what is reported')


@case('wire.report_never', stacks=OURS_ONLY)
def report_never(c):
    """A host that was never there: its messages are reported, a sender without room goes on."""
    r = limit(c.rds(sndbuf=8192), 500)
    there = NOBODY % 250
    n = 0
    while not r.send_error(bytes(1000), there, 4000):
        n += 1
    check(n > 2, 'only %d messages fit', n)
    other = NOBODY % 251
    eventually(lambda: not r.send_error(b'x', other, 4000), 'a send to another host', 5)
    # The report outlives the connection.
    eventually(lambda: not connections(c.net.a, there), 'the connection is forgotten', 20)
    equal(report(r, 'nobody there'), (n, DROPPED, there), 'what is reported')
    equal(report(r, 'nobody there either'), (1, DROPPED, other), 'what is reported')


@case('wire.report_restart', ('server',), stacks=OURS_ONLY)
def report_restart(c, role, family):
    """A restart is reported to sockets with a limit that have sent to the peer, once."""
    p = c.peer(role)
    names(p, 31)
    r, s, other = limit(c.rds(), 60000), c.rds(), limit(c.rds(), 60000)
    for sock in r, s:
        sock.send(b'x', p.addr, 4000)
        p.expect(data=b'x')
    names(p, 31)
    silent(r, 'same generation')
    for g in 32, 33:
        names(p, g)
        equal(report(r, 'restart'), (0, RESTARTED, p.addr), 'what is reported')
    for sock in r, s, other:
        silent(sock, 'told already, or not to be told')


@case('wire.report_unread', ('server',), stacks=OURS_ONLY)
def report_unread(c, role, family):
    """Reports wait for a reader with room; switching the option off, and closing, ends them."""
    p = c.peer(role)
    names(p, 41)
    socks = [limit(c.rds(), 60000) for _ in range(3)]
    for r in socks:
        r.send(b'x', p.addr, 4000)
        p.expect(data=b'x')
    names(p, 42)
    r, off, closed = socks
    check(readable(r), 'a report, and not readable')
    r.recv_now() is None or check(False, 'a reader without room got something')
    equal(report(r, 'with room')[:2], (0, RESTARTED), 'what a reader with room gets')
    limit(off, 0)
    silent(off, 'switched off')
    closed.close()
    limit(off, 60000)
    off.send(b'y', p.addr, 4000)
    p.expect(data=b'y')
    names(p, 43)
    equal(report(off, 'switched on')[:2], (0, RESTARTED), 'what is reported')


@case('wire.report_many', stacks=OURS_ONLY, bulky=True)
def report_many(c):
    """A socket has reports of a number of peers, and is refused beyond that."""
    r = limit(c.rds(sndbuf=1 << 20), 1000000)

    def to(i):
        return r.send_error(b'x', '10.9.%d.%d' % (i // 250, i % 250 + 1), 4000)

    equal({to(i) for i in range(MAX_REPORTS)}, {None}, 'sends to as many peers as are allowed')
    equal([to(MAX_REPORTS), to(0)], ['ENOSPC', None], 'a send to a further peer, and to the first')
    limit(r, 0)
    equal(to(MAX_REPORTS), None, 'a send without the option')
