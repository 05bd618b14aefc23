"""Test the health of the service: which loops are alive, what it reports, and what is logged.

The service runs in the test's process without threads, on a fake clock and a machine of files.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from service import until
from simulated_room import local_settings

from companion.cli import main
from companion.cli.doctor import query_service
from companion.core.clock import FakeClock
from companion.core.config import (
    CameraSettings,
    PanelSettings,
    Settings,
    TableSettings,
    WebSettings,
)
from companion.core.errors import JournalError
from companion.core.kit import Seat
from companion.core.ports import CameraState, CameraStatus
from companion.diagnostics.findings import Grade, Status
from companion.diagnostics.probes import Machine
from companion.service.app import Companion
from companion.service.health import (
    JOURNAL,
    MACHINE_INTERVAL_S,
    MAX_SILENCE_S,
    TABLE,
    ServiceHealth,
)
from companion.storage.journal import Journal
from companion.table.store import TableStore

Usage = namedtuple("Usage", "total used free")
NO_DEVICES = {"panel": PanelSettings(enabled="no"), "camera": CameraSettings(source="none")}


@contextmanager
def open_service(folder: Path, simulate: bool = False) -> Iterator[tuple[Companion, FakeClock]]:
    """Open a service that does nothing by itself, with a simulated camera and panel or neither."""
    clock = FakeClock(100.0)
    settings = local_settings(folder, **({} if simulate else NO_DEVICES))
    with Companion(settings, simulate=simulate, clock=clock, threads=False) as companion:
        companion.health.machine = Machine(folder / "root")
        yield companion, clock


# ---- loops that are alive ------------------------------------------------------------------------


def test_a_loop_silent_too_long_is_late(tmp_path: Path) -> None:
    with open_service(tmp_path, simulate=True) as (companion, clock):
        # This second health watches the loops, none of which has ever run.
        health = ServiceHealth(companion, companion.health.machine, None)
        clock.advance(5.0)
        assert health.late_loops() == {}
        clock.advance(1.0)
        assert health.late_loops() == {"table": 6.0}
        health.check_once()
        clock.advance(40.0)
        assert health.late_loops() == {"table": 46.0, "journal": 40.0, "camera": 46.0}
        assert companion.health.late_loops() == {}, "a service without threads has late loops"
        health.close()


def test_a_failed_round_counts_as_alive(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rounds: list[float] = []
    clock = FakeClock()

    def fail() -> float:
        clock.advance(1.0)
        rounds.append(clock.monotonic_s())
        raise sqlite3.OperationalError("the disk is gone")

    with Journal(tmp_path / "journal.sqlite") as journal:
        store = TableStore(journal, clock, TableSettings(), fail)
        store.start()
        until("three rounds", lambda: len(rounds) > 2 and store.last_heartbeat_s >= rounds[2])
        store.close()
    assert "OperationalError" in caplog.text


def test_a_journal_that_does_not_answer_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_service(tmp_path) as (companion, clock):
        # This second health watches the loops. The service's own one has none to watch.
        health = ServiceHealth(companion, companion.health.machine, None)

        def fail_to_read(_: str) -> float:
            raise sqlite3.OperationalError("disk I/O error")

        health.check_once()
        assert health.health().journal == "ok"
        monkeypatch.setattr(companion.journal, "noted_clock_s", fail_to_read)
        clock.advance(MAX_SILENCE_S[JOURNAL] + 1)
        with pytest.raises(sqlite3.OperationalError):
            health.check_once()
        state = health.health()
        assert (state.status, state.journal, state.uptime_s) == (Status.FAILING, "silent", 11.0)
        assert set(state.late) == {TABLE, JOURNAL}
        texts = [finding.text for finding in health.run_checks() if finding.topic == "service"]
        assert (
            texts[0]
            == "The table does not answer for 11 s: restart the companion; the game is kept."
        )
        health.close()


# ---- what is reported ----------------------------------------------------------------------------


def test_games_kept_only_in_memory_are_reported(tmp_path: Path) -> None:
    mounts = tmp_path / "root/proc/self/mountinfo"
    mounts.parent.mkdir(parents=True)
    warning = "Games are kept in memory only: they are lost when the power goes off."
    with open_service(tmp_path) as (companion, clock):
        for mount, is_warned in (("tmpfs tmpfs", True), ("ext4 /dev/sda1", False)):
            mounts.write_text(f"27 1 0:22 / / rw,nosuid - {mount} rw\n")
            clock.advance(MACHINE_INTERVAL_S)
            companion.health.check_once()
            companion.table.step()
            notices = " ".join(companion.table.view().devices.notices)
            assert (warning in notices) is is_warned
            findings = companion.health.run_checks()
            disk_grades = {finding.grade for finding in findings if finding.topic == "disk"}
            assert (Grade.FAIL in disk_grades) is is_warned


def test_a_camera_in_trouble_is_degraded(tmp_path: Path) -> None:
    with open_service(tmp_path, simulate=True) as (companion, _):
        for state, word, status in (
            (CameraState.SEES_BOARD, "ok", Status.OK),
            (CameraState.TROUBLE, "trouble", Status.DEGRADED),
        ):
            sentence = "The camera USB has sent no picture for 3 s: check its cable"
            companion.table.set_camera_status(CameraStatus(state, sentence))
            companion.table.step()
            health = companion.health.health()
            assert (health.camera, health.status, health.pins) == (word, status, "ok")


@pytest.mark.parametrize(
    ("free_bytes", "is_writable", "journal_state", "status"),
    [
        (10**9, True, "ok", Status.OK),
        (10**7, True, "full", Status.DEGRADED),
        (10**9, False, "unwritable", Status.FAILING),
    ],
)
def test_full_and_read_only_disks_are_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    free_bytes: int,
    is_writable: bool,
    journal_state: str,
    status: Status,
) -> None:
    with open_service(tmp_path) as (companion, _):
        monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0, free_bytes))
        monkeypatch.setattr(
            "companion.diagnostics.machine_checks.is_writable", lambda _: is_writable
        )
        companion.health.check_once()
        health = companion.health.health()
        assert (health.journal, health.status, health.disk_free_mb) == (
            journal_state,
            status,
            free_bytes // 1_000_000,
        )


def test_a_refusing_journal_recovers_at_the_next_check(tmp_path: Path) -> None:
    with open_service(tmp_path) as (companion, _):
        database = companion.journal.database
        database.connection.execute("PRAGMA query_only=ON")
        with pytest.raises(JournalError):
            companion.journal.note_clock("1.1", 1.0)
        companion.health.check_once()
        assert companion.health.health().journal == "unwritable"
        database.connection.execute("PRAGMA query_only=OFF")
        companion.health.check_once()
        assert companion.health.health().journal == "ok"


def test_machine_trouble_is_noticed_within_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with open_service(tmp_path) as (companion, clock):
        zone = tmp_path / "root/sys/class/thermal/thermal_zone0"
        zone.mkdir(parents=True)
        (zone / "type").write_text("cpu-thermal\n")
        (zone / "temp").write_text("50000\n")
        companion.health.check_once()
        (zone / "temp").write_text("84000\n")
        clock.advance(MACHINE_INTERVAL_S - 1)
        companion.health.check_once()
        assert companion.health.worst_finding() == ""
        version = companion.table.version
        clock.advance(1)
        companion.health.check_once()
        assert companion.health.worst_finding().startswith("The processor is at 84 °C.")
        assert companion.table.version > version, "the owner's page is not drawn again"
        assert companion.health.health().status is Status.DEGRADED
        (zone / "temp").write_text("50000\n")
        clock.advance(MACHINE_INTERVAL_S)
        companion.health.check_once()
        assert companion.health.worst_finding() == ""
    assert "The machine is well again." in caplog.text


# ---- the log -------------------------------------------------------------------------------------


def logged_fields(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return the fields of each logged line that has any."""
    return [record.log_fields for record in caplog.records if hasattr(record, "log_fields")]


