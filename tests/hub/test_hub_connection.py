"""Test a table's connection to a real hub: its records, rights, reports and joining.

Each record arrives once and in order, whatever is killed. A table's key opens only the table's own
subjects.
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
from companion.table.public.messages import PublicRecord
from companion.table.seats.staff_call import Call

pytestmark = pytest.mark.slow


@pytest.fixture
def table(hub: Hub, tmp_path: Path) -> Iterator[TableAtHub]:
    table = join_table(hub, tmp_path / "table")
    yield table
    table.close()
    hub.members.remove(table.member.table_id)


def require_all_records(hub: Hub, table: TableAtHub) -> None:
    """Wait for the table's last input at the hub, then require each record once and in order."""
    until("the hub shows the table's last input", lambda: shows_last_input(hub, table))
    assert [
        record.entry for record in records_at_hub(hub, table.member.table_id)
    ] == table.entries()


def test_a_killed_nats_neither_loses_nor_repeats_records(tmp_path: Path) -> None:
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


def test_turns_played_without_a_hub_arrive_later(tmp_path: Path) -> None:
    """Hub and table are restarted in turn. The table goes on where the hub's store ends."""
    settings = hub_settings(tmp_path / "hub")
    with AdmittingHub(settings) as hub:
        table = join_table(hub, tmp_path / "table")
        table.play()
        until("the hub shows the last input", lambda: shows_last_input(hub, table))

    # turns without a hub, before and after a restart of the table's service
    until("the call key loses its listener", lambda: not table.bell.has_listener)
    table.play()
    table.close()
    table = TableAtHub(table.folder, table.member)
    until("the table reports the missing hub", lambda: "does not answer" in table.adapter.sentence)
    table.play()

    # the hub is back, and the table's service is restarted once more
    with AdmittingHub(settings) as hub:
        require_all_records(hub, table)
        table.close()
        table = TableAtHub(table.folder, table.member)
        table.play()
        require_all_records(hub, table)
    table.close()


def test_a_table_fills_a_lost_store_again(tmp_path: Path) -> None:
    """NATS's store is deleted while the hub does not run. The table's journal still has it all."""
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
    # The same machine with another journal looks like a copy of the table. Without this timeout the
    # hub would make it wait.
    monkeypatch.setattr("companion.hub_server.pairs.CLAIM_TIMEOUT_S", 0.0)
    table = join_table(hub, tmp_path / "table")
    table.play(2)
    require_all_records(hub, table)
    table.close()

    # the same table with another journal, as after the restore of a backup
    (tmp_path / "restored").mkdir()
    restored = TableAtHub(tmp_path / "restored", table.member)
    restored.play()
    until("the hub shows the new game", lambda: shows_last_input(hub, restored))
    epochs = [record.epoch for record in records_at_hub(hub, table.member.table_id)]
    # the records of the first journal, then those of the other one under a higher epoch
    assert epochs == sorted(epochs)
    assert set(epochs) == {0, 1}
    restored.close()


