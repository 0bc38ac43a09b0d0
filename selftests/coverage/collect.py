#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Maintains selftests/coverage/printed, the list of the results that each case line prints.

    collect.py [LOG | FOLDER]...          update the list from logs
    collect.py --check [LOG | FOLDER]...  fail for a name of the list that is not in its line's log,
                                          and for a name in the log that is not in the list
    collect.py --check --always ...       fail only for lines that CI always runs on the kernel that
                                          the folder is named after; print what differs in others

An update without arguments reads build/logs/6.12, build/logs/debug and build/check.out. If a line
has logs in several folders, the first counts. The names in a line's log replace all names of the
line in the list; a line without a log keeps its names, and a line that no longer exists is removed.
"make check" counts as a line named check.

A check without arguments reads the logs of all kernels and build/check.out. If a folder has a file
results, only the logs of its lines count, which ran since .ci/run began. A line without a log is
not checked. In each folder a line must have printed exactly the names of the list, but for these:
the name of a skipped result is not added to the list, and a check accepts it as printed, because a
case may be skipped on another kernel; a check accepts NAME, too, if the log has "# elsewhere NAME",
by which a test says that this kernel does not run the case; and a result that failed need not be in
the list, because scripts name what they could not set up.
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
RESULT = re.compile(r"(?:^|\| )(not )?ok\b\s*(?:\d+\b)?\s*(?:- )?\s*([a-z][^\s#,]*)(.*)$")
ELSEWHERE = re.compile(r"(?:^|\| )# elsewhere (\S+)$")
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


class Names:
    """Names of the results in the logs of a line."""

    def __init__(self):
        self.good, self.failed, self.skipped = set(), set(), set()

    def add(self, path):
        with open(path, encoding="utf-8", errors="replace") as f:
            for text in f:
                other = ELSEWHERE.search(text.rstrip())
                if other:
                    self.skipped.add(other.group(1))
                m = RESULT.search(text.rstrip())
                if m:
                    self.kind(m.group(1), SKIP.search(m.group(3))).add(m.group(2))

    def kind(self, failed, skipped):
        return self.skipped if skipped else self.failed if failed else self.good

    def shown(self):
        return self.good | self.failed


def whole(path):
    """Did the command in the guest of this log end?"""
    with open(path, encoding="utf-8", errors="replace") as f:
        return line_of(path) == CHECK or any(ENDED.search(text) for text in f)


def ran(folder):
    """Names of the lines in the file results of a folder, or None if there is no such file."""
    path = os.path.join(folder, "results")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        return {text.split()[0] for text in f if text.strip()}


def logs_in(path, lines):
    """{line: logs} of a folder, or of one log, without lines whose command did not end."""
    found = {}
    for log in sorted(glob.glob(os.path.join(path, "*"))) if os.path.isdir(path) else [path]:
        if line_of(log) in lines and os.path.isfile(log):
            found.setdefault(line_of(log), []).append(log)
    for line in [ln for ln in sorted(found) if not all(map(whole, found[ln]))]:
        print("# %s did not end: %s is left out" % (line, path))
        del found[line]
    return found


def names_in(logs):
    names = Names()
    for log in logs:
        names.add(log)
    return names


def read_logs(paths):
    """{line: names}; of a line with logs in several places the first count."""
    found, exist = {}, lines_of_cases()
    for path in paths:
        for line, logs in sorted(logs_in(path, exist).items()):
            found.setdefault(line, names_in(logs))
    return found


def differences(line, names, known):
    """How the results of a line differ from the list."""
    lost = known - names.shown() - names.skipped
    new = names.good - known
    return (["%s did not print %s" % (line, n) for n in sorted(lost)] +
            ["%s printed %s, which is not in the list" % (line, n) for n in sorted(new)])


def always(kernel):
    """The lines that CI always runs on a kernel."""
    words = {CHECK}
    with open(os.path.join(TOP, "selftests", "vm", "always"), encoding="utf-8") as f:
        for text in f:
            name, _, lines = text.partition("|")
            if name.split()[:1] == [kernel]:
                words |= set(lines.split())
    return words


def check(paths, turns_judged):
    """Compares the logs of each place with the list."""
    known, bad, notes, n = read_list(), [], [], 0
    for path in paths:
        lines, here = set(lines_of_cases()), ran(path)
        where = os.path.basename(path)
        judged = lines if turns_judged else always(where)
        for line, logs in sorted(logs_in(path, lines if here is None else lines & here).items()):
            told = differences(line, names_in(logs), known.get(line, set()))
            (bad if line in judged else notes).extend("%s: %s" % (where, text) for text in told)
            n += 1
    for text in bad + ["not judged: " + text for text in notes]:
        print("# " + text)
    if bad:
        print("# see the head of selftests/coverage/collect.py, which updates the list")
    print("%s coverage.printed, %d logs" % ("not ok" if bad or not n else "ok", n))
    return 1 if bad or not n else 0


def collect(shown):
    found, exist = read_list(), lines_of_cases()
    found.update((line, names.shown()) for line, names in shown.items() if names.shown())
    found = {line: names for line, names in found.items() if line in exist}
    write_list(found)
    print("%d lines, %d names" % (len(found), len(set().union(*found.values()))))
    return 0


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    ap.add_argument("--check", action="store_true")
    ap.add_argument("--always", action="store_true")
    ap.add_argument("logs", nargs="*")
    args = ap.parse_args()
    build = os.path.join(TOP, "build")
    kernels = ("6.12", "debug") + (("6.1", "7.3") if args.check else ())
    places = args.logs or [os.path.join(build, "logs", k) for k in kernels] + [
        os.path.join(build, "check.out")]
    return check(places, not args.always) if args.check else collect(read_logs(places))


if __name__ == "__main__":
    sys.exit(main())
