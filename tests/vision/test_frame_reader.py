"""Test which parts of a picture are read again, and how many pictures settle a board."""

from typing import Any

import numpy as np
import pytest
from reading_tools import KITS, BoardRig, faces_on_top, lay

from companion.core.grid import Square
from companion.core.kit import Kit, Layout
from vision.pieces.empty_squares import find_shaded_squares
from vision.pose.pose import at_height
from vision.reading import detect, judge
from vision.reading.look import Vote
from vision.reading.vote import settle
from vision.simulation.render import camera_pose

ARENA = KITS["arena"]
A1, B2, C3, E5 = (Square.parse(name) for name in ("a1", "b2", "c3", "e5"))
LAYOUT = lay(a1="petrol robot 1", c3="petrol robot 2", h8="coral robot 3")


def large_rig(kit: Kit = ARENA, layout: Layout = LAYOUT, **view: Any) -> BoardRig:
    """Return a rig whose camera has pictures of 1920 x 1080."""
    return BoardRig(kit, layout, width=1920, height=1080, **view)


def record_squares(
    monkeypatch: pytest.MonkeyPatch, function: str, argument: int
) -> list[set[Square]]:
    """Return a list to which each call of a function of `judge` adds the squares that it gets.

    `argument` is the position of the squares among the arguments of the function.
    """
    calls: list[set[Square]] = []
    original = getattr(judge, function)

    def spy(*arguments: Any) -> Any:
        calls.append(set(arguments[argument]))
        return original(*arguments)

    monkeypatch.setattr(judge, function, spy)
    return calls


# ---- what is read again --------------------------------------------------------------------------


