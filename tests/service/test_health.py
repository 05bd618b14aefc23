"""The running service's own health: who is alive, what `/health`, the doctor and `/metrics` tell,
and what is logged.
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
OFF = {"panel": PanelSettings(enabled="no"), "camera": CameraSettings(source="none")}


@contextmanager
def house(folder: Path, simulate: bool = False) -> Iterator[tuple[Companion, FakeClock]]:
    """Open a companion that does nothing by itself, with or without camera and panel."""
    clock = FakeClock(100.0)
    found = local_settings(folder, **({} if simulate else OFF))
    with Companion(found, simulate=simulate, clock=clock, threads=False) as companion:
        companion.health.machine = Machine(folder / "root")
        yield companion, clock


# ---- who is alive --------------------------------------------------------------------------------


def test_a_loop_silent_too_long_is_late(tmp_path: Path) -> None:
    with house(tmp_path, simulate=True) as (companion, clock):
        # never started: a loop that never began is late as well
        health = ServiceHealth(companion, companion.health.machine, None)
        clock.advance(5.0)
        assert health.late_loops() == {}
        clock.advance(1.0)
        assert health.late_loops() == {"table": 6.0}
        health.check_once()
        clock.advance(40.0)
        assert health.late_loops() == {"table": 46.0, "journal": 40.0, "camera": 46.0}
        assert companion.health.late_loops() == {}, "without threads nothing is late"
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
    with house(tmp_path) as (companion, clock):
        # listens, and is never started
        health = ServiceHealth(companion, companion.health.machine, None)

        def broken(_: str) -> float:
            raise sqlite3.OperationalError("disk I/O error")

        health.check_once()
        assert health.health().journal == "ok"
        monkeypatch.setattr(companion.journal, "noted_clock_s", broken)
        clock.advance(MAX_SILENCE_S[JOURNAL] + 1)
        with pytest.raises(sqlite3.OperationalError):
            health.check_once()
        state = health.health()
        assert (state.status, state.journal, state.uptime_s) == (Status.FAILING, "silent", 11.0)
        assert set(state.late) == {TABLE, JOURNAL}
        texts = [each.text for each in health.run_checks() if each.topic == "service"]
        assert (
            texts[0]
            == "The table does not answer for 11 s: restart the companion; the game is kept."
        )
        health.close()


# ---- what is told --------------------------------------------------------------------------------


def test_games_kept_only_in_memory_are_reported(tmp_path: Path) -> None:
    mounts = tmp_path / "root/proc/self/mountinfo"
    mounts.parent.mkdir(parents=True)
    told = "Games are kept in memory only: they are lost when the power goes off."
    with house(tmp_path) as (companion, clock):
        for mount, is_told in (("tmpfs tmpfs", True), ("ext4 /dev/sda1", False)):
            mounts.write_text(f"27 1 0:22 / / rw,nosuid - {mount} rw\n")
            clock.advance(MACHINE_INTERVAL_S)
            companion.health.check_once()
            companion.table.step()
            notices = " ".join(companion.table.view().devices.notices)
            assert (told in notices) is is_told
            graded = {each.grade for each in companion.health.run_checks() if each.topic == "disk"}
            assert (Grade.FAIL in graded) is is_told


def test_a_camera_in_trouble_is_degraded(tmp_path: Path) -> None:
    with house(tmp_path, simulate=True) as (companion, _):
        for state, told, status in (
            (CameraState.SEES_BOARD, "ok", Status.OK),
            (CameraState.TROUBLE, "trouble", Status.DEGRADED),
        ):
            words = "The camera USB has sent no picture for 3 s: check its cable"
            companion.table.set_camera_status(CameraStatus(state, words))
            companion.table.step()
            now = companion.health.health()
            assert (now.camera, now.status, now.pins) == (told, status, "ok")


@pytest.mark.parametrize(
    ("free", "writable", "journal", "status"),
    [
        (10**9, True, "ok", Status.OK),
        (10**7, True, "full", Status.DEGRADED),
        (10**9, False, "unwritable", Status.FAILING),
    ],
)
def test_a_disk_that_is_full_or_read_only(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    free: int,
    writable: bool,
    journal: str,
    status: Status,
) -> None:
    with house(tmp_path) as (companion, _):
        monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0, free))
        monkeypatch.setattr("companion.diagnostics.machine_checks.is_writable", lambda _: writable)
        companion.health.check_once()
        state = companion.health.health()
        assert (state.journal, state.status, state.disk_free_mb) == (
            journal,
            status,
            free // 1_000_000,
        )


def test_a_refusing_journal_recovers_by_taking_something(tmp_path: Path) -> None:
    with house(tmp_path) as (companion, _):
        database = companion.journal.database
        database.connection.execute("PRAGMA query_only=ON")
        with pytest.raises(JournalError):
            companion.journal.note_clock("1.1", 1.0)
        companion.health.check_once()
        assert companion.health.health().journal == "unwritable"
        database.connection.execute("PRAGMA query_only=OFF")
        companion.health.check_once()
        assert companion.health.health().journal == "ok"


def test_machine_trouble_is_seen_within_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with house(tmp_path) as (companion, clock):
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
        assert companion.table.version > version, "the host's page is drawn anew"
        assert companion.health.health().status is Status.DEGRADED
        (zone / "temp").write_text("50000\n")
        clock.advance(MACHINE_INTERVAL_S)
        companion.health.check_once()
        assert companion.health.worst_finding() == ""
    assert "The machine is well again." in caplog.text


# ---- the log -------------------------------------------------------------------------------------


def events(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [record.log_fields for record in caplog.records if hasattr(record, "log_fields")]


def test_start_and_games_are_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with house(tmp_path) as (companion, _):
        companion.table.take_seat(Seat.SOUTH, "Mara-5ecret")
        companion.table.new_game("outbuffered", seed=1)
        companion.table.abandon()
        companion.table.new_game("kahmate", seed=1)
    with house(tmp_path):
        pass
    told = [each for each in events(caplog) if each["event"] != "journal"]
    names = [each["event"] for each in told]
    assert names == [
        "begin", "ready", "game_begun", "game_over", "game_begun", "begin", "game_resumed", "ready",
    ]  # fmt: skip
    assert told[3] == {"event": "game_over", "game": 1, "name": "outbuffered", "turns": 0}
    assert told[6] == {"event": "game_resumed", "game": 2, "name": "kahmate"}
    assert "Mara" not in caplog.text


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_asks_the_companion_that_runs(tmp_path: Path) -> None:
    with house(tmp_path) as (companion, _):
        web = WebSettings(host="127.0.0.1", port=companion.server.port)
        told = query_service(Settings(state_dir=str(tmp_path), web=web, **OFF))
        topics = [finding.topic for finding in companion.health.run_checks()]
    assert told is not None
    assert told[0].text.startswith("A companion runs here, version ")
    assert [finding.topic for finding in told[1:]] == topics


@pytest.mark.parametrize(
    ("free", "status", "worst_of_all"),
    [(10**10, 0, "note"), (3 * 10**8, 3, "warn"), (10**8, 1, "fail")],
)
def test_its_exit_status_is_for_scripts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    free: int,
    status: int,
    worst_of_all: str,
) -> None:
    monkeypatch.setattr("companion.cli.doctor.Machine", lambda: Machine(tmp_path / "root"))
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0, free))
    (tmp_path / "settings.toml").write_text(
        '[camera]\nsource = "none"\n[panel]\nenabled = "no"\n[web]\nhost = "127.0.0.1"\nport = 0\n'
    )
    assert main(["doctor", "--state-dir", str(tmp_path), "--json"]) == status
    told = json.loads(capsys.readouterr().out)
    assert told["worst"] == worst_of_all
    assert {"topic", "grade", "text"} == set(told["findings"][0])
