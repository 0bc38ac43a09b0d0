#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Patches the kernel code, one statement at a time, and checks that the test named with the patch
fails.

    run.py [ID...]      all patches, or those whose ID begins with an argument; KERNEL as for tests
    run.py --fit        only check that each patch fits the code and that its case line exists

A test proves something only if it passes without the patch: all tests run on the unpatched code
first. The patched modules are built in a copy of the tree and then loaded in a guest, one patch
after the other. If a patch ends the guest, a new guest runs the rest. Lines with two guests and
lines with an RDMA device boot guests for each patch. The last line is "N passed, N failed, N
skipped"; the exit status is 1 if a patch is not noticed.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.realpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(TOP, "selftests", "vm"))
import vmconf  # noqa: E402  pylint: disable=wrong-import-position

OUT = os.path.join(vmconf.BUILD, "mutants")
TREE = os.path.join(OUT, "tree")
KERNEL = os.environ.get("KERNEL") or "6.12"
BASE = "unpatched"
JOBS = os.environ.get("RDS_JOBS") or "2"
CASE_S = 20             # limit in guest seconds for a case of api or wire
OWN_S = 150             # limit in guest seconds for a line that boots guests for each patch
CRASH = re.compile(r"Kernel panic|Oops|BUG: |hung_task|soft lockup|rcu: .*stall")


class Misfit(Exception):
    """A patch does not fit the code, which has changed."""


class Mutant:
    """One patch: its file and hunk, and the case that must fail with it."""

    def __init__(self, name, path):
        self.name, self.path, self.hunk = name, path, []
        self.line = self.case = self.mode = None
        self.verdict, self.why, self.tries = None, "", 0

    @property
    def unit(self):
        return self.line == "unit"

    def text(self, marks):
        return "".join(h[1:] + "\n" for h in self.hunk if h[0] in marks)

    def applied(self, text):
        old = self.text(" -")
        at = ("\n" + text).count("\n" + old)
        if at != 1 or not old:
            raise Misfit("%s: its lines are %d times in %s" % (self.name, at, self.path))
        return ("\n" + text).replace("\n" + old, "\n" + self.text(" +"))[1:]

    def change(self):
        words = [" ".join(h[1:].split()) for h in self.hunk if h[0] in "-+"]
        return " => ".join(words) if len(words) > 1 else "without: " + words[0]

    def caught(self):
        return self.verdict in ("fail", "late", "down", "log")


def read_patches(path):
    found = []
    with open(path, encoding="utf-8") as f:
        for n, text in enumerate(f, 1):
            text = text.rstrip("\n")
            if text.startswith("@ "):
                found.append(Mutant(*text[2:].split()))
            elif text.startswith("! "):
                words = text[2:].split() + [None]
                found[-1].line, found[-1].case, found[-1].mode = words[:3]
            elif text[:1] in (" ", "-", "+") and found:
                found[-1].hunk.append(text)
            elif text and not text.startswith("#"):
                raise SystemExit("%s:%d: not understood" % (path, n))
    for m in found:
        if not m.case or not any(h[0] == "-" for h in m.hunk):
            raise SystemExit("mutants: %s: want a line to change and a case" % m.name)
    names = [m.name for m in found]
    for n in set(names):
        if names.count(n) > 1:
            raise SystemExit("mutants: two are named " + n)
    return found


def make_tree():
    """Copies the tree. A file that differs gets the present time, so that make compiles it again,
    also after a run that was interrupted with a patch applied."""
    keep = ["*.o", "*.ko", "*.mod", "*.mod.c", ".*.cmd", "*.order", "*.a"]
    for d in ("net", "include", "selftests/unit"):
        os.makedirs(os.path.join(TREE, d), exist_ok=True)
        subprocess.run(["rsync", "-rlpc", "--delete"] + ["--exclude=" + k for k in keep] +
                       [os.path.join(TOP, d) + "/", os.path.join(TREE, d) + "/"], check=True)
    shutil.copy(os.path.join(TOP, "Kbuild"), TREE)


