# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds in a guest's console what no kernel should say, and knows whose it is."""

import os
import re

SPLAT = re.compile("|".join((
    r"\bWARNING: (?!.*(Spectre|alternatives))", r"\bBUG\b[: ]", r"\bOops\b", r"kernel BUG at",
    r"general protection fault", r"Kernel panic", r"Unable to handle kernel",
    r"INFO: (possible|inconsistent|lockdep|trying to register|HARDIRQ|SOFTIRQ)",
    r"possible (circular|recursive) locking", r"inconsistent lock state",
    r"lock inversion", r"suspicious RCU usage", r"bad unlock balance", r"held lock freed",
    r"INFO: task .* blocked for more", r"INFO: rcu.*(stall|detected)", r"rcu:.*stall",
    r"soft lockup", r"hard LOCKUP", r"KASAN:", r"KCSAN:", r"UBSAN:", r"ODEBUG:",
    r"unregister_netdevice: waiting", r"ref_tracker:.*(leak|has \d|still|underflow|freed)",
    r"leaked reference", r"refcount_t:", r"list_(add|del) corruption",
    r"Slab cache still has objects", r"Objects remaining", r"Object already free",
    r"scheduling while atomic", r"sleeping function called", r"Bad page state",
    r"nf_conntrack: .*leak", r"still has locks held", r"workqueue:.*(leaked|hogged CPU)",
    r"stack guard page was hit", r"stack-protector", r"Attempt to release alive",
)))
# hogged CPU is a slow machine's, not a fault's: TCG reaches its bound of 10 ms with ease.
NOT_SPLAT = re.compile(r"hogged CPU|Command line:|Kernel command line:")
END = re.compile(r"---\[ end |^\[[ .\d]+\](\[.*?\])? ={20,}$|---\[ end Kernel panic")
OURS = re.compile(r"\[rds(_\w+)?\]|\brds_\w+|\brds\.ko")
NEXT = re.compile(r"-\[ cut here \]-")
# Reports of several traces go on after the end of one; a rule closes them.
RULED = re.compile(r"KASAN:|possible (circular|recursive)|lock inversion|inconsistent lock")
LONGEST = 120


def find(lines):
    """[(first line, block of lines)] of every splat; one block is reported once."""
    found, skip = [], 0
    for i, line in enumerate(lines):
        if i < skip or not SPLAT.search(line) or NOT_SPLAT.search(line):
            continue
        end = i + 1
        while end < min(len(lines), i + LONGEST) and not NEXT.search(lines[end]):
            end += 1
            if END.search(lines[end - 1]) or (
                    "</TASK>" in lines[end - 1] and not RULED.search(line)):
                break
        found.append((re.sub(r"^\[[ .\d]+\](\[.*?\])?\s*", "", line), lines[i:end]))
        skip = end
    return found


def is_ours(block):
    return any(OURS.search(line) for line in block)


def stale_int3(lines):
    """Did the guest die of a breakpoint of the kernel's own text patching that memory no longer held? Seen
    while booting, in sched_clock_tick, and later, in inet_ehashfn. The byte in front of the marked one is
    the breakpoint's place as memory had it when it was reported: where that is no int3, the processor
    executed what was not there. We take it for QEMU 7.2 running a stale translation of code that
    another processor patches. Never where the code is ours."""
    for i, line in enumerate(lines):
        if re.search(r"\bint3: 0000 \[#1\]", line):
            rip = next((n for n in lines[i:i + 8] if "RIP:" in n), "")
            code = next((n for n in lines[i:i + 8] if "Code:" in n), "")
            held = re.search(r"([0-9a-f]{2}) <", code)
            return bool(rip) and not OURS.search(rip) and bool(held) and held.group(1) != "cc"
    return False


class Accepted:
    """The foreign splats: regex | command that provokes it without our module."""

    def __init__(self, path):
        self.entries = []
        if not os.path.exists(path):
            return
        with open(path, encoding="utf-8") as f:
            for n, line in enumerate(f, 1):
                line = line.strip()
                if not line or line.startswith("#"):
                    continue
                # The command may hold pipes of its own, the regex must not have " | ".
                regex, sep, command = line.partition(" | ")
                if not sep or not command.strip():
                    raise ValueError("%s:%d: no provoking command" % (path, n))
                self.entries.append(re.compile(regex))

    def __contains__(self, block):
        return any(e.search(line) for e in self.entries for line in block[:12])


def judge(lines, accepted, stack):
    """(failures, notes) for a console. In a guest that runs only in-tree's modules a function named
    rds_* is not ours, so a listed splat may name it."""
    failures, notes = [], []
    for first, block in find(lines):
        foreign = stack.startswith("intree") or not is_ours(block)
        if foreign and block in accepted:
            notes.append("accepted: " + first)
        else:
            failures.append("kernel: " + first)
    return failures, notes
