# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How often a host is dialled that cannot be reached for minutes."""
import select
import time

from lab import A4, check, equal, eventually
from wire_ack import OURS_ONLY, ack, frame, greeted, modern, tell
from wirelib import F_RETRANS, INFO6_RETRANS, Sniffer, case, queued


class Dials:
    """The times at which A dials a host."""

    def __init__(self, c, p):
        self.c, self.sniff, self.p = c, c.sniffer(), p

    def during(self, minutes):
        """The times of dials within so many minutes from now."""
        end, got = time.monotonic() + 60 * minutes, []
        while select.select([self.sniff.s], [], [], max(0, end - time.monotonic()))[0]:
            got += [s.when for s in self.sniff.segments()
                    if s.src == A4 and s.dst == self.p.addr and s.flags == Sniffer.SYN]
        return got

    def gone(self):
        """The host goes, and has acknowledged all that A has sent."""
        eventually(lambda: not queued(self.c.net.a, INFO6_RETRANS, self.p.addr), 'acknowledgements')
        self.p.listener.close()
        self.p.conn.reset()

    def back(self, what):
        """The host listens again, and A dials within the longest of the usual waits."""
        t0 = time.monotonic()
        self.p.conn = self.p.accept(90)
        took = time.monotonic() - t0
        check(took < 1.1, '%s: dialled after %.2f s', what, took)


@case('wire.backoff_minutes', stacks=OURS_ONLY, bulky=True)
def backoff_minutes(c):
    """With a message to send A dials a host that refuses about once a minute after some minutes, and
    each second again once the host knocks."""
    d = Dials(c, c.peer('server', up=False, listen=False))
    r = c.rds()
    r.send(b'waiting', d.p.addr, 4000)
    usual = d.during(2)
    check(len(usual) > 100, '%d dials in the first 2 minutes', len(usual))
    d.during(5)
    late = d.during(6)
    check(2 <= len(late) <= 20, '%d dials in minutes 8 to 13', len(late))
    gaps = [b - a for a, b in zip(late, late[1:])]
    check(max(gaps) < 66, 'dials were %.2f s apart', max(gaps))
    d.p.listen()
    d.p.nudge()
    d.back('after a knock')
    d.p.read()
    d.p.sync()


@case('wire.backoff_old', stacks=OURS_ONLY, bulky=True)
def backoff_old(c):
    """Without a message A dials a host less and less that was there once and may not knock, down to
    about ten times an hour."""
    d = Dials(c, c.peer('server'))
    d.p.settle()
    d.gone()
    check(len(d.during(2)) > 100, 'not dialled')
    d.during(40)
    late = d.during(60)
    check(4 <= len(late) <= 24, '%d dials in an hour', len(late))
    d.p.listen()
    d.p.nudge()
    d.back('after a knock')
    d.p.sync()


@case('wire.backoff_ends', stacks=OURS_ONLY, bulky=True)
def backoff_ends(c):
    """Without a message A dials a host for five minutes that was there once and knocks if it has a
    message, and then not at all, up to the next message or knock."""
    d, r = Dials(c, modern(c, 'server')), c.rds()
    r.send(b'first', d.p.addr, 4000)
    ack(d.p, frame(d.p, 'the message').seq)
    d.gone()
    check(len(d.during(2)) > 100, 'not dialled')
    d.during(4)
    equal(d.during(10), [], 'dials after 6 minutes')
    r.send(b'second', d.p.addr, 4000)
    check(len(d.during(1)) > 50, 'not dialled for a message')
    d.p.listen()
    d.back('with a message')
    greeted(d.p, F_RETRANS)
    tell(d.p, 70, 1)
    m = frame(d.p, 'the message')
    equal((m.seq, m.data), (2, b'second'), 'the message')
    ack(d.p, 2)
    d.gone()
    d.during(6)
    equal(d.during(10), [], 'dials after 6 minutes')
    d.p.listen()
    d.p.nudge()
    d.back('after a knock')
