"""A little of what `make fuzz` generates, and an example of everything that it has found."""

from __future__ import annotations

import io
import logging
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from fuzz import every_target
from fuzz.running import Probe, Target, run_batch
from hypothesis import strategies as st
from table_tools import both_seats, playing
from web_fixtures import open_place

from companion.core.clock import FakeClock
from companion.core.config import Settings
from companion.core.errors import Malformed
from companion.core.grid import Square
from companion.core.kit import Seat
from companion.core.ports import CameraState, CameraStatus, Reading
from companion.games import game_named
from companion.games.engine import Engine
from companion.maintenance.backup import make_backup, stage_restore
from companion.storage.journal import Journal
from companion.table.board_check import tops

FEW = {
    "events": 12,
    "twins": 8,
    "journals": 6,
    "history": 12,
    "notation": 120,
    "hub-requests": 15,
    "hub-tables": 15,
}
"""Examples of each target; `requests` takes long to read the description and has its turn in `make fuzz`."""


def test_every_target_has_its_turn_here_or_a_reason() -> None:
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


def test_a_fault_is_found_and_told() -> None:
    """A probe that fails for long texts, and one that only logs an error."""

    def check(text: str) -> tuple[str, int]:
        if "e" in text:
            raise KeyError(text)
        if "x" in text:
            logging.getLogger("companion").error("an input failed")
        return "fine", 1

    @contextmanager
    def opened(folder: Path, _: int):
        assert folder.is_dir()
        yield Probe(st.text("aex", max_size=9), check)

    result = run_batch(Target("toy", 1, 100, opened), 5, 200)
    found = sorted(failure.trouble.split(" at ")[0] for failure in result.failures)
    assert found[0] == "AssertionError"
    assert "KeyError" in found


# ---- what was found --------------------------------------------------------------------------------------------------


def test_a_wrong_piece_is_told_after_one_of_two_has_sealed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The camera took the last of two sealed orders for a turn in the open, and said nothing about the board."""
    with playing(tmp_path) as played:
        both_seats(played)
        played.begin()
        lying = tops(played.table.view().board.layout)
        played.show({square: (face,) for square, face in lying.items()})
        played.table.hand_in(Seat.SOUTH, played.table.view().moment, "UUS")
        (square, face), *rest = sorted(lying.items())
        free = next(s for s in played.table.view().kit.board.squares if s not in lying)
        played.show({free: (face,), **{square: (each,) for square, each in rest}})
        (problem,) = played.table.view().board.problems
        assert (problem.square, problem.home) == (free, square)
    assert "failed" not in caplog.text


def test_another_game_s_board_in_the_middle_of_a_game_is_no_play(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with playing(tmp_path) as played:
        played.table.new_game("scouts", {}, 1)
        played.table.confirm("host", played.table.view().moment, 0, force=True)
        before = played.table.view()
        played.table.camera_is(CameraStatus(CameraState.SEES_BOARD))
        strange = {Square(1, 1): "pink regular turned over", Square(2, 2): "blue fast"}
        played.table.saw(Reading(strange, quiet=True, game="kahmate", markers={Square(1, 1): 30}))
        played.table.step()
        after = played.table.view()
        assert (after.moment, after.phase, after.board.problems) == (
            before.moment,
            before.phase,
            (),
        )
    assert "failed" not in caplog.text


def test_the_engine_takes_any_limit() -> None:
    engine = Engine(game_named("outbuffered"))
    engine.answer(b'{"new": {}}')
    assert engine.answer(b'{"legal": "south", "limit": 1%s}' % (b"0" * 18)).startswith(b'{"legal":')
    assert engine.answer(b'{"legal": "south", "limit": 1%s}' % (b"0" * 40)).startswith(b'{"')


def test_a_game_of_a_number_beyond_all_is_not_there(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        for end in ("", ".json", ".txt", ".webp", "/scene/0"):
            assert place.browser().get(f"/history/{2**63}{end}").status_code == 404


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_backup_whose_packing_is_damaged_is_refused(tmp_path: Path, how: int) -> None:
    Journal(tmp_path / "journal.sqlite").close()
    settings, file, whole, packed = (
        Settings(state_dir=str(tmp_path)),
        tmp_path / "s.toml",
        io.BytesIO(),
        io.BytesIO(),
    )
    make_backup(settings, file, FakeClock(), False, whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(packed, "w", how) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    with zipfile.ZipFile(packed) as archive:
        start = archive.getinfo("backup.json").header_offset + 60
    content = bytearray(packed.getvalue())
    content[start : start + 40] = b"\xaa" * 40
    given = tmp_path / "given.zip"
    given.write_bytes(bytes(content))
    with pytest.raises(Exception, match=r"damaged or not a backup|Bad CRC|cannot") as refusal:
        stage_restore(given, settings, file)
    assert isinstance(refusal.value, Malformed) or how == zipfile.ZIP_BZIP2


def test_a_backup_with_deeply_nested_choices_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path / "journal.sqlite").close()
    settings, file, whole = Settings(state_dir=str(tmp_path)), tmp_path / "s.toml", io.BytesIO()
    make_backup(settings, file, FakeClock(), False, whole)
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr("lenses.json", "[" * 100_000)
    given = tmp_path / "given.zip"
    given.write_bytes(whole.getvalue())
    with pytest.raises(Malformed, match="lenses"):
        stage_restore(given, settings, file)
