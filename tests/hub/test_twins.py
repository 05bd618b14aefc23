"""Test that a game at two tables keeps South's order secret until North's order is bound.

Two real services play over a real hub, and the bytes of both connections are recorded. The game is
played twice. These two runs, the twins, differ only in South's order, and both use the same random
numbers. So whatever differs between what they leave behind would tell somebody about that order.
North's pages, files and log, the messages on both connections, and the hub's pages must not differ.
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

# Salt of South's receipt. Whoever knows it could find the order by trying all orders.
SALT = "5a175a175a175a17"
HUB_PAGES = (
    "/", "/watch", "/watch/1", "/watch/2", "/overlay/1", "/overlay/2",
    "/standings", "/tournaments", "/health", "/host",
)  # fmt: skip


@dataclass
class TwoTables:
    """South's service and North's, their hub, and the taps on both connections."""

    hub: Hub
    companions: dict[Seat, Companion]
    taps: dict[Seat, WireTap]

    def begin(self, game: str, **options: object) -> None:
        """Agree on the game at both tables, and set up both boards."""
        code = self.companions[Seat.SOUTH].hub.pairs.offer(game, options, Seat.SOUTH, "Mara")
        self.companions[Seat.NORTH].hub.pairs.accept(code, "Jonas")
        self.wait_for_both(
            "the game begins", lambda companion: session_of(companion.table).remote is not None
        )
        self.settle()

    def wait_for_both(self, what: str, is_so: Callable[[Companion], bool]) -> None:
        """Wait until a condition holds at both tables."""
        until(what, lambda: all(is_so(companion) for companion in self.companions.values()), 60)

    def settle(self) -> None:
        """Carry out all instructions at both tables, until orders are due."""

        def follow_instructions() -> bool:
            for companion in self.companions.values():
                view, session = companion.table.view(), session_of(companion.table)
                is_due = view.phase in (Phase.SETUP, Phase.STAGES)
                if is_due and session.remote and not session.remote.has_reported_stage:
                    with suppress(Stale):  # the camera has seen it meanwhile
                        companion.table.confirm("host", view.moment, view.turn.stage, force=True)
            return self._agree() and all(
                _expects_orders(companion) for companion in self.companions.values()
            )

        until("orders are due at both tables", follow_instructions, 60)

    def _agree(self) -> bool:
        south, north = (session_of(self.companions[seat].table) for seat in SEATS)
        return south.moment == north.moment and south.awaited_seats == north.awaited_seats


def _expects_orders(companion: Companion) -> bool:
    return companion.table.view().phase is Phase.ORDERS


# For each game: South's order in the first and in the second run, and North's order in both. They
# are in the game's notation. `UUS` drives up twice and then shoots. `1:N 2:aE 3:D` moves robot 1 to
# the north, lets robot 2 attack to the east, and lets robot 3 defend. `R@c2` places a piece on c2.
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
    """What others than South see in a run before North's order is bound."""

    pages: list[tuple[str, str]]
    """Path and content of each page of North's service."""
    files: dict[str, list[str]]
    wires: dict[Seat, set[tuple[str, str]]]
    hub: list[tuple[str, str]]
    """Path and content of each page of the hub."""
    opened_order: str
    """South's order as North's table has it once both orders are opened."""


def masked_page(path: str, content: bytes) -> tuple[str, str]:
    return path, mask_random_parts(content.decode(errors="replace"))


def hub_pages(hub: Hub) -> list[tuple[str, str]]:
    """Return what the hub's pages show to a stranger."""
    stranger = app_of(hub.server).test_client()
    return [
        masked_page(path, stranger.get(path, environ_base={"REMOTE_ADDR": "192.0.2.5"}).data)
        for path in HUB_PAGES
    ]


