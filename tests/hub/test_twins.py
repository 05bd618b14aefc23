"""One game at two tables, played twice: the runs differ only in what South hides, and everything at
North is the same.

Two real services, each on its line to a real hub, and both lines are listened to: North's pages,
files and log, what goes over either line, and the hub's pages do not depend on an order before
North's own is bound.
"""

from __future__ import annotations

import logging
import re
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from hub_tools import running_hub
from internals import app_of, session_of
from outsiders import Outsiders
from ports import free_port
from simulated_room import local_settings
from waiting import until
from wire_tools import WireTap, mask_random_parts, wire_tap

from companion.core.clock import FakeClock
from companion.core.config import TableSettings, WebSettings
from companion.core.errors import Stale
from companion.core.kit import SEATS, Seat
from companion.hub.joining import join
from companion.hub.membership import write_membership
from companion.hub_server.app import Hub
from companion.service.app import Companion
from companion.table.session import Phase

pytestmark = pytest.mark.slow

SALT = "5a175a175a175a17"
HUB_PAGES = (
    "/", "/watch", "/watch/1", "/watch/2", "/overlay/1", "/overlay/2",
    "/standings", "/tournaments", "/health", "/host",
)  # fmt: skip


@dataclass
class TwoTables:
    """South's service and North's, the hub, and what is listened to."""

    hub: Hub
    companions: dict[Seat, Companion]
    taps: dict[Seat, WireTap]

    def begin(self, game: str, **options: object) -> None:
        """Agree on the game at both tables, and set up both boards."""
        code = self.companions[Seat.SOUTH].hub.pairs.offer(game, options, Seat.SOUTH, "Mara")
        self.companions[Seat.NORTH].hub.pairs.accept(code, "Jonas")
        self.are("the game begins", lambda each: session_of(each.table).remote is not None)
        self.settle()

    def are(self, what: str, look: Callable[[Companion], bool]) -> None:
        """Wait until it is so at both tables."""
        until(what, lambda: all(look(each) for each in self.companions.values()), 60)

    def settle(self) -> None:
        """Let hands follow at both tables, until orders are due."""

        def follow() -> bool:
            for each in self.companions.values():
                view, session = each.table.view(), session_of(each.table)
                is_due = view.phase in (Phase.SETUP, Phase.STAGES)
                if is_due and session.remote and not session.remote.has_reported_stage:
                    with suppress(Stale):  # the camera has seen it meanwhile
                        each.table.confirm("host", view.moment, view.turn.stage, force=True)
            return self._agree() and all(_orders(each) for each in self.companions.values())

        until("orders are due", follow, 60)

    def _agree(self) -> bool:
        south, north = (session_of(self.companions[seat].table) for seat in SEATS)
        return south.moment == north.moment and south.awaited_seats == north.awaited_seats


def _orders(companion: Companion) -> bool:
    return companion.table.view().phase is Phase.ORDERS


# South's two orders in the two runs, and North's answer.
SECRETS: dict[str, tuple[tuple[str, str], str]] = {
    "outbuffered": (("UUS", "DRI"), "UUU"),
    "arena": (("1:N 2:aE 3:D", "1:E 2:X 3:N"), "1:S"),
    "kahmate": (
        ("R@c2 R@f2 B@c1 T@e2 F@a2 S@d1", "R@a1 R@b1 B@c1 T@d1 F@e1 S@f1"),
        "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11",
    ),
}


@dataclass(frozen=True)
class RunRecord:
    """What a run has at North before North's own order is bound, and whether the order came there
    afterwards.
    """

    pages: list[tuple[str, str]]
    files: dict[str, list[str]]
    wires: dict[Seat, set[tuple[str, str]]]
    hub: list[tuple[str, str]]
    opened: str


def _page(path: str, sent: bytes) -> tuple[str, str]:
    return path, mask_random_parts(sent.decode(errors="replace"))


def _at_hub(hub: Hub) -> list[tuple[str, str]]:
    """Return what the hub's pages show to a stranger."""
    stranger = app_of(hub.server).test_client()
    return [
        _page(path, stranger.get(path, environ_base={"REMOTE_ADDR": "192.0.2.5"}).data)
        for path in HUB_PAGES
    ]


