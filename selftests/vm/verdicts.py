# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Judges a line's results: its failures, and which of them are final.

A final failure stays a failure whatever later runs of the line show: a splat, a leak, or a message
that was lost, doubled, reordered or damaged. Such a message is recognised by the name of a result
or its reason (DELIVERY_NAME, DELIVERY_TEXT), or by the lines that rds-xchg prints (STREAM, LABEL,
STATE). A splat of a guest that has run no module from outside its kernel's tree is not final: the
kernel, its modules or the emulator have failed there.
"""

import os
import re

import splats

RESULT = re.compile(r"^(not ok|ok)\b\s*(\d+)?\s*-?\s*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)\s*$")
SKIP = re.compile(r"#\s*SKIP\b", re.I)

# Leaks as guest.sh, leaks.py and the tests report them.
LEAK = re.compile(r"^kmemleak\b|\bleft (behind|after)\b|\bcannot be unloaded\b|^lockdep switched|"
                  r"\bstill pinned\b")
# Lines before a failed result that a report repeats, and in all of a line
SAID, SAID_ALL = 8, 24
# Results of the group capture do not count: tcpdump may lose packets, so a gap is no lost message.
DELIVERY_NAME = re.compile(
    r"^(?!capture\.)(\S*[._])?(in_order|ordered|none_lost|\w+_in_order|not_twice|"
    r"no_message_(lost|twice)|messages?_(lost|doubled|reordered|twice))(?=[\s._]|$)")
DELIVERY_TEXT = re.compile(
    r"\bwanted message \d+|\bmessage .* where \d+ was due|\bnumber \d+ was used twice|"
    r"\b(?<!of )[1-9]\d* (of \d+ )?(messages? )?(were |was )?(doubled|reordered|out of order|damaged)\b|"
    r"\b(?<!of )[1-9]\d* (of \d+ )?messages? (were |was )?(lost|missing)\b|"
    r"\b(doubled|reordered|damaged) [1-9]|\b[1-9]\d* wrong\b|"
    r"\bcontents differ\b|\bcorrupted payload\b")
# rds-xchg prints a STREAM line for each stream and direction, then a LABEL line with its verdict.
STREAM = re.compile(r"^# (\S+) stream \d+ (sent|received) .*\bmissing (\d+)(.*), doubled (\d+), "
                    r"reordered (\d+), damaged (\d+)(.*)$")
# An exchange that gives up without a verdict prints STATE lines instead.
STATE = re.compile(r"^# (\S+) stream \d+: sent .*, dup (\d+), reordered (\d+), bad (\d+); resets ")
LABEL = re.compile(r"^# (\S+): (good|BAD) in \d+ ms$")
# Where the other stack may lose messages: the number of missing ones that only ours can have lost
OURS_LOST = re.compile(r"not acknowledged by the peer's TCP: (\d+)|, (\d+) were acknowledged")


def delivery(text):
    """Does a failed result, "NAME # reason", report a message lost, doubled, reordered or
    damaged?"""
    _, _, reason = text.partition("#")
    return bool(DELIVERY_NAME.match(text) or DELIVERY_TEXT.search(reason))


def stream_fault(m, intree):
    """The faults in a STREAM line of rds-xchg, in words; empty if it has none."""
    missing, doubled, reordered, damaged = (int(m.group(n)) for n in (3, 5, 6, 7))
    judged = OURS_LOST.search(m.group(4) + m.group(8))
    if judged:
        missing = int(judged.group(1) or judged.group(2))
    elif intree:
        # Our end watches the wire and reports which stack lost the message.
        missing = 0
    bad = zip((missing, doubled, reordered, damaged), ("missing", "doubled", "reordered", "damaged"))
    return ", ".join("%s %d" % (word, n) for n, word in bad if n)


def exchange_faults(lines, intree=False):
    """The faults of every exchange of rds-xchg whose verdict is BAD, or that has none."""
    found, open_faults, stuck = [], {}, {}
    for text in lines:
        m, end, state = STREAM.match(text), LABEL.match(text), STATE.match(text)
        if state and set(state.group(2, 3, 4)) != {"0"}:
            stuck[state.group(1)] = "%s: doubled %s, reordered %s, damaged %s, then stuck" % state.groups()
        if m:
            fault = stream_fault(m, intree)
            if fault:
                open_faults.setdefault(m.group(1), []).append("%s: %s %s" % (
                    m.group(1), m.group(2), fault))
        elif end:
            faults = open_faults.pop(end.group(1), [])
            stuck.pop(end.group(1), None)
            found += faults if end.group(2) == "BAD" else []
    return found + list(stuck.values())


class Tally:
    """The results of a line's run. `final` has those of `failures` that no later run can pardon;
    `said` has what the programs printed between a failed result and the one before it."""

    def __init__(self):
        self.passed, self.failures, self.skipped, self.notes = 0, [], [], []
        self.final, self.flaky, self.cut = [], None, False
        self.said = []
        self.took, self.results = 0.0, 0

    def fail(self, guest, text, final=False):
        self.failures.append("%s: %s" % (guest.name, text))
        if final:
            self.final.append(self.failures[-1])

    def quote(self, guest, result, texts):
        """Keeps what was printed before a failed result, so that the report explains it."""
        if len(self.said) < SAID_ALL:
            self.said += ["%s: before %s: %s" % (guest.name, result.split()[0], t) for t in texts]

    def add_results(self, guest):
        """Adds a guest's result lines; returns their number."""
        n, plan, said = 0, None, []
        # If no guest can run our modules, a failed result is never final.
        ours = any(not s.startswith("intree") for s in guest.line.stacks)
        for text in guest.results:
            planned = PLAN.match(text)
            m = RESULT.match(text)
            if planned:
                # Each program of a line prints a plan: add them up.
                plan = (plan or 0) + int(planned.group(1))
            if not m:
                said = (said + [text])[-SAID:]
                continue
            n += 1
            before, said = said, []
            if m.group(1) == "not ok":
                self.quote(guest, m.group(3), before)
                self.fail(guest, "not ok " + m.group(3), ours and (
                    delivery(m.group(3)) or bool(LEAK.search(m.group(3)))))
            elif SKIP.search(text):
                self.skipped.append("%s: %s" % (guest.name, m.group(3)))
            else:
                self.passed += 1
        if not guest.cut:
            self.check_plan(guest, n, plan)
        if ours:
            for fault in exchange_faults(guest.results, guest.stack.startswith("intree")):
                self.fail(guest, fault, final=True)
        return n

    def check_plan(self, guest, n, plan):
        """A guest announces the number of its results, and then prints as many: fewer if a program
        ended early, more if a plan does not say what its program does."""
        if n and plan is None:
            self.fail(guest, "no plan, %d results" % n)
        elif plan is not None and n != plan:
            self.fail(guest, "planned %d results, printed %d" % (plan, n))

    def add_kernel(self, guest, accepted):
        """Adds the failures of the guest's checks and its kernel's splats; returns whether there
        was a splat, which explains a taint."""
        intree = guest.stack.startswith("intree")
        for text in guest.failures:
            if intree and accepted.covers([text], intree):
                self.notes.append("%s: accepted: %s" % (guest.name, text))
            else:
                self.fail(guest, text, not intree and bool(LEAK.search(text)))
        found, notes = splats.judge(guest.console[:guest.judged], accepted, guest.stack)
        foreign = splats.never_ours(guest.console, guest.stack)
        for text in found:
            self.fail(guest, text, final=not foreign)
        self.notes += ["%s: %s" % (guest.name, t) for t in notes]
        return bool(found or notes)

    def add_guest(self, guest, accepted):
        before = len(self.failures)
        n = self.add_results(guest)
        if guest.qemu_err and guest.started is None:
            self.fail(guest, "qemu: " + guest.qemu_err.splitlines()[-1])
        if guest.timed_out:
            self.fail(guest, "%s for %d s" % (
                "not done" if guest.line.cpus == "icount" else "printed nothing",
                guest.line.timeout * guest.slow))
        said = self.add_kernel(guest, accepted)
        if guest.cut:
            # The guest was cut off: count the results it printed, but no missing ones.
            self.cut = True
            return n
        if guest.ended is None:
            stage = ("does not boot" if guest.started is None and not guest.failures else
                     "does not answer" if guest.exit is None else
                     "hangs in the checks after its command")
            self.fail(guest, "guest " + stage)
        elif guest.taint and not said:
            self.fail(guest, "kernel tainted (%d) with nothing in the log" % guest.taint, True)
        if guest.exit and len(self.failures) == before:
            self.fail(guest, "exit status %d" % guest.exit)
        if n == 0 and len(self.failures) == before:
            self.fail(guest, "no results")
        return n

    def add_closing(self, closing, accepted):
        """Adds the failures after the last line of a batch: leaks, and splats of the kernel."""
        said = self.add_kernel(closing, accepted)
        if closing.cut:
            self.cut = True
            if os.environ.get("RDS_LATE") == "fail":
                self.failures.append("cut off after the last line: no time left")
        elif closing.ended is None:
            self.fail(closing, "guest hangs after its last line")
        elif closing.taint and not said:
            self.fail(closing, "kernel tainted (%d) with nothing in the log" % closing.taint, True)

    def skip_leaks(self, last):
        """A batch ended in its last line, without the scan: a failure where no test may be
        skipped."""
        text = "%s: no scan for leaks: the guest ended in %s" % (last.name, last.line.name)
        must = os.environ.get("RDS_EXPECT_ALL") == "1"
        (self.failures if must else self.skipped).append(text)

    def finish(self):
        if os.environ.get("RDS_EXPECT_ALL") == "1":
            self.failures += ["skipped: " + s for s in self.skipped]
            self.skipped = []
