"""What is looked at again and what is not, and how few looks settle a board."""

from typing import Any

import numpy as np
import pytest
from reading_tools import KITS, ReadTable, lay, tops

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


def large(kit: Kit = ARENA, layout: Layout = LAYOUT, **view: Any) -> ReadTable:
    """Return a table seen at 1080p."""
    return ReadTable(kit, layout, width=1920, height=1080, **view)


def squares_asked(monkeypatch: pytest.MonkeyPatch, name: str, place: int) -> list[set[Square]]:
    """Note the squares that `judge` hands to one of its functions, as its argument of this
    place.
    """
    asked: list[set[Square]] = []
    real = getattr(judge, name)

    def spy(*arguments: Any) -> Any:
        asked.append(set(arguments[place]))
        return real(*arguments)

    monkeypatch.setattr(judge, name, spy)
    return asked


# ---- what is looked at ---------------------------------------------------------------------------


def test_only_squares_near_movement_are_judged_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = large()
    seen.read(4)
    judged = squares_asked(monkeypatch, "find_empty_squares", 3)
    monkeypatch.setattr(
        detect, "_detect_in_all", lambda *_: pytest.fail("the whole picture was searched")
    )
    seen.table.move_to(seen.piece("petrol robot 2").id, E5)
    reading = seen.read()
    assert reading.seen == tops(lay(a1="petrol robot 1", e5="petrol robot 2", h8="coral robot 3"))
    assert C3 not in reading.unknown
    squares = set[Square]().union(*judged)
    assert C3 in squares
    assert len(squares) < 20, "of 81"


def test_a_partly_hidden_corner_marker_bends_no_pose() -> None:
    seen = large(KITS["kahmate"], lay(h1="blue fast", d6="pink tough"))
    seen.table.nudge(seen.piece("blue fast").id, 0.0, -8.0)
    board = seen.kit.board
    across, along = np.meshgrid(
        np.linspace(0, board.width_mm, 5), np.linspace(0, board.height_mm, 5)
    )
    places = at_height(np.column_stack([across.ravel(), along.ravel()]))
    true_px = camera_pose(seen.kit, seen.table.view).to_px(places)
    for hand in ("h1", "a1", "h11", "b1", "a11", "g2", "g1", "c1"):
        for square in (Square.parse(hand), None):
            seen.table.hold_hand(square)
            seen.read(2)
        assert seen.reader.pose is not None
        assert np.abs(seen.reader.pose.to_px(places) - true_px).max() < 1.0
    assert abs(seen.reader.details.lens.k1) < 0.02


# ---- how soon a board is settled -----------------------------------------------------------------


def look(*pieces: tuple[Square, int], **more: Any) -> Vote:
    """Return a picture of pieces with these markers on these squares."""
    faces = {square: f"robot {marker}" for square, marker in pieces}
    return Vote("arena", faces, more.pop("unknown", frozenset()), markers=dict(pieces), **more)


BEFORE, BOTH = look((A1, 54)), look((A1, 54), (B2, 55))
MOVED, GONE = look((B2, 54)), look()
GUESSED = look((A1, 54), (B2, 55), guessed_squares=frozenset({B2}))


@pytest.mark.parametrize(
    ("looks", "settled"),
    [
        ((MOVED, MOVED), [False, True]),
        ((BOTH, BOTH), [False, True]),
        ((GONE, GONE, GONE), [False, False, True]),
        ((GUESSED, GUESSED, GUESSED), [False, False, True]),
        ((BOTH, BEFORE, BOTH), [False, False, False]),
    ],
    ids=["moved", "put", "gone", "told by likeness alone", "contradiction"],
)
def test_two_looks_settle_what_is_certain(looks: tuple[Vote, ...], settled: list[bool]) -> None:
    numbers = range(1, len(looks) + 1)
    assert [settle(looks[:number], BEFORE)[1] for number in numbers] == settled


def test_the_last_look_tells_where_a_piece_is() -> None:
    leaving = look((B2, 54), unknown=frozenset({A1}))
    assert not settle((leaving, MOVED), BEFORE)[0].unknown
    assert settle((MOVED, leaving), BEFORE)[0].unknown == {A1}


# ---- hard markers --------------------------------------------------------------------------------


def test_a_blind_of_sharp_shadows_hides_no_marker() -> None:
    seen = large(blind=(70.0, 14.0, 0.65))
    assert dict(seen.reader.read_picture(seen.table.render_luma()).seen) == tops(LAYOUT)


def test_each_square_has_a_confidence() -> None:
    seen = large()
    assert seen.reader.details.confidence == {}
    seen.table.hold_hand(E5)
    assert E5 in seen.read(4).unknown
    sure = seen.reader.details.confidence
    assert (sure[A1], sure[E5]) == (1.0, 0.0)


# ---- what a picture may cost ---------------------------------------------------------------------


def test_few_squares_a_picture_are_asked_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[set[Square]] = []

    def spy(*arguments: Any) -> Any:
        bare, vain = find_shaded_squares(*arguments)
        asked.append(vain)
        return bare, vain

    monkeypatch.setattr(judge, "find_shaded_squares", spy)
    seen = large()
    seen.read(4)
    seen.table.hold_hand(E5)
    reading = seen.read(12)
    assert reading.quiet
    assert len(reading.unknown) > 8
    assert max(map(len, asked)) <= 8
    assert sum(map(bool, asked)) <= 6, "what has been asked in vain is asked again and again"
