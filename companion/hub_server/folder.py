"""The hub's folder with the hub's file: its secrets, its settings, and the tables that have joined.

What tables send is not in this file. NATS stores it in a folder of its own.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import nkeys

from companion.core.config import WebSettings
from companion.core.errors import SystemTrouble
from companion.core.files import describe_os_error, replace_file
from companion.core.i18n import say
from companion.hub.pair_messages import Pair

# Name of the hub's file in its folder.
FILE_NAME = "hub.json"
# Maximum number of tables.
MAX_TABLES = 500
# Maximum number of stored games at two tables.
MAX_PAIRS = 1000


@dataclass(frozen=True)
class HubSettings:
    """Settings from the command line."""

    folder: Path
    web: WebSettings
    name: str | None = None
    """Name of the hub. None keeps the stored name."""
    delay_s: float | None = None
    """Delay in seconds for spectators. None keeps the stored delay."""
    nats_host: str = "0.0.0.0"
    nats_port: int = 4222
    max_store_mb: int = 2048
    """Maximum size of NATS's store in megabytes."""
    language: str = "auto"
    """Language of the wall, or `auto` for the browser's."""


class StoredTable(
    msgspec.Struct,
    frozen=True,
    rename={"public_key": "key", "is_shut_out": "shut", "is_waiting": "waits"},
):
    """A table that has joined, as the hub's file stores it."""

    id: str
    """Id of the table in NATS subjects. Its `number` and `name` are for people."""
    number: int
    name: str
    public_key: str
    """Public NKey, by which NATS checks that it is this table that connects."""
    is_shut_out: bool = False
    """Whether the table has no permissions, because it has sent too many messages."""
    is_waiting: bool = False
    """Whether the table waits for the owner to admit it."""


class HubFile(msgspec.Struct, frozen=True, rename={"owner_key": "host_key", "private_key": "seed"}):
    """Everything that the hub stores in its file."""

    private_key: str
    """Secret key with which the hub itself connects to its NATS, where it may do everything. NATS
    calls it the seed of an NKey.
    """
    signing_key: bytes
    """Secret that signs cookies of the pages."""
    owner_key: bytes
    """Secret from which the key of the hub's owner is made, see `format_host_key`."""
    name: str = ""
    delay_s: float = 0.0
    tables: tuple[StoredTable, ...] = ()
    pairs: tuple[Pair, ...] = ()
    """The last `MAX_PAIRS` games at two tables, newest last. They are kept because results of old
    games may still arrive.
    """

    def pair(self, pair_id: str) -> Pair | None:
        """Return the game at two tables with this id, or None."""
        return next((pair for pair in self.pairs if pair.id == pair_id), None)

    def current_pair(self, table_id: str) -> Pair | None:
        """Return the last game of a table with another table.

        Return None if there was no such game, or if the other table has begun another game since.
        """
        pair = self._last_pair(table_id)
        if pair is None or self._last_pair(pair.other_of(table_id)) != pair:
            return None
        return pair

    def _last_pair(self, table_id: str) -> Pair | None:
        return next((pair for pair in self.pairs[::-1] if table_id in pair.tables.values()), None)

    def __repr__(self) -> str:
        return f"HubFile({len(self.tables)} tables)"


class HubFolder:
    """The hub's folder with the hub's file, which is rewritten at every change.

    It may be used from any thread. If the file cannot be read or written, its methods raise
    `SystemTrouble`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / FILE_NAME
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = msgspec.json.decode(self._path.read_bytes(), type=HubFile)
        except FileNotFoundError:
            # the first run in this folder generates the keys
            self._file = _new_file()
            self._write(self._file)
        except (OSError, msgspec.MsgspecError) as error:
            raise SystemTrouble(
                say("{file} cannot be read: {error}", file=str(self._path), error=str(error))
            ) from None

    @property
    def file(self) -> HubFile:
        """The current content of the file."""
        return self._file

    def change(self, edit: Callable[[HubFile], HubFile]) -> HubFile:
        """Apply `edit` to the content, write the result to the file, and return it."""
        # without the lock, one of two changes at the same time would be lost
        with self._lock:
            edited = edit(self._file)
            self._write(edited)
            self._file = edited
        return edited

    def add_table(self, name: str, public_key: str) -> StoredTable:
        """Add a table with this public key and the lowest free number, and return it.

        The table waits to be admitted. Raises `SystemTrouble` if the file cannot be written, or if
        there are `MAX_TABLES` already.
        """

        def add(file: HubFile) -> HubFile:
            if len(file.tables) >= MAX_TABLES:
                raise SystemTrouble(
                    say("This hub has {number} tables and takes no more.", number=MAX_TABLES)
                )
            taken_numbers = {table.number for table in file.tables}
            number = min({*range(1, MAX_TABLES + 1)} - taken_numbers)
            table = StoredTable(secrets.token_hex(8), number, name, public_key, is_waiting=True)
            return msgspec.structs.replace(file, tables=(*file.tables, table))

        return self.change(add).tables[-1]

    def _write(self, file: HubFile) -> None:
        try:
            replace_file(self._path, msgspec.json.encode(file))
        except OSError as error:
            raise SystemTrouble(
                say(
                    "{file} cannot be written: {error}",
                    file=str(self._path),
                    error=describe_os_error(error),
                )
            ) from None


def open_existing_folder(folder: Path) -> HubFolder:
    """Open the folder of a hub that has run before.

    Raises `SystemTrouble` if no hub has run there, or if its file cannot be read.
    """
    folder = folder.expanduser()
    if not (folder / FILE_NAME).exists():
        raise SystemTrouble(f"No hub has run in {folder}: name its folder with --folder")
    return HubFolder(folder)


def public_key(private_key: str) -> str:
    """Return the public NKey that belongs to a private one."""
    public: bytes = nkeys.from_seed(bytearray(private_key.strip().encode())).public_key
    return public.decode()


def _new_file() -> HubFile:
    private_key: bytes = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER)
    return HubFile(
        private_key.decode(), signing_key=secrets.token_bytes(32), owner_key=secrets.token_bytes(32)
    )
