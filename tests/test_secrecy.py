"""Every byte sent to every viewer, in games that differ only in the other seat's buffer: equal until the reveal."""

from __future__ import annotations

import http.client
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from service import Client

from companion import advance
from companion.app import Companion
from companion.clock import FakeClock
from companion.config import Settings, TableSettings, WebSettings
from companion.games.binmat.cards import DECK
from companion.journal import Journal
from companion.kit import Seat
from companion.replay import game_file
from companion.session import Phase

PUBLIC = (
    "/", "/watch", "/join", "/join/south", "/host", "/rules/outbuffered", "/api/view", "/health", "/workbench",
    "/workbench/state", "/seat/south", "/api/seat/south/view", "/live/seat/south", "/api/seat/south/mine", "/nowhere",
)  # fmt: skip
NORTH = ("/seat/north", "/api/seat/north/view")
STREAMS = ("/live/table", "/live/watch", "/live/seat/north", "/live/host", "/workbench/live")
MOMENT = "1.1"


@pytest.fixture(scope="module")
def port() -> int:
    """A free port that both games use, one after the other: it stands in the pages."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def house(folder: Path, port: int, clock: FakeClock) -> Iterator[Companion]:
    settings = Settings(
        state_dir=str(folder), web=WebSettings(host="127.0.0.1", port=port), table=TableSettings(reading_time_s=0.1)
    )
    with Companion(settings, simulate=True, clock=clock, threads=False) as companion:
        yield companion


def first_message(url: str, path: str, cookies: str) -> bytes:
    """What a stream sends at once: its whole fragment."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    connection.request("GET", path, headers={"Cookie": cookies})
    answer = connection.getresponse()
    lines = []
    while line := answer.readline():
        lines.append(line)
        if line == b"\n" and any(each.startswith(b"data:") for each in lines):
            break
    answer.close()
    connection.close()
    return b"".join(lines) or str(answer.status).encode()


class Viewer:
    """Everybody but South: the public, the spectator, the host, and North with its cookie."""

    def __init__(self, companion: Companion) -> None:
        self.url = f"http://127.0.0.1:{companion.server.port}"
        self.south, self.north, self.public = Client(self.url), Client(self.url), Client(self.url)
        self.south.post("/api/seat/south/take", name="Mara")
        self.north.post("/api/seat/north/take", name="Jonas")

    def everything(self) -> list[tuple[str, bytes]]:
        """All pages, all JSON, all streams, all refusals."""
        seen = []
        for client, paths in ((self.public, PUBLIC), (self.north, (*PUBLIC, *NORTH))):
            for path in paths:
                if client is self.public and path.startswith("/live"):
                    continue
                if path.startswith("/live"):
                    continue
                status, body, headers = client.send(path)
                kept = {k: v for k, v in headers.items() if k not in ("Date", "Set-Cookie")}
                seen.append((path, f"{status} {sorted(kept.items())}".encode() + body))
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.north.jar)
        seen += [(path, first_message(self.url, path, cookies)) for path in STREAMS]
        probes = (
            ("/api/seat/south/hand-in", b'{"moment": "1.1", "action": "UUU", "salt": "aa"}'),
            ("/api/seat/south/take-back", b'{"moment": "1.1"}'),
            ("/api/seat/south/mine", b"{}"),
            ("/api/seat/south/plan", b'{"moment": "1.1", "entered": "U"}'),
            ("/api/seat/north/confirm", b'{"moment": "1.1", "stage": 0, "force": true}'),
            ("/api/host/undo", b"{}"),
        )
        for path, body in probes:
            status, answer, _ = self.north.send(path, body, {"Content-Type": "application/json"})
            seen.append((f"POST {path}", f"{status} ".encode() + answer))
        return seen


def play(companion: Companion, clock: FakeClock, text: str) -> list[tuple[str, bytes]]:
    """South gives an order in every way there is; answers all that the others were sent meanwhile."""
    hands = companion.simulation.hands if companion.simulation else None
    assert hands is not None
    viewer = Viewer(companion)
    companion.table.new_game("outbuffered", seed=1)
    companion.table.confirm("host", companion.table.view().moment, 0, force=True)
    assert companion.table.view().moment == MOMENT
    keys = {"U": "up", "D": "down", "L": "left", "R": "right", "S": "a", "I": "b"}

    def press(*names: str) -> None:
        for name in names:
            for act in (hands.press, hands.release):
                act(f"south_{name}")
                for _ in range(3):
                    clock.advance(0.02)
                    companion.step_keys()

    acts: tuple[Callable[[], object], ...] = (
        lambda: viewer.south.post("/api/seat/south/plan", moment=MOMENT, entered=text),
        lambda: press(*(keys[letter] for letter in text), "up"),
        lambda: press("back"),
        lambda: press(keys[text[2]], "ready"),
        lambda: press("back"),
        lambda: viewer.south.post("/api/seat/south/hand-in", 400, moment=MOMENT, action=f"{text}U", salt="0"),
        lambda: viewer.south.post("/api/seat/south/hand-in", 409, moment="0.9", action=text, salt="0"),
        lambda: viewer.south.post("/api/seat/south/hand-in", moment=MOMENT, action=text, salt="5a17"),
        lambda: viewer.south.post("/api/seat/south/hand-in", 409, moment=MOMENT, action=text, salt="beef"),
        lambda: viewer.south.post("/api/seat/south/mine"),
    )
    seen = viewer.everything()
    for number, act in enumerate(acts):
        act()
        clock.advance(1)
        companion.step_keys()
        seen += [(f"after act {number}: {path}", sent) for path, sent in viewer.everything()]
    return seen


