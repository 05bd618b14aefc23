"""Test that what comes from outside grows little when it is read.

No message takes more than twenty times its size, in memory and in the sentences made of it. So
nobody can fill the memory of a hub or a table by small messages.
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

MAX_GROWTH = 20
# Memory that reading takes for any content: tables of decoders, patterns, rules of a game.
BASE_BYTES = 300_000


def measure_cost(read: Callable[[Any], object], content: Any) -> int:
    """Return what reading or refusing a content costs.

    That is the peak of memory in bytes, plus the length of the sentences that `read` returns, or of
    the refusal in all languages.
    """
    for language in set(LANGUAGES) - {"en"}:
        load_catalogue(language)
    with suppress(CompanionError):
        read(content)  # fills the caches, which are not measured
    gc.collect()
    tracemalloc.start()
    try:
        try:
            text = read(content)
        except CompanionError as error:
            text = "".join(translate(error.message, language) for language in LANGUAGES)
        peak = tracemalloc.get_traced_memory()[1]
        return peak + (len(text) if isinstance(text, str) else 0)
    finally:
        tracemalloc.stop()


# ---- costly values anywhere in JSON --------------------------------------------------------------


def costly_values(size: int) -> dict[str, Any]:
    """Return values whose JSON has about this size, and which are costly to hold."""
    return {
        "lists": [[]] * (size // 3),
        "texts": [f"{number:02x}" for number in range(size // 5)],
        "wide": "a" * (size - 4) + "\U0001f600",
        "keys": {f"{number:x}": 1 for number in range(size // 9)},
        "long number": int("9" * 4000),
        "sentences": [{"say": "{a}" * 60, "many": "", "parts": {"a": "x" * 60}}] * (size // 300),
    }


VALUE_NAMES = sorted(costly_values(3000))
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


def read_record(payload: bytes) -> str:
    """Return all sentences of a record, in every language."""
    view = decode_record(payload).view
    sentences = (view.title, view.step, view.sign, view.why, view.result, *view.happened)
    return "".join(
        translate(unpack_sentence(sentence), language)
        for sentence in sentences
        if sentence
        for language in LANGUAGES
    )


def read_state(payload: bytes) -> str:
    """Return all sentences of a table's report, in every language."""
    state = decode_state(payload)
    sentences = (state.health, *state.notices, *state.wrong, state.answer)
    return "".join(
        translate(unpack_sentence(sentence), language)
        for sentence in sentences
        if sentence
        for language in LANGUAGES
    )


# By what is filled with costly values: how the message is read, an example of a message, and the
# path of the value that is replaced.
MESSAGES: dict[str, tuple[Callable[[bytes], object], Any, tuple[str, ...]]] = {
    "what happened": (read_record, RECORD, ("view", "happened")),
    "options of a record": (read_record, RECORD, ("view", "options")),
    "notices of a table": (read_state, STATE, ("notices",)),
    "names from a hub": (decode_command, COMMAND, ("wish", "pairing", "names")),
    "another table's message": (
        lambda payload: decode_remote_message("g", 1, payload),
        REMOTE,
        ("message",),
    ),
}


def with_value(message: Any, path: tuple[str, ...], value: Any) -> bytes:
    """Return the JSON of a message with another value at this path."""
    changed = json.loads(json.dumps(message))
    parent = changed
    for name in path[:-1]:
        parent = parent[name]
    parent[path[-1]] = value
    return json.dumps(changed, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("value_name", VALUE_NAMES)
@pytest.mark.parametrize("place", MESSAGES)
def test_no_message_grows_beyond_its_bound(place: str, value_name: str) -> None:
    read, message, path = MESSAGES[place]
    value = costly_values(24_000)[value_name]
    for filled in (value, {"x": value, "south": value}):
        content = with_value(message, path, filled)
        assert measure_cost(read, content) <= BASE_BYTES + MAX_GROWTH * len(content)
