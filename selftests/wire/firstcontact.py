#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""First contact: new pairs of namespaces, one message at once in each direction.

Both ends dial. Every message has to arrive; within a second of guest time, where the clock counts
instructions.
"""
import fcntl
import socket
import struct
import sys
import threading
import time

from lab import (Deadline, JUDGED, LOAD, Netns, eventually, ifup, log, veth_pair)
from wirelib import (Rds)

ROUNDS = 200 if LOAD == 'full' else 20
LIMIT = 1.0

ADDRS = {4: ('10.0.0.1', '10.0.0.2'), 6: ('fd00::1', 'fd00::2')}


def configure(ns, family, addr):
    with ns:
        ifup('lo')
        if family == 4:
            ifup('veth0', addr)
            return
        for conf in ('all', 'veth0'):
            with open('/proc/sys/net/ipv6/conf/%s/accept_dad' % conf, 'w', encoding='ascii') as f:
                f.write('0')
        ifup('veth0')
        add6('veth0', addr)


def add6(dev, addr):
    """SIOCSIFADDR for IPv6: address, prefix length, interface index."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8916, struct.pack('=16sIi', socket.inet_pton(socket.AF_INET6, addr), 64,
                                           socket.if_nametoindex(dev)))


def usable6(ns):
    """Is no IPv6 address of the namespace tentative, as all are until the link is up?"""
    with ns, open('/proc/thread-self/net/if_inet6', encoding='ascii') as f:
        return all(not int(line.split()[4], 16) & 0x40 for line in f)


def contact(family):
    """One round: the times of the two messages, None for a message that did not arrive."""
    ns = (Netns.fresh(), Netns.fresh())
    try:
        veth_pair(*ns)
        for x, addr in zip(ns, ADDRS[family]):
            configure(x, family, addr)
        for x in ns:
            eventually(lambda x=x: usable6(x), 'IPv6 address usable')
        socks = [Rds(x, addr) for x, addr in zip(ns, ADDRS[family])]
        gate, sent = threading.Barrier(2), [0.0, 0.0]

        def speak(i):
            gate.wait()
            sent[i] = time.monotonic()
            socks[i].send(b'from %d' % i, ADDRS[family][1 - i], socks[1 - i].port)

        other = threading.Thread(target=speak, args=(1,))
        other.start()
        speak(0)
        other.join()
        took = [None, None]
        end = Deadline(10)
        while None in took and not end.over():
            for i in (0, 1):
                if took[i] is None and (got := socks[i].recv_now()):
                    took[i] = time.monotonic() - sent[1 - i]
                    if got[0] != b'from %d' % (1 - i):
                        took[i] = None
                        return took
            time.sleep(0.001)
        for s in socks:
            s.close()
        return took
    finally:
        for x in ns:
            x.close()


def main():
    bad = 0
    print('1..2', flush=True)
    for n, family in enumerate((4, 6), 1):
        worst, late = 0.0, []
        for i in range(ROUNDS // 2):
            took = contact(family)
            if None in took or (JUDGED and max(took) > LIMIT):
                late.append('round %d: %s' % (i, ', '.join('%.2f s' % t if t else 'never' for t in took)))
            worst = max([worst] + [t for t in took if t])
        log('IPv%d: %d rounds, slowest message %.1f ms', family, ROUNDS // 2, worst * 1000)
        for line in late[:10]:
            log('%s', line)
        name = 'first_contact.v%d' % family
        print(('not ok %d %s # %d of %d rounds late' % (n, name, len(late), ROUNDS // 2)) if late
              else 'ok %d %s' % (n, name), flush=True)
        bad += bool(late)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
