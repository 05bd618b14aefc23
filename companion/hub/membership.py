"""A table's membership of a hub.

It is stored in a file beside the journal that only the service can read.
"""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path

import msgspec

from companion.core.errors import SystemTrouble
from companion.core.files import MAX_TEXT_BYTES, describe_os_error, read_file, replace_file
from companion.core.i18n import say

# File of the Linux kernel with a random number for each boot.
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Membership(msgspec.Struct, frozen=True):
    """What a table stores about the hub that it has joined."""

    address: str
    """Address of the hub's pages."""
    table_id: str = msgspec.field(name="table")
    """Id of the table in NATS subjects."""
    number: int
    """Number of the table in the hub's room, for people."""
    room: str
    """Name of the hub."""
    servers: tuple[str, ...]
    """Addresses of the hub's NATS servers."""
    seed: str
    """Seed of the table's NKey, made on this machine. It is secret."""
    start_after: int = msgspec.field(default=0, name="start")
    """Number of a journal entry. Only the entries after it are sent."""
    sends_names: bool = msgspec.field(default=False, name="names")
    """Whether people's names are sent to the hub."""
    ca: str = ""
    """Path of the certificate of the authority that signed the hub's. Empty if this machine trusts
    that authority anyway.
    """

    def __repr__(self) -> str:
        # without the seed, for the log
        return f"Membership(address={self.address!r}, number={self.number})"


def machine_id(journal: Path) -> str:
    """Return an identifier of this machine, since its last boot, and of its journal.

    After a restart of the service it is the same. A copy of the files on another machine has a
    different one.
    """
    machine = BOOT_ID.read_text() if BOOT_ID.exists() else str(uuid.getnode())
    return hashlib.sha256(f"{machine} {journal.resolve()}".encode()).hexdigest()[:16]


def read_membership(path: Path) -> Membership | None:
    """Read the membership. Return None if the table has joined no hub.

    Raises `SystemTrouble` if the file cannot be read.
    """
    try:
        return msgspec.json.decode(read_file(path, MAX_TEXT_BYTES), type=Membership)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise SystemTrouble(
            say(
                "{file} cannot be read: {error}. Join the hub again.",
                file=str(path),
                error=str(error),
            )
        ) from None  # the sentence says it all


def write_membership(path: Path, membership: Membership) -> None:
    """Write the membership atomically, so that a power failure never leaves half a file.

    Raises `SystemTrouble` if it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, msgspec.json.encode(membership))
    except OSError as error:
        raise SystemTrouble(
            say("{file} cannot be written: {error}", file=str(path), error=describe_os_error(error))
        ) from None
