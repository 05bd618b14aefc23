"""What comes from outside grows little when it is read: nothing costs twenty times its size, in
memory or in words.
"""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hub_room import played_records

from companion.core.errors import CompanionError
from companion.core.i18n import LANGUAGES, load_catalogue, translate
from companion.core.kit import Seat
from companion.hub.commands import (
    DesiredState,
    HubCommand,
    RoundGame,
    decode_command,
    encode_command,
)
from companion.table.public.messages import (
    PublicState,
    decode_record,
    decode_state,
    encode_public,
    unpack_sentence,
)
from companion.table.remote.messages import (
    ActionOpened,
    RemoteGame,
    RemoteSeat,
    decode_remote_message,
)

MOST_TIMES = 20
# Memory that reading takes whatever is read: decoders' tables, patterns, a game's rules.
BASE_BYTES = 300_000


def cost(read: Callable[[Any], object], content: Any) -> int:
    """Return the bytes at the peak of reading, kept or refused, with what is said of it."""
    for language in set(LANGUAGES) - {"en"}:
        load_catalogue(language)
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


# ---- what may stand anywhere in JSON -------------------------------------------------------------


def fillings(most: int) -> dict[str, Any]:
    """Return costly values of some size."""
    return {
        "lists": [[]] * (most // 3),
        "texts": [f"{number:02x}" for number in range(most // 5)],
        "wide": "a" * (most - 4) + "\U0001f600",
        "keys": {f"{number:x}": 1 for number in range(most // 9)},
        "long number": int("9" * 4000),
        "sentences": [{"say": "{a}" * 60, "many": "", "parts": {"a": "x" * 60}}] * (most // 300),
    }


FILLINGS = sorted(fillings(3000))
RECORD = json.loads(encode_public(played_records("outbuffered", 6, 1)[-1]))
STATE = json.loads(encode_public(PublicState("1.0.0")))
COMMAND = json.loads(
    encode_command(
        HubCommand(desired_state=DesiredState("a", pairing=RoundGame("Cup", 1, {}, "scouts")))
    )
)
REMOTE = json.loads(
    RemoteGame(RemoteSeat("g", Seat.NORTH), (ActionOpened(1, "UUS", "a"),)).encode_message(1)
)


def as_record(payload: bytes) -> str:
    view = decode_record(payload).view
    said = (view.title, view.step, view.sign, view.why, view.result, *view.happened)
    return "".join(
        translate(unpack_sentence(each), language)
        for each in said
        if each
        for language in LANGUAGES
    )


def as_state(payload: bytes) -> str:
    state = decode_state(payload)
    said = (state.health, *state.notices, *state.wrong, state.answer)
    return "".join(
        translate(unpack_sentence(each), language)
        for each in said
        if each
        for language in LANGUAGES
    )


MESSAGES: dict[str, tuple[Callable[[bytes], object], Any, tuple[str, ...]]] = {
    "what happened": (as_record, RECORD, ("view", "happened")),
    "options of a record": (as_record, RECORD, ("view", "options")),
    "notices of a table": (as_state, STATE, ("notices",)),
    "names from a hub": (decode_command, COMMAND, ("wish", "pairing", "names")),
    "another table's message": (
        lambda payload: decode_remote_message("g", 1, payload),
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
    for filled in (value, {"x": value, "south": value}):
        content = with_value(message, path, filled)
        assert cost(read, content) <= BASE_BYTES + MOST_TIMES * len(content)
