# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What this host holds, and how long it keeps others waiting."""
import glob
import mmap
import os
import struct
import subprocess

from lab import eventually

# Objects have red zones, and are kept for a time when they are freed (KASAN).
DEBUG = os.environ.get('RDS_KERNEL') == 'debug'


def cpu_lists():
    """Free pages in the lists of processors: up to some ten MiB, which MemFree does not count"""
    with open('/proc/zoneinfo', encoding='ascii') as f:
        return sum(int(line.split()[1]) for line in f if line.split()[0] == 'count:')


def kernel_bytes():
    """Memory that the kernel holds for other things than programs, files and TCP's queues."""
    with open('/proc/meminfo', encoding='ascii') as f:
        kib = {line.split(':')[0]: int(line.split()[1]) for line in f}
    with open('/proc/net/sockstat', encoding='ascii') as f:
        words = [line.split() for line in f if line.startswith('TCP:')][0]
    tcp = int(words[words.index('mem') + 1]) * mmap.PAGESIZE
    used = kib['MemTotal'] - kib['MemFree'] - kib['Cached'] - kib['Buffers'] - kib['AnonPages']
    return used * 1024 - tcp - cpu_lists() * mmap.PAGESIZE


def settle():
    """Free what KASAN keeps, up to a 32nd of the memory: 49 MB were seen."""
    for path in glob.glob('/sys/kernel/slab/*/shrink') if DEBUG else []:
        with open(path, 'w', encoding='ascii') as f:
            f.write('1')


class Meter:
    """Memory that the kernel holds beyond what it held at the start."""

    def __init__(self):
        settle()
        self.start = kernel_bytes()

    def more(self):
        settle()
        return kernel_bytes() - self.start


class Late:
    """The longest time for which the kernel did not let an urgent thread run (rds-late)."""

    def __enter__(self):
        prog = os.path.join(os.environ.get('RDS_BIN', 'build/bin'), 'rds-late')
        path = '/tmp/late.status'
        with open(path, 'wb') as f:
            f.write(b'\0' * 16)
        with open(path, 'r+b') as f:
            self.mem = mmap.mmap(f.fileno(), 16)
        self.p = subprocess.Popen([prog, path])
        eventually(lambda: self.read()[0] > 10, 'ticks', 10)
        self.mem[8:16] = b'\0' * 8
        return self

    def read(self):
        return struct.unpack('=QQ', self.mem[:16])

    def __exit__(self, *exc):
        self.ns = self.read()[1]
        self.p.kill()
        self.p.wait()
