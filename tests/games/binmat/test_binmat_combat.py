"""Combat: every sentence of the rulebook's sections "Combat" and "The Wild Modifier", and of the rulings on them."""

from typing import Any

import pytest
from binmat_tools import at, attacking, play, refused, start, texts
from hypothesis import given
from hypothesis import strategies as st

from companion.core.errors import Malformed
from companion.games.base import Event
from companion.games.binmat.cards import (
    DECK,
    SUITS,
    VALUES,
    card_text,
    cards_text,
    number_of,
    parse_card,
    parse_cards,
)
from companion.games.binmat.combat import (
    ATTACKER,
    DEFENDER,
    Combat,
    Edition,
    Fight,
    Trap,
    resolve,
    sum_of,
)
from companion.games.binmat.orders import Reason
from companion.games.binmat.sentences import sum_reason
from companion.games.binmat.tools import plain_combat
from companion.games.binmat.words import RULES

RULEBOOK, HACKMUD = Edition.RULEBOOK, Edition.HACKMUD


def fought(attacker: str, defender: str, edition: Edition = RULEBOOK, **more: Any) -> Combat:
    return resolve(Fight(parse_cards(attacker), parse_cards(defender), **more), edition)


def powers(combat: Combat) -> tuple[int, int]:
    assert combat.attack
    assert combat.defence
    return combat.attack.power, combat.defence.power


def events_of(combat: Combat, title: str) -> tuple[Event, ...]:
    return next(step.events for step in combat.steps if step.title == title)


def said(combat: Combat, title: str) -> list[str]:
    return [event.text for event in events_of(combat, title)]


# ---- The Binmat Deck ------------------------------------------------------------------------------------------


def test_the_binmat_deck_is_composed_of_78_cards_in_six_suits() -> None:
    assert len(DECK) == len(set(DECK)) == 78
    assert {card[1] for card in DECK} == set(SUITS)
    assert len(SUITS) == 6


def test_the_binmat_deck_has_thirteen_cards_a_suit_nine_of_them_numbers_2_to_10() -> None:
    for suit in SUITS:
        cards = [card for card in DECK if card[1] == suit]
        assert [card[0] for card in cards] == list("23456789a@*?>")
        assert [number_of(card) for card in cards] == [
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            9,
            10,
            None,
            None,
            None,
            None,
        ]


def test_cards_are_parsed_strictly() -> None:
    assert parse_card("a#") == "a#"
    for wrong in ("", "5", "&5", "10&", "A&", "X", "5& ", "1&", "5$"):
        with pytest.raises(Malformed, match="is not a card: expected a value of 2 3 4 5 6 7 8 9 a"):
            parse_card(wrong)


def test_cards_of_a_stack_are_parsed_with_blanks_between_and_each_once() -> None:
    assert parse_cards(" 5& 3%  >+ ") == ("5&", "3%", ">+")
    assert parse_cards("") == ()
    with pytest.raises(Malformed, match="5& is named twice: there is one of each card"):
        parse_cards("5& 3% 5&")


def test_people_read_10_and_notation_reads_a() -> None:
    assert (card_text("a&"), card_text("9#"), cards_text(("a&", ">+"))) == ("10&", "9#", "10& >+")


# ---- Combat: reveal and TRAPs ---------------------------------------------------------------------------------


def test_combat_reveals_the_cards_of_both_stacks() -> None:
    assert said(fought("5& 3%", "4^ a#"), "Cards open") == [
        "Attacker opens 5& 3%.",
        "Defender opens 4^ 10#.",
    ]
    assert said(fought("5&", ""), "Cards open") == [
        "Attacker opens 5&.",
        "Defender has no stack here.",
    ]
    assert (
        said(fought("5&", "4^", defender_open=True), "Cards open")[1]
        == "Defender’s 4^ lay face up before."
    )


def test_combat_attacker_trap_sends_the_defenders_top_card_to_the_attacker_discard() -> None:
    combat = fought("2& @&", "4^ 6^")
    assert combat.traps == (Trap(ATTACKER, "@&", "6^"),)
    assert said(combat, "Traps") == ["Attacker’s @& takes 6^ to the attacker discard."]
    assert combat.to_attacker_discard[0] == "6^"