class Patched:
    """Context manager: the copy of the tree with one patch applied; on exit the patch is
    reverted."""

    def __init__(self, mutant):
        self.mutant, self.path = mutant, os.path.join(TREE, mutant.path)

    def __enter__(self):
        with open(self.path, encoding="utf-8") as f:
            self.plain = f.read()
        self.write(self.mutant.applied(self.plain))

    def __exit__(self, *exc):
        self.write(self.plain)

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(text)


# --- tests without a kernel -----------------------------------------------------------------------

def run_unit(case):
    """(verdict, reason) of one case of the unit tests."""
    prog = os.path.join(TREE, "build", "unit", "t_" + case.split(".")[0])
    make = ["nice", "make", "-s", "-j" + JOBS, "-C", os.path.join(TREE, "selftests", "unit"), prog]
    p = subprocess.run(make, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, check=False)
    if p.returncode:
        return "build", p.stdout.strip()[-300:]
    try:
        p = subprocess.run([prog], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60,
                           check=False)
    except subprocess.TimeoutExpired:
        return "late", "no end in time"
    if re.search(r"^ok \d+ %s$" % re.escape(case), p.stdout, re.M):
        return "pass", ""
    if re.search(r"^not ok \d+ %s$" % re.escape(case), p.stdout, re.M):
        return "fail", "not ok"
    if p.returncode and re.search(r"Sanitizer|runtime error:", p.stdout):
        return "fail", "sanitizer"
    return "silent", "no result"


def unit_mutants(mutants):
    sane = {c: run_unit(c) for c in sorted({m.case for m in mutants})}
    for m in mutants:
        if sane[m.case][0] != "pass":
            m.verdict, m.why = "base", "its case does not pass without it: %s %s" % sane[m.case]
        else:
            with Patched(m):
                m.verdict, m.why = run_unit(m.case)
        say(m)


# --- modules --------------------------------------------------------------------------------------

