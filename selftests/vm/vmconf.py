# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Paths, kernels with their modules, and the part of the initramfs that a kernel's guests share."""

import fcntl
import lzma
import os
import re
import struct
import subprocess

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
# Path of the checkout in a guest, wherever the host has it; a guest mounts nothing over this path.
GUEST_TOP = "/rds"
VM = os.path.join(TOP, "selftests", "vm")
# The real path of build/, which kbuild accepts; see build-dir.sh.
BUILD = subprocess.run([os.path.join(VM, "build-dir.sh")], stdin=subprocess.DEVNULL, text=True,
                       stdout=subprocess.PIPE, check=True).stdout.strip()

# Modules needed before the host's tree is mounted; the others are loaded from there.
BOOT_MODULES = ("virtio_pci", "virtio_console", "9p", "9pnet_virtio", "overlay")
# The header of a build id in an ELF file: name size 4, description size 20, type 3, name
BUILD_ID_NOTE = struct.pack("<III4s", 4, 20, 3, b"GNU\0")
SLOW = {"debug": 4, "kcsan": 6}
# The kernel cov is another one; only our modules for it are built in another way.
SAME = {"cov": "6.12"}


class SetupError(Exception):
    """The environment failed, not a test."""


def run(argv, **kw):
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **kw)
    if p.returncode:
        raise SetupError("%s failed" % " ".join(os.path.relpath(a, TOP) if a.startswith(TOP) else a
                                                for a in argv))
    return p.stdout.strip()


def unpacked(path):
    """Contents of a module file, decompressed if it is compressed."""
    with open(path, "rb") as f:
        data = f.read()
    if path.endswith(".xz"):
        return lzma.decompress(data)
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    return data


def mod_name(path):
    return os.path.basename(path).split(".ko")[0].replace("-", "_")


class Kernel:
    """One kernel that a guest can boot; fetched (or, for debug and kcsan, built) on first use."""

    _all = {}

    @classmethod
    def get(cls, name):
        if name not in cls._all:
            cls._all[name] = cls(name)
        return cls._all[name]

    def __init__(self, name):
        self.name = name
        fetch = os.path.join(VM, "fetch.sh")
        run([fetch, name])
        self.release = run([fetch, "--release", name])
        self.root = os.path.realpath(os.path.join(BUILD, "kernel", SAME.get(name, name), "root"))
        self.modules = os.path.join(self.root, "lib", "modules", self.release)
        self.vmlinuz = os.path.join(self.root, "boot", "vmlinuz-" + self.release)
        self.slow = SLOW.get(name, 1)
        self.deps = {}
        with open(os.path.join(self.modules, "modules.dep")) as f:
            for line in f:
                path, _, need = line.partition(":")
                self.deps[mod_name(path)] = (path, [mod_name(n) for n in reversed(need.split())])

    def boot_files(self):
        """[(name, bytes)] of the modules that booting needs and that are not built in, in load
        order."""
        order = []
        for want in BOOT_MODULES:
            if want not in self.deps:
                continue
            for m in self.deps[want][1] + [want]:
                if m not in order:
                    order.append(m)
        return [(m + ".ko", unpacked(os.path.join(self.modules, self.deps[m][0]))) for m in order]

    def intree(self):
        """{module: bytes} of the kernel's own RDS."""
        found = {}
        for m in ("rds", "rds_tcp", "rds_rdma"):
            if m in self.deps:
                found[m] = unpacked(os.path.join(self.modules, self.deps[m][0]))
        return found

    def ours(self):
        """{module: bytes} of our modules, from RDS_KO or as last built for this kernel."""
        found = {}
        ko = os.environ.get("RDS_KO") or os.path.join(BUILD, "mod", self.name, "ko")
        for f in sorted(os.listdir(ko)) if os.path.isdir(ko) else ():
            if f.endswith(".ko"):
                with open(os.path.join(ko, f), "rb") as k:
                    found[f[:-3]] = k.read()
        return found


def identity(data):
    """"srcversion:build-id" of a module file. Debian's kernels give a srcversion only to modules
    that state a version (rds, not rds_tcp); all modules have a build id, which depends on the
    object code."""
    src = re.search(rb"\0srcversion=([0-9A-F]+)\0", data)
    note = data.find(BUILD_ID_NOTE)
    build = data[note + len(BUILD_ID_NOTE):][:20].hex() if note >= 0 else "-"
    return "%s:%s" % (src.group(1).decode() if src else "-", build)


class Lock:
    """A lock held by one process at a time; its file stays."""

    def __init__(self, name):
        os.makedirs(BUILD, exist_ok=True)
        self.path = os.path.join(BUILD, name)

    def __enter__(self):
        self.f = open(self.path, "w")
        fcntl.flock(self.f, fcntl.LOCK_EX)

    def __exit__(self, *exc):
        self.f.close()


def cpio(files):
    """A newc archive from [(path, mode, bytes)], with the folders on those paths."""
    out, seen, ino = [], set(), [0]

    def entry(path, mode, data):
        ino[0] += 1
        name = path.encode() + b"\0"
        head = "070701" + "".join("%08X" % v for v in (
            ino[0], mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0))
        rec = head.encode() + name
        rec += b"\0" * (-len(rec) % 4) + data
        out.append(rec + b"\0" * (-len(data) % 4))

    for path, mode, data in files:
        parts = path.split("/")
        for n in range(1, len(parts)):
            d = "/".join(parts[:n])
            if d not in seen:
                seen.add(d)
                entry(d, 0o040755, b"")
        entry(path, mode, data)
    entry("TRAILER!!!", 0, b"")
    return b"".join(out)


APPLETS = "sh mount insmod mkdir rm cp uname poweroff switch_root cat echo"


def base_files(kernel):
    """[(path, mode, bytes)] of the initramfs that all guests of a kernel share, without the job."""
    with open("/bin/busybox", "rb") as f:
        files = [("bin/busybox", 0o100755, f.read())]
    for a in APPLETS.split():
        files.append(("bin/" + a, 0o120777, b"busybox"))
    with open(os.path.join(VM, "init"), "rb") as f:
        files.append(("init", 0o100755, f.read()))
    boot = kernel.boot_files()
    for name, data in boot:
        files.append(("boot/" + name, 0o100644, data))
    files.append(("boot/order", 0o100644, "".join(n + "\n" for n, _ in boot).encode()))
    # The folders on which /init mounts: cpio() makes them for these files.
    for d in ("proc", "sys", "dev", "host", "rw", "new"):
        files.append((d + "/.keep", 0o100644, b""))
    return files
