# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How fast the host's time stamp counter runs, which is the one an emulated guest reads.

A guest finds that out by a timer while it boots. If the host is busy then, it finds something else, and
its clock runs several times too fast or too slow for as long as it lives. So it is told.
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
    """0 if it cannot be said."""
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
        """Clock and counter, of the closest of many looks."""
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
