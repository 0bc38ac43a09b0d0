#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compare our <linux/rds.h> with the <linux/rds.h> of linux-libc-dev.

The declarations of each header are read from the compiler's output: macros from the preprocessor,
structures and enumerations from the debug information. For each header a program is generated that
prints the value, size, offset and alignment of each declaration, and is compiled with that header.
The output of both programs must be equal, line by line.
"""
import os
import re
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
OUT = os.path.join(TOP, "build", "abi")
THEIRS, OURS = "theirs", "ours"
HEADER = {THEIRS: "/usr/include/linux/rds.h", OURS: os.path.join(TOP, "include/uapi/linux/rds.h")}
# Structs that only this header has, with their sizes in bytes
ADDED = {"rds_reset": 12, "rds6_reset": 36}
# Macros that only this header has, with their values
ADDED_MACROS = {"RDS_PEER_TIMEOUT": "9000", "RDS_RDMA_RESTARTED": "9000"}
# Arguments for macros with a parameter, like RDS_CONG_MONITOR_BIT()
ARGS = [0, 1, 63, 64, 4000, 65535]
PROLOGUE = """#include <stddef.h>
#include <stdio.h>
#include <linux/sockios.h>
#include "%s"
"""


def run(*cmd, **kw):
    return subprocess.run(cmd, check=True, stdout=subprocess.PIPE, text=True, **kw).stdout


def cc(*args, **kw):
    return run("gcc", "-std=gnu11", "-Wall", *args, **kw)


def macros(header):
    """{name: parameter or None} of the macros that this file itself defines with a value."""
    found, current = {}, None
    src = '#include "%s"\n' % header
    for line in cc("-E", "-dD", "-x", "c", "-", input=src).splitlines():
        mark = re.match(r'# \d+ "([^"]*)"', line)
        if mark:
            current = mark.group(1)
        define = re.match(r"#define (\w+)(?:\((\w+)\))? ?(.*)", line)
        if define and current == header and define.group(3):
            found[define.group(1)] = define.group(2)
    return found


def debug_entries(header):
    """Yield (depth, address, tag, attributes) of each entry of the debug information."""
    obj = os.path.join(OUT, "debug.o")
    cc("-g", "-gdwarf-4", "-fno-eliminate-unused-debug-types", "-c", "-x", "c", "-", "-o", obj,
       input='#include "%s"\n' % header)
    entry = None
    for line in run("readelf", "--debug-dump=info", obj).splitlines():
        head = re.match(r" <(\w+)><(\w+)>: Abbrev Number: \d+(?: \((\w+)\))?", line)
        if head:
            if entry:
                yield entry
            entry = (int(head.group(1)), head.group(2), head.group(3), {}) if head.group(3) else None
            continue
        attr = re.match(r"\s+<\w+>\s+DW_AT_(\w+)\s*:\s*(.*)", line)
        if attr and entry:
            value = re.sub(r"^\(indirect string, offset: \w+\): ", "", attr.group(2).strip())
            entry[3][attr.group(1)] = value
    if entry:
        yield entry


class Debug:
    """Debug information of a header: structures, enumerations and typedefs named rds*."""

    def __init__(self, header):
        self.by_addr, self.children, stack = {}, {}, []
        for depth, addr, tag, attrs in debug_entries(header):
            self.by_addr[addr] = (tag, attrs)
            del stack[depth:]
            if stack:
                self.children.setdefault(stack[-1], []).append(addr)
            stack.append(addr)

    def type_of(self, attrs):
        ref = re.match(r"<0x(\w+)>", attrs.get("type", ""))
        return ref.group(1) if ref else None

    def type_name(self, addr):
        tag, attrs = self.by_addr[addr]
        if tag == "DW_TAG_array_type":
            dims = [self.by_addr[c][1].get("upper_bound", "?") for c in self.children[addr]]
            return self.type_name(self.type_of(attrs)) + "".join("[..%s]" % d for d in dims)
        return attrs.get("name", tag)

    def members(self, addr, path=""):
        """Yield (path of a member, name of its type), also in unnamed structures and unions."""
        for child in self.children.get(addr, []):
            tag, attrs = self.by_addr[child]
            if tag != "DW_TAG_member":
                continue
            where = path + attrs["name"] if "name" in attrs else path
            target = self.type_of(attrs)
            ttag, tattrs = self.by_addr[target]
            if "name" in attrs:
                yield where, self.type_name(target)
            if ttag in ("DW_TAG_structure_type", "DW_TAG_union_type") and "name" not in tattrs:
                yield from self.members(target, where + "." if "name" in attrs else path)

    def named(self, tag):
        for addr, (t, attrs) in self.by_addr.items():
            if t == tag and re.match(r"rds", attrs.get("name", ""), re.I):
                yield addr, attrs["name"]


def inventory(header):
    """{group: {label: C expression or literal text}} of all declarations of a header."""
    debug, items = Debug(header), {}
    for addr, name in debug.named("DW_TAG_structure_type"):
        group = items.setdefault(name, {})
        group["sizeof"] = "sizeof(struct %s)" % name
        group["alignof"] = "_Alignof(struct %s)" % name
        for path, type_name in debug.members(addr):
            group["offset of " + path] = "offsetof(struct %s, %s)" % (name, path)
            group["size of " + path] = "sizeof(((struct %s *)0)->%s)" % (name, path)
            group["type of %s: %s" % (path, type_name)] = "0"
    for addr, name in debug.named("DW_TAG_enumeration_type"):
        items[name] = {debug.by_addr[c][1]["name"]: debug.by_addr[c][1]["name"]
                       for c in debug.children[addr]}
    for addr, name in debug.named("DW_TAG_typedef"):
        items[name] = {"sizeof": "sizeof(%s)" % name, "signed": "(%s)-1 < 0" % name}
    constants = items.setdefault("constants", {})
    for name, parameter in macros(header).items():
        if parameter is None:
            constants[name] = name
            continue
        for arg in ARGS:
            constants["%s(%d)" % (name, arg)] = "%s(%d)" % (name, arg)
    return items


def evaluate(which, items):
    """Generate, compile and run the program for one header; return {group: {label: value}}."""
    source = os.path.join(OUT, which + ".c")
    with open(source, "w") as f:
        f.write(PROLOGUE % HEADER[which] + "\nint main(void)\n{\n")
        for group, entries in items.items():
            for label, expr in entries.items():
                f.write('\tprintf("%%s\\t%%s\\t%%lld\\n", "%s", "%s", (long long)(%s));\n'
                        % (group, label, expr))
        f.write("\treturn 0;\n}\n")
    include = ["-I", os.path.join(TOP, "include/uapi")] if which == OURS else []
    binary = os.path.join(OUT, which)
    cc(*include, "-o", binary, source)
    values = {}
    for line in run(binary).splitlines():
        group, label, value = line.split("\t")
        values.setdefault(group, {})[label] = value
    return values


def main():
    os.makedirs(OUT, exist_ok=True)
    if not os.path.exists(HEADER[THEIRS]):
        print("not ok abi # %s is missing, install linux-libc-dev" % HEADER[THEIRS])
        return 1
    theirs, ours = (evaluate(w, inventory(HEADER[w])) for w in (THEIRS, OURS))
    failed, compared = 0, 0
    for group, size in ADDED.items():
        same = ours.pop(group, {}).get("sizeof") == str(size)
        print("%s abi.%s, of this header alone" % ("ok" if same else "not ok", group))
        failed += not same
    for name, value in ADDED_MACROS.items():
        same = ours["constants"].pop(name, None) == value
        print("%s abi.%s, of this header alone" % ("ok" if same else "not ok", name))
        failed += not same
    for group in sorted(set(theirs) | set(ours)):
        a, b = theirs.get(group, {}), ours.get(group, {})
        wrong = sorted(k for k in set(a) | set(b) if a.get(k) != b.get(k))
        for k in wrong:
            print("# %s, %s: %s in theirs, %s in ours" % (group, k, a.get(k), b.get(k)))
        compared += len(a)
        failed += bool(wrong)
        print("%s abi.%s, %d values" % ("not ok" if wrong else "ok", group, len(a)))
    enough = len(theirs) >= 25 and compared >= 300
    print("%s abi.complete, %d groups, %d values" % ("ok" if enough else "not ok", len(theirs), compared))
    return 1 if failed or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
