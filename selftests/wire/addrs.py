#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Paths between several addresses of two hosts with this module: two namespaces with two links.

Usage: addrs.py [WORD...]: only the cases with one of the words in their name. RDS_ARGS is the seed of
the random choices, which is printed.
"""
import errno
import sys
import time

from lab import SLOW, addr_change, bound, check, equal, eventually, ip_batch, link_set, log, run
from twohosts import BEATS, HEARTBEAT, KILLS, LIMIT, NAMES, Cases, World, cut, rng
from wirelib import drops

# Of the second link; the first has those of the connection.
SECOND = {4: ('10.10.0.1', '10.10.0.2'), 6: ('fd0a::1', 'fd0a::2')}
# A third one of the first host, on the second link
THIRD = {4: '10.10.0.3', 6: 'fd0a::3'}
EVEN, ODD = {0, 2, 4, 6}, {1, 3, 5, 7}


def set_addresses(ns, *sets):
    with ns, open('/proc/sys/net/rds/path_addresses', 'w', encoding='ascii') as f:
        f.write(' '.join(','.join(s) for s in sets) + '\n')


def get_addresses(ns):
    with ns, open('/proc/sys/net/rds/path_addresses', encoding='ascii') as f:
        return f.read().strip()


class TwoLinks(World):
    """Two hosts with two links, whose path_addresses name the addresses of both, if they are `told`."""

    def __init__(self, told=(True, True), third=False, **kw):
        family = kw.get('family', 4)
        self.second = SECOND[family][::-1] if kw.get('swap') else SECOND[family]
        self.third = THIRD[family] if third else None
        super().__init__(**kw)
        for i in (0, 1):
            if told[i]:
                self.tell(i)

    def tell(self, i):
        further = [self.third] if self.third and i == 0 else []
        set_addresses(self.ns[i], [self.addr[i], self.second[i]] + further)

    def mask(self):
        return '/64 dev %s nodad' if self.family == 6 else '/24 dev %s'

    def link(self):
        super().link()
        ip_batch(['link add e1 netns X type veth peer name e1 netns Y'])
        for i in (0, 1):
            further = [self.third] if self.third and i == 0 else []
            ip_batch(['link set e1 up'] + ['addr add ' + a + self.mask() % 'e1'
                                           for a in [self.second[i]] + further], NAMES[i])

    def restart(self, i, paths, before=lambda: None):
        def told():
            self.tell(i)
            before()

        run('ip', '-n', NAMES[i], 'link', 'del', 'e1')
        super().restart(i, paths, told)

    def addrs(self, i):
        return [self.addr[i], self.second[i]] + ([self.third] if self.third and i == 0 else [])

    def lanes(self, i, *addrs):
        """The indices of paths that have a connection with these addresses of the other host."""
        return {p % 8 for p in self.ports(i, *addrs)}

    def first_lanes(self):
        """The indices of paths whose connection over the first link both hosts have: one that asks
        the other host to dial is there for a moment, at the host that has opened it."""
        first = [set(self.ports(i, self.addr[1 - i])) for i in (0, 1)]
        return {p % 8 for p in first[0] & first[1]}

    def flows_both_ways(self):
        self.connect(0)
        self.connect(1)
        self.send_all()
        self.arrive()
        self.send_all(3)
        self.arrive()

    def is_paired(self):
        """Paths of even index go over the first link, others over the second."""
        return all(self.lanes(i, self.addr[1 - i]) == EVEN and self.lanes(i, self.second[1 - i]) == ODD
                   for i in (0, 1))

    def send_and_pair(self):
        """A connection is made again when a message needs it."""
        self.send_all()
        return self.is_paired()

    def is_not_paired(self):
        return all(self.lanes(i, self.addr[1 - i]) == EVEN | ODD for i in (0, 1))


CASES = Cases('addrs.', TwoLinks)
case = CASES.case
BOTH = (('.dials', {}), ('.answers', {'swap': True}), ('.v6', {'family': 6}))


@case('pairs', *BOTH)
def pairs(w):
    """The paths of two hosts that tell two addresses are spread over both links."""
    w.flows_both_ways()
    eventually(w.send_and_pair, 'connections over both links', LIMIT)
    w.send_all(5)
    w.arrive()
    # A first frame that a slow guest sends late is not waited for.
    for why in ['bad_addresses'] + ['wrong_path', 'bad_join'] * (SLOW == 1):
        equal([drops(n).get(why, 0) for n in w.ns], [0, 0], why)


@case('kept', ('', {}))
def kept(w):
    """One message makes a connection over each link, so that the second is there when the first fails."""
    a, b = w.sock(0), w.sock(1)
    b.send(b'x', w.addr[0], a.port)
    a.expect(b'x')
    eventually(lambda: w.lanes(0, w.second[1]) and w.lanes(1, w.second[0]), 'a connection over the second',
               LIMIT)
    with_both = [w.ports(i) for i in (0, 1)]
    equal(with_both[0], with_both[1], 'ports of both ends')
    check(len(with_both[0]) <= 3, '%d connections', len(with_both[0]))


@case('one_tells', ('.here', {'told': (True, False)}), ('.there', {'told': (False, True)}))
def one_tells(w):
    """Both hosts have to be told: else all paths are between the first addresses."""
    w.flows_both_ways()
    eventually(w.is_not_paired, 'all connections over the first link', LIMIT)


@case('uneven', ('.dials', {'third': True}), ('.answers', {'third': True, 'swap': True}))
def uneven(w):
    """Three addresses of one host and two of the other make pairs, too."""
    w.flows_both_ways()
    eventually(lambda: w.lanes(1, w.third) and w.lanes(1, w.second[0]) and w.lanes(1, w.addr[0]),
               'connections with each address', LIMIT)
    w.send_all(5)
    w.arrive()


def stall(w, action):
    """Let something happen to a link while messages are under way: they arrive. Returns the seconds."""
    w.send_all()
    began = time.monotonic()
    action()
    for f in w.flows:
        f.send()
    w.arrive('what was under way')
    return time.monotonic() - began


@case('link', *BOTH)
def link(w):
    """A link goes down, at either host: the other one carries all lanes, until the link is back."""
    w.flows_both_ways()
    eventually(w.send_and_pair, 'connections over both links', LIMIT)
    worst = 0
    for n in range(4):
        name, dev = NAMES[n % 2], 'e%d' % (n // 2)
        worst = max(worst, stall(w, lambda: link_set(w.ns[n % 2], dev, False)))
        for _ in range(5):
            w.send_all()
        w.arrive()
        # IPv6 takes the addresses away from a link that is down.
        again = ['link set %s up' % dev]
        if w.family == 6:
            addr = (w.addr, w.second)[n // 2][n % 2]
            again.append('addr replace ' + addr + w.mask() % dev)
        ip_batch(again, name)
        w.send_all()
        w.arrive()
        eventually(w.send_and_pair, 'connections over both links again', LIMIT)
    bound(worst <= HEARTBEAT * BEATS / 1000 + 0.05, 'longest stall %.3f s', worst)
    log('longest stall %.3f s, dropped: %s', worst, w.dropped())


@case('reported', ('.dials', {}), ('.answers', {'swap': True}))
def reported(w):
    """A link goes down at both hosts, so that the kernel tells both at once."""
    w.flows_both_ways()
    eventually(w.send_and_pair, 'connections over both links', LIMIT)
    worst = 0
    for n in range(4):
        dev = 'e%d' % (n % 2)
        usual = max(stall(w, lambda: None) for _ in range(4))

        def both_down(up=False):
            for i in (0, 1):
                link_set(w.ns[i], dev, up)

        took = stall(w, both_down)
        worst = max(worst, took - usual)
        log('%.3f s, %.3f s without an end', took, usual)
        both_down(True)
        eventually(w.send_and_pair, 'connections over both links again', LIMIT)
        w.arrive()
    bound(worst <= 0.05, 'longest stall %.3f s', worst)
    timeouts = [drops(ns).get('peer_timeout', 0) for ns in w.ns]
    bound(timeouts == [0, 0], 'time-outs: %r', timeouts)


@case('address', ('.dials', {}), ('.answers', {'swap': True}))
def address(w):
    """An address goes, the first one of a host included: paths between others carry all lanes."""
    w.flows_both_ways()
    eventually(w.send_and_pair, 'connections over both links', LIMIT)
    worst, addrs = 0, (w.addr, w.second)
    for i in (0, 1):
        for n in (0, 1):
            addr = addrs[n][i] + w.mask() % ('e%d' % n)
            worst = max(worst, stall(w, lambda: addr_change(w.ns[i], 'e%d' % n, addrs[n][i], 24, False)))
            w.send_all(3)
            w.arrive()
            ip_batch(['addr add ' + addr], NAMES[i])
            w.send_all()
            w.arrive()
            eventually(w.send_and_pair, 'connections over both links again', LIMIT)
    bound(worst <= HEARTBEAT * BEATS / 1000 + 0.05, 'longest stall %.3f s', worst)
    log('longest stall %.3f s, dropped: %s', worst, w.dropped())


@case('kill', *BOTH)
def kill(w):
    """Connections over both links are ended at random: each message arrives once, in order."""
    w.flows_both_ways()
    for n in range(KILLS):
        w.send_all()
        ports = w.ports(n % 2)
        if ports:
            cut(w, n % 2, rng.choice(ports))
        if rng.randrange(4) == 0:
            w.arrive('all messages after kill %d' % n)
    w.arrive()
    eventually(w.send_and_pair, 'connections over both links', LIMIT)


@case('restart', *BOTH)
def restart(w):
    """A host restarts: what it told before is forgotten, and it tells its addresses again."""
    for _ in range(3):
        w.flows_both_ways()
        eventually(w.send_and_pair, 'connections over both links', LIMIT)
        w.send_all()                        # may be under way
        for r in w.socks:
            r.close()
        w.socks, w.flows, w.sinks = [], [], []
        w.restart(1, 8)
    w.flows_both_ways()
    eventually(w.send_and_pair, 'connections over both links', LIMIT)


@case('not_local', ('.dials', {}), ('.answers', {'swap': True}))
def not_local(w):
    """A host names an address that it does not have: paths that do not come up are carried by others."""
    set_addresses(w.ns[0], [w.addr[0], '10.10.0.77'])
    w.connect(0)
    w.connect(1)
    for _ in range(3):
        w.send_all(3)
        w.arrive()
    equal(w.first_lanes() - EVEN, set(), 'odd paths over the first link')
    check(not w.lanes(0, w.second[1]), 'connections to the second link')


BAD = ('10.9.0.1,', ',10.9.0.1', '10.9.0.1,10.9.0.1', '10.9.0.1,x', '10.9.0.1,fd00::1', 'fd00::1,10.9.0.1',
       '10.9.0.1,127.0.0.1', '10.9.0.1,0.0.0.0', '10.9.0.1,224.0.0.1', '10.9.0.1,255.255.255.255',
       'fe80::1', 'fd00::1,::1', 'fd00::1,ff02::1', 'fd00::1,::', '10.9.0.1 10.9.0.1',
       '10.9.0.1,10.9.0.2 10.9.0.3,10.9.0.2', ','.join('10.9.0.%d' % i for i in range(1, 10)),
       ' '.join('10.9.0.%d' % i for i in range(1, 18)), '10.9.0.1,10.9.0.2' + ' ' * 8192,
       '10.9.0.1/24', '10.9.0.1;10.10.0.1', 'fd09::1/64', '10.9.0.1,10.10.0.1\0')


@case('setting', ('', {}))
def setting(w):
    """path_addresses takes sets of addresses, and refuses what is none without a change."""
    good = '10.9.0.1,10.10.0.1,10.11.0.1 fd09::1,fd0a::1 10.12.0.1'
    set_addresses(w.ns[0], *[s.split(',') for s in good.split()])
    equal(get_addresses(w.ns[0]), good, 'the setting')
    for text in BAD:
        try:
            with w.ns[0], open('/proc/sys/net/rds/path_addresses', 'w', encoding='ascii') as f:
                f.write(text)
        except OSError as e:
            equal(e.errno, errno.EINVAL, 'errno of %r' % text[:60])
        else:
            check(False, '%r was taken', text[:60])
        equal(get_addresses(w.ns[0]), good, 'the setting after %r' % text[:60])
    for most in (','.join('10.9.0.%d' % i for i in range(1, 9)),
                 ' '.join('10.9.0.%d' % i for i in range(1, 17)), ''):
        set_addresses(w.ns[0], *[s.split(',') for s in most.split()])
        equal(get_addresses(w.ns[0]), most, 'the setting')


MBIT = 40
SECONDS = 4


def rate(w):
    """Bytes per second of many flows that always have something to send."""
    for f in w.flows:
        f.send()
    got, began = None, time.monotonic()
    while time.monotonic() - began < SECONDS + 1:
        for f in w.flows:
            if f.src.send_error(b'%d %d' % (f.src.port, f.sent) + bytes(60000), f.addr, f.port) is None:
                f.sent += 1
        w.take()
        if got is None and time.monotonic() - began >= 1:
            got, since = sum(f.got for f in w.flows), time.monotonic()
    return (sum(f.got for f in w.flows) - got) * 60000 / (time.monotonic() - since)


@case('both_links', ('', {}))
def both_links(w):
    """Flows over two slow links have nearly twice the rate of those over one; one of the two fails."""
    for name in NAMES:
        for dev in ('e0', 'e1'):
            run('tc', '-n', name, 'qdisc', 'add', 'dev', dev, 'root', 'tbf', 'rate', '%dmbit' % MBIT, 'burst',
                '64kb', 'latency', '100ms')
    w.connect(0)
    eventually(w.send_and_pair, 'connections over both links', LIMIT)
    two = rate(w)
    run('ip', '-n', 'X', 'link', 'set', 'e1', 'down')
    one = rate(w)
    log('%.2f Mbit/s over both links of %d, %.2f over one: %.2f times', two * 8e-6, MBIT, one * 8e-6, two / one)
    bound(two >= 1.8 * one, '%.2f times the rate of one link', two / one)
    bound(one * 8e-6 >= 0.8 * MBIT, '%.2f Mbit/s over one link', one * 8e-6)
    w.arrive()


if __name__ == '__main__':
    sys.exit(CASES.main(sys.argv[1:]))
