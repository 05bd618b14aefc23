"""What the referee says about boards."""

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


def sq(text: str) -> Square:
    return Square.parse(text)


def layout(**stacks: str) -> Layout:
    """Make a layout: `layout(a1="purple flag, purple robot")`, from bottom to top."""
    return {sq(square): tuple(faces.split(", ")) for square, faces in stacks.items()}


def reading(unknown: str = "", quiet: bool = True, **seen: str) -> Reading:
    hidden = frozenset(sq(text) for text in unknown.split())
    return Reading(
        {sq(square): face for square, face in seen.items()}, hidden, quiet=quiet, game="outbuffered"
    )


STILL = {"a1": "purple robot", "b1": "purple flag", "c4": "lime robot", "b4": "lime flag"}


def test_a_layout_agrees_by_its_tops_alone() -> None:
    carried = layout(a1="lime flag, purple robot", b1="purple flag", c4="lime robot")
    assert shows_layout(carried, reading(a1="purple robot", b1="purple flag", c4="lime robot"))
    assert shows_layout(START, reading(**STILL))
    assert shows_layout(START, reading("b2", **STILL)), (
        "what is hidden beside the pieces does not matter"
    )
    assert not shows_layout(START, reading("a1", **STILL)), "a piece under a hand is not seen"
    assert not shows_layout(START, reading(quiet=False, **STILL))
    assert not shows_layout(START, reading(**(STILL | {"a2": "lime robot"})))


def test_what_has_not_moved_may_be_hidden() -> None:
    """A robot on b3 is so tall that the camera does not see the flag on b4 behind it."""
    before = layout(a1="purple robot", b2="lime robot", b4="lime flag")
    after = layout(a1="purple robot", b3="lime robot", b4="lime flag")
    hidden = reading("b4", a1="purple robot", b3="lime robot")
    assert shows_layout(after, hidden, before)
    assert not shows_layout(after, hidden), "in a set-up everything must be seen"
    below = layout(a1="purple robot", b2="lime robot", b4="lime flag, lime robot")
    assert shows_layout(after, hidden, below), "what lay on it has gone"
    assert not shows_layout(after, reading("b3", a1="purple robot", b4="lime flag"), before), (
        "what has moved must be seen"
    )
    assert not shows_layout(
        after, reading("b4", a1="purple robot", b3="lime robot", b2="purple flag"), before
    )


def test_hand_moves_follow_stacks() -> None:
    before = layout(b3="lime flag, purple robot", c4="lime robot")
    after = layout(b2="lime flag, purple robot", c3="lime robot")
    assert set(hand_moves(KIT, before, after)) == {
        HandMove(("lime flag", "purple robot"), sq("b3"), sq("b2")),
        HandMove(("lime robot",), sq("c4"), sq("c3")),
    }
    seen = reading(b2="purple robot", c4="lime robot")
    done = {move.faces[-1]: move.is_done for move in hand_moves(KIT, before, after, seen)}
    assert done == {"purple robot": True, "lime robot": False}
    left_behind = reading(b2="purple robot", b3="lime flag", c3="lime robot")
    assert not hand_moves(KIT, before, after, left_behind)[0].is_done, "the flag was forgotten"
    covered = reading("b3 c4", b2="purple robot", c3="lime robot")
    assert not any(move.is_done for move in hand_moves(KIT, before, after, covered)), (
        "a hand is over where they were"
    )


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
def test_wrong_pieces_are_named_with_their_way_back(
    seen: dict[str, str | None], text: str, sign: str
) -> None:
    squares = {square: face for square, face in (STILL | seen).items() if face}
    found = find_problems(KIT, START, START, reading(**squares))
    assert [(problem.text, problem.sign) for problem in found] == [(text, sign)]


def test_on_the_way_nothing_is_wrong() -> None:
    after = layout(a2="purple robot", b1="purple flag", c3="lime robot", b4="lime flag")
    lifted = {"b1": "purple flag", "b4": "lime flag"}
    assert find_problems(KIT, START, after, reading(**STILL)) == (), "not begun"
    assert find_problems(KIT, START, after, reading(**lifted)) == (), "both in the air"
    assert (
        find_problems(KIT, START, after, reading(**lifted, a2="purple robot", c4="lime robot"))
        == ()
    )
    wrong = find_problems(KIT, START, after, reading(**lifted, b2="purple robot", c4="lime robot"))
    assert [problem.text for problem in wrong] == [
        "Purple robot expected on a2, seen on b2: move it to a2."
    ]
    assert wrong[0].home == sq("a2")
    swapped = find_problems(
        KIT, START, after, reading(**lifted, a2="lime robot", c3="purple robot")
    )
    assert {problem.square: problem.home for problem in swapped} == {
        sq("a2"): sq("c3"),
        sq("c3"): sq("a2"),
    }


@pytest.mark.parametrize(
    ("faces", "seen", "fits"),
    [
        ("lime flag, purple robot", {"b3": "lime flag"}, True),
        ("lime flag, purple robot", {"b3": "lime flag", "a1": "purple robot"}, False),
        ("lime flag, purple robot", {"b3": "lime robot"}, False),
    ],
)
def test_a_flag_lies_above_or_below_its_robot(faces: str, seen: dict[str, str], fits: bool) -> None:
    after = layout(b3=faces, b1="purple flag")
    look = reading(b1="purple flag", **seen)
    assert shows_layout(after, with_expected_stacks(KIT, after, look)) is fits
    assert (find_problems(KIT, after, after, look) == ()) is fits


def test_a_misplaced_lower_piece_is_told_its_square() -> None:
    game = game_named("kahmate")
    kit = game.kit(game.options({}))
    after = layout(d6="blue fast, ball")
    (astray,) = find_problems(kit, after, after, reading(e6="blue fast", d6="ball"))
    assert astray.text == "Blue fast expected on d6, seen on e6: move it back."
    for faces in (("pink fast", "ball"), ("ball", "pink fast")):
        instruction = build_instruction(Session(), kit, HandMove(faces, sq("d4"), sq("d6")))
        assert instruction.seat is Seat.NORTH, "a ball is nobody’s"
        assert instruction.text == "Pink: fast and ball, d4 to d6"


def test_the_one_play_is_found() -> None:
    toy = Toy()
    state = toy.setup(toy.options({}), Random(0))
    outcomes = []
    for action in toy.legal_actions(state, Seat.SOUTH):
        step = toy.apply(state, {Seat.SOUTH: action}, Random(0))
        outcomes.append((action, (toy.expected(step.state) or {},)))
    before = BoardBefore(toy.kit(toy.options({})), toy.expected(state) or {})
    seen = reading(a3="white counter", b1="black counter")
    assert match_actions(outcomes, seen, before) == ([2], [])
    astray = reading(a5="white counter", b1="black counter")
    assert match_actions(outcomes, astray, before) == ([], [])
    both = [*outcomes, (1, outcomes[1][1])]
    assert match_actions(both, seen, before) == ([2, 1], [])
