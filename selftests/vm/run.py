#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs case lines in guests and says what came of them.

    run.py [--kernel K] [--cases "WORDS"] [--cases-file FILE] [--list] [--shell] [--verbose]

WORDS match the beginning of a line's name or a whole group; -WORD leaves those out. Environment: KERNEL, CASES, RDS_LOAD
(ci or full), RDS_EXPECT_ALL=1, RDS_TIMEOUT_SCALE (else from the machine's load), RDS_ACCEL (tcg or
kvm), RDS_ICOUNT=1, RDS_ARGS, RDS_PARALLEL (guests side by side; 1),
RDS_RETRY=1 (a line that fails is run once more, and said to have been), RDS_LEAKS="WORDS" (lines in
which kmemleak watches, on the debug kernel; all), RDS_UNTIL (seconds since 1970 after which no line
begins: those left are skipped, each said to be).
The last line is "N passed, N failed, N skipped"; the exit status is 1 when anything failed.
"""

import argparse
import contextlib
import fcntl
import glob
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import splats
import vmconf
from guest import Guest
from kvmprobe import choose_accel
from vmconf import BUILD, TOP, VM, Kernel, SetupError

RESULT = re.compile(r"^(not ok|ok)\b\s*(\d+)?\s*-?\s*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)\s*$")
ATTEMPTS = 3
SKIP = re.compile(r"#\s*SKIP\b", re.I)


@contextlib.contextmanager
def alone(wanted=True):
    """Few lines at a time in a checkout, in the order they came: many make each other late."""
    if not wanted:
        yield
        return
    queue = os.path.join(BUILD, "run.queue")
    os.makedirs(queue, exist_ok=True)
    slots = int(os.environ.get("RDS_SLOTS") or 2)
    prio = os.environ.get("RDS_PRIO") or "5"
    mine = "%s-%020d-%d" % (prio, time.time_ns(), os.getpid())
    with open(os.path.join(queue, mine), "w", encoding="ascii") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        while True:
            ahead = 0
            for name in sorted(os.listdir(queue)):
                if name == mine:
                    break
                ahead += ticket_held(os.path.join(queue, name))
            if ahead < slots:
                break
            time.sleep(0.3)
        # Whoever runs is ahead of all that wait, whatever their priority.
        running = "0-%s" % mine[2:]
        os.rename(os.path.join(queue, mine), os.path.join(queue, running))
        try:
            yield
        finally:
            os.unlink(os.path.join(queue, running))


def ticket_held(path):
    """Does the one who drew the ticket still live?  Clears away what the dead left."""
    try:
        with open(path, encoding="ascii") as f:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
            return 0
    except BlockingIOError:
        return 1
    except OSError:
        return 0


class Slots:
    """Room for guests side by side. Lines get it in their order, so that none waits for ever."""

    def __init__(self, size):
        self.size = self.free = size
        self.changed = threading.Condition()

    def take(self, n):
        with self.changed:
            self.changed.wait_for(lambda: self.free >= n)
            self.free -= n

    def give(self, n):
        with self.changed:
            self.free += n
            self.changed.notify_all()


class Line:
    """One line of a manifest."""

    def __init__(self, group, text, where):
        field = [f.strip() for f in text.split("|", 6)]
        if len(field) != 7 or not all(field):
            raise SetupError("%s: want 7 fields: %s" % (where, text))
        self.group, self.name = group, field[0]
        self.guests, self.stacks = int(field[1]), [s.strip() for s in field[2].split(",")]
        cpus, _, self.kernel_args = field[3].partition(" ")
        self.cpus = "icount" if os.environ.get("RDS_ICOUNT") else cpus
        self.timeout = int(field[4])
        self.kernels, self.command = [k.strip() for k in field[5].split(",")], field[6]
        self.shell = False
        known = ("ours", "intree", "none")
        if self.guests not in (1, 2) or len(self.stacks) != self.guests or any(
                s not in known and not re.fullmatch(r"intree-[\d.]+", s) for s in self.stacks):
            raise SetupError("%s: %s: guests and stacks do not fit" % (where, self.name))

    def runs_under(self, kernel):
        return "all" in self.kernels or kernel in self.kernels

    def selected(self, words):
        def fits(word):
            return self.group == word or self.name.startswith(word)

        yes = [w for w in words if not w.startswith("-")]
        return ((not yes or any(map(fits, yes)))
                and not any(fits(w[1:]) for w in words if w.startswith("-")))


def read_lines(paths):
    lines = []
    for path in paths:
        group = os.path.basename(os.path.dirname(os.path.abspath(path)))
        with open(path, encoding="utf-8") as f:
            for n, text in enumerate(f, 1):
                if text.strip() and not text.startswith("#"):
                    lines.append(Line(group, text.strip(), "%s:%d" % (path, n)))
    names = [ln.name for ln in lines]
    for n in set(names):
        if names.count(n) > 1:
            raise SetupError("two case lines are named " + n)
    return lines


def read_counts(path):
    counts = {}
    with open(path, encoding="utf-8") as f:
        for text in f:
            word = text.split("#")[0].split()
            if word:
                counts[word[0]] = int(word[1])
    return counts


class Tally:
    """What a line's results come to."""

    def __init__(self):
        self.passed, self.failures, self.skipped, self.notes = 0, [], [], []
        self.took, self.results = 0.0, 0

    def add_results(self, guest):
        """Counts a guest's result lines; returns how many there were."""
        n, plan = 0, None
        for text in guest.results:
            planned = PLAN.match(text)
            m = RESULT.match(text)
            if planned:
                plan = int(planned.group(1))
            if not m:
                continue
            n += 1
            if m.group(1) == "not ok":
                self.failures.append("%s: not ok %s" % (guest.name, m.group(3)))
            elif SKIP.search(text):
                self.skipped.append("%s: %s" % (guest.name, m.group(3)))
            else:
                self.passed += 1
        if plan is not None and n < plan:
            self.failures.append("%s: planned %d results, printed %d" % (guest.name, plan, n))
        return n

    def add_guest(self, guest, accepted):
        before = len(self.failures)
        n = self.add_results(guest)
        bad = self.failures
        if getattr(guest, "qemu_err", None) and guest.started is None:
            bad.append("%s: qemu: %s" % (guest.name, guest.qemu_err.splitlines()[-1]))
        bad += ["%s: %s" % (guest.name, f) for f in guest.failures]
        if guest.timed_out:
            bad.append("%s: not done after %d s" % (guest.name, guest.line.timeout * guest.slow))
        found, notes = splats.judge(guest.console.lines[:guest.judged], accepted, guest.stack)
        bad += ["%s: %s" % (guest.name, f) for f in found]
        self.notes += ["%s: %s" % (guest.name, t) for t in notes]
        if guest.ended is None:
            stage = ("does not boot" if guest.started is None and not guest.failures else
                     "does not answer" if guest.exit is None else
                     "hangs in the checks after its command")
            bad.append("%s: guest %s" % (guest.name, stage))
        elif guest.taint and not found and not notes:
            bad.append("%s: kernel tainted (%d) with nothing in the log" % (guest.name,
                                                                            guest.taint))
        if guest.exit and len(bad) == before:
            bad.append("%s: exit status %d" % (guest.name, guest.exit))
        if n == 0 and len(bad) == before:
            bad.append("%s: no results" % guest.name)
        return n

    def finish(self, results, want):
        if results < want and not self.failures:
            self.failures.append("%d results, selftests/count wants %d" % (results, want))
        if os.environ.get("RDS_EXPECT_ALL") == "1":
            self.failures += ["skipped: " + s for s in self.skipped]
            self.skipped = []


