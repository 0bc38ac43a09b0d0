#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the locks that net/ and include/ declare with the tables that describe them.

Documentation/locking.rst has a row for each lock, by structure and member, or by name if the lock
is no member. SCOPE of selftests/bench/lockstat.py has each lock class and each wait queue. A lock
without a row is a failure, and so is a row without a lock.
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "selftests", "bench"))
import lockstat  # pylint: disable=wrong-import-position

TYPES = (r"(?:(?:raw_)?spinlock_t|rwlock_t|seqlock_t|seqcount_\w+|local_lock_t|"
         r"struct (?:mutex|rw_semaphore|percpu_rw_semaphore|semaphore|lockdep_map))")
STRUCT = re.compile(r"^(?:static )?struct (\w+) \{")
MEMBER = re.compile(r"^\s+%s\s+(\w+)\b" % TYPES)
GLOBAL = re.compile(r"^(?:static )?(?:DEFINE_(?:RAW_)?(?:SPINLOCK|MUTEX|RWLOCK|SEQLOCK)|"
                    r"DECLARE_RWSEM|DEFINE_SEMAPHORE|DEFINE_STATIC_PERCPU_RWSEM)\((\w+)")
PLAIN = re.compile(r"^(?:static )?%s (\w+);" % TYPES)
# The first cell of a row of a list-table, and the name of one of our locks in it
ROW = re.compile(r"^   \* - ``(\w+(?:\.\w+)?)``", re.M)


def declared(text):
    """Names of the locks that the text of a source file declares."""
    inside = None
    for line in text.split("\n"):
        m = STRUCT.match(line)
        if m:
            inside = m.group(1)
        elif line.startswith("}"):
            inside = None
        m = MEMBER.match(line) if inside else None
        if m:
            yield "%s.%s" % (inside, m.group(1))
        m = GLOBAL.match(line) or PLAIN.match(line)
        if m:
            yield m.group(1)


def sources():
    for place in ("net", "include"):
        for folder, _, names in os.walk(os.path.join(TOP, place)):
            for name in sorted(names):
                if name.endswith((".c", ".h")) and "compat" not in folder:
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        yield f.read()


def documented(text):
    """Names of the locks in the tables of the chapter Locks of locking.rst."""
    chapter = text.split("\nLocks\n=====\n")[-1].split("\nOrder\n=====\n")[0]
    return {n for n in ROW.findall(chapter) if n != "sk_callback_lock"}


def compare(name, code, table, where):
    why = ["%s has no row in %s" % (n, where) for n in sorted(code - table)]
    why += ["%s of %s is no lock" % (n, where) for n in sorted(table - code)]
    if not code:
        why.append("no lock was found")
    print("%s lint.%s%s" % ("not ok" if why else "ok", name, " # " + "; ".join(why) if why else
                            ", %d" % len(code)))
    return bool(why)


def main():
    with open(os.path.join(TOP, "Documentation", "locking.rst"), encoding="utf-8") as f:
        table = documented(f.read())
    code = {lock for text in sources() for lock in declared(text)}
    failed = compare("locks_documented", code, table, "locking.rst")
    failed |= compare("locks_measured", lockstat.initialised(), set(lockstat.SCOPE), "lockstat.py")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
