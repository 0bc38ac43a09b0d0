# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tables of Documentation/known-bugs.rst, for check.py.

A row has five cells: a number, a kind, "yes" or "no", what the bug was, and parts joined by
semicolons. A part is "LINE: RESULT...", or a reason. Brackets in it are a remark.
"""
import re

BORDER = re.compile(r"=+(?: =+){4}$")
TEST = re.compile(r"([a-z]\S*): +(.+)$")
UNTESTED = re.compile(r"not tested: +\S+ +\S+")
# So many bugs may have no test, or not all of the tests they need
MOST_UNTESTED = 7


def cells_of(line, border):
    """The cells of a line of a table; the border says where they begin."""
    starts = [m.start() for m in re.finditer("=+", border)]
    return [line[a:b].strip() for a, b in zip(starts, starts[1:] + [None])]


def rows(text):
    """The cells of each row; a line without a number continues the row above it. A table has three
    borders, and its rows are between the second and the third."""
    border, nr, found = "", 0, []
    for line in text.split("\n"):
        if BORDER.match(line):
            border, nr = line, nr % 3 + 1
        elif nr == 2:
            cells = cells_of(line, border)
            if cells[0]:
                found.append(cells)
            else:
                found[-1] = [" ".join(filter(None, two)) for two in zip(found[-1], cells)]
    return found


def parts(cell):
    """([(line, results)], reasons) of a last cell."""
    tests, reasons = [], []
    for part in re.sub(r" *\([^()]*\)", "", cell).split(";"):
        m = TEST.match(part.strip())
        if m:
            tests.append((m.group(1), m.group(2).split()))
        else:
            reasons.append(part.strip())
    return tests, reasons


def row_faults(cells, lists):
    """What is wrong with a row. lists has the results of each line."""
    here, (tests, reasons) = cells[2], parts(cells[4])
    if not all(cells) or here not in ("yes", "no"):
        yield "an empty cell, or neither yes nor no"
    for line, names in tests:
        for name in names:
            if not any(n == name or n.startswith(name + ".") for n in lists.get(line, ())):
                yield "%s does not print %s" % (line, name)
    for text in reasons:
        if here == "yes" and not UNTESTED.match(text) or len(text.split()) < 3:
            yield "this is neither a test nor a reason: %s" % text
    if here == "no" and not reasons:
        yield "no reason why it cannot be here"


def faults(text, lists):
    """What is wrong with the tables, and the number of their rows."""
    wrong, seen, untested = [], set(), 0
    for cells in rows(text):
        wrong += ["bug %s: %s" % (cells[0], why) for why in row_faults(cells, lists)]
        if cells[0] in seen:
            wrong.append("bug %s comes twice" % cells[0])
        seen.add(cells[0])
        untested += any(map(UNTESTED.match, parts(cells[4])[1]))
    if untested > MOST_UNTESTED:
        wrong.append("%d bugs are not tested" % untested)
    return wrong, len(seen)


def noticed():
    """Does faults() find each kind of mistake once, and none in a good table?"""
    def wrong(*last, here="yes"):
        bar = "=== ==== ==== ==== " + "=" * 60
        lines = [("%-3s kind %-4s what %s" % (nr, here, cell) if nr else " " * 19 + cell)
                 for nr, cell in last]
        return len(faults("\n".join([bar, "nr  kind here what parts", bar] + lines + [bar, ""]),
                          {"line-a": {"a.one", "a.two.v4"}, "line-b": {"b.one"}})[0])

    good = [("1", "line-a: a.one a.two (debug); line-b:"), ("", "b.one"), ("2", "not tested: no device")]
    bad = ["line-b: a.one", "line-c: a.one", "line-a: a.on", "too few", "it is so, and no test",
           "line-a: a.one; other words", ""]
    return [wrong(*good), wrong(("1", "there is no such part; line-a: a.one"), here="no"),
            wrong(("1", "line-a: a.one"), here="no"), wrong(("1", "line-a: a.one"), here="may"),
            wrong(("1", "line-a: a.one"), ("1", "line-b: b.one")),
            wrong(*[(str(n), "not tested: no device") for n in range(MOST_UNTESTED + 1)])] == \
        [0, 0, 1, 1, 1, 1] and all(wrong(("1", cell)) for cell in bad)
