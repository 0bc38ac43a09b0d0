#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Breaks what connects this host to another: breaker.py SOCKET SELF PREFIX PEER

Listens for rds-xchg at the Unix socket. Each message asks for one break: it is drawn, done and healed,
and its kind is the answer. In the meantime the link loses, doubles and reorders packets. Ends with
the connection. RDS_ARGS is the seed.
"""
import os
import random
import socket
import subprocess
import sys
import time

DEV, RDS_TCP_PORT = 'rds0', 16385
NETEM = 'delay 1ms reorder 98% loss 2% duplicate 2%'.split()
SEED = int(os.environ.get('RDS_ARGS') or int.from_bytes(os.urandom(4), 'little'))


def run(*cmd):
    return subprocess.run(cmd, check=True, capture_output=True, text=True).stdout


class Lost:
    """As long as this is entered, packets are lost that the filters match. The qdisc clsact is there
    all the time, and so is one filter (stay() of storm.sh)."""

    def __init__(self, *filters):
        self.filters = filters

    def __enter__(self):
        for f in self.filters:
            run('tc', 'filter', 'add', 'dev', DEV, *f.split(), 'action', 'drop')

    def __exit__(self, *exc):
        for f in self.filters:
            run('tc', 'filter', 'del', 'dev', DEV, f.split()[0])


class Breaker:
    """The time that a break lasts is its length, and orders no events."""

    def __init__(self, addr, prefix, peer):
        self.addr, self.prefix, self.peer = addr, prefix, peer
        self.six = ':' in addr

    def connections(self):
        """Local and remote port of each connection."""
        lines = run('ss', '-tnH', 'state', 'established', '(', 'sport', '=', ':%d' % RDS_TCP_PORT, 'or',
                    'dport', '=', ':%d' % RDS_TCP_PORT, ')').splitlines()
        ends = [[w.rsplit(':', 1) for w in line.split()[2:4]] for line in lines]
        return [(int(own[1]), int(other[1])) for own, other in ends
                if other[0].strip('[]').replace('::ffff:', '') == self.peer]

    def kill(self, lport, pport):
        run('ss', '-KtnH', 'sport', '=', ':%d' % lport, 'and', 'dport', '=', ':%d' % pport)
        if (lport, pport) in self.connections():
            raise RuntimeError('ss -K did not end the connection')

    def reset(self):
        """One connection"""
        self.kill(*random.choice(self.connections()))

    def reset_all(self):
        for ports in self.connections():
            self.kill(*ports)

    @staticmethod
    def link():
        run('ip', 'link', 'set', DEV, 'down')
        time.sleep(random.uniform(0.02, 0.3))
        run('ip', 'link', 'set', DEV, 'up')

    def address(self):
        what = ['%s/%s' % (self.addr, self.prefix), 'dev', DEV]
        run('ip', 'addr', 'del', *what)
        time.sleep(random.uniform(0.02, 0.3))
        run('ip', 'addr', 'add', *what, *(['nodad'] if self.six else []))

    @staticmethod
    def silence():
        """All packets are lost for a second"""
        with Lost('egress matchall', 'ingress matchall'):
            time.sleep(1)

    @staticmethod
    def hole():
        """What this host sends is lost"""
        with Lost('egress matchall'):
            time.sleep(random.uniform(0.1, 1.5))

    def hole_one(self):
        """What this host sends over one connection is lost"""
        lport, pport = random.choice(self.connections())
        one = 'egress protocol %s flower ip_proto tcp src_port %d dst_port %d' % (
            'ipv6' if self.six else 'ip', lport, pport)
        with Lost(one):
            time.sleep(1.5)

    def one(self):
        kinds = (self.reset, self.reset_all, self.link, self.address, self.silence, self.hole,
                 self.hole_one)
        kind = random.choices(kinds, weights=(8, 2, 3, 3, 2, 2, 2))[0]
        while kind in (self.reset, self.reset_all, self.hole_one) and not self.connections():
            time.sleep(0.02)                # until there is one: it is what is broken
        kind()
        return kind.__name__


def main():
    path, addr, prefix, peer = sys.argv[1:]
    random.seed(SEED)
    print('# RDS_ARGS=%d draws the same breaks' % SEED, flush=True)
    breaker = Breaker(addr, prefix, peer)
    run('tc', 'qdisc', 'replace', 'dev', DEV, 'root', 'netem', 'limit', '10000', *NETEM)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.bind(path)
        s.listen(1)
        conn = s.accept()[0]
        while conn.recv(16):
            conn.send(breaker.one().encode())


if __name__ == '__main__':
    main()
