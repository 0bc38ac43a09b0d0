# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures the rate of the host's time stamp counter, which an emulated guest reads as its own.

A guest measures this rate with a timer while it boots. If the host is busy then, the result is
wrong, and the guest's clock runs several times too fast or too slow until the guest ends. So the
runner measures the rate on the host and passes it on the kernel's command line (tsc_early_khz).
"""

import ctypes
import functools
import mmap
import platform
import time

# rdtsc; shl rdx, 32; or rax, rdx; ret
RDTSC = bytes.fromhex("0f31" "48c1e220" "4809d0" "c3")
SECONDS = 0.1


@functools.lru_cache(maxsize=None)
def khz():
    """The rate in kHz; 0 if it cannot be measured."""
    if platform.machine() != "x86_64":
        return 0
    try:
        memory = mmap.mmap(-1, mmap.PAGESIZE,
                           prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return 0
    memory.write(RDTSC)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))

    def both():
        """Clock and counter at one moment: of 50 readings the one that took least time."""
        looks = []
        for _ in range(50):
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            count = read()
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            looks.append((after - before, (before + after) // 2, count))
        return min(looks)[1:]

    clock, count = both()
    time.sleep(SECONDS)
    clock2, count2 = both()
    return (count2 - count) * 1000000 // (clock2 - clock)
