"""The members of a ZIP file from elsewhere, written out with a limit for each: a small file can
unpack to gigabytes.

What a member says about its size is believed only as an upper bound. What comes out is counted
while it comes.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from companion.core.errors import Malformed, SystemTrouble
from companion.core.i18n import say
from companion.storage.disk_space import FULL_BYTES, free_bytes

PIECE_BYTES = 65_536
MAX_MEMBERS = 20_000
"""A thousand games of twenty turns, each with its photograph."""
_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""What a backup uses. LZMA would take as much memory as the file says."""


def look_at(
    members: list[zipfile.ZipInfo], most_of: Callable[[str], int], most_bytes: int, folder: Path
) -> None:
    """Look at what members say of themselves before any is unpacked.

    Raises `Malformed` and `SystemTrouble`.

    `most_of` answers how many bytes a member of that name may have. All together have `most_bytes`,
    and what is free on the disk of `folder` less what a game needs.
    """
    if len(members) > MAX_MEMBERS:
        raise Malformed(
            say("This is not a backup: it holds more than {number} files.", number=MAX_MEMBERS)
        )
    for member in members:
        if member.compress_type not in _KINDS:
            raise Malformed(say("This file is damaged or not a backup."))
        if member.file_size > most_of(member.filename):
            raise Malformed(too_large(member.filename, most_of(member.filename)))
    total = sum(member.file_size for member in members)
    if total > most_bytes:
        raise Malformed(
            say(
                "This backup is too large: at most {number} MB unpacked.",
                number=most_bytes // 1_000_000,
            )
        )
    if total + FULL_BYTES > free_bytes(folder):
        raise SystemTrouble(
            say(
                "This backup needs {number} MB, more than there is: free some space on the disk.",
                number=max(1, total // 1_000_000),
            )
        )


def unpack(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: IO[bytes], most_bytes: int
) -> None:
    """Write a member out in pieces. Raises `Malformed` as soon as it is longer than it may be."""
    written = 0
    with archive.open(member) as source:
        while piece := source.read(PIECE_BYTES):
            written += len(piece)
            if written > most_bytes:
                raise Malformed(too_large(member.filename, most_bytes))
            target.write(piece)


def too_large(name: str, most_bytes: int) -> str:
    """Say that a member is too long."""
    return say(
        "{name} in this backup is too large: at most {number} KB.",
        name=name[:80],
        number=max(1, most_bytes // 1000),
    )
