"""Tests of BINMAT's combat, on `Combat` and on states of the game.

They follow the rulebook's sections "Combat" and "The Wild Modifier", and the rulings on them. A
card is its value and its suit: `@` is a TRAP, `*` a WILD, `?` a BOUNCE, `>` a BREAK, and `a` a ten.
"""

from typing import Any

import pytest
from binmat_tools import attacker_to_move, carry_out, start, with_cards
from step_tools import event_texts

from companion.core.errors import Malformed
from companion.games.base import Event
from companion.games.binmat.cards import DECK, SUITS, parse_card, parse_cards
from companion.games.binmat.combat import Combat, CombatSetup, sum_stack
from companion.games.binmat.events import ATTACKER, DEFENDER
from companion.games.binmat.state import Edition

RULEBOOK = Edition.RULEBOOK
HACKMUD = Edition.HACKMUD


def fight(attacker: str, defender: str, edition: Edition = RULEBOOK, **setup: Any) -> Combat:
    """Return the combat of two stacks, whose cards are listed from the bottom."""
    return Combat(CombatSetup(parse_cards(attacker), parse_cards(defender), **setup), edition)


def powers(combat: Combat) -> tuple[int, int]:
    return combat.sums[ATTACKER].power, combat.sums[DEFENDER].power


def events_of(combat: Combat, title: str) -> tuple[Event, ...]:
    """Return the events of the stage with this title."""
    return next(stage.events for stage in combat.stages if stage.title == title)


def texts_of(combat: Combat, title: str) -> list[str]:
    return [event.text for event in events_of(combat, title)]


# ---- The Binmat Deck -----------------------------------------------------------------------------


def test_the_deck_has_six_suits_of_thirteen() -> None:
    assert len(DECK) == len(set(DECK)) == 78
    for suit in SUITS:
        assert [card[0] for card in DECK if card[1] == suit] == list("23456789a@*?>")


def test_cards_are_parsed_strictly() -> None:
    assert parse_card("a#") == "a#"
    for text in ("", "5", "&5", "10&", "A&", "X", "5& ", "1&", "5$"):
        with pytest.raises(Malformed, match="is not a card: expected a value of 2 3 4 5 6 7 8 9 a"):
            parse_card(text)


# ---- Combat: reveal and TRAPs --------------------------------------------------------------------


def test_a_trap_takes_the_other_top_card() -> None:
    """The attacker has begun the combat, so the attacker's TRAP springs first.

    Then the defender's TRAP takes the top card of the attacker stack, which is that TRAP.
    """
    combat = fight("2& 6& @&", "4^ @^ 6^")
    assert combat.trapped == ("6^", "@&")
    assert texts_of(combat, "Traps") == [
        "Attacker’s @& takes 6^ to the attacker discard.",
        "Defender’s @^ takes @& to the lane discard.",
    ]
    assert (combat.to_attacker_discard[0], combat.to_lane_discard[0]) == ("6^", "@&")


def test_a_trap_that_lay_open_does_nothing() -> None:
    combat = fight("2& 6&", "4^ @^", is_defender_open=True)
    assert combat.trapped == ()
    (event,) = events_of(combat, "Traps")
    assert (event.text, event.why) == (
        "Defender’s @^ does nothing.",
        "It lay face up before the combat.",
    )


def test_a_trap_takes_nothing_from_empty_stacks() -> None:
    combat = fight("2& @&", "")
    assert combat.trapped == ()
    assert texts_of(combat, "Traps") == ["Attacker’s @& takes nothing."]


# ---- Combat: powers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stack", "total", "power"),
    [
        ("2&", 2, 1),
        ("3&", 3, 0),
        ("5& 3&", 8, 3),
        ("@& ># ?!", 0, 0),
        ("a& a% a+ a! a^ a# 4&", 64, 6),
        ("3& *&", 4, 2),
        ("4& *&", 8, 3),
        ("*&", 2, 1),
        ("*& *% *+", 8, 3),
    ],
)
def test_wilds_lift_sums_to_powers_of_two(stack: str, total: int, power: int) -> None:
    stack_sum = sum_stack(parse_cards(stack))
    assert (stack_sum.total, stack_sum.power) == (total, power)


def test_a_sum_is_explained_card_by_card() -> None:
    for stack, why in (
        ("*& *%", "*& counts 2, *% lifts it to 4."),
        ("3& *&", "3, *& lifts it to 4."),
        ("2& 3&", "2 + 3 = 5, 5 is not a power of two."),
        ("@&", "No card counts."),
        ("4&", None),
    ):
        assert events_of(fight(stack, ""), "Powers")[0].why == why


def test_a_stack_emptied_by_traps_damages_nothing() -> None:
    for edition in Edition:
        combat = fight("8&", "@^ 3^", edition)
        assert powers(combat) == (0, 0)
        assert (combat.damage, combat.cards_owed) == (0, 0)
        assert events_of(combat, "Damage")[0].why == "Attacker has lost all cards to TRAPs."
        assert combat.defender_stack == ("@^", "3^")


# ---- Combat in the game --------------------------------------------------------------------------


def test_either_side_may_declare_combat() -> None:
    state = with_cards(start(), 2, attack="8^", defence="4&")
    assert event_texts(carry_out(state, "c2"))[0] == "Defender declares combat in lane 2."
    assert (
        event_texts(carry_out(attacker_to_move(state), "c2"))[0]
        == "Attacker declares combat in lane 2."
    )


def test_a_combat_is_told_in_two_stages() -> None:
    """The first stage shows what TRAPs take, the second one the powers and the losses."""
    step = carry_out(with_cards(start(), 2, attack="8^ @^", defence="4& 3&", south="5#"), "c2")
    assert [stage.title for stage in step.stages] == ["Lane 2", "Lane 2"]
    assert [stage.headlines[0].text for stage in step.stages] == [
        "Attacker’s @^ takes 3& to the attacker discard.",
        "8 beats 4. Defender loses the stack.",
    ]
    assert [tally.worth for tally in step.stages[1].tallies] == ["power 3", "power 2"]


# ---- the tallies of a combat ---------------------------------------------------------------------


def test_tallies_show_cards_and_powers_of_two() -> None:
    attack, defence = next(
        stage.tallies for stage in fight("5& *% >+", "4^ 2#").stages if stage.title == "Powers"
    )
    assert attack.parts == (("5&", "5"), ("*%", "to 8"), (">+", "0"))
    assert (attack.total, attack.worth, attack.reached, attack.is_greater) == (
        "8",
        "power 3",
        3,
        True,
    )
    assert attack.ladder == (2, 4, 8, 16, 32)
    assert (defence.seat, defence.total, defence.reached, defence.is_greater) == (
        DEFENDER,
        "6",
        0,
        False,
    )
