# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds circles among the folders of the core: by includes, and by calls from one folder to
another.

Each mention of a function's name counts as a call, so taking its address counts as well. Calls
through a table of functions do not count: the purpose of such tables is to call upwards.
"""
import collections
import re

import recursion
import tree


def head(file, first):
    """The declaration in front of the brace that opens a function, as one line."""
    lines, i = [], first - 2
    while i >= 0 and file.code[i].strip() and not re.match(r"[;}#]|.*;$", file.code[i]):
        lines.insert(0, file.code[i])
        i -= 1
    return " ".join(lines)


def exported(file):
    """Names of the functions of a file that other files can call."""
    for name, first, _ in tree.functions(file):
        if file.ext == ".h" or not re.search(r"\bstatic\b", head(file, first)):
            yield name


def included(file):
    """(line, name) of each header that a file includes in quotes."""
    for n, line in enumerate(file.code, 1):
        m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if m:
            yield n, m.group(1)


def called(file, owners):
    """(line, name) of the functions of @owners that a file mentions in bodies and tables, each
    once."""
    seen = set()
    for _, first, last in tree.functions(file):
        for n in range(first, last + 1):
            code = re.sub(r'"(?:\\.|[^"\\])*"', '""', file.code[n - 1])
            for m in re.finditer(r"(?<!struct )(?<!enum )(?<!union )(?<![.>])\b(\w+)\b", code):
                if m.group(1) in owners and m.group(1) not in seen:
                    seen.add(m.group(1))
                    yield n, m.group(1)
    # Tables of functions are not in the body of a function.
    for n, line in enumerate(file.code, 1):
        m = re.match(r"\s+\.\w+\s*=\s*&?(\w+),?$", line)
        if m and m.group(1) in owners and m.group(1) not in seen:
            seen.add(m.group(1))
            yield n, m.group(1)


def edges(files, place):
    """{(from, to): [(path, line, what)]} between places; @place maps a path to its place."""
    owners, found = collections.defaultdict(set), collections.defaultdict(list)
    known = {f.path for f in files}
    for f in files:
        for name in exported(f):
            owners[name].add(place(f.path))
    for f in files:
        me = place(f.path)
        for n, name in included(f):
            path = "net/rds/" + name
            if path in known and place(path) != me:
                found[me, place(path)].append((f.path, n, "includes " + name))
        for n, name in called(f, owners):
            if me not in owners[name]:
                for there in sorted(owners[name]):
                    found[me, there].append((f.path, n, "calls %s() of %s" % (name, there)))
    return found


def circles(files, place):
    """(places, edges among them) of every group of places that are in a circle."""
    found = edges(files, place)
    graph = {place(f.path): set() for f in files}
    for one, other in found:
        graph[one].add(other)
    for group in recursion.cycles(graph):
        yield group, {pair: what for pair, what in found.items() if set(pair) <= set(group)}
