#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""batches.py NETNS LOCAL NETNS PEER NUMBER: send so many messages while rds_test.ko connects no path,
then let it, and receive them."""
import ctypes
import os
import socket
import struct
import sys

AF_RDS, PORT = 21, 4000
SO_SNDBUFFORCE = 32
CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def fail(what):
    sys.exit('%s: %s' % (what, os.strerror(ctypes.get_errno())))


def sockaddr(addr):
    return struct.pack('=H', socket.AF_INET) + struct.pack('>H', PORT) + socket.inet_aton(addr) + bytes(8)


def rds(netns, addr):
    with open('/run/netns/' + netns, 'rb') as f:
        if libc.setns(f.fileno(), CLONE_NEWNET):
            fail('setns')
    s = socket.socket(AF_RDS, socket.SOCK_SEQPACKET, 0)
    name = sockaddr(addr)
    if libc.bind(s.fileno(), name, len(name)):
        fail('bind to ' + addr)
    return s


def apart(on):
    with open('/sys/module/rds_test/parameters/apart', 'w', encoding='ascii') as f:
        f.write(on)


def main():
    here, local, there, peer, number = sys.argv[1:5] + [int(sys.argv[5])]
    s, r, to = rds(here, local), rds(there, peer), sockaddr(peer)
    s.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 32 * number)
    apart('1')
    for i in range(number):
        data = struct.pack('>I', i)
        if libc.sendto(s.fileno(), data, len(data), socket.MSG_DONTWAIT, to, len(to)) != len(data):
            fail('message %d' % i)
    apart('0')
    r.settimeout(20 * float(os.environ.get('RDS_SLOW', '1')))
    for i in range(number):
        got = r.recv(8)
        if got != struct.pack('>I', i):
            sys.exit('wanted message %d, got %r' % (i, got))


if __name__ == '__main__':
    main()
