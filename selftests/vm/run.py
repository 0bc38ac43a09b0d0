#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs case lines in guests and reports their results.

    run.py [--kernel K] [--cases "WORDS"] [--cases-file FILE] [--list] [--shell] [--verbose]

A word selects the lines of the group of that name and those whose name begins with it; =WORD
selects the line of that name; -WORD deselects lines. Environment, with the default in parentheses;
points in time are seconds since 1970:

    KERNEL (6.12), CASES     the defaults of --kernel and --cases
    RDS_LOAD (ci)            ci or full: how often tests repeat an action
    RDS_EXPECT_ALL=1         a skipped test is a failure
    RDS_TIMEOUT_SCALE        factor on time limits (from the machine's load)
    RDS_ACCEL                tcg or kvm (kvm if a guest boots under it)
    RDS_ICOUNT=1             guests with one processor and a clock that counts instructions
    RDS_ARGS                 passed on to the commands
    RDS_PARALLEL (1)         number of guests at the same time
    RDS_BATCH                number of lines that may share a guest, see batch.py (4 on the debug
                             kernel, 0 on others)
    RDS_LEAKS="WORDS"        lines that run with kmemleak on the debug kernel (all)
    RDS_RETRY=1              a line that fails runs twice more: if it passes both times it is FLAKY,
                             not failed; verdicts.py says which failures are final
    RDS_FLAKY                file to which FLAKY lines are appended
    RDS_UNTIL                time after which no line begins; the lines left are reported as skipped
    RDS_LATE=fail            lines that do not begin in time, or are cut off, have failed instead
    RDS_END                  time after which no failed line runs again: it has failed
    RDS_STOP                 time at which running lines are cut off and count as skipped; the
                             results that they printed before then count

With RDS_BATCH lines of one guest share a guest, one after the other. Each has its own results, log
and verdict; a failure after the last of them is reported for "batch of NAMES".

The last line is "N passed, N failed, N skipped". The exit status is 1 if any line failed or no test
passed.
"""

import argparse
import contextlib
import fcntl
import functools
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

import batch
import splats
from guest import Guest
from kvmprobe import choose_accel
from verdicts import Tally
from vmconf import BUILD, TOP, VM, Kernel, SetupError

sys.path.append(os.path.join(TOP, "selftests", "coverage"))
import collect  # pylint: disable=wrong-import-position

ATTEMPTS = 3
RERUNS = 2
# Kernels on which lines share guests: on the others a guest starts within seconds.
BATCH = {"debug": 4}


@contextlib.contextmanager
def alone(wanted=True):
    """Limits how many lines, or runs, are under way in a checkout (RDS_SLOTS, 2), in the order of
    arrival (RDS_PRIO before that): more of them would slow each other down beyond their time
    limits."""
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
        # Prefix 0 sorts running tickets before all waiting ones, whatever the priority of these.
        running = "0-%s" % mine[2:]
        os.rename(os.path.join(queue, mine), os.path.join(queue, running))
        try:
            yield
        finally:
            os.unlink(os.path.join(queue, running))


def ticket_held(path):
    """1 if the process that made the ticket still runs, else 0. Deletes the ticket of a process
    that ended."""
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
    """Room for guests that run at the same time. Lines take it in their order, so that none
    starves."""

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
    """One line of a file of case lines."""

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
        self.shell, self.attempt, self.is_batch = False, 1, False
        known = ("ours", "intree", "none")
        if self.guests not in (1, 2) or len(self.stacks) != self.guests or any(
                s not in known and not re.fullmatch(r"intree-[\d.]+", s) for s in self.stacks):
            raise SetupError("%s: %s: guests and stacks do not fit" % (where, self.name))

    def runs_under(self, kernel):
        return "all" in self.kernels or kernel in self.kernels

    def selected(self, words):
        def fits(word):
            if word.startswith("="):
                return self.name == word[1:]
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


def read_alone():
    """Names of the lines that run alone."""
    with open(os.path.join(VM, "alone"), encoding="ascii") as f:
        return {w for ln in f for w in ln.split("#")[0].split()}


class Runner:
    def __init__(self, opts):
        self.opts = opts
        self.accepted = splats.Accepted(opts.foreign_splats)
        self.built, self.total, self.flaky = {}, [0, 0, 0], []
        self.logs = os.path.join(BUILD, "logs", opts.kernel)
        # The file results goes there even if no guest boots.
        os.makedirs(self.logs, exist_ok=True)

    def build(self, what):
        """Builds modules or programs once per run; returns whether that succeeded. A build that
        failed is not repeated."""
        if self.opts.no_build:
            return True
        if what not in self.built:
            argv = [os.path.join(VM, "build.sh"), what]
            self.built[what] = subprocess.run(argv, stdin=subprocess.DEVNULL,
                                              check=False).returncode == 0
        return self.built[what]

    def build_softdev(self, driver, kernel, *variant):
        """Builds siw, the software iWARP device, which Debian's kernels lack, or an altered rxe."""
        key = " ".join((driver, kernel) + variant)
        if key not in self.built:
            argv = [os.path.join(VM, "softdev.sh"), driver, kernel, *variant]
            self.built[key] = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False,
                                             stdout=subprocess.DEVNULL).returncode == 0
        return self.built[key]

    def kernel_of(self, stack):
        return Kernel.get(stack[7:] if stack.startswith("intree-") else self.opts.kernel)

    def prepare(self, line):
        """Builds what a line needs; returns the reasons why the line cannot run."""
        bad = []
        for s in line.stacks:
            kernel = self.kernel_of(s)
            # A line with the stack "none" loads modules itself and reports missing ones.
            if s in ("ours", "none") and not self.build(kernel.name) and s == "ours":
                bad.append("our modules do not build for %s" % kernel.name)
            dev = re.search(r"\b(siw)(?:-(\w+))?\b|\b(rxe)-(\w+)\b", line.command)
            if dev and not self.build_softdev(dev[1] or dev[3], kernel.name, *filter(None, (dev[2], dev[4]))):
                bad.append("%s does not build for %s" % (dev[0], kernel.name))
        return sorted(set(bad))

    def boot(self, lines, scratch):
        """Starts the guests of a line, or the one guest of several lines, and returns them."""
        line = lines[0]
        links = [os.path.join(scratch, "net%d" % n) for n in range(2)] if line.guests == 2 else []
        guests = []
        for name, stack in zip("ab", line.stacks):
            log = functools.partial(self.log_of, name)
            g = Guest(name, self.kernel_of(stack), stack, lines, self.opts, scratch, log)
            guests.append(g)
            g.start(links)
            # The second guest connects to the sockets on which the first listens.
            end = time.monotonic() + 10
            while name == "a" and not all(map(os.path.exists, links)) and time.monotonic() < end:
                time.sleep(0.02)
        return guests

    def log_of(self, guest, line):
        return os.path.join(self.logs, "%s-%s.log" % (line, guest))

    def watch(self, guests):
        """Reads the guests' ports until each guest is off or past its deadline."""
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
            if time.time() > self.opts.stop:
                self.cut_off(sel, live)

    def cut_off(self, sel, live):
        """Kills all guests at RDS_STOP, at once, so that none fails because its peer is gone."""
        for g in live:
            g.part.cut = g.part.ended is None
            g.part.write("# no time left: cut off")
            g.proc.kill()
        for g in live:
            g.proc.wait()
            self.drain(sel, g)
        live.clear()

    @staticmethod
    def alone_now(gone, live):
        """If a guest went down before its end, shortens the deadline of the other, which waits for
        it."""
        if gone.part.ended is None:
            for g in live:
                g.orphan(15 * g.slow)

    def echo(self, g):
        for p in g.parts:
            for text in p.results[p.echoed:]:
                print("  %s| %s" % (g.name, text), flush=True)
            p.echoed = len(p.results)

    def drain(self, sel, g):
        """Reads the rest of the output of a guest that is off."""
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
        g.part.write("# no answer in time: asking for a trace")
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
        if g.part.ended is None:
            g.part.failures.append("no answer in time")

    def watched(self, lines):
        """Boots guests as boot() does and reads their output until they end; returns them."""
        scratch = tempfile.mkdtemp(prefix="rdsvm-")
        guests = []
        try:
            guests = self.boot(lines, scratch)
            self.watch(guests)
        finally:
            for g in guests:
                g.stop()
            shutil.rmtree(scratch, ignore_errors=True)
        return guests

    def blamed(self, parts):
        """Did a kernel report anything else before a fault of the emulator ended a guest?"""
        found = []
        for p in parts:
            lines = p.console[:p.judged]
            found += splats.judge(lines[:splats.emulator_fault(lines)], self.accepted, p.stack)[0]
        return bool(found)

    def struck(self, parts, n):
        """Did a breakpoint that is not in memory or an impossible state of the processor, which are
        faults of the emulator, end the n-th run of a line?  If so, a note for the report, else None.
        Any other oops fails the line, and so does any splat before that one."""
        hit = [p for p in parts if splats.emulator_fault(p.console) is not None]
        if not hit or n == ATTEMPTS or self.blamed(parts):
            return None
        for p in parts:
            os.replace(p.logname, "%s.%d" % (p.logname, n))
        return "run again: guest %s died of what only the emulator can do, see %s.%d" % (
            hit[0].name, os.path.relpath(hit[0].logname, TOP), n)

    def attempts(self, line, tally):
        """Runs a line's guests, again if one was struck; returns the line's parts of them."""
        for n in range(1, ATTEMPTS + 1):
            parts = [g.parts[0] for g in self.watched([line])]
            note = self.struck(parts, n)
            if not note:
                break
            tally.notes.append(note)
        return parts

    def guest_of(self, lines):
        """Runs lines in one guest and returns it."""
        with alone(self.opts.parallel == 1):
            return self.watched(lines)[0]

    def run(self, line, attempt=1):
        """Runs a line once; returns its Tally and its parts of the guests."""
        tally = Tally()
        line.attempt = attempt
        tally.failures += self.prepare(line)
        if tally.failures:
            return tally, []
        with alone(self.opts.parallel == 1):
            began = time.monotonic()
            guests = self.attempts(line, tally)
            tally.took = time.monotonic() - began
        self.settle(line, tally, guests)
        return tally, guests

    def settle(self, line, tally, guests):
        """Judges a line's parts of its guests."""
        tally.results = sum(tally.add_guest(g, self.accepted) for g in guests)
        tally.finish()
        if tally.cut and os.environ.get("RDS_LATE") == "fail":
            tally.failures.append("cut off after %.0f s: no time left" % tally.took)

    def report(self, line, tally, guests):
        if tally.cut and not tally.failures:
            print("%-6s %-28s cut off after %.0f s" % ("skip", line.name, tally.took), flush=True)
            self.count(0, 0, 1)
            return
        word = "FLAKY" if tally.flaky else "not ok" if tally.failures else "ok"
        print("%-6s %-28s %4d passed %3d failed %3d skipped %7.1f s" % (
            word, line.name, tally.passed, len(tally.failures), len(tally.skipped), tally.took))
        for f in tally.failures[:40]:
            print("         " + f)
        if len(tally.failures) > 40:
            print("         ... and %d more" % (len(tally.failures) - 40))
        for text in tally.said:
            print("         " + text)
        for s in tally.skipped + tally.notes + self.unlisted(line, tally, guests):
            print("         note: " + s)
        if tally.failures:
            for g in guests:
                print("         log: " + os.path.relpath(g.logname, TOP))
        sys.stdout.flush()
        self.count(tally.passed, len(tally.failures), len(tally.skipped))
        if line.is_batch:
            return
        if tally.flaky:
            self.flaky.append("FLAKY %s %s: %s" % (self.opts.kernel, line.name, tally.flaky))
            self.flaky += ["      " + text for text in tally.said]
        with open(os.path.join(self.logs, "results"), "a", encoding="utf-8") as f:
            f.write("%s %d %.1f\n" % (line.name, tally.results, tally.took))

    def unlisted(self, line, tally, guests):
        """How the names that a line printed differ from the list of them: CI fails for that, after
        more than an hour."""
        if self.opts.load != "ci" or line.is_batch or "ours" not in line.stacks or tally.failures:
            return []
        told = collect.differences(
            line.name, collect.names_in(g.logname for g in guests),
            collect.read_list().get(line.name, set()))
        return ["collect.py: " + text for text in told[:5]]

    def count(self, *numbers):
        self.total = [t + n for t, n in zip(self.total, numbers)]

    def judged(self, line):
        """A line's Tally and parts, after it ran as often as it must."""
        return self.rerun(line, *self.run(line))

    def rerun(self, line, first, guests):
        """With RDS_RETRY a line whose failures are not final is run twice more, to tell failures
        that come now and then from those that come again."""
        if not first.failures or not os.environ.get("RDS_RETRY"):
            return first, guests
        if first.final:
            first.notes.append("not run again, no other run pardons this: " + first.final[0])
            return first, guests
        logs = []
        for g in guests:
            if os.path.exists(g.logname):
                logs.append(g.logname + ".first")
                os.replace(g.logname, logs[-1])
        logs = " ".join(os.path.relpath(name, TOP) for name in logs)
        for n in range(RERUNS):
            if time.time() > self.opts.end:
                first.notes.append("no time left to run it again; log of the first time: " + logs)
                return first, guests
            tally, guests = self.run(line, attempt=n + 2)
            if tally.cut and not tally.failures:
                first.notes.append("cut off when it was run again; log of the first time: " + logs)
                return first, guests
            if tally.failures:
                tally.notes += ["run %d of %d, the first time: %s" % (n + 2, 1 + RERUNS, f)
                                for f in first.failures[:10]]
                tally.notes.append("log of the first time: " + logs)
                return tally, guests
        tally.flaky = "%s, log %s" % (first.failures[0], logs)
        tally.said = first.said
        tally.notes += ["failed the first time only: " + f for f in first.failures[:10]]
        tally.notes.append("log of the first time: " + logs)
        return tally, guests

    def deliver(self, line, slots, judge):
        """Reports a line, whose Tally and parts judge() returns."""
        try:
            tally, guests = judge()
        except Exception as e:  # a bug of the runner fails the line and must not hang the run
            tally, guests = Tally(), []
            tally.failures.append("runner: %r" % e)
        try:
            with slots.changed:
                self.report(line, tally, guests)
        except Exception as e:
            print("not ok %s: no report: %r" % (line.name, e), flush=True)
            self.count(0, 1, 0)

    def run_one(self, line, slots, need):
        try:
            self.deliver(line, slots, lambda: self.judged(line))
        finally:
            slots.give(need)

    def run_batch(self, lines, slots, need):
        try:
            batch.Batch(self, lines, slots).run()
        except Exception as e:
            with slots.changed:
                print("not ok batch of %s: runner: %r" % (
                    " ".join(ln.name for ln in lines), e), flush=True)
                self.count(0, 1, 0)
        finally:
            slots.give(need)

    def not_begun(self, line):
        """Reports a line that did not begin before RDS_UNTIL: failed with RDS_LATE=fail, else
        skipped."""
        must = os.environ.get("RDS_LATE") == "fail"
        print("%-6s %-28s %s" % ("not ok" if must else "skip", line.name,
                                 "not begun in time" if must else "no time left"), flush=True)
        self.count(0, must, not must)

    def run_all(self, lines):
        """Runs lines at the same time as far as RDS_PARALLEL and the file alone allow."""
        slots, threads = Slots(self.opts.parallel), []
        single = read_alone()
        for some in batch.deal(lines, self.opts, single):
            line = some[0]
            need = slots.size if line.name in single else min(line.guests, slots.size)
            slots.take(need)
            if time.time() > self.opts.until:
                slots.give(need)
                with slots.changed:
                    for late in some:
                        self.not_begun(late)
                continue
            if slots.size > 1:
                # Builds and downloads happen here, one after the other. A failure comes again in
                # the thread of the line, which reports it.
                for each in some:
                    with contextlib.suppress(SetupError):
                        self.prepare(each)
            target, what = (self.run_batch, some) if len(some) > 1 else (self.run_one, line)
            t = threading.Thread(target=target, args=(what, slots, need), daemon=True)
            t.start()
            threads.append(t)
        for t in threads:
            t.join()

    def closing(self):
        for text in self.flaky:
            print(text)
        path = os.environ.get("RDS_FLAKY")
        if self.flaky and path:
            with open(path, "a", encoding="utf-8") as f:
                f.write("".join(text + "\n" for text in self.flaky))
        print("%d passed, %d failed, %d skipped" % tuple(self.total), flush=True)
        return 1 if self.total[1] or not self.total[0] else 0


