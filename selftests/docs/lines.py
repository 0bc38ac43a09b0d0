#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the lines of README.md and Documentation/ that are longer than 100 columns.

Exempt are literal blocks, the tables of protocol.rst and the cells of README.md.
"""

import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = 100
BORDER = re.compile(r"=+(?: +=+)+$")
DIRECTIVE = re.compile(r"\s*\.\. ")


def rest_lines(text, tables):
    """(number, line) of each line of a reStructuredText document that has to fit.

    tables: lines of simple tables are exempt.
    """
    lines = text.split("\n")
    literal, table = None, False
    for n, line in enumerate(lines, 1):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if tables and BORDER.match(line):
            # The last border has an empty line behind it, the one below the titles has none.
            table = not (table and not "".join(lines[n:n + 1]).strip())
            continue
        if literal is None and not table:
            yield n, line
            if line.endswith("::") and not DIRECTIVE.match(line):
                literal = indent


def markdown_lines(text):
    """(number, line) of each line of a Markdown document that has to fit."""
    fenced = False
    for n, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("|"):
            yield n, line


def long_lines(path, text):
    lines = markdown_lines(text) if path.endswith(".md") else \
        rest_lines(text, os.path.basename(path) == "protocol.rst")
    return ["%s:%d has %d columns" % (path, n, len(line)) for n, line in lines
            if len(line) > COLUMNS]


def noticed():
    """Are long lines noticed where they must not be, and only there?"""
    long = "x" * (COLUMNS + 1)
    table = "== ==\na  %s\n== ==\nb  %s\n\nc  %s\n== ==\n\n%s\n" % (long, long, long, long)
    block = "a::\n\n    %s\n\n  %s\n\n%s\n\n.. note::\n\n   %s\n" % (long, long, long, long)
    fence = "```\n%s\n```\n| %s |\n%s\n" % (long, long, long)
    found = [len(long_lines(path, text)) for path, text in (
        ("protocol.rst", table), ("x.rst", table), ("x.rst", block), ("x.md", fence),
        ("x.rst", "x" * COLUMNS))]
    return found == [1, 4, 2, 1, 0]


def main():
    os.chdir(TOP)
    why = [] if noticed() else ["a long line is not noticed"]
    for path in ["README.md"] + sorted(glob.glob("Documentation/*.rst")):
        with open(path, encoding="utf-8") as f:
            why += long_lines(path, f.read())
    print("; ".join(why), end="")
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
