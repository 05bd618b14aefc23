"""Tests of BINMAT's full game by the rulebook, on its states and actions without a table.

They cover the deal, draws and plays, every reason of a refusal, how games end, counts of positions,
and a golden game.

In the notation `d3` draws from lane 3, `p8&3` and `u8&3` play a card face down and face up there,
`x8&3` discards it, `c3` declares combat, `--` passes, and `a` instead of a lane stands for the
attacker's own deck or discard pile. `with_cards` puts cards into one lane or into the hands of
`south` (the defender, who has the first turn) and `north` (the attacker). In pairs such as
`state.hands` the defender comes first.
"""

from __future__ import annotations

from random import Random

import pytest
from binmat_tools import (
    GAME,
    all_cards,
    attacker_to_move,
    carry_out,
    reason_against,
    start,
    with_cards,
)
from step_tools import event_texts

from companion.core.errors import Malformed
from companion.games.binmat.actions import Reason
from companion.games.binmat.cards import DECK
from companion.games.binmat.events import ATTACKER, DEFENDER
from companion.games.binmat.state import State

# ---- Game Setup and turns ------------------------------------------------------------------------


def test_lanes_get_thirteen_cards_three_face_up() -> None:
    state = start()
    assert [len(deck) for deck in state.decks] == [13] * 6
    # The deck of this state is not shuffled.
    assert state.decks[0] == DECK[:13]
    assert state.is_deck_open == (False, False, False, True, True, True)
    assert state.hands == ((), ())
    assert (state.turns_left, GAME.time_limit(state)) == (110, 5.0)
    assert GAME.time_limit(start(seconds=0)) is None


def test_the_deal_is_shuffled_by_the_rng_alone() -> None:
    options = GAME.options({})
    first, same, other = (GAME.setup(options, Random(seed)) for seed in (1, 1, 2))
    assert first == same != other
    assert all_cards(first) == sorted(DECK)


def test_wrong_numbers_of_given_cards_are_refused() -> None:
    """Hands of 18 cards each are accepted. Too many cards, a number that leaves lanes unequal, and
    a card in both hands are refused.
    """
    GAME.options({"hands": [list(DECK[:18]), list(DECK[18:36])]})
    for hands in ([DECK[:21], DECK[21:42]], [DECK[:3], DECK[3:7]], [DECK[:6], DECK[:6]]):
        with pytest.raises(Malformed, match="together a multiple of six"):
            GAME.options({"hands": [list(hand) for hand in hands]})


# ---- Drawing and playing a Card ------------------------------------------------------------------

RULEBOOK = start()
HACKMUD = start(edition="hackmud")
# The defender's stack in lane 2 lies face up.
OPEN_LANE = with_cards(RULEBOOK, 2, defence="5^", defence_open=True, south="5& >&")
# Each case: the state, the action of the seat on turn, and the sentences of its events.
TURNS: list[tuple[State, str, list[str]]] = [
    (RULEBOOK, "--", ["Defender passes."]),
    (RULEBOOK, "d0", ["Defender draws a card from lane 0."]),
    (RULEBOOK, "d5", ["Defender draws 2# from lane 5."]),
    (
        with_cards(RULEBOOK, 4, deck="", discard="2& 3& 4&"),
        "d4",
        ["Lane 4’s discard pile becomes its deck.", "Defender draws a card from lane 4."],
    ),
    (with_cards(RULEBOOK, south="5&"), "p5&2", ["Defender plays a card face down in lane 2."]),
    (OPEN_LANE, "u5&2", ["Defender plays 5& face up in lane 2."]),
    (
        attacker_to_move(with_cards(RULEBOOK, 2, defence="4^ ?^ @^ 5^", north="?&")),
        "u?&2",
        [
            "Attacker plays ?& face up in lane 2.",
            "Defender opens 4^ ?^ @^ 5^.",
            "Defender’s ?^ goes to the attacker discard.",
            "Attacker’s ?& goes to the lane discard.",
        ],
    ),
    (with_cards(HACKMUD, south="8& a#"), "xa#3", ["Defender discards 10# to lane 3."]),
    (
        attacker_to_move(with_cards(HACKMUD, north="8&", attacker_deck="2# 3# 4#")),
        "x8&a",
        ["Attacker discards 8& and draws two from the attacker deck."],
    ),
]


@pytest.mark.parametrize(("state", "action", "sentences"), TURNS, ids=lambda case: str(case)[:5])
def test_a_turn_reports_what_everybody_may_know(
    state: State, action: str, sentences: list[str]
) -> None:
    step = carry_out(state, action)
    assert event_texts(step) == sentences
    assert step.stages == (), "a turn without a combat has stages"


