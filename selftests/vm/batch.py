# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lets lines share a guest: a batch. RDS_BATCH is the number of lines that may share one.

The lines of a batch run one after the other. After each line the guest is in the state in which the
line found it, or the batch ends there and the lines left get a new guest. kmemleak scans once,
after the last line; what it finds is a failure of the batch, as is anything else after the last
line.
"""

import collections
import copy
import os
import re
import time

from verdicts import Tally
from vmconf import VM

# Seconds of a line that selftests/vm/times does not have
GUESS_S = 100
# Lines that need an RDMA device have guests of their own: the modules of the devices stay loaded,
# and siw has variants.
DEVICE = re.compile(r"\b(rxe|siw)\b")


def known_seconds(kernel):
    """{line: seconds} on a kernel, from selftests/vm/times."""
    with open(os.path.join(VM, "times"), encoding="utf-8") as f:
        rows = [text.split() for text in f if not text.startswith("#")]
    return {row[1]: float(row[2]) for row in rows if row and row[0] == kernel}


def can_share(line, single):
    return (line.guests == 1 and line.stacks == ["ours"] and not line.kernel_args
            and line.cpus != "icount" and line.name not in single
            and not DEVICE.search(line.command))


def places(lines, seconds, single, slots):
    """{line: slot}: the longest line first, each to the slot with the shortest time. A line that
    needs all slots lengthens each of them."""
    load, place = [0.0] * slots, {}
    for ln in sorted(lines, key=lambda ln: -seconds.get(ln.name, GUESS_S)):
        took = seconds.get(ln.name, GUESS_S)
        at = place[ln.name] = load.index(min(load))
        if ln.name in single or ln.guests > 1:
            load = [max(load) + took] * slots
        else:
            load[at] += took
    return place


def deal(lines, opts, single):
    """[[line]]: the lines in their order, each alone or with the other lines of its batch. Only
    lines that one slot for guests would run share a guest, so that no slot is idle meanwhile."""
    if opts.batch < 2:
        return [[ln] for ln in lines]
    alike, hand_of = collections.defaultdict(list), {}
    place = places(lines, known_seconds(opts.kernel), single, opts.parallel)
    for ln in lines:
        if can_share(ln, single):
            # One guest has one number of processors, and either has kmemleak or not.
            leaks = opts.leaks is None or ln.selected(opts.leaks)
            alike[place[ln.name], ln.cpus, leaks].append(ln)
    for some in alike.values():
        size = -(-len(some) // -(-len(some) // opts.batch))
        for at in range(0, len(some), size):
            hand_of.update((ln.name, some[at:at + size]) for ln in some[at:at + size])
    return [hand for ln in lines for hand in [hand_of.get(ln.name, [ln])] if hand[0] is ln]


class Batch:
    """Runs the lines of a batch in as few guests as possible, and reports them."""

    def __init__(self, runner, lines, slots):
        self.runner, self.lines, self.slots = runner, lines, slots
        # Of each line the emulator struck: the notes for its report
        self.notes = collections.defaultdict(list)

    def run(self):
        left = list(self.lines)
        while left:
            if time.time() > self.runner.opts.until:
                with self.slots.changed:
                    for line in left:
                        self.runner.not_begun(line)
                return
            left = self.share(left)

    def share(self, lines):
        """Boots a guest for lines and reports those that began there, at least one; returns the
        others. A line that the emulator struck is one of the others, a few times."""
        bad = [ln for ln in lines if self.runner.prepare(ln)]
        if bad or len(lines) == 1:
            # A line that cannot be built is reported by its own run.
            self.single((bad or lines)[0])
            return [ln for ln in lines if ln is not (bad or lines)[0]]
        for ln in lines:
            ln.attempt = 1
        guest = self.runner.guest_of(lines)
        begun = [p for p in guest.parts if p.began] or guest.parts[:1]
        last = begun[-1]
        mine = self.notes[last.line.name]
        note = self.runner.struck([last], len(mine) + 1)
        if note:
            mine.append(note)
            begun.pop()
        # All are judged before one of them runs again, which takes long.
        tallies = [self.tally(p, begun) for p in begun]
        for part, tally in zip(begun, tallies):
            self.runner.deliver(part.line, self.slots,
                                lambda p=part, t=tally: self.runner.rerun(p.line, t, [p]))
        if begun:
            self.close(guest, begun, last)
        return lines[len(begun):]

    def single(self, line):
        def judge():
            tally, parts = self.runner.judged(line)
            tally.notes += self.notes[line.name]
            return tally, parts
        self.runner.deliver(line, self.slots, judge)

    def tally(self, part, begun):
        tally = Tally()
        tally.took = part.took()
        tally.notes += self.notes[part.line.name]
        self.runner.settle(part.line, tally, [part])
        before = " ".join(p.line.name for p in begun[:begun.index(part)])
        if tally.failures and before:
            tally.notes.append("ran in one guest after " + before)
        return tally

    def close(self, guest, begun, last):
        """Reports what no single line of the batch answers for."""
        closing, tally = guest.closing, Tally()
        if closing.began:
            tally.add_closing(closing, self.runner.accepted)
        elif last.ended and not last.spoiled():
            tally.fail(last, "guest hangs between two lines")
        elif guest.leaks and guest.kernel.name == "debug" and not last.cut:
            # The report of a line that was cut off says that there was no time left.
            tally.skip_leaks(last)
        tally.took = closing.took()
        names = " ".join(p.line.name for p in begun)
        if not (tally.failures or tally.skipped or tally.cut):
            with self.slots.changed:
                print("guest  of %s: %.1f s before the first, %.1f s after the last" % (
                    names, guest.parts[0].waited(guest), tally.took), flush=True)
            return
        line = copy.copy(last.line)
        line.name, line.is_batch = "batch of " + names, True
        self.runner.deliver(line, self.slots,
                            lambda: (tally, [closing if closing.began else last]))
