#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the plan of CI: the shards and what always runs are every pair of case line and kernel, and
no pair is in two of them. The dry mode of .ci/run shows for some turns that CI runs what plan.py
says, and shard 0 if there are no commits to count. In a turn kmemleak runs in one guest or none, and
within eighteen turns in every line that shares a guest."""
import os
import re
import subprocess
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "selftests", "vm"))
import plan  # noqa: E402

LEAKS = re.compile(r"^==== turn-debug: .* RDS_LEAKS=(.*) make test ", re.M)
# kmemleak has run in each line that shares a guest after so many
TURNS = 18
PART = re.compile(r"^==== (always|turn|shard)-(\S+): .* CASES=(.*)$", re.M)


def dry(**env):
    p = subprocess.run([os.path.join(TOP, ".ci", "run")], env=dict(os.environ, RDS_CI_DRY="1", **env),
                       text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return p.stdout


def pairs(text):
    """[(always, turn or shard, kernel, line)] of the pairs that a turn runs, from the output of
    .ci/run."""
    return [(what, kernel, word[1:]) for what, kernel, words in PART.findall(text)
            for word in words.split()]


def leak_faults(texts):
    """Faults of the lines that run with kmemleak, in the output of .ci/run of each turn."""
    shared, seen = set(), set()
    for turn, text in enumerate(texts):
        planned, words = plan.Plan(turn), LEAKS.search(text).group(1).split()
        if words == ["=none"]:
            continue
        mine = {w[1:] for w in words}
        if mine not in map(set, planned.guests(words)):
            yield "turn %d: kmemleak runs in %s, which share no guest" % (turn, " ".join(words))
        seen |= mine
    for turn in range(len(texts)):
        shared.update(n for names in plan.Plan(turn).guests() if len(names) > 1 for n in names)
    if not shared <= seen:
        yield "kmemleak does not run in %s" % " ".join(sorted(shared - seen))


def turn_faults(turn, text):
    """Faults of what CI runs in a turn, in the output of .ci/run."""
    planned, runs = plan.Plan(turn), pairs(text)
    if len(runs) != len({(k, n) for _, k, n in runs}):
        yield "turn %d: some pairs run twice" % turn
    if {(k, n) for what, k, n in runs if what != "shard"} != planned.now:
        yield "turn %d: not the pairs that always run" % turn
    mine = set(planned.of_shard(turn % plan.SHARDS))
    if {(k, n) for what, k, n in runs if what == "shard"} != mine:
        yield "turn %d: not the pairs of its shard" % turn


def share_faults():
    """Faults of the sharing of all pairs."""
    planned = plan.Plan()
    want, seen = set(planned.pairs()), set(planned.always)
    for shard in range(plan.SHARDS):
        mine = [(k, w[1:]) for k in plan.KERNELS for w in planned.in_turn(k, shard, shard)]
        if len(mine) != len(set(mine)) or seen & set(mine):
            yield "shard %d: pairs that run twice, in another shard or always" % shard
        seen |= set(mine)
    for kernel, name in sorted(want - seen):
        yield "%s on %s never runs" % (name, kernel)
    for kernel, name in sorted(seen - want):
        yield "%s is no line of %s" % (name, kernel)


def faults():
    texts = [dry(RDS_TURN=str(turn)) for turn in range(TURNS)]
    yield from leak_faults(texts)
    for turn, text in enumerate(texts):
        yield from turn_faults(turn, text)
    last = plan.SHARDS - 1
    yield from turn_faults(last, dry(RDS_TURN=str(last)))
    yield from share_faults()
    none = "shard 0 of %d, as there are: no commits" % plan.SHARDS
    if none not in dry(GIT_DIR=os.devnull, RDS_TURN=""):
        yield "without commits to count it is not shard 0"


def main():
    bad = list(faults())
    for text in bad:
        print("# " + text)
    print("%s lint.ci_plan, %d pairs" % ("not ok" if bad else "ok", len(plan.Plan().pairs())))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
