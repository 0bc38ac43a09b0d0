#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""rows.py LOG: what differs between streams and TCP is what the chapter "Streams and TCP" of
Documentation/differences.rst says.

LOG has the output of rds-stream-basic; where a result is not TCP's it has a line "# unlike TCP: KIND
ROW CASE", see UNLIKE() in basic.h. A row names its case, and the streams of which it is true. Fails
for a difference without a row, and for a row whose case has shown no difference.
"""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOC = os.path.join(TOP, "Documentation", "differences.rst")
CHAPTER = "Streams and TCP\n===============\n"
KINDS = {"both": ("rds", "inet"), "AF_RDS": ("rds",), "second door": ("inet",)}
COLUMNS = 6


def table(text):
    """The rows of the chapter's table, as lists of columns"""
    text = text.partition(CHAPTER)[2]
    text = re.split(r"\n\S[^\n]*\n===+\n", text)[0].partition(".. list-table::")[2]
    for row in re.split(r"\n   \* - ", text)[2:]:
        yield [" ".join(c.split()) for c in re.split(r"\n     - ", row)]


def documented(rows):
    """{(kind, row, case)} of the rows that have a case"""
    found = set()
    for row in rows:
        if len(row) != COLUMNS:
            raise SystemExit("%s: a row has %d columns: %s" % (DOC, len(row), row[0]))
        where, case = row[-2], row[-1].strip("`")
        if case != "none":
            found |= {(k, row[0], case) for k in KINDS[where]}
    return found


def seen(log):
    return set(re.findall(r"# unlike TCP: (\S+) (\S+) (\S+)", log))


def misfits(rows, log):
    doc, got = documented(rows), seen(log)
    return ["%s: %s, which %s shows, has no row" % (k, r, c) for k, r, c in sorted(got - doc)] + \
        ["%s: %s has a row, and %s shows no difference" % (k, r, c) for k, r, c in sorted(doc - got)]


def noticed():
    """Is each kind of misfit noticed, and nothing else?"""
    rows = [["a", "1", "2", "why", "both", "``x``"], ["b", "1", "2", "why", "second door", "``y``"],
            ["c", "1", "2", "why", "AF_RDS", "none"]]
    log = ["# unlike TCP: rds a x", "# unlike TCP: inet a x", "# unlike TCP: inet b y"]
    return not misfits(rows, "\n".join(log)) and \
        all(len(misfits(rows, "\n".join(log[:n] + log[n + 1:]))) == 1 for n in range(3)) and \
        len(misfits(rows, "\n".join(log + ["# unlike TCP: rds b y"]))) == 1 and \
        len(misfits(rows[1:], "\n".join(log))) == 2


def main():
    with open(DOC, encoding="utf-8") as f:
        rows = list(table(f.read()))
    with open(sys.argv[1], encoding="utf-8", errors="replace") as f:
        wrong = misfits(rows, f.read())
    if not rows or not noticed():
        wrong.append("rows.py finds no rows, or does not notice what does not fit")
    for w in wrong:
        print("# " + w)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
