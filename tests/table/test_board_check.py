"""Test the board check: readings of boards against the layouts that are expected."""

from __future__ import annotations

from random import Random

import pytest
from toy import Toy

from companion.core.grid import Square
from companion.core.kit import Layout, Seat
from companion.core.ports import Reading
from companion.games import game_named
from companion.table.board_check import (
    BoardBefore,
    HandMove,
    find_problems,
    hand_moves,
    match_actions,
    shows_layout,
    with_expected_stacks,
)
from companion.table.session import Session
from companion.table.state import build_instruction

GAME = game_named("outbuffered")
KIT = GAME.kit(GAME.options({}))
START = GAME.expected(GAME.setup(GAME.options({}), Random(0))) or {}


def square(text: str) -> Square:
    return Square.parse(text)


def layout(**stacks: str) -> Layout:
    """Make a layout: `layout(a1="purple flag, purple robot")`, each stack from bottom to top."""
    return {square(name): tuple(faces.split(", ")) for name, faces in stacks.items()}


def reading(unknown: str = "", quiet: bool = True, **seen: str) -> Reading:
    """Make a reading of the top faces on squares. `unknown` names squares that are hidden."""
    hidden = frozenset(map(square, unknown.split()))
    return Reading(
        {square(name): face for name, face in seen.items()},
        hidden,
        quiet=quiet,
        game="outbuffered",
    )


# The top faces of the board's start layout.
START_FACES = {"a1": "purple robot", "b1": "purple flag", "c4": "lime robot", "b4": "lime flag"}


def test_only_the_top_faces_are_compared() -> None:
    carried = layout(a1="lime flag, purple robot", b1="purple flag", c4="lime robot")
    assert shows_layout(carried, reading(a1="purple robot", b1="purple flag", c4="lime robot"))
    assert shows_layout(START, reading(**START_FACES))
    assert shows_layout(START, reading("b2", **START_FACES)), (
        "a hidden square that should be empty must not matter"
    )
    assert not shows_layout(START, reading("a1", **START_FACES)), (
        "a hidden piece must not count as seen"
    )
    assert not shows_layout(START, reading(quiet=False, **START_FACES))
    assert not shows_layout(START, reading(**(START_FACES | {"a2": "lime robot"})))


def test_a_piece_that_stays_may_be_hidden() -> None:
    """A robot on b3 is so tall that the camera does not see the flag on b4 behind it."""
    before = layout(a1="purple robot", b2="lime robot", b4="lime flag")
    after = layout(a1="purple robot", b3="lime robot", b4="lime flag")
    hidden = reading("b4", a1="purple robot", b3="lime robot")
    assert shows_layout(after, hidden, before)
    assert not shows_layout(after, hidden), "a set-up must not agree while a piece is hidden"
    under_robot = layout(a1="purple robot", b2="lime robot", b4="lime flag, lime robot")
    assert shows_layout(after, hidden, under_robot), (
        "the flag need not be seen after its robot has left"
    )
    assert not shows_layout(after, reading("b3", a1="purple robot", b4="lime flag"), before), (
        "a hidden robot must not count as moved"
    )
    assert not shows_layout(
        after, reading("b4", a1="purple robot", b3="lime robot", b2="purple flag"), before
    )


def test_hand_moves_follow_stacks() -> None:
    """A robot that carries a flag is one move of two faces."""
    before = layout(b3="lime flag, purple robot", c4="lime robot")
    after = layout(b2="lime flag, purple robot", c3="lime robot")
    assert set(hand_moves(KIT, before, after)) == {
        HandMove(("lime flag", "purple robot"), square("b3"), square("b2")),
        HandMove(("lime robot",), square("c4"), square("c3")),
    }
    # The camera sees that the first move is done, and the second one is not.
    seen = reading(b2="purple robot", c4="lime robot")
    done = {move.faces[-1]: move.is_done for move in hand_moves(KIT, before, after, seen)}
    assert done == {"purple robot": True, "lime robot": False}

    # Neither a flag that stays behind nor a hand over the squares proves a move.
    left_behind = reading(b2="purple robot", b3="lime flag", c3="lime robot")
    assert not hand_moves(KIT, before, after, left_behind)[0].is_done, (
        "a move must not be done while its flag stays behind"
    )
    covered = reading("b3 c4", b2="purple robot", c3="lime robot")
    # A hand hides the squares that the pieces have left, so they may still be there.
    assert not any(move.is_done for move in hand_moves(KIT, before, after, covered))