# The attacker is to act. The defender's stack in lane 2 lies face down.
DEFENDED = attacker_to_move(with_cards(RULEBOOK, 2, defence="5&", north="5^ >& ?&", attack="5!"))
# Each case: the state, the action, the reason of its refusal, and the sentence.
REFUSALS: list[tuple[State, str, Reason, str]] = [
    (
        DEFENDED,
        "d2",
        Reason.LANE_DEFENDED,
        "A defender stack lies in front of the deck of lane 2: draw from a lane without one",
    ),
    (DEFENDED, "da", Reason.NOTHING_TO_DRAW, "The attacker deck and its discard pile are empty"),
    (RULEBOOK, "da", Reason.ATTACKER_ONLY, "Only the attacker draws from the attacker deck"),
    (
        with_cards(RULEBOOK, 1, deck=""),
        "d1",
        Reason.NOTHING_TO_DRAW,
        "The deck and the discard pile of lane 1 are empty",
    ),
    (RULEBOOK, "ua#3", Reason.NOT_IN_HAND, "10# is not in your hand"),
    (OPEN_LANE, "p5&2", Reason.WRONG_FACE, "Your stack in lane 2 lies face up: play face up there"),
    (
        OPEN_LANE,
        "u5&1",
        Reason.WRONG_FACE,
        "Your stack in lane 1 does not lie face up: play face down there",
    ),
    (
        OPEN_LANE,
        "u>&1",
        Reason.STACK_EMPTY,
        "Your stack in lane 1 is empty: a BREAK needs a card below it",
    ),
    (
        OPEN_LANE,
        "u>&2",
        Reason.NO_ATTACKER_STACK,
        "Lane 2 has no attacker stack to fight: a BREAK face up needs one",
    ),
    (
        with_cards(OPEN_LANE, 2, defence="5^ >^", attack="6&"),
        "u>&2",
        Reason.BREAK_LIES_OPEN,
        "A BREAK lies face up in your stack in lane 2 already",
    ),
    (DEFENDED, "u5^2", Reason.WRONG_FACE, "The attacker plays only BOUNCE and BREAK face up"),
    (
        DEFENDED,
        "u?&2",
        Reason.STACK_NOT_EMPTY,
        "Your stack in lane 2 is not empty: a BOUNCE goes face up only on an empty one",
    ),
    (DEFENDED, "c1", Reason.NO_ATTACKER_STACK, "Lane 1 has no attacker stack: combat needs one"),
    (
        attacker_to_move(HACKMUD),
        "c2",
        Reason.NO_ATTACKER_STACK,
        "Lane 2 has no stack: combat needs one",
    ),
    (
        with_cards(HACKMUD, 2, attack="8^", defence="4&"),
        "c2",
        Reason.ATTACKER_ONLY,
        "Only the attacker declares combat in the hackmud edition",
    ),
    (OPEN_LANE, "x5&3", Reason.OTHER_EDITION, "Cards are discarded only in the hackmud edition"),
    (
        with_cards(HACKMUD, south="8&"),
        "x8&a",
        Reason.OTHER_PILE,
        "The defender discards to a lane: expected 0 to 5 after the card",
    ),
    (
        attacker_to_move(with_cards(HACKMUD, north="8&", attacker_deck="2#")),
        "x8&3",
        Reason.OTHER_PILE,
        "The attacker discards to the attacker discard: expected a after the card",
    ),
    (
        attacker_to_move(with_cards(HACKMUD, north="8&")),
        "x8&a",
        Reason.NOTHING_TO_DRAW,
        "The attacker deck and its discard pile are empty: there is nothing to draw for it",
    ),
    (
        RULEBOOK,
        "5& / 4^",
        Reason.REAL_CARDS_ONLY,
        "The full game has no such action: draw, play, declare combat or pass",
    ),
]


@pytest.mark.parametrize(
    ("state", "action", "reason", "sentence"), REFUSALS, ids=lambda case: str(case)[:5]
)
def test_refusals_have_a_reason_and_a_sentence(
    state: State, action: str, reason: Reason, sentence: str
) -> None:
    assert reason_against(state, action) == (reason, sentence)


def test_every_reason_has_an_example() -> None:
    assert {reason for _, _, reason, _ in REFUSALS} == set(Reason)


