"""Test what the support bundle contains, and that it contains nothing secret.

The service runs in simulation on a fake clock.
"""

from __future__ import annotations

import io
import logging
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import pytest
from simulated_room import simulated

from companion import __version__
from companion.cli.main import main
from companion.core.clock import FakeClock
from companion.core.config import TableSettings
from companion.core.kit import Seat
from companion.diagnostics.findings import Finding, Grade
from companion.service.app import Companion
from companion.service.support_bundle import make_bundle


@contextmanager
def open_companion(folder: Path) -> Iterator[tuple[Companion, FakeClock]]:
    clock = FakeClock()
    with simulated(folder, clock, table=TableSettings(reading_time_s=0.1)) as companion:
        yield companion, clock


def run_rounds(companion: Companion, clock: FakeClock) -> None:
    """Let the service work, and its camera take enough pictures for a still frame."""
    for _ in range(4):
        clock.advance(0.1)
        companion.step()


def begin_game(companion: Companion, clock: FakeClock, game: str) -> None:
    """Begin a game of Marabella at South against Jonathan, and show its board to the camera."""
    companion.table.take_seat(Seat.SOUTH, "Marabella")
    companion.table.take_seat(Seat.NORTH, "Jonathan")
    companion.table.new_game(game, seed=987_654_321)
    run_rounds(companion, clock)


def files_in(bundle: bytes) -> dict[str, bytes]:
    """Return the files of a ZIP file by their names."""
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def last_picture(files: dict[str, bytes]) -> np.ndarray:
    """Return the newest still frame. Later frames have higher numbers in their names."""
    name = max(name for name in files if name.endswith(".png"))
    return np.asarray(cv2.imdecode(np.frombuffer(files[name], np.uint8), cv2.IMREAD_GRAYSCALE))


def test_a_bundle_contains_no_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with open_companion(tmp_path) as (companion, clock):
        # South seals its orders with a salt, which the receipt needs.
        begin_game(companion, clock, "outbuffered")
        salt = "5a17" * 8
        companion.table.hand_in(Seat.SOUTH, companion.table.view().moment, "USL", salt)
        run_rounds(companion, clock)
        content = b"".join(files_in(companion.support_zip()).values())

        # Nonces make the tokens of seats, and keys open everything else.
        nonces = [companion.table.nonce_of(seat) or "?" for seat in Seat]
        keys = [
            companion.host_key,
            *(companion.journal.key(name).hex() for name in ("host", "signing", "chance")),
        ]

    # Not even the names of players and of the folder are in the bundle.
    for secret in (
        "USL",
        salt,
        "987654321",
        "Marabella",
        "Jonathan",
        str(tmp_path),
        *nonces,
        *keys,
    ):
        assert secret.encode() not in content, secret


def test_bundles_do_not_depend_on_sealed_orders(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare the bundles of two games that differ only in South's sealed orders.

    Findings about the machine are left out, because free memory and heat change all the time.
    """
    monkeypatch.setattr("companion.service.health.ServiceHealth.run_checks", lambda _: ())
    caplog.set_level(logging.INFO)
    bundles = []
    for order in ("UUU", "RSI"):
        with open_companion(tmp_path / order) as (companion, clock):
            begin_game(companion, clock, "outbuffered")
            companion.table.hand_in(
                Seat.SOUTH, companion.table.view().moment, order, order.lower() * 5
            )
            run_rounds(companion, clock)
            bundles.append(files_in(companion.support_zip()))

    for files in bundles:
        lines = files["log.txt"].decode().splitlines()
        # Drop what differs anyway: the time at the beginning of a line and a duration at its end.
        files["log.txt"] = "\n".join(line.split(" seconds=")[0][20:] for line in lines).encode()
    assert bundles[0] == bundles[1]


def test_still_frames_show_only_the_board(tmp_path: Path) -> None:
    with open_companion(tmp_path) as (companion, clock):
        begin_game(companion, clock, "scouts")
        assert companion.eye is not None
        frame = companion.eye.settled_frames()[-1]
        picture = last_picture(files_in(companion.support_zip()))
    # 1 for each pixel of the board. All other pixels are grey (128).
    is_board = np.zeros(picture.shape, np.uint8)
    cv2.fillConvexPoly(is_board, np.array(frame.outline_px).round().astype(np.int32), 1)
    assert (picture[is_board == 0] == 128).all()
    assert np.array_equal(picture[is_board == 1], frame.frame.luma[is_board == 1])
    # Both assertions prove something, because there are many pixels of both kinds.
    assert 0.2 < is_board.mean() < 0.8


def test_findings_contain_no_addresses_and_private_folders() -> None:
    findings = [
        Finding("network", Grade.OK, "Phones reach the table at 10.0.0.7."),
        Finding("disk", Grade.OK, "4321 MB are free for /home/mara/games."),
    ]
    text = files_in(make_bundle(findings, private_texts=["/home/mara/games"]))[
        "findings.txt"
    ].decode()
    assert text.splitlines() == [
        "ok    network  (left out: it may name an address)",
        "ok    disk     4321 MB are free for ….",
    ]


def test_the_doctor_saves_a_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with open_companion(tmp_path) as (companion, clock):
        begin_game(companion, clock, "outbuffered")
        file, port = tmp_path / "support.zip", str(companion.server.port)
        command = ["doctor", "--state-dir", str(tmp_path), "--port", port, "--save", str(file)]
        assert main(command) == 0
    assert "Look into it before you send it" in capsys.readouterr().out

    # The bundle comes from the running service: it has its log and its still frames.
    files = files_in(file.read_bytes())
    assert f"companion {__version__}" in files["findings.txt"].decode()
    assert "Game 1 has begun event=game_begun" in files["log.txt"].decode()
    assert "outbuffered; a1 purple robot" in files["frames.txt"].decode()
    assert any(name.endswith(".png") for name in files)