class Runner:
    def __init__(self, opts):
        self.opts = opts
        self.counts = read_counts(opts.count_file)
        self.accepted = splats.Accepted(opts.foreign_splats)
        self.built, self.total = {}, [0, 0, 0]

    def build(self, what):
        """Builds modules or programs once a run; a failure is remembered, not repeated."""
        if self.opts.no_build:
            return True
        if what not in self.built:
            argv = [os.path.join(VM, "build.sh"), what]
            self.built[what] = subprocess.run(argv, stdin=subprocess.DEVNULL,
                                              check=False).returncode == 0
        return self.built[what]

    def build_siw(self, kernel, *variant):
        """The software iWARP device, which Debian's kernels lack."""
        key = " ".join(("siw", kernel) + variant)
        if key not in self.built:
            argv = [os.path.join(VM, "siw.sh"), kernel, *variant]
            self.built[key] = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False,
                                             stdout=subprocess.DEVNULL).returncode == 0
        return self.built[key]

    def kernel_of(self, stack):
        return Kernel.get(stack[7:] if stack.startswith("intree-") else self.opts.kernel)

    def prepare(self, line):
        """Reasons why a line cannot run at all."""
        bad = []
        for s in line.stacks:
            kernel = self.kernel_of(s)
            # A line that loads modules itself says so when they are not there.
            if s in ("ours", "none") and not self.build(kernel.name) and s == "ours":
                bad.append("our modules do not build for %s" % kernel.name)
            siw = re.search(r"\bsiw(?:-(\w+))?\b", line.command)
            if siw and not self.build_siw(kernel.name, *filter(None, siw.groups())):
                bad.append("siw does not build for %s" % kernel.name)
        return sorted(set(bad))

    def boot(self, line, scratch):
        """Starts a line's guests and returns them."""
        links = [os.path.join(scratch, "net%d" % n) for n in range(2)] if line.guests == 2 else []
        logs = os.path.join(BUILD, "logs", self.opts.kernel)
        os.makedirs(logs, exist_ok=True)
        guests = []
        for name, stack in zip("ab", line.stacks):
            log = os.path.join(logs, "%s-%s.log" % (line.name, name))
            g = Guest(name, self.kernel_of(stack), stack, line, self.opts, scratch, log)
            guests.append(g)
            g.start(links)
            # The second guest connects to what the first listens on.
            end = time.monotonic() + 10
            while name == "a" and not all(map(os.path.exists, links)) and time.monotonic() < end:
                time.sleep(0.02)
        return guests

    def watch(self, guests):
        """Reads the guests' ports until they are off or late."""
        sel = selectors.DefaultSelector()
        for g in guests:
            for c in (g.console, g.verdict):
                sel.register(c, selectors.EVENT_READ, g)
        live = set(guests)
        while live:
            for key, _ in sel.select(0.2):
                channel, g = key.fileobj, key.data
                had = channel.conn
                if not had:
                    sel.unregister(channel)
                more = g.take(channel)
                if not had:
                    sel.register(channel, selectors.EVENT_READ, g)
                elif not more:
                    sel.unregister(channel)
                if self.opts.verbose:
                    self.echo(g)
            for g in list(live):
                if g.proc.poll() is not None:
                    self.drain(sel, g)
                    live.discard(g)
                    self.alone_now(g, live)
                elif g.expired():
                    self.late(sel, g)
                    live.discard(g)

    @staticmethod
    def alone_now(gone, live):
        """A guest that went down before its end leaves the other nothing to wait for."""
        if gone.ended is None:
            for g in live:
                g.orphan(15 * g.slow)

    def echo(self, g):
        at = getattr(g, "echoed", 0)
        for text in g.results[at:]:
            print("  %s| %s" % (g.name, text), flush=True)
        g.echoed = len(g.results)

    def drain(self, sel, g):
        """Takes what is still in the sockets of a guest that is off."""
        mine = [k for k in list(sel.get_map().values()) if k.data is g]
        for key in mine:
            sel.unregister(key.fileobj)
            key.fileobj.conn and key.fileobj.conn.settimeout(1)
            try:
                while key.fileobj.conn and g.take(key.fileobj):
                    pass
            except OSError:
                pass

    def late(self, sel, g):
        g.log.write("# no answer in time: asking for a trace\n")
        g.backtrace()
        end = time.monotonic() + 5 * g.slow
        while g.proc.poll() is None and time.monotonic() < end:
            for key, _ in sel.select(0.2):
                if key.data is g and key.fileobj.conn and not g.take(key.fileobj):
                    sel.unregister(key.fileobj)
        if g.proc.poll() is None:
            g.proc.kill()
        g.proc.wait()
        self.drain(sel, g)
        if g.ended is None:
            g.failures.append("no answer in time")

    def watched(self, line):
        """Boots a line's guests and follows them to their end."""
        scratch = tempfile.mkdtemp(prefix="rdsvm-")
        guests = []
        try:
            guests = self.boot(line, scratch)
            self.watch(guests)
        finally:
            for g in guests:
                g.stop()
            shutil.rmtree(scratch, ignore_errors=True)
        return guests

    def attempts(self, line, tally):
        """A guest that dies of a breakpoint that is not in memory says nothing of its line: that is run
        again, and said. Any other oops fails the line."""
        for n in range(1, ATTEMPTS + 1):
            guests = self.watched(line)
            hit = [g for g in guests if splats.stale_int3(g.console.lines)]
            if not hit or n == ATTEMPTS:
                break
            for g in guests:
                os.replace(g.logname, "%s.%d" % (g.logname, n))
            tally.notes.append("run again: guest %s died of an int3 that was not there, see %s.%d" % (
                hit[0].name, os.path.relpath(hit[0].logname, TOP), n))
        return guests

    def run(self, line):
        """One line, start to verdict: a Tally and the logs."""
        tally = Tally()
        tally.failures += self.prepare(line)
        if tally.failures:
            return tally, []
        with alone(self.opts.parallel == 1):
            began = time.monotonic()
            guests = self.attempts(line, tally)
            tally.took = time.monotonic() - began
        tally.results = sum(tally.add_guest(g, self.accepted) for g in guests)
        tally.finish(tally.results, self.counts.get(line.name, 1))
        return tally, guests

    def report(self, line, tally, guests):
        word = "not ok" if tally.failures else "ok"
        print("%-6s %-28s %4d passed %3d failed %3d skipped %7.1f s" % (
            word, line.name, tally.passed, len(tally.failures), len(tally.skipped), tally.took))
        for f in tally.failures[:40]:
            print("         " + f)
        if len(tally.failures) > 40:
            print("         ... and %d more" % (len(tally.failures) - 40))
        for s in tally.skipped + tally.notes:
            print("         note: " + s)
        if tally.failures:
            for g in guests:
                print("         log: " + os.path.relpath(g.logname, TOP))
        sys.stdout.flush()
        with open(os.path.join(BUILD, "logs", self.opts.kernel, "results"), "a",
                  encoding="utf-8") as f:
            f.write("%s %d\n" % (line.name, tally.results))
        self.count(tally.passed, len(tally.failures), len(tally.skipped))

    def count(self, *numbers):
        self.total = [t + n for t, n in zip(self.total, numbers)]

    def again(self, line, first, guests):
        """A second try, with what the first one found as notes and its logs kept."""
        for g in guests:
            if os.path.exists(g.logname):
                os.replace(g.logname, g.logname + ".first")
        tally, guests = self.run(line)
        tally.notes += ["run again, the first time: " + f for f in first.failures[:10]]
        return tally, guests

    def run_one(self, line, slots, need):
        try:
            tally, guests = self.run(line)
            if tally.failures and os.environ.get("RDS_RETRY"):
                tally, guests = self.again(line, tally, guests)
        except Exception as e:  # a bug of the runner's is a failure of the line, not a hang of the run
            tally, guests = Tally(), []
            tally.failures.append("runner: %r" % e)
        with slots.changed:
            self.report(line, tally, guests)
        slots.give(need)

    def run_all(self, lines):
        """Runs lines beside each other as far as there is room and they bear it."""
        slots, threads = Slots(self.opts.parallel), []
        with open(os.path.join(VM, "alone"), encoding="ascii") as f:
            single = {w for ln in f for w in ln.split("#")[0].split()}
        for line in lines:
            need = slots.size if line.name in single else min(line.guests, slots.size)
            slots.take(need)
            if time.time() > self.opts.until:
                slots.give(need)
                with slots.changed:
                    print("skip   %-28s no time left" % line.name, flush=True)
                    self.count(0, 0, 1)
                continue
            if slots.size > 1:
                # Builds and downloads happen here, not side by side.
                self.prepare(line)
            t = threading.Thread(target=self.run_one, args=(line, slots, need), daemon=True)
            t.start()
            threads.append(t)
        for t in threads:
            t.join()

    def closing(self):
        print("%d passed, %d failed, %d skipped" % tuple(self.total), flush=True)
        return 1 if self.total[1] or not self.total[0] else 0


