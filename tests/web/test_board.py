"""Tests of the drawn board and of the beats of a reveal, on values."""

from __future__ import annotations

import re
from typing import Any

import pytest

from companion.core.grid import Square
from companion.games import GAMES
from companion.games.base import Event
from companion.games.events import CommonEvent
from companion.games.outbuffered.board import OutbufferedEvent
from companion.table.board_check import HandMove, Problem
from web.rendering.beats import assign_beats, encode_tones
from web.rendering.board import board_svg
from web.rendering.board_picture import BoardPicture, board_words, layout_after


@pytest.fixture
def game() -> Any:
    """Outbuffered."""
    return GAMES["outbuffered"]


def test_norths_board_is_rotated_by_half_a_turn(game: Any) -> None:
    kit = game.kit(game.options({}))
    picture = BoardPicture(kit, {Square.parse("a1"): ("purple robot",)})
    assert board_words(picture) == "purple robot a1"
    for_south = board_svg(picture)
    for_north = board_svg(picture, quarters=2)
    robot = re.compile(r'<use href="#robot-s" x="([-\d.]+)" y="([-\d.]+)"')
    (south_x, south_y), (north_x, north_y) = (
        tuple(map(float, robot.findall(svg)[0])) for svg in (for_south, for_north)
    )
    # a1 is at the bottom left for South, and at the top right for North
    assert south_x < north_x
    assert south_y > north_y
    assert 'aria-label="purple robot a1"' in for_north


def test_the_board_marks_moves_events_and_problems(game: Any) -> None:
    # A robot that carries a flag is to be moved from a1 to a2, which the camera cannot see. It has
    # shot at the robot on c4, which has bounced off its right edge. But that robot stands on b2.
    kit = game.kit(game.options({}))
    a1, a2, c4 = (Square.parse(text) for text in ("a1", "a2", "c4"))
    picture = BoardPicture(
        kit,
        {a1: ("lime flag", "purple robot"), c4: ("lime robot",)},
        moves=(HandMove(("lime flag", "purple robot"), a1, a2),),
        events=(
            Event(CommonEvent.BOUNCE, "…", edge=(1, 0), square="c4"),
            Event(CommonEvent.SHOT, "…", square="a1", to="c4"),
        ),
        problems=(Problem("lime robot", Square(1, 1), c4, "…", "…"),),
        unknown=frozenset({a2}),
    )

    # the frame of a target, a faint piece, an arrow, a bounce, a shot and a misplaced piece
    svg = board_svg(picture)
    for mark in (
        'class="target"',
        'class="ghost"',
        'class="way"',
        'class="bounce"',
        'class="fire"',
        'class="ring"',
    ):
        assert mark in svg
    assert svg.count('class="unseen"') == 1
    assert "The camera cannot see a2" in board_words(picture)


def test_a_moved_piece_lies_on_top() -> None:
    a1 = Square.parse("a1")
    a2 = Square.parse("a2")
    before = {a1: ("flag", "robot"), a2: ("stone",)}
    # the robot moves onto the stone, or the stone leaves the board
    for moves, after in (
        ([HandMove(("robot",), a1, a2)], {a1: ("flag",), a2: ("stone", "robot")}),
        ([HandMove(("stone",), a2, None)], {a1: ("flag", "robot")}),
    ):
        assert layout_after(before, moves) == after


def test_events_of_one_kind_share_a_beat() -> None:
    """Two bounces that follow each other share a beat, and sound once.

    Tones are written as the beat, then each note with its length in ms. `·` is a rest.
    """
    kinds = (
        CommonEvent.MOVE,
        CommonEvent.BOUNCE,
        CommonEvent.BOUNCE,
        CommonEvent.SHOT,
        OutbufferedEvent.FLAG_TAKEN,
    )
    events = [Event(kind, "…", square="a1") for kind in kinds]
    # a move is neither drawn nor heard as an event, so it has no beat
    assert assign_beats(events) == (0, 1, 1, 2, 3)
    assert encode_tones(events) == (
        "1 A5 120 ·40 A4 60|2 E6 40 ·60 A4 160|3 E5 120 ·40 A5 40 ·40 E6 40"
    ), "bounces must sound once, then the shot, then the taken flag"
    # no events: no beats and no tones
    assert (assign_beats(()), encode_tones(())) == ((), "")
