"""Helpers: a line between a table and its hub that can be cut.

The line is a process of its own, which relays bytes: `python -m bench.hub.line PORT TARGET_PORT`.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from asyncio import StreamReader, StreamWriter

from ports import free_port

# Largest number of bytes that are read at once.
CHUNK_BYTES = 65_536


class CuttableLine:
    """A relay from its own `port` to `target_port` of this machine, until it is cut."""

    def __init__(self, target_port: int) -> None:
        self.port, self._target_port = free_port(), target_port
        self.mend()

    def mend(self) -> None:
        """Start the relay, on the same port as before a cut."""
        command = [sys.executable, "-m", __name__, str(self.port), str(self._target_port)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def cut(self) -> None:
        """Kill the relay. Bytes on their way are lost. May be called twice."""
        self._process.kill()
        self._process.wait()


async def _relay(port: int, target_port: int) -> None:
    """Connect whoever comes to `port` with `target_port`, until the process is killed."""

    async def carry(reader: StreamReader, writer: StreamWriter) -> None:
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target_port)
            await asyncio.gather(_copy_bytes(reader, far_writer), _copy_bytes(far_reader, writer))
        writer.close()

    async with await asyncio.start_server(carry, "127.0.0.1", port) as server:
        await server.serve_forever()


async def _copy_bytes(reader: StreamReader, writer: StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(_relay(*map(int, sys.argv[1:])))
