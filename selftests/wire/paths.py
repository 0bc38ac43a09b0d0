#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Several paths between two hosts with this module: two namespaces, one of which restarts.

Usage: paths.py [WORD...]: only the cases with one of the words in their name. RDS_ARGS is the seed of
the random choices, which is printed.
"""
import re
import subprocess
import sys
import time

from lab import ICOUNT, LOAD, bound, check, equal, eventually, log, run
from twohosts import (BEATS, HEARTBEAT, KILLS, LIMIT, NAMES, SOCKETS, Cases, Flow, Lost, Sink, World, any_kind,
                      cut, from_port, no_dials, rng, to_port)
from wirelib import INFO6_RETRANS, INFO6_SEND, MAP_BYTES, Rds, drops, queued

RESTARTS = 20 if LOAD == 'full' else 4
CASES = Cases('paths.', World)
case = CASES.case
BOTH = (('.dials', {}), ('.answers', {'swap': True}), ('.v6', {'family': 6}))


@case('one_is_enough', ('.idle', {}))
def one_is_enough(w):
    """Hosts of which one message goes to the other have one connection, or that of its lane, too."""
    a, b = w.sock(0), w.sock(1)
    a.send(b'x', w.addr[1], b.port)
    b.expect(b'x')
    check(len(w.ports(0)) == 1, '%d connections after one message', len(w.ports(0)))
    for size in range(1, 70000, 3500):
        a.send(bytes(size), w.addr[1], b.port)
        b.expect(bytes(size))
    check(len(w.ports(0)) <= 2, '%d connections of one flow', len(w.ports(0)))


@case('spread', *BOTH)
def spread(w):
    """36 flows each way use all eight lanes: connections whose source ports tell the lane."""
    w.connect(0)
    w.connect(1)
    w.send_all()
    w.arrive()
    w.send_all(5)
    w.arrive()
    eventually(lambda: {p % 8 for p in w.ports(0)} == set(range(8)), 'a connection of each lane')
    equal(len(w.ports(0)), 8, 'connections')
    equal(w.ports(0), w.ports(1), 'ports at the other end')
    equal([drops(n).get('wrong_path', 0) for n in w.ns], [0, 0], 'connections in the wrong place')


@case('fewer', ('.2', {'paths': (2, 8)}), ('.4', {'paths': (8, 4)}), ('.3', {'paths': (3, 3)}))
def fewer(w):
    """Each host chooses lanes for what it sends, and takes what the other chooses."""
    w.connect(0)
    w.connect(1)
    w.send_all()
    w.arrive()
    w.send_all(5)
    w.arrive()
    log('%d connections', len(w.ports(0)))


@case('one', ('.here', {'paths': (1, 8)}), ('.there', {'paths': (8, 1)}), ('.both', {'paths': (1, 1)}))
def one(w):
    """With a host that has one path there is one."""
    w.connect(0)
    w.connect(1)
    w.send_all(5)
    w.arrive()
    equal(len(w.ports(0)), 1, 'connections')


@case('kill', *BOTH)
def kill(w):
    """Connections are ended at random, at both ends: each message arrives once, in order."""
    w.connect(0)
    w.connect(1)
    w.send_all(2)
    w.arrive()
    killed = longest = 0
    while killed < KILLS:
        w.send_all()
        i = rng.randrange(2)
        ports = w.ports(i)
        if not ports:
            continue
        port = rng.choice(ports)
        cut(w, i, port)
        killed += 1
        for f in w.flows:
            f.send()
        began = time.monotonic()
        if rng.randrange(4) == 0:
            w.arrive('all messages after kill %d' % killed)
            longest = max(longest, time.monotonic() - began)
    w.arrive()
    log('%d connections killed, %d messages, longest wait for all %.3f s', killed,
        sum(f.sent for f in w.flows), longest)


@case('restart', *BOTH)
def restart(w):
    """A host restarts: what is sent to its new sockets arrives, over all lanes, in both directions."""
    for _ in range(RESTARTS):
        w.connect(0)
        w.connect(1)
        w.send_all(2)
        w.arrive()
        w.send_all()                        # may be under way
        for r in w.socks:
            r.close()
        w.socks, w.flows, w.sinks = [], [], []
        w.restart(1, 8)
    log('wrong places: %s', [drops(n).get('wrong_path', 0) for n in w.ns])


def backlog(w, new_paths):
    """Messages of many lanes wait for host 1, which restarts with as many paths; they arrive at
    sockets of the same ports."""
    ports = [4000 + i for i in range(SOCKETS)]
    first = [w.sock(1, port=p) for p in ports]
    srcs = [w.sock(0) for _ in range(SOCKETS)]
    flows = [Flow(s, w.addr[1], p) for s in srcs for p in ports]
    for f in flows:
        f.send()
    for s in first:
        for _ in srcs:
            s.recv()
    eventually(lambda: all(f.send() for f in flows) and len(w.ports(0)) > 1, 'lanes')
    eventually(lambda: not queued(w.ns[0], INFO6_SEND, w.addr[1]) +
               queued(w.ns[0], INFO6_RETRANS, w.addr[1]), 'acknowledgement of all')
    run('ip', '-n', 'Y', 'link', 'set', 'e0', 'down')
    for f in flows:
        f.sent = 0
    for _ in range(5):
        for f in flows:
            check(f.send(), 'no room for the backlog')
    for s in first:
        s.close()

    def sinks():
        # A message to a port without a socket would count as delivered.
        for p in ports:
            sink = Sink(w.sock(1, port=p))
            for f in flows:
                if f.port == p:
                    sink.expect(f)
            w.sinks.append(sink)

    w.restart(1, new_paths, sinks)
    w.flows = flows
    w.arrive('the backlog')
    for f in flows:
        f.send()
    w.arrive()


@case('backlog', *BOTH)
def backlog_stays(w):
    """A backlog of many lanes outlives a restart of the peer."""
    backlog(w, 8)


@case('fall', *BOTH)
def fall(w):
    """The host that comes back has one path: the first lane takes the backlog of all over, in order."""
    backlog(w, 1)
    eventually(lambda: len(w.ports(0)) == 1, 'one connection')


def cut_meanwhile(w, i, port):
    """As cut(), while messages are sent all the time."""
    filters = 'sport = :%d or dport = :%d' % (port, port)
    with subprocess.Popen(['ip', 'netns', 'exec', NAMES[i], 'ss', '-KtH', filters],
                          stdout=subprocess.DEVNULL) as p:
        while p.poll() is None:
            for f in rng.sample(w.flows, len(w.flows) // 4):
                f.send()
            w.take()


def all_lanes(w):
    """Flows in both directions over all lanes, each of which has its connection."""
    w.connect(0)
    w.connect(1)
    w.send_all()
    w.arrive()
    w.send_all()
    eventually(lambda: len(w.both()) == 8, 'a connection of each lane', LIMIT)
    w.send_all()
    w.arrive()


def stall(w, i=0, port=None):
    """Seconds until all that is sent around the end of a connection, if one ends, has arrived."""
    w.send_all()
    began = time.monotonic()
    if port:
        cut(w, i, port)
    for f in w.flows:
        f.send()
    w.arrive('all messages of a connection that was cut')
    return time.monotonic() - began


@case('carry', *BOTH)
def carry(w):
    """Connections end one after the other and cannot come back: the others carry their lanes, the last
    one all, and each message arrives once, in order. Then connections are possible again, and all lanes
    go back."""
    all_lanes(w)
    worst = 0
    with no_dials(w):
        ports = w.both()
        rng.shuffle(ports)
        usual = max(stall(w) for _ in range(8 if ICOUNT else 2))
        for n, port in enumerate(ports[1:]):
            worst = max(worst, stall(w, n % 2, port))
            w.send_all(2)
            w.arrive()
            equal(len(w.both()), 7 - n, 'connections')
        w.send_all(5)
        w.arrive()
        bound(worst - usual <= 0.05, 'longest stall %.3f s, %.3f s without an end', worst, usual)
        # The last one: nothing can go anywhere.
        cut(w, 0, ports[0])
        for f in w.flows:
            f.send()
    w.arrive('what waited for a connection')
    for f in w.flows:
        f.send()
    eventually(lambda: len(w.both()) == 8, 'all connections', LIMIT)
    w.send_all(5)
    w.arrive()
    log('longest stall %.3f s, %.3f s without an end', worst, usual)


@case('carry_storm', *BOTH)
def carry_storm(w):
    """Connections are cut at random while dials fail most of the time, so lanes go from carrier to
    carrier and back at any moment: each message arrives once, in order."""
    all_lanes(w)
    for n in range(KILLS // 4):
        with no_dials(w):
            for _ in range(rng.randrange(1, 9)):
                w.send_all(rng.randrange(3))
                i = rng.randrange(2)
                ports = w.ports(i)
                if ports:
                    cut_meanwhile(w, i, rng.choice(ports))
        w.take()
        if rng.randrange(2):
            w.arrive('all messages of round %d' % n)
        elif rng.randrange(2):
            eventually(lambda: w.take() or len(w.both()) > 4, 'more connections', LIMIT)
    w.arrive()
    log('%d messages, dropped: %s', sum(f.sent for f in w.flows), w.dropped())


@case('flowlets', *BOTH)
def flowlets(w):
    """Sockets with one flow each, whose small messages go around the large ones of other flows while
    connections end: each message arrives once, in order."""
    all_lanes(w)
    for i in (0, 1):
        for _ in range(12):
            sink = Sink(w.sock(1 - i))
            flow = Flow(w.sock(i), w.addr[1 - i], sink.sock.port)
            sink.expect(flow)
            w.flows.append(flow)
            w.sinks.append(sink)
    for n in range(KILLS):
        for f in rng.sample(w.flows, len(w.flows) // 2):
            f.send()
        w.take()
        ports = w.ports(n % 2)
        if ports and rng.randrange(3) == 0:
            cut(w, n % 2, rng.choice(ports))
        if rng.randrange(3) == 0:
            w.arrive('all messages of round %d' % n)
    w.arrive()


def sent_over(w, i, port):
    """Bytes that host i has sent over a connection."""
    with w.ns[i]:
        text = run('ss', '-tinH', 'sport = :%d or dport = :%d' % (port, port))
    return sum(int(n) for n in re.findall(r'bytes_sent:(\d+)', text))


@case('maps', ('', {}))
def maps(w):
    """Ports of a host change all the time, faster than the peer acknowledges a map: the first lane goes
    back to its path nonetheless, and the maps with it."""
    all_lanes(w)
    full, src = Rds(w.ns[0], w.addr[0], rcvbuf=4096), w.sock(0)
    w.socks.append(full)
    for name in NAMES:
        run('tc', '-n', name, 'qdisc', 'add', 'dev', 'e0', 'root', 'netem', 'delay', '20ms')
    old = [p for p in w.both() if p % 8 == 0]
    cut(w, 0, old[0])

    def back():
        for _ in range(20):
            while src.send_error(bytes(3000), w.addr[0], full.port) is None:
                pass
            while full.recv_now():
                pass
        w.take()
        new = [p for p in w.both() if p % 8 == 0 and p not in old]
        return new and sent_over(w, 0, new[0]) > 2 * MAP_BYTES

    eventually(back, 'a map over the first path', LIMIT)
    w.send_all(2)
    w.arrive()


@case('hole', ('.here', {}), ('.there', {'swap': True}), ('.v6', {'family': 6}))
def hole(w):
    """What one host sends over a connection is lost from some time on: the other connections carry the
    lane after the limit of heartbeats. The connection comes back over other ports."""
    all_lanes(w)
    worst = 0
    for n in range(4):
        port = rng.choice(w.both())
        with Lost(w, from_port(port), to_port(port), hosts=(n % 2,), hook=('egress', 'ingress')[n // 2]):
            for f in w.flows:
                f.send()
            began = time.monotonic()
            w.arrive('what one connection swallows')
            worst = max(worst, time.monotonic() - began)
            eventually(lambda: len(set(w.both()) - {port}) == 8, 'another connection', LIMIT)
        w.send_all()
        w.arrive()
    bound(worst <= HEARTBEAT * BEATS / 1000 + 0.05, 'longest stall %.3f s', worst)
    log('longest stall %.3f s, dropped: %s', worst, w.dropped())


@case('outage', ('.here', {'paths': (1, 1)}), ('.eight', {}), ('.v6', {'paths': (1, 1), 'family': 6}))
def outage(w):
    """The network is away for some time: it is used again within a second."""
    w.connect(0)
    w.connect(1)
    w.send_all(2)
    w.arrive()
    worst = 0
    for seconds in (0.1, 0.3, 0.45, 0.7, 1.1, 1.9, 2.5):
        with Lost(w, any_kind):
            for f in w.flows:
                f.send()
            time.sleep(seconds)             # the length of the outage, not an order of events
        began = time.monotonic()
        w.arrive('all messages after %.1f s without a network' % seconds)
        took = time.monotonic() - began
        log('%.2f s without a network: all is there %.2f s later', seconds, took)
        worst = max(worst, took)
    bound(worst <= 1, 'longest wait %.2f s after the network is back', worst)


if __name__ == '__main__':
    sys.exit(CASES.main(sys.argv[1:]))