@pytest.mark.parametrize(("one", "other"), [("UUS", "DRI"), ("III", "SSS")])
def test_what_others_are_sent_does_not_depend_on_a_sealed_order(
    tmp_path: Path,
    port: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    one: str,
    other: str,
) -> None:
    # A receipt is a salted hash of the order and differs by its nature: here it is one and the same text.
    monkeypatch.setattr(advance, "receipt", lambda *_: "ab" * 32)
    monkeypatch.setattr("companion.app._host_key", lambda _: "aaaaa-bbbbb")
    caplog.set_level(logging.DEBUG)
    told = []
    for text in (one, other):
        caplog.clear()
        clock = FakeClock()
        with house(tmp_path / text, port, clock) as companion:
            sent = play(companion, clock, text)
        # Several threads write the log: the order of its lines is their affair.
        told.append((sent, sorted(caplog.text.splitlines())))
    for (path, first), (_, second) in zip(told[0][0], told[1][0], strict=True):
        assert first == second, f"{path} tells South's order"
    assert told[0][1] == told[1][1], "the log tells South's order"
    assert len(told[0][0]) > 300


def deal(hidden: str, below: str) -> list[str]:
    """All cards; the first two of lane 0, which nobody sees, are these, the rest as it comes."""
    return [hidden, below, *(card for card in DECK if card not in (hidden, below))]


def play_cards(companion: Companion, clock: FakeClock, card: str, below: str) -> list[tuple[str, bytes]]:
    """South draws a card that nobody else sees, tries this and that with it, and plays it face down."""
    viewer, table = Viewer(companion), companion.table
    table.new_game("binmat", {"deck": deal(card, below)}, seed=1)
    table.resume("host")

    def act(text: str, seat: str = "south", status: int = 200) -> None:
        client = viewer.south if seat == "south" else viewer.north
        client.post(f"/api/seat/{seat}/hand-in", status, moment=table.view().moment, action=text)

    acts: tuple[Callable[[], object], ...] = (
        lambda: act("d0"),
        lambda: act("d3", "north"),
        lambda: act(f"p{card}", status=400),
        lambda: act(f"u{card}1", status=409),
        lambda: act(f"p{card}1"),
        lambda: viewer.south.post("/api/seat/south/take-back", moment=table.view(Seat.SOUTH).back),
        lambda: act(f"p{card}2"),
        lambda: act("--", "north"),
        lambda: clock.advance(6),
        table.undo,
    )
    seen = viewer.everything()
    for number, each in enumerate(acts):
        each()
        clock.advance(1)
        companion.step_keys()
        seen += [(f"after act {number}: {path}", sent) for path, sent in viewer.everything()]
    return seen


@pytest.mark.parametrize(("one", "other"), [("5&", "a#"), ("@^", "7%")])
def test_what_others_are_sent_does_not_depend_on_a_hidden_card(
    tmp_path: Path,
    port: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    one: str,
    other: str,
) -> None:
    monkeypatch.setattr(advance, "receipt", lambda *_: "ab" * 32)
    monkeypatch.setattr("companion.app._host_key", lambda _: "aaaaa-bbbbb")
    caplog.set_level(logging.DEBUG)
    told = []
    for number, (card, below) in enumerate(((one, other), (other, one))):
        caplog.clear()
        clock = FakeClock()
        with house(tmp_path / str(number), port, clock) as companion:
            sent = play_cards(companion, clock, card, below)
        told.append((sent, sorted(caplog.text.splitlines())))
    for (path, first), (_, second) in zip(told[0][0], told[1][0], strict=True):
        assert first == second, f"{path} tells South's card"
    assert told[0][1] == told[1][1], "the log tells South's card"
    assert len(told[0][0]) > 300


def test_the_steps_open_one_by_one_for_every_viewer(tmp_path: Path, port: int) -> None:
    """While step 1 is shown, neither the later orders nor the salts are anywhere."""
    clock = FakeClock()
    with house(tmp_path, port, clock) as companion:
        viewer = Viewer(companion)
        companion.table.new_game("outbuffered", seed=1)
        companion.table.confirm("host", companion.table.view().moment, 0, force=True)
        viewer.south.post("/api/seat/south/hand-in", moment=MOMENT, action="UUS", salt="5a175a175a17")
        viewer.north.post("/api/seat/north/hand-in", moment=MOMENT, action="IRS", salt="beefbeefbeef")
        assert companion.table.view().phase is Phase.STAGES
        for path, sent in viewer.everything():
            for secret in (b"UUS", b"IRS", b"5a175a17", b"beefbeef"):
                assert secret not in sent, f"{path} tells {secret!r}"


def test_a_game_that_is_on_cannot_be_exported(tmp_path: Path, port: int) -> None:
    with house(tmp_path, port, FakeClock()) as companion:
        companion.table.new_game("outbuffered", seed=1)
        with (
            Journal(tmp_path / "journal.sqlite", read_only=True) as journal,
            pytest.raises(ValueError, match="still on"),
        ):
            game_file(journal.fold(1))
