"""Test a few cases of each target of `make fuzz`, and one case of each fault that it has found.

All cases run in this process. `fuzz.running` says what targets, batches and cases are.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz import every_target
from fuzz.running import Target, run_batch
from table_tools import open_table_rig, seat_both

from companion.core.grid import Square
from companion.core.kit import Seat
from companion.core.ports import CameraState, CameraStatus, Reading
from companion.table.board_check import top_faces

# Number of cases of each target, few enough for some seconds. The target `requests` takes long to
# read the description of the API, so it runs only in `make fuzz`.
CASES_BY_TARGET = {
    "events": 12,
    "twins": 8,
    "journals": 6,
    "history": 12,
    "notation": 120,
    "hub-requests": 15,
    "hub-tables": 15,
}


def test_every_target_but_requests_runs_here() -> None:
    targets = every_target()
    assert {target.name for target in targets} == {*CASES_BY_TARGET, "requests"}
    assert sum(target.share for target in targets) == pytest.approx(1)


@pytest.mark.parametrize(
    "target",
    [target for target in every_target() if target.name in CASES_BY_TARGET],
    ids=lambda target: target.name,
)
def test_generated_cases_find_no_fault(target: Target) -> None:
    """Run one batch. Nearly all of its cases must be run, and none may fail."""
    result = run_batch(target, 1, CASES_BY_TARGET[target.name])
    assert [failure.sentence() for failure in result.failures] == []
    # hypothesis may run out of different cases before
    assert result.cases >= CASES_BY_TARGET[target.name] * 0.8
    assert set(result.tally) != {"FAILED"}


# ---- faults that fuzzing has found ---------------------------------------------------------------


def test_a_misplaced_piece_is_reported_beside_sealed_orders(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Move a piece after South has sealed an order and while North has not.

    The table once took a turn with one missing order for a turn without sealed orders, and did not
    check the board.
    """
    with open_table_rig(tmp_path) as rig:
        seat_both(rig)
        rig.begin()
        faces = top_faces(rig.table.view().board.layout)
        rig.show_reading({square: (face,) for square, face in faces.items()})
        rig.table.hand_in(Seat.SOUTH, rig.table.view().moment, "UUS")

        # the camera sees one piece on another square
        (square, face), *rest = sorted(faces.items())
        squares = rig.table.view().kit.board.squares
        free = next(place for place in squares if place not in faces)
        rig.show_reading({free: (face,), **{other: (other_face,) for other, other_face in rest}})
        (problem,) = rig.table.view().board.problems
        assert (problem.square, problem.home) == (free, square)
    assert "failed" not in caplog.text


def test_the_board_of_another_game_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Show Kahmate's board to the camera during a game of Scouts. The game must stay as it is."""
    with open_table_rig(tmp_path) as rig:
        rig.table.new_game("scouts", {}, 1)
        rig.table.confirm("host", rig.table.view().moment, 0, force=True)
        before = rig.table.view()
        rig.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))
        kahmate_faces = {Square(1, 1): "pink regular turned over", Square(2, 2): "blue fast"}
        rig.table.handle_reading(
            Reading(kahmate_faces, quiet=True, game="kahmate", markers={Square(1, 1): 30})
        )
        rig.table.step()
        after = rig.table.view()
        assert (after.moment, after.phase, after.board.problems) == (
            before.moment,
            before.phase,
            (),
        )
    assert "failed" not in caplog.text