def build_modules(name):
    """Builds the copy of the tree and copies the modules to ko/NAME; returns an error or None."""
    kmake = os.path.join(vmconf.VM, "kmake.sh")
    # Without debugging information the modules do the same, and the build takes half the time.
    p = subprocess.run(["nice", kmake, KERNEL, "-j" + JOBS, "M=" + TREE, "CONFIG_DEBUG_INFO=", "modules"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, check=False)
    if p.returncode:
        bad = [ln for ln in p.stdout.splitlines() if "error" in ln]
        return (bad or p.stdout.splitlines())[0]
    to = os.path.join(OUT, "ko", name)
    os.makedirs(to)
    for ko in glob.glob(os.path.join(TREE, "net", "**", "*.ko"), recursive=True):
        shutil.copy(ko, to)
    return None


def build_mutants(mutants):
    shutil.rmtree(os.path.join(OUT, "ko"), ignore_errors=True)
    err = build_modules(BASE)
    if err:
        raise SystemExit("mutants: the unpatched modules do not build: " + err)
    plain = identities(BASE)
    for i, m in enumerate(sorted(mutants, key=lambda m: m.path), 1):
        with Patched(m):
            err = build_modules(m.name)
        print("# built %d of %d: %s" % (i, len(mutants), m.name), flush=True)
        if err:
            m.verdict, m.why = "build", err
            say(m)
        elif identities(m.name) == plain:
            m.verdict, m.why = "build", "the modules are the same with it"
            say(m)


def identities(name):
    found = []
    for mod in ("rds", "rds_tcp", "rds_rdma"):
        with open(os.path.join(OUT, "ko", name, mod + ".ko"), "rb") as f:
            found.append(vmconf.identity(f.read()))
    return found


# --- guests ---------------------------------------------------------------------------------------

def case_lines():
    """{name: (group, timeout, command)} of all case lines."""
    found = {}
    for path in glob.glob(os.path.join(TOP, "selftests", "*", "cases")):
        with open(path, encoding="utf-8") as f:
            for text in f:
                field = [x.strip() for x in text.split("|", 6)]
                if len(field) == 7 and not text.startswith("#"):
                    found[field[0]] = (os.path.basename(os.path.dirname(path)), int(field[4]), field[6])
    return found


def job(name, ident, line, cases, mode=None):
    group, timeout, command = case_lines()[line]
    # The programs of these groups take names of cases as arguments; others run all their cases.
    if group in ("api", "wire"):
        command += " " + " ".join(sorted(set(cases)))
    if ident != BASE:
        timeout = min(timeout, CASE_S if group in ("api", "wire") else 150)
    mods = " ".join("%s:%s" % x for x in zip(("rds", "rds_tcp"), identities(ident)))
    return {"name": name, "dir": os.path.join(OUT, "ko", ident), "mods": mods, "command": command,
            "cases": sorted(set(cases)), "timeout": timeout, "mode": mode}


def base_jobs(mutants):
    """The jobs for the unpatched code: for each line and mode all cases that patches name."""
    for line in sorted({m.line for m in mutants}):
        for mode in sorted({m.mode or "" for m in mutants if m.line == line}):
            cases = [m.case for m in mutants if m.line == line and (m.mode or "") == mode]
            yield job("%s %s %s" % (BASE, line, mode), BASE, line, cases, mode or None)


class Guests:
    """Runs jobs in one guest, and in a new one after each guest that ends early, until each job has
    a verdict."""

    def __init__(self):
        self.boots, self.verdicts, self.last = 0, {}, None
        self.log = os.path.join(TOP, "build", "logs", KERNEL, "mutants-a.log")

    def boot(self, jobs):
        self.boots += 1
        cases = os.path.join(OUT, "cases")
        with open(os.path.join(OUT, "jobs"), "w", encoding="utf-8") as f:
            json.dump(jobs, f)
        with open(cases, "w", encoding="utf-8") as f:
            f.write("mutants | 1 | none | 2 | %d | all | python3 selftests/mutants/inguest.py "
                    "build/mutants/jobs\n" % (120 + sum(j["timeout"] for j in jobs)))
        argv = [os.path.join(vmconf.VM, "run.py"), "--kernel", KERNEL, "--no-build", "--verbose",
                "--cases-file", cases]
        env = dict(os.environ, CASES="", RDS_EXPECT_ALL="", PYTHONUNBUFFERED="1")
        p = subprocess.Popen(argv, env=env, cwd=TOP, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        self.last = None
        with open(os.path.join(OUT, "guest.%d" % self.boots), "w", encoding="utf-8") as out:
            for text in p.stdout:
                out.write(text)
                out.flush()
                self.take(text)
        p.wait()

    def take(self, text):
        m = re.match(r"\s*a\| # (begin|verdict) (.*)", text)
        if not m:
            return
        if m.group(1) == "begin":
            self.last = m.group(2)
        else:
            got = json.loads(m.group(2))
            self.verdicts[got["name"]] = got
            self.last = None

    def crashed(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return CRASH.search(f.read())

    def run(self, jobs):
        tries = {}
        todo = list(jobs)
        while todo:
            self.boot(todo)
            if self.last:
                self.went_down(self.last, tries)
            elif not any(j["name"] in self.verdicts for j in todo):
                tries[None] = tries.get(None, 0) + 1
                if tries[None] > 2:
                    break
            todo = [j for j in todo if j["name"] not in self.verdicts]
        return self.verdicts

    def went_down(self, name, tries):
        """Handles the end of the guest during a job: a verdict if the kernel's log has the reason,
        or if it happens again."""
        tries[name] = tries.get(name, 0) + 1
        hit = self.crashed()
        shutil.copy(self.log, os.path.join(OUT, "down.%d.log" % self.boots))
        if hit:
            self.verdicts[name] = {"name": name, "all": "down", "why": "the kernel: " + hit.group(0)}
        elif tries[name] > 1:
            self.verdicts[name] = {"name": name, "all": "silent", "why": "the guest ends without a word"}


# --- lines that boot guests for each patch --------------------------------------------------------

def own_fields(line):
    """The fields of a case line that boots guests for each patch (two guests, or RDMA); None for
    others, which inguest.py runs."""
    for path in glob.glob(os.path.join(TOP, "selftests", "*", "cases")):
        with open(path, encoding="utf-8") as f:
            for text in f:
                field = [x.strip() for x in text.split("|", 6)]
                if len(field) == 7 and field[0] == line:
                    return field if field[1] == "2" or "/rdma" in field[6] else None
    return None


def own_command(command, case):
    """
    The command of a line with run.sh, reduced to the test that the case belongs to, over IPv4. The
    line need not have this test: a patch can name a line with one guest, which costs less than one
    with two.
    """
    word = re.match(r"rdma\.([a-z]+)", case)
    head = re.match(r"(.*selftests/rdma/run\.sh \w+ [\w-]+) (.*)", command)
    if not head or not word:
        return command
    wanted = [t for t in head.group(2).split() if t.split(":")[0].split("/")[-1] == word.group(1)]
    return "RDS_FAMILIES=4 %s %s" % (head.group(1), " ".join(wanted or [word.group(1)]))


def own_line(line, case):
    """The fields of a line, with its command reduced to the test of a case."""
    field = own_fields(line)
    command = own_command(field[6], case)
    if command != field[6]:
        field[4], field[6] = str(min(int(field[4]), OWN_S)), command
    return field


def own_said(text, case):
    return re.findall(r"^\s*[ab]\| (not ok|ok) \d+ %s(?=\s|$)" % re.escape(case), text, re.M)


def own_run(ident, field, case=None):
    """
    Boots the guests of a line and runs it, until the case, if one is given, fails. Returns its
    output, and the message of a kernel that crashed, or None.
    """
    cases = os.path.join(OUT, "cases.own")
    with open(cases, "w", encoding="utf-8") as f:
        f.write(" | ".join(field) + "\n")
    argv = [os.path.join(vmconf.VM, "run.py"), "--kernel", KERNEL, "--no-build", "--verbose",
            "--cases-file", cases]
    env = dict(os.environ, CASES="", RDS_EXPECT_ALL="", RDS_KO=os.path.join(OUT, "ko", ident),
               PYTHONUNBUFFERED="1")
    p = subprocess.Popen(argv, env=env, cwd=TOP, stdin=subprocess.DEVNULL, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    out = ""
    with open(os.path.join(OUT, "own." + ident), "w", encoding="utf-8") as f:
        for text in p.stdout:
            out += text
            f.write(text)
            f.flush()
            if case and "not ok" in own_said(text, case):
                p.terminate()
    p.wait()
    # Read the logs now: the next run of the line overwrites them.
    for name in "ab"[:int(field[1])]:
        log = os.path.join(TOP, "build", "logs", KERNEL, "%s-%s.log" % (field[0], name))
        if os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as f:
                hit = CRASH.search(f.read())
            if hit:
                return out, hit.group(0)
    return out, None


def own_verdict(ran, case, want=1):
    """(verdict, reason) of a case that the unpatched line printed @want times."""
    out, died = ran
    said = own_said(out, case)
    if "not ok" in said:
        return "fail", "not ok"
    if died:
        return "down", "the kernel: " + died
    if len(said) >= want:
        return "pass", ""
    late = "no answer in time" in out or "not done after" in out
    return ("late", "no end in time") if late else ("silent", "no result")


def own_mutants(mutants):
    sane = {}
    for m in sorted(mutants, key=lambda m: (m.line, m.case)):
        field = own_line(m.line, m.case)
        key = " | ".join(field)
        if key not in sane:
            sane[key] = own_run(BASE, field)
        good = own_verdict(sane[key], m.case)
        if good[0] != "pass":
            m.verdict, m.why = "base", "its case does not pass without it: %s %s" % good
        else:
            m.verdict, m.why = own_verdict(own_run(m.name, field, m.case), m.case,
                                           len(own_said(sane[key][0], m.case)))
        say(m)


def verdict_of(got, case):
    if got is None:
        return "silent", "was not run"
    if got.get("all"):
        return got["all"], got["why"]
    return tuple(got["results"].get(case) or ("silent", "no result; " + got["why"]))


def vm_mutants(mutants):
    build_mutants(mutants)
    mutants = [m for m in mutants if m.verdict is None]
    own_mutants([m for m in mutants if own_fields(m.line)])
    mutants = [m for m in mutants if not own_fields(m.line)]
    if not mutants:
        return
    guests, sane = Guests(), {}
    got = guests.run(list(base_jobs(mutants)))
    for m in mutants:
        name = "%s %s %s" % (BASE, m.line, m.mode or "")
        sane[m.name] = verdict_of(got.get(name), m.case)
        if sane[m.name][0] != "pass":
            m.verdict, m.why = "base", "its case does not pass without it: %s %s" % sane[m.name]
            say(m)
    mutants = [m for m in mutants if m.verdict is None]
    # Mutants of mode "log" can leave the guest in another state and need a new guest each: run them
    # last.
    mutants.sort(key=lambda m: (m.mode or "", m.line))
    got = guests.run([job(m.name, m.name, m.line, [m.case], m.mode) for m in mutants])
    for m in mutants:
        m.verdict, m.why = verdict_of(got.get(m.name), m.case)
        say(m)


# --- results --------------------------------------------------------------------------------------

def say(m):
    print("%-8s %-24s %s %s  (%s)" % ("caught" if m.caught() else "NOT SO", m.name, m.line, m.case,
                                      m.why or m.verdict), flush=True)


def report(mutants):
    print("\nid | file | change | case | caught")
    for m in mutants:
        word = "yes: " + m.why if m.caught() else "SURVIVED" if m.verdict == "pass" else "no: " + m.why
        print("%s | %s | %s | %s %s | %s" % (m.name, m.path, m.change(), m.line, m.case, word))
    good = sum(m.caught() for m in mutants)
    print("\n%d passed, %d failed, 0 skipped" % (good, len(mutants) - good), flush=True)
    return 1 if good < len(mutants) or not mutants else 0


def check_fit(mutants):
    bad = []
    for m in mutants:
        try:
            with open(os.path.join(TOP, m.path), encoding="utf-8") as f:
                m.applied(f.read())
        except (Misfit, OSError) as e:
            bad.append(str(e))
        if not m.unit and m.line not in case_lines():
            bad.append("%s: there is no case line %s" % (m.name, m.line))
    for b in bad:
        print("mutants: " + b)
    if bad:
        print("0 passed, %d failed, 0 skipped" % len(bad))
        sys.exit(1)


def main():
    words = [w for w in sys.argv[1:] if w != "--fit"]
    mutants = [m for m in read_patches(os.path.join(HERE, "patches"))
               if not words or any(m.name.startswith(w) for w in words)]
    check_fit(mutants)
    if "--fit" in sys.argv:
        print("%d passed, 0 failed, 0 skipped" % len(mutants))
        return 0
    os.makedirs(OUT, exist_ok=True)
    make_tree()
    unit_mutants([m for m in mutants if m.unit])
    vm = [m for m in mutants if not m.unit]
    if vm:
        # Programs and test modules are built from the unpatched tree: no patch changes an interface
        # that they use.
        for what in ("--tools", KERNEL):
            subprocess.run([os.path.join(vmconf.VM, "build.sh"), what], check=True,
                           stdin=subprocess.DEVNULL)
        vm_mutants(vm)
    return report(mutants)


if __name__ == "__main__":
    sys.exit(main())
