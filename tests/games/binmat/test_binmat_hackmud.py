"""What differs in the hackmud edition: every sentence of the ruling on it is a test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from binmat_tools import GAME, at, attacking, every_card, play, plays, refused, start, texts

from companion.games.binmat.cards import DECK, parse_cards
from companion.games.binmat.combat import ATTACKER, DEFENDER, Combat, Edition, Fight, resolve
from companion.games.binmat.orders import Reason
from companion.games.binmat.state import State


def fresh(**options: Any) -> State:
    return start(edition="hackmud", **options)


def fought(attacker: str, defender: str, **more: Any) -> Combat:
    return resolve(Fight(parse_cards(attacker), parse_cards(defender), **more), Edition.HACKMUD)


# ---- decks ----------------------------------------------------------------------------------------------------


def test_the_top_cards_of_lanes_3_4_and_5_lie_face_up_always_also_after_a_reshuffle() -> None:
    after = play(at(fresh(), 4, deck="", discard="2& 3& 4&"), "d4").state
    assert after.are_open == (False, False, False, True, True, True)
    seen = GAME.view(after, None)["lanes"][4]["deck"]
    assert seen == [after.decks[4][0], "X"]
    assert play(at(fresh(), 1, deck="", discard="2& 3& 4&"), "d1").state.are_open[1] is False


def test_the_attacker_who_draws_from_a_lane_with_deck_and_discard_pile_empty_wins() -> None:
    step = play(attacking(at(fresh(), 1, deck="")), "d1")
    assert step.state.outcome
    assert step.state.outcome.winners == {ATTACKER}
    assert texts(step) == [
        "Attacker draws from lane 1, which is empty.",
        "Lane 1 has no card left to draw.",
    ]
    assert step.state.turns_left == 108


def test_only_as_his_action_and_only_in_an_open_lane_and_never_the_defender() -> None:
    assert refused(at(fresh(), 1, deck=""), "d1")[0] is Reason.NOTHING_TO_DRAW
    defended = attacking(at(fresh(), 1, deck="", defence="5&"))
    assert refused(defended, "d1")[0] is Reason.LANE_DEFENDED
    assert refused(attacking(fresh()), "da")[0] is Reason.NOTHING_TO_DRAW


def test_an_empty_open_lane_counts_as_drawable_for_the_attacker_out_of_cards() -> None:
    state = fresh()
    for lane in range(1, 5):
        state = at(state, lane, defence=DECK[lane * 13])
    empty = at(state, 0, deck="", south="2#")
    assert play(empty, "p2#5").state.outcome is None
    shut = play(at(empty, 0, defence="3&"), "p2#5").state
    assert shut.outcome
    assert shut.outcome.winners == {DEFENDER}


# ---- who starts combat -----------------------------------------------------------------------------------------


def test_only_the_attacker_declares_combat() -> None:
    state = at(fresh(), 2, attack="8^", defence="4&")
    words = "Only the attacker declares combat in the hackmud edition"
    assert refused(state, "c2") == (Reason.ATTACKER_ONLY, words)
    assert play(attacking(state), "c2").stages


def test_a_face_up_break_of_the_defender_starts_combat() -> None:
    state = at(fresh(), 2, attack="2^ @^", defence="4& @&", south=">&")
    step = play(state, "u>&2")
    assert texts(step)[3:5] == [
        "Defender’s @& takes @^ to the lane discard.",
        "Attacker has 2: power 1.",
    ]


def test_an_attackers_face_up_bounce_on_an_empty_stack_starts_combat_and_traps_act() -> None:
    state = attacking(at(fresh(), 2, defence="4^ @^", north="?&"))
    step = play(state, "u?&2")
    assert "Defender’s @^ takes ?& to the lane discard." in texts(step)
    assert step.stages
    assert (step.state.defence[2], step.state.is_up[2], step.state.discards[2]) == (
        ("4^", "@^"),
        True,
        ("?&",),
    )
    bounced = play(attacking(at(fresh(), 2, defence="4^ ?^", north="?&")), "u?&2").state
    assert (bounced.discards[2], bounced.attacker_discard, bounced.defence[2]) == (
        ("?&",),
        ("?^",),
        ("4^",),
    )
    assert (
        plays(attacking(at(fresh(), 2, attack="5^", north="?&")), "?&")
        == "p0 u0 p1 u1 p2 p3 u3 p4 u4 p5 u5"
    )
    full = attacking(at(fresh(), 2, attack="5^", north="?&"))
    assert refused(full, "u?&2")[0] is Reason.STACK_NOT_EMPTY


def test_the_attacker_plays_any_card_face_up_and_it_stays_open_without_combat() -> None:
    state = attacking(at(fresh(), 1, attack="3^", defence="4&", north="7& @& 9+"))
    step = play(state, "u@&1")
    assert texts(step) == ["Attacker plays @& face up in lane 1."]
    assert not step.stages
    assert step.state.attack_up == {"@&"}
    later = play(step.state, "--", "p7&1", "--", "u9+0").state
    for viewer, stack in (
        (None, ["X", "@&", "X"]),
        (DEFENDER, ["X", "@&", "X"]),
        (ATTACKER, ["3^", "@&", "7&"]),
    ):
        lane = GAME.view(later, viewer)["lanes"][1]
        assert (lane["attacker"], lane["attacker_open"]) == (stack, [False, True, False])
    assert GAME.is_reversible(state, ATTACKER, "u@&1")
    assert refused(replace(state, options=start().options), "u7&1")[0] is Reason.WRONG_FACE


def test_a_trap_that_lay_open_does_not_spring_and_one_face_down_does() -> None:
    state = attacking(at(fresh(), 1, attack="3^", defence="4& 5&", north="@& @^ 8+"))
    step = play(state, "u@&1", "--", "p@^1", "--", "c1")
    assert "Attacker’s @& does nothing." in texts(step)
    assert "Attacker’s @^ takes 5& to the attacker discard." in texts(step)
    assert step.state.attack_up == frozenset()


def test_the_defender_may_open_a_stack_with_a_card_face_up() -> None:
    state = at(fresh(), 2, south="?& 8& >&")
    after = play(state, "u?&2").state
    assert (after.defence[2], after.is_up[2]) == (("?&",), True)
    assert play(state, "p?&2").state.is_up[2] is False
    assert refused(state, "u>&2")[0] is Reason.STACK_EMPTY
    assert refused(at(start(), 2, south="8&"), "u8&2")[0] is Reason.WRONG_FACE


def test_combat_with_an_empty_attacker_stack_does_nothing_but_what_the_defenders_bounces_do() -> (
    None
):
    state = attacking(at(fresh(), 2, defence="4& ?^ @^"))
    after = play(state, "c2").state
    assert (after.defence[2], after.is_up[2], after.attacker_discard) == (
        ("4&", "@^"),
        True,
        ("?^",),
    )
    for stack in ("5&", "4&"):
        step = play(attacking(at(fresh(), 2, defence=stack)), "c2")
        assert (step.state.defence[2], step.state.is_up[2], step.state.hands[1]) == (
            (stack,),
            True,
            (),
        )
    assert refused(attacking(fresh()), "c2") == (
        Reason.NO_ATTACKER_STACK,
        "Lane 2 has no stack: combat needs one",
    )
    assert refused(attacking(at(start(), 2, defence="4&")), "c2")[0] is Reason.NO_ATTACKER_STACK


# ---- damage ---------------------------------------------------------------------------------------------------


def test_when_both_powers_are_0_there_is_no_damage_and_only_the_attacker_stack_is_discarded() -> (
    None
):
    for attacker in ("3&", "3& >&"):
        combat = fought(attacker, "5^ >^")
        assert (combat.damage, combat.due) == (0, 0)
        assert combat.to_attacker_discard == parse_cards(attacker)
        assert (combat.to_lane_discard, combat.defender) == ((), ("5^", ">^"))


@pytest.mark.parametrize(
    ("attacker", "defender", "damage"),
    [
        ("8& >&", "5^ 6^", 3),
        ("2& >&", "5^ 6^ 9^ 7^", 4),
        ("8&", "5^ 6^ >^", 3),
        ("8&", "5^ 6^ >^ 9! 7!", 5),
        ("2& >&", "", 1),
        ("8&", "4^", 2),
        ("8&", "8^", 1),
    ],
)
def test_a_break_in_either_stack_makes_the_damage_the_larger_of_power_and_defender_cards(
    attacker: str, defender: str, damage: int
) -> None:
    assert fought(attacker, defender).damage == damage


def test_a_weaker_attacker_with_a_break_does_nothing() -> None:
    combat = fought("2& >&", "8^ 8!")
    assert (combat.damage, combat.to_lane_discard) == (0, ("2&", ">&"))


def test_damage_reshuffles_the_lanes_discard_pile_trapped_cards_included() -> None:
    state = attacking(at(fresh(), 2, attack="8^ 3!", defence="@&", deck="2&", discard="9&"))
    step = play(state, "c2")
    assert "Defender’s @& takes 3! to the lane discard." in texts(step)
    assert step.state.outcome is None, (
        "damage 4: the defender stack, the deck, and both of the discard pile"
    )
    assert sorted(step.state.hands[1]) == ["2&", "3!", "9&"]
    assert (step.state.decks[2], step.state.discards[2]) == ((), ())
    assert texts(step)[-2:] == [
        "Lane 2’s discard pile becomes its deck.",
        "Attacker draws 3 cards from lane 2.",
    ]


def test_damage_wins_only_when_a_card_is_due_and_deck_and_discard_pile_are_empty() -> None:
    state = attacking(at(fresh(), 2, attack="8^", deck="2&", discard="9& 3&"))
    step = play(state, "c2")
    assert step.state.outcome
    assert step.state.outcome.winners == {ATTACKER}
    assert step.state.outcome.reason == "Lane 2 owes 4 and has only 3."
    assert len(step.state.hands[1]) == 3
    assert play(at(state, 2, discard="9& 3& 4&"), "c2").state.outcome is None


# ---- discarding ------------------------------------------------------------------------------------------------


def test_the_defender_may_discard_a_card_to_a_lane_discard_pile() -> None:
    step = play(at(fresh(), south="8& a#"), "xa#3")
    assert (step.state.discards[3], step.state.hands[0]) == (("a#",), ("8&",))
    assert texts(step) == ["Defender discards 10# to lane 3."]
    assert refused(at(fresh(), south="8&"), "x8&a")[0] is Reason.OTHER_PILE
    assert refused(at(fresh(), south="8&"), "x9&3") == (
        Reason.NOT_IN_HAND,
        "9& is not in your hand",
    )


def test_the_attacker_may_discard_a_card_and_then_draws_two_from_the_attacker_deck() -> None:
    step = play(attacking(at(fresh(), north="8&", attacker_deck="2# 3# 4#")), "x8&a")
    assert step.state.hands[1] == ("2#", "3#")
    assert (step.state.attacker_deck, step.state.attacker_discard) == (("4#",), ("8&",))
    assert texts(step) == ["Attacker discards 8& and draws two from the attacker deck."]
    assert (
        refused(attacking(at(fresh(), north="8&", attacker_deck="2#")), "x8&3")[0]
        is Reason.OTHER_PILE
    )


def test_the_attackers_discard_needs_a_card_in_deck_or_pile_and_may_come_back() -> None:
    assert refused(attacking(at(fresh(), north="8&")), "x8&a")[0] is Reason.NOTHING_TO_DRAW
    for held in (
        at(fresh(), north="8&", attacker_deck="2#"),
        at(fresh(), north="8&", attacker_discard="2#"),
    ):
        after = play(attacking(held), "x8&a").state
        assert sorted(after.hands[1]) == ["2#", "8&"]
        assert (after.attacker_deck, after.attacker_discard) == ((), ())


def test_the_rulebook_edition_knows_no_discarding() -> None:
    state = at(start(), south="8&")
    assert refused(state, "x8&3") == (
        Reason.OTHER_EDITION,
        "Cards are discarded only in the hackmud edition",
    )


# ---- passing ---------------------------------------------------------------------------------------------------


def test_the_second_pass_in_a_row_costs_the_attackers_hand_newest_card_first() -> None:
    state = attacking(at(fresh(), north="8& 9& a&", attacker_discard="2#"))
    once = play(state, "--").state
    assert once.hands[1] == ("8&", "9&", "a&")
    step = play(once, "--", "--")
    assert step.state.hands[1] == ()
    assert step.state.attacker_discard == ("2#", "a&", "9&", "8&")
    assert texts(step) == ["Attacker passes.", "Attacker loses the hand: 10& 9& 8&."]


def test_it_costs_the_defenders_hand_each_card_to_the_smallest_lane_discard_the_lowest_on_a_tie() -> (
    None
):
    state = at(fresh(), 0, discard="2#", south="8& 9& a&")
    for lane, pile in ((1, "3#"), (3, "4# 5#"), (4, "6# 7#"), (5, "8# 9#")):
        state = at(state, lane, discard=pile)
    after = play(state, "--", "d0", "--").state
    assert after.discards == (
        ("2#", "9&"),
        ("3#", "8&"),
        ("a&",),
        ("4#", "5#"),
        ("6#", "7#"),
        ("8#", "9#"),
    )


def test_every_further_pass_in_a_row_costs_it_too_and_an_action_ends_the_row() -> None:
    state = at(fresh(), south="8&")
    twice = play(state, "--", "d0", "--", "d0").state
    assert (twice.hands[0], twice.passes) == ((), (2, 0))
    assert play(at(twice, south="9&"), "--").state.hands[0] == (), "the third"
    acted = play(twice, "d1", "d0", "--").state
    assert len(acted.hands[0]) == 1, "the first again"
    assert acted.passes == (1, 0)


def test_the_other_players_passes_and_an_empty_hand_do_not_matter() -> None:
    step = play(at(fresh(), south="8&"), "d0", "--", "--")
    assert len(step.state.hands[0]) == 2
    assert texts(play(fresh(), "--", "d0", "--")) == ["Defender passes."]


def test_a_timed_out_pass_is_a_pass() -> None:
    state = play(at(fresh(), south="8&"), "--", "d0").state
    action = GAME.on_timeout(state, DEFENDER)
    assert action
    assert play(state, action).state.hands[0] == ()


def test_the_rulebook_edition_lets_everybody_pass() -> None:
    assert play(at(start(), south="8&"), "--", "d0", "--", "d0", "--").state.hands[0] == ("8&",)


def test_a_refused_action_costs_nothing() -> None:
    state = at(fresh(), south="8&")
    before = replace(state)
    refused(state, "p9&3")
    assert state == before
    assert GAME.to_act(state) == {DEFENDER}
    assert len(every_card(state)) == 79, "the deal and the card put into the hand"


# ---- combats as the game's own logs tell them ------------------------------------------------------------------------

RECORDED = (
    ("2& 2# / 2! 3!", "2 0 3 / 2& 2# xa / 3! 2! xa / 4! ha"),
    ("@# 8% / 7& 4!", "a@ / 4! xa", "3 0 4 / @# 8% xa / 7& xa / 2& 3& 5& ha"),
    ("@# 8% / 7& @!", "a@ / @! xa", "3 0 4 / @# 8% xa / 7& xa / 2& 3& 5& ha"),
    ("8% 2& / 4& @!", "d@ / 2& x", "3 2 2 / 8% xa / @! 4& xa"),
    ("8% 2& / 4&u @!u", "0 2 - / 8% 2& x"),
    ("3& / 4^", "0 2 - / 3& x"),
    ("3& / 5^", "0 0 0 / 3& xa"),
    ("2# ?& / ", "a? / ?& x", "0 0 0 / 2# xa"),
    ("3# / ?% ?! 2^", "d? / ?! ?% xa", "0 1 - / 3# xa"),
    ("2# / 4^ >^", "1 2 - / 2# x"),
    ("8# / 3^ 4! >^", "3 0 3 / 8# xa / >^ 4! 3^ xa"),
    ("3# / @^", "d@ / 3# x", "0 0 0 /  xa"),
    ("3# / 4^ @^", "d@ / 3# x", "0 2 - /  x"),
    ("@#u 3& / 4^", "0 2 - / @# 3& x"),
    (" / 4!", "0 2 - /  x"),
    (" / 5!", "0 0 0 /  xa"),
    (" / 4! ?%", "d? / ?% xa", "0 2 - /  xa"),
    (" / 4! @%", "0 2 - /  x"),
    ("2# >&u / ", "1 0 1 / 2# >&u xa / X ha"),
    ("?&u / 4^ ?!", "a? / ?&u x", "d? / ?! xa", "0 2 - /  xa"),
    (" / 2!u", "0 1 - /  x"),
    (" / ?!u", "d? / ?! xa", "0 0 - /  xa"),
    ("2#u @#u 8# / 4^", "0 2 - / 2# @# 8# x"),
)
"""Lines of logs: both stacks, bottom first, `u` behind cards that lay open; what sprang or bounced and where it went;
powers, damage, and where the other cards went (`xa` attacker discard, `x` lane discard, `ha` drawn)."""


@pytest.mark.parametrize("lines", RECORDED)
def test_recorded_combats_end_as_their_logs_say(lines: tuple[str, ...]) -> None:
    attacker, defender = (side.split() for side in lines[0].split("/"))
    fight = Fight(
        parse_cards(" ".join(attacker).replace("u", "")),
        parse_cards(" ".join(defender).replace("u", "")),
        ATTACKER,
        any(card.endswith("u") for card in defender),
        frozenset(card[:-1] for card in attacker if card.endswith("u")),
    )
    combat = resolve(fight, Edition.HACKMUD)
    gone: dict[str, list[str]] = {"xa": [], "x": [], "ha": []}
    *sprung, result = lines[1:]
    for part in [line.split(" / ")[1] for line in sprung] + result.split(" / ")[1:]:
        *cards, place = part.replace("u", "").split()
        gone[place] += cards
    assert sorted(combat.to_attacker_discard) == sorted(gone["xa"])
    assert sorted(combat.to_lane_discard) == sorted(gone["x"])
    assert combat.due == len(gone["ha"])
    if combat.attack and combat.defence:
        powers = f"{combat.attack.power} {combat.defence.power}"
        assert result.startswith(f"{powers} {combat.damage or '-'}") or result.startswith(
            f"{powers} 0"
        )
