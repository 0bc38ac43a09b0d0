#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fails for a citation of Documentation/protocol.rst whose number does not exist there.

A citation is "protocol.rst" and numbers: 4.8 is a subsection, 5.6.19 an item of a list or a row of
a table; several numbers are joined by a comma, "and", "or" or "to".
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOC = os.path.join(TOP, "Documentation", "protocol.rst")
PLACES = ["net", "include", "selftests", "tools", "Documentation", "README.md", "Makefile",
          ".ci"]
# Folders in which a citation must have a number
NUMBERED = ("net/", "include/", "tools/")

NUMBER = r"\d+(?:\.\d+){0,2}(?![\w.]*\d)"
CITATION = re.compile(r"\bprotocol\.rst(?P<list>(?:(?:,| and| or| to)? ?(?<=[ ])%s)*)" % NUMBER)
ITEM = re.compile(r"^:?(\d+\.\d+\.\d+)(?:: |  +)(.*)")
TITLE = re.compile(r"^(\d+(?:\.\d+)?) \S")
MOVED = "(moved to differences)"
# Versions of kernels in the document, which have the form of items' numbers
KERNELS = ("6.12.117", "7.2.12")
# The forms of citations before the document was part of this project
OLD = re.compile(r"\b(?:[Ww]ire|[Ss]pec)(?: document)?,? \d\.\d+|\bwire document\b|/\* Rows? \d")
LEADER = re.compile(r"\n[ \t]*(?:\*(?!/)|#|//)?[ \t]*")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def items(text):
    """(number, text of its first line) of each item, in the order of the document."""
    return [m.groups() for m in map(ITEM.match, text.split("\n")) if m]


def numbers(text):
    """All numbers that can be cited: those of items and of titles."""
    found = {number for number, _ in items(text)}
    lines = text.split("\n")
    for title, under in zip(lines, lines[1:]):
        m = TITLE.match(title)
        if m and re.fullmatch(r"=+|-+", under):
            found.add(m.group(1))
    return found


def order(text):
    """Errors in the document's own numbers: gaps, missing titles, references to nothing."""
    wrong, last = [], {}
    for number, _ in items(text):
        section, n = number.rsplit(".", 1)
        if int(n) != last.get(section, 0) + 1:
            wrong.append("%s follows %s.%d" % (number, section, last.get(section, 0)))
        last[section] = int(n)
    known = numbers(text)
    wrong += ["%s has no title" % s for s in last if s not in known]
    prose = re.sub(r"(?m)^:?[\d.]+(:| )", "", text)
    inside = re.findall(r"(?<![\d.:])\d\.\d+\.\d+(?![\d.]*\d)", prose)
    return wrong + ["%s does not exist" % n for n in inside if n not in known and n not in KERNELS]


def cited(text):
    """(line, numbers) of each citation; a citation may continue on the next line of a comment."""
    flat = LEADER.sub(lambda m: " " + "\0" * (len(m.group()) - 1), text).replace("\0", "")
    starts = [m.start() for m in re.finditer(r"\bprotocol\.rst", text)]
    for start, m in zip(starts, CITATION.finditer(flat)):
        yield text.count("\n", 0, start) + 1, re.findall(NUMBER, m.group("list"))


def wrong(path, text, known):
    for line, found in cited(text):
        for number in found:
            if number not in known:
                yield "%s:%d cites protocol.rst %s" % (path, line, number)
        if not found and path.startswith(NUMBERED):
            yield "%s:%d cites protocol.rst without a number" % (path, line)
    for m in OLD.finditer(text):
        yield "%s:%d cites in another form: %s" % (path, text.count("\n", 0, m.start()) + 1,
                                                   m.group())


def files():
    for place in PLACES:
        if os.path.isfile(place):
            yield place
        for folder, _, names in os.walk(place):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if path not in ("selftests/docs/cite.py", "Documentation/protocol.rst") \
                        and not path.endswith((".pyc", ".o", ".ko", ".cmd")):
                    yield path


def noticed(known):
    """Does wrong() report each kind of error once, and none in correct citations?"""
    good = "/* protocol.rst 4.8 to 4.10, 5.6.19\n * and 6.2.3: so. */ x(1.0);"
    bad = ["protocol.rst 4.99", "as protocol.rst 5.6.19 and\n * 5.6.99", "protocol.rst",
           "wire 2.5", "/* Row 7 */", "protocol.rst 9.1", "(protocol.rst 2.5 to\n\t * 2.77)"]
    return not list(wrong("net/x.c", good, known)) and \
        all(len(list(wrong("net/x.c", text, known))) == 1 for text in bad)


def result(name, why):
    print("%s docs.%s%s" % ("not ok" if why else "ok", name, " # " + "; ".join(why) if why else ""))
    return bool(why)


def main():
    os.chdir(TOP)
    text = read(DOC)
    known = numbers(text)
    failed = result("bad_citation_is_noticed", [] if noticed(known) else ["it is not"])
    failed |= result("protocol_numbers", order(text) if known else ["there are none"])
    total, why = 0, []
    for path in files():
        source = read(path)
        total += sum(len(found) for _, found in cited(source))
        why += wrong(path, source, known)
    failed |= result("citations", why if total else ["there are none"])
    print("# %d citations of %d numbers" % (total, len(known)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
