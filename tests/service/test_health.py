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

# The answer of `shutil.disk_usage`, in bytes.
Usage = namedtuple("Usage", "total used free")
NO_DEVICES = {"panel": PanelSettings(enabled="no"), "camera": CameraSettings(source="none")}


@contextmanager
def open_service(folder: Path, simulate: bool = False) -> Iterator[tuple[Companion, FakeClock]]:
    """Open a service without threads, on a machine whose files are in `folder / "root"`.

    With `simulate` it has a simulated camera and panel, otherwise neither. The clock begins at
    100 s.
    """
    clock = FakeClock(100.0)
    settings = local_settings(folder, **({} if simulate else NO_DEVICES))
    with Companion(settings, simulate=simulate, clock=clock, threads=False) as companion:
        companion.health.machine = Machine(folder / "root")
        yield companion, clock


# ---- loops that are alive ------------------------------------------------------------------------


def test_a_loop_silent_too_long_is_late(tmp_path: Path) -> None:
    """A loop is late once it is silent for longer than its limit: table 5 s, journal 10, camera 30.

    `ServiceHealth.check_once` is the only round that any loop has in this test.
    """
    with open_service(tmp_path, simulate=True) as (companion, clock):
        # The service's own health watches no loops, since there are no threads. So make a second
        # health that watches them.
        health = ServiceHealth(companion, companion.health.machine, None)

        # After 6 s only the table is late.
        clock.advance(5.0)
        assert health.late_loops() == {}
        clock.advance(1.0)
        assert health.late_loops() == {"table": 6.0}

        # A check is a round of the journal's loop. 40 s later all loops are late.
        health.check_once()
        clock.advance(40.0)
        assert health.late_loops() == {"table": 46.0, "journal": 40.0, "camera": 46.0}
        assert companion.health.late_loops() == {}, "without threads no loop may be late"
        health.close()


def test_a_failed_round_counts_as_alive(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The table's loop goes on after an error, so systemd need not restart the service."""
    # Time of each round of the table's loop, all of which fail.
    rounds: list[float] = []
    clock = FakeClock()

    def fail() -> float:
        clock.advance(1.0)
        rounds.append(clock.monotonic_s())
        raise sqlite3.OperationalError("the disk is gone")

    with Journal(tmp_path / "journal.sqlite") as journal:
        store = TableStore(journal, clock, TableSettings(), fail)
        store.start()
        until("three rounds", lambda: len(rounds) > 2 and store.last_heartbeat_at_s >= rounds[2])
        store.close()
    assert "OperationalError" in caplog.text


def test_a_journal_that_does_not_answer_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_service(tmp_path) as (companion, clock):
        # A second health watches the loops, as in the first test. At first the journal answers.
        health = ServiceHealth(companion, companion.health.machine, None)

        def fail_to_read(_: str) -> float:
            raise sqlite3.OperationalError("disk I/O error")

        health.check_once()
        assert health.health().journal == "ok"

        # Then it does not: the check fails before it can count as a round.
        monkeypatch.setattr(companion.journal, "noted_clock_s", fail_to_read)
        clock.advance(MAX_SILENCE_S[JOURNAL] + 1)
        with pytest.raises(sqlite3.OperationalError):
            health.check_once()
        state = health.health()
        assert (state.status, state.journal, state.uptime_s) == (Status.FAILING, "silent", 11.0)

        # Findings say so to people. The table's loop has had no round here, so it is late, too.
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
            companion.table.set_camera_status(CameraStatus(state, "Any sentence"))
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
        # SQLite refuses to write, as on a full or broken disk. A failed attempt shows it.
        database = companion.journal.database
        database.connection.execute("PRAGMA query_only=ON")
        with pytest.raises(JournalError):
            companion.journal.note_clock("1.1", 1.0)
        companion.health.check_once()
        assert companion.health.health().journal == "unwritable"

        # SQLite writes again, and nobody but the check tries it.
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

        # The processor is cool at a check, and gets hot just after it (84000 thousandths of a
        # degree). Until a minute is over, the machine is not checked again.
        (zone / "temp").write_text("50000\n")
        companion.health.check_once()
        (zone / "temp").write_text("84000\n")
        clock.advance(MACHINE_INTERVAL_S - 1)
        companion.health.check_once()
        assert companion.health.worst_finding() == ""

        # After a minute the heat is noticed, and pages show it.
        version = companion.table.version
        clock.advance(1)
        companion.health.check_once()
        assert companion.health.worst_finding().startswith("The processor is at 84 °C.")
        assert companion.table.version > version, "the owner's page must be drawn again"
        assert companion.health.health().status is Status.DEGRADED

        # A minute later the processor is cool again.
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
    # Two games are begun, of which the second is still on at the end.
    with open_service(tmp_path) as (companion, _):
        companion.table.take_seat(Seat.SOUTH, "Mara-5ecret")
        companion.table.new_game("outbuffered", seed=1)
        companion.table.abandon()
        companion.table.new_game("kahmate", seed=1)

    # The second start of the service resumes it.
    with open_service(tmp_path):
        pass
    lines = [fields for fields in logged_fields(caplog) if fields["event"] != "journal"]
    names = [fields["event"] for fields in lines]
    assert names == [
        "begin", "ready", "game_begun", "game_over", "game_begun", "begin", "game_resumed", "ready",
    ]  # fmt: skip
    over = lines[names.index("game_over")]
    assert over == {"event": "game_over", "game": 1, "name": "outbuffered", "turns": 0}
    resumed = lines[names.index("game_resumed")]
    assert resumed == {"event": "game_resumed", "game": 2, "name": "kahmate"}
    assert "Mara" not in caplog.text


# ---- the command ---------------------------------------------------------------------------------


def test_the_doctor_asks_the_running_service(tmp_path: Path) -> None:
    with open_service(tmp_path) as (companion, _):
        web = WebSettings(host="127.0.0.1", port=companion.server.port)
        findings = query_service(Settings(state_dir=str(tmp_path), web=web, **NO_DEVICES))
        topics = [finding.topic for finding in companion.health.run_checks()]
    # The command adds one finding of its own, then come those of the service.
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