def test_the_room_shows_all_after_a_refused_result(
    hub: Hub, table: TableAtHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the refusal the hub gets the record again, and must show no record twice."""
    process = hub.league.results.process_record
    show = hub.room.receive_record
    shown_entries = []
    refusals = [SystemTrouble("The disk is full")] * 2

    def refuse_third_twice(*arguments: Any) -> None:
        """Refuse the third record at its first two attempts."""
        if refusals and len(shown_entries) == 2:
            raise refusals.pop()
        process(*arguments)

    def show_and_note(table: str, record: PublicRecord, *arguments: Any) -> None:
        shown_entries.append(record.entry)
        show(table, record, *arguments)

    require_all_records(hub, table)
    entries_before = table.entries()
    monkeypatch.setattr(hub.league.results, "process_record", refuse_third_twice)
    monkeypatch.setattr(hub.room, "receive_record", show_and_note)
    table.play(2)
    require_all_records(hub, table)
    assert not refusals, "no record was refused"
    assert entries_before + shown_entries == table.entries()


def test_a_table_plays_on_while_nats_hangs(tmp_path: Path) -> None:
    with running_hub(tmp_path / "hub") as hub:
        table = join_table(hub, tmp_path / "table")
        table.play()
        require_all_records(hub, table)
        assert hub.nats_server is not None
        pid = hub.nats_server.pid
        assert pid is not None
        # a stopped process hangs: its connections stay open, but it answers nothing
        os.kill(pid, signal.SIGSTOP)
        try:
            table.play(3)
            until("the table reports the delay", lambda: "sent later" in table.adapter.sentence)
            table.play()
        finally:
            # the hub has replaced the hanging server meanwhile
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        require_all_records(hub, table)
        table.close()


def test_a_copied_card_is_reported_on_both_machines(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two machines run with copies of one SD card. The second may connect when the first ends."""
    monkeypatch.setattr("companion.hub.pair_client.CLAIM_INTERVAL_S", 0.2)
    monkeypatch.setattr("companion.hub.pair_client.PRESENCE_INTERVAL_S", 0.2)
    monkeypatch.setattr("companion.hub.hub_connection.MAX_RECONNECT_PAUSE_S", 1.0)
    first = join_table(hub, tmp_path / "card")
    require_all_records(hub, first)
    first.close()

    # copy the files while no service uses them, then run both machines
    shutil.copytree(tmp_path / "card", tmp_path / "copy")
    first = TableAtHub(tmp_path / "card", first.member)
    until("the first machine is connected", lambda: first.adapter.is_connected)
    second = TableAtHub(tmp_path / "copy", first.member)
    advice = "On one of the two run “companion hub leave”, and join again."
    with contextlib.closing(second):
        until(
            "the second machine reports the copy", lambda: second.adapter.sentence.endswith(advice)
        )
        until("the first machine reports the copy", lambda: first.adapter.sentence.endswith(advice))
        assert first.adapter.is_connected
        assert not second.adapter.is_connected
        first.play(1)
        until("the hub shows the first machine's turn", lambda: shows_last_input(hub, first))

        # the second machine is the table once the first one has been silent for the timeout
        first.close()
        monkeypatch.setattr("companion.hub_server.pairs.CLAIM_TIMEOUT_S", 0.5)
        until("the second machine is connected", lambda: second.adapter.is_connected)


def test_a_table_belongs_to_its_first_living_machine() -> None:
    """A claim is answered with "own" or "shared" to the machine that has the table, and with "open"
    or "taken" to any other machine, which has to wait.
    """
    clock = FakeClock()
    machine_claims = MachineClaims(clock)

    def claims(*machines: str) -> list[str]:
        """Let the machines claim the table one after another, 5 s apart. Return the answers."""
        answers = []
        for machine in machines:
            clock.advance(5)
            answers.append(machine_claims.claim("table", machine))
        return answers

    # no other machine claims the table
    assert claims("a", "a", "a") == ["own"] * 3
    # "b" and "c" come. Since then "a" has not claimed the table, so it may have been switched off.
    assert claims("b", "b", "c") == ["open"] * 3
    # "a" claims the table again and is told of "b". Then "b" is told of "a". "c" counts as new each
    # time, because only two machines are stored.
    assert claims("a", "b", "c", "a") == ["shared", "taken", "open", "shared"]
    # After its timeout "a" is forgotten, so "b" has the table. When "a" comes back, it is the
    # second.
    clock.advance(CLAIM_TIMEOUT_S)
    assert claims("b", "b", "a") == ["own", "own", "open"]


# ---- rights ----


def test_stolen_credentials_open_only_the_tables_subjects(
    hub: Hub, table: TableAtHub, tmp_path: Path
) -> None:
    victim = join_table(hub, tmp_path / "victim")
    victim.play()
    require_all_records(hub, victim)
    victim_id = victim.member.table_id
    records_before = records_at_hub(hub, victim_id)

    # subjects of another table, of all tables, and of NATS's own API
    publications = [record_subject(victim_id), state_subject(victim_id), command_subject(victim_id)]
    publications += [f"$JS.API.STREAM.PURGE.{RECORDS_STREAM}", "$JS.API.STREAM.NAMES"]
    subscriptions = [">", "tables.>", command_subject(victim_id), f"{inbox_prefix(victim_id)}.>"]
    refused: list[str] = []

    async def publish_and_subscribe(client: Client) -> None:
        for subject in publications:
            await client.publish(subject, b"{}")
        for subject in subscriptions:
            await client.subscribe(subject)
        async with asyncio.timeout(60):
            while len(refused) < len(publications) + len(subscriptions):
                await asyncio.sleep(0.01)

    act_with_key(hub, table, publish_and_subscribe, refused)
    assert all("permissions violation" in error.lower() for error in refused)
    assert records_at_hub(hub, victim_id) == records_before
    victim.close()


def test_a_removed_table_is_disconnected_and_forgotten(hub: Hub, tmp_path: Path) -> None:
    table = join_table(hub, tmp_path / "table")
    table.play()
    require_all_records(hub, table)
    hub.members.remove(table.member.table_id)
    until("the table reports its removal", lambda: "join again" in table.adapter.sentence)
    until(
        "the hub has deleted its records", lambda: records_at_hub(hub, table.member.table_id) == []
    )
    assert hub.room.table(table.member.number) is None
    table.close()


def test_a_table_goes_on_after_an_unreadable_record(hub: Hub, table: TableAtHub) -> None:
    table.play()
    require_all_records(hub, table)

    async def publish_unreadable_record(client: Client) -> None:
        # the number of an entry is no word
        await client.publish(record_subject(table.member.table_id), b'{"entry": "one"}')

    act_with_key(hub, table, publish_unreadable_record)
    number = table.member.number
    until("the room reports the record", lambda: "same version" in need_of_table(hub, number))
    table.play()
    until("the hub shows the last input", lambda: shows_last_input(hub, table))
    assert need_of_table(hub, number) == ""


# ---- reports and calls ----


@pytest.mark.parametrize(("agreed", "names"), [(True, {"Mara", "Jonas"}), (False, set())])
def test_names_are_sent_only_if_agreed(
    hub: Hub, tmp_path: Path, agreed: bool, names: set[str]
) -> None:
    # the fake clock stands in 2023, because a table's wrong date must not delay its reports
    table = join_table(hub, tmp_path / "table", names=agreed, clock=FakeClock())
    table.sit("Mara", "Jonas")
    # the health is set last, so that a report that has it was made after both had sat down
    table.health = say("The card is nearly full.")
    number = table.member.number

    def names_at_hub() -> set[str] | None:
        """Return the names in the last report that the hub has from the table.

        Return None while that report does not have the sentence of its health.
        """
        at_hub = hub.room.table(number)
        state = at_hub.state if at_hub else None
        return set(state.names.values()) if state and state.health else None

    until("a report with the agreed names arrives", lambda: names_at_hub() == names)
    table.close()


def test_a_call_and_its_answer_arrive(hub: Hub, table: TableAtHub) -> None:
    until("the call key has a listener", lambda: table.bell.has_listener)
    number = table.member.number
    table.bell.ring("south")
    table.table.step()
    until("the call arrives", lambda: need_of_table(hub, number) == "It is calling.")
    hub.members.answer_call(table.member.table_id, "coming")
    until("the answer arrives", lambda: table.bell.call is Call.COMING)
    hub.members.answer_call(table.member.table_id, "done")
    until("the end of the call arrives", lambda: table.bell.call is Call.NONE)


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
        # a body that is shorter than its length says
        b"HTTP/1.1 400 cut-off\r\nContent-Length: 9\r\n\r\n{}",
        # JSON that is nested too deeply for a decoder
        b"HTTP/1.1 400 nested\r\n\r\n" + b"[" * 8000,
    ],
)
def test_joining_refuses_answers_that_no_hub_gives(answer: bytes) -> None:
    """Refuse a redirect and malformed answers. If a table followed redirects, a false hub could
    make it send requests to any address in its owner's network.
    """
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        port = server.getsockname()[1]
        joining = pool.submit(join, f"127.0.0.1:{port}", "aaaaaa", "T", sends_names=False)
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)
        with pytest.raises(SystemTrouble, match="There is no hub at"):
            joining.result(60)


def test_a_table_without_hub_imports_no_hub_code() -> None:
    """It would cost each table memory and time at its start. So would the libraries of NATS."""
    script = (
        "import sys, companion.service.app\n"
        "print([name for name in sys.modules"
        " if name.split('.')[0] in ('nats', 'nkeys', 'nacl', 'asyncio')"
        " or name.startswith(('companion.hub', 'web.hub'))])"
    )
    hub_modules = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert hub_modules.strip() == "[]"


def test_an_error_is_logged_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    """A message could quote what a player has ordered in secret."""
    # the first two are network errors, which are not logged at all
    for error in (ConnectionClosedError(), OSError("gone"), ValueError("an order")):
        asyncio.run(log_client_error(error))
    assert caplog.text.count("could not be handled") == 1
    assert "ValueError" in caplog.text
    assert "an order" not in caplog.text
