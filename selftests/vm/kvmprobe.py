# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Chooses KVM or emulation.

KVM is used only after a guest has booted under it, because a /dev/kvm can exist and hang every
guest.
"""

import os
import secrets
import shutil
import subprocess
import tempfile

import vmconf
from guest import KERNEL_ARGS, accel_args, base_archive
from vmconf import BUILD

PROBE_S = 8


def boots_under_kvm(kernel):
    scratch, nonce = tempfile.mkdtemp(prefix="rdsvm-"), secrets.token_hex(6)
    try:
        initrd = os.path.join(scratch, "initrd")
        with open(initrd, "wb") as out:
            with open(base_archive(kernel), "rb") as f:
                out.write(f.read())
            env = "RDS_NONCE=%s\nRDS_PROBE=1\n" % nonce
            out.write(vmconf.cpio([("job/env", 0o100644, env.encode())]))
        argv = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none",
                "-no-reboot", "-machine", "q35", "-m", "512", "-serial", "stdio",
                "-kernel", kernel.vmlinuz, "-initrd", initrd, "-append", KERNEL_ARGS]
        p = subprocess.Popen(argv + accel_args("kvm", "2"), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            out, _ = p.communicate(timeout=PROBE_S)
        except subprocess.TimeoutExpired:
            p.kill()
            out, _ = p.communicate()
        return ("@%s probe" % nonce).encode() in out
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        return f.read().strip()


def choose_accel(kernel):
    forced = os.environ.get("RDS_ACCEL")
    if forced:
        return forced
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    answer = os.path.join(BUILD, "vm", "kvm-" + boot_id())
    with vmconf.Lock("kvm.lock"):
        if not os.path.exists(answer):
            os.makedirs(os.path.dirname(answer), exist_ok=True)
            good = boots_under_kvm(kernel)
            with open(answer, "w", encoding="ascii") as f:
                f.write("kvm" if good else "tcg")
    with open(answer, encoding="ascii") as f:
        return f.read()
