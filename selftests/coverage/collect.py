#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Maintains selftests/coverage/printed, the list of the results that each case line printed.

    collect.py [LOG | FOLDER]...          update the list from logs
    collect.py --check [LOG | FOLDER]...  fail for a name of the list that is not in its line's log

Without arguments it reads build/logs/6.12, build/logs/debug and build/check.out. If a line has logs
in several folders, the first counts. The names in a line's log replace all names of the line in the
list; a line without a log keeps its names, and a line that no longer exists is removed. "make
check" counts as a line named check. The name of a skipped result is not added to the list, but
--check accepts it as printed, because a case may be skipped on another kernel.
"""

import argparse
import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRINTED = os.path.join(TOP, "selftests", "coverage", "printed")
CHECK = "check"
# In a guest's log the output of its command is behind "| ", which may be behind a part of a line of
# the kernel.
RESULT = re.compile(r"(?:^|\| )(?:not )?ok\b\s*(?:\d+\b)?\s*(?:- )?\s*([a-z][^\s#,]*)(.*)$")
ENDED = re.compile(r"\| @\w+ exit \d")
SKIP = re.compile(r"#\s*SKIP\b", re.I)
HEAD = """\
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Results that the case lines print: a line in brackets, then its names. Made by
# selftests/coverage/collect.py from the logs of real runs; do not edit.
"""


def lines_of_cases():
    """Names of the lines that run our modules, as the results of in-tree RDS prove nothing about
    ours."""
    names = [CHECK]
    for path in glob.glob(os.path.join(TOP, "selftests", "*", "cases")):
        with open(path, encoding="utf-8") as f:
            fields = [[c.strip() for c in t.split("|")] for t in f if not t.startswith("#")]
        names += [c[0] for c in fields if len(c) > 2 and "ours" in c[2].split(",")]
    return names


def read_list(path=PRINTED):
    """{line: set of names} of the list."""
    found, names = {}, None
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for text in f:
                text = text.strip()
                if text.startswith("["):
                    names = found.setdefault(text.strip("[]"), set())
                elif text and not text.startswith("#"):
                    names.add(text)
    return found


def write_list(found):
    with open(PRINTED, "w", encoding="utf-8") as f:
        f.write(HEAD)
        for line in sorted(found):
            f.write("\n[%s]\n" % line + "".join(n + "\n" for n in sorted(found[line])))


def line_of(path):
    name = os.path.basename(path)
    if name == "check.out":
        return CHECK
    m = re.fullmatch(r"(.+)-[ab]\.log", name)
    return m and m.group(1)


def results(path):
    """(name, is it skipped?) of each result in a log."""
    with open(path, encoding="utf-8", errors="replace") as f:
        for text in f:
            m = RESULT.search(text.rstrip())
            if m:
                yield m.group(1), bool(SKIP.search(m.group(2)))


def whole(path):
    """Did the command in the guest of this log end?"""
    with open(path, encoding="utf-8", errors="replace") as f:
        return line_of(path) == CHECK or any(ENDED.search(text) for text in f)


def logs_of(paths):
    """{line: logs}, without lines whose command did not end."""
    found, exist = {}, lines_of_cases()
    for path in paths:
        here = {}
        for log in sorted(glob.glob(os.path.join(path, "*"))) if os.path.isdir(path) else [path]:
            if line_of(log) in exist and os.path.isfile(log):
                here.setdefault(line_of(log), []).append(log)
        for line in sorted(here):
            if not all(map(whole, here[line])):
                print("# %s did not end: %s is left out" % (line, path))
            else:
                found.setdefault(line, here[line])
    return found


def read_logs(paths):
    """Two dictionaries by line: the names of results, and of skipped results."""
    shown, skipped = {}, {}
    for line, logs in logs_of(paths).items():
        shown[line], skipped[line] = set(), set()
        for log in logs:
            for name, skip in results(log):
                (skipped if skip else shown)[line].add(name)
    return shown, skipped


def check(shown, skipped):
    """Reports the names of the list that are not in the logs of their line."""
    known, bad, new = read_list(), 0, 0
    for line in sorted(shown):
        lost = known.get(line, set()) - shown[line] - skipped.get(line, set())
        new += len(shown[line] - known.get(line, set()))
        for name in sorted(lost):
            print("# %s did not print %s" % (line, name))
        bad += len(lost)
    print("%s coverage.printed, %d lines" % ("not ok" if bad or not shown else "ok", len(shown)))
    if new:
        print("# %d results are not in the list: run selftests/coverage/collect.py" % new)
    return 1 if bad or not shown else 0


def collect(shown):
    found, exist = read_list(), lines_of_cases()
    found.update((line, names) for line, names in shown.items() if names)
    found = {line: names for line, names in found.items() if line in exist}
    write_list(found)
    print("%d lines, %d names" % (len(found), len(set().union(*found.values()))))
    return 0


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    ap.add_argument("--check", action="store_true")
    ap.add_argument("logs", nargs="*")
    args = ap.parse_args()
    build = os.path.join(TOP, "build")
    shown, skipped = read_logs(args.logs or [os.path.join(build, *p) for p in (
        ("logs", "6.12"), ("logs", "debug"), ("check.out",))])
    return check(shown, skipped) if args.check else collect(shown)


if __name__ == "__main__":
    sys.exit(main())
