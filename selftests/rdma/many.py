# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""many.py again LIMIT_S DOWN UP LOCAL... - REMOTE...: a connection from each local address to each
remote one. Then the commands DOWN and UP, by which all connections end at once, and a message over
each, which is answered (the peer's kernel answers pings); twice. Prints the figures of each round,
and ends with status 1 when one took longer than LIMIT_S.
many.py dead LIMIT_S REMOTE LOCAL... - DEAD...: each local address calls each that is dead, and then
the first one calls the remote one, which must answer in LIMIT_S.
many.py silent LIMIT_S REMOTE LOCAL OTHER - SILENT...: OTHER calls each that is silent, and when as
many ask as a queue of work items has workers, LOCAL calls the remote one."""
import os
import select
import socket
import subprocess
import sys
import time

AF_RDS, PORT = 21, 4600
# A queue of work items has 256 workers; some of these may be at other work.
BUSY = 250
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
COUNTED = ("rdma_conn_up", "rdma_conn_failed", "ib_connect_raced", "dial_failed", "crossed_attempt",
           "peer_rejected", "peer_closed", "peer_timeout", "peer_replaced", "local_reconfig",
           "address_gone", "send_error", "terminated", "idle", "no_memory")


class End:
    """A socket of a local address; @left: peers that have not answered, @unsent: those to be asked"""

    def __init__(self, addr):
        self.s = socket.socket(AF_RDS, socket.SOCK_SEQPACKET, 0)
        self.s.setblocking(False)
        for opt in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
            self.s.setsockopt(socket.SOL_SOCKET, opt, 1 << 20)
        self.s.bind((addr, PORT))
        self.left, self.unsent = set(), []

    def begin(self, peers):
        self.left, self.unsent = set(peers), list(peers)

    def send(self):
        while self.unsent:
            try:
                self.s.sendto(b"", (self.unsent[-1], 0))
            except BlockingIOError:
                return
            self.unsent.pop()

    def receive(self):
        while True:
            try:
                self.left.discard(self.s.recvfrom(64)[1][0])
            except BlockingIOError:
                return


def counters():
    found = {}
    text = subprocess.run([os.environ["RDS_BIN"] + "/rds-info", "-c"], capture_output=True, text=True,
                          check=True).stdout
    with open("/proc/net/rds/drops", encoding="ascii") as f:
        text += f.read()
    for line in text.splitlines():
        w = line.split()
        if len(w) == 2 and w[1].isdigit():
            found[w[0]] = int(w[1])
    return found


def figures(before):
    """What has been counted since @before"""
    now = counters()
    diff = {k: now[k] - before.get(k, 0) for k in COUNTED if now.get(k, 0) > before.get(k, 0)}
    return " ".join("%s=%d" % d for d in diff.items())


def flap(down, up):
    """Seconds that the first command takes"""
    began = time.monotonic()
    subprocess.run(down, shell=True, check=True)
    took = time.monotonic() - began
    subprocess.run(up, shell=True, check=True)
    return took


class Round:
    """A message from each end to each peer; @before: the counters when it began"""

    def __init__(self, ends, peers, before):
        self.ends, self.all, self.before = ends, len(ends) * len(peers), before
        self.began, self.most, self.said = time.monotonic(), None, 0
        for e in ends:
            e.begin(peers)

    def left(self):
        return sum(len(e.left) for e in self.ends)

    def step(self):
        """Asks and listens; returns the seconds since the begin."""
        for e in self.ends:
            e.send()
            e.receive()
        passed = time.monotonic() - self.began
        if self.most is None and self.left() <= self.all // 100:
            self.most = passed
        if passed >= self.said + 10:
            self.said = passed
            print("# %.0f s: %d of %d have not answered, %d not asked; %s" % (
                passed, self.left(), self.all, sum(len(e.unsent) for e in self.ends), figures(self.before)),
                  flush=True)
        return passed

    def run(self, limit):
        poll = select.poll()
        for e in self.ends:
            poll.register(e.s, select.POLLIN)
        while self.left() and self.step() <= limit:
            poll.poll(200)
        return time.monotonic() - self.began


def again(limit, down, up, ends, peers):
    late = False
    for n in range(3):
        before = counters()
        took = flap(down, up) if n else 0
        r = Round(ends, peers, before)
        whole = r.run(limit)
        print("# round %d: %d connections, down %.2f s, 99%% %s s, all %.1f s, %d left; %s" % (
            n, r.all, took, "-" if r.most is None else "%.1f" % r.most, whole, r.left(), figures(before)),
              flush=True)
        late |= r.left() > 0
    return late


def dead(limit, remote, ends, peers):
    before = counters()
    for e in ends:
        e.begin(peers)
        e.send()
    time.sleep(0.5)
    return answered(limit, remote, ends, peers, before)


def answered(limit, remote, ends, peers, before):
    """The first end calls the remote address; whether there was no answer."""
    r = Round(ends[:1], [remote], before)
    whole = r.run(limit)
    print("# %d peers that do not answer, one that does after %.1f s; %s" % (
        len(ends) * len(peers), whole, figures(before)), flush=True)
    return r.left() > 0


def asking():
    """The number of TCP connections in SYN_SENT"""
    with open("/proc/net/tcp", encoding="ascii") as f:
        return sum(" 02 " in line for line in f)


def silent(limit, remote, me, end, peers):
    before = counters()
    end.begin(peers)
    end.send()
    until = time.monotonic() + limit
    while (asked := asking()) < BUSY:
        if time.monotonic() > until:
            print("# only %d ask" % asked)
            return True
        time.sleep(0.05)
    return answered(limit, remote, [me], peers, before)


def main():
    what, limit, split = sys.argv[1], float(sys.argv[2]), sys.argv.index("-")
    args, peers = sys.argv[3:split], sys.argv[split + 1:]
    if what == "again":
        return again(limit, args[0], args[1], [End(a) for a in args[2:]], peers)
    if what == "silent":
        return silent(limit, args[0], End(args[1]), End(args[2]), peers)
    return dead(limit, args[0], [End(a) for a in args[1:]], peers)


sys.exit(main())
