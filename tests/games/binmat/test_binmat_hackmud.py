"""Tests of what differs in BINMAT's hackmud edition, on states of the game.

`actions.py` explains the notation of actions, and `cards.py` that of cards. The last test compares
combats of both editions with logs of hackmud and with the rulebook.
"""

from __future__ import annotations

from typing import Any

import pytest
from binmat_tools import GAME, attacker_to_move, carry_out, start, with_cards
from step_tools import event_texts

from companion.games.binmat.cards import parse_cards
from companion.games.binmat.combat import Combat, CombatSetup
from companion.games.binmat.events import ATTACKER, DEFENDER
from companion.games.binmat.state import Edition, State


def start_hackmud(**options: Any) -> State:
    return start(edition="hackmud", **options)


# ---- decks ---------------------------------------------------------------------------------------


def test_open_decks_stay_open_after_a_reshuffle() -> None:
    after = carry_out(with_cards(start_hackmud(), 4, deck="", discard="2& 3& 4&"), "d4").state
    assert after.is_deck_open == (False, False, False, True, True, True)
    deck = GAME.view(after, None)["lanes"][4]["deck"]
    assert deck == [after.decks[4][0], "X"]
    after = carry_out(with_cards(start_hackmud(), 1, deck="", discard="2& 3& 4&"), "d1").state
    assert after.is_deck_open[1] is False


def test_drawing_from_an_empty_lane_wins() -> None:
    step = carry_out(attacker_to_move(with_cards(start_hackmud(), 1, deck="")), "d1")
    assert step.state.outcome
    assert step.state.outcome.winners == {ATTACKER}
    assert event_texts(step) == [
        "Attacker draws from lane 1, which is empty.",
        "Lane 1 has no card left to draw.",
    ]
    assert step.state.turns_left == 108


# ---- who starts combat ---------------------------------------------------------------------------


def test_the_defenders_open_break_starts_combat() -> None:
    state = with_cards(start_hackmud(), 2, attack="2^ @^", defence="4& @&", south=">&")
    step = carry_out(state, "u>&2")
    assert event_texts(step)[3:5] == [
        "Defender’s @& takes @^ to the lane discard.",
        "Attacker has 2: power 1.",
    ]


def test_an_open_bounce_starts_combat_with_traps() -> None:
    state = attacker_to_move(with_cards(start_hackmud(), 2, defence="4^ @^", north="?&"))
    step = carry_out(state, "u?&2")
    assert "Defender’s @^ takes ?& to the lane discard." in event_texts(step)
    assert step.stages
    assert (step.state.defender_stacks[2], step.state.is_defender_open[2]) == (("4^", "@^"), True)
    assert step.state.discards[2] == ("?&",)


def test_attackers_may_play_any_card_face_up() -> None:
    state = attacker_to_move(
        with_cards(start_hackmud(), 1, attack="3^", defence="4&", north="7& @& 9+")
    )
    step = carry_out(state, "u@&1")
    assert event_texts(step) == ["Attacker plays @& face up in lane 1."]
    assert not step.stages
    assert step.state.open_attacker_cards == {"@&"}
    later = carry_out(step.state, "--", "p7&1", "--", "u9+0").state
    for viewer, stack in (
        (None, ["X", "@&", "X"]),
        (DEFENDER, ["X", "@&", "X"]),
        (ATTACKER, ["3^", "@&", "7&"]),
    ):
        lane = GAME.view(later, viewer)["lanes"][1]
        assert (lane["attacker"], lane["attacker_open"]) == (stack, [False, True, False])
    assert GAME.is_reversible(state, ATTACKER, "u@&1")


def test_only_face_down_traps_spring() -> None:
    state = attacker_to_move(
        with_cards(start_hackmud(), 1, attack="3^", defence="4& 5&", north="@& @^ 8+")
    )
    step = carry_out(state, "u@&1", "--", "p@^1", "--", "c1")
    assert "Attacker’s @& does nothing." in event_texts(step)
    assert "Attacker’s @^ takes 5& to the attacker discard." in event_texts(step)
    assert step.state.open_attacker_cards == frozenset()


# ---- passing -------------------------------------------------------------------------------------


def test_a_second_pass_costs_the_attackers_hand() -> None:
    state = attacker_to_move(with_cards(start_hackmud(), north="8& 9& a&", attacker_discard="2#"))
    once = carry_out(state, "--").state
    assert once.hands[1] == ("8&", "9&", "a&")
    step = carry_out(once, "--", "--")
    assert step.state.hands[1] == ()
    assert step.state.attacker_discard == ("2#", "a&", "9&", "8&")
    assert event_texts(step) == ["Attacker passes.", "Attacker loses the hand: 10& 9& 8&."]


