#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the plan of .ci/run, as its dry mode prints it: four turns run every pair of case line and
kernel, no turn runs a pair twice, and without commits to count the shard is 0. What always runs is
what the file always says for the turn. In each turn kmemleak runs in one guest, and within the four
turns in every line that shares a guest."""
import os
import re
import subprocess
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "selftests", "vm"))
import plan  # noqa: E402

LEAKS = re.compile(r"^==== always-debug: .* RDS_LEAKS=(.*) make test ", re.M)
PART = re.compile(r"^==== (always|shard)-(\S+): .* CASES=(.*)$", re.M)


def dry(**env):
    p = subprocess.run([os.path.join(TOP, ".ci", "run")], env=dict(os.environ, RDS_CI_DRY="1", **env),
                       text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return p.stdout


def pairs(text):
    """[(always or shard, kernel, line)] of the pairs that a turn runs, from the output of
    .ci/run."""
    return [(what, kernel, word[1:]) for what, kernel, words in PART.findall(text)
            for word in words.split()]


def leak_faults(texts):
    """Faults of the lines that run with kmemleak, in the output of .ci/run of each turn."""
    shared, seen = set(), set()
    for turn, text in enumerate(texts):
        planned, words = plan.Plan(turn), LEAKS.search(text).group(1).split()
        mine = {w[1:] for w in words}
        if mine not in map(set, planned.guests(words)):
            yield "turn %d: kmemleak runs in %s, which share no guest" % (turn, " ".join(words))
        seen |= mine
        shared.update(n for names in planned.guests() if len(names) > 1 for n in names)
    if not shared <= seen:
        yield "kmemleak does not run in %s" % " ".join(sorted(shared - seen))


def faults():
    want, seen, always = set(plan.Plan().pairs()), set(), []
    texts = [dry(RDS_TURN=str(turn)) for turn in range(plan.SHARDS)]
    yield from leak_faults(texts)
    for turn, text in enumerate(texts):
        runs = pairs(text)
        mine = [(k, n) for _, k, n in runs]
        if len(mine) != len(set(mine)):
            yield "turn %d: some pairs run twice" % turn
        always.append({(k, n) for what, k, n in runs if what == "always"})
        if seen & (set(mine) - always[-1]):
            yield "turn %d: pairs of another shard" % turn
        seen |= set(mine) - always[-1]
        if always[-1] != plan.Plan(turn).now:
            yield "turn %d: not the pairs that always run" % turn
    always_run = set.union(*always)
    if always_run & seen:
        yield "a shard has pairs that always run"
    seen |= always_run
    for kernel, name in sorted(want - seen):
        yield "%s on %s never runs" % (name, kernel)
    for kernel, name in sorted(seen - want):
        yield "%s is no line of %s" % (name, kernel)
    if "shard 0 of 0 to 3, as there are: no commits" not in dry(GIT_DIR=os.devnull, RDS_TURN=""):
        yield "without commits to count it is not shard 0"


def main():
    bad = list(faults())
    for text in bad:
        print("# " + text)
    print("%s lint.ci_plan, %d pairs" % ("not ok" if bad else "ok", len(plan.Plan().pairs())))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