def test_combat_defender_trap_sends_the_attackers_top_card_to_the_lane_discard() -> None:
    combat = fought("2& 6&", "4^ @^")
    assert combat.traps == (Trap(DEFENDER, "@^", "6&"),)
    assert said(combat, "Traps") == ["Defender’s @^ takes 6& to the lane discard."]
    assert combat.to_lane_discard[0] == "6&"


def test_combat_traps_act_for_each_trap_present() -> None:
    assert [trap.taken for trap in fought("@& @%", "4^ 6^ 8^").traps] == ["8^", "6^"]


def test_combat_traps_of_the_player_who_initiated_act_first() -> None:
    assert fought("2& @&", "4^ @^").traps == (Trap(ATTACKER, "@&", "@^"),)
    assert fought("2& @&", "4^ @^", initiator=DEFENDER).traps == (Trap(DEFENDER, "@^", "@&"),)


def test_combat_a_trap_can_take_a_trap_which_then_does_not_act() -> None:
    combat = fought("@& 7&", "@^ @!")
    assert combat.traps == (Trap(ATTACKER, "@&", "@!"), Trap(DEFENDER, "@^", "7&"))


def test_combat_a_trap_not_turned_up_by_this_revealing_does_nothing() -> None:
    combat = fought("2& 6&", "4^ @^", defender_open=True)
    assert combat.traps == ()
    (idle,) = events_of(combat, "Traps")
    assert (idle.text, idle.why) == (
        "Defender’s @^ does nothing.",
        "It lay face up before the combat.",
    )


def test_combat_attacker_traps_act_although_the_defender_stack_lay_open() -> None:
    assert fought("2& @&", "4^ @^", defender_open=True).traps == (Trap(ATTACKER, "@&", "@^"),)


def test_combat_a_trap_finds_nothing_on_an_empty_stack() -> None:
    combat = fought("2& @&", "")
    assert combat.traps == (Trap(ATTACKER, "@&", None),)
    assert said(combat, "Traps") == ["Attacker’s @& takes nothing."]


def test_combat_counts_are_taken_after_the_traps() -> None:
    assert powers(fought("2& 6&", "@^")) == (1, 0)
    assert fought("2& ?&", "@^").bounced is False, "the BOUNCE was trapped"
    assert fought("4& >&", "@^ 9^").damage == 3, "the BREAK was trapped"
    assert fought("8& 3& >%", "@^ 2^ 3^ 5^ 7^", HACKMUD).damage == 0, "11 without the BREAK, and 17"


# ---- Combat: BOUNCE -------------------------------------------------------------------------------------------


def test_combat_bounce_of_the_attacker_goes_to_the_lane_discard_the_rest_to_the_attacker_discard() -> (
    None
):
    combat = fought("2& ?& 6&", "4^")
    assert combat.bounced
    assert (combat.attack, combat.defence, combat.damage, combat.due) == (None, None, 0, 0)
    assert (combat.to_lane_discard, combat.to_attacker_discard) == (("?&",), ("2&", "6&"))
    assert combat.defender == ("4^",)


def test_combat_bounce_of_the_defender_goes_to_the_attacker_discard_his_other_cards_stay() -> None:
    combat = fought("2& 6&", "4^ ?^ 5^ ?!")
    assert combat.bounced
    assert (combat.to_lane_discard, combat.to_attacker_discard) == ((), ("2&", "6&", "?^", "?!"))
    assert combat.defender == ("4^", "5^")
    assert said(combat, "Bounce")[-1] == "Defender keeps 4^ 5^, face up."


def test_combat_bounce_in_both_stacks() -> None:
    combat = fought("?& 6&", "?^")
    assert (combat.to_lane_discard, combat.to_attacker_discard, combat.defender) == (
        ("?&",),
        ("6&", "?^"),
        (),
    )
    assert events_of(combat, "Bounce")[0].why == "Both stacks hold a BOUNCE."


