"""A table's line to a real hub: every input is there once and in order, whatever is killed; nobody says another's."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hub_tools import (
    OpenHub,
    TableAtHub,
    disk_of_its_own,
    fill,
    has_all,
    hub_settings,
    joined,
    kept,
    kill_nats,
    needs,
    running,
    until,
)
from nats.aio.client import Client
from nats.errors import ConnectionClosedError
from nats.js import JetStreamContext
from nats.js.errors import ServiceUnavailableError

from companion.core.clock import FakeClock
from companion.core.errors import SystemTrouble
from companion.core.i18n import say
from companion.hub.joining import join
from companion.hub.membership import Membership
from companion.hub.subjects import (
    RECORDS,
    command_subject,
    inbox_prefix,
    record_subject,
    state_subject,
)
from companion.hub_server.app import Hub
from companion.hub_server.store import BAD_COUNTS, FLOOD
from companion.table.public.messages import encode_public
from companion.table.seats.staff_call import Call


@pytest.fixture
def table(hub: Hub, tmp_path: Path) -> Iterator[TableAtHub]:
    table = joined(hub, tmp_path / "table")
    yield table
    table.close()
    hub.members.remove(table.member.number)


def whole(hub: Hub, table: TableAtHub) -> None:
    """Everything is there, once and in order."""
    until("the hub has everything", lambda: has_all(hub, table))
    assert [record.entry for record in kept(hub, table.member.table)] == table.entries()


def test_the_store_is_told_to_collect_its_garbage_early(hub: Hub) -> None:
    assert hub.nats
    assert b"GOGC=50" in Path(f"/proc/{hub.nats.pid}/environ").read_bytes().split(b"\0")


def test_what_is_played_is_at_the_hub(hub: Hub, table: TableAtHub) -> None:
    table.play(2)
    whole(hub, table)
    shown = hub.room.table(table.member.number)
    assert shown
    assert shown.shown
    assert shown.shown.record.view.turn == table.table.view().turn.number
    assert table.line.sentence == f"Table {table.member.number} of Our club."


def test_a_killed_nats_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "hub") as hub:
        table = joined(hub, tmp_path / "table")
        try:
            for _ in range(3):
                table.play()
                kill_nats(hub)
                table.play()
                whole(hub, table)
        finally:
            table.close()


def test_a_hub_that_was_gone_gets_everything_and_a_table_that_was_gone_sends_it(
    tmp_path: Path,
) -> None:
    settings = hub_settings(tmp_path / "hub")
    with OpenHub(settings) as hub:
        table = joined(hub, tmp_path / "table")
        table.play()
        until("the hub has everything", lambda: has_all(hub, table))
    table.play()  # nobody is there
    table.close()
    table = TableAtHub(table.folder, table.member)  # its service starts anew
    until("the table knows", lambda: "does not answer" in table.line.sentence)
    table.play()
    with OpenHub(settings) as hub:
        whole(hub, table)
        table.close()
        table = TableAtHub(table.folder, table.member)
        table.play()
        whole(hub, table)
    table.close()


def test_a_hub_starts_as_soon_as_the_nats_of_before_lets_go_of_its_port(tmp_path: Path) -> None:
    settings = hub_settings(tmp_path / "hub")
    with socket.create_server(("127.0.0.1", settings.nats_port)) as before:
        started: list[Hub] = []
        starting = threading.Thread(target=lambda: started.append(OpenHub(settings)))
        starting.start()
        log = tmp_path / "hub/nats/nats.log"
        until(
            "NATS has tried", lambda: log.exists() and b"address already in use" in log.read_bytes()
        )
        before.close()
        starting.join(60)
    assert started
    started[0].close()


def test_a_hub_whose_store_was_lost_is_told_everything_anew(tmp_path: Path) -> None:
    settings = hub_settings(tmp_path / "hub")
    with OpenHub(settings) as hub:
        table = joined(hub, tmp_path / "table")
        table.play(2)
        whole(hub, table)
    subprocess.run(["rm", "-r", str(tmp_path / "hub/nats/store")], check=True)
    with OpenHub(settings) as hub:
        whole(hub, table)
    table.close()


def test_a_journal_that_was_brought_back_goes_on_in_another_epoch(hub: Hub, tmp_path: Path) -> None:
    table = joined(hub, tmp_path / "table")
    table.play(2)
    whole(hub, table)
    table.close()
    (tmp_path / "other").mkdir()
    other = TableAtHub(tmp_path / "other", table.member)  # the same table, with another past
    other.play()
    until("the hub has the new game", lambda: has_all(hub, other))
    told = kept(hub, table.member.table)
    assert [record.epoch for record in told] == sorted(record.epoch for record in told)
    assert [record.entry for record in told if record.epoch == 1] == other.entries()[-len(told) :][
        -sum(r.epoch for r in told) :
    ]
    other.close()


def test_a_hub_that_hangs_holds_no_table_up(tmp_path: Path) -> None:
    with running(tmp_path / "hub") as hub:
        table = joined(hub, tmp_path / "table")
        table.play()
        whole(hub, table)
        assert hub.nats is not None
        pid = hub.nats.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            table.play(3)
            until("the table knows", lambda: "sent later" in table.line.sentence)
            table.play()
        finally:
            with contextlib.suppress(
                ProcessLookupError
            ):  # the hub has started another one meanwhile
                os.kill(pid, signal.SIGCONT)
        whole(hub, table)
        table.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disk_of_its_own(tmp_path / "disk") as disk:
        yield disk


def test_a_line_at_rest_looks_at_nothing_and_is_woken_up(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("companion.hub.sender.IDLE_S", 0.0)
    monkeypatch.setattr("companion.hub.sender.LOOK_S", 3600.0)
    with contextlib.closing(joined(hub, tmp_path / "table")) as table:
        for _ in range(3):
            table.play(2)
            whole(hub, table)
    hub.members.remove(table.member.number)


@pytest.mark.parametrize("is_killed", [False, True], ids=["full", "and-killed"])
def test_a_full_disk_at_the_hub_is_said_and_everything_comes_once_there_is_room(
    small_disk: Path, tmp_path: Path, is_killed: bool
) -> None:
    with running(small_disk / "hub") as hub:
        table = joined(hub, tmp_path / "table")
        table.play()
        whole(hub, table)
        fill(small_disk)
        table.play(3)  # the table goes on
        until("the hub says it", lambda: "disk is full" in hub.room.trouble)
        until("the table knows", lambda: "disk may be full" in table.line.sentence)
        if is_killed:  # its store has to be opened where nothing can be written
            assert hub.nats is not None
            nats, killed = hub.nats, hub.nats.pid or 0
            os.kill(killed, signal.SIGKILL)
            until("it is started anew", lambda: nats.pid not in (None, killed))
            until("the hub says it", lambda: "disk is full" in hub.room.trouble)
        (small_disk / "ballast").unlink()
        whole(hub, table)
        until("the table knows", lambda: "Table 1" in table.line.sentence)
        assert hub.room.trouble == ""
        table.close()


def test_a_full_disk_at_the_hub_cuts_no_line(
    small_disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A call needs none of it."""
    cuts: list[int] = []
    with (
        running(small_disk / "hub") as hub,
        contextlib.closing(joined(hub, tmp_path / "table")) as table,
    ):
        whole(hub, table)
        fill(small_disk)
        monkeypatch.setattr("companion.hub_server.store.hang_up", lambda _: cuts.append(1))
        table.play()
        until("the table knows", lambda: "disk may be full" in table.line.sentence)
        until("the hub cannot write", lambda: "database or disk is full" in caplog.text)
        until("somebody hears the key", lambda: table.bell.is_heard)
        table.bell.ring("south")
        table.table.step()
        until("the hub knows", lambda: needs(hub, 1) == "It is calling.")
        assert cuts == []
        monkeypatch.undo()
        (small_disk / "ballast").unlink()
        whole(hub, table)


