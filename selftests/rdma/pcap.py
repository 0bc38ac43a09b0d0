# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets of a capture: Ethernet, IP, and UDP or TCP."""
import collections
import struct
import subprocess

Packet = collections.namedtuple("Packet", "family src dst proto sport dport seq flags data")


def records(path):
    with open(path, "rb") as f:
        data = f.read()
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">"}[data[:4]]
    at = 24
    while at + 16 <= len(data):
        have, full = struct.unpack(order + "8xII", data[at:at + 16])
        if have != full:
            raise ValueError("packet of %d bytes cut to %d" % (full, have))
        yield data[at + 16:at + 16 + have]
        at += 16 + have


def parse(raw):
    """UDP and TCP in IPv4 or IPv6 without extension headers; None for all other packets."""
    kind, = struct.unpack("!H", raw[12:14])
    ip = raw[14:]
    if kind == 0x800:
        head, length, proto = (ip[0] & 15) * 4, struct.unpack("!H", ip[2:4])[0], ip[9]
        family, src, dst, body = 4, ip[12:16], ip[16:20], ip[head:length]
        if struct.unpack("!H", ip[6:8])[0] & 0x3fff:
            return None
    elif kind == 0x86dd:
        length, proto = struct.unpack("!H", ip[4:6])[0], ip[6]
        family, src, dst, body = 6, ip[8:24], ip[24:40], ip[40:40 + length]
    else:
        return None
    if proto == 17:
        sport, dport = struct.unpack("!HH", body[:4])
        return Packet(family, src, dst, "udp", sport, dport, 0, 0, body[8:])
    if proto == 6:
        sport, dport, seq = struct.unpack("!HHI", body[:8])
        return Packet(family, src, dst, "tcp", sport, dport, seq, body[13], body[(body[12] >> 4) * 4:])
    return None


def packets(path):
    for raw in records(path):
        p = parse(raw)
        if p:
            yield p


def tshark(path, how):
    """Number of occurrences of each value of a field, by name, as tshark decodes the file."""
    field, names, options = how
    out = subprocess.run(["tshark", "-n", "-r", path, "-T", "fields", "-E", "occurrence=a", "-e", field] +
                         options, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    found = collections.Counter()
    for line in out.stdout.split("\n"):
        for value in line.split(","):
            if value:
                n = int(value, 0)
                found[names.get(n, "%#x" % n)] += 1
    return found
