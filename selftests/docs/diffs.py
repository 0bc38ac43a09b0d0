#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the hunks of diffs in Documentation/first-change.rst that fit no file of the project.

A diff is a literal block of which each line begins with a blank, "+" or "-". The lines of a hunk
that begin with a blank or "-" have to follow each other in a file, or in what an earlier diff of
the document adds. A context line "..." divides hunks.
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOC = "Documentation/first-change.rst"
INDENT = "    "


def blocks(text):
    """(number of the first line, lines without indentation) of each literal block."""
    lines = text.split("\n")
    n = 0
    while n < len(lines):
        n += 1
        if not lines[n - 1].endswith("::"):
            continue
        block, first = [], None
        while n < len(lines) and (not lines[n] or lines[n].startswith(INDENT)):
            if lines[n] and first is None:
                first = n + 1
            block.append(lines[n][len(INDENT):])
            n += 1
        while block and not block[-1]:
            block.pop()
        while block and not block[0]:
            block.pop(0)
        if block:
            yield first, block


def is_diff(block):
    return all(line and line[0] in " +-" for line in block) and \
        any(line[0] in "+-" for line in block)


def hunks(first, block):
    """(number of the first line, old lines) of each hunk with old lines."""
    old, start = [], None
    for n, line in enumerate(block + [" ..."], first):
        if line.strip() == "...":
            if old:
                yield start, old
            old, start = [], None
        elif line[0] != "+":
            start = start or n
            old.append(line[1:])


def misfits(text, files):
    """Hunks that are in none of the files; files are texts."""
    added, count = "", 0
    wrong = []
    for first, block in blocks(text):
        if not is_diff(block):
            continue
        for start, old in hunks(first, block):
            count += 1
            want = "\n%s\n" % "\n".join(old)
            if want not in added and not any(want in "\n" + f for f in files):
                wrong.append("%s:%d is in no file: %s" % (DOC, start, old[0].strip()))
        added += "\n%s\n" % "\n".join(line[1:] for line in block if line[0] == "+")
    return wrong if count else ["%s has no diff" % DOC]


def noticed():
    """Is each kind of hunk that does not fit noticed, and none that fits?"""
    files = ["int a;\n\tint b;\nint c;\n"]
    good = "Text::\n\n     int a;\n    +int z;\n     \tint b;\n     ...\n    -int c;\n\n" \
        "Again::\n\n    -int z;\n\nCommand::\n\n    $ int x;\n"
    bad = ["A::\n\n     int x;\n    +int z;\n", "A::\n\n    -int x;\n", "A::\n\n    -int b;\n",
           "A::\n\n     int a;\n    -int c;\n", "Text.\n"]
    return not misfits(good, files) and all(len(misfits(text, files)) == 1 for text in bad)


def sources():
    for place in ("net", "include", "selftests", "tools"):
        for folder, _, names in os.walk(place):
            for name in sorted(names):
                if re.search(r"\.(c|h|py|sh)$|^(Kbuild|cases|progs|expected-differences)$", name):
                    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                        yield f.read()


def main():
    os.chdir(TOP)
    why = [] if noticed() else ["a diff that does not fit is not noticed"]
    with open(DOC, encoding="utf-8") as f:
        why += misfits(f.read(), list(sources()))
    print("; ".join(why), end="")
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