@pytest.mark.parametrize(
    ("seen", "text", "sign"),
    [
        (
            {"a1": None, "a2": "purple robot"},
            "Purple robot expected on a1, seen on a2: move it back.",
            "Move the purple robot a2 to a1",
        ),
        (
            {"a1": None},
            "Purple robot is missing on a1: put it there.",
            "Put the purple robot on a1",
        ),
    ],
)
def test_wrong_pieces_are_named_with_their_square(
    seen: dict[str, str | None], text: str, sign: str
) -> None:
    faces = {name: face for name, face in (START_FACES | seen).items() if face}
    problems = find_problems(KIT, START, START, reading(**faces))
    assert [(problem.text, problem.sign) for problem in problems] == [(text, sign)]


def test_unfinished_moves_are_no_problems() -> None:
    """People move one piece after the other, so the board is often neither old nor new."""
    # Both robots have to go one square ahead.
    after = layout(a2="purple robot", b1="purple flag", c3="lime robot", b4="lime flag")
    lifted = {"b1": "purple flag", "b4": "lime flag"}
    assert find_problems(KIT, START, after, reading(**START_FACES)) == (), (
        "there must be no problem before anybody has begun"
    )
    assert find_problems(KIT, START, after, reading(**lifted)) == (), (
        "there must be no problem while hands hold both robots"
    )
    assert (
        find_problems(KIT, START, after, reading(**lifted, a2="purple robot", c4="lime robot"))
        == ()
    )

    # A robot on a square where no robot belongs is a problem. So are two robots in each other's
    # place.
    wrong = find_problems(KIT, START, after, reading(**lifted, b2="purple robot", c4="lime robot"))
    assert [problem.text for problem in wrong] == [
        "Purple robot expected on a2, seen on b2: move it to a2."
    ]
    assert wrong[0].home == square("a2")
    swapped = find_problems(
        KIT, START, after, reading(**lifted, a2="lime robot", c3="purple robot")
    )
    assert {problem.square: problem.home for problem in swapped} == {
        square("a2"): square("c3"),
        square("c3"): square("a2"),
    }


# The stack on b3 from the bottom to the top, what the camera sees, and whether that is accepted. It
# is not if the robot is also seen elsewhere, or if the robot is the other side's.
@pytest.mark.parametrize(
    ("faces", "seen", "is_accepted"),
    [
        ("lime flag, purple robot", {"b3": "lime flag"}, True),
        ("lime flag, purple robot", {"b3": "lime flag", "a1": "purple robot"}, False),
        ("lime flag, purple robot", {"b3": "lime robot"}, False),
    ],
)
def test_a_flag_lies_above_or_below_its_robot(
    faces: str, seen: dict[str, str], is_accepted: bool
) -> None:
    after = layout(b3=faces, b1="purple flag")
    board = reading(b1="purple flag", **seen)
    assert shows_layout(after, with_expected_stacks(KIT, after, board)) is is_accepted
    assert (find_problems(KIT, after, after, board) == ()) is is_accepted


def test_a_misplaced_lower_piece_names_its_square() -> None:
    game = game_named("kahmate")
    kit = game.kit(game.options({}))
    after = layout(d6="blue fast, ball")
    (problem,) = find_problems(kit, after, after, reading(e6="blue fast", d6="ball"))
    assert problem.text == "Blue fast expected on d6, seen on e6: move it back."
    for faces in (("pink fast", "ball"), ("ball", "pink fast")):
        instruction = build_instruction(Session(), kit, HandMove(faces, square("d4"), square("d6")))
        assert instruction.seat is Seat.NORTH, "the owner of the carrier must be asked"
        assert instruction.text == "Pink: fast and ball, d4 to d6"


def test_actions_that_lead_to_the_board_are_found() -> None:
    # Each action of the toy game, with the board that it leads to.
    toy = Toy()
    state = toy.setup(toy.options({}), Random(0))
    layouts_by_action = {}
    for action in toy.legal_actions(state, Seat.SOUTH):
        step = toy.apply(state, {Seat.SOUTH: action}, Random(0))
        layouts_by_action[action] = (toy.expected(step.state) or {},)
    before = BoardBefore(toy.kit(toy.options({})), toy.expected(state) or {})
    # White's counter went two squares, by the action 2.
    board = reading(a3="white counter", b1="black counter")
    assert match_actions(layouts_by_action.items(), board, before) == ([2], [])
    impossible = reading(a5="white counter", b1="black counter")
    assert match_actions(layouts_by_action.items(), impossible, before) == ([], [])
    # If the action 1 led to the same board, both actions would be found.
    ambiguous = [*layouts_by_action.items(), (1, layouts_by_action[2])]
    assert match_actions(ambiguous, board, before) == ([2, 1], [])
