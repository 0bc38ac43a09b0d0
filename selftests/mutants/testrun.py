#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Shows that tests can fail: patches a test, or what it judges, and checks that it prints "not ok".

    testrun.py [ID...]  all patches of the file test-patches, or those whose ID begins with an
                        argument, or whose case line is an argument "=LINE"; KERNEL as for tests
    testrun.py --fit    only check that each patch fits

The file has the form of the file patches. A patch takes away what a test relies on: the fault that
the test causes, the answer that it waits for, or a rule of the program under test. Each patch is
applied in a copy of the tree in build/mutants/copy, and its line is run there as "make test" runs
it. The output has the change, and the line of the result that failed. The last line is "N passed,
N failed, N skipped"; the exit status is 1 if a test did not notice a patch.
"""

import os
import re
import subprocess
import sys

import run
import vmconf

PATCHES = os.path.join(run.HERE, "test-patches")
COPY = os.path.join(run.OUT, "copy")
# What the copy makes itself, or does not need
LEFT_OUT = ("/.git", "/build/bin", "/build/ci", "/build/doctrees", "/build/htmldocs",
            "/build/kernel", "/build/logs", "/build/mutants")


def make_copy():
    """Copies the tree, but for the unpacked kernels, which the copy shares."""
    os.makedirs(os.path.join(COPY, "build"), exist_ok=True)
    subprocess.run(["rsync", "-a", "--delete"] + ["--exclude=" + x for x in LEFT_OUT] +
                   [run.TOP + "/", COPY + "/"], check=True)
    kernels = os.path.join(COPY, "build", "kernel")
    if not os.path.islink(kernels):
        os.symlink(os.path.join(vmconf.BUILD, "kernel"), kernels)


def command(line, case):
    """The fields of a line whose command runs no more than the case needs."""
    field = run.own_line(line, case) if run.own_fields(line) else run.fields(line)
    if re.search(r"/(api\.sh|wire\.py|hostile\.py|paths\.py)\b", field[6]):
        field[6] += " " + case
    return field


def printed(m):
    """The lines in which the result of a patch's case was printed, in a run of its line in the
    copy. The run ends when the result has failed."""
    cases = os.path.join(COPY, "build", "cases.patched")
    with open(cases, "w", encoding="utf-8") as f:
        f.write(" | ".join(command(m.line, m.case)) + "\n")
    argv = ["selftests/vm/run.py", "--kernel", run.KERNEL, "--verbose", "--cases-file", cases]
    env = dict(os.environ, CASES="", RDS_EXPECT_ALL="", RDS_LEAKS="=none", PYTHONUNBUFFERED="1")
    result = re.compile(r"^\s*[ab]\| ((?:not )?ok (?:\d+ )?(?:- )?%s(?:\s.*)?)$" % re.escape(m.case))
    said = []
    with subprocess.Popen(argv, env=env, cwd=COPY, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace") as p, \
            open(os.path.join(run.OUT, "test." + m.name), "w", encoding="utf-8") as log:
        for text in p.stdout:
            log.write(text)
            hit = result.match(text.rstrip("\n"))
            if hit:
                said.append(hit.group(1))
            if hit and hit.group(1).startswith("not ok"):
                p.terminate()
    return said


def verdict(m):
    with run.Patched(m, COPY):
        said = printed(m)
    bad = [text for text in said if text.startswith("not ok")]
    print("%s %s | %s | %s %s | %s" % ("ok" if bad else "not ok", m.name, m.change(), m.line, m.case,
                                       (bad or said or ["no result"])[0]), flush=True)
    return bool(bad)


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    if set(sys.argv[1:]) - set(words) - {"--fit"}:
        print(__doc__)
        return 2
    patches = run.chosen(words, PATCHES)
    run.check_fit(patches)
    good = len(patches)
    if "--fit" not in sys.argv:
        make_copy()
        good = sum(map(verdict, patches))
    print("%d passed, %d failed, 0 skipped" % (good, len(patches) - good))
    return 1 if good < len(patches) or not patches else 0


if __name__ == "__main__":
    sys.exit(main())