# ---- Combat: powers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stack", "total", "power"),
    [
        ("2&", 2, 1),
        ("4&", 4, 2),
        ("5& 3&", 8, 3),
        ("a& 6&", 16, 4),
        ("3&", 3, 0),
        ("5& 4&", 9, 0),
        ("", 0, 0),
        ("@& ># ?!", 0, 0),
        ("a& a% a+ a! a^ a# 4&", 64, 6),
        ("3& *&", 4, 2),
        ("4& *&", 8, 3),
        ("5& *& *%", 16, 4),
        ("*&", 2, 1),
        ("*& *%", 4, 2),
        ("*& *% *+", 8, 3),
        ("*& 3&", 4, 2),
        ("@& *&", 2, 1),
    ],
)
def test_combat_attack_power_is_the_exponent_of_a_sum_that_is_a_power_of_two(
    stack: str, total: int, power: int
) -> None:
    """The wild modifier lifts the sum to the next higher power of two."""
    its = sum_of(parse_cards(stack))
    assert (its.total, its.power) == (total, power)


def test_combat_a_lower_attack_power_sends_the_attacker_stack_to_the_lane_discard() -> None:
    combat = fought("2& >&", "4^")
    assert powers(combat) == (1, 2)
    assert (combat.damage, combat.due) == (0, 0)
    assert (combat.to_lane_discard, combat.to_attacker_discard) == (("2&", ">&"), ())
    assert combat.defender == ("4^",)
    assert said(combat, "Outcome")[-1] == "Defender keeps 4^, face up."


def test_combat_damage_is_the_difference_of_the_powers_and_one() -> None:
    assert fought("8&", "2^ 3^ 5^ 6^ 7^").damage == 4
    assert fought("8&", "4^").damage == 2
    assert fought("8&", "8^").damage == 1, "equal powers are enough"


def test_combat_damage_with_a_break_in_the_attacker_stack_is_its_power() -> None:
    assert fought("8& >&", "4^").damage == 3
    assert fought("8& >&", "8^").damage == 3
    assert fought("3& >&", "5^").damage == 0, "power 0"


def test_combat_damage_ignores_a_break_in_the_defender_stack_by_the_rulebook() -> None:
    assert fought("8&", "4^ >^").damage == 2


def test_combat_zero_against_zero_does_one_damage_by_the_rulebook() -> None:
    combat = fought("3&", "5^")
    assert powers(combat) == (0, 0)
    assert (combat.damage, combat.to_attacker_discard) == (1, ("5^", "3&"))


def test_combat_each_damage_sends_the_most_recently_played_card_to_the_attacker_discard() -> None:
    combat = fought("8& >&", "3^ 5^ 6^ 7^ 9^")
    assert combat.damage == 3
    assert combat.to_attacker_discard[:3] == ("9^", "7^", "6^")
    assert combat.defender == ("3^", "5^")


def test_combat_damage_beyond_the_stack_is_owed_by_the_lane_deck() -> None:
    combat = fought("a& 6&", "3^")
    assert (combat.damage, combat.due, combat.defender) == (5, 4, ())
    assert said(combat, "Damage")[2] == "The lane deck owes 4 cards."


def test_combat_the_attacker_stack_is_then_sent_to_the_attacker_discard() -> None:
    combat = fought("5& 3&", "")
    assert combat.to_attacker_discard == ("5&", "3&")
    assert combat.to_lane_discard == ()


def test_combat_an_attacker_stack_emptied_by_traps_does_no_damage() -> None:
    for edition in Edition:
        combat = fought("8&", "@^ 3^", edition)
        assert powers(combat) == (0, 0)
        assert (combat.damage, combat.due) == (0, 0)
        assert events_of(combat, "Damage")[0].why == "Attacker has lost all cards to TRAPs."
        assert combat.defender == ("@^", "3^")


def test_combat_needs_at_least_one_card_in_the_attacker_stack() -> None:
    with pytest.raises(Malformed, match="at least one card in the attacker stack"):
        resolve(Fight((), ("4^",)), Edition.RULEBOOK)


def test_combat_of_one_card_twice_is_refused() -> None:
    with pytest.raises(Malformed, match="4& appears twice"):
        Fight(("4&",), ("3&", "4&"))


