"""The last game and each game's last options, as the host chose them. Stored on disk."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from companion.core.files import MAX_TEXT, read_file, replace_file

log = logging.getLogger(__name__)


class _StoredChoices(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the file: the last game that was started, and the options of every game."""

    last: str = ""
    options: dict[str, dict[str, Any]] = {}


class Choices:
    """The host's last choices in one JSON file, or only in memory without a path.

    They are a convenience, so a file error never stops anything.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._stored = _StoredChoices()
        if path is not None:
            try:
                self._stored = msgspec.json.decode(read_file(path, MAX_TEXT), type=_StoredChoices)
            except FileNotFoundError:
                pass  # nothing was chosen yet
            except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                log.warning(
                    "What was chosen last cannot be read from %s: the defaults are offered", path
                )

    @property
    def last(self) -> str:
        """Return the game that was started last. Empty if there is none."""
        return self._stored.last

    def options(self, game: str) -> Mapping[str, Any] | None:
        """Return the options with which a game was last started. None if it never was."""
        return self._stored.options.get(game)

    def remember(self, game: str, options: Mapping[str, Any]) -> None:
        """Store the last game and its options."""
        self._stored = _StoredChoices(game, {**self._stored.options, game: dict(options)})
        if self._path is None:
            return
        try:
            replace_file(self._path, msgspec.json.encode(self._stored))
        except OSError as error:
            log.warning("What was chosen cannot be remembered: %s", error.strerror or error)
