"""Bug bundles: frames that can be read again, nothing secret in them, and no harm from files that are none."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import cv2
import numpy as np
import pytest

from companion.cli.main import main
from companion.core.clock import FakeClock
from companion.core.config import CameraSettings, Settings, TableSettings, WebSettings
from companion.core.errors import CameraError, Malformed
from companion.core.grid import Square
from companion.core.kit import Seat
from companion.games import GAMES
from companion.service.app import Companion
from companion.service.bug_bundle import NOTE, read_again, read_bundle


@contextmanager
def simulated(folder: Path) -> Iterator[tuple[Companion, FakeClock]]:
    settings = Settings(
        state_dir=str(folder), web=WebSettings(host="127.0.0.1", port=0), table=TableSettings(reading_time_s=0.1)
    )
    clock = FakeClock()
    with Companion(settings, simulate=True, clock=clock, threads=False) as companion:
        yield companion, clock


def rounds(companion: Companion, clock: FakeClock, number: int = 8) -> None:
    for _ in range(number):
        clock.advance(0.1)
        companion.step()


def begun(companion: Companion, clock: FakeClock, game: str, **options: Any) -> None:
    companion.table.take_seat(Seat.SOUTH, "Marabella")
    companion.table.take_seat(Seat.NORTH, "Jonathan")
    companion.table.new_game(game, options, 987_654_321)
    rounds(companion, clock)


def saved(companion: Companion, folder: Path) -> Path:
    path = folder / "bundle.zip"
    path.write_bytes(companion.bundle())
    return path


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as bundle:
        return {name: bundle.read(name) for name in bundle.namelist()}


# ---- frames that can be read again -------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", sorted(GAMES))
def test_every_frame_reads_as_it_did(game: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with simulated(tmp_path) as (companion, clock):
        begun(companion, clock, game)
        world = companion.simulation
        assert world is not None
        piece = next(iter(world.world.pieces()))
        world.world.move_to(piece.id, Square(1, 1))
        rounds(companion, clock)
        path = saved(companion, tmp_path)
    note, pictures = read_bundle(path)
    assert len(note.frames) >= 1
    assert note.game == game
    again = list(read_again(note, pictures))
    assert [frame.differs for frame in again] == [()] * len(note.frames)
    assert main(["replay", str(path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{game}, {len(note.frames)} frames, companion ")
    assert all(re.fullmatch(r"Frame \d+: as then, (one piece|\d+ pieces)\.", line) for line in said[1:])


def test_what_differs_is_named_and_the_exit_status_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with simulated(tmp_path) as (companion, clock):
        begun(companion, clock, "outbuffered")
        path = saved(companion, tmp_path)
    parts = parts_of(path)
    note = json.loads(parts[NOTE])
    note["frames"][-1]["seen"]["a1"] = "lime robot"
    note["frames"][-1]["unknown"] = ["b2"]
    path = zipped(tmp_path, {**parts, NOTE: json.dumps(note).encode()})
    assert main(["replay", str(path)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert "a1 was lime robot, is purple robot now; b2 was unknown, is empty now" in last


def test_frames_are_lossless(tmp_path: Path) -> None:
    with simulated(tmp_path) as (companion, clock):
        rounds(companion, clock)
        assert companion.eye is not None
        luma = companion.eye.settled()[-1].frame.luma
        note, pictures = read_bundle(saved(companion, tmp_path))
    assert note.frames[-1].is_whole, "no game is on: the whole table is shown"
    assert np.array_equal(pictures[note.frames[-1].file], luma)


def test_without_a_camera_there_is_nothing_to_save(tmp_path: Path) -> None:
    settings = Settings(
        state_dir=str(tmp_path), camera=CameraSettings(source="none"), web=WebSettings(host="127.0.0.1", port=0)
    )
    with (
        Companion(settings, simulate=False, clock=FakeClock(), threads=False) as companion,
        pytest.raises(CameraError, match="There is no camera"),
    ):
        companion.bundle()


# ---- secrets -----------------------------------------------------------------------------------------------------------


def test_a_bundle_holds_no_order_no_salt_no_seed_no_token_and_no_name(tmp_path: Path) -> None:
    with simulated(tmp_path) as (companion, clock):
        begun(companion, clock, "outbuffered")
        table = companion.table
        salt = "5a17" * 8
        table.hand_in(Seat.SOUTH, table.view().moment, "USL", salt)
        rounds(companion, clock)
        text = parts_of(saved(companion, tmp_path))[NOTE].decode()
        nonces = [table.seat_nonce(seat) or "?" for seat in Seat]
        for secret in ("USL", salt, "987654321", "Marabella", "Jonathan", companion.host_key, str(tmp_path), *nonces):
            assert secret not in text
        journal = json.loads(text)["journal"]
        assert [entry["is"] for entry in journal] == ["new_game", "begin", "hand_in"]
        assert journal[-1] == {"is": "hand_in", "at": journal[-1]["at"], "moment": "1.1", "seat": "south"}
        assert journal[0]["options"] == {}


def test_orders_are_told_once_their_turn_is_open(tmp_path: Path) -> None:
    with simulated(tmp_path) as (companion, clock):
        begun(companion, clock, "outbuffered")
        table = companion.table
        for seat, order in ((Seat.SOUTH, "UII"), (Seat.NORTH, "DII")):
            table.hand_in(seat, table.view().moment, order, "aa")
        rounds(companion, clock, 1)
        text = parts_of(saved(companion, tmp_path))[NOTE].decode()
        assert '"action"' not in text, "the first of three steps is shown"
        for _ in range(3):
            view = table.view()
            table.confirm("host", view.moment, view.turn.stage, force=True)
        note = json.loads(parts_of(saved(companion, tmp_path))[NOTE])
        assert [entry.get("action") for entry in note["journal"] if entry["is"] == "hand_in"] == ["UII", "DII"]


def test_a_single_seats_action_is_never_told(tmp_path: Path) -> None:
    """It may keep a card hidden; the sentences that everybody reads are in the log."""
    with simulated(tmp_path) as (companion, clock):
        begun(companion, clock, "binmat", way="referee")
        table = companion.table
        before = table.view().moment
        played = next(choice for choice in GAMES["binmat"].legal_actions(*state_of(companion)))
        action = GAMES["binmat"].format(played)
        if table.view().time.clock and table.view().time.clock.paused:  # type: ignore[union-attr] # asked just before
            table.resume("host")
        (seat,) = [seat for seat in Seat if table.view(seat).seats[seat].awaited]
        table.hand_in(seat, before, action, "aa")
        note = json.loads(parts_of(saved(companion, tmp_path))[NOTE])
    handed_in = [entry for entry in note["journal"] if entry["is"] == "hand_in"]
    assert handed_in
    assert all("action" not in entry for entry in handed_in)


def state_of(companion: Companion) -> tuple[Any, Seat]:
    session = companion.journal.fold(1)
    (seat,) = session.awaited
    return session.state, seat


def test_two_games_that_differ_in_a_sealed_order_give_equal_bundles(tmp_path: Path) -> None:
    bundles = []
    for order in ("UUU", "RSI"):
        with simulated(tmp_path / order) as (companion, clock):
            begun(companion, clock, "outbuffered")
            companion.table.hand_in(Seat.SOUTH, companion.table.view().moment, order, order.lower() * 5)
            rounds(companion, clock)
            bundles.append(parts_of(saved(companion, tmp_path)))
    assert bundles[0] == bundles[1]


def test_while_a_game_is_on_a_frame_shows_the_board_alone(tmp_path: Path) -> None:
    """A phone or a hand of cards may lie anywhere else."""
    with simulated(tmp_path) as (companion, clock):
        begun(companion, clock, "scouts")
        assert companion.eye is not None
        frame = companion.eye.settled()[-1]
        note, pictures = read_bundle(saved(companion, tmp_path))
    picture = pictures[note.frames[-1].file]
    inside = np.zeros(picture.shape, np.uint8)
    cv2.fillConvexPoly(inside, np.array(frame.outline_px).round().astype(np.int32), 1)
    assert (picture[inside == 0] == 128).all()
    assert np.array_equal(picture[inside == 1], frame.frame.luma[inside == 1])
    assert 0.2 < inside.mean() < 0.8
    assert not note.frames[-1].is_whole
    assert note.frames[-1].beside == ()


def test_zones_of_cards_that_are_not_read_are_covered(tmp_path: Path) -> None:
    with simulated(tmp_path) as (companion, clock):
        begun(companion, clock, "binmat")
        assert companion.simulation is not None
        companion.simulation.world.hold_hand(Square(2, 0))
        rounds(companion, clock, 12)
        assert companion.eye is not None
        frame = companion.eye.settled()[-1]
        assert Square(2, 0) in frame.reading.unknown
        note, pictures = read_bundle(saved(companion, tmp_path))
    picture = pictures[note.frames[-1].file]
    middle_x, middle_y = np.mean(frame.squares_px[Square(2, 0)], axis=0).astype(int)
    assert (picture[middle_y - 20 : middle_y + 20, middle_x - 20 : middle_x + 20] == 128).all()
    assert "c1" in note.frames[-1].covered


def test_settings_name_no_path(tmp_path: Path) -> None:
    film = tmp_path / "somebody" / "film.png"
    film.parent.mkdir()
    rng = np.random.default_rng(1)
    cv2.imwrite(str(film), rng.integers(0, 255, (360, 640), dtype=np.uint8))
    settings = Settings(
        state_dir=str(tmp_path), camera=CameraSettings(source=str(film)), web=WebSettings(host="127.0.0.1", port=0)
    )
    with Companion(settings, simulate=False, clock=FakeClock(), threads=False) as companion:
        companion.step()
        text = parts_of(saved(companion, tmp_path))[NOTE].decode()
    assert "somebody" not in text
    assert json.loads(text)["settings"]["camera"]["source"] == "a file"


# ---- files that are none -----------------------------------------------------------------------------------------------


def zipped(folder: Path, parts: dict[str, bytes]) -> Path:
    path = folder / "made.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in parts.items():
            bundle.writestr(name, content)
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("good")
    with simulated(folder) as (companion, clock):
        begun(companion, clock, "outbuffered")
        return parts_of(saved(companion, folder))


def first_picture(parts: dict[str, bytes]) -> str:
    return next(name for name in parts if name.endswith(".png"))


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line by which `replay` refuses a file."""
    with pytest.raises(Malformed):
        read_bundle(path)
    assert main(["replay", str(path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("companion: ")
    assert said.count("\n") == 1
    return said


def test_a_foreign_or_damaged_zip_is_refused_in_a_sentence(
    good: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.zip"
    text.write_text("no zip at all")
    assert "is damaged, or not a bug bundle" in refused(text, capsys)
    assert "cannot be read" in refused(tmp_path / "missing.zip", capsys)
    assert "is not a bug bundle: save one on the camera page" in refused(zipped(tmp_path, {"a.txt": b"hello"}), capsys)
    assert "is damaged, or not" in refused(zipped(tmp_path, {**good, NOTE: b"{}"}), capsys)
    assert "is damaged, or not" in refused(zipped(tmp_path, {**good, NOTE: b"\xff{"}), capsys)
    picture = first_picture(good)
    missing = {name: content for name, content in good.items() if name != picture}
    assert f"{picture} is missing in it" in refused(zipped(tmp_path, missing), capsys)
    assert "a picture in it is none" in refused(zipped(tmp_path, {**good, picture: b"GIF89a" * 9}), capsys)
    cut = good[picture][: len(good[picture]) // 2][:60]
    assert "a picture in it cannot be read" in refused(zipped(tmp_path, {**good, picture: cut}), capsys)
    newer = json.loads(good[NOTE]) | {"format": 2}
    assert "has format 2" in refused(zipped(tmp_path, {**good, NOTE: json.dumps(newer).encode()}), capsys)


@pytest.mark.parametrize("seed", range(25))
def test_no_damage_does_more_than_refuse(
    good: dict[str, bytes], tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = Random(seed)
    content = bytearray(zipped(tmp_path, good).read_bytes())
    for _ in range(rng.randrange(1, 40)):
        content[rng.randrange(len(content))] = rng.randrange(256)
    if seed % 3 == 0:
        del content[rng.randrange(len(content)) :]
    path = tmp_path / "damaged.zip"
    path.write_bytes(content)
    assert main(["replay", str(path)]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


def test_zip_bombs_do_not_go_off(good: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = first_picture(good)
    huge = zipped(tmp_path, {**good, picture: bytes(100_000_000)})
    assert huge.stat().st_size < 5_000_000
    assert "is larger than 24 MB: this is no bug bundle" in refused(huge, capsys)
    wide = good[picture][:16] + (60_000).to_bytes(4, "big") * 2 + good[picture][24:]
    assert "larger than 4096 pixels" in refused(zipped(tmp_path, {**good, picture: wide}), capsys)
    many = {**good, **{f"{number}.txt": b"" for number in range(100)}}
    assert "is not a bug bundle" in refused(zipped(tmp_path, many), capsys)
    assert "larger than 4 MB" in refused(zipped(tmp_path, {**good, NOTE: b" " * 5_000_000}), capsys)


def test_a_note_that_names_the_same_picture_a_thousand_times_is_refused(
    good: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = json.loads(good[NOTE])
    note["frames"] = note["frames"][:1] * 1000
    assert "is not a bug bundle" in refused(zipped(tmp_path, {**good, NOTE: json.dumps(note).encode()}), capsys)


def test_a_bundle_is_a_plain_zip(good: dict[str, bytes]) -> None:
    """Nothing but the note and pictures; the note names them all."""
    note = json.loads(good[NOTE])
    assert sorted(good) == sorted([NOTE, *(frame["file"] for frame in note["frames"])])
    assert note["versions"]["opencv"] == cv2.__version__
    assert set(note["settings"]) == {"camera", "table"}
    assert io.BytesIO(good[first_picture(good)]).read(4) == b"\x89PNG"