# ---- The Wild Modifier ----------------------------------------------------------------------------------------


def test_the_wild_modifier_alone_is_a_2_card_and_further_ones_apply_as_normal() -> None:
    its = sum_of(("*&", "*%"))
    assert (its.parts, its.lifts) == ((("*&", "2"), ("*%", "to 4")), (("*&", 2), ("*%", 4)))


# ---- Combat in the game --------------------------------------------------------------------------------------


def test_combat_either_side_may_initiate_it() -> None:
    state = at(start(), 2, attack="8^", defence="4&")
    assert texts(play(state, "c2"))[0] == "Defender declares combat in lane 2."
    assert texts(play(attacking(state), "c2"))[0] == "Attacker declares combat in lane 2."
    reason, words = refused(state, "c1")
    assert (reason, words) == (
        Reason.NO_ATTACKER_STACK,
        "Lane 1 has no attacker stack: combat needs one",
    )


def test_combat_a_defender_stack_that_survives_stays_face_up_and_its_traps_are_spent() -> None:
    after = play(at(start(), 2, attack="2^", defence="4& @&"), "c2").state
    assert (after.defence[2], after.is_up[2], after.discards[2]) == (("4&", "@&"), True, ("2^",))
    again = play(at(after, 2, attack="2^"), "c2")
    assert "Defender’s @& does nothing." in texts(again)


def test_combat_a_card_of_a_face_up_lane_deck_is_named_and_none_below_it() -> None:
    step = play(at(start(), 4, attack="8^"), "c4")
    assert "Attacker draws 2^ and 3 more cards from lane 4." in texts(step)
    assert step.state.hands[1] == DECK[52:56]


def test_combat_comes_in_stages_that_tell_everything() -> None:
    step = play(at(start(), 2, attack="8^ @^", defence="4& 3&", south="5#"), "c2")
    assert [stage.title for stage in step.stages] == ["Lane 2", "Lane 2"]
    assert [stage.headlines[0].text for stage in step.stages] == [
        "Attacker’s @^ takes 3& to the attacker discard.",
        "8 beats 4. Defender loses the stack.",
    ]
    assert tuple(event for stage in step.stages for event in stage.events) == step.events
    assert all(stage.expected is None and stage.todo == () for stage in step.stages)
    assert [tally.worth for tally in step.stages[1].tallies] == ["power 3", "power 2"]


@pytest.mark.parametrize(
    ("attack", "defence", "shown"),
    [
        ("8^ @^", "4& 3&", {"8^": False, "@^": False, "4&": False, "3&": True}),
        ("?^ 8^", "4& 3&", {"?^": True, "8^": True, "4&": False, "3&": False}),
    ],
)
def test_traps_and_bounces_show_the_cards_and_cross_what_goes(
    attack: str, defence: str, shown: dict[str, bool]
) -> None:
    stage = play(at(start(), 2, attack=attack, defence=defence), "c2").stages[0]
    cards = {text: text in tally.lost for tally in stage.tallies for text, _ in tally.parts}
    assert cards == shown
    assert not any(tally.total for tally in stage.tallies)


# ---- the worked example, what is said, and JSON ----------------------------------------------------------------


def test_the_worked_example_of_the_rulings() -> None:
    combat = fought("5& 3% >+", "4^ 2#")
    assert powers(combat) == (3, 0)
    assert (combat.damage, combat.due) == (3, 1)
    assert combat.defender == ()
    assert combat.to_attacker_discard == ("2#", "4^", "5&", "3%", ">+")
    assert [step.title for step in combat.steps] == ["Cards open", "Powers", "Damage"]
    assert said(combat, "Powers") == ["Attacker has 8: power 3.", "Defender has 6: power 0."]
    assert [event.why for event in events_of(combat, "Powers")] == [
        "5 + 3 = 8.",
        "4 + 2 = 6, 6 is not a power of two.",
    ]
    assert said(combat, "Damage") == [
        "Attacker does 3 damage.",
        "Defender’s 2# 4^ go to the attacker discard.",
        "The lane deck owes 1 card.",
        "Attacker’s 5& 3% >+ go to the attacker discard.",
    ]
    assert events_of(combat, "Damage")[0].why == "Attacker has a BREAK: damage is the power, 3."


