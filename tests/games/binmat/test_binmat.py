"""The full game by the rulebook, each test named after its section; position counts and a golden game."""

from __future__ import annotations

from random import Random

import pytest
from binmat_tools import GAME, at, attacking, every_card, play, plays, refused, start, texts

from companion.core.errors import Illegal, Malformed, Refusal
from companion.games.binmat.cards import DECK
from companion.games.binmat.combat import ATTACKER, DEFENDER
from companion.games.binmat.orders import Reason
from companion.games.binmat.state import State

# ---- Game Setup ----------------------------------------------------------------------------------------------


def test_game_setup_deals_thirteen_cards_to_each_of_six_lane_decks() -> None:
    state = start()
    assert [len(deck) for deck in state.decks] == [13] * 6
    assert state.decks[0] == DECK[:13]
    assert state.decks[5][0] == DECK[65]
    assert state.hands == ((), ())
    assert state.attacker_deck == state.attacker_discard == ()


def test_game_setup_the_right_three_lane_decks_lie_face_up_the_left_three_face_down() -> None:
    assert start().are_open == (False, False, False, True, True, True)


def test_game_setup_shuffles_by_the_rng_alone() -> None:
    options = GAME.options({})
    one, same, other = (GAME.setup(options, Random(seed)) for seed in (1, 1, 2))
    assert one == same != other
    assert every_card(one) == sorted(DECK)
    assert one.decks != start().decks


# ---- Game Structure, The Turn Cycle --------------------------------------------------------------------------


