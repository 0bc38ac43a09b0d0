#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Plans which pairs of case line and kernel CI runs: some always, the others in shards, by turns.

    plan.py turn                      print "SHARD SHARDS TURN WHY", by RDS_TURN or the number of
                                      commits
    plan.py table SHARD               print when each pair runs, and the estimated times
    plan.py always KERNEL             print the lines that always run there, with those of this turn,
                                      as words for CASES
    plan.py shard KERNEL SHARD TURN   print the lines of a shard on KERNEL, as words for CASES
    plan.py leaks TURN                print the lines that run with kmemleak, as words for RDS_LEAKS
    plan.py cut SHARD LOG...          print the pairs that were skipped or cut off for lack of
                                      time, out of the logs of a shard's parts
"""

import glob
import math
import os
import re
import subprocess
import sys
import types

import batch
import run
from vmconf import TOP, VM, SetupError

DEBUG = "debug"
KERNELS = ("6.12", "6.1", "7.3", DEBUG)
# So many that CI has time for one whole shard after what always runs
SHARDS = 24
# Guests that CI runs at the same time
SLOTS = 2
# Estimated seconds of a line that is not in the file times, by its number of guests, without and
# with RDMA, and the factor for the debug kernel
GUESS = {1: 55, 2: 45}
GUESS_RDMA = {1: 55, 2: 90}
GUESS_DEBUG = 5
# The shard that also runs the harness test's lines for the debug kernel, and their seconds
HARNESS_SHARD, HARNESS_S = 0, 240
COLUMNS = 2


def git(*words):
    p = subprocess.run(["git", "-c", "safe.directory=*", "-C", TOP, *words], text=True, check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return p.stdout.strip() if p.returncode == 0 else ""


def turn():
    """(turn, why): the number of this turn and its source. A shard runs every SHARDS turns."""
    if os.environ.get("RDS_TURN"):
        return int(os.environ["RDS_TURN"]), "RDS_TURN"
    try:
        if git("rev-parse", "--is-shallow-repository") == "true":
            return 0, "a shallow clone does not know how many commits there are"
        count = git("rev-list", "--count", "HEAD")
    except OSError:
        count = ""
    if not count:
        return 0, "no commits to count"
    return int(count), "%s commits" % count


def read_rows(name):
    with open(os.path.join(VM, name), encoding="utf-8") as f:
        for n, text in enumerate(f, 1):
            text = text.split("#")[0].strip()
            if text:
                yield "%s:%d" % (name, n), text


class Plan:
    """Every pair (kernel, line), the part of CI that runs it, and its estimated time, in the turn
    @now, which is the number of this one by default."""

    def __init__(self, now=None):
        cases = sorted(glob.glob(os.path.join(TOP, "selftests", "*", "cases")))
        self.lines = {ln.name: ln for ln in run.read_lines(cases)}
        self.single = run.read_alone()
        self.times, self.parts = {}, {}
        for where, text in read_rows("times"):
            kernel, name, seconds = text.split()
            if kernel == "part":
                self.parts[name] = float(seconds)
                continue
            self.known(where, kernel, name)
            self.times[kernel, name] = float(seconds)
        # The pairs that always run, {pair: (N, M)} of those that do so in turns, and what runs now
        self.always, self.turns = {}, {}
        for where, text in read_rows("always"):
            self.read_always(where, text)
        now = turn()[0] if now is None else now
        self.now = {p for p in self.always if self.is_due(p, now)}
        self.shards = self.share_out()

    def read_always(self, where, text):
        m = re.fullmatch(r"(\S+)\s*(?:(\d+)/(\d+))?\s*\|(.*)", text)
        if not m:
            raise SetupError("%s: not KERNEL [N/M] | LINE..." % where)
        for name in m.group(4).split():
            pair = m.group(1), name
            self.known(where, *pair)
            if pair in self.always:
                raise SetupError("%s: %s on %s is there twice" % (where, name, pair[0]))
            self.always[pair] = True
            if m.group(3):
                self.turns[pair] = int(m.group(2)), int(m.group(3))

    def is_due(self, pair, now):
        """Whether a pair of the file always runs in the turn @now."""
        n, m = self.turns.get(pair, (0, 1))
        return now % m == n

    def known(self, where, kernel, name):
        if kernel not in KERNELS or name not in self.lines or not self.lines[name].runs_under(kernel):
            raise SetupError("%s: no line %s on kernel %s" % (where, name, kernel))

    def pairs(self):
        return [(k, n) for n, ln in self.lines.items() for k in KERNELS if ln.runs_under(k)]

    def seconds(self, pair):
        kernel, name = pair
        guess = (GUESS_RDMA if "rdma" in name else GUESS)[self.lines[name].guests]
        return self.times.get(pair, guess * (GUESS_DEBUG if kernel == DEBUG else 1))

    def cost(self, pair):
        """Seconds of the machine; a line that leaves room for a second one counts in part."""
        line = self.lines[pair[1]]
        slots = SLOTS if line.name in self.single else line.guests
        return self.seconds(pair) * min(slots, SLOTS) / SLOTS

    def share_out(self):
        """{pair: shard}: assigns the longest pair first, each to the shard with the shortest
        time."""
        load, shards = [0.0] * SHARDS, {}
        load[HARNESS_SHARD] = HARNESS_S
        rest = [p for p in self.pairs() if p not in self.always]
        for pair in sorted(rest, key=lambda p: (-self.cost(p), p)):
            shard = load.index(min(load))
            shards[pair] = shard
            load[shard] += self.cost(pair)
        return shards

    def minutes(self, pairs):
        return sum(map(self.cost, pairs)) / 60

    def of_shard(self, shard):
        return [p for p, s in self.shards.items() if s == shard]

    def words(self, pairs, kernel):
        """The lines of a kernel, as words for CASES, in an order that keeps both guest slots
        busy."""
        mine = [p for p in pairs if p[0] == kernel]
        mine.sort(key=lambda p: (-self.lines[p[1]].guests, -self.seconds(p), p))
        return ["=" + name for _, name in mine]

    def guests(self, leaks=None):
        """[[line]]: the lines that always run on the debug kernel, by guest. @leaks: words that
        select those with kmemleak, which share no guest with others."""
        words = self.words(self.now, DEBUG)
        opts = types.SimpleNamespace(batch=run.BATCH[DEBUG], parallel=SLOTS, leaks=leaks,
                                     kernel=DEBUG)
        hands = batch.deal([self.lines[w[1:]] for w in words], opts, self.single)
        return [[ln.name for ln in hand] for hand in hands]

    def leaks(self, now):
        """The lines of a guest that several lines share, another one or none whenever the same
        lines run again, as words: kmemleak finds what any of the lines leaves, but makes a guest so
        slow that a machine may have no time for its last lines."""
        shared = [names for names in self.guests() if len(names) > 1]
        at = now // math.lcm(*(m for _, m in self.turns.values()))
        return ["=" + name for name in (shared + [["none"]])[at % (len(shared) + 1)]]

    def cell(self, pair):
        if pair in self.turns:
            return "%d/%d" % self.turns[pair]
        if pair in self.always:
            return "A"
        return str(self.shards.get(pair, "."))

    def table(self, shard):
        rows = ["%-21s" % name + "".join("%6s" % self.cell((k, name)) for k in KERNELS)
                for name in sorted(self.lines)]
        head = "%-21s" % "line" + "".join("%6s" % k for k in KERNELS)
        deep = -(-len(rows) // COLUMNS)
        out = ["A: always, N/M: turn N of M, 0 to %d: shard, .: not on this kernel" % (SHARDS - 1),
               "   ".join([head] * COLUMNS)]
        out += ["   ".join(rows[i::deep]) for i in range(deep)]
        unknown = sum(p not in self.times for p in self.pairs())
        out.append("%d pairs, %d of them always; for %d the time is a guess" % (
            len(self.pairs()), len(self.now), unknown))
        for k in KERNELS:
            mine = [p for p in self.now if p[0] == k]
            out.append("always on %-6s %3d lines %6.1f min" % (k, len(mine), self.minutes(mine)))
        parts = sum(self.parts.values()) / 60
        out.append("always, %d other parts %9.1f min" % (len(self.parts), parts))
        out.append("always, in all         %9.1f min" % (parts + self.minutes(self.now)))
        for s in range(SHARDS):
            out.append("shard %-2d        %3d lines %6.1f min%s" % (
                s, len(self.of_shard(s)), self.minutes(self.of_shard(s)),
                ", this one" if s == shard else ", left to another submission"))
        return "\n".join(out)

    def in_turn(self, kernel, shard, now):
        """The lines of a shard on a kernel, as words for CASES. They start with another line in
        each round, because the last ones may be cut off."""
        words = self.words(self.of_shard(shard), kernel)
        # Steps of the golden section soon come near every line, for any number of lines.
        at = int(now // (SHARDS * len(KERNELS)) * 0.618034 * len(words)) % max(1, len(words))
        return words[at:] + words[:at]


def cut(logs):
    """(["KERNEL LINE"] of the pairs that were skipped or cut off for lack of time, number that
    ran)."""
    late, ran = [], 0
    for path in logs:
        kernel = re.sub(r"^shard-|\.log$", "", os.path.basename(path))
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8", errors="replace") as f:
            for text in f:
                m = re.match(r"(skip|ok|not ok|FLAKY) +(\S+) +(no time left|cut off|\d+ passed)", text)
                if m and m.group(1) == "skip":
                    late.append("%s %s" % (kernel, m.group(2)))
                elif m:
                    ran += 1
    return late, ran


def main():
    what, args = (sys.argv + [""])[1], sys.argv[2:]
    if what == "turn":
        now, why = turn()
        print(now % SHARDS, SHARDS, now, why)
    elif what == "table":
        print(Plan().table(int(args[0])))
    elif what == "always":
        plan = Plan()
        print(" ".join(plan.words(plan.now, args[0])))
    elif what == "shard":
        print(" ".join(Plan().in_turn(args[0], int(args[1]), int(args[2]))))
    elif what == "leaks":
        print(" ".join(Plan(int(args[0])).leaks(int(args[0]))))
    elif what == "cut":
        late, ran = cut(args[1:])
        shard, total = int(args[0]), len(Plan().of_shard(int(args[0])))
        print("shard %d: %d of %d pairs ran" % (shard, ran, total))
        if late:
            print("shard %d: no time left for %s" % (shard, ", ".join(late)))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as e:
        print("plan: %s" % e, file=sys.stderr)
        sys.exit(1)