def _files(folder: Path) -> dict[str, list[str]]:
    """Return every file of an installation: rows of a database, or else the content."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".sqlite":
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as opened:
                contents[name] = [mask_random_parts(line) for line in opened.iterdump()]
        elif (
            path.is_file()
            and not name.endswith(("-wal", "-shm", "-head"))
            and "templates" not in path.parts
        ):
            contents[name] = [mask_random_parts(path.read_bytes().decode(errors="replace"))]
    return contents


def _wire(tap: WireTap) -> set[tuple[str, str]]:
    """Return the messages on a line, each once, because their number depends on time.

    Also by time, and left out: states, where a line looks up how far its own records have come, and
    what the hub answers to the claim that this machine is the table.
    """
    return {
        (mask_random_parts(subject.decode()), mask_random_parts((head + content).decode()))
        for subject, head, content in tap.messages()
        if content
        and not subject.endswith(b".state")
        and b"Nats-Stream: RECORDS" not in head
        and not re.fullmatch(rb'\{"session":"[a-z]*"\}', content)
    }


def _run(folder: Path, port: int, game: str, secret: str, answer: str) -> RunRecord:
    """Run with this secret of South's. Return all that is there before North's order is bound."""
    clocks = {seat: FakeClock() for seat in SEATS}
    web = WebSettings(host="127.0.0.1", port=port, viewers=64)
    with running_hub(folder / "hub", web=web) as hub, ExitStack() as stack:
        companions, taps = {}, {}
        for seat in SEATS:
            taps[seat] = stack.enter_context(
                wire_tap(int(hub.nats_server.url.rpartition(":")[2]) if hub.nats_server else 0)
            )
            settings = local_settings(folder / seat, table=TableSettings(reading_time_s=0.1))
            member = join(hub.urls()[0], hub.table_join_code.code, str(seat), sends_names=False)
            at = (f"nats://127.0.0.1:{taps[seat].port}",)
            write_membership(
                settings.journal_path.with_name("hub.json"),
                msgspec.structs.replace(member, servers=at),
            )
            companions[seat] = stack.enter_context(
                Companion(settings, simulate=True, clock=clocks[seat], threads=False)
            )
            companions[seat].hub.start()
        two = TwoTables(hub, companions, taps)
        two.are("the hub is there", lambda each: each.hub.sentence.startswith("Table "))
        south, north = (
            Outsiders(companions[Seat.SOUTH], [Seat.SOUTH]),
            Outsiders(companions[Seat.NORTH], [Seat.NORTH]),
        )
        two.begin(game)
        table = companions[Seat.SOUTH].table
        moment = table.view().moment
        south.south.post("/api/seat/south/hand-in", moment=moment, action=secret, salt=SALT)
        until(
            "it is bound", lambda: companions[Seat.NORTH].table.view().seats[Seat.SOUTH].receipt, 60
        )
        last = [list(each.journal.entries())[-1].id for each in companions.values()]
        until(
            "the hub has it",
            lambda: [t.latest and t.latest.record.entry for t in hub.room.tables()] == last,
            60,
        )
        two.are("no line is in trouble", lambda each: each.hub.sentence.startswith("Table "))
        pages = [_page(path, sent) for path, sent in north.all_answers()]
        shown = _at_hub(hub)
        wires = {seat: _wire(tap) for seat, tap in taps.items()}
        files = _files(folder / "north")
        raw = [b"".join(map(bytes, taps[Seat.NORTH].streams))]
        raw += [path.read_bytes() for path in (folder / "north").rglob("*") if path.is_file()]
        assert not any(SALT.encode() in each for each in raw), "the salt is at the other table"
        there = companions[Seat.NORTH].table
        there.hand_in(Seat.NORTH, there.view().moment, answer, "00" * 8)
        until("the order comes", lambda: not session_of(there).sealed, 60)
        return RunRecord(
            pages, files, wires, shown, session_of(there).turns[-1].sealed[Seat.SOUTH].action
        )


@pytest.mark.parametrize("game", SECRETS)
def test_the_other_table_gets_nothing_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, game: str
) -> None:
    monkeypatch.setattr("companion.service.app.read_host_key", lambda _: "aaaaa-bbbbb")
    monkeypatch.setattr(
        "companion.diagnostics.machine_checks.find_free_bytes", lambda _: 4_000_000_000
    )
    drawn = SimpleNamespace(
        token_hex=lambda length: "5e" * length,
        token_urlsafe=secrets.token_urlsafe,
        choice=lambda letters: letters[0],
    )
    # one deal in both runs
    for drawing in ("core.network", "hub_server.pairs", "table.remote.remote_table"):
        monkeypatch.setattr(f"companion.{drawing}.secrets", drawn)
    # no table's time passes, and a hub's does
    monkeypatch.setattr("web.hub.room.SILENCE_TIMEOUT_S", 1e9)
    for timeout in (
        "hub_connection.ANSWER_TIMEOUT_S",
        "loop_thread.CONNECT_TIMEOUT_S",
        "pair_client.ANSWER_TIMEOUT_S",
    ):
        monkeypatch.setattr(f"companion.hub.{timeout}", 15)  # a busy machine cuts no line
    monkeypatch.setattr("companion.hub_server.nats_connection.ANSWER_TIMEOUT_S", 15)
    caplog.set_level(logging.DEBUG)
    texts, answer = SECRETS[game]
    runs, logs, port = [], [], free_port()  # which is in a code on the hub's wall
    for number, text in enumerate(texts):
        caplog.clear()
        runs.append(_run(tmp_path / str(number), port, game, text, answer))
        logs.append(caplog.text)
    one, other = runs
    for pages, others in ((one.pages, other.pages), (one.hub, other.hub)):
        for (path, first), (_, second) in zip(pages, others, strict=True):
            assert first == second, f"{path} tells South's order in {game}"
    assert one.files == other.files
    assert one.wires[Seat.NORTH] == other.wires[Seat.NORTH]
    assert one.wires[Seat.SOUTH] == other.wires[Seat.SOUTH]
    assert (one.opened, other.opened) == texts
    assert not any(SALT in log for log in logs)
