"""Tests of what screens and pads show of Kahmate, and of plays that hands make on the board.

They cover signs, face-offs, what can be tapped, layouts, placing and keys, on states without a
table. `make_state` takes blue's pieces, pink's pieces, and the square of the ball. The head of the
package `kahmate` explains the notation of actions.
"""

from __future__ import annotations

from collections import defaultdict
from random import Random

import pytest
from kahmate_tools import GAME, NORTH, SOUTH, carry_out, make_state, set_up_state, with_hands
from step_tools import event_texts

from companion.core.grid import Square
from companion.core.kit import SEATS
from companion.games.action_words import spell_action
from companion.games.base import plain_layout
from companion.games.kahmate.actions import Run, Tackle
from companion.games.kahmate.state import State
from companion.games.pads import PadGrammar
from companion.games.screen import Duellist, Play

NOT_PLACED = GAME.setup(GAME.options({}), Random(0))
BEFORE_TACKLE = make_state("B@e5 T@f6", "S@e6", "e6")


def plays(state: State) -> dict[str, Play]:
    """Return the plays that the seat on turn can tap, by their notation."""
    (seat,) = GAME.to_act(state)
    return {play.text: play for play in GAME.plays(state, seat)}


def layout_after(state: State, text: str) -> dict[str, list[str]] | None:
    """Return the layout that hands leave after an action of the seat on turn."""
    (seat,) = GAME.to_act(state)
    action = GAME.parse(text)
    step = GAME.apply(state, {seat: action}, Random(0))
    return plain_layout(GAME.layouts_by_hand(state, seat, action, step)[0])


def random_states(seed: int, count: int) -> list[State]:
    """Return positions of random games in which one seat is on turn."""
    rng = Random(seed)
    state = set_up_state()
    states = []
    while len(states) < count:
        due = sorted(GAME.to_act(state))
        if len(due) == 1 and rng.random() < 0.2:
            states.append(state)
        if not due:
            state = set_up_state()
            continue
        state = GAME.apply(
            state, {seat: GAME.random_action(state, seat, rng) for seat in due}, rng
        ).state
    return states


# ---- signs, facts and face-offs ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "sign"),
    [
        (NOT_PLACED, "Both: place your six pieces"),
        (set_up_state(starter="north"), "Pink: run up to two"),
        (BEFORE_TACKLE, "Blue: run up to two"),
        (
            make_state("B@e5 T@e4 S@a3", "S@e6", "e5", moved_pieces="e4 a3"),
            "Blue: pass, kick or end the turn",
        ),
        (
            make_state("B@e5 T@e4 S@a6", "S@e6", "e5", moved_pieces="e4 a6"),
            "Blue: pass, kick or end the turn",
        ),
        (
            make_state("B@e5 T@e2 S@a1", "S@e6", "e5", moved_pieces="e2 a1"),
            "Blue: pass, kick or end the turn",
        ),
        (make_state("B@e5 T@e4 S@a3", "S@e6", "e6", moved_pieces="e4 a3"), "Blue: end the turn"),
        (carry_out(BEFORE_TACKLE, "e5xe6").state, "Both: choose a card"),
        (carry_out(make_state("R@h10", "", "h10"), "h10-h11-goal").state, ""),
    ],
)
def test_the_sign_says_what_is_awaited(state: State, sign: str) -> None:
    for viewer in (None, *SEATS):
        assert GAME.board_ui(state, viewer).sign == sign
    assert len(sign) <= 40  # room on a page


def test_facts_and_hands_are_open_to_everybody() -> None:
    state = carry_out(with_hands(set_up_state(), (2, 3, 5), (1, 4, 6)), "e2-e3").state
    for viewer in (None, *SEATS):
        board_ui = GAME.board_ui(state, viewer)
        assert board_ui.facts == {SOUTH: "run 2 of 2", NORTH: ""}
        assert [card.value for card in board_ui.hands[NORTH] if card.is_spent] == ["2", "3", "5"]
    assert GAME.board_ui(carry_out(state, "d2-d3").state, None).facts[SOUTH] == "no run left"


def test_the_proposed_placing_is_legal() -> None:
    assert GAME.board_ui(NOT_PLACED, None).placing is None
    for seat in SEATS:
        placing = GAME.board_ui(NOT_PLACED, seat).placing
        assert placing is not None
        assert {face.split()[0] for _, face in placing.pieces} == {GAME.sides[seat].name}
        pairs = zip(placing.pieces, placing.proposal, strict=True)
        text = " ".join(f"{letter}@{square}" for (letter, _), square in pairs)
        GAME.check(NOT_PLACED, seat, GAME.parse(text))


def test_a_waiting_tackle_is_a_duel() -> None:
    duel = GAME.board_ui(carry_out(BEFORE_TACKLE, "e5&f6xe6").state, None).duel
    assert duel is not None
    assert duel.hint == "A lead of more than 2 takes the ball."
    assert duel.sides == {
        SOUTH: Duellist("blue big", Square.parse("e5"), "tackles from e5", (2, 1)),
        NORTH: Duellist("pink smart", Square.parse("e6"), "has the ball on e6", (1,)),
    }
    assert GAME.board_ui(BEFORE_TACKLE, SOUTH).duel is None