def test_an_empty_deck_takes_its_shuffled_discards() -> None:
    """The order of the discards does not matter, because they are shuffled."""
    first, second = (
        carry_out(with_cards(start(), 4, deck="", discard=pile), "d4").state
        for pile in ("2& 3& 4&", "4& 2& 3&")
    )
    assert first == second
    assert (first.discards[4], first.is_deck_open[4]) == ((), False)
    assert sorted(first.hands[0] + first.decks[4]) == ["2&", "3&", "4&"]
    attack = carry_out(attacker_to_move(with_cards(start(), attacker_discard="7# 8#")), "da").state
    assert sorted(attack.hands[1] + attack.attacker_deck) == ["7#", "8#"]


# ---- Win Conditions ------------------------------------------------------------------------------


def test_the_defender_wins_when_all_turns_elapsed() -> None:
    step = carry_out(start(turns=2), "--", "--")
    assert step.state.outcome
    assert step.state.outcome.winners == {DEFENDER}
    assert event_texts(step)[-1] == "All 2 turns are over."
    assert GAME.to_act(step.state) == frozenset()
    assert GAME.legal_actions(step.state, DEFENDER) == []


def with_closed_lanes(state: State) -> State:
    """Return a state in which a defender's play of 2# in lane 5 closes the last lane.

    After it the attacker can draw from no lane deck: lane 0 is empty, the others are defended.
    """
    for lane in range(1, 5):
        state = with_cards(state, lane, defence=DECK[lane * 13])
    return with_cards(state, 0, deck="", south="2#")


def test_the_defender_wins_against_an_empty_attacker() -> None:
    """The attacker has no card in hand or stacks, and no lane to draw from.

    The card in the attacker deck does not count.
    """
    state = with_cards(with_closed_lanes(start()), attacker_deck="9^")
    step = carry_out(state, "p2#5")
    assert step.state.outcome
    assert step.state.outcome.winners == {DEFENDER}
    assert step.state.outcome.reason == "Attacker has no card, and no lane to draw from."
    # The attacker plays on with a single card: in the hand, in a stack, in the discards or the deck
    # of an open lane.
    for state_with_a_card in (
        with_cards(state, north="5&"),
        with_cards(state, attack="5&"),
        with_cards(state, discard="5&"),
        with_cards(state, deck="5&"),
    ):
        assert carry_out(state_with_a_card, "p2#5").state.outcome is None


def test_damage_beyond_the_lanes_cards_wins() -> None:
    """An attack of power 3 on an empty stack does 4 damage, which the lane deck has to pay."""
    exact = carry_out(with_cards(start(), 2, attack="8^", deck="2& 3& 4& 5&"), "c2").state
    assert (exact.outcome, exact.decks[2]) == (None, ())
    step = carry_out(with_cards(start(), 2, attack="8^", deck="2& 3& 4&", discard="9&"), "c2")
    assert step.state.outcome
    assert step.state.outcome.winners == {ATTACKER}
    assert step.state.outcome.reason == "Lane 2 owes 4 and has only 3."
    assert step.state.discards[2] == ("9&",), "damage must not reshuffle the discard pile"


def test_a_winning_combat_counts_as_a_turn() -> None:
    last_turn = with_cards(
        start(turns=2), 2, attack="8^", defence="2^", deck="", attacker_discard="9#"
    )
    after = carry_out(attacker_to_move(last_turn), "c2").state
    assert after.outcome
    assert after.outcome.winners == {ATTACKER}
    assert after.turns_left == 0
    assert (after.attacker_stacks[2], after.attacker_discard) == ((), ("9#", "2^", "8^"))


# ---- counts and a golden game --------------------------------------------------------------------

