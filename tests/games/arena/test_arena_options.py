"""Tests of Robot Arena's boards and options, its notation, and its refusals."""

from __future__ import annotations

import pytest
from arena_tools import GAME, SOUTH, start

from companion.core.errors import Illegal, Malformed
from companion.games.arena.state import Reason

# ---- boards and options --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"board": ""}, "The board is empty"),
        ({"board": "n..\nS.."}, "no start for South: mark at least one square with “s”"),
        ({"board": "n..\ns."}, "Line 2 of the board has 2 tiles"),
        ({"board": "n.x\ns.."}, "“x” in line 1"),
        ({"board": "n" + "." * 12 + "\ns" + "." * 12}, "at most 12 x 12"),
        ({"board": "n........\nsssssssss"}, "9 starts of South, but a side has at most 8"),
        ({"max_robots": 2}, "3 starts of South, but a side has at most 2 robots: take starts away"),
        ({"max_robots": 9}, "max_robots"),
        ({"friendly": "8"}, "friendly"),
    ],
)
def test_a_wrong_option_is_refused_with_its_place(options: dict[str, object], message: str) -> None:
    with pytest.raises(Malformed, match=message):
        GAME.options(options)


def test_every_option_can_be_set_on_pages() -> None:
    rows = {row.name for row in GAME.option_rows}
    # Only the lesson chooses a start.
    assert rows == set(GAME.options_type.__struct_fields__) - {"start"}
    assert next(row for row in GAME.option_rows if row.name == "board").free_text
    assert [row.name for row in GAME.option_rows if not row.house_rule] == ["board", "turns"]


# ---- notation and refusals -----------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1:N", "1:aN 2:aE 3:aS 4:aW 5:D 6:X 7:- 8:E", "2:S 8:W", "5:-"])
def test_notation_is_read_and_written_alike(text: str) -> None:
    assert GAME.format(GAME.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            "“” is not an order: write a robot from 1 to 8, a colon, "
            "and one of N E S W aN aE aS aW D X -",
        ),
        ("1:Q", "“1:Q” is not an order"),
        ("9:N", "“9:N” is not an order"),
        ("1:aD", "“1:aD” is not an order"),
        (" 1:N", "“” is not an order"),
        ("1:N\n", "“1:N\n” is not an order"),
        # An Arabic digit 1.
        ("١:N", "is not an order"),
        ("1:N" * 9, "“1:N1:N1:N1:N…” is not an order"),
        ("1:N 1:S", "Robot 1 comes after robot 1: list the robots in rising order, each once"),
    ],
)
def test_malformed_text_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(Malformed) as refused:
        GAME.parse(text)
    assert message in refused.value.message


# By reason: South's action at the start, and the sentence that refuses it.
REFUSALS = {
    Reason.NOT_ON_BOARD: (
        "1:N 4:N",
        "Petrol robot 4 is not on the board: give orders to robots that are (1, 2, 3)",
    )
}


@pytest.mark.parametrize("reason", Reason)
def test_every_refusal_has_a_sentence_and_a_rule(reason: Reason) -> None:
    text, sentence = REFUSALS[reason]
    with pytest.raises(Illegal) as refused:
        GAME.check(start(), SOUTH, GAME.parse(text))
    assert refused.value.reason is reason
    assert refused.value.message == sentence
    assert refused.value.rule in {rule.id for rule in GAME.rules}