@pytest.mark.parametrize(
    ("state", "text", "sides"),
    [
        (
            make_state("R@d6 T@d4", "S@d5", "d6"),
            "d6*d4",
            ["passes from d6 to d4", "intercepts on d5"],
        ),
        (
            make_state("T@d4", "S@d5 B@d6", "h6"),
            "d4-d5-d4",
            ["runs from d4", "is in the way on d5"],
        ),
    ],
)
def test_waiting_runs_and_passes_are_duels(state: State, text: str, sides: list[str]) -> None:
    duel = GAME.board_ui(carry_out(state, text).state, NORTH).duel
    assert duel is not None
    assert [side.text for side in duel.sides.values()] == sides


# ---- what can be tapped --------------------------------------------------------------------------


def test_ways_that_meet_nobody_come_first() -> None:
    # These ways all lead the fast piece from d4 to d6. An opponent stands on d5.
    ways = [
        play
        for play in plays(make_state("F@d4", "R@d5", "a9")).values()
        if play.touches[1:] == (Square.parse("d6"),)
    ]
    assert [(play.text, " ".join(map(str, play.meets))) for play in ways] == [
        ("d4-c4-c5-c6-d6", ""),
        ("d4-d5-d6", "d5"),  # a runner that loses to d5 stops on d4, c5 or e5
        ("d4-c4-c5-d5-d6", "d5"),
        ("d4-e4-e5-d5-d6", "d5"),
    ]


PASSER = make_state("R@d6 T@d4", "S@d5", "d6")
TWO_TACKLERS = make_state("B@e5 T@f7", "S@e6", "e6")


@pytest.mark.parametrize(
    ("state", "text", "key", "label", "touches"),
    [
        (set_up_state(), ".", "end", "End turn", ""),
        # A try is tapped on the rank beyond the board.
        (make_state("B@h10", "", "h10"), "h10-h11-goal", "", "Run h10 into goal", "h10 h12"),
        (make_state("B@a8", "B@h2", "h2", NORTH), "h2-h1-goal", "", "Run h2 into goal", "h2 h0"),
        (PASSER, "d6*d4", "", "Pass d6 to d4 against d5", "d6 d4"),
        (PASSER, "d6!f8", "kick", "Kick d6 to f8", "d6 f8"),
        (TWO_TACKLERS, "e5xe6", "", "Tackle e6 from e5", "e5 e6"),
        (TWO_TACKLERS, "f7-e7&e5xe6", "tackle2", "Tackle e6 from f7 and e5", "f7 e5 e6"),
        (TWO_TACKLERS, "e5&f7-e7xe6", "tackle2", "Tackle e6 from e5 and f7", "e5 f7 e6"),
    ],
)
def test_a_play_has_a_key_and_squares(
    state: State, text: str, key: str, label: str, touches: str
) -> None:
    play = plays(state)[text]
    assert (play.key, play.label, " ".join(map(str, play.touches))) == (key, label, touches)
    assert play.is_by_hand is (text != ".")


def count_squares(action: object) -> int:
    """Return the number of squares that the notation of a run or tackle names. 0 for others."""
    if not isinstance(action, Run | Tackle):
        return 0
    return len(str(action).replace("&", "-").replace("x", "-").split("-"))


@pytest.mark.parametrize("seed", range(3))
def test_each_next_state_has_one_play(seed: int) -> None:
    """Every legal action leads to the state of one play, which is the shortest way there. Hands
    that make a play break no rule.
    """
    for state in random_states(seed, 6):
        (seat,) = GAME.to_act(state)
        plays_by_state = {}
        for play in GAME.plays(state, seat):
            # Each play is legal, and no two lead to the same state.
            action = GAME.parse(play.text)
            GAME.check(state, seat, action)
            step = GAME.apply(state, {seat: action}, Random(0))
            assert step.state not in plays_by_state
            plays_by_state[step.state] = play
            assert len(play.label) <= 40
            # Hands leave the layout of the first stage, and `why_not` finds nothing wrong in it.
            layout = GAME.layouts_by_hand(state, seat, action, step)[0]
            if step.stages and play.text != ".":
                assert layout == step.stages[0].expected
            if layout and not (isinstance(action, Run) and action.into_goal):
                tops = {square: faces[-1] for square, faces in layout.items()}
                # A longer way round something cannot be guessed from the board.
                assert GAME.why_not(state, seat, tops) is None or count_squares(action) > 2
        # The keys on the page are exactly those that these plays need.
        keys = {key.name for key in GAME.board_ui(state, seat).keys}
        assert {play.key for play in plays_by_state.values()} - {""} == keys
        assert GAME.board_ui(state, seat.other).keys == ()
        # Every legal action leads to the state of a play, and the play is the shortest way to it.
        ways_by_state = defaultdict(list)
        for action in GAME.legal_actions(state, seat):
            after = GAME.apply(state, {seat: action}, Random(0)).state
            ways_by_state[after].append((count_squares(action), GAME.format(action)))
        assert set(ways_by_state) == set(plays_by_state)
        for after, ways in ways_by_state.items():
            assert min(ways)[1] == plays_by_state[after].text


