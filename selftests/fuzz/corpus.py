#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A corpus as text, one input in hexadecimal digits per line, and as the folder libFuzzer takes.

corpus.py unpack FILE FOLDER
corpus.py pack FOLDER FILE
"""
import os
import sys

HEAD = "# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause\n"


def unpack(file, folder):
    with open(file, encoding="ascii") as f:
        lines = [s for s in f.read().split("\n") if s and not s.startswith("#")]
    if not lines:
        raise SystemExit("corpus.py: nothing in " + file)
    os.makedirs(folder, exist_ok=True)
    for i, line in enumerate(lines):
        with open(os.path.join(folder, "%04d" % i), "wb") as f:
            f.write(bytes.fromhex(line))


def pack(folder, file):
    found = set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as f:
            found.add(f.read())
    with open(file, "w", encoding="ascii") as f:
        f.write(HEAD)
        for data in sorted(found - {b""}, key=lambda d: (len(d), d)):
            f.write(data.hex() + "\n")
    print("%s: %d inputs, %d bytes" % (file, len(found), sum(map(len, found))))


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        raise SystemExit(__doc__)
    {"pack": pack, "unpack": unpack}[sys.argv[1]](sys.argv[2], sys.argv[3])


if __name__ == "__main__":
    main()
