#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests verdicts.py, which tells final failures, and how run.py runs lines with other failures
again."""
import os
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vm"))
import run  # noqa: E402
import verdicts  # noqa: E402

# "NAME # reason" as tests print it, is the failure final?
RESULTS = [
    ("rdma.reload.1.none_lost # 5 after 3 and 1", True),
    ("rdma.reload.0.once_and_in_order # 0 to 5 of 7, 0 unacknowledged, 0 wrong", True),
    ("rdma.reload.0.before # 0 to 5 of 7, 3 wrong", True),
    ("rdma.reload.0.before # 0 to 5 of 7, 0 wrong", False),
    ("rdma.opresets.no_message_twice # 1", True),
    ("rdma.stall.whole_and_in_order # 2", True),
    ("rdma.msg.v4.here # wanted message 17, got 18 (300 bytes)", True),
    ("rdma.msg.v4.here # wanted message 17 of 9 bytes, got 9 bytes, wrong from byte 3", True),
    ("rdma.msg.v4.here # stuck: sent 100, received 50 of 100, resets 1", False),
    ("chaos.back_to_up # message b'12' where 11 was due", True),
    ("chaos.back_to_up # after reset, link: 5 of 6", False),
    ("wire.reconnect_order # number 7 was used twice", True),
    ("recv.ordered # got 1, wanted 2", True),
    ("tools.rdscat_file # contents differ", True),
    ("tools.rdscat_file # exit 1 and 0: no route", False),
    ("tools.stress_v # An incoming message has a corrupted payload at offset 3", True),
    ("tools.ping_lost_all # 5 sent, 0 answered, 5 lost; 0/0/0 usec min/avg/max", False),
    ("tools.info_order # RDS Connections: Counters:", False),
    ("capture.none_lost # exit 1", False),
    ("isolate.bind_twice", False),
    ("cong.row19_order.tcp4 # got x", False),
    ("bind.twice # got x", False),
    ("rdma.rmem.told_once # 3 notifications for 4 operations", False),
    ("rdma.flags.use_once_0.works # 5", False),
    ("api.x # 3 of 9 messages were lost", True),
    ("api.x # 0 of 9 messages were lost", False),
    ("netem.loss # exit status 1 at A, 1 at B", False),
]

WHOLE = "# x stream 0 received 9 of 9, missing 0, doubled 0, reordered 0, damaged 0; longest gap 3 ms"
TWICE = WHOLE.replace("doubled 0", "doubled 2")
GONE = WHOLE.replace("missing 0", "missing 1")
SENT = ("# x stream 0 sent 9 messages, 90 bytes: missing 2 (of them not acknowledged by the peer's TCP: %d)"
        ", doubled 0, reordered 0, damaged 0; hash 1/1; EAGAIN 0 ENOBUFS 0, wake-ups lost 0")
TAKEN = GONE + "; of the missing %d came whole, %d were acknowledged"
STUCK = ("# x stream 0: sent 9 done tail, EAGAIN 1, ENOBUFS 0; received 4 up to index 5, dup %d, "
         "reordered 0, bad 0; resets 2")
BAD, GOOD = "# x: BAD in 5 ms", "# x: good in 5 ms"

# lines of rds-xchg, does the guest run in-tree modules? are there final faults?
EXCHANGES = [
    ([WHOLE, BAD], False, False),
    ([TWICE, BAD], False, True),
    ([TWICE, BAD], True, True),
    ([TWICE, GOOD], False, False),
    ([TWICE], False, False),
    ([TWICE, BAD.replace("x:", "y:")], False, False),
    ([GONE, BAD], False, True),
    ([GONE, BAD], True, False),
    ([SENT % 0, BAD], False, False),
    ([SENT % 1, BAD], False, True),
    ([TAKEN % (1, 0), BAD], False, False),
    ([TAKEN % (1, 1), BAD], False, True),
    ([STUCK % 0], False, False),
    ([STUCK % 1], False, True),
    ([STUCK % 1, WHOLE, GOOD], False, False),
]

LEFT = "2 network namespaces left behind"
UNLOAD = "modules cannot be unloaded: rds=1"
# stacks of the line, results and failures that its first guest prints; number of failures, of final
# ones
GUESTS = [
    (["ours"], ["1..1", "ok 1 a"], [], 0, 0),
    (["ours"], ["1..1", "not ok 1 a # slow"], [], 1, 0),
    (["ours"], ["1..1", "not ok 1 a # 3 pages are still pinned"], [], 1, 1),
    (["ours"], ["1..1", "ok 1 a"], [LEFT], 1, 1),
    (["none"], ["1..1", "ok 1 a"], [UNLOAD], 1, 1),
    (["ours"], ["1..1", "ok 1 a"], ["kmemleak: unreferenced object 0x1"], 1, 1),
    (["ours"], ["1..1", "ok 1 a"], ["no answer in time"], 1, 0),
    (["intree", "ours"], ["1..1", "ok 1 a"], [LEFT], 1, 0),
    (["intree", "ours"], ["1..1", "not ok 1 m.none_lost"], [], 1, 1),
    (["intree", "intree"], ["1..1", "not ok 1 m.none_lost"], [], 1, 0),
    (["ours"], ["1..2", "ok 1 a"], [], 1, 0),
    (["ours"], ["1..2", "ok 1 a", "1..1", "ok 1 b"], [], 1, 0),
    (["ours"], ["1..1", "ok 1 a", "1..2", "ok 1 b", "ok 2 c"], [], 0, 0),
    (["ours"], ["1..1", "ok 1 a", "1..1", "ok 1 b", "ok 2 c"], [], 1, 0),
    (["ours"], ["1..1", "1..2", "ok 1 b", "ok 1 a", "ok 2 c"], [], 0, 0),
    (["ours"], ["ok 1 a"], [], 1, 0),
    (["ours"], ["ok 1 a", "not ok 2 b"], [], 2, 0),
    (["intree", "ours"], ["ok 1 a"], [], 1, 0),
    (["ours"], ["1..0"], [], 1, 0),
    (["ours"], ["1..1"], [], 1, 0),
    (["ours"], [], [], 1, 0),
]
# like GUESTS, with a first guest that was cut off before its end
CUT = [
    (["ours"], [], [], 0, 0),
    (["ours"], ["1..2", "ok 1 a"], [], 0, 0),
    (["ours"], ["ok 1 a"], [], 0, 0),
    (["ours"], ["not ok 1 a # slow"], [], 1, 0),
    (["ours"], ["not ok 1 m.none_lost"], [], 1, 1),
]

FAULT = ["Oops: double fault: 0000 [#1] PREEMPT SMP NOPTI", "RIP: 0010:__kmalloc+0xd5/0x440"]
TAINT = "siw: loading out-of-tree module taints kernel."
# stack of a guest, lines of its console; number of failures, of final ones
SPLATS = [
    ("ours", FAULT, 1, 1),
    ("none", FAULT, 1, 1),
    ("intree-6.12", FAULT, 1, 0),
    ("intree", [TAINT] + FAULT, 1, 1),
]

DIED = ["Oops: int3: 0000 [#1] SMP", "RIP: 0010:inet_ehashfn+0x33/0x110", "Code: 31 c0 0f <1f> 44 00",
        "Kernel panic - not syncing: Fatal exception"]
# consoles of a line's guests, one ended by the emulator's breakpoint; do they have no other splat?
DEATHS = [
    ([DIED], True),
    ([DIED, ["fine"]], True),
    ([["fine"] + DIED], True),
    ([["BUG: KASAN: slab-use-after-free in rds_x"] + DIED], False),
    ([DIED, ["WARNING: CPU: 0 PID: 1 at rds_x"]], False),
]

# failure of each run of a line ("" none, "!..." final, "-" cut off); runs made, failures, FLAKY?
RERUNS = [
    ([""], 1, [], False),
    (["x", "", ""], 3, [], True),
    (["x", "", "y"], 3, ["y"], False),
    (["x", "y"], 2, ["y"], False),
    (["x", "!k"], 2, ["!k"], False),
    (["!k"], 1, ["!k"], False),
    (["-"], 1, [], False),
    (["x", "-"], 2, ["x"], False),
    (["x", "", "-"], 3, ["x"], False),
]


# Output of a guest, and what a report repeats of it
QUOTES = ["1..3", "# fine", "ok 1 x", "# token 7", "# status 3", "not ok 2 y # 3 told", "# last"]
QUOTED = ["a: before y: # token 7", "a: before y: # status 3"]


def guest_verdict(stacks, results, failures, cut=False, console=()):
    """(number of failures, of final ones) of a line with this first guest."""
    guest = types.SimpleNamespace(
        name="a", stack=stacks[0], line=types.SimpleNamespace(stacks=stacks, timeout=1), slow=1,
        results=results, failures=failures, console=list(console), judged=None, qemu_err=None,
        timed_out=False, cut=cut, started=1.0, ended=None if cut else 2.0,
        exit=None if cut else 0, taint=0)
    tally = verdicts.Tally()
    tally.add_guest(guest, types.SimpleNamespace(covers=lambda block, intree: False))
    return len(tally.failures), len(tally.final)


def rerun_verdict(runs):
    """(runs made, failures, FLAKY?) of a line with RDS_RETRY."""
    runner, found, made = run.Runner.__new__(run.Runner), iter(runs), []
    runner.opts = types.SimpleNamespace(end=float("inf"))

    def once(_, attempt=1):
        made.append(attempt)
        tally, text = verdicts.Tally(), next(found)
        tally.cut = text == "-"
        tally.failures = [text] if text and not tally.cut else []
        tally.said = ["before " + text] if tally.failures else []
        tally.final = [text] if text.startswith("!") else []
        return tally, []

    runner.run = once
    os.environ["RDS_RETRY"] = "1"
    tally, _ = runner.judged(None)
    return len(made), tally.failures, bool(tally.flaky) and tally.said == ["before " + runs[0]]


def quoted(results):
    """What a report repeats of a guest's output."""
    tally = verdicts.Tally()
    tally.add_results(types.SimpleNamespace(
        name="a", stack="ours", line=types.SimpleNamespace(stacks=["ours"]), results=results,
        cut=True))
    return tally.said