# ---- what hands leave ----------------------------------------------------------------------------


LONE_RUNNER = make_state("T@d3", "", "d4")
PASSING = make_state("R@d6 T@d4", "S@d5 B@e8", "d6")


@pytest.mark.parametrize(
    ("state", "text", "stacks"),
    [
        (LONE_RUNNER, "d3-d4-e4", {"e4": ["blue tough", "ball"], "d3": None}),
        (LONE_RUNNER, "d3-e3-e4", {"e4": ["blue tough"], "d4": ["ball"]}),
        # A face-off still waits: hands move as if it were won, and turn nothing over yet.
        (
            make_state("F@d3", "S@d4", "d3"),
            "d3-d4-d5",
            {"d5": ["blue fast", "ball"], "d4": ["pink smart"], "d3": None},
        ),
        (PASSING, "d6*d4", {"d4": ["blue tough", "ball"], "d6": ["blue regular"]}),
        (PASSING, "d6!e8", {"e8": ["pink big", "ball"]}),
        (PASSING, "d6!d9", {"d9": ["ball"]}),
        (BEFORE_TACKLE, "e5xe6", {"e6": ["pink smart", "ball", "blue big"]}),
        (
            BEFORE_TACKLE,
            "f6&e5xe6",
            {"e6": ["pink smart", "ball", "blue tough", "blue big"], "e5": None, "f6": None},
        ),
        (make_state("B@h10", "", "h10"), "h10-h11-goal", {"h10": None, "h11": None}),
    ],
)
def test_layouts_are_what_hands_leave(
    state: State, text: str, stacks: dict[str, list[str] | None]
) -> None:
    layout = layout_after(state, text) or {}
    assert {square: layout.get(square) for square in stacks} == stacks


def test_a_run_may_return_to_its_start() -> None:
    assert (
        event_texts(carry_out(LONE_RUNNER, "d3-d4-d3"))[0]
        == "Blue tough runs from d3 and comes back."
    )


# Letter of the piece on each square, and the role of each letter.
PLACES = {"c2": "R", "f2": "R", "d2": "B", "e2": "T", "a2": "F", "d1": "S"}
ROLES = {"R": "regular", "B": "big", "T": "tough", "F": "fast", "S": "smart"}


def faces_at(side: str, places: dict[str, str]) -> dict[Square, str]:
    """Return the faces of a side's pieces by their square."""
    return {Square.parse(name): f"{side} {ROLES[letter]}" for name, letter in places.items()}


def test_six_pieces_laid_out_are_a_placing() -> None:
    faces = faces_at("blue", PLACES)
    action = GAME.laid_out(NOT_PLACED, SOUTH, faces)
    assert action is not None
    assert GAME.format(action) == "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1"
    GAME.check(NOT_PLACED, SOUTH, action)
    d1 = Square.parse("d1")
    one_turned_over = {**faces, d1: "blue smart turned over"}
    one_missing = {square: face for square, face in faces.items() if square != d1}
    for incomplete in (one_turned_over, one_missing, {}):
        assert GAME.laid_out(NOT_PLACED, SOUTH, incomplete) is None
    assert GAME.laid_out(set_up_state(), SOUTH, faces) is None


# ---- pads ----------------------------------------------------------------------------------------


def test_six_keys_choose_six_cards() -> None:
    # The keys of cards that are spent do nothing.
    state = carry_out(with_hands(BEFORE_TACKLE, (2, 3, 5), (1, 4, 6)), "e5xe6").state
    for seat, hand in ((SOUTH, "235"), (NORTH, "146")):
        pad = GAME.pad(state, seat)
        assert pad is not None
        buttons = ("up", "down", "left", "right", "a", "b")
        assert "".join(filter(None, (pad.text((button,)) for button in buttons))) == hand
        assert [pad.accepts((), button) for button in buttons] == [
            card in hand for card in "123456"
        ]
        assert pad.text(()) is None
        assert not pad.accepts((pad.keys[0].pad,), "down"), "the pad must not accept a second card"


def test_the_ready_key_alone_ends_a_turn() -> None:
    pad = GAME.pad(set_up_state(), SOUTH)
    assert isinstance(pad, PadGrammar)
    assert (pad.length, pad.keys, pad.text(())) == (0, (), ".")
    assert not pad.accepts((), "up")
    assert GAME.pad(set_up_state(), NORTH) is None
    assert GAME.pad(NOT_PLACED, SOUTH) is None
    assert GAME.pad(carry_out(make_state("R@h10", "", "h10"), "h10-h11-goal").state, SOUTH) is None


def test_a_longer_run_is_spelled_in_notation() -> None:
    spelled = spell_action(GAME, make_state("R@b2", "R@h9", "d6"), SOUTH, "b2-b3-b4-b3")
    assert [order.words for order in spelled] == ["b2-b3-b4-b3"]
