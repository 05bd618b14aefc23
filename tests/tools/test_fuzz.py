"""A little of what `make fuzz` generates, and an example of everything that it has found."""

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

# Number of examples of each target. `requests` takes long to read the description and runs in
# `make fuzz` only.
FEW = {
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
    assert {target.name for target in targets} == {*FEW, "requests"}
    assert sum(target.share for target in targets) == pytest.approx(1)


@pytest.mark.parametrize(
    "target", [each for each in every_target() if each.name in FEW], ids=lambda each: each.name
)
def test_nothing_generated_does_harm(target: Target) -> None:
    result = run_batch(target, 1, FEW[target.name])
    assert [failure.sentence() for failure in result.failures] == []
    assert result.cases >= FEW[target.name] * 0.8
    assert set(result.tally) != {"FAILED"}


# ---- what was found ------------------------------------------------------------------------------


def test_one_sealed_order_hides_no_wrong_piece(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The camera took the last of two sealed orders for a turn in the open, and said nothing about
    the board.
    """
    with open_table_rig(tmp_path) as rig:
        seat_both(rig)
        rig.begin()
        lying = top_faces(rig.table.view().board.layout)
        rig.show({square: (face,) for square, face in lying.items()})
        rig.table.hand_in(Seat.SOUTH, rig.table.view().moment, "UUS")
        (square, face), *rest = sorted(lying.items())
        free = next(s for s in rig.table.view().kit.board.squares if s not in lying)
        rig.show({free: (face,), **{square: (each,) for square, each in rest}})
        (problem,) = rig.table.view().board.problems
        assert (problem.square, problem.home) == (free, square)
    assert "failed" not in caplog.text


def test_another_games_board_is_no_play(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_table_rig(tmp_path) as rig:
        rig.table.new_game("scouts", {}, 1)
        rig.table.confirm("host", rig.table.view().moment, 0, force=True)
        before = rig.table.view()
        rig.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))
        strange = {Square(1, 1): "pink regular turned over", Square(2, 2): "blue fast"}
        rig.table.handle_reading(
            Reading(strange, quiet=True, game="kahmate", markers={Square(1, 1): 30})
        )
        rig.table.step()
        after = rig.table.view()
        assert (after.moment, after.phase, after.board.problems) == (
            before.moment,
            before.phase,
            (),
        )
    assert "failed" not in caplog.text