def shell(runner):
    """A prompt in a guest with the stack RDS_STACK (ours); fails if our modules do not build."""
    stack = os.environ.get("RDS_STACK") or "ours"
    line = Line("shell", "shell | 1 | %s | 2 | 3600 | all | true" % stack, "shell")
    line.shell = True
    if runner.prepare(line):
        return 1
    scratch = tempfile.mkdtemp(prefix="rdsvm-")
    try:
        g = Guest("a", runner.kernel_of(stack), stack, [line], runner.opts, scratch,
                  lambda _: os.devnull)
        return subprocess.call(g.command([]))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def options():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kernel", default=os.environ.get("KERNEL") or "6.12")
    p.add_argument("--cases", default=os.environ.get("CASES", ""))
    p.add_argument("--cases-file", action="append")
    p.add_argument("--foreign-splats", default=os.path.join(VM, "foreign-splats"))
    p.add_argument("--no-build", action="store_true", help="use what is built already")
    p.add_argument("--list", action="store_true")
    p.add_argument("--shell", action="store_true")
    p.add_argument("--verbose", "-v", action="store_true")
    opts = p.parse_args()
    opts.parallel = int(os.environ.get("RDS_PARALLEL") or 1)
    opts.batch = int(os.environ.get("RDS_BATCH") or BATCH.get(opts.kernel, 0))
    opts.load = os.environ.get("RDS_LOAD") or "ci"
    opts.leaks = os.environ.get("RDS_LEAKS", "").split() or None
    opts.until = float(os.environ.get("RDS_UNTIL") or "inf")
    opts.end = float(os.environ.get("RDS_END") or "inf")
    opts.stop = float(os.environ.get("RDS_STOP") or "inf")
    opts.timeout_scale = float(os.environ.get("RDS_TIMEOUT_SCALE") or 0)
    return opts


def main():
    opts = options()
    paths = opts.cases_file or sorted(glob.glob(os.path.join(TOP, "selftests", "*", "cases")))
    words, known = opts.cases.split(), read_lines(paths)
    for w in words:
        if not any(ln.selected([w.lstrip("-")]) for ln in known):
            raise SetupError("no case line fits " + w)
    lines = [ln for ln in known if ln.runs_under(opts.kernel) and ln.selected(words)]
    if words and all(w.startswith("=") for w in words):
        lines.sort(key=lambda ln: words.index("=" + ln.name))
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
    # SIGTERM raises SystemExit, so that the finally clauses end the guests.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except SetupError as e:
        print("run: %s" % e, file=sys.stderr)
        print("0 passed, 1 failed, 0 skipped")
        sys.exit(1)