def explained(consoles):
    runner = run.Runner.__new__(run.Runner)
    runner.accepted = types.SimpleNamespace(covers=lambda block, intree: False)
    return not runner.blamed([types.SimpleNamespace(
        stack="ours", judged=None, console=lines) for lines in consoles])


def main():
    odd = ["# guest %s %s: %s" % (how[1], how[2], guest_verdict(*how)) for *how, n, final in GUESTS
           if guest_verdict(*how) != (n, final)]
    odd += ["# splat, %s %s" % (stack, console) for stack, console, *want in SPLATS
            if list(guest_verdict([stack], ["1..1", "ok 1 a"], [], console=console)) != want]
    odd += ["# quoted: %s" % quoted(QUOTES)] if quoted(QUOTES) != QUOTED else []
    odd += ["# cut off, guest %s %s: %s" % (how[1], how[2], guest_verdict(*how, cut=True))
            for *how, n, final in CUT if guest_verdict(*how, cut=True) != (n, final)]
    odd += ["# runs %s: %s" % (runs, rerun_verdict(runs)) for runs, *want in RERUNS
            if rerun_verdict(runs) != tuple(want)]
    odd += ["# died: %s" % consoles for consoles, want in DEATHS if explained(consoles) != want]
    if odd:
        print("\n".join(odd))
    print("%s lint.final, %d cases" % ("not ok" if odd else "ok",
                                       sum(map(len, (GUESTS, CUT, SPLATS, RERUNS, DEATHS)))))
    bad = ["# %s" % text for text, want in RESULTS if verdicts.delivery(text) != want]
    bad += ["# %s: %s" % (lines, verdicts.exchange_faults(lines, intree))
            for lines, intree, want in EXCHANGES
            if bool(verdicts.exchange_faults(lines, intree)) != want]
    if bad:
        print("\n".join(bad))
    print("%s lint.verdicts, %d cases" % ("not ok" if bad else "ok", len(RESULTS) + len(EXCHANGES)))
    return 1 if bad or odd else 0


if __name__ == "__main__":
    sys.exit(main())