def shell(runner):
    """A prompt in a guest; our modules are loaded if they build, in-tree's otherwise."""
    stack = os.environ.get("RDS_STACK") or "ours"
    line = Line("shell", "shell | 1 | %s | 2 | 3600 | all | true" % stack, "shell")
    line.shell = True
    if runner.prepare(line):
        return 1
    scratch = tempfile.mkdtemp(prefix="rdsvm-")
    try:
        g = Guest("a", runner.kernel_of(stack), stack, line, runner.opts, scratch, os.devnull)
        return subprocess.call(g.command([]))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def options():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kernel", default=os.environ.get("KERNEL") or "6.12")
    p.add_argument("--cases", default=os.environ.get("CASES", ""))
    p.add_argument("--cases-file", action="append")
    p.add_argument("--count-file", default=os.path.join(TOP, "selftests", "count"))
    p.add_argument("--foreign-splats", default=os.path.join(VM, "foreign-splats"))
    p.add_argument("--no-build", action="store_true", help="use what is built already")
    p.add_argument("--list", action="store_true")
    p.add_argument("--shell", action="store_true")
    p.add_argument("--verbose", "-v", action="store_true")
    opts = p.parse_args()
    opts.parallel = int(os.environ.get("RDS_PARALLEL") or 1)
    opts.load = os.environ.get("RDS_LOAD") or "ci"
    opts.leaks = os.environ.get("RDS_LEAKS", "").split() or None
    opts.until = float(os.environ.get("RDS_UNTIL") or "inf")
    opts.timeout_scale = float(os.environ.get("RDS_TIMEOUT_SCALE") or 0)
    return opts


