# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""iWARP: MPA, DDP and RDMAP out of TCP: reassembled SENDs, private data, opcodes."""
import collections
import struct

NAMES = {0: "write", 1: "read_request", 2: "read_response", 3: "send", 4: "send_inv", 5: "send_se",
         6: "send_se_inv", 7: "terminate"}
WANTED = tuple(NAMES[i] for i in range(8))
TSHARK = ("iwarp_rdma.opcode", NAMES, [])
KEYS = {b"MPA ID Req Frame": "requests", b"MPA ID Rep Frame": "replies"}
F_MARKERS, F_CRC, F_REJECT = 0x80, 0x40, 0x20
TAGGED, LAST = 14, 0x40
UNTAGGED, CRC = 18, 4

Send = collections.namedtuple("Send", "key data solicited inv")


class Seen:
    def __init__(self):
        self.opcodes, self.sends, self.requests, self.replies = collections.Counter(), [], [], []
        self.wrote = self.read = 0
        self.first = {}


def streams(packets):
    """[(addresses and ports, family, bytes)] of each direction of each connection, in order."""
    parts, base = collections.OrderedDict(), {}
    for p in packets:
        if p.proto != "tcp":
            continue
        key = (p.src, p.dst, p.sport, p.dport)
        if p.flags & 2:
            n = sum(k[:4] == key for k in parts)
            base[key] = (key + (n,), p.seq + 1, p.family)
            parts[key + (n,)] = []
        elif p.data and key in base:
            full, start, family = base[key]
            parts[full].append(((p.seq - start) & 0xffffffff, p.data, family))
    for key, got in parts.items():
        out = bytearray()
        # The sort is stable: of retransmitted bytes the first copy counts.
        for at, data, family in sorted(got, key=lambda g: g[0]):
            if at > len(out):
                break
            out[at:at + len(data)] = data if at + len(data) > len(out) else out[at:at + len(data)]
        if got:
            yield key, got[0][2], bytes(out)


def startup(seen, key, family, data):
    """Parse the MPA frame at the start; return the offset behind it, or 0 if there is none."""
    kind = KEYS.get(data[:16])
    if not kind:
        return 0
    flags, rev, length = struct.unpack("!BBH", data[16:20])
    private = data[20:20 + length]
    # Revision 2 begins with two words about READs.
    if rev == 2:
        private = private[4:]
    if flags & F_MARKERS:
        raise ValueError("markers")
    # The registrar has a connection with itself, without private data.
    if not flags & F_REJECT and private:
        getattr(seen, kind).append((family, key[0], key[1], private))
    return 20 + length


def segments(seen, key, data, at):
    """FPDUs: length, segment, padding, checksum."""
    parts = None
    while at + 2 <= len(data):
        length, = struct.unpack("!H", data[at:at + 2])
        seg = data[at + 2:at + 2 + length]
        if len(seg) < length or length < 2:
            return
        at += 2 + length + (-(2 + length) % 4) + CRC
        ddp, op = seg[0], seg[1] & 15
        seen.opcodes[NAMES.get(op, "%#x" % op)] += 1
        if op == 0:
            seen.wrote += length - TAGGED
        elif op == 2:
            seen.read += length - TAGGED
        elif op in (3, 4, 5, 6):
            parts = (parts or b"") + seg[UNTAGGED:]
            if ddp & LAST:
                seen.sends.append(Send(key, parts, op in (5, 6), op in (4, 6)))
                parts = None


def decode(packets):
    seen = Seen()
    for key, family, data in streams(packets):
        at = startup(seen, key, family, data)
        if at:
            segments(seen, key, data, at)
    return seen
