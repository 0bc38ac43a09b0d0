#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests how run.py shares guests among lines: which lines share one, to which line the messages of
a guest belong, and what becomes of the lines that a guest leaves."""
import os
import shutil
import sys
import tempfile
import threading
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vm"))
import batch  # noqa: E402
import guest  # noqa: E402
import run  # noqa: E402

WARNING = "[ 1.0] WARNING: CPU: 0 PID: 1 at rds_x"
INT3 = ["Oops: int3: 0000 [#1] SMP", "RIP: 0010:inet_ehashfn+0x33/0x110",
        "Code: 31 c0 0f <1f> 44 00"]
NAMES = ("a1", "b2", "c3")
PASS, FAIL = ["=1..1", "=ok 1 a"], ["=1..1", "=not ok 1 a"]
DONE = ["start", "exit 0", "taint 0", "done", "next"]

# Words of guest.sh to the runner, for each guest that boots: "=TEXT" is a result, "#TEXT" a line of
# the kernel, "+TIME" moves the clock on. Then the verdict of each line (the number of runs in a
# batch, its failures), and the failures of the batch.
STORIES = [
    ("all is well",
     [["line 1", *PASS, *DONE, "line 2", *PASS, *DONE, "line 3", *PASS, *DONE[:-1],
       "close", "taint 0", "end"]], [[], [], []], []),
    ("a failed result stays with its line",
     [["line 1", *FAIL, *DONE, "line 2", *PASS, *DONE, "line 3", *PASS, *DONE[:-1],
       "close", "taint 0", "end"]], [["a: not ok a"], [], []], []),
    ("a splat belongs to the line that it interrupts",
     [["line 1", *PASS, *DONE, "line 2", "#" + WARNING, *PASS, *DONE, "line 3", *PASS,
       *DONE[:-1], "close", "taint 0", "end"]],
     [[], ["a: kernel: WARNING: CPU: 0 PID: 1 at rds_x"], []], []),
    ("what comes after the last line is the batch's",
     [["line 1", *PASS, *DONE, "line 2", *PASS, *DONE, "line 3", *PASS, *DONE[:-1],
       "close", "fail kmemleak: unreferenced object", "taint 0", "end"]],
     [[], [], []], ["a: kmemleak: unreferenced object"]),
    ("a guest that dies leaves the other lines to the next",
     [["line 1", *PASS, "start"], ["line 1", *PASS, *DONE, "line 2", *PASS, *DONE[:-1],
                                       "close", "taint 0", "end"]],
     [["a: guest does not answer"], [], []], []),
    ("a guest that does not boot costs one line",
     [[], [], ["line 1", *PASS, "start", "exit 0", "done", "close", "end"]],
     [["a: guest does not boot"], ["a: guest does not boot"], []], []),
    ("a line that leaves anything behind is the last in its guest",
     [["line 1", *PASS, "start", "exit 0", "fail the line has changed it", "done", "next",
       "?end", "close", "end"],
      ["line 1", *PASS, *DONE, "?go", "line 2", *PASS, *DONE[:-1], "close", "end"]],
     [["a: the line has changed it"], [], []], []),
    ("so is a line that exceeds its time",
     [["line 1", *PASS, "start", "timeout", "exit 124", "done", "next", "?end", "close", "end"],
      ["line 1", *PASS, *DONE, "?go", "line 2", *PASS, *DONE[:-1], "close", "end"]],
     [["a: printed nothing for 1 s"], [], []], []),
    ("a line that the emulator struck begins again",
     [["line 1", *PASS, *DONE, "line 2", "start", *["#" + t for t in INT3]],
      ["line 1", *PASS, *DONE, "line 2", *PASS, *DONE[:-1], "close", "end"]],
     [[], [], []], []),
    ("a splat before the emulator's breakpoint counts",
     [["line 1", *PASS, *DONE, "line 2", "start", "#" + WARNING, "#" + "[ 2.0] </TASK>",
       *["#" + t for t in INT3]], ["line 1", *PASS, *DONE[:-1], "close", "end"]],
     [[], ["a: kernel: WARNING: CPU: 0 PID: 1 at rds_x", "a: kernel: Oops: int3: 0000 [#1] SMP in inet_ehashfn+0x33/0x110",
           "a: guest does not answer"], []], []),
    ("a guest that hangs between two lines has failed",
     [["line 1", *PASS, *DONE], ["line 1", *PASS, *DONE, "line 2", *PASS, *DONE[:-1],
                                     "close", "end"]],
     [[], [], []], ["a: guest hangs between two lines"]),
    ("a guest that gives up leaves the other lines to the next",
     [["line 1", "fail the modules did not load", "end"],
      ["line 1", *PASS, *DONE, "line 2", *PASS, *DONE[:-1], "close", "end"]],
     [["a: the modules did not load"], [], []], []),
    ("lines do not begin after RDS_UNTIL",
     [["line 1", *PASS, "+late", "start", "exit 0", "done", "next", "?end", "close", "end"]],
     [[], None, None], []),
    ("a line that is cut off leaves those before it",
     [["line 1", *PASS, *DONE, "line 2", *PASS, "cut"], ["cut"]],
     [[], "cut", "cut"], []),
    ("that a line is cut off, and nobody looks for leaks, is one thing",
     [["debug", "line 1", *PASS, *DONE, "line 2", *PASS, "cut"], ["debug", "cut"]],
     [[], "cut", "cut"], []),
    ("a guest that dies before the scan for leaks is told of the batch, too",
     [["debug", "line 1", *PASS, *DONE, "line 2", *PASS, *DONE, "line 3", *PASS, "start"]],
     [[], [], ["a: guest does not answer"]],
     ["a: no scan for leaks: the guest ended in c3"]),
]


def a_line(name, **fields):
    ln = run.Line("t", "%s | 1 | ours | 2 | 1 | all | true" % name, "t")
    ln.__dict__.update(fields)
    return ln


def told(lines, words, scratch, opts):
    """A guest that has said words."""
    g = guest.Guest("a", types.SimpleNamespace(name="6.12", slow=1), "ours", lines, opts, scratch,
                    lambda name: os.path.join(scratch, name + "-a.log"))
    answers, g.last, g.born = [], float("inf"), 0
    g.verdict = types.SimpleNamespace(tell=answers.append)
    for w in words:
        if w[0] in "=#":
            (g.verdict_line if w[0] == "=" else g.console_line)(w[1:])
        elif w[0] == "?":
            assert answers[-1:] == [w[1:]], "answered %s, not %s" % (answers, w)
        elif w == "cut":
            g.part.cut = True
        elif w == "debug":
            g.kernel.name, g.leaks = w, True
        elif w == "+late":
            opts.until = 0
        else:
            if w.split()[0] in ("line", "close"):
                g.console_line("[ 1.0] @%s %s" % (g.nonce, w))
            g.verdict_line("@%s %s" % (g.nonce, w))
    for p in (*g.parts, g.closing):
        p.close()
    shutil.rmtree(g.dir)
    return g


class FakeRunner(run.Runner):
    """Runs stories in place of guests; notes what is reported."""

    def __init__(self, stories, scratch):  # pylint: disable=super-init-not-called
        self.stories, self.scratch, self.reports = iter(stories), scratch, {}
        self.opts = types.SimpleNamespace(until=float("inf"), leaks=None, timeout_scale=1,
                                          parallel=2)
        self.accepted = types.SimpleNamespace(covers=lambda block, intree: False)
        self.counts = {}

    def prepare(self, line):
        return []

    def watched(self, lines):
        return [told(lines, next(self.stories), self.scratch, self.opts)]

    def report(self, line, tally, guests):
        cut = tally.cut and not tally.failures
        self.reports.setdefault(line.name, []).append(
            "cut" if cut else tally.failures + tally.skipped)

    def not_begun(self, line):
        self.reports[line.name] = [None]


def told_wrong(stories, wants, of_batch):
    """What differs from the expected reports of a batch of NAMES."""
    scratch = tempfile.mkdtemp()
    try:
        runner = FakeRunner(stories, scratch)
        batch.Batch(runner, [a_line(n) for n in NAMES], run.Slots(2)).run()
    finally:
        shutil.rmtree(scratch)
    got = [runner.reports.pop(n, []) for n in NAMES]
    rest = [f for found in runner.reports.values() for fs in found for f in fs]
    left = len(list(runner.stories))
    if got != [[w] for w in wants] or rest != of_batch or left:
        return "%s, batch %s, %d guests not booted" % (got, rest, left)
    return None


def dealt(names, most, slots, leaks=None, **fields):
    opts = types.SimpleNamespace(batch=most, parallel=slots, leaks=leaks, kernel="none")
    lines = [a_line(n, **fields.get(n, {})) for n in names]
    return [" ".join(ln.name for ln in hand) for hand in batch.deal(lines, opts, {"d4"})]


def by_time(most, slots, two=(), **seconds):
    """Like dealt(), with the seconds of the lines; those in @two have two guests."""
    before, batch.known_seconds = batch.known_seconds, lambda kernel: seconds
    try:
        return dealt(list(seconds), most, slots, **{n: {"guests": 2} for n in two})
    finally:
        batch.known_seconds = before


DEALS = [
    (by_time(4, 2, a=10, b=1, c=1, d=1, e=1), ["a", "b c d e"]),
    (by_time(4, 2, e=1, d=2, c=3, b=4, a=5), ["e d a", "c b"]),
    (by_time(4, 2, two="a", a=9, b=4, c=3, d=2), ["a", "b", "c d"]),
    (dealt("a b c d".split(), 0, 1), ["a", "b", "c", "d"]),
    (dealt("a b c d".split(), 4, 1), ["a b c d"]),
    (dealt("a b c d".split(), 4, 2), ["a c", "b d"]),
    (dealt("a b c d e".split(), 2, 1), ["a b", "c d", "e"]),
    (dealt("a b d4 c".split(), 4, 1), ["a b c", "d4"]),
    (dealt("a b c".split(), 4, 1, b={"cpus": "1"}), ["a c", "b"]),
    (dealt("a b c".split(), 4, 1, b={"stacks": ["intree"]}), ["a c", "b"]),
    (dealt("a b c".split(), 4, 1, b={"guests": 2}), ["a c", "b"]),
    (dealt("a b c".split(), 4, 1, b={"kernel_args": "x=1"}), ["a c", "b"]),
    (dealt("a b c".split(), 4, 1, b={"command": "sh x siw"}), ["a c", "b"]),
    (dealt("a b c".split(), 4, 1, leaks=["b"]), ["a c", "b"]),
]


def main():
    threading.excepthook = sys.__excepthook__
    os.environ.pop("RDS_RETRY", None)
    os.environ.pop("RDS_EXPECT_ALL", None)
    os.environ.pop("RDS_LATE", None)
    shown, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="ascii")
    bad = [(what, told_wrong(*story)) for what, *story in STORIES]
    sys.stdout = shown
    odd = ["# %s: %s" % b for b in bad if b[1]]
    odd += ["# dealt %s, want %s" % d for d in DEALS if d[0] != d[1]]
    if odd:
        print("\n".join(odd))
    print("%s lint.batch, %d cases" % ("not ok" if odd else "ok", len(STORIES) + len(DEALS)))
    return 1 if odd else 0


if __name__ == "__main__":
    sys.exit(main())
