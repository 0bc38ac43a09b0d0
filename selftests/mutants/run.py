#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Patches the kernel code, one statement at a time, and checks that the test named with the patch
fails.

    run.py [ID...]      all patches, or those whose ID begins with an argument, or whose case line
                        is an argument "=LINE", in the order of the arguments; KERNEL as for tests.
                        Patches for one kernel, as those that take a lock away are for the debug
                        kernel, run on this one only: KERNEL=debug runs these, and without
                        arguments no others
    run.py --go-on ...  without those that were caught on this code (build/mutants/record and the
                        file verdicts)
    run.py --fit        only check that each patch fits the code and that its case line exists, and
                        count the verdicts on this code
    run.py --keep       write the verdicts on this code to the file verdicts, which is committed:
                        a later run goes on where the code has not changed

A test proves something only if it passes without the patch: all tests run on the unpatched code
first. The patched modules are built in a copy of the tree, ahead of the guests, and then loaded in
a guest, one patch after the other. If a patch ends the guest, a new guest runs the rest. Lines with
two guests, with icount or with an RDMA device boot guests for each patch. Each verdict is printed at
once. The last line is "N passed, N failed, N skipped", with the patches for other kernels as
skipped; the exit status is 1 if a patch is not noticed.
"""

import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.realpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(TOP, "selftests", "vm"))
import vmconf  # noqa: E402  pylint: disable=wrong-import-position

OUT = os.path.join(vmconf.BUILD, "mutants")
TREE = os.path.join(OUT, "tree")
KERNEL = os.environ.get("KERNEL") or "6.12"
BASE = "unpatched"
# The commands that kbuild records for kernel 7.* run only in a tree of Debian 13.
RELINKS = not KERNEL.startswith("7")
JOBS = os.environ.get("RDS_JOBS") or "2"
RECORD = os.path.join(OUT, "record")
KEPT = os.path.join(HERE, "verdicts")
GO_ON = "--go-on" in sys.argv
CASE_S = 20             # limit in guest seconds for a case of api or wire
PATHS_S = 100           # the same for a case of paths.py, the longest of which takes 35 s
OWN_S = 150             # limit in guest seconds for a line that boots guests for each patch
BATCH = 10              # patches of one guest, which are built while the guest before runs
CRASH = re.compile(r"Kernel panic|Oops|BUG: |hung_task|soft lockup|rcu: .*stall")
SPLAT = re.compile(CRASH.pattern + r"|WARNING: |BUG \w|kmem_cache_destroy|refcount_t")


class Misfit(Exception):
    """A patch does not fit the code, which has changed."""


class Mutant:
    """One patch: its file and hunk, and the case that must fail with it."""

    def __init__(self, name, path):
        self.name, self.path, self.hunk = name, path, []
        self.line = self.case = self.mode = self.kernel = None
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

    def key(self):
        """Hash of all that the verdict depends on, but for the tests."""
        with open(os.path.join(TOP, self.path), "rb") as f:
            words = [self.kernel or KERNEL, self.name, self.line, self.case, str(self.mode)] + self.hunk
            return hashlib.sha1("\n".join(words).encode() + f.read()).hexdigest()


def read_patches(path):
    found = []
    with open(path, encoding="utf-8") as f:
        for n, text in enumerate(f, 1):
            text = text.rstrip("\n")
            if text.startswith("@ "):
                found.append(Mutant(*text[2:].split()))
            elif text.startswith("! "):
                words = [None if w == "-" else w for w in text[2:].split()] + [None, None]
                found[-1].line, found[-1].case, found[-1].mode, found[-1].kernel = words[:4]
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


def base_key(m):
    """Hash of all that the result of a patch's case on the unpatched code depends on, but for the
    tests."""
    said = hashlib.sha1(" ".join([BASE, KERNEL, m.line, m.case, str(m.mode)]).encode())
    for path in sorted(glob.glob(os.path.join(TOP, "net", "**", "*.[ch]"), recursive=True)):
        with open(path, "rb") as f:
            said.update(f.read())
    return said.hexdigest()


def record(key, verdict, why):
    with open(RECORD, "a", encoding="utf-8") as f:
        f.write(json.dumps([key, verdict, why]) + "\n")


def recorded():
    """{key: (verdict, reason)}"""
    found = {}
    if os.path.exists(KEPT):
        with open(KEPT, encoding="utf-8") as f:
            for text in f:
                if not text.startswith("#"):
                    key, verdict, _, why = text.rstrip("\n").split(" ", 3)
                    found[key] = verdict, why
    if os.path.exists(RECORD):
        with open(RECORD, encoding="utf-8") as f:
            found.update((key, (verdict, why)) for key, verdict, why in map(json.loads, f))
    return found


def keep(mutants):
    """Writes the verdicts on the present code, in the order of the patches."""
    known = recorded()
    with open(KEPT, "w", encoding="utf-8") as f:
        f.write("# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause\n"
                "# Patches that a test noticed, written by run.py --keep: hash of patch and patched file,\n"
                "# verdict, ID, reason.  A line counts until one of the two changes.\n")
        for m in mutants:
            if m.key() in known:
                f.write("%s %s %s %s\n" % ((m.key(),) + (known[m.key()][0], m.name, known[m.key()][1])))


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
    """Context manager: a copy of the tree with one patch applied; on exit the patch is
    reverted."""

    def __init__(self, mutant, tree=TREE):
        self.mutant, self.path = mutant, os.path.join(tree, mutant.path)

    def __enter__(self):
        with open(self.path, encoding="utf-8") as f:
            self.plain = f.read()
        self.write(self.mutant.applied(self.plain))
        return self

    def __exit__(self, *exc):
        self.write(self.plain)

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(text)


# --- tests without a kernel -----------------------------------------------------------------------

def run_unit(case):
    """(verdict, reason) of one case of the unit tests."""
    prog = os.path.join(TREE, "build", "unit", "t_" + case.split(".")[0])
    # The makefile names its targets relative to itself.
    make = ["make", "-s", "-j" + JOBS, "-C", os.path.join(TREE, "selftests", "unit"),
            "../../build/unit/" + os.path.basename(prog)]
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
    """Builds the copy of the tree and copies the modules to ko/NAME, if there is a name; returns an
    error or None."""
    kmake = os.path.join(vmconf.VM, "kmake.sh")
    # Without debugging information the modules do the same, and the build takes half the time.
    p = subprocess.run([kmake, KERNEL, "-j" + JOBS, "M=" + TREE, "CONFIG_DEBUG_INFO=", "modules"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, check=False)
    if p.returncode:
        bad = [ln for ln in p.stdout.splitlines() if "error" in ln]
        return (bad or p.stdout.splitlines())[0]
    if not name:
        return None
    to = os.path.join(OUT, "ko", name)
    shutil.rmtree(to, ignore_errors=True)
    os.makedirs(to)
    for ko in glob.glob(os.path.join(TREE, "net", "**", "*.ko"), recursive=True):
        shutil.copy(ko, to)
    return None


def saved(path):
    """The command that made a file, as kbuild recorded it."""
    with open(os.path.join(os.path.dirname(path), ".%s.cmd" % os.path.basename(path)),
              encoding="utf-8") as f:
        return f.readline().partition(" := ")[2]


def undefined(path):
    p = subprocess.run(["nm", "-u", path], stdout=subprocess.PIPE, text=True, check=True)
    return set(p.stdout.split())


class Relinked:
    """Builds the module of one patched C file with kbuild's recorded commands, without make, which
    looks at every file first: a fifth of the time. The patch must not need another symbol."""

    def __init__(self, mutant):
        self.name, self.obj = mutant.name, os.path.join(TREE, mutant.path[:-1] + "o")
        where = os.path.dirname(self.obj)
        own = {name: "rds_" + name for name in ("tcp", "rdma", "dev", "stream")}
        if os.path.basename(where) not in own:
            where = os.path.join(TREE, "net", "rds")
        self.mod = os.path.join(where, own.get(os.path.basename(where), "rds"))
        self.kdir = subprocess.run([os.path.join(vmconf.VM, "fetch.sh"), "--kdir", KERNEL],
                                   stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        self.products = [self.obj, self.mod + ".o", self.mod + ".ko"]

    def make(self, path):
        p = subprocess.run(["sh", "-c", saved(path)], cwd=self.kdir, text=True, check=False,
                           env=dict(os.environ, SRCARCH="x86"), stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        bad = [ln for ln in p.stdout.splitlines() if "error" in ln] or ["%s not made" % path]
        return bad[0] if p.returncode else None

    def build(self):
        """None, an error, or False if only make can build it. The products of the unpatched code
        are put back with their times, so that make sees nothing to do."""
        keep = os.path.join(OUT, "keep")
        shutil.rmtree(keep, ignore_errors=True)
        os.makedirs(keep)
        known = undefined(self.mod + ".ko")
        for path in self.products:
            shutil.copy2(path, keep)
        try:
            err = self.make(self.obj)
            if not err and not undefined(self.obj) - known <= self.defined():
                return False
            err = err or self.make(self.mod + ".o") or self.make(self.mod + ".ko")
            if not err:
                to = os.path.join(OUT, "ko", self.name)
                shutil.rmtree(to, ignore_errors=True)
                shutil.copytree(os.path.join(OUT, "ko", BASE), to)
                shutil.copy(self.mod + ".ko", to)
            return err
        finally:
            for path in self.products:
                shutil.copy2(os.path.join(keep, os.path.basename(path)), path)

    def defined(self):
        p = subprocess.run(["nm", "--defined-only", "-j", self.mod + ".o"], stdout=subprocess.PIPE,
                           text=True, check=True)
        return set(p.stdout.split())


def build_patched(m):
    """Builds one patch; returns an error or None."""
    src = os.path.join(TREE, m.path)
    times = os.stat(src)
    with Patched(m):
        err = Relinked(m).build() if RELINKS and m.path.endswith(".c") else False
        by_make = err is False
        if by_make:
            err = build_modules(m.name)
    if not by_make:
        os.utime(src, ns=(times.st_atime_ns, times.st_mtime_ns))
    elif RELINKS:
        # The next patch is linked with the objects of the unpatched code.
        build_modules(None)
    return err


class Builds(threading.Thread):
    """Builds the patches in their order, some ahead of the guests, which run meanwhile."""

    def __init__(self, mutants):
        super().__init__(daemon=True)
        self.todo, self.done, self.changed = mutants, {}, threading.Condition()
        self.wanted = 0
        if not GO_ON:
            shutil.rmtree(os.path.join(OUT, "ko"), ignore_errors=True)
        err = build_modules(BASE)
        if err:
            raise SystemExit("mutants: the unpatched modules do not build: " + err)
        self.start()

    def run(self):
        plain = identities(BASE)
        for n, m in enumerate(self.todo):
            with self.changed:
                self.changed.wait_for(lambda n=n: n < self.wanted + BATCH)
            mark = os.path.join(OUT, "ko", m.name, m.key())
            try:
                err = None if os.path.exists(mark) else build_patched(m)
            except (OSError, subprocess.CalledProcessError) as e:
                err = str(e)
            if not err and identities(m.name) == plain:
                err = "the modules are the same with it"
            if not err:
                open(mark, "w", encoding="utf-8").close()
            with self.changed:
                self.done[m.name] = err
                self.changed.notify_all()

    def built(self, mutants):
        """Those of the patches that were built, once all are; the others get their verdict."""
        with self.changed:
            self.wanted += len(mutants)
            self.changed.notify_all()
            self.changed.wait_for(lambda: all(m.name in self.done for m in mutants))
        for m in mutants:
            if self.done[m.name]:
                m.verdict, m.why = "build", self.done[m.name]
                say(m)
        return [m for m in mutants if not self.done[m.name]]


def identities(name):
    found = []
    for mod in ("rds", "rds_tcp", "rds_dev", "rds_rdma", "rds_stream"):
        with open(os.path.join(OUT, "ko", name, mod + ".ko"), "rb") as f:
            found.append(vmconf.identity(f.read()))
    return found


# --- guests ---------------------------------------------------------------------------------------

def case_files():
    return glob.glob(os.path.join(TOP, "selftests", "*", "cases"))


def case_lines():
    """{name: (group, timeout, command)} of all case lines."""
    found = {}
    for path in case_files():
        with open(path, encoding="utf-8") as f:
            for text in f:
                field = [x.strip() for x in text.split("|", 6)]
                if len(field) == 7 and not text.startswith("#"):
                    found[field[0]] = (os.path.basename(os.path.dirname(path)), int(field[4]), field[6])
    return found


def job(name, ident, line, cases, mode=None):
    group, timeout, command = case_lines()[line]
    # These programs take names of cases as arguments, and tools/run.sh parts of itself; others run
    # all their cases.
    tools, _, parts = command.partition("/tools/run.sh ")
    if parts:
        wanted = [w for w in parts.split() if any(c.startswith("tools." + w) for c in cases)]
        command = "%s/tools/run.sh %s" % (tools, " ".join(wanted))
    choosy = re.search(r"/(api\.sh|wire\.py|hostile\.py|paths\.py)\b", command)
    if choosy:
        command += " " + " ".join(sorted(set(cases)))
    if ident != BASE:
        limits = {None: OWN_S, "paths.py": PATHS_S}
        timeout = min(timeout, limits.get(choosy and choosy.group(1), CASE_S))
    mods = " ".join("%s:%s" % x for x in zip(("rds", "rds_tcp"), identities(ident)))
    return {"name": name, "dir": os.path.join(OUT, "ko", ident), "mods": mods, "command": command,
            "cases": sorted(set(cases)), "timeout": timeout, "mode": mode, "patch": ident != BASE}


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
        self.told = lambda name, got: None
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
        env = dict(os.environ, CASES="", RDS_EXPECT_ALL="", RDS_LEAKS="=none", PYTHONUNBUFFERED="1")
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
            self.told(got["name"], got)

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

def fields(line):
    """The fields of a case line, or None."""
    for path in case_files():
        with open(path, encoding="utf-8") as f:
            for text in f:
                field = [x.strip() for x in text.split("|", 6)]
                if len(field) == 7 and field[0] == line:
                    return field
    return None


def own_fields(line):
    """The fields of a case line that boots guests for each patch (two guests, icount, words on the
    kernel's command line, or RDMA); None for others, which inguest.py runs."""
    field = fields(line)
    own = field and (field[1] == "2" or not field[3].isdigit() or
                     re.search("/(rdma|stream)", field[6]))
    return field if own else None


def own_command(command, case):
    """
    The command of a line with run.sh, reduced to the test that the case belongs to, over IPv4. The
    line need not have this test: a patch can name a line with one guest, which costs less than one
    with two. For dma.faults, which belongs to each test, messages do. The programs of streams take
    names of cases.
    """
    named = re.match(r"stream\.\w+_v[46]\.(\w+)$", case)
    if named and re.search(r"selftests/stream/(basic|hostile)\.sh ", command):
        return "RDS_ARGS=%s %s" % (named.group(1), command)
    word = re.match(r"rdma\.([a-z]+)", "rdma.msg" if case == "dma.faults" else case)
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
    return re.findall(r"^\s*[ab]\| (not ok|ok) (?:\d+ )?%s(?=\s|$)" % re.escape(case), text, re.M)


def own_run(ident, field, case=None, log=False):
    """
    Boots the guests of a line and runs it, until the case, if one is given, fails. Returns its
    output, and the message of a kernel that crashed, or with @log reported a fault; else None.
    """
    cases = os.path.join(OUT, "cases.own")
    with open(cases, "w", encoding="utf-8") as f:
        f.write(" | ".join(field) + "\n")
    argv = [os.path.join(vmconf.VM, "run.py"), "--kernel", KERNEL, "--no-build", "--verbose",
            "--cases-file", cases]
    env = dict(os.environ, CASES="", RDS_EXPECT_ALL="", RDS_LEAKS="=none",
               RDS_KO=os.path.join(OUT, "ko", ident), PYTHONUNBUFFERED="1")
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
                hit = (SPLAT if log else CRASH).search(f.read())
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
    late = "no answer in time" in out or "printed nothing for" in out or "not done for" in out
    return ("late", "no end in time") if late else ("silent", "no result")


def own_base(m, field, ran):
    """
    (verdict, reason) of a patch's case on the unpatched code. The reason of a pass is how often the
    line prints the case.
    """
    known = recorded().get(base_key(m)) if GO_ON else None
    if known:
        return known
    key = " | ".join(field + [str(m.mode)])
    if key not in ran:
        ran[key] = own_run(BASE, field, log=m.mode == "log")
    good = own_verdict(ran[key], m.case)
    if good[0] == "pass":
        good = "pass", str(len(own_said(ran[key][0], m.case)))
        record(base_key(m), *good)
    return good


def own_mutants(mutants, builds):
    ran = {}
    for m in mutants:
        field = own_line(m.line, m.case)
        good = own_base(m, field, ran)
        if good[0] != "pass":
            m.verdict, m.why = "base", "its case does not pass without it: %s %s" % good
        elif builds.built([m]):
            m.verdict, m.why = own_verdict(
                own_run(m.name, field, m.case, m.mode == "log"), m.case, int(good[1]))
        else:
            continue
        say(m)


def verdict_of(got, case):
    if not got:
        return "silent", "was not run"
    if got.get("all"):
        return got["all"], got["why"]
    return tuple(got["results"].get(case) or ("silent", "no result; " + got["why"]))


def judged(m, got, sane):
    """Gives a patch its verdict, from the results of its job and of the unpatched code's (None if
    these are recorded)."""
    good = ("pass", "") if sane is None else verdict_of(sane, m.case)
    if good[0] != "pass":
        m.verdict, m.why = "base", "its case does not pass without it: %s %s" % good
    else:
        if sane is not None:
            record(base_key(m), *good)
        m.verdict, m.why = verdict_of(got, m.case)
    say(m)


def guest_batch(batch):
    """Runs the cases on the unpatched code, then the patches."""
    known = recorded() if GO_ON else {}
    new = [m for m in batch if base_key(m) not in known]
    guests, named = Guests(), {m.name: m for m in batch}

    def told(name, got):
        m = named.get(name)
        if m:
            base = "%s %s %s" % (BASE, m.line, m.mode or "")
            judged(m, got, guests.verdicts.get(base, {}) if m in new else None)

    guests.told = told
    got = guests.run(list(base_jobs(new)) +
                     [job(m.name, m.name, m.line, [m.case], m.mode) for m in batch])
    for m in batch:
        if m.verdict is None:
            told(m.name, got.get(m.name))


def guest_mutants(mutants, builds):
    while mutants:
        batch, mutants = builds.built(mutants[:BATCH]), mutants[BATCH:]
        if batch:
            guest_batch(batch)


def vm_mutants(mutants):
    own = [m for m in mutants if own_fields(m.line)]
    one = [m for m in mutants if not own_fields(m.line)]
    # Mutants of mode "log" can leave the guest in another state and need a new guest each: run them
    # last.
    one.sort(key=lambda m: m.mode or "")
    builds = Builds(one + own)
    guest_mutants(one, builds)
    own_mutants(own, builds)


# --- results --------------------------------------------------------------------------------------

def say(m):
    """Prints a verdict, and records that a patch was caught. Others run again, with a test that
    may have been mended."""
    print("%-8s %-24s %s %s  (%s)" % ("caught" if m.caught() else "NOT SO", m.name, m.line, m.case,
                                      m.why or m.verdict), flush=True)
    if m.caught():
        record(m.key(), m.verdict, m.why)


def report(mutants, skipped):
    print("\nid | file | change | case | caught")
    for m in mutants:
        word = "yes: " + m.why if m.caught() else "SURVIVED" if m.verdict == "pass" else "no: " + m.why
        print("%s | %s | %s | %s %s | %s" % (m.name, m.path, m.change(), m.line, m.case, word))
    good = sum(m.caught() for m in mutants)
    if skipped:
        print("SKIP %d patches that are not for kernel %s" % (skipped, KERNEL))
    print("\n%d passed, %d failed, %d skipped" % (good, len(mutants) - good, skipped), flush=True)
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


def chosen(words, path=os.path.join(HERE, "patches")):
    """The patches of a file that the arguments name, in their order; all without arguments."""
    mutants = read_patches(path)
    if not words:
        return mutants
    order = {}
    for w in words:
        for m in mutants:
            if m.line == w[1:] if w.startswith("=") else m.name.startswith(w):
                order.setdefault(m.name, m)
    return list(order.values())


def for_kernel(mutants, all_kernels):
    """The patches that run on KERNEL; @all_kernels: with those that run on any kernel."""
    return [m for m in mutants if (m.kernel == KERNEL if m.kernel else all_kernels)]


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    if set(sys.argv[1:]) - set(words) - {"--fit", "--go-on", "--keep"}:
        # A run takes hours; a wrong option does not begin one.
        print(__doc__)
        return 2
    mutants = chosen(words)
    check_fit(mutants)
    if "--keep" in sys.argv:
        keep(mutants)
    if {"--fit", "--keep"} & set(sys.argv):
        known = recorded()
        print("# %d of %d have a verdict on this code" %
              (sum(m.key() in known for m in mutants), len(mutants)))
        print("%d passed, 0 failed, 0 skipped" % len(mutants))
        return 0
    skipped = len(mutants)
    mutants = for_kernel(mutants, words or KERNEL != "debug")
    skipped -= len(mutants)
    os.makedirs(OUT, exist_ok=True)
    if GO_ON:
        known = recorded()
        for m in mutants:
            m.verdict, m.why = known.get(m.key(), (None, ""))
    make_tree()
    unit_mutants([m for m in mutants if m.unit and m.verdict is None])
    vm = [m for m in mutants if not m.unit and m.verdict is None]
    if vm:
        # Programs and test modules are built from the unpatched tree: no patch changes an interface
        # that they use.
        for what in ("--tools", KERNEL):
            subprocess.run([os.path.join(vmconf.VM, "build.sh"), what], check=True,
                           stdin=subprocess.DEVNULL)
        vm_mutants(vm)
    return report(mutants, skipped)


if __name__ == "__main__":
    sys.exit(main())
