"""What is sent of a table is read strictly: a table that sends anything else is refused, and harms
nobody.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from companion.core.errors import Malformed
from companion.core.i18n import LANGUAGES, Verbatim, say, say_n, sentence_to_json, translate
from companion.core.kit import Seat
from companion.core.messages import MAX_MESSAGE_BYTES
from companion.table.public.messages import (
    PublicRecord,
    PublicState,
    PublicView,
    decode_record,
    decode_state,
    encode_public,
    unpack_sentence,
)
from companion.table.session import Phase


def record(sign: Any, mark: str = "0123456789ab") -> bytes:
    return encode_public(
        PublicRecord(1, mark, 0, "begin", 1, 0.0, PublicView(Phase.ORDERS, sign=sign))
    )


@pytest.mark.parametrize(
    "said",
    [
        say("{side!c} wins", side=say("lime")),
        say_n("{n} minute late.", "{n} minutes late.", 3),
        say("{name}’s {piece}", name=Verbatim("Mara"), piece=say("ball")),
        say("Wait."),
    ],
)
def test_sentences_arrive_in_every_language(said: str) -> None:
    back = unpack_sentence(msgspec.json.decode(record(sentence_to_json(said)))["view"]["sign"])
    for language in LANGUAGES:
        assert translate(back, language) == translate(said, language)


@pytest.mark.parametrize(
    "sign",
    [
        {"say": "{a.__class__}", "many": "", "parts": {"a": "x"}},
        {"say": "{a:>999999999}", "many": "", "parts": {"a": "x"}},
        {"say": "{a!r}", "many": "", "parts": {"a": "x"}},
        {"say": "{a}", "many": "", "parts": {}},
        {"say": "{n}", "many": "{n}s", "parts": {"n": "many"}},
        {"say": "x", "many": "", "parts": {"a": {"say": "{b.c}", "many": "", "parts": {"b": 1}}}},
        {"typed": 3},
        {"else": "x"},
        17,
        None,
    ],
)
def test_sentences_that_format_more_are_refused(sign: Any) -> None:
    with pytest.raises(Malformed, match="holds a sentence that cannot be read"):
        decode_record(record(sign))
    with pytest.raises(Malformed, match="holds a sentence that cannot be read"):
        decode_state(encode_public(PublicState("1", health=sign)))


def growing(times: int, levels: int) -> Any:
    """Return a sentence that names its part so many times, on so many levels."""
    grown: Any = "x"
    for _ in range(levels):
        grown = {"say": "{a}" * times, "many": "", "parts": {"a": grown}}
    return grown


def test_memory_filling_sentences_are_refused_unfilled() -> None:
    for grown in (growing(3, 2), growing(1, 9)):
        with pytest.raises(Malformed, match="holds a sentence that cannot be read"):
            decode_record(record(grown))
        with pytest.raises(Malformed, match="holds a sentence that cannot be read"):
            unpack_sentence(grown)
    assert len(unpack_sentence(growing(2, 8))) == 2**8


def test_no_messages_and_large_ones_are_refused() -> None:
    for payload in (b"", b"{}", b"\xff", record("ok")[:-1] + b', "more": 1}'):
        for read in (decode_record, decode_state):
            with pytest.raises(Malformed, match="cannot be read"):
                read(payload)
    with pytest.raises(Malformed, match="too large"):
        decode_record(record("x" * MAX_MESSAGE_BYTES))


@pytest.mark.parametrize("mark", ["", "0123456789AB", "pair.0011223344556677"])
def test_a_mark_names_the_tables_own_input(mark: str) -> None:
    """Else it could be what another table's game is called, whose result would then be there
    already.
    """
    with pytest.raises(Malformed, match="cannot be read"):
        decode_record(record("Wait.", mark))


@pytest.mark.parametrize("number", [-1, 2**53 + 1])
def test_a_number_that_nobody_can_keep_is_refused(number: int) -> None:
    told = msgspec.json.decode(record(""))
    view, state = told["view"], msgspec.json.decode(encode_public(PublicState("1")))
    for message in (
        told | {"entry": number},
        told | {"view": view | {"turn": number}},
        told | {"view": view | {"score": (0, 0, number)}},
    ):
        with pytest.raises(Malformed, match="cannot be read"):
            decode_record(msgspec.json.encode(message))
    with pytest.raises(Malformed, match="cannot be read"):
        decode_state(msgspec.json.encode(state | {"answers": number}))


@pytest.mark.parametrize(
    "state",
    [
        PublicState("1" * 201),
        PublicState("1", {Seat.SOUTH: "x" * 201}),
    ],
)
def test_endless_names_and_versions_are_refused(state: PublicState) -> None:
    with pytest.raises(Malformed, match="cannot be read"):
        decode_state(encode_public(state))
