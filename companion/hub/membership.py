"""What a table remembers of the hub that it has joined: a file beside the journal, for the service
alone.
"""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path

import msgspec

from companion.core.config import Settings
from companion.core.errors import SystemTrouble
from companion.core.files import MAX_TEXT, read_file, replace_file, why_refused
from companion.core.i18n import say

FILE = "hub.json"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Membership(msgspec.Struct, frozen=True):
    """`seed` is the table's secret NKey, made here. `address` the hub's pages, `servers` its NATS.

    `table` is the table's name in subjects, `number` that for people. Inputs of the journal are
    sent from behind `start` on. `names`: people's names are told as well. `ca` is a file with the
    certificate that the hub's is signed by. Empty: one that this machine trusts. `closed`: the
    hub's host has closed this table.
    """

    address: str
    table: str
    number: int
    room: str
    servers: tuple[str, ...]
    seed: str
    start: int = 0
    names: bool = False
    ca: str = ""
    closed: bool = False

    def __repr__(self) -> str:
        return f"Membership(address={self.address!r}, number={self.number})"


def membership_path(settings: Settings) -> Path:
    """Return where it is kept."""
    return settings.journal_path.with_name(FILE)


def session_id(journal: Path) -> str:
    """Return what tells this machine from another one with a copy of its files: when it was
    started, and their path.
    """
    # the boot id differs for every machine, also for one that runs from a copied card
    try:
        machine = BOOT_ID.read_text()
    except OSError:
        machine = str(uuid.getnode())
    return hashlib.sha256(f"{machine} {journal.resolve()}".encode()).hexdigest()[:16]


def read_membership(path: Path) -> Membership | None:
    """Return the hub that this table has joined.

    None: none. Raises `SystemTrouble` for a file that cannot be read.
    """
    try:
        return msgspec.json.decode(read_file(path, MAX_TEXT), type=Membership)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise SystemTrouble(
            say(
                "{file} cannot be read: {error}. Join the hub again.",
                file=str(path),
                error=str(error),
            )
        ) from None


def write_membership(path: Path, membership: Membership) -> None:
    """Remember it, so that after a power cut it is there or not. Raises `SystemTrouble`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, msgspec.json.encode(membership))
    except OSError as error:
        raise SystemTrouble(
            say("{file} cannot be written: {error}", file=str(path), error=why_refused(error))
        ) from None
