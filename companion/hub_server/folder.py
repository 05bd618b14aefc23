"""The hub's folder: its secrets, its settings, and the tables that have joined.

Everything but NATS' own store.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import nkeys

from companion.core.config import WebSettings
from companion.core.errors import SystemTrouble
from companion.core.files import replace_file, why_refused
from companion.core.i18n import say
from companion.hub.commands import SettingsAsked
from companion.hub.pairing import Pair

FILE = "hub.json"
ADDRESS_FILE = "address"
"""Where a hub says how its pages are reached from this very machine."""
MAX_TABLES, MAX_PAIRS = 500, 1000


@dataclass(frozen=True)
class HubSettings:
    """How a hub is run.

    `name` (None: as before) is what the room is called. `delay_s` (None: as before) how late
    spectators see.
    """

    folder: Path
    web: WebSettings
    name: str | None = None
    delay_s: float | None = None
    nats_host: str = "0.0.0.0"
    nats_port: int = 4222
    keep_mb: int = 2048
    language: str = "auto"


class KnownTable(msgspec.Struct, frozen=True):
    """A table that has joined: its name in subjects, its number and name for people, its public
    NKey.

    `waits`: the host has not let it in yet. `shut`: it may say nothing any more. `closed`: no game
    begins at it.
    """

    id: str
    number: int
    name: str
    key: str
    shut: bool = False
    closed: bool = False
    waits: bool = False


class HubFile(msgspec.Struct, frozen=True):
    """All that the hub remembers.

    `seed` is its own NKey. Whoever has it may do everything at its NATS.

    `pairs` are the last `MAX_PAIRS` games at two tables, the newest last: results may come later.
    `asked` are the settings that tables have not answered yet, by the tables' names in subjects.
    """

    seed: str
    signing_key: bytes
    host_key: bytes
    name: str = ""
    delay_s: float = 0.0
    tables: tuple[KnownTable, ...] = ()
    pairs: tuple[Pair, ...] = ()
    asked: Mapping[str, SettingsAsked] = {}

    def pair(self, game: str) -> Pair | None:
        """Return the game at two tables by its id."""
        return next((pair for pair in self.pairs if pair.id == game), None)

    def pair_of(self, table: str) -> Pair | None:
        """Return the game that a table has agreed on last, unless the other one has left it for
        another.
        """
        pair = self._last_pair(table)
        if pair is None or self._last_pair(pair.other_of(table)) != pair:
            return None
        return pair

    def _last_pair(self, table: str) -> Pair | None:
        return next((pair for pair in self.pairs[::-1] if table in pair.tables.values()), None)

    def __repr__(self) -> str:
        return f"HubFile({len(self.tables)} tables)"


class HubFolder:
    """The file, written whole at every change. Any thread may ask. Raises `SystemTrouble`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / FILE
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = msgspec.json.decode(self._path.read_bytes(), type=HubFile)
        except FileNotFoundError:
            # the first run in this folder: keys are made once and for all
            self._file = _first()
            self._write(self._file)
        except (OSError, msgspec.MsgspecError) as error:
            raise SystemTrouble(
                say("{file} cannot be read: {error}", file=str(self._path), error=str(error))
            ) from None

    @property
    def now(self) -> HubFile:
        """Return what it remembers."""
        return self._file

    def knows(self, table: str) -> bool:
        """Return whether a table of this name in subjects has joined. Asked with everything that
        tables tell.
        """
        return any(known.id == table for known in self._file.tables)

    def change(self, make: Callable[[HubFile], HubFile]) -> HubFile:
        """Remember something else. On the disk before it holds."""
        with self._lock:
            fresh = make(self._file)
            self._write(fresh)
            self._file = fresh
        return fresh

    def join(self, name: str, key: str) -> KnownTable:
        """Add a table with this public key: it gets the lowest number that is free. Raises
        `SystemTrouble`.
        """

        def add(file: HubFile) -> HubFile:
            if len(file.tables) >= MAX_TABLES:
                raise SystemTrouble(
                    say("This hub has {number} tables and takes no more.", number=MAX_TABLES)
                )
            numbers = {table.number for table in file.tables}
            number = next(number for number in range(1, MAX_TABLES + 1) if number not in numbers)
            table = KnownTable(secrets.token_hex(8), number, name, key, waits=True)
            return msgspec.structs.replace(file, tables=(*file.tables, table))

        return self.change(add).tables[-1]

    def alter(
        self, number: int, make: Callable[[KnownTable], KnownTable | None]
    ) -> KnownTable | None:
        """Change a table, or let it go (None). Return it as it was, None: there is none."""
        known = next((table for table in self._file.tables if table.number == number), None)
        if known is None:
            return None

        def altered(file: HubFile) -> HubFile:
            tables = []
            for table in file.tables:
                fresh = make(table) if table.number == number else table
                if fresh is not None:
                    tables.append(fresh)
            return msgspec.structs.replace(file, tables=tuple(tables))

        self.change(altered)
        return known

    def _write(self, file: HubFile) -> None:
        try:
            replace_file(self._path, msgspec.json.encode(file))
        except OSError as error:
            raise SystemTrouble(
                say(
                    "{file} cannot be written: {error}",
                    file=str(self._path),
                    error=why_refused(error),
                )
            ) from None


def existing_folder(folder: Path) -> HubFolder:
    """Return the folder of a hub that has run. Raises `SystemTrouble` where none has."""
    folder = folder.expanduser()
    if not (folder / FILE).exists():
        raise SystemTrouble(f"No hub has run in {folder}: name its folder with --folder")
    return HubFolder(folder)


def public_key(seed: str) -> str:
    """Return the public half of an NKey."""
    public: bytes = nkeys.from_seed(bytearray(seed.strip().encode())).public_key
    return public.decode()


def _first() -> HubFile:
    seed: bytes = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER)
    return HubFile(seed.decode(), secrets.token_bytes(32), secrets.token_bytes(32))
