#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bounced.py ADDRESS: a key of memory that the device reaches by a bounce buffer only is refused, and
the socket sends as before."""
import ctypes
import errno
import mmap
import socket
import struct
import sys

SOL_RDS, RDS_GET_MR, READWRITE = 276, 2, 1
addr = sys.argv[1]


def get_mr(sock, length, offset):
    """The errno of a call that asks for a key of @length bytes, 0 if it was given."""
    memory = mmap.mmap(-1, 16 * mmap.PAGESIZE)
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + offset
    cookie = ctypes.c_uint64(0)
    args = struct.pack('=QQQQ', at, length, ctypes.addressof(cookie), READWRITE)
    try:
        sock.setsockopt(SOL_RDS, RDS_GET_MR, args)
    except OSError as e:
        return e.errno
    return 0


def main():
    print('1..2')
    one = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
    one.bind((addr, 4711))
    errors = {get_mr(one, length, offset) for length, offset in ((1, 0), (4096, 0), (65536, 0), (20000, 33))}
    print('%s 1 bounce.key_refused # %s' % ('ok' if errors == {errno.EOPNOTSUPP} else 'not ok',
                                            ' '.join(errno.errorcode.get(e, str(e)) for e in errors)))
    one.sendto(b'x' * 5000, (addr, 4711))
    print('%s 2 bounce.sends' % ('ok' if one.recv(8192) == b'x' * 5000 else 'not ok'))


main()