def test_a_copied_card_is_noticed_and_said_on_both_machines(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("companion.hub.pair_line.CLAIM_S", 0.2)
    monkeypatch.setattr("companion.hub.pair_line.NEAR_S", 0.2)
    monkeypatch.setattr("companion.hub.sender.AGAIN_MOST_S", 1.0)
    first = joined(hub, tmp_path / "card")
    whole(hub, first)
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
        assert needs(hub, first.member.number) == "Two machines want to be this table."
        first.play(1)
        until("the first one goes on", lambda: has_all(hub, first))
        first.close()
        monkeypatch.setattr("companion.hub_server.pairs.HELD_S", 0.5)
        until("the second one is let in", lambda: second.line.is_connected)


# ---- who may say what ----


async def as_table(table: TableAtHub, act: Any, complaints: int = 0) -> list[str]:
    """Do something with a table's credentials; answers what NATS complains of, once it is so many times."""
    errors: list[str] = []

    async def note(error: Exception) -> None:
        errors.append(str(error).lower())

    client = Client()
    own = table.member
    await client.connect(
        list(own.servers),
        nkeys_seed_str=own.seed,
        inbox_prefix=inbox_prefix(own.table),
        allow_reconnect=False,
        error_cb=note,
    )
    try:
        await act(client)
        await client.flush()
        for _ in range(6000):
            if len(errors) >= complaints:
                break
            await asyncio.sleep(0.01)
    finally:
        await client.close()
    return errors


def test_stolen_credentials_open_nothing_but_the_tables_own_subjects(
    hub: Hub, table: TableAtHub, tmp_path: Path
) -> None:
    victim = joined(hub, tmp_path / "victim")
    victim.play()
    whole(hub, victim)
    before = kept(hub, victim.member.table)

    async def act(client: Client) -> None:
        for subject in (
            record_subject(victim.member.table),
            state_subject(victim.member.table),
            "tables.x.record",
        ):
            await client.publish(subject, b"{}")
        for subject in (
            command_subject(victim.member.table),
            f"$JS.API.STREAM.PURGE.{RECORDS}",
            "$JS.API.STREAM.NAMES",
        ):
            await client.publish(subject, b"{}")
        for subject in (
            ">",
            "tables.>",
            command_subject(victim.member.table),
            f"{inbox_prefix(victim.member.table)}.>",
        ):
            await client.subscribe(subject)

    errors = asyncio.run(as_table(table, act, 10))
    assert len([error for error in errors if "permissions violation" in error]) == 10
    assert kept(hub, victim.member.table) == before
    victim.close()


def test_what_stolen_credentials_told_last_holds_the_table_up_no_longer(
    hub: Hub, table: TableAtHub
) -> None:
    table.play()
    whole(hub, table)
    told = encode_public(kept(hub, table.member.table)[-1])

    async def act(client: Client) -> None:
        changed = re.sub(rb'"entry":\d+', b'"entry":' + b"9" * 4000, told)
        await client.jetstream().publish(record_subject(table.member.table), changed)

    asyncio.run(as_table(table, act))
    table.play()
    until("the hub has what was played since", lambda: has_all(hub, table))
    until("the table knows", lambda: "of Our club" in table.line.sentence)


def test_a_table_that_was_removed_is_put_out_and_says_so(hub: Hub, tmp_path: Path) -> None:
    table = joined(hub, tmp_path / "table")
    table.play()
    whole(hub, table)
    assert hub.members.remove(table.member.number)
    until("the table knows", lambda: "join again" in table.line.sentence)
    until("nothing is kept of it", lambda: kept(hub, table.member.table) == [])
    assert hub.room.table(table.member.number) is None
    table.close()


@pytest.mark.parametrize("error", [ConnectionClosedError, ServiceUnavailableError])
def test_what_is_kept_of_a_table_goes_also_when_the_line_breaks_or_the_store_is_busy_meanwhile(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    purge, broken = JetStreamContext.purge_stream, [True]

    async def breaks(self: JetStreamContext, name: str, **how: Any) -> bool:
        if broken:
            broken.clear()
            raise error
        return await purge(self, name, **how)

    table = joined(hub, tmp_path / "table")
    table.play()
    whole(hub, table)
    monkeypatch.setattr(JetStreamContext, "purge_stream", breaks)
    assert hub.members.remove(table.member.number)
    until("nothing is kept of it", lambda: not broken and kept(hub, table.member.table) == [])
    table.close()


def test_a_table_that_floods_is_shut_out_and_nobody_else_suffers(
    hub: Hub, table: TableAtHub, tmp_path: Path
) -> None:
    good = joined(hub, tmp_path / "good")

    async def act(client: Client) -> None:
        for _ in range(round(FLOOD.burst / BAD_COUNTS) + 20):
            await client.publish(state_subject(table.member.table), b"nonsense")

    asyncio.run(as_table(table, act))
    number = table.member.number
    until("it is shut out", lambda: (shown := hub.room.table(number)) and shown.shut)
    assert needs(hub, number) == "It has sent too much and was shut out."
    until("it is put out", lambda: "join again" in table.line.sentence)
    good.play()
    whole(hub, good)
    assert hub.members.let_in(number)
    table.play()
    until("it is let in again", lambda: has_all(hub, table), 40)
    good.close()


def test_what_cannot_be_read_is_said_and_the_table_goes_on_behind_it(
    hub: Hub, table: TableAtHub
) -> None:
    table.play()
    whole(hub, table)

    async def act(client: Client) -> None:
        await client.publish(record_subject(table.member.table), b'{"entry": "one"}')

    asyncio.run(as_table(table, act))
    number = table.member.number
    until("it is said", lambda: "same version" in needs(hub, number))
    table.play()
    until("the hub has the last input", lambda: has_all(hub, table))
    assert needs(hub, number) == ""


# ---- how a table is ----


def test_the_hub_knows_how_a_table_is_and_a_wrong_clock_is_said(
    hub: Hub, table: TableAtHub
) -> None:
    table.health = say("The card is nearly full.")
    table.sit("Mara", "Jonas")
    number = table.member.number
    until(
        "the state is there",
        lambda: (shown := hub.room.table(number)) and shown.state and shown.state.health,
    )
    state = hub.room.table(number).state  # type: ignore[union-attr]
    assert state is not None
    assert state.names == {}  # nobody has agreed to tell them
    assert abs(hub.room.table(number).clock_off_s) < 30  # type: ignore[union-attr]


def test_a_clock_that_is_wrong_is_said_and_names_are_told_where_that_was_agreed(
    hub: Hub, tmp_path: Path
) -> None:
    table = joined(hub, tmp_path / "table", names=True, clock=FakeClock())  # in 2023
    table.sit("Mara", "Jonas")
    number = table.member.number

    def names() -> set[str]:
        shown = hub.room.table(number)
        return set(shown.state.names.values()) if shown and shown.state else set()

    until("both names are there", lambda: names() == {"Mara", "Jonas"})
    shown = hub.room.table(number)
    assert shown is not None
    assert shown.needs(hub.room.now_s()) == "Its clock is wrong."
    table.close()


def test_a_call_reaches_the_hub_and_its_answer_the_table(hub: Hub, table: TableAtHub) -> None:
    until("somebody hears the key", lambda: table.bell.is_heard)
    number = table.member.number
    table.bell.ring("south")
    table.table.step()
    until(
        "the hub knows",
        lambda: (
            (shown := hub.room.table(number)) and shown.needs(hub.room.now_s()) == "It is calling."
        ),
    )
    assert hub.members.answer(number, "coming")
    until("somebody comes", lambda: table.bell.call is Call.COMING)
    assert hub.members.answer(number, "done")
    until("it is over", lambda: table.bell.call is Call.NONE)
    assert not hub.members.answer(99, "done")


def test_a_call_that_nobody_hears_any_more_is_gone(tmp_path: Path) -> None:
    with running(tmp_path / "hub") as hub:
        table = joined(hub, tmp_path / "table")
        until("somebody hears the key", lambda: table.bell.is_heard)
    until("nobody hears it", lambda: not table.bell.is_heard)
    table.close()


# ---- joining ----


def test_only_the_code_on_the_hubs_screen_lets_a_table_in(hub: Hub) -> None:
    count = len(hub.room.tables())
    for code, words in (("abcdef", "not the code"), ("", "not the code")):
        with pytest.raises(SystemTrouble, match=words):
            join(hub.urls()[0], code, "x", names=False)
    assert len(hub.room.tables()) == count


@pytest.mark.parametrize("address", ["", "ftp://hub", "http://", "//", "[::1", "http://[x]y"])
def test_what_is_no_address_is_said(address: str) -> None:
    with pytest.raises(SystemTrouble, match="is not the address of a hub"):
        join(address, "abcdef", "x", names=False)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:x", "m\x06n", "a b", "é\U000b9784"])
def test_a_hub_that_is_not_there_is_said(address: str) -> None:
    with pytest.raises(SystemTrouble, match="does not answer"):
        join(address, "abcdef", "x", names=False)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_hub_sends_the_machine_that_joins_to_no_other_address(status: int) -> None:
    """Else whoever answers as a hub could have a table ask whatever stands in its owner's network."""
    asked = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Location", "/within")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        with pytest.raises(SystemTrouble, match="There is no hub at"):
            join(f"127.0.0.1:{server.server_port}", "aaaaaa", "T", names=False)
        server.shutdown()
        serving.join()
    assert asked == ["/api/hub/join"]


def test_a_table_without_a_hub_pays_nothing() -> None:
    asked = (
        "import sys, companion.service.app\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('nats', 'nkeys', 'nacl', 'asyncio')"
        " or name.startswith(('companion.hub', 'web.hub'))])"
    )
    told = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    ).stdout
    assert told.strip() == "[]"


def test_a_table_that_joins_is_let_in_at_once(hub: Hub) -> None:
    async def come_in(member: Membership) -> None:
        client = Client()
        await client.connect(
            list(member.servers),
            nkeys_seed_str=member.seed,
            allow_reconnect=False,
            max_reconnect_attempts=1,
        )
        await client.close()

    for _ in range(20):
        asyncio.run(come_in(join(hub.urls()[0], hub.door.code, "table", names=False)))