def test_only_squares_near_movement_are_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture in which a piece has moved has to be read in a fraction of the time."""
    # from now on, record which squares are judged, and let no search of the whole picture pass
    rig = large_rig()
    rig.read(4)
    judged = record_squares(monkeypatch, "find_empty_squares", argument=3)
    monkeypatch.setattr(
        detect, "_detect_in_all", lambda *_: pytest.fail("the whole picture was searched")
    )

    # a robot moves from c3 to e5
    rig.table.move_to(rig.piece("petrol robot 2").id, E5)
    reading = rig.read()
    moved = lay(a1="petrol robot 1", e5="petrol robot 2", h8="coral robot 3")
    assert reading.seen == faces_on_top(moved)
    assert C3 not in reading.unknown

    # among the few squares that were judged is the one that is empty now
    squares = set[Square]().union(*judged)
    assert C3 in squares
    assert len(squares) < 20, f"{len(squares)} of 81 squares were judged again"


def test_partly_hidden_corner_markers_leave_the_pose() -> None:
    """Hold a hand over squares at the edge, where its arm covers corner markers in part.

    Afterwards the reader puts 25 points of the board within 1 px of where they are.
    """
    rig = large_rig(KITS["kahmate"], lay(h1="blue fast", d6="pink tough"))
    rig.table.nudge(rig.piece("blue fast").id, 0.0, -8.0)

    # 25 points from edge to edge of the board, and where they are in the picture
    board = rig.kit.board
    x_mm, y_mm = np.meshgrid(np.linspace(0, board.width_mm, 5), np.linspace(0, board.height_mm, 5))
    points_mm = at_height(np.column_stack([x_mm.ravel(), y_mm.ravel()]))
    true_px = camera_pose(rig.kit, rig.table.view).to_px(points_mm)

    # hold a hand over each of these squares for two frames, and then none
    for hand in ("h1", "a1", "h11", "b1", "a11", "g2", "g1", "c1"):
        for square in (Square.parse(hand), None):
            rig.table.hold_hand(square)
            rig.read(2)
        assert rig.reader.pose is not None
        assert np.abs(rig.reader.pose.to_px(points_mm) - true_px).max() < 1.0

    # the rendered lens has no distortion, and none was learned from the wrong corners
    assert abs(rig.reader.details.lens.k1) < 0.02


# ---- how soon a board is settled -----------------------------------------------------------------


def vote(
    *pieces: tuple[Square, int],
    unknown: frozenset[Square] = frozenset(),
    guessed: frozenset[Square] = frozenset(),
) -> Vote:
    """Return the vote of a picture, from a square and a marker for each piece in it.

    Pieces on `guessed` squares were recognised by likeness alone.
    """
    faces = {square: f"robot {marker}" for square, marker in pieces}
    return Vote("arena", faces, unknown, markers=dict(pieces), guessed_squares=guessed)


# The vote that was settled before: the piece with marker 54 is on a1.
BEFORE = vote((A1, 54))
# The votes of pictures in which a second piece was added, in which the only piece was moved, in
# which it was taken away, and in which a second piece was recognised by likeness alone.
ADDED = vote((A1, 54), (B2, 55))
MOVED = vote((B2, 54))
REMOVED = vote()
GUESSED = vote((A1, 54), (B2, 55), guessed=frozenset({B2}))


@pytest.mark.parametrize(
    ("votes", "settled"),
    [
        ((MOVED, MOVED), [False, True]),
        ((ADDED, ADDED), [False, True]),
        ((REMOVED, REMOVED, REMOVED), [False, False, True]),
        ((GUESSED, GUESSED, GUESSED), [False, False, True]),
        ((ADDED, BEFORE, ADDED), [False, False, False]),
    ],
    ids=["moved", "added", "removed", "recognised by likeness alone", "contradiction"],
)
def test_two_votes_settle_what_is_certain(votes: tuple[Vote, ...], settled: list[bool]) -> None:
    """Two equal votes settle a board. If a piece is missing or was guessed, a third one is needed.

    `settled` says for each vote whether the board is settled after it.
    """
    counts = range(1, len(votes) + 1)
    assert [settle(votes[:count], BEFORE)[1] for count in counts] == settled


def test_the_last_vote_shows_where_a_piece_is() -> None:
    """A piece that has moved leaves its old square known only if the last picture shows it bare.

    The old square may be unknown in an earlier picture, as a hand was still there.
    """
    leaving = vote((B2, 54), unknown=frozenset({A1}))
    assert not settle((leaving, MOVED), BEFORE)[0].unknown
    assert settle((MOVED, leaving), BEFORE)[0].unknown == {A1}


# ---- hard markers --------------------------------------------------------------------------------


def test_sharp_shadows_of_a_blind_hide_no_marker() -> None:
    # its direction in degrees, the width of its slats in mm, and the strength of its shadows
    rig = large_rig(blind_shadow=(70.0, 14.0, 0.65))
    assert dict(rig.reader.read_picture(rig.table.render_luma()).seen) == faces_on_top(LAYOUT)


def test_each_square_has_a_confidence() -> None:
    """It is 1 for a square that was read, and 0 for one that a hand hides."""
    rig = large_rig()
    assert rig.reader.details.confidence == {}
    rig.table.hold_hand(E5)
    assert E5 in rig.read(4).unknown
    confidence = rig.reader.details.confidence
    assert (confidence[A1], confidence[E5]) == (1.0, 0.0)


# ---- what a picture may cost ---------------------------------------------------------------------


def test_failed_tests_for_shaded_squares_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resting hand leaves squares that are never found empty, and each test of them is slow.

    A picture tests at most eight of them in vain (`Budget.shaded_failures`), and a still picture
    does not test them again.
    """
    failures: list[set[Square]] = []

    def spy(*arguments: Any) -> Any:
        empty, failed = find_shaded_squares(*arguments)
        failures.append(failed)
        return empty, failed

    monkeypatch.setattr(judge, "find_shaded_squares", spy)
    rig = large_rig()
    rig.read(4)
    rig.table.hold_hand(E5)
    reading = rig.read(12)
    assert reading.quiet
    assert len(reading.unknown) > 8
    # the first pictures reach that limit, and none exceeds it
    assert max(map(len, failures)) == 8
    assert sum(map(bool, failures)) <= 6, "the same squares are tested again and again"
