#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hosts that fall silent, or send on, while A ends their connections, and those that come in their
place, as cases of remote.py.

Usage: closing.py
"""
import sys
import time

import remote
import wirelib
from lab import equal, eventually, ip_batch, log
from remote import GREETING, all_connected, connections, crowd, judge, judge_time, raw_connect
from wirelib import ROLES, case, drops, pattern

# Cases of remote.py have lines of their own.
wirelib.CASES.clear()

# More than the workers that the kernel gives to one queue
HOSTS = 1200
# All hosts of the lab but the crowd that dials, see remote.CROWDS
OTHERS = '9.128.0.0/9 10.0.0.0/8 11.0.0.0/8'


def let_in(c, networks):
    with c.net.a, open('/proc/sys/net/rds/peer_networks', 'w', encoding='ascii') as f:
        f.write(networks + '\n')


def come(c, number):
    """So many hosts connect and greet, and A has taken each."""
    before, socks = connections(c), []
    c.stack.callback(lambda: [s.close() for s in socks])
    for i in range(0, number, 100):
        more = [raw_connect(c, a) for a in crowd('client', 4, 65536 + i, 100)]
        all_connected(more)
        for s in more:
            s.send(GREETING)
            s.setblocking(True)
            s.settimeout(20)
            s.recv(48)
        socks += more
    eventually(lambda: connections(c) >= before + number, 'the connections', 20)


def silence(c):
    """B takes nothing for the crowd any more, so that no host of it answers."""
    prefix = remote.CROWDS['client', 4]
    table = ' table 10' if c.net.vrf else ''
    ip_batch(['route del local %s dev ba%s' % (prefix, table)], 'B')
    c.stack.callback(ip_batch, ['route add local %s dev ba%s' % (prefix, table)], 'B')


@case('attack.closings')
def closings(c):
    """While A ends the connections of 1,200 hosts, none of which answers, it dials others at once and
    takes what they open; none of the connections is left soon after."""
    before = connections(c)
    come(c, HOSTS)
    silence(c)
    lost = drops(c.net.a).get('local_reconfig', 0)
    c.stack.callback(let_in, c, '')
    let_in(c, OTHERS)
    began = time.monotonic()
    ended = drops(c.net.a).get('local_reconfig', 0) - lost
    judge(ended >= HOSTS, 'A ends %d of %d connections', ended, HOSTS)
    remote.serves_new(c)
    took = time.monotonic() - began
    left = connections(c) - before
    judge(left >= HOSTS, 'A waits for %d hosts', left)
    judge_time(took < 1, 'new hosts are served after %d ms', took * 1000)
    eventually(lambda: connections(c) < before + 10, 'the end of the connections', 60, 0.5)
    log('after %.1f s the connections are gone', time.monotonic() - began)


def end_all(c):
    """A ends all connections, and dials those again that it has to dial."""
    c.closes_all()
    with c.net.a, open('/proc/sys/net/rds/tcp/rds_tcp_rcvbuf', 'w', encoding='ascii') as f:
        f.write('200000')


@case('attack.closing_waits', ROLES)
def closing_waits(c, role, family):
    """What the peer sends after A's FIN arrives, and A waits no longer than until the peer's FIN."""
    p, r = c.peer(role, family), c.rds(family=family)
    p.settle()
    end_all(c)
    equal(p.conn.wait_closed(30)[0], 'EOF', 'end of the connection')
    for i in range(200):
        p.conn.write(p.frame(4000, r.port, pattern(1000, i)))
    p.conn.fin()
    began = time.monotonic()
    for i in range(200):
        r.expect(pattern(1000, i), (p.addr, 4000))
    p.conn.close()
    p.open()
    took = time.monotonic() - began
    judge_time(took < 1, 'a new connection after %d ms', took * 1000)
    p.send(4000, r.port, b'after')
    r.expect(b'after', (p.addr, 4000))


# Connections of peers that A may have, and newcomers after that
GUESTS, NEWCOMERS = 64, 32


def arrive(c, addr):
    """A host connects and says nothing; does A greet it?"""
    s = raw_connect(c, addr)
    c.stack.callback(s.close)
    all_connected([s])
    s.setblocking(True)
    s.settimeout(20)
    try:
        return bool(s.recv(48))
    except OSError:
        return False


@case('attack.newcomers')
def newcomers(c):
    """A has as many hosts as it may have, each from another network, that say nothing and do
    not close. Others come in a row: each gets the place of one of them."""
    wirelib.setting(c, 'peer_connections_max', connections(c) + GUESTS, 4096)
    addrs = crowd('client', 4, 65536, 256 * (GUESTS + NEWCOMERS))[::256]
    equal(sum(arrive(c, a) for a in addrs[:GUESTS]), GUESTS, 'hosts that A has taken')
    began = time.monotonic()
    # A guest that was used in the last quarter of a second stays.
    eventually(lambda: time.monotonic() - began > 0.3, 'the time for which a guest stays')
    taken = [arrive(c, a) for a in addrs[GUESTS:]]
    judge(all(taken), '%d of %d newcomers are taken: %s', sum(taken), NEWCOMERS,
          ''.join('.x'[not t] for t in taken))


if __name__ == '__main__':
    sys.exit(remote.main())
