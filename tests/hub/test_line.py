"""A table's line to a real hub: every input is there once and in order, whatever is killed; nobody
says another's.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hub_tools import (
    AdmittingHub,
    TableAtHub,
    act_with_key,
    hub_settings,
    join_table,
    kill_nats,
    need_of_table,
    records_at_hub,
    running_hub,
    shows_last_input,
)
from nats.aio.client import Client
from nats.errors import ConnectionClosedError
from waiting import until

from companion.core.clock import FakeClock
from companion.core.errors import SystemTrouble
from companion.core.i18n import say
from companion.hub.joining import join
from companion.hub.loop_thread import log_client_error
from companion.hub.subjects import (
    RECORDS_STREAM,
    command_subject,
    inbox_prefix,
    record_subject,
    state_subject,
)
from companion.hub_server.app import Hub
from companion.hub_server.pairs import CLAIM_TIMEOUT_S, MachineClaims
from companion.table.public.messages import PublicRecord, PublicState
from companion.table.seats.staff_call import Call

pytestmark = pytest.mark.slow


@pytest.fixture
def table(hub: Hub, tmp_path: Path) -> Iterator[TableAtHub]:
    table = join_table(hub, tmp_path / "table")
    yield table
    table.close()
    hub.members.remove(table.member.table_id)


def require_all_records(hub: Hub, table: TableAtHub) -> None:
    """Check that everything is there, once and in order."""
    until("the hub has everything", lambda: shows_last_input(hub, table))
    assert [
        record.entry for record in records_at_hub(hub, table.member.table_id)
    ] == table.entries()


def test_a_killed_nats_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    with running_hub(tmp_path / "hub") as hub:
        table = join_table(hub, tmp_path / "table")
        try:
            for _ in range(3):
                table.play()
                kill_nats(hub)
                table.play()
                require_all_records(hub, table)
        finally:
            table.close()


def test_what_was_played_without_hub_comes_later(
    tmp_path: Path,
) -> None:
    settings = hub_settings(tmp_path / "hub")
    with AdmittingHub(settings) as hub:
        table = join_table(hub, tmp_path / "table")
        table.play()
        until("the hub has everything", lambda: shows_last_input(hub, table))
    until("nobody hears the key", lambda: not table.bell.has_listener)
    table.play()
    table.close()
    table = TableAtHub(table.folder, table.member)  # its service starts anew
    until("the table knows", lambda: "does not answer" in table.line.sentence)
    table.play()
    with AdmittingHub(settings) as hub:
        require_all_records(hub, table)
        table.close()
        table = TableAtHub(table.folder, table.member)
        table.play()
        require_all_records(hub, table)
    table.close()


def test_a_lost_store_is_filled_again(tmp_path: Path) -> None:
    settings = hub_settings(tmp_path / "hub")
    with AdmittingHub(settings) as hub:
        table = join_table(hub, tmp_path / "table")
        table.play(2)
        require_all_records(hub, table)
    subprocess.run(["rm", "-r", str(tmp_path / "hub/nats/store")], check=True)
    with AdmittingHub(settings) as hub:
        require_all_records(hub, table)
    table.close()


def test_a_restored_journal_continues_in_another_epoch(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("companion.hub_server.pairs.CLAIM_TIMEOUT_S", 0.0)
    table = join_table(hub, tmp_path / "table")
    table.play(2)
    require_all_records(hub, table)
    table.close()
    (tmp_path / "other").mkdir()
    other = TableAtHub(tmp_path / "other", table.member)  # the same table, with another past
    other.play()
    until("the hub has the new game", lambda: shows_last_input(hub, other))
    epochs = [record.epoch for record in records_at_hub(hub, table.member.table_id)]
    assert epochs == sorted(epochs)
    assert set(epochs) == {0, 1}
    other.close()


def test_the_room_shows_all_after_a_refused_result(
    hub: Hub, table: TableAtHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown_entries, process, show = [], hub.league.results.process_record, hub.room.receive_record
    refusals = [SystemTrouble("The disk is full")] * 2

    def refuse_twice(*given: Any) -> None:
        if refusals and len(shown_entries) == 2:
            raise refusals.pop()
        process(*given)

    def note(table: str, record: PublicRecord, *given: Any) -> None:
        shown_entries.append(record.entry)
        show(table, record, *given)

    require_all_records(hub, table)
    before = table.entries()
    monkeypatch.setattr(hub.league.results, "process_record", refuse_twice)
    monkeypatch.setattr(hub.room, "receive_record", note)
    table.play(2)
    require_all_records(hub, table)
    assert not refusals
    assert before + shown_entries == table.entries()


def test_a_hub_that_hangs_holds_no_table_up(tmp_path: Path) -> None:
    with running_hub(tmp_path / "hub") as hub:
        table = join_table(hub, tmp_path / "table")
        table.play()
        require_all_records(hub, table)
        assert hub.nats_server is not None
        pid = hub.nats_server.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            table.play(3)
            until("the table knows", lambda: "sent later" in table.line.sentence)
            table.play()
        finally:
            # the hub has started another one meanwhile
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        require_all_records(hub, table)
        table.close()


def test_a_copied_card_is_reported_on_both_machines(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("companion.hub.pair_client.CLAIM_INTERVAL_S", 0.2)
    monkeypatch.setattr("companion.hub.pair_client.PRESENCE_INTERVAL_S", 0.2)
    monkeypatch.setattr("companion.hub.hub_connection.MAX_RECONNECT_PAUSE_S", 1.0)
    first = join_table(hub, tmp_path / "card")
    require_all_records(hub, first)
    first.close()
    shutil.copytree(tmp_path / "card", tmp_path / "copy")
    first = TableAtHub(tmp_path / "card", first.member)
    until("the first one is there", lambda: first.line.is_connected)
    second = TableAtHub(tmp_path / "copy", first.member)
    advice = "On one of the two run “companion hub leave”, and join again."
    with contextlib.closing(second):
        until("the second one says so", lambda: second.line.sentence.endswith(advice))
        until("the first one says so", lambda: first.line.sentence.endswith(advice))
        assert first.line.is_connected
        assert not second.line.is_connected
        first.play(1)
        until("the first one goes on", lambda: shows_last_input(hub, first))
        first.close()
        monkeypatch.setattr("companion.hub_server.pairs.CLAIM_TIMEOUT_S", 0.5)
        until("the second one is let in", lambda: second.line.is_connected)


def test_only_a_machine_that_lives_is_another_one() -> None:
    clock = FakeClock()
    machine_claims = MachineClaims(clock)

    def claims(*machines: str) -> list[str]:
        answers = []
        for machine in machines:
            clock.advance(5)
            answers.append(machine_claims.claim("table", machine))
        return answers

    assert claims("a", "a", "a") == ["own"] * 3  # its line was lost between
    assert claims("b", "b", "c") == ["open"] * 3  # perhaps "a" was switched off
    assert claims("a", "b", "c", "a") == ["shared", "taken", "open", "shared"]
    clock.advance(CLAIM_TIMEOUT_S)
    assert claims("b", "b", "a") == ["own", "own", "open"]


# ---- who may say what ----


def test_stolen_credentials_open_only_the_tables_subjects(
    hub: Hub, table: TableAtHub, tmp_path: Path
) -> None:
    victim = join_table(hub, tmp_path / "victim")
    victim.play()
    require_all_records(hub, victim)
    before = records_at_hub(hub, victim.member.table_id)

    other = victim.member.table_id
    said = [record_subject(other), state_subject(other), command_subject(other)]
    said += [f"$JS.API.STREAM.PURGE.{RECORDS_STREAM}", "$JS.API.STREAM.NAMES"]
    subscriptions = [">", "tables.>", command_subject(other), f"{inbox_prefix(other)}.>"]
    refused: list[str] = []

    async def act(client: Client) -> None:
        for subject in said:
            await client.publish(subject, b"{}")
        for subject in subscriptions:
            await client.subscribe(subject)
        async with asyncio.timeout(60):
            while len(refused) < len(said) + len(subscriptions):
                await asyncio.sleep(0.01)

    act_with_key(hub, table, act, refused)
    assert all("permissions violation" in error.lower() for error in refused)
    assert records_at_hub(hub, other) == before
    victim.close()


def test_a_removed_table_is_put_out(hub: Hub, tmp_path: Path) -> None:
    table = join_table(hub, tmp_path / "table")
    table.play()
    require_all_records(hub, table)
    hub.members.remove(table.member.table_id)
    until("the table knows", lambda: "join again" in table.line.sentence)
    until("nothing is kept of it", lambda: records_at_hub(hub, table.member.table_id) == [])
    assert hub.room.table(table.member.number) is None
    table.close()


def test_a_table_goes_on_behind_what_is_unreadable(hub: Hub, table: TableAtHub) -> None:
    table.play()
    require_all_records(hub, table)

    async def act(client: Client) -> None:
        await client.publish(record_subject(table.member.table_id), b'{"entry": "one"}')

    act_with_key(hub, table, act)
    number = table.member.number
    until("it is said", lambda: "same version" in need_of_table(hub, number))
    table.play()
    until("the hub has the last input", lambda: shows_last_input(hub, table))
    assert need_of_table(hub, number) == ""


# ---- how a table is ----


@pytest.mark.parametrize(("agreed", "names"), [(True, {"Mara", "Jonas"}), (False, set())])
def test_names_are_sent_only_where_agreed(
    hub: Hub, tmp_path: Path, agreed: bool, names: set[str]
) -> None:
    table = join_table(hub, tmp_path / "table", names=agreed, clock=FakeClock())  # in 2023
    table.health = say("The card is nearly full.")
    table.sit("Mara", "Jonas")
    number = table.member.number

    def state() -> PublicState | None:
        at_hub = hub.room.table(number)
        return at_hub.state if at_hub else None

    until("it is there", lambda: (report := state()) and report.health)
    until(
        "names are as agreed", lambda: (report := state()) and set(report.names.values()) == names
    )
    table.close()


def test_a_call_and_its_answer_arrive(hub: Hub, table: TableAtHub) -> None:
    until("somebody hears the key", lambda: table.bell.has_listener)
    number = table.member.number
    table.bell.ring("south")
    table.table.step()
    until("the hub knows", lambda: need_of_table(hub, number) == "It is calling.")
    hub.members.answer_call(table.member.table_id, "coming")
    until("somebody comes", lambda: table.bell.call is Call.COMING)
    hub.members.answer_call(table.member.table_id, "done")
    until("it is over", lambda: table.bell.call is Call.NONE)


# ---- joining ----


def test_a_wrong_code_lets_no_table_in(hub: Hub) -> None:
    count = len(hub.room.tables())
    with pytest.raises(SystemTrouble, match="not the code"):
        join(hub.urls()[0], "abcdef", "x", sends_names=False)
    assert len(hub.room.tables()) == count


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ftp://hub", "is not the address of a hub"),
        ("[::1", "is not the address of a hub"),
        ("127.0.0.1:1", "does not answer"),
        ("127.0.0.1:x", "does not answer"),
    ],
)
def test_an_address_without_a_hub_is_reported(address: str, words: str) -> None:
    with pytest.raises(SystemTrouble, match=words):
        join(address, "abcdef", "x", sends_names=False)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 307 x\r\nLocation: /within\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 400 cut-off\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 400 nested\r\n\r\n" + b"[" * 8000,
    ],
)
def test_joining_refuses_what_is_no_hub(answer: bytes) -> None:
    """Else whoever answers as a hub could have a table ask whatever stands in its owner's
    network.
    """
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        port = server.getsockname()[1]
        joining = pool.submit(join, f"127.0.0.1:{port}", "aaaaaa", "T", sends_names=False)
        line, _ = server.accept()
        with line:
            line.recv(65536)
            line.sendall(answer)
        with pytest.raises(SystemTrouble, match="There is no hub at"):
            joining.result(60)


def test_a_table_without_a_hub_pays_nothing() -> None:
    asked = (
        "import sys, companion.service.app\n"
        "print([name for name in sys.modules"
        " if name.split('.')[0] in ('nats', 'nkeys', 'nacl', 'asyncio')"
        " or name.startswith(('companion.hub', 'web.hub'))])"
    )
    report = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    ).stdout
    assert report.strip() == "[]"


def test_a_fault_is_logged_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    for error in (ConnectionClosedError(), OSError("gone"), ValueError("an order")):
        asyncio.run(log_client_error(error))
    assert caplog.text.count("could not be handled") == 1
    assert "ValueError" in caplog.text
    assert "an order" not in caplog.text