def test_a_second_pass_costs_the_defenders_hand() -> None:
    state = with_cards(start_hackmud(), 0, discard="2#", south="8& 9& a&")
    for lane, pile in ((1, "3#"), (3, "4# 5#"), (4, "6# 7#"), (5, "8# 9#")):
        state = with_cards(state, lane, discard=pile)
    after = carry_out(state, "--", "d0", "--").state
    assert after.discards == (
        ("2#", "9&"),
        ("3#", "8&"),
        ("a&",),
        ("4#", "5#"),
        ("6#", "7#"),
        ("8#", "9#"),
    )


# ---- combats as the game's own logs tell them ----------------------------------------------------

# Combats from logs of hackmud. The first text of each is both stacks, attacker / defender, bottom
# first. A `u` follows each card that lay open.
#
# Then comes a text for each TRAP that sprang and each BOUNCE: its side and kind (`a@`, `d?`), and
# the cards that it removed with the place to which they went.
#
# The last text is the result: the powers of attacker and defender, the damage (`-` if the defender
# held the lane), and where the remaining cards went. Places are `xa` (attacker discard), `x` (lane
# discard) and `ha` (the attacker drew them).
LOGGED_COMBATS = (
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

# Combats from the sentences of the rulebook, written in the same way. `X` is a card of any kind.
RULEBOOK_COMBATS = (
    ("2& ?& 6& / 4^", "a? / ?& x", "0 0 0 / 2& 6& xa"),
    ("2& 6& / 4^ ?^ 5^ ?!", "d? / ?^ ?! xa", "0 0 0 / 2& 6& xa"),
    ("2& >& / 4^", "1 2 - / 2& >& x"),
    ("8& / 4^", "3 2 2 / 8& xa / 4^ xa / X ha"),
    ("8& / 8^", "3 3 1 / 8& xa / 8^ xa"),
    ("8& >& / 8^", "3 3 3 / 8& >& xa / 8^ xa / X X ha"),
    ("3& >& / 5^", "0 0 0 / 3& >& xa"),
    ("8& / 4^ >^", "3 2 2 / 8& xa / >^ 4^ xa"),
    ("3& / 5^", "0 0 1 / 3& xa / 5^ xa"),
    ("8& >& / 3^ 5^ 6^ 7^ 9^", "3 0 3 / 8& >& xa / 9^ 7^ 6^ xa"),
    ("a& 6& / 3^", "4 0 5 / a& 6& xa / 3^ xa / X X X X ha"),
)


@pytest.mark.parametrize(
    ("edition", "texts"),
    [(Edition.HACKMUD, texts) for texts in LOGGED_COMBATS]
    + [(Edition.RULEBOOK, texts) for texts in RULEBOOK_COMBATS],
)
def test_combats_end_as_logs_and_rulebook_say(edition: Edition, texts: tuple[str, ...]) -> None:
    stacks, *reveals, result = texts
    # Resolve the combat of these stacks.
    attacker, defender = (side.split() for side in stacks.split("/"))
    setup = CombatSetup(
        parse_cards(" ".join(attacker).replace("u", "")),
        parse_cards(" ".join(defender).replace("u", "")),
        ATTACKER,
        any(card.endswith("u") for card in defender),
        frozenset(card[:-1] for card in attacker if card.endswith("u")),
    )
    combat = Combat(setup, edition)

    # Collect the cards of each place from all texts, and compare them with the result.
    powers_and_damage, *removals = result.split(" / ")
    cards_by_place: dict[str, list[str]] = {"xa": [], "x": [], "ha": []}
    for removal in [reveal.split(" / ")[1] for reveal in reveals] + removals:
        *cards, place = removal.replace("u", "").split()
        cards_by_place[place] += cards
    assert sorted(combat.to_attacker_discard) == sorted(cards_by_place["xa"])
    assert sorted(combat.to_lane_discard) == sorted(cards_by_place["x"])
    assert combat.cards_owed == len(cards_by_place["ha"])

    # Compare damage and powers.
    attack_power, defence_power, damage = powers_and_damage.replace("-", "0").split()
    assert combat.damage == int(damage)
    # After a BOUNCE nothing is summed, although the logs give powers even then.
    has_bounced = any(reveal[1] == "?" for reveal in reveals)
    assert bool(combat.sums) is not has_bounced
    if not has_bounced:
        assert combat.sums[ATTACKER].power == int(attack_power)
        assert combat.sums[DEFENDER].power == int(defence_power)
