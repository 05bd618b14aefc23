"""Tests of Kahmate's refusals: each reason has examples with their sentence, rule and square.

Actions are refused by `check`, and what hands did on the board by `why_not`.

`make_state` takes blue's pieces, pink's pieces, and the square of the ball, and `carry_out` carries
out actions in notation. The head of the package `kahmate` explains the notation.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from kahmate_tools import GAME, NORTH, SOUTH, carry_out, make_state, set_up_state

from companion.core.errors import Illegal
from companion.core.grid import Square
from companion.games.kahmate.legal import Reason
from companion.games.kahmate.state import State

# States in which blue has to act. In the first one the pieces are not placed yet. In the next one a
# run waits for the cards of its face-off, and in the last one some cards are spent as well.
NOT_PLACED = GAME.setup(GAME.options({}), Random(0))
FACE_OFF = carry_out(make_state("T@d3", "S@d4", "h6"), "d3-d4-d5").state
CARDS_SPENT = carry_out(
    make_state("T@d3", "S@d4", "h6", cards=((1, 4, 5), (2, 3, 6))), "d3-d4-d5"
).state
# One piece has run in this turn, then a second one.
AFTER_ONE_RUN = carry_out(make_state("B@d3 T@e3 F@h3", "S@d4", "h6"), "e3-e4").state
AFTER_TWO_RUNS = carry_out(AFTER_ONE_RUN, "h3-h4").state
# Blue has the ball, first with a team-mate ahead of the carrier, then without one. Finally pink has
# the ball.
WITH_BALL = make_state("B@d5 T@d4 R@c6 S@e4", "S@e6 R@f6", "d5", down="e4=1")
NOBODY_AHEAD = make_state("B@d5 T@d4", "S@e6 R@f6", "d5")
OTHER_HAS_BALL = make_state("B@e5 R@c5 T@f4", "S@e6 R@d6 T@e8", "e6", down="f4=1")
BLUE_PLACING = "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1"

# By reason: the state, South's action, the square that the refusal names, and its sentence.
EXAMPLES: dict[Reason, list[tuple[State, str, str | None, str]]] = {
    Reason.PLACING_DUE: [
        (
            NOT_PLACED,
            "b2-b3",
            None,
            "The pieces are not placed yet: give each of your six a square.",
        )
    ],
    Reason.ALREADY_PLACED: [
        (
            set_up_state(),
            BLUE_PLACING,
            None,
            "The pieces are placed already: run, pass, kick, tackle or end the turn.",
        )
    ],
    Reason.OUTSIDE_OWN_RANKS: [
        (
            NOT_PLACED,
            BLUE_PLACING.replace("d1", "d3"),
            "d3",
            "d3 is not on ranks 1 and 2: blue places its pieces there.",
        )
    ],
    Reason.PLACED_TWICE: [
        (
            NOT_PLACED,
            BLUE_PLACING.replace("d1", "c2"),
            "c2",
            "Two pieces are placed on c2: give each a square of its own.",
        )
    ],
    Reason.FACE_OFF_DUE: [
        (FACE_OFF, "e1-e2", None, "A face-off waits for cards: choose one of 1 2 3 4 5 6.")
    ],
    Reason.NO_FACE_OFF: [
        (
            set_up_state(),
            "3",
            None,
            "No face-off waits for a card: run, pass, kick, tackle or end the turn.",
        )
    ],
    Reason.CARD_SPENT: [(CARDS_SPENT, "2", None, "Card 2 has been used: choose one of 1 4 5.")],
    Reason.NOBODY_THERE: [
        (set_up_state(), "d5-d6", "d5", "Nobody stands on d5: run with a piece of blue."),
        (WITH_BALL, "g5*g4", "g5", "Nobody stands on g5: pass with a piece of blue."),
        (WITH_BALL, "g5!g6", "g5", "Nobody stands on g5: kick with a piece of blue."),
        (OTHER_HAS_BALL, "g5xe6", "g5", "Nobody stands on g5: tackle with a piece of blue."),
    ],
    Reason.OTHER_SIDE: [
        (set_up_state(), "d10-d9", "d10", "Pink tough stands on d10: run with a piece of blue."),
        (WITH_BALL, "e6*e4", "e6", "Pink smart stands on e6: pass with a piece of blue."),
        (WITH_BALL, "e6!e8", "e6", "Pink smart stands on e6: kick with a piece of blue."),
        (OTHER_HAS_BALL, "d6xe6", "d6", "Pink regular stands on d6: tackle with a piece of blue."),
    ],
    Reason.TURNED_OVER: [
        (
            OTHER_HAS_BALL,
            "f4-f5",
            "f4",
            "Blue tough on f4 is turned over: it stands up at the end of this turn.",
        )
    ],
    Reason.RAN_ALREADY: [
        (
            AFTER_TWO_RUNS,
            "e4-e5",
            "e4",
            "Blue tough on e4 has run already: each piece runs once in a turn.",
        )
    ],
    Reason.NO_RUN_LEFT: [
        (
            AFTER_TWO_RUNS,
            "d3-c3",
            None,
            "Two pieces have run in this turn: pass, kick or end the turn.",
        )
    ],
    Reason.NOT_A_STEP: [
        (
            set_up_state(),
            "e2-f3",
            "f3",
            "e2 to f3 is not a step: a step goes to an adjacent square, not diagonally.",
        ),
        (
            OTHER_HAS_BALL,
            "c5-e5xe6",
            "e5",
            "c5 to e5 is not a step: a step goes to an adjacent square, not diagonally.",
        ),
    ],
    Reason.TOO_FAR: [
        (set_up_state(), "d2-d3-d4-d5", "d5", "Too far: Big runs 2."),
        (OTHER_HAS_BALL, "e5-f5-f6xe6", "e6", "Too far: Big runs 2."),
    ],
    Reason.INTO_CARRIER: [
        (
            OTHER_HAS_BALL,
            "e5-e6-e7",
            "e6",
            "Pink smart on e6 has the ball: it is tackled, nobody runs onto it.",
        )
    ],
    Reason.STOPS_ON_TEAM_MATE: [
        (
            set_up_state(),
            "d2-e2",
            "e2",
            "Blue tough stands on e2: a run goes through team-mates and stops beyond.",
        )
    ],
    Reason.STOPS_ON_TURNED_OVER: [
        (
            OTHER_HAS_BALL,
            "e5-e4-f4",
            "f4",
            "Blue tough lies on f4: a run goes over it and stops beyond.",
        )
    ],
    Reason.STOPS_ON_OPPONENT: [
        (
            OTHER_HAS_BALL,
            "c5-d5-d6",
            "d6",
            "Pink regular stands on d6: a run that meets it needs a step beyond.",
        ),
        (
            OTHER_HAS_BALL,
            "e5-d5-d6",
            "d6",
            "Pink regular stands on d6: blue big has no step left to go beyond it.",
        ),
    ],
    Reason.GOAL_TOO_EARLY: [
        (WITH_BALL, "d5-d6-goal", "d6", "d6 is not on rank 11: blue runs into goal from there.")
    ],
    Reason.GOAL_WITHOUT_BALL: [
        (
            make_state("B@h10", "", "d6"),
            "h10-h11-goal",
            "h11",
            "Blue big does not have the ball on this path: only a carrier runs into goal.",
        )
    ],
    Reason.NO_BALL: [
        (
            WITH_BALL,
            "d4*d3",
            "d4",
            "Blue tough on d4 does not have the ball: pass with the carrier.",
        ),
        (
            WITH_BALL,
            "e4!e6",
            "e4",
            "Blue smart on e4 does not have the ball: kick with the carrier.",
        ),
    ],
    Reason.PASS_NOT_BEHIND: [
        (WITH_BALL, "d5*c6", "c6", "c6 is not behind d5: a pass goes 1 or 2 ranks back."),
        (WITH_BALL, "d5*c5", "c5", "c5 is not behind d5: a pass goes 1 or 2 ranks back."),
    ],
    Reason.PASS_TOO_FAR: [
        (
            WITH_BALL,
            "d5*d2",
            "d2",
            "d5 to d2 is too far: a pass goes at most 2 ranks back and 2 files sideways.",
        ),
        (
            WITH_BALL,
            "d5*a4",
            "a4",
            "d5 to a4 is too far: a pass goes at most 2 ranks back and 2 files sideways.",
        ),
    ],
    Reason.NO_RECEIVER: [
        (WITH_BALL, "d5*c4", "c4", "Nobody stands on c4: a pass goes to a team-mate."),
        (WITH_BALL, "d5*e4", "e4", "Blue smart on e4 is turned over: it cannot receive a pass."),
    ],
    Reason.KICK_NOT_AHEAD: [
        (NOBODY_AHEAD, "d5!d4", "d4", "d4 is not ahead of d5: a kick goes 1 to 3 ranks ahead."),
        (NOBODY_AHEAD, "d5!e5", "e5", "e5 is not ahead of d5: a kick goes 1 to 3 ranks ahead."),
    ],
    Reason.KICK_TOO_FAR: [
        (
            NOBODY_AHEAD,
            "d5!d9",
            "d9",
            "d5 to d9 is too far: a kick goes at most 3 ranks ahead and 3 files sideways.",
        ),
        (
            NOBODY_AHEAD,
            "d5!h6",
            "h6",
            "d5 to h6 is too far: a kick goes at most 3 ranks ahead and 3 files sideways.",
        ),
    ],
    Reason.TEAM_MATE_AHEAD: [
        (
            WITH_BALL,
            "d5!d6",
            "c6",
            "Blue regular on c6 is ahead of the kicker: nobody of blue may be.",
        )
    ],
    Reason.NO_CARRIER: [
        (OTHER_HAS_BALL, "c5xd6", "d6", "Nobody on d6 has the ball: only the carrier is tackled."),
        (OTHER_HAS_BALL, "c5xc6", "c6", "Nobody on c6 has the ball: only the carrier is tackled."),
        (
            NOBODY_AHEAD,
            "d4xd5",
            "d5",
            "Blue big on d5 is a team-mate: only a carrier of the other side is tackled.",
        ),
    ],
    Reason.WAY_BLOCKED: [
        (
            OTHER_HAS_BALL,
            "c5-d5-d6xe6",
            "d6",
            "Pink regular stands on d6: the path to a tackle may not cross a standing opponent.",
        )
    ],
    Reason.SAME_TACKLER: [
        (
            OTHER_HAS_BALL,
            "e5&e5xe6",
            "e5",
            "Blue big on e5 is named twice: two tacklers are two pieces.",
        )
    ],
}


def refusals(reason: Reason) -> list[Illegal]:
    """Return the refusal of each example of a reason."""
    refusals_found = []
    for state, text, *_ in EXAMPLES[reason]:
        with pytest.raises(Illegal) as refused:
            GAME.check(state, SOUTH, GAME.parse(text))
        refusals_found.append(refused.value)
    return refusals_found


def top_faces_after(state: State, changed: Mapping[str, str | None]) -> dict[Square, str]:
    """Return the face on top of each square after hands have changed some. None: it is empty."""
    layout = GAME.expected(state)
    assert layout is not None
    top_faces = {square: faces[-1] for square, faces in layout.items()}
    for name, face in changed.items():
        top_faces.pop(Square.parse(name), None)
        if face is not None:
            top_faces[Square.parse(name)] = face
    return top_faces


@pytest.mark.parametrize("reason", Reason)
def test_every_refusal_names_its_reason_and_rule(reason: Reason) -> None:
    for refused, example in zip(refusals(reason), EXAMPLES[reason], strict=True):
        _, _, square, sentence = example
        assert (refused.reason, refused.square) == (reason, square)
        assert refused.message == sentence
        assert refused.rule in {rule.id for rule in GAME.rules}


def test_refusals_of_north_speak_to_north() -> None:
    for state, text, sentence in (
        (NOT_PLACED, BLUE_PLACING, "c2 is not on ranks 10 and 11: pink places its pieces there."),
        (CARDS_SPENT, ".", "A face-off waits for cards: choose one of 2 3 6."),
        (CARDS_SPENT, "1", "Card 1 has been used: choose one of 2 3 6."),
    ):
        with pytest.raises(Illegal) as refused:
            GAME.check(state, NORTH, GAME.parse(text))
        assert refused.value.message == sentence


def test_refusals_say_when_a_piece_stands_up() -> None:
    # A runner that has been stopped is turned over as well, but the sentence is about its run.
    state = carry_out(make_state("T@d3 R@a3", "S@d4", "h6"), "d3-d4-d5", "1/6").state
    with pytest.raises(Illegal, match="has run already"):
        GAME.check(state, SOUTH, GAME.parse("d3-d2"))
    # This piece still lies for two of its owner's turns, the present one included.
    state = carry_out(make_state("R@d3 T@a3", "S@e6", "e6", down="d3=2")).state
    with pytest.raises(Illegal, match="it stands up at the end of blue’s next turn"):
        GAME.check(state, SOUTH, GAME.parse("d3-d2"))


def test_a_double_tackle_needs_both_runs() -> None:
    # One of the two runs of the turn is used up.
    state = carry_out(make_state("R@e5 T@f6 F@a3", "S@e6", "e6"), "a3-a4").state
    with pytest.raises(
        Illegal, match=r"Two tacklers need both runs of the turn: 1 is used\."
    ) as refused:
        GAME.check(state, SOUTH, GAME.parse("e5&f6xe6"))
    assert refused.value.reason is Reason.NO_RUN_LEFT


# ---- what hands do -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "changed", "message", "square"),
    [
        # A piece of blue has run too far, then one of pink has moved in blue's turn, then a ball
        # that nobody has, and finally a piece has tackled from too far away.
        (
            set_up_state(),
            {"d2": None, "d5": "blue big"},
            "Too far: Big runs 2.",
            "d5",
        ),
        (
            set_up_state(),
            {"d10": None, "d9": "pink tough"},
            "Pink tough stands on d10: run with a piece of blue.",
            "d10",
        ),
        (
            set_up_state(),
            {"d6": None, "d5": "ball"},
            "Nobody stands on d6: pass with a piece of blue.",
            "d6",
        ),
        (
            make_state("R@d2", "S@d6", "d6"),
            {"d2": None, "d6": "blue regular"},
            "Too far: Regular runs 3.",
            "d6",
        ),
        # The ball and a piece have moved at once, which is no single action.
        (WITH_BALL, {"d5": "blue big", "d4": "ball", "c6": None, "c7": "blue regular"}, None, None),
        # The ball has been passed ahead, then kicked although a team-mate is ahead.
        (
            WITH_BALL,
            {"d5": "blue big", "c6": "ball"},
            "c6 is not behind d5: a pass goes 1 or 2 ranks back.",
            "c6",
        ),
        (
            WITH_BALL,
            {"d5": "blue big", "d7": "ball"},
            "Blue regular on c6 is ahead of the kicker: nobody of blue may be.",
            "c6",
        ),
        # The carrier has run too far with the ball on top.
        (NOBODY_AHEAD, {"d5": None, "d8": "ball"}, "Too far: Big runs 2.", "d8"),
        # No refusal of a wrong side of a piece: the table itself asks people to turn it over.
        (OTHER_HAS_BALL, {"e8": "pink tough turned over"}, None, None),
        (OTHER_HAS_BALL, {"f4": "blue tough"}, None, None),
        # A legal run to a loose ball, and a legal run round pink's carrier.
        (make_state("F@d4", "", "d6"), {"d4": None, "d6": "blue fast"}, None, None),
        (make_state("F@e5", "S@e6", "e6"), {"e5": None, "f6": "blue fast"}, None, None),
        # Three pieces in somebody's hands, a piece moved in a face-off, and a board before the
        # placing.
        (set_up_state(), {"d2": None, "e2": None, "f2": None}, None, None),
        (FACE_OFF, {"d3": None}, None, None),
        (NOT_PLACED, {}, None, None),
    ],
)
def test_hands_that_break_a_rule_are_told_which(
    state: State, changed: dict[str, str | None], message: str | None, square: str | None
) -> None:
    top_faces = top_faces_after(state, changed) if state.piece_squares else {}
    refusal = GAME.why_not(state, SOUTH, top_faces)
    if message is None:
        assert refusal is None
        return
    assert refusal is not None
    assert (refusal.message, refusal.square) == (message, square)
    assert refusal.rule in {rule.id for rule in GAME.rules}
    assert len(refusal.message.split(". ")) <= 2
