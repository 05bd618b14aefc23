"""What comes from outside grows little when it is read: nothing costs twenty times its size, in memory or in words."""

from __future__ import annotations

import gc
import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from history_tools import made_game
from hub_room import played_records

from companion.archive.game_files import check_game, read_game
from companion.core.clock import FakeClock
from companion.core.config import Settings, read_settings
from companion.core.errors import CompanionError
from companion.core.i18n import LANGUAGES, catalogue_of, translate
from companion.core.names import plain_name
from companion.games import GAMES
from companion.hub.commands import HubCommand, HubWish, PairedGame, encoded_command, read_command
from companion.maintenance.backup import make_backup, stage_restore
from companion.maintenance.games_file import read_games
from companion.storage.journal import Journal
from companion.table.public.messages import (
    PublicState,
    encode_public,
    read_record,
    read_state,
    words,
)
from companion.table.remote.messages import OrderOpened, encode_message, read_message

MOST_TIMES = 20
BASE_BYTES = 300_000
"""What reading costs whatever is read: decoders' tables, patterns, a game's rules."""


def cost(read: Callable[[Any], object], content: Any) -> int:
    """Bytes at the peak of reading, with what is said of it, kept or refused."""
    for language in set(LANGUAGES) - {"en"}:
        catalogue_of(language)
    with suppress(CompanionError):
        read(content)  # what is made once is made now
    gc.collect()
    tracemalloc.start()
    try:
        try:
            told = read(content)
        except CompanionError as error:
            told = "".join(translate(error.message, language) for language in LANGUAGES)
        peak = tracemalloc.get_traced_memory()[1]
        return peak + (len(told) if isinstance(told, str) else 0)
    finally:
        tracemalloc.stop()


def assert_small(read: Callable[[Any], object], content: Any) -> None:
    spent = cost(read, content)
    assert spent <= BASE_BYTES + MOST_TIMES * len(content), (
        f"{spent / len(content):.1f} times {len(content)} bytes"
    )


# ---- what may stand anywhere in JSON -----------------------------------------------------------------------------------