def main():
    opts = options()
    paths = opts.cases_file or sorted(glob.glob(os.path.join(TOP, "selftests", "*", "cases")))
    lines = [ln for ln in read_lines(paths) if ln.runs_under(opts.kernel)
             and ln.selected(opts.cases.split())]
    if opts.list:
        for ln in lines:
            print("%-10s %-28s %s" % (ln.group, ln.name, ",".join(ln.stacks)))
        return 0
    runner = Runner(opts)
    opts.accel = choose_accel(Kernel.get(opts.kernel))
    tools = runner.build("--tools")
    if opts.shell:
        return shell(runner)
    print("kernel %s, %s, load %s, %d case lines" % (
        Kernel.get(opts.kernel).release, opts.accel, opts.load, len(lines)), flush=True)
    if opts.leaks is not None and opts.kernel == "debug":
        watched = [ln.name for ln in lines if ln.selected(opts.leaks)]
        print("kmemleak watches %s only" % (" ".join(watched) or "nothing"), flush=True)
    if not tools:
        print("not ok user programs do not build")
        runner.count(0, 1, 0)
    with alone(opts.parallel > 1):
        runner.run_all(lines)
    return runner.closing()


if __name__ == "__main__":
    # What was started is ended on the way out, whichever way that is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except SetupError as e:
        print("run: %s" % e, file=sys.stderr)
        print("0 passed, 1 failed, 0 skipped")
        sys.exit(1)