def file_contents(folder: Path) -> dict[str, list[str]]:
    """Return every file of an installation: rows of a database, or else the content."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".sqlite":
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
                contents[name] = [mask_random_parts(line) for line in database.iterdump()]
        elif (
            path.is_file()
            and not name.endswith(("-wal", "-shm", "-head"))
            and "templates" not in path.parts
        ):
            contents[name] = [mask_random_parts(path.read_bytes().decode(errors="replace"))]
    return contents


def wire_messages(tap: WireTap) -> set[tuple[str, str]]:
    """Return the messages on a connection, as a set, because how often they come depends on time.

    Some messages are left out, because they depend on time as well: the table's reports, the last
    stored record that a table asks for, and answers to a machine's claim to be the table.
    """
    return {
        (mask_random_parts(subject.decode()), mask_random_parts((head + content).decode()))
        for subject, head, content in tap.messages()
        if content
        and not subject.endswith(b".state")
        and b"Nats-Stream: RECORDS" not in head
        and not re.fullmatch(rb'\{"session":"[a-z]*"\}', content)
    }


def play_until_bound(
    folder: Path, port: int, game: str, south_order: str, north_order: str
) -> RunRecord:
    """Play a game until South's order is bound, record the run, then hand in North's order."""
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
            # the table connects to the tap, which passes everything on to NATS
            tapped_servers = (f"nats://127.0.0.1:{taps[seat].port}",)
            write_membership(
                settings.journal_path.with_name("hub.json"),
                msgspec.structs.replace(member, servers=tapped_servers),
            )
            companions[seat] = stack.enter_context(
                Companion(settings, simulate=True, clock=clocks[seat], threads=False)
            )
            companions[seat].hub.start()
        tables = TwoTables(hub, companions, taps)
        tables.wait_for_both(
            "the hub is connected", lambda companion: companion.hub.sentence.startswith("Table ")
        )
        south_outsiders, north_outsiders = (
            Outsiders(companions[Seat.SOUTH], [Seat.SOUTH]),
            Outsiders(companions[Seat.NORTH], [Seat.NORTH]),
        )

        # South hands in, and North's table and the hub get the receipt
        tables.begin(game)
        table = companions[Seat.SOUTH].table
        moment = table.view().moment
        south_outsiders.south.post(
            "/api/seat/south/hand-in", moment=moment, action=south_order, salt=SALT
        )
        until(
            "North's table has the receipt",
            lambda: companions[Seat.NORTH].table.view().seats[Seat.SOUTH].receipt,
            60,
        )
        last_entries = [
            list(companion.journal.entries())[-1].id for companion in companions.values()
        ]
        until(
            "the hub shows the last input of both tables",
            lambda: (
                [at_hub.latest and at_hub.latest.record.entry for at_hub in hub.room.tables()]
                == last_entries
            ),
            60,
        )
        tables.wait_for_both(
            "no connection is in trouble",
            lambda companion: companion.hub.sentence.startswith("Table "),
        )

        # record what everybody but South sees now
        pages = [masked_page(path, content) for path, content in north_outsiders.all_answers()]
        shown_at_hub = hub_pages(hub)
        wires = {seat: wire_messages(tap) for seat, tap in taps.items()}
        files = file_contents(folder / "north")
        raw_bytes = [b"".join(map(bytes, taps[Seat.NORTH].streams))]
        raw_bytes += [path.read_bytes() for path in (folder / "north").rglob("*") if path.is_file()]
        assert not any(SALT.encode() in content for content in raw_bytes), (
            "the other table has the salt"
        )

        # North hands in, so both orders are opened
        north_table = companions[Seat.NORTH].table
        north_table.hand_in(Seat.NORTH, north_table.view().moment, north_order, "00" * 8)
        until("both orders are opened", lambda: not session_of(north_table).sealed, 60)
        return RunRecord(
            pages=pages,
            files=files,
            wires=wires,
            hub=shown_at_hub,
            opened_order=session_of(north_table).turns[-1].sealed[Seat.SOUTH].action,
        )


@pytest.mark.parametrize("game", SECRETS)
def test_no_hidden_order_reaches_the_other_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, game: str
) -> None:
    # whatever differs from run to run or from minute to minute is fixed
    monkeypatch.setattr("companion.service.app.read_host_key", lambda _: "aaaaa-bbbbb")
    monkeypatch.setattr(
        "companion.diagnostics.machine_checks.find_free_bytes", lambda _: 4_000_000_000
    )
    fixed_secrets = SimpleNamespace(
        token_hex=lambda length: "5e" * length,
        token_urlsafe=secrets.token_urlsafe,
        choice=lambda letters: letters[0],
    )
    # both runs draw the same random numbers
    for module in ("core.network", "hub_server.pairs", "table.remote.remote_table"):
        monkeypatch.setattr(f"companion.{module}.secrets", fixed_secrets)
    # the tables' fake clocks stand still, and the hub must not take the tables for silent
    monkeypatch.setattr("web.hub.room.SILENCE_TIMEOUT_S", 1e9)
    for timeout in (
        "hub_connection.ANSWER_TIMEOUT_S",
        "loop_thread.CONNECT_TIMEOUT_S",
        "pair_client.ANSWER_TIMEOUT_S",
    ):
        monkeypatch.setattr(f"companion.hub.{timeout}", 15)  # for busy machines
    monkeypatch.setattr("companion.hub_server.nats_connection.ANSWER_TIMEOUT_S", 15)

    caplog.set_level(logging.DEBUG)
    south_orders, north_order = SECRETS[game]
    runs, logs = [], []
    port = free_port()  # the same in both runs, because the hub's wall shows it in a code
    for number, south_order in enumerate(south_orders):
        caplog.clear()
        runs.append(play_until_bound(tmp_path / str(number), port, game, south_order, north_order))
        logs.append(caplog.text)

    first, second = runs
    for first_pages, second_pages in ((first.pages, second.pages), (first.hub, second.hub)):
        for (path, page), (_, other_page) in zip(first_pages, second_pages, strict=True):
            assert page == other_page, f"{path} depends on South's order in {game}"
    assert first.files == second.files
    assert first.wires[Seat.NORTH] == second.wires[Seat.NORTH]
    assert first.wires[Seat.SOUTH] == second.wires[Seat.SOUTH]
    assert (first.opened_order, second.opened_order) == south_orders
    assert not any(SALT in log for log in logs)