def test_tallies_show_each_card_and_fill_the_doubling_row() -> None:
    attack, defence = next(
        step.tallies for step in fought("5& *% >+", "4^ 2#").steps if step.title == "Powers"
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


def test_the_doubling_row_grows_when_a_power_is_beyond_it() -> None:
    stack = "a& a% a+ a! a^ a# *& *% *+ *! *^ *#"
    attack = next(step.tallies for step in fought(stack, "").steps if step.title == "Powers")[0]
    assert attack.reached == len(attack.ladder) == 11
    assert attack.ladder[-1] == int(attack.total) == 2048


def test_a_combat_in_plain_json() -> None:
    combat = plain_combat(fought("5& 3% >+", "4^ 2#"))
    assert (combat["attacker_sum"], combat["attacker_power"]) == (8, 3)
    assert (combat["edition"], combat["initiator"]) == ("rulebook", "attacker")
    assert (combat["damage"], combat["due"]) == (3, 1)
    assert combat["steps"][1]["title"] == "Powers"
    assert combat["steps"][1]["sentences"][0] == {
        "text": "Attacker has 8: power 3.",
        "why": "5 + 3 = 8.",
        "rule": "Attack power",
    }


@st.composite
def fights(draw: st.DrawFn) -> Fight:
    cards = draw(st.lists(st.sampled_from(DECK), min_size=1, max_size=16, unique=True))
    cut = draw(st.integers(1, len(cards)))
    seat = draw(st.sampled_from((ATTACKER, DEFENDER)))
    return Fight(tuple(cards[:cut]), tuple(cards[cut:]), seat, draw(st.booleans()))


@given(fights(), st.sampled_from(Edition))
def test_every_card_of_a_combat_ends_in_exactly_one_place(fight: Fight, edition: Edition) -> None:
    combat = resolve(fight, edition)
    after = combat.defender + combat.to_attacker_discard + combat.to_lane_discard
    assert sorted(after) == sorted(fight.attacker + fight.defender)
    assert not set(combat.defender) & set(fight.attacker)
    assert combat.due == 0 or (not combat.defender and combat.due <= combat.damage)


@given(fights(), st.sampled_from(Edition))
def test_powers_are_the_exponents_of_powers_of_two_only(fight: Fight, edition: Edition) -> None:
    combat = resolve(fight, edition)
    for its in (combat.attack, combat.defence):
        if its and its.power:
            assert its.total == 2**its.power
        elif its:
            assert its.total not in {2**power for power in range(20)}
            assert not any(card[0] == "*" for card, _ in its.parts), (
                "a WILD always makes a power of two"
            )


@given(fights(), st.sampled_from(Edition))
def test_a_combat_has_at_most_four_steps_of_short_sentences_with_rules(
    fight: Fight, edition: Edition
) -> None:
    combat = resolve(fight, edition)
    ids = {rule.id for rule in RULES}
    assert 2 <= len(combat.steps) <= 4
    assert all(step.events for step in combat.steps)
    assert {event.rule for event in combat.events} <= ids
    assert sum(len(step.tallies) for step in combat.steps) == (0 if combat.bounced else 2)


def test_values_are_written_as_in_the_deck() -> None:
    assert [card[0] for card in DECK[:13]] == list(VALUES)


@pytest.mark.parametrize(
    ("numbers", "lifts", "total", "power", "why"),
    [
        ((), (("*&", 2), ("*%", 4)), 4, 2, "*& counts 2, *% lifts it to 4."),
        ((3,), (("*&", 4),), 4, 2, "3, *& lifts it to 4."),
        ((2, 3), (), 5, 0, "2 + 3 = 5, 5 is not a power of two."),
        ((), (), 0, 0, "No card counts."),
        ((4,), (), 4, 2, None),
    ],
)
def test_why_a_stack_counts_so_much(
    numbers: tuple[int, ...],
    lifts: tuple[tuple[str, int], ...],
    total: int,
    power: int,
    why: str | None,
) -> None:
    assert sum_reason(numbers, lifts, total, power) == why