def test_hands_that_are_dealt_by_hand_are_at_most_half_the_deck() -> None:
    for cards in (30, 36):
        GAME.options({"hands": [list(DECK[: cards // 2]), list(DECK[cards // 2 : cards])]})
    for hands in ([DECK[:21], DECK[21:42]], [DECK[:3], DECK[3:7]], [DECK[:6], DECK[:6]]):
        with pytest.raises(Malformed, match="different cards, six of them or twelve"):
            GAME.options({"hands": [list(hand) for hand in hands]})


def test_game_structure_is_110_turns_and_five_seconds_a_turn() -> None:
    state = start()
    assert (state.turns_left, GAME.time_limit(state)) == (110, 5.0)
    assert GAME.time_limit(start(seconds=0)) is None, "casual play ignores the rule"


def test_the_turn_cycle_alternates_and_the_defender_is_first() -> None:
    state = start()
    for seat in (DEFENDER, ATTACKER, DEFENDER):
        assert GAME.to_act(state) == {seat}
        assert GAME.legal_actions(state, seat.other) == []
        state = play(state, "--").state
    assert state.turns_left == 107


def test_the_turn_cycle_one_action_or_a_pass() -> None:
    assert GAME.legal_actions(start(), DEFENDER) == ["d0", "d1", "d2", "d3", "d4", "d5", "--"]
    assert texts(play(start(), "--")) == ["Defender passes."]
    with pytest.raises(Illegal, match="North cannot act now") as refusal:
        GAME.require(start(), {ATTACKER: "--"})
    assert refusal.value.reason is Refusal.NOT_TO_ACT


# ---- Drawing a Card ------------------------------------------------------------------------------------------


def test_drawing_a_card_the_defender_from_any_lane_deck() -> None:
    state = at(start(), 2, defence="5&")
    for lane in range(6):
        after = play(state, f"d{lane}").state
        assert after.hands == ((state.decks[lane][0],), ())
        assert after.decks[lane] == state.decks[lane][1:]


def test_drawing_a_card_the_attacker_only_from_lanes_without_a_defender_stack() -> None:
    state = attacking(at(start(), 2, defence="5&"))
    assert play(state, "d1").state.hands == ((), (DECK[13],))
    reason, words = refused(state, "d2")
    assert reason is Reason.LANE_DEFENDED
    assert (
        words
        == "A defender stack lies in front of the deck of lane 2: draw from a lane without one"
    )


def test_drawing_a_card_the_attacker_from_the_attacker_deck() -> None:
    state = attacking(at(start(), attacker_deck="7# 8#"))
    assert play(state, "da").state.hands == ((), ("7#",))
    assert refused(attacking(start()), "da")[0] is Reason.NOTHING_TO_DRAW
    assert refused(start(), "da") == (
        Reason.ATTACKER_ONLY,
        "Only the attacker draws from the attacker deck",
    )


def test_drawing_a_card_from_an_empty_deck_shuffles_its_discard_pile_into_it() -> None:
    step = play(at(start(), 1, deck="", discard="2& 3& 4&"), "d1")
    assert step.state.discards[1] == ()
    assert sorted(step.state.hands[0] + step.state.decks[1]) == ["2&", "3&", "4&"]
    assert texts(step) == [
        "Lane 1’s discard pile becomes its deck.",
        "Defender draws a card from lane 1.",
    ]
    attack = play(attacking(at(start(), attacker_discard="7# 8#")), "da").state
    assert sorted(attack.hands[1] + attack.attacker_deck) == ["7#", "8#"]


def test_drawing_a_card_how_the_discard_pile_lay_does_not_matter() -> None:
    one, other = (
        play(at(start(), 1, deck="", discard=pile), "d1").state for pile in ("2& 3& 4&", "4& 2& 3&")
    )
    assert one == other


def test_drawing_a_card_a_deck_that_was_reshuffled_lies_face_down() -> None:
    step = play(at(start(), 4, deck="", discard="2& 3& 4&"), "d4")
    assert step.state.are_open[4] is False
    assert texts(step)[1] == "Defender draws a card from lane 4."
    assert GAME.view(step.state, None)["lanes"][4]["deck"] == ["X", "X"]


def test_drawing_a_card_with_deck_and_discard_pile_empty_is_not_possible() -> None:
    state = at(start(), 1, deck="")
    for asked in (state, attacking(state)):
        reason, words = refused(asked, "d1")
        assert (reason, words) == (
            Reason.NOTHING_TO_DRAW,
            "The deck and the discard pile of lane 1 are empty",
        )


def test_drawing_a_card_names_it_only_where_it_lay_open() -> None:
    assert texts(play(start(), "d0")) == ["Defender draws a card from lane 0."]
    assert texts(play(start(), "d5")) == ["Defender draws 2# from lane 5."]


# ---- Playing a Card: DEFENDER --------------------------------------------------------------------------------


@pytest.mark.parametrize("card", ["5&", "a#", "?&", "@&", "*&"])
def test_playing_a_card_defender_any_stack_face_down(card: str) -> None:
    state = at(start(), 2, defence="5^", south=card)
    assert plays(state, card) == "p0 p1 p2 p3 p4 p5"
    step = play(state, f"p{card}2")
    assert step.state.defence[2] == ("5^", card)
    assert step.state.hands == ((), ())
    assert texts(step) == ["Defender plays a card face down in lane 2."]
    assert step.stages == ()


@pytest.mark.parametrize("card", ["5&", "?&", "@&", "*&"])
def test_playing_a_card_defender_face_up_on_a_face_up_stack(card: str) -> None:
    state = at(start(), 2, defence="5^", is_up=True, south=card)
    assert plays(state, card) == "p0 p1 u2 p3 p4 p5"
    step = play(state, f"u{card}2")
    assert (step.state.defence[2], step.state.is_up[2]) == (("5^", card), True)
    assert refused(state, f"p{card}2") == (
        Reason.WRONG_FACE,
        "Your stack in lane 2 lies face up: play face up there",
    )
    assert (
        refused(state, f"u{card}1")[1]
        == "Your stack in lane 1 does not lie face up: play face down there"
    )


def test_playing_a_card_defender_break_needs_a_stack_with_a_card() -> None:
    state = at(start(), 2, defence="5^", attack="6&", south=">&")
    assert plays(state, ">&") == "p2 u2"
    for action in ("p>&0", "u>&0"):
        assert refused(state, action)[0] is Reason.STACK_EMPTY


def test_playing_a_card_defender_break_face_up_initiates_combat_at_once() -> None:
    state = at(start(), 2, defence="8^", attack="6&", south=">&")
    step = play(state, "u>&2")
    assert texts(step)[:3] == [
        "Defender plays >& face up in lane 2.",
        "Attacker opens 6&.",
        "Defender opens 8^ >&.",
    ]
    assert (step.state.defence[2], step.state.is_up[2]) == (("8^", ">&"), True)
    assert step.state.discards[2] == ("6&",)
    traps = play(at(state, 2, defence="8^ @^", attack="6& @&"), "u>&2")
    assert "Defender’s @^ takes @& to the lane discard." in texts(traps), (
        "the defender’s TRAPs act first"
    )


def test_playing_a_card_defender_break_not_with_another_face_up_break() -> None:
    face_up = at(start(), 2, defence="5^ >^", is_up=True, attack="6&", south=">&")
    assert plays(face_up, ">&") == ""
    assert refused(face_up, "u>&2") == (
        Reason.BREAK_LIES_OPEN,
        "A BREAK lies face up in your stack in lane 2 already",
    )
    hidden = at(start(), 2, defence="5^ >^", attack="6&", south=">&")
    assert plays(hidden, ">&") == "p2 u2", "a face-down BREAK does not hinder a face-up one"


def test_playing_a_card_defender_break_face_up_needs_an_attacker_stack() -> None:
    state = at(start(), 2, defence="5^", south=">&")
    assert plays(state, ">&") == "p2"
    assert refused(state, "u>&2")[0] is Reason.NO_ATTACKER_STACK


def test_playing_a_card_needs_it_in_the_hand() -> None:
    assert refused(at(start(), south="5&"), "p8&3") == (
        Reason.NOT_IN_HAND,
        "8& is not in your hand",
    )
    assert refused(start(), "ua#3")[1] == "10# is not in your hand"


# ---- Playing a Card: ATTACKER --------------------------------------------------------------------------------


@pytest.mark.parametrize("card", ["5&", "@&", "*&"])
def test_playing_a_card_attacker_any_stack_face_down(card: str) -> None:
    state = attacking(at(start(), 2, attack="5^", north=card))
    assert plays(state, card) == "p0 p1 p2 p3 p4 p5"
    assert play(state, f"p{card}2").state.attack[2] == ("5^", card)
    assert refused(state, f"u{card}2") == (
        Reason.WRONG_FACE,
        "The attacker plays only BOUNCE and BREAK face up",
    )


def test_playing_a_card_attacker_bounce_face_down_on_any_stack_face_up_on_an_empty_one() -> None:
    state = attacking(at(start(), 2, attack="5^", north="?&"))
    assert plays(state, "?&") == "p0 u0 p1 u1 p2 p3 u3 p4 u4 p5 u5"
    assert refused(state, "u?&2")[0] is Reason.STACK_NOT_EMPTY


def test_playing_a_card_attacker_bounce_face_up_turns_the_defender_stack_up() -> None:
    state = attacking(at(start(), 2, defence="4^ ?^ @^ 5^", north="?&"))
    step = play(state, "u?&2")
    assert (step.state.defence[2], step.state.is_up[2]) == (("4^", "@^", "5^"), True)
    assert (step.state.attacker_discard, step.state.discards[2]) == (("?^",), ("?&",))
    assert step.state.attack[2] == ()
    assert step.stages == (), "it is no combat: TRAPs do not act"
    assert texts(step) == [
        "Attacker plays ?& face up in lane 2.",
        "Defender opens 4^ ?^ @^ 5^.",
        "Defender’s ?^ goes to the attacker discard.",
        "Attacker’s ?& goes to the lane discard.",
    ]


def test_playing_a_card_attacker_bounce_face_up_before_no_stack_and_before_bounces_only() -> None:
    after = play(attacking(at(start(), 2, north="?&")), "u?&2").state
    assert (after.is_up[2], after.discards[2]) == (False, ("?&",))
    emptied = play(attacking(at(start(), 2, defence="?^ ?!", north="?&")), "u?&2").state
    assert (emptied.defence[2], emptied.is_up[2]) == ((), False), (
        "an emptied stack is face down again"
    )


def test_playing_a_card_attacker_break_needs_a_stack_with_a_card() -> None:
    state = attacking(at(start(), 2, attack="5^", north=">&"))
    assert plays(state, ">&") == "p2 u2"
    for action in ("p>&0", "u>&0"):
        assert refused(state, action)[0] is Reason.STACK_EMPTY


def test_playing_a_card_attacker_break_face_up_initiates_combat_at_once() -> None:
    state = attacking(at(start(), 2, attack="8^", defence="4&", north=">&"))
    step = play(state, "u>&2")
    assert step.state.attacker_discard == ("4&", "8^", ">&")
    assert step.state.hands[1] == DECK[26:28], (
        "damage 3: one card of the stack, two of the lane deck"
    )
    assert "Attacker draws 2 cards from lane 2." in texts(step)


# ---- Win Conditions ------------------------------------------------------------------------------------------


def test_win_conditions_the_defender_when_all_turns_have_elapsed() -> None:
    step = play(start(turns=2), "--", "--")
    assert step.state.outcome
    assert step.state.outcome.winners == {DEFENDER}
    assert texts(step)[-1] == "All 2 turns are over."
    assert GAME.to_act(step.state) == frozenset()
    assert GAME.legal_actions(step.state, DEFENDER) == []
    with pytest.raises(Illegal, match="game is over"):
        GAME.require(step.state, {DEFENDER: "--"})


def shut(state: State) -> State:
    """The attacker can draw from no lane deck: lane 0 is empty, the others are defended, lane 5's card is in play."""
    for lane in range(1, 5):
        state = at(state, lane, defence=DECK[lane * 13])
    return at(state, 0, deck="", south="2#")


def test_win_conditions_the_defender_when_the_attacker_is_out_of_cards() -> None:
    state = at(shut(start()), attacker_deck="9^")
    step = play(state, "p2#5")
    assert step.state.outcome
    assert step.state.outcome.winners == {DEFENDER}
    assert step.state.outcome.reason == "Attacker has no card, and no lane to draw from."
    for still in (
        at(state, north="5&"),
        at(state, attack="5&"),
        at(state, discard="5&"),
        at(state, deck="5&"),
    ):
        assert play(still, "p2#5").state.outcome is None


def test_win_conditions_the_attacker_with_more_damage_than_the_lane_deck_has_cards() -> None:
    exact = play(at(start(), 2, attack="8^", deck="2& 3& 4& 5&"), "c2").state
    assert (exact.outcome, exact.decks[2]) == (None, ())
    step = play(at(start(), 2, attack="8^", deck="2& 3& 4&", discard="9&"), "c2")
    assert step.state.outcome
    assert step.state.outcome.winners == {ATTACKER}
    assert step.state.outcome.reason == "Lane 2 owes 4 and has only 3."
    assert step.state.discards[2] == ("9&",), "damage never reshuffles a lane deck"


def test_win_conditions_a_winning_combat_is_completed_and_counts_as_a_turn() -> None:
    last = at(start(turns=2), 2, attack="8^", defence="2^", deck="", attacker_discard="9#")
    after = play(attacking(last), "c2").state
    assert after.outcome
    assert after.outcome.winners == {ATTACKER}
    assert (after.turns_left, after.attack[2], after.attacker_discard) == (
        0,
        (),
        ("9#", "2^", "8^"),
    )


# ---- counts and a golden game --------------------------------------------------------------------------------

GOLDEN_DEAL = (
    ">+7!8#8+5!*^*!?%4+9+?!>!@!2^@^6+>%?+a&3^3#>&9#5+5%4!4#@#a^2%*%7#5^@%>#@+a!?&9!"
    "2&5#@&6#8^a#8%6!*#?^a+4&5&3+8&?#2+7&2#4^2!*+7%8!9^7^9&6^4%a%3&7+>^9%6&3!6%3%*&"
)
GOLDEN_GAME = (
    "d3 d4 p2&4 p3+3 d4 d3 c3 p5#3 p8&4 p@&4 d3 d5 d0 p9&4 c3 c4 d2 p8^3 d3 da ua#4 d5 d4 da c3 p6^4 u?#4 c4 "
    "u6#4 p8&3 c3"
)
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
    30: [
        "Attacker draws 10+ and 2 more cards from lane 3.",
        "Lane 3 owes 4 and has only 3.",
    ],
}


def golden_deal(edition: str) -> State:
    deal = [GOLDEN_DEAL[at : at + 2] for at in range(0, 156, 2)]
    return start(deck=deal, edition=edition, turns=60)


def test_golden_game() -> None:
    state, chance = golden_deal("rulebook"), Random(7)
    for number, action in enumerate(GOLDEN_GAME.split()):
        assert state.outcome is None
        GAME.require(state, {state.seat: action})
        step = GAME.apply(state, {state.seat: action}, chance)
        told = texts(step)
        assert [
            text for text in told if text in GOLDEN_EVENTS.get(number, [])
        ] == GOLDEN_EVENTS.get(number, [])
        state = step.state
        assert every_card(state) == sorted(DECK)
    assert state.outcome
    assert state.outcome.winners == {ATTACKER}


def counts(state: State, depth: int) -> int:
    """How many sequences of legal actions of that length there are; those that end the game earlier do not count."""
    legal = GAME.legal_actions(state, state.seat) if state.outcome is None else []
    if depth == 1:
        return len(list(legal))
    return sum(
        counts(GAME.apply(state, {state.seat: a}, Random(7)).state, depth - 1) for a in legal
    )


# By hand: a turn without cards is 6 draws and a pass. Third turn: a card drawn from five lanes can be played 6 times
# (5 * 7 * 13), the BREAK of lane 0 not at all (7 * 7), after a pass again 7 * 7: 553; hackmud: 6 * 7 * 6 discards and
# 5 * 7 * 6 plays face up more. In the middle: 6 draws, 6 + 6 plays, a BREAK either way in lane 2, combat, pass: 22;
# hackmud: no combat, 18 discards, 2 * 5 plays face up. There all but the BREAK face up leave the attacker 32: 5 draws
# (a lane that is closed by a new stack can be fought in), 12 + 11 + 2 plays, combat, pass.
# The BREAK sets off a combat that empties lane 2, gives the attacker its top two cards and fills his discard pile: 7
# draws (one of them from his own), 4 * 6 * 2 plays, 5 discards, pass: 61.
GOLDEN_COUNTS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "rulebook": ((7, 49, 553), (22, 580)),
    "hackmud": ((7, 49, 1015), (49, 48 * 32 + 61)),
}


@pytest.mark.parametrize("edition", GOLDEN_COUNTS)
def test_golden_counts_from_the_deal_and_from_the_middle_of_a_game(edition: str) -> None:
    state = golden_deal(edition)
    from_the_deal = tuple(counts(state, depth) for depth in (1, 2, 3))
    middle = at(
        state,
        2,
        attack="5& @^ 3%",
        defence="4^ 2#",
        south="8& >+ 7%",
        north="?& >& 6%",
        discard="9&",
    )
    from_the_middle = tuple(counts(middle, depth) for depth in (1, 2))
    assert (from_the_deal, from_the_middle) == GOLDEN_COUNTS[edition]
