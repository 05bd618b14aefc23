"""The last game and each game's last options, as the owner chose them, in a file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from companion.core.files import MAX_TEXT_BYTES, read_file, replace_file


class _StoredChoices(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the file: the last game that was started, and the options of every game."""

    last: str = ""
    options: dict[str, dict[str, Any]] = {}


class LastChoices:
    """The owner's last choices in one JSON file, or only in memory without a path.

    The lobby offers them again. They are a convenience, so a file error never stops anything.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._stored = _StoredChoices()
        if path is not None:
            # Without a readable file the lobby offers the defaults.
            with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self._stored = msgspec.json.decode(
                    read_file(path, MAX_TEXT_BYTES), type=_StoredChoices
                )

    @property
    def game(self) -> str:
        """The game that was started last. Empty if there is none."""
        return self._stored.last

    def options(self, game: str) -> Mapping[str, Any] | None:
        """Return the options with which a game was last started. None if it never was."""
        return self._stored.options.get(game)

    def remember(self, game: str, options: Mapping[str, Any]) -> None:
        """Store the last game and its options."""
        self._stored = _StoredChoices(game, {**self._stored.options, game: dict(options)})
        if self._path is not None:
            with suppress(OSError):
                replace_file(self._path, msgspec.json.encode(self._stored))
