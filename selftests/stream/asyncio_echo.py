#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""asyncio_echo.py ADDR PORT CLIENTS BYTES: an echo server of asyncio and its clients, for TCP."""
import asyncio
import os
import sys


async def echo(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def client(addr, port, size):
    """Returns whether what was sent came back."""
    reader, writer = await asyncio.open_connection(addr, port)
    data = os.urandom(size)
    writer.write(data)
    writer.write_eof()
    back = await reader.read()
    writer.close()
    return back == data


async def main(addr, port, clients, size):
    server = await asyncio.start_server(echo, addr, port)
    async with server:
        good = await asyncio.gather(*(client(addr, port, size) for _ in range(clients)))
    return good.count(True)

if __name__ == "__main__":
    CLIENTS = int(sys.argv[3])
    GOOD = asyncio.run(main(sys.argv[1], int(sys.argv[2]), CLIENTS, int(sys.argv[4])))
    print("# %d of %d came back" % (GOOD, CLIENTS))
    sys.exit(GOOD != CLIENTS)
