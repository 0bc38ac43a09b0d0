# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""rtnl.py REPEATS WARM_S [ADDR...]: prints how long it takes to take rds0 down, in milliseconds, the
least of REPEATS times. Before each time a message goes from each address to each later one, so there
is a connection for each pair. A program that does it by itself, as to start ip(8) takes longer.

The guest has one processor, and what ends the connections runs there, too. So the time in which this
program waited for the processor, although it could have run, does not count."""
import fcntl
import select
import socket
import struct
import sys
import time

AF_RDS, PORT = 21, 4610
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def flags(ctl):
    return struct.unpack("16xH", fcntl.ioctl(ctl, SIOCGIFFLAGS, struct.pack("16s16x", b"rds0"))[:18])[0]


def processor_wait():
    """Seconds in which this program could have run and did not"""
    with open("/proc/thread-self/schedstat", encoding="ascii") as f:
        return int(f.read().split()[1]) / 1e9


def link(ctl, up):
    """Seconds that the call took, and those of them in which it waited for the processor"""
    new = flags(ctl) | IFF_UP if up else flags(ctl) & ~IFF_UP
    request = struct.pack("16sH14x", b"rds0", new)
    began, waited = time.monotonic(), processor_wait()
    fcntl.ioctl(ctl, SIOCSIFFLAGS, request)
    return time.monotonic() - began, processor_wait() - waited


def bound(addr):
    s = socket.socket(AF_RDS, socket.SOCK_SEQPACKET, 0)
    s.setblocking(False)
    for opt in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
        s.setsockopt(socket.SOL_SOCKET, opt, 1 << 20)
    s.bind((addr, PORT))
    return s


def talk(socks, limit):
    """A message for each pair, which the kernel answers."""
    addrs, left = list(socks), 0
    for n, a in enumerate(addrs):
        for b in addrs[n + 1:]:
            socks[a].sendto(b"", (b, 0))
            left += 1
    pairs, end = left, time.monotonic() + limit
    poll = select.poll()
    for s in socks.values():
        poll.register(s, select.POLLIN)
    while left:
        if time.monotonic() > end:
            sys.exit("%d of %d messages are not answered" % (left, pairs))
        poll.poll(100)
        for s in socks.values():
            try:
                while s.recvfrom(64):
                    left -= 1
            except BlockingIOError:
                pass
    return pairs


def main():
    repeats, limit = int(sys.argv[1]), float(sys.argv[2])
    socks = {a: bound(a) for a in sys.argv[3:]}
    ctl, took = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), []
    for _ in range(repeats):
        pairs = talk(socks, limit) if socks else 0
        # What else runs is not what is measured: addresses are looked at, and the link's users.
        time.sleep(3)
        took.append(link(ctl, False))
        link(ctl, True)
        time.sleep(3)
    print("# %d connections: %s ms" % (pairs, ", ".join("%.1f (%.1f waited)" % (1000 * t, 1000 * w)
                                                      for t, w in took)), file=sys.stderr)
    print("%.0f" % (1000 * min(t - w for t, w in took)))
    return 0


sys.exit(main())