def test_starts_and_games_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with open_service(tmp_path) as (companion, _):
        companion.table.take_seat(Seat.SOUTH, "Mara-5ecret")
        companion.table.new_game("outbuffered", seed=1)
        companion.table.abandon()
        companion.table.new_game("kahmate", seed=1)
    with open_service(tmp_path):
        pass
    lines = [fields for fields in logged_fields(caplog) if fields["event"] != "journal"]
    names = [fields["event"] for fields in lines]
    assert names == [
        "begin", "ready", "game_begun", "game_over", "game_begun", "begin", "game_resumed", "ready",
    ]  # fmt: skip
    assert lines[3] == {"event": "game_over", "game": 1, "name": "outbuffered", "turns": 0}
    assert lines[6] == {"event": "game_resumed", "game": 2, "name": "kahmate"}
    assert "Mara" not in caplog.text


# ---- the command ---------------------------------------------------------------------------------


def test_the_doctor_asks_the_running_service(tmp_path: Path) -> None:
    with open_service(tmp_path) as (companion, _):
        web = WebSettings(host="127.0.0.1", port=companion.server.port)
        findings = query_service(Settings(state_dir=str(tmp_path), web=web, **NO_DEVICES))
        topics = [finding.topic for finding in companion.health.run_checks()]
    assert findings is not None
    assert findings[0].text.startswith("A companion runs here, version ")
    assert [finding.topic for finding in findings[1:]] == topics


@pytest.mark.parametrize(
    ("free_bytes", "exit_status", "worst_grade"),
    [(10**10, 0, "note"), (3 * 10**8, 3, "warn"), (10**8, 1, "fail")],
)
def test_the_doctors_exit_status_shows_its_worst_finding(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    free_bytes: int,
    exit_status: int,
    worst_grade: str,
) -> None:
    monkeypatch.setattr("companion.cli.doctor.Machine", lambda: Machine(tmp_path / "root"))
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0, free_bytes))
    (tmp_path / "settings.toml").write_text(
        '[camera]\nsource = "none"\n[panel]\nenabled = "no"\n[web]\nhost = "127.0.0.1"\nport = 0\n'
    )
    assert main(["doctor", "--state-dir", str(tmp_path), "--json"]) == exit_status
    report = json.loads(capsys.readouterr().out)
    assert report["worst"] == worst_grade
    assert {"topic", "grade", "text"} == set(report["findings"][0])
