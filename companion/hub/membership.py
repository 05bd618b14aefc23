"""A table's membership of a hub, which is stored in a file beside the journal.

Only the service can read that file, because it contains a private key.
"""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path

import msgspec

from companion.core.errors import SystemTrouble
from companion.core.files import MAX_TEXT_BYTES, describe_os_error, read_file, replace_file
from companion.core.i18n import say

# File in which the Linux kernel shows a random number that it draws at each boot.
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Membership(
    msgspec.Struct,
    frozen=True,
    # names in the file
    rename={
        "table_id": "table",
        "hub_name": "room",
        "private_key": "seed",
        "start_after": "start",
        "sends_names": "names",
    },
):
    """What a table stores about the hub that it has joined."""

    address: str
    """Address of the hub's pages."""
    table_id: str
    """Id of the table in NATS subjects."""
    number: int
    """Number by which people tell the hub's tables apart."""
    hub_name: str
    """Name of the hub, as the hub's own pages show it."""
    servers: tuple[str, ...]
    """Addresses of the hub's NATS servers."""
    private_key: str
    """Secret key with which the table proves to NATS that it is this table. It was made on this
    machine and never leaves it. NATS calls it the seed of an NKey.
    """
    start_after: int = 0
    """Number of a journal entry. Only the entries after it are sent to the hub."""
    sends_names: bool = False
    """Whether people's names are sent to the hub."""
    ca: str = ""
    """Path of the certificate of the authority that signed the hub's certificate. Empty if this
    machine trusts that authority anyway.
    """

    def __repr__(self) -> str:
        # without the private key, because the log may show this
        return f"Membership(address={self.address!r}, number={self.number})"


def machine_id(journal: Path) -> str:
    """Return an identifier of this machine with this journal, which it sends in a `MachineClaim`.

    Somebody may copy the SD card of a table, key and all. Then two machines would send records as
    the same table. By this identifier the hub can tell them apart and refuses the second one. It is
    made of the journal's path and of a number that the kernel draws at each boot, so that a restart
    of the service does not change it, but a copy on another machine has a different one.
    """
    # without that number, the network address identifies the machine
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
