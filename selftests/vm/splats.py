# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds splats (warnings, oopses, reports of checkers) in a guest's console and judges them."""

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
# "hogged CPU" shows a slow machine, not a fault: under TCG work items often exceed its 10 ms limit.
NOT_SPLAT = re.compile(r"hogged CPU|Command line:|Kernel command line:")
END = re.compile(r"---\[ end |^\[[ .\d]+\](\[.*?\])? ={20,}$|---\[ end Kernel panic")
OURS = re.compile(r"\[rds(_\w+)?\]|\brds_\w+|\brds\.ko")
NEXT = re.compile(r"-\[ cut here \]-")
# The kernel prints this when it loads the first module that is not part of it.
OUT_OF_TREE = re.compile(r"loading out-of-tree module taints kernel")
# These reports have several traces: they do not end with </TASK>, but with a line of "=".
RULED = re.compile(r"KASAN:|KCSAN:|possible (circular|recursive)|lock inversion|inconsistent lock")
LONGEST = 120
PROCESS = re.compile(r"\bComm: (\S+)")
AT = re.compile(r"\bRIP: [\da-f]+:(\S+)")
# A function of a trace; the kernel marks with "?" what only lies on the stack.
CALLER = re.compile(r"\] +(?!\? )([\w.]+)\+0x[\da-f]+/0x[\da-f]+")
CALLERS = 10
# The line of a report of KCSAN ahead of the functions of an access
ACCESS = re.compile(r"\bof \d+ bytes by (task|interrupt)")
REGISTERS = re.compile(r"\b(RIP|RSP|CR2|Code): ")
REGISTER_LINES = 4


def find(lines):
    """[(first line, lines)] of every splat."""
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


def where(block):
    """Which process was where, and who had called: for a report of which only some lines are kept."""
    text = "\n".join(block)
    said = [m.group(1) for m in (PROCESS.search(text), AT.search(text)) if m]
    trace = next((i for i, line in enumerate(block) if "Call Trace:" in line), len(block))
    return " < ".join(said + CALLER.findall("\n".join(block[trace:]))[:CALLERS])


def registers(block):
    """Where an oops was and what it touched: CI keeps no more of a console than its report says."""
    return [re.sub(r"^\[[ .\d]+\](\[.*?\])?\s*", "", line) for line in block
            if REGISTERS.search(line)][:REGISTER_LINES]


def never_ours(lines, stack):
    """Has a guest of in-tree modules, by its console, run no code but its distribution's?"""
    return stack.startswith("intree") and not any(OUT_OF_TREE.search(line) for line in lines)


def racers(block):
    """What KCSAN saw race: the functions of each access, the innermost and its caller."""
    at = [i for i, line in enumerate(block) if ACCESS.search(line)]
    return [line for i in at for line in block[i + 1:i + 3]]


def is_ours(block):
    """Is a function of ours in a splat, or did one race?  Data races of the kernel's own code are not
    rare, also in what we call."""
    return any(OURS.search(line) for line in (racers(block) if is_race(block) else block))


def is_race(block):
    return any("KCSAN: data-race" in line for line in block[:2])


def death(lines, kind):
    """(index, lines) of the report that the kernel's first oops, of a kind, ended it outside our code;
    a death in that is never excused."""
    for i, line in enumerate(lines):
        if re.search(r"\bOops: .*0000 \[#1\]", line):
            report = lines[i:i + 16]
            rip = next((n for n in report if "RIP:" in n), "")
            excused = re.search(r"\b%s: 0000" % kind, line) and rip and not OURS.search(rip)
            return (i, report) if excused else (None, [])
    return None, []


def stale_int3(lines):
    """Index of the line that reports death by a breakpoint that was not in memory, or None.

    The kernel writes such breakpoints for a moment while it patches its code. Guests died of one
    while booting, in sched_clock_tick, and later, in inet_ehashfn. The report shows the bytes of
    memory: the breakpoint's address is that of the byte before the marked one. If this byte is no
    int3 (cc), the processor executed an instruction that memory did not hold. The presumed cause is
    that QEMU 7.2 runs a stale translation of code that another processor patches.
    """
    i, report = death(lines, "int3")
    held = re.search(r"([0-9a-f]{2}) <", next((n for n in report if "Code:" in n), ""))
    return i if held and held.group(1) != "cc" else None


def impossible_flags(lines):
    """Index of the line that reports death with flags that no processor can have, or None.

    Bits 22 to 31 of EFLAGS are always 0; no instruction can set one. A guest died of a double fault in
    __kmalloc_node_track_caller as QEMU 7.2 had EFLAGS 0e920202, whose upper half was that of RAX, and
    which says that the processor is in virtual-8086 mode; another of a general protection fault, of a
    register that memcpy_orig in siw_tx had not loaded, with EFLAGS 83b46606.
    """
    i, report = death(lines, "(?:double fault|general protection fault[^:]*)")
    flags = re.search(r"EFLAGS: ([0-9a-f]{8})", next((n for n in report if "EFLAGS:" in n), ""))
    return i if flags and int(flags.group(1), 16) >> 22 else None


def emulator_fault(lines):
    """Index of the line that reports a death that only the emulator can have caused, or None."""
    i = stale_int3(lines)
    return impossible_flags(lines) if i is None else i


class Accepted:
    """The entries of the file foreign-splats: [intree: ]regex | command that provokes the splat."""

    def __init__(self, path):
        self.entries = []
        if not os.path.exists(path):
            return
        with open(path, encoding="utf-8") as f:
            for n, line in enumerate(f, 1):
                line = line.strip()
                if not line or line.startswith("#"):
                    continue
                # The command may contain " | ", the regex must not.
                regex, sep, command = line.partition(" | ")
                if not sep or not command.strip():
                    raise ValueError("%s:%d: no provoking command" % (path, n))
                only_intree = regex.startswith("intree: ")
                self.entries.append((only_intree, re.compile(
                    regex[len("intree: "):] if only_intree else regex)))

    def covers(self, block, intree):
        """Is a splat listed?  @intree: the guest runs in-tree modules only."""
        return any(e.search(line) for only_intree, e in self.entries if intree or not only_intree
                   for line in block[:12])


def judge(lines, accepted, stack):
    """(failures, notes) of a console's lines. In a guest that runs only in-tree modules a function
    named rds_* is not ours, so a listed splat may name it."""
    intree, failures, notes = stack.startswith("intree"), [], []
    for first, block in find(lines):
        if (intree or not is_ours(block)) and accepted.covers(block, intree):
            notes.append("accepted: " + first)
        elif is_race(block) and (intree or not is_ours(block)):
            notes.append("a race of the kernel's own: " + first)
        else:
            at = where(block)
            failures.append("kernel: " + first + (" in " + at if at else ""))
            notes += registers(block)
    return failures, notes
