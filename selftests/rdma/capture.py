#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check a capture: frames, headers, private data and opcodes are as documented.

    capture.py rxe|siw FILE SELF4 PEER4 SELF6 PEER6
"""
import collections
import socket
import struct
import sys

import iwarp
import pcap
import roce

HEADER = struct.Struct("!QQIHHBB4x2s16s")
FRAG, MAP_BYTES, MAX, JOINS = 4096, 8192, 1 << 20, 0x8000
F_MAP, F_ACK, F_RETRANS, F_EXT = 1, 2, 4, 0x20
RECV_MAX = 62			# receive requests of a connection over a software device, see
				# net/rds/transport/rdma/rings.h
RMEM_PORTS = (4300, 4301)
# Bytes written and read by one rds-rdmat rmem, and the number of runs, one with each driver.
RMEM_BYTES, RMEM_RUNS = 3 * (2 * (1 << 20) + 100001 + 2 * 65536 + 3 * 4096 + 2), 2

results = []


def ok(good, name, why=""):
    results.append(bool(good))
    print("%s %d rdma.capture.%s%s" % ("ok" if good else "not ok", len(results), name,
                                       " # %s" % why if why else ""))


def ones_sum(data):
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return s


class Frame:
    """One message of a SEND: the header and the payload behind it."""

    def __init__(self, send, raw):
        self.short = len(raw) < HEADER.size
        if self.short:
            return
        (self.seq, self.ack, self.len, self.sport, self.dport, self.flags, self.credit, self.csum,
         self.ext) = HEADER.unpack(raw[:48])
        self.padding = raw[26:30]
        self.sum = ones_sum(raw[:48])
        self.pay = len(raw) - 48
        self.solicited, self.inv, self.key = send.solicited, send.inv, send.key
        self.raw = raw

    def is_ack(self):
        return not (self.sport or self.dport or self.pay)

    def is_map(self):
        return self.flags == F_MAP


def frames_of(send):
    """The messages of a SEND: messages that share it are complete, and none is a map."""
    raw, got = send.data, []
    while len(raw) >= HEADER.size:
        n = HEADER.size + HEADER.unpack(raw[:HEADER.size])[2]
        n = min(n, len(raw)) if got or n < len(raw) else len(raw)
        got.append(Frame(send, raw[:n]))
        raw = raw[n:]
    return got + ([Frame(send, raw)] if raw or not got else [])


class Message:
    """Consecutive frames of one direction of a connection; acknowledgements may be in between."""

    def __init__(self, first):
        self.frames, self.left = [], first.len
        self.add(first)

    def add(self, f):
        self.frames.append(f)
        self.left -= f.pay

    def bad(self):
        h = self.frames[0]
        for i, f in enumerate(self.frames):
            last = i + 1 == len(self.frames)
            if (f.seq, f.len, f.sport, f.dport) != (h.seq, h.len, h.sport, h.dport):
                return "frame %d of another message" % i
            if f.pay != FRAG and not last:
                return "frame %d of %d bytes" % (i, f.pay)
            if f.solicited != last:
                return "frame %d of %d %ssolicited" % (i, len(self.frames), "" if f.solicited else "not ")
        return ""


def messages(frames):
    """The complete messages of all connections, and what is wrong with them."""
    now, done, bad = {}, [], []
    for f in frames:
        if f.is_ack():
            continue
        m = now.get(f.key)
        if m:
            m.add(f)
        else:
            m = now[f.key] = Message(f)
        if m.left <= 0:
            done.append(now.pop(f.key))
            if m.left or m.bad():
                bad.append("message %d of %d bytes: %s" % (m.frames[0].seq, m.frames[0].len,
                                                           m.bad() or "too long"))
    return done, bad


def look_at_frames(frames):
    good = [f for f in frames if not f.short]
    ok(len(good) == len(frames) and good, "header_in_front", "%d of %d frames" % (len(good), len(frames)))
    wrong = [f for f in good if f.sum != 0xffff or f.csum == b"\0\0"]
    ok(good and not wrong, "checksums", "%d of %d wrong" % (len(wrong), len(good)))
    odd = [f for f in good if any(f.padding) or f.flags & ~(F_MAP | F_ACK | F_RETRANS | F_EXT) or
           f.len > MAX]
    ok(not odd, "fields", "%d odd, %s" % (len(odd), odd[0].raw[:48].hex() if odd else ""))
    done, bad = messages(good)
    split = [m for m in done if len(m.frames) > 1]
    ok(split and not bad, "fragments_4096_last_solicited",
       "%d messages, %d of several frames; %s" % (len(done), len(split), "; ".join(bad[:3])))
    acks = [f for f in good if f.is_ack()]
    plain = [f for f in acks if len(f.raw) == 48 and not (f.seq or f.len or f.flags or any(f.ext)) and
             f.solicited]
    ok(acks and len(plain) == len(acks), "ack_only", "%d of %d" % (len(plain), len(acks)))
    maps = [m for m in done if m.frames[0].is_map()]
    right = [m for m in maps if len(m.frames) == 2 and m.frames[0].len == MAP_BYTES and
             all(f.flags == F_MAP and not f.seq for f in m.frames)]
    marked = [f for f in good if f.flags & F_MAP and f.flags != F_MAP]
    ok(maps and len(right) == len(maps) and not marked, "maps", "%d of %d in two frames" % (len(right), len(maps)))
    numbers(done)
    return done


def look_at_joined(sends):
    shared = [frames_of(s) for s in sends]
    shared = [(fs, sum(len(f.raw) for f in fs)) for fs in shared if len(fs) > 1]
    wrong = [f for fs, n in shared for f in fs
             if n > FRAG or f.short or f.pay != f.len or f.is_map() or f.is_ack()]
    later = [f for fs, _ in shared for f in fs[1:] if f.ack or f.credit]
    ok(shared and not wrong and not later, "joined", "%d frames of %d messages, %d wrong, %d with credit" %
       (len(shared), sum(len(fs) for fs, _ in shared), len(wrong), len(later)))


def look_at_credit(sends):
    """No end advertises more receives than posted, with one used for each SEND received."""
    told, came = collections.Counter(), collections.Counter()
    for s in sends:
        if len(s.data) >= HEADER.size:
            told[s.key] += Frame(s, s.data).credit
        came[s.key] += 1
    left = {k: told[k] - came[(k[1], k[0], k[3], k[2]) + k[4:]] for k in told}
    ok(left and sum(told.values()) and max(left.values()) <= RECV_MAX, "credits_backed",
       "%d told of, at most %d left on one of %d ways" % (sum(told.values()), max(left.values(), default=0),
                                                          len(left)))


def numbers(done):
    """Sequence numbers grow on each connection, with gaps for messages of failed operations."""
    last, back = {}, 0
    for m in done:
        f = m.frames[0]
        if f.is_map():
            continue
        back += f.seq <= last.get(f.key, 0)
        last[f.key] = f.seq
    ok(last and not back, "numbers", "%d not, %d directions of connections" % (back, len(last)))


def look_at_memory(done, wrote, read):
    """The payload was moved by operations, and not by messages."""
    of = [m for m in done if m.frames[0].sport in RMEM_PORTS or m.frames[0].dport in RMEM_PORTS]
    carried = sum(m.frames[0].len for m in of)
    want = RMEM_BYTES * RMEM_RUNS
    ok(wrote >= want, "writes_carry_payload", "%d bytes in writes, at least %d" % (wrote, want))
    ok(read >= want, "reads_carry_payload", "%d bytes in responses, at least %d" % (read, want))
    ok(len(of) > 100 and carried < 16 * len(of), "messages_do_not_grow",
       "%d bytes in %d messages" % (carried, len(of)))


def look_at_private(kind, got, pairs):
    """@got: [(family, source, destination, bytes)] of the requests or of the replies."""
    for fam in (4, 6):
        mine = [g for g in got if g[0] == fam]
        wrong = []
        for _, src, dst, data in mine:
            n = 4 if fam == 4 else 16
            have = data[:2 * n]
            major, minor, mask, tos, ack, credit, _gen = struct.unpack("!BBHB3xQI4s", data[2 * n:2 * n + 24])
            if (have != src + dst or (src, dst) not in pairs or
                    (major, minor, mask) != (3, 1, 3 | JOINS) or
                    data[2 * n + 5:2 * n + 8] != b"\0\0\0" or ack or not credit):
                wrong.append(data[:2 * n + 24].hex())
        ok(mine and not wrong, "%s_v%d" % (kind, fam), "%d, %d wrong %s" %
           (len(mine), len(wrong), wrong[:1]))


def counts(what, c):
    print("# %s: %s" % (what, ", ".join("%s %d" % (k, c[k]) for k in sorted(c))))


def address_pairs(text):
    p = [socket.inet_pton(socket.AF_INET6 if ":" in t else socket.AF_INET, t) for t in text]
    return {(p[0], p[1]), (p[1], p[0]), (p[2], p[3]), (p[3], p[2])}


def main():
    dev, path = sys.argv[1:3]
    pairs = address_pairs(sys.argv[3:7])
    look = roce if dev == "rxe" else iwarp
    # The results of the functions below in their order; RoCE has no credit.
    print("1..%d" % (7 + 1 + (dev == "siw") + 3 + 2 * 2 + len(look.WANTED)), flush=True)
    packets = list(pcap.packets(path))
    seen = look.decode(packets)
    counts("opcodes", seen.opcodes)
    theirs = pcap.tshark(path, look.TSHARK)
    counts("as tshark counts them", theirs)
    done = look_at_frames([f for s in seen.sends for f in frames_of(s)])
    look_at_joined(seen.sends)
    if dev == "siw":
        look_at_credit(seen.sends)
    look_at_memory(done, seen.wrote, seen.read)
    for kind, got in (("request", seen.requests), ("reply", seen.replies)):
        look_at_private(kind, got, pairs)
    for name in look.WANTED:
        ok(seen.opcodes[name] and theirs[name], "opcode_%s" % name,
           "%d, tshark %d" % (seen.opcodes[name], theirs[name]))
    return not all(results)


if __name__ == "__main__":
    sys.exit(main())
