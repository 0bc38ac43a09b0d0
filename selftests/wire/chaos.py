#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random events at every state of a path: it returns to UP, and messages arrive once, in order.

Two namespaces with the module, IPv4 and IPv6. Each round draws events (connections reset at either
end, links and addresses removed and restored, every connection of a namespace closed by a sysctl,
messages meanwhile) with random gaps, heals what it broke, and then requires a message to arrive in
each direction, with all messages sent before, once and in order. The trace of the states must show
that every transition of the table took place but the one to DEAD, which only the removal of a
namespace or module causes.
"""
import os
import random
import re
import sys
import time

from lab import (Deadline, Fail, LOAD, Netns, RDS_TCP_PORT, check, eventually, ip_batch, log, run)
from wirelib import Rds

ROUNDS = 300 if LOAD == 'full' else 15
SEED = int(os.environ.get('RDS_ARGS') or int.from_bytes(os.urandom(4), 'little'))
# A lost SYN is retransmitted after 1 s and 3 s, and a back-off of up to 1 s may follow.
LIMIT = 15
ADDRS = {4: ('10.9.0.1', '10.9.0.2'), 6: ('fd09::1', 'fd09::2')}
NAMES = ('X', 'Y')
TRACE = '/sys/kernel/tracing/'
DOWN, CONNECTING, UP, CLOSING = 'down', 'connecting', 'up', 'closing'
TRANSITIONS = ((DOWN, CONNECTING), (CONNECTING, UP), (CONNECTING, CLOSING), (UP, CLOSING), (CLOSING, DOWN))


def write(path, text):
    with open(path, 'w', encoding='ascii') as f:
        f.write(text)


class Flow:
    """Numbered messages from one socket to another."""

    def __init__(self, src, dst):
        self.src, self.dst, self.sent, self.got = src, dst, 0, 0

    def send(self):
        try:
            self.src.send(b'%d' % self.sent, self.dst.addr, self.dst.port)
        except OSError:
            return                          # no address or no buffer now: not sent
        self.sent += 1

    def take(self):
        while (got := self.dst.recv_now()) is not None:
            check(got[0] == b'%d' % self.got, 'message %r where %d was due', got[0][:20], self.got)
            self.got += 1

    def all_here(self):
        self.take()
        return self.got == self.sent


class World:
    def __init__(self):
        ip_batch(['netns add %s' % n for n in NAMES] +
                 ['link add e0 netns X type veth peer name e0 netns Y'])
        self.ns = [Netns.named(n) for n in NAMES]
        for i, n in enumerate(NAMES):
            with self.ns[i]:
                write('/proc/sys/net/ipv6/conf/e0/keep_addr_on_down', '1')
            ip_batch(['link set lo up', 'link set e0 up'] + self.addresses('add', i), n)
        self.rcvbuf = 1 << 17
        self.flows = []
        for family in (4, 6):
            pair = [Rds(self.ns[i], ADDRS[family][i]) for i in (0, 1)]
            self.flows += [Flow(pair[0], pair[1]), Flow(pair[1], pair[0])]

    @staticmethod
    def addresses(verb, i):
        return ['addr %s %s/24 dev e0' % (verb, ADDRS[4][i]),
                'addr %s %s/64 dev e0%s' % (verb, ADDRS[6][i], ' nodad' if verb == 'add' else '')]

    # Each event takes the end at which it happens, and returns the function that heals it, or None.

    def reset(self, i):
        with self.ns[i]:
            run('ss', '-KtH', '( sport = :%d or dport = :%d )' % (RDS_TCP_PORT, RDS_TCP_PORT))

    def link(self, i):
        ip_batch(['link set e0 down'], NAMES[i])
        return lambda: ip_batch(['link set e0 up'], NAMES[i])

    def address(self, i):
        # Another event on the link may have removed the addresses already, or may restore them.
        with self.ns[i]:
            for cmd in self.addresses('del', i):
                run('ip', *cmd.split(), must=False)

        def back():
            with self.ns[i]:
                for cmd in self.addresses('add', i):
                    run('ip', *cmd.split(), must=False)
        return back

    def sysctl(self, i):
        self.rcvbuf ^= 1 << 16
        with self.ns[i]:
            write('/proc/sys/net/rds/tcp/rds_tcp_rcvbuf', str(self.rcvbuf))

    def speak(self, _):
        for f in random.choices(self.flows, k=3):
            f.send()

    def round(self):
        """Break things and heal them; return the time from then until all messages have arrived."""
        events = [random.choice((self.reset, self.reset, self.link, self.address, self.sysctl, self.speak))
                  for _ in range(random.randint(1, 6))]
        heal = []
        for event in events:
            self.speak(0)
            cure = event(random.randint(0, 1))
            if cure:
                heal.append(cure)
            time.sleep(random.choice((0, 0, random.random() / 50, random.random() / 4)))
        for cure in heal:
            cure()
        began = time.monotonic()
        for f in self.flows:
            f.send()
        end = Deadline(LIMIT)
        while not all([f.all_here() for f in self.flows]):
            check(not end.over(), 'after %s: %s', ', '.join(e.__name__ for e in events),
                  ', '.join('%d of %d' % (f.got, f.sent) for f in self.flows))
            time.sleep(0.002)
        return time.monotonic() - began


def transitions(text):
    seen = dict.fromkeys(TRANSITIONS, 0)
    for m in re.finditer(r'rds_path_state: .* state (\w+) -> (\w+) ', text):
        t = m.groups()
        seen[t] = seen.get(t, 0) + 1
    return seen


def verdict(name, fn):
    try:
        fn()
    except Fail as e:
        print('not ok %s # %s' % (name, e), flush=True)
        return 1
    print('ok %s' % name, flush=True)
    return 0


def main():
    print('1..2', flush=True)
    random.seed(SEED)
    log('RDS_ARGS=%d draws the same events', SEED)
    write(TRACE + 'buffer_size_kb', '4096')
    write(TRACE + 'events/rds/rds_path_state/enable', '1')
    world, took = World(), []

    def back_to_up():
        eventually(lambda: [f.send() for f in world.flows] and all([f.all_here() for f in world.flows]),
                   'first contact', LIMIT)
        for _ in range(ROUNDS):
            took.append(world.round())
        log('%d rounds, %d messages, back in %.0f ms (median), %.0f ms (slowest)', ROUNDS,
            sum(f.got for f in world.flows), sorted(took)[len(took) // 2] * 1000, max(took) * 1000)

    def every_transition():
        with open(TRACE + 'trace', encoding='ascii', errors='replace') as f:
            seen = transitions(f.read())
        log('%s', ', '.join('%s->%s %d times' % (*t, n) for t, n in sorted(seen.items())))
        check(set(seen) == set(TRANSITIONS), 'transitions %s are not in the table',
              set(seen) - set(TRANSITIONS))
        check(all(seen.values()), 'some transition never took place')

    bad = verdict('chaos.back_to_up', back_to_up) + verdict('chaos.every_transition', every_transition)
    write(TRACE + 'events/rds/rds_path_state/enable', '0')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