# All cards as they are dealt, two characters each: those of lane 0 from its top card down, then
# those of lane 1, and so on.
GOLDEN_DEAL = (
    ">+7!8#8+5!*^*!?%4+9+?!>!@!2^@^6+>%?+a&3^3#>&9#5+5%4!4#@#a^2%*%7#5^@%>#@+a!?&9!"
    "2&5#@&6#8^a#8%6!*#?^a+4&5&3+8&?#2+7&2#4^2!*+7%8!9^7^9&6^4%a%3&7+>^9%6&3!6%3%*&"
)
# The actions of both sides in turn.
GOLDEN_GAME = (
    "d3 d4 p2&4 p3+3 d4 d3 c3 p5#3 p8&4 p@&4 d3 d5 d0 p9&4 c3 c4 d2 "
    "p8^3 d3 da ua#4 d5 d4 da c3 p6^4 u?#4 c4 u6#4 p8&3 c3"
)
# Events that must be among those of a turn, by the index of the turn's action in `GOLDEN_GAME`.
GOLDEN_EVENTS = {
    6: ["Attacker does 1 damage.", "Attacker draws @& from lane 3."],
    15: [
        "Attacker’s @& takes 8& to the attacker discard.",
        "Attacker has 9: power 0.",
        "Defender has 2: power 1.",
        "Defender holds the lane.",
        "Attacker’s @& 9& go to the lane discard.",
        "Defender keeps 2&, face up.",
    ],
    19: [
        "The attacker discard becomes the attacker deck.",
        "Attacker draws a card from the attacker deck.",
    ],
    24: ["Attacker does 4 damage.", "Attacker draws 8% and 3 more cards from lane 3."],
    27: ["The combat bounces: no damage.", "Defender’s ?# goes to the attacker discard."],
    30: ["Attacker draws 10+ and 2 more cards from lane 3.", "Lane 3 owes 4 and has only 3."],
}


def golden_deal(edition: str) -> State:
    """Return the state after the golden deal, in a game of 60 turns."""
    deal = [GOLDEN_DEAL[index : index + 2] for index in range(0, len(GOLDEN_DEAL), 2)]
    return start(deck=deal, edition=edition, turns=60)


def test_golden_game() -> None:
    """Play all actions. No card may appear or disappear in any turn, and the attacker wins."""
    state = golden_deal("rulebook")
    rng = Random(7)
    for index, action in enumerate(GOLDEN_GAME.split()):
        assert state.outcome is None
        GAME.require(state, {state.seat: action})
        step = GAME.apply(state, {state.seat: action}, rng)
        expected = GOLDEN_EVENTS.get(index, [])
        assert [text for text in event_texts(step) if text in expected] == expected
        state = step.state
        assert all_cards(state) == sorted(DECK)
    assert state.outcome
    assert state.outcome.winners == {ATTACKER}


def count_sequences(state: State, depth: int) -> int:
    """Return the number of sequences of `depth` legal actions. A sequence that ends the game
    earlier does not count.
    """
    legal = GAME.legal_actions(state, state.seat) if state.outcome is None else []
    if depth == 1:
        return len(list(legal))
    return sum(
        count_sequences(GAME.apply(state, {state.seat: action}, Random(7)).state, depth - 1)
        for action in legal
    )


# The counts are worked out by hand. Only the rulebook's 580 is not derived here.
#
# From the deal. A turn without cards is 6 draws and a pass: 7. In the third turn the defender may
# hold one card. Drawn from five of the lanes, it can be played in 6 ways: 5 * 7 * 13. The BREAK on
# top of lane 0 cannot be played at all (7 * 7), and after a pass there is no card (7 * 7). Together
# 553. The hackmud edition adds 6 * 7 * 6 discards and 5 * 7 * 6 plays face up.
#
# From the middle, first turn. Rulebook: 6 draws, 6 + 6 plays of two cards, the BREAK in two ways in
# lane 2, a combat, a pass: 22. Hackmud: no combat, 18 discards and 2 * 5 plays face up more: 49.
#
# From the middle, second turn in hackmud. After all but the BREAK face up, the attacker has 32: 5
# draws (a lane that a new stack closes can be fought in instead), 12 + 11 + 2 plays, a combat, a
# pass. The BREAK starts a combat that empties lane 2, gives the attacker its top two cards and
# fills the attacker discard. Then there are 7 draws (one from the attacker deck), 4 * 6 * 2 plays,
# 5 discards, a pass: 61.
#
# By edition: the counts from the deal to depths 1 to 3, and from the middle to depths 1 and 2.
GOLDEN_COUNTS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "rulebook": ((7, 49, 553), (22, 580)),
    "hackmud": ((7, 49, 1015), (49, 48 * 32 + 61)),
}


@pytest.mark.parametrize("edition", GOLDEN_COUNTS)
def test_golden_counts_from_deal_and_middle(edition: str) -> None:
    state = golden_deal(edition)
    from_the_deal = tuple(count_sequences(state, depth) for depth in (1, 2, 3))
    middle = with_cards(
        state,
        2,
        attack="5& @^ 3%",
        defence="4^ 2#",
        south="8& >+ 7%",
        north="?& >& 6%",
        discard="9&",
    )
    from_the_middle = tuple(count_sequences(middle, depth) for depth in (1, 2))
    assert (from_the_deal, from_the_middle) == GOLDEN_COUNTS[edition]
