"""Reads and changes the settings file as a careful person would: comments and order stay.

A setting has a dotted name such as `web.port`: the section and the name in TOML. Whoever reads the
file gets a digest of it, and has to give that digest for a change. So nobody overwrites what
somebody else has written to the file in the meantime.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from companion.core.config import Settings, parse_settings, settings_from_tree
from companion.core.errors import ConfigError, Malformed, Stale, SystemTrouble
from companion.core.files import MAX_TEXT_BYTES, describe_os_error, read_file, replace_file
from companion.core.i18n import say

# Sections with the pins of a pad. If such a section is in the file, it replaces all defaults of
# that pad. So it is always written completely.
PAD_SECTIONS = ("panel.south", "panel.north")


@dataclass(frozen=True)
class FileContents:
    """The contents of a settings file."""

    settings: Settings
    """Its settings, with defaults for those that it does not name."""
    digest: str
    """Digest of its bytes. Empty if there is no file, or if the file is empty."""


class SettingsFile:
    """One TOML file. It need not exist: the first change creates it.

    An object keeps nothing of the file in memory, so there may be several for the same file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> FileContents:
        """Return the current contents. Raises `ConfigError` for a wrong or unreadable file."""
        content = self._read_content()
        return FileContents(
            parse_settings(_decode(content, self.path), str(self.path)), _digest(content)
        )

    def change(self, changes: Mapping[str, object], digest: str) -> Settings:
        """Write some values and return the new settings of the file.

        If the file has these values already, it is not written. If this raises, the file has not
        changed. It raises `Stale` if the file no longer has this digest, `ConfigError` for values
        that do not fit and for a file that cannot be read or edited, and `SystemTrouble` if the
        file cannot be written.

        :param changes: values by dotted name, such as `{"table.theme": "dark"}`. None removes the
            entry
        :param digest: the digest that `read` has returned
        """
        content = self._read_content()
        if _digest(content) != digest:
            raise Stale(
                say(
                    "Somebody else has changed the file in the meantime. Nothing was written: "
                    "check the values again."
                )
            )
        text = _decode(content, self.path)
        old = parse_settings(text, str(self.path))
        changes = {
            key: value for key, value in changes.items() if values_by_name(old).get(key) != value
        }
        if not changes:
            return old
        new = with_changes(old, changes)
        written = edit_text(text, new, changes)
        if written is None:
            raise ConfigError(
                say(
                    "{file} is written in a way that only a person can change: edit it by hand.",
                    file=str(self.path),
                )
            )
        self._write(written.encode())
        return new

    def copy_aside(self) -> None:
        """Copy the file to `settings.before-reset.toml` beside it. Raises `SystemTrouble`."""
        aside = self.path.with_name(f"{self.path.stem}.before-reset{self.path.suffix}")
        with _write_errors(self.path):
            if self.path.exists():
                aside.unlink(missing_ok=True)
                shutil.copy(self.path, aside)  # keeps the mode

    def reset_to(self, values: Mapping[str, object]) -> Settings:
        """Replace the file by a new one with only these values. Return its settings.

        Raises `ConfigError` and `SystemTrouble`.

        :param values: values by dotted name
        """
        new = with_changes(Settings(), values)
        self._write((edit_text("", new, values) or "").encode())
        return new

    def replace(self, content: bytes) -> None:
        """Replace the whole file. Raises `ConfigError` for wrong content, and `SystemTrouble`."""
        parse_settings(_decode(content, self.path), str(self.path))
        self._write(content)

    def _read_content(self) -> bytes:
        try:
            return read_file(self.path, MAX_TEXT_BYTES)
        except FileNotFoundError:
            return b""
        except OSError as error:
            text = say(
                "{file} cannot be read: {why}", file=str(self.path), why=describe_os_error(error)
            )
            raise ConfigError(text) from None

    def _write(self, content: bytes) -> None:
        path = self.path.resolve()  # a symbolic link stays one
        with _write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # Nobody else may read a new file, since it may have passwords.
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
            replace_file(path, content, mode)


def values_by_name(settings: Settings) -> dict[str, Any]:
    """Return all values by their dotted names, as TOML has them.

    >>> values_by_name(Settings())["web.port"]
    8080
    """
    return dict(_flatten(msgspec.to_builtins(settings), ""))


def with_changes(settings: Settings, changes: Mapping[str, object]) -> Settings:
    """Return settings with some values changed. Raises a `ConfigError` that names a wrong entry."""
    tree = msgspec.to_builtins(settings)
    for key, value in changes.items():
        *sections, name = key.split(".")
        branch = tree
        for section in sections:
            branch = branch[section]
        branch[name] = value
    return settings_from_tree(_without_none(tree), "settings")


# ---- helpers -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Turn errors of the disk into `SystemTrouble` with a sentence."""
    try:
        yield
    except OSError as error:
        why = describe_os_error(error)
        text = say(
            "{file} cannot be written ({why}): nothing has changed.", file=str(path), why=why
        )
        raise SystemTrouble(text) from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:24] if content else ""


def _decode(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(say("{file}: not UTF-8 text", file=str(path))) from None


def _flatten(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield all values in a tree of sections, with their dotted names."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", list(value) if isinstance(value, tuple) else value


def _without_none(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tree without the entries that are None, which TOML cannot express."""
    values = {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in tree.items()
    }
    return {name: value for name, value in values.items() if value is not None}


def edit_text(text: str, new: Settings, changes: Mapping[str, object]) -> str | None:
    """Return the text of a settings file with some values changed, and all else as it was.

    None if the text cannot be edited in that way: TOML can be written in forms that the library
    does not edit, so the result is parsed and compared with `new`.

    :param new: settings that the text should have afterwards
    :param changes: the changed values by dotted name
    """
    import tomlkit  # noqa: PLC0415 - only who changes the file needs it
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415 - as above

    try:
        document = tomlkit.parse(text)
        for key, value in _complete_pads(document, new, changes).items():
            _set_entry(document, key, value)
        written = tomlkit.dumps(document)
        return written if parse_settings(written) == new else None
    except (TOMLKitError, ConfigError, Malformed, TypeError, KeyError, AttributeError, ValueError):
        return None


def _complete_pads(
    document: Any, new: Settings, changes: Mapping[str, object]
) -> dict[str, object]:
    """Return the changes. If one creates the section of a pad, add the pad's other wired pins.

    Without those pins the section would leave them unwired (see `PAD_SECTIONS`).
    """
    complete = dict(changes)
    new_values = values_by_name(new)
    for section in PAD_SECTIONS:
        seat = section.removeprefix("panel.")
        is_changed = any(key.startswith(f"{section}.") for key in changes)
        if not is_changed or seat in document.get("panel", {}):
            continue
        for key, value in new_values.items():
            if key.startswith(f"{section}."):
                complete[key] = value
                # A pin that is not wired has no entry.
                if value in ("", [], ()):
                    del complete[key]
    return complete


def _set_entry(document: Any, key: str, value: object) -> None:
    """Change one entry in place, or add it to its table, or add its table to the file."""
    import tomlkit  # noqa: PLC0415 - only who changes the file needs it

    *sections, name = key.split(".")
    branch = document
    for depth, section in enumerate(sections, start=1):
        if section not in branch:
            if value is None:
                return
            # A table that only holds other tables gets no heading of its own.
            branch[section] = tomlkit.table(is_super_table=depth < len(sections))
        branch = branch[section]
    if value is None:
        branch.pop(name, None)
        return
    branch[name] = tomlkit.item(value)