def fillings(most: int) -> dict[str, Any]:
    """Values that cost much, of some size."""
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    return {
        "lists": [[]] * (most // 3),
        "deep": [deep] * (most // 420),
        "texts": [f"{number:02x}" for number in range(most // 5)],
        "wide": "a" * (most - 4) + "\U0001f600",
        "keys": {f"{number:x}": 1 for number in range(most // 9)},
        "numbers": [0.5] * (most // 4),
        "long number": int("9" * 4000),
        "sentences": [{"say": "{a}" * 60, "many": "", "parts": {"a": "x" * 60}}] * (most // 300),
    }


FILLINGS = sorted(fillings(3000))
RECORD = json.loads(encode_public(played_records("outbuffered", 6, 1)[-1]))
STATE = json.loads(encode_public(PublicState("1.0.0", 1.0)))
COMMAND = json.loads(
    encoded_command(HubCommand(wish=HubWish("a", pairing=PairedGame("Cup", 1, {}, "scouts"))))
)
REMOTE = json.loads(encode_message("g", 1, OrderOpened(1, "UUS", "a")))


def as_record(payload: bytes) -> str:
    view = read_record(payload).view
    said = (view.title, view.step, view.sign, view.why, view.result, *view.happened)
    return "".join(
        translate(words(each), language) for each in said if each for language in LANGUAGES
    )


def as_state(payload: bytes) -> str:
    state = read_state(payload)
    said = (state.health, *state.notices, *state.wrong, state.answer)
    return "".join(
        translate(words(each), language) for each in said if each for language in LANGUAGES
    )


def as_command(payload: bytes) -> str:
    command = read_command(payload)
    assert command.wish is not None
    assert command.wish.pairing is not None
    names = command.wish.pairing.names.values()
    return "".join(translate(words(name), language) for name in names for language in LANGUAGES)


MESSAGES: dict[str, tuple[Callable[[bytes], object], Any, tuple[str, ...]]] = {
    "what happened": (as_record, RECORD, ("view", "happened")),
    "options of a record": (as_record, RECORD, ("view", "options")),
    "layout of a record": (as_record, RECORD, ("view", "layout")),
    "notices of a table": (as_state, STATE, ("notices",)),
    "names from a hub": (as_command, COMMAND, ("wish", "pairing", "names")),
    "settings from a hub": (as_command, COMMAND, ("settings",)),
    "another table's message": (
        lambda payload: read_message("g", 1, payload),
        REMOTE,
        ("message",),
    ),
}


def with_value(message: Any, path: tuple[str, ...], value: Any) -> bytes:
    changed = json.loads(json.dumps(message))
    place = changed
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return json.dumps(changed, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("place", MESSAGES)
def test_no_message_grows(place: str, filling: str) -> None:
    read, message, path = MESSAGES[place]
    value = fillings(24_000)[filling]
    for content in (
        with_value(message, path, value),
        with_value(message, path, {"x": value, "south": value}),
    ):
        assert_small(read, content)


def test_words_grow_no_more_than_their_message() -> None:
    """The smallest message is not the one that says most."""
    for times in (1, 10, 60):
        sentence = {"say": "{a}" * times, "many": "", "parts": {"a": "x" * (4000 // times)}}
        payload = with_value(STATE, ("notices",), [sentence] * 4)
        with suppress(CompanionError):
            assert len(as_state(payload)) <= MOST_TIMES * len(payload)


# ---- games and backups --------------------------------------------------------------------------------------------------

GAME = json.loads(msgspec.json.encode(made_game("scouts", 1, 2)))


def bring_in(content: bytes) -> None:
    check_game(read_game(content))


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("place", ["options", "turns", "players"])
def test_no_game_that_is_brought_in_grows(place: str, filling: str) -> None:
    value = fillings(300_000)[filling]
    for content in (with_value(GAME, (place,), value), with_value(GAME, (place,), {"x": value})):
        assert_small(bring_in, content)


@pytest.mark.parametrize(
    "text",
    ["[Game scouts]\n" * 20_000, "1. " * 90_000, "[" * 300_000, "{" * 300_000, "\n" * 300_000],
)
def test_no_notation_of_a_game_grows(text: str) -> None:
    assert_small(bring_in, text.encode())


@pytest.mark.parametrize("filling", FILLINGS)
def test_no_line_of_a_backup_grows(tmp_path: Path, filling: str) -> None:
    options = {"x": fillings(300_000)[filling]}
    record = {"is": "new_game", "game": "scouts", "number": 1, "seed": 1, "options": options}
    line = {
        "line": "input",
        "id": 1,
        "game": 1,
        "at": 1.0,
        "run": 1,
        "now_s": 1.0,
        "record": record,
    }
    content = json.dumps(line, separators=(",", ":")).encode()

    def read(text: bytes) -> None:
        (tmp_path / "journal.sqlite").unlink(missing_ok=True)
        read_games(io.BytesIO(text), tmp_path / "journal.sqlite", 10**9)

    assert_small(read, content)


@pytest.mark.parametrize(
    "name", ["games.jsonl", "settings.toml", "choices.json", "photographs/1/{}.1.jpg"]
)
def test_no_backup_that_is_packed_tightly_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def unpack(*_: object) -> None:
        raise AssertionError("it is unpacked")

    Journal(tmp_path / "journal.sqlite").close()
    settings, file = Settings(state_dir=str(tmp_path)), tmp_path / "settings.toml"
    whole, given = io.BytesIO(), tmp_path / "given.zip"
    make_backup(settings, file, FakeClock(), False, whole)
    with (
        zipfile.ZipFile(whole) as source,
        zipfile.ZipFile(given, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for member in set(source.namelist()) - {name}:
            target.writestr(member, source.read(member))
        for number in range(20) if "{}" in name else (0,):
            target.writestr(
                name.format(number), b"\n" * (3_900_000 if "{}" in name else 50_000_000)
            )
    monkeypatch.setattr("companion.maintenance.backup.unpack", unpack)
    monkeypatch.setattr("companion.maintenance.backup.read_games", unpack)
    with pytest.raises(CompanionError):
        stage_restore(given, settings, file)


# ---- texts --------------------------------------------------------------------------------------------------------------

TEXTS = [
    "a" * 9_000,
    "[" * 9_000,
    "a1-" * 3_000,
    "^c3" * 3_000,
    "{a}" * 3_000,
    "9" * 9_000,
    "\U0001f600" * 2_000,
    "\n" * 9_000,
]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_notation_and_no_map_grows(game: str, text: str) -> None:
    played = GAMES[game]
    assert_small(played.parse, text)
    for name in ("board", "start", "course", "map"):
        assert_small(lambda given, name=name: played.options({name: given}), text)


@pytest.mark.parametrize(
    "text",
    [
        "a=" + "[[]," * 9_000,
        "a=" + "[" * 9_000,
        "[a.b]\n" * 6_000,
        "a.b.c.d=1\n" * 4_000,
        "a." * 9_000 + "b=1",
        "x='" + "a" * 36_000,
    ],
    ids=range(6),
)
def test_no_settings_grow(text: str) -> None:
    assert_small(read_settings, text)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_name_grows(text: str) -> None:
    assert_small(plain_name, text)
