"""Tests of BINMAT's notation and options, and of what screens show of the full game."""

from __future__ import annotations

from typing import Any

import pytest
from binmat_tools import GAME, start, with_cards

from companion.core.errors import Malformed
from companion.core.kit import SEATS
from companion.games.binmat.actions import ACTION_PARTS
from companion.games.binmat.cards import DECK
from companion.games.binmat.events import ATTACKER, DEFENDER
from companion.games.screen import CardChoice, Count

# ---- notation and options ------------------------------------------------------------------------


def test_every_action_is_written_as_read() -> None:
    # A pass, draws from 6 lanes and the attacker deck, and combats. Then for each card: plays face
    # down and face up in 6 lanes, and discards to 6 lanes and the attacker discard.
    assert len(ACTION_PARTS) == 1 + 7 + 6 + 78 * (6 + 6 + 7)
    for text in ACTION_PARTS:
        assert GAME.format(GAME.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "An action is d3 or da, p8&3"),
        ("d", "d needs a lane from 0 to 5, or a"),
        ("c6", "c needs a lane from 0 to 5"),
        ("p11&3", "p needs a card and a lane from 0 to 5, such as p8&3"),
        ("p8&a", "p needs"),
        ("u>+", "u needs a card and a lane from 0 to 5, such as u>\\+2"),
        ("x8&6", "x needs a card and a lane from 0 to 5, or a"),
    ],
)
def test_wrong_notation_says_what_was_expected(text: str, expected: str) -> None:
    with pytest.raises(Malformed, match=expected):
        GAME.parse(text)


def test_a_ten_may_be_written_as_10() -> None:
    assert [GAME.parse(text) for text in ("p10&3", "u10#0", "x10!a")] == ["pa&3", "ua#0", "xa!a"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edition": "2021"}, "Invalid enum value '2021' - at `\\$.edition`"),
        ({"turns": 1}, ">= 2"),
        ({"turns": 999}, "<= 998"),
        ({"deck": [*DECK[1:], "X"]}, "Option deck: expected each of the 78 cards once"),
    ],
)
def test_options_that_make_no_game_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Malformed, match=message):
        GAME.options(options)


def test_an_overlong_turn_passes_or_only_sounds() -> None:
    assert GAME.on_timeout(start(), DEFENDER) == "--"
    assert GAME.on_timeout(start(timeout="alarm"), DEFENDER) is None


# ---- screens and kit -----------------------------------------------------------------------------


def test_the_tableau_offers_exactly_the_legal_actions() -> None:
    state = with_cards(start(), 2, attack="5& @^", defence="4^", south="8& >+")
    own_ui = GAME.card_ui(state, DEFENDER)
    assert own_ui
    assert [choice.text for choice in own_ui.choices] == list(GAME.legal_actions(state, DEFENDER))
    assert CardChoice("u>+2", "up", ">+", "2") in own_ui.choices
    assert CardChoice("c2", "combat", None, "2") in own_ui.choices
    assert CardChoice("--", "pass") in own_ui.choices
    assert {choice.key for choice in own_ui.choices} <= {key.name for key in own_ui.keys}
    other_ui = GAME.card_ui(state, ATTACKER)
    assert other_ui
    assert other_ui.choices == ()


def test_the_tableau_shows_counts_piles_and_words() -> None:
    state = with_cards(
        start(),
        2,
        attack="5& @^",
        defence="4^",
        south="8&",
        north="3& 4&",
        attacker_deck="9&",
        discard="7^",
    )
    card_ui = GAME.card_ui(state, DEFENDER)
    assert card_ui
    assert card_ui.count == Count(110, 110, "turns left")
    assert (card_ui.acting, card_ui.sign) == ("defender", "Defender: draw, play or declare combat")
    lane = card_ui.lanes[2]
    assert (lane.name, lane.north, lane.south, lane.discard) == (
        "2",
        (None, None),
        ("4^",),
        ("7^",),
    )
    assert card_ui.lanes[5].deck == (None,) * 12 + ("2#",)  # the top card, which is the last
    assert card_ui.piles == {"Attacker deck": (None,), "Attacker discard": ()}
    assert card_ui.hands == {DEFENDER: ("8&",), ATTACKER: (None, None)}
    assert card_ui.facts == {DEFENDER: "hand 1", ATTACKER: "hand 2, deck 1"}
    assert [key.name for key in card_ui.keys] == ["down", "up", "draw", "combat", "pass"]


def test_the_sign_names_kinds_of_possible_actions() -> None:
    """The sign depends only on what everybody can see, so it reveals nothing of a hand's cards."""
    for state, invitation in (
        (with_cards(start()), "draw a card"),
        (with_cards(start(), south="8&"), "draw or play"),
        (with_cards(start(), 2, attack="5&", south="8&"), "draw, play or declare combat"),
        (with_cards(start(edition="hackmud"), 2, attack="5&", south="8&"), "draw or play"),
    ):
        for viewer in (None, *SEATS):
            card_ui = GAME.card_ui(state, viewer)
            assert card_ui
            assert card_ui.sign == f"Defender: {invitation}"
