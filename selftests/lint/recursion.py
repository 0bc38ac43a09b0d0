#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""recursion.py MODULE.ko...: fails if one of our functions calls itself, directly or through
others.

A kernel stack is small: if a peer or a process can choose how deep calls nest, it can crash the
machine. The calls are read from the object code, which has the calls of inlined functions too, and
does not have those that the compiler turned into jumps. Calls through a pointer are not seen.
"""
import collections
import os
import re
import subprocess
import sys

LABEL = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
CALL = re.compile(r"\bcallq?\s+[0-9a-f]+ <([^>+]+)(\+0x[0-9a-f]+)?>")
RELOC = re.compile(r"R_X86_64_(?:PLT32|PC32)\s+([.\w]+)([+-]0x[0-9a-f]+)?$")


def symbols(path):
    """{(section, offset): function}: a call within a file can be a section and an offset."""
    out = {}
    text = subprocess.run(["objdump", "-t", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in text.splitlines():
        m = re.match(r"^([0-9a-f]+) .{7} (\S+)\s+[0-9a-f]+ (?:\.hidden )?(\S+)$", line)
        if m and " F " in line:
            out[m.group(2), int(m.group(1), 16)] = m.group(3)
    return out


def whole(name):
    """Name of the function that NAME is a part of (.cold)."""
    return re.sub(r"\.cold$", "", name)


def calls(path):
    """{function: functions that it calls}"""
    known = symbols(path)
    graph = collections.defaultdict(set)
    at, pending = None, None
    argv = ["objdump", "-dr", "--no-show-raw-insn", path]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as p:
        for line in p.stdout:
            line = line.rstrip()
            m = LABEL.match(line)
            if m:
                at, pending = whole(m.group(1)), None
                graph[at]       # adds the function to the graph, also if it calls no function
                continue
            m = RELOC.search(line)
            if m and pending:
                name, off = m.group(1), int(m.group(2) or "0", 16)
                if name.startswith("."):
                    # The offset is relative to the end of the four relocated bytes.
                    name = known.get((name, off + 4), name)
                graph[at].add(whole(name))
                pending = None
                continue
            m = CALL.search(line)
            if pending:
                graph[at].add(whole(pending))
            pending = m.group(1) if m and at else None
    return graph


def cycles(graph):
    """Groups of functions that call each other (Tarjan's strongly connected components)."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(root):
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, todo = work[-1]
            for other in todo:
                if other not in graph:
                    continue
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on.discard(group[-1])
                    if len(group) > 1 or node in graph[node]:
                        found.append(sorted(group))

    for name in list(graph):
        if name not in index:
            visit(name)
    return found


def main():
    functions, bad = 0, []
    for path in sys.argv[1:]:
        graph = calls(path)
        functions += len(graph)
        bad += ["%s: %s" % (os.path.basename(path), ", ".join(g)) for g in cycles(graph)]
    for line in bad:
        print("# calls itself: %s" % line)
    if bad or functions < 100:
        print("not ok lint.recursion # %d groups in %d functions" % (len(bad), functions))
        return 1
    print("ok lint.recursion, %d functions" % functions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
