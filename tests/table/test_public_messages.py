"""Test that public messages of a table are checked strictly when they are read.

A hub reads them, and refuses a message that is malformed, malicious or too large.
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


def encode_with_sign(sign: Any, mark: str = "0123456789ab") -> bytes:
    """Encode a public record with this sign, and with this mark of its input."""
    return encode_public(
        PublicRecord(1, mark, 0, "begin", 1, 0.0, PublicView(Phase.ORDERS, sign=sign))
    )


@pytest.mark.parametrize(
    "sentence",
    [
        say("{side!c} wins", side=say("lime")),
        say_n("{n} minute late.", "{n} minutes late.", 3),
        say("{name}’s {piece}", name=Verbatim("Mara"), piece=say("ball")),
        say("Wait."),
    ],
)
def test_sentences_arrive_in_every_language(sentence: str) -> None:
    message = msgspec.json.decode(encode_with_sign(sentence_to_json(sentence)))
    received = unpack_sentence(message["view"]["sign"])
    for language in LANGUAGES:
        assert translate(received, language) == translate(sentence, language)


# First patterns whose placeholders ask for an attribute, a width or a conversion of a part, or for
# a part that is missing or is no number. Then such a pattern inside of another one. At last values
# that are no sentence at all.
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
def test_sentences_with_other_placeholders_are_refused(sign: Any) -> None:
    with pytest.raises(Malformed, match="holds a sentence that cannot be read"):
        decode_record(encode_with_sign(sign))
    with pytest.raises(Malformed, match="holds a sentence that cannot be read"):
        decode_state(encode_public(PublicState("1", health=sign)))


def nested_sentence(times: int, levels: int) -> Any:
    """Return a sentence that repeats its part on each level: it is `times ** levels` long."""
    sentence: Any = "x"
    for _ in range(levels):
        sentence = {"say": "{a}" * times, "many": "", "parts": {"a": sentence}}
    return sentence


def test_too_deep_and_repetitive_sentences_are_refused() -> None:
    """At most eight sentences may be nested, and each may name a part twice.

    So the whole is at most 256 times as long as the innermost part. A pattern that names a part
    three times is refused, and so is one level more.
    """
    for sentence in (nested_sentence(times=3, levels=2), nested_sentence(times=1, levels=9)):
        with pytest.raises(Malformed, match="holds a sentence that cannot be read"):
            decode_record(encode_with_sign(sentence))
        with pytest.raises(Malformed, match="holds a sentence that cannot be read"):
            unpack_sentence(sentence)
    assert len(unpack_sentence(nested_sentence(times=2, levels=8))) == 2**8


def test_malformed_and_large_messages_are_refused() -> None:
    for payload in (b"", b"{}", b"\xff", encode_with_sign("ok")[:-1] + b', "more": 1}'):
        for read in (decode_record, decode_state):
            with pytest.raises(Malformed, match="cannot be read"):
                read(payload)
    state = msgspec.json.decode(encode_public(PublicState("1")))
    with pytest.raises(Malformed, match="cannot be read"):
        decode_state(msgspec.json.encode(state | {"more": 1}))
    with pytest.raises(Malformed, match="too large"):
        decode_record(encode_with_sign("x" * MAX_MESSAGE_BYTES))


@pytest.mark.parametrize("mark", ["", "0123456789AB", "pair.0011223344556677"])
def test_a_mark_of_another_form_is_refused(mark: str) -> None:
    """A mark must not look like the id under which a hub stores the result of a game.

    A table could otherwise send a mark that makes another table's result seem to be there already.
    """
    with pytest.raises(Malformed, match="cannot be read"):
        decode_record(encode_with_sign("Wait.", mark))


@pytest.mark.parametrize("number", [-1, 2**53 + 1])
def test_numbers_out_of_range_are_refused(number: int) -> None:
    """A browser counts exactly up to 2**53, and nothing is counted below 0."""
    valid = msgspec.json.decode(encode_with_sign(""))
    view = valid["view"]
    for message in (
        valid | {"entry": number},
        valid | {"epoch": number},
        valid | {"view": view | {"turn": number}},
        valid | {"view": view | {"score": (0, 0, number)}},
    ):
        with pytest.raises(Malformed, match="cannot be read"):
            decode_record(msgspec.json.encode(message))


@pytest.mark.parametrize(
    "state",
    [
        PublicState("1" * 201),
        PublicState("1", {Seat.SOUTH: "x" * 201}),
    ],
)
def test_too_long_names_and_versions_are_refused(state: PublicState) -> None:
    with pytest.raises(Malformed, match="cannot be read"):
        decode_state(encode_public(state))
