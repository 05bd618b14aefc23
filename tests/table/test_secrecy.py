"""Every byte sent to every viewer, in games that differ only in what one seat hides: equal until
the reveal.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from outsiders import Outsiders
from ports import free_port
from simulated_room import simulated
from table_tools import follow_instructions

from companion.core.clock import FakeClock
from companion.core.config import TableSettings
from companion.core.kit import Seat
from companion.games.binmat.cards import DECK
from companion.service.app import Companion
from companion.table import reducer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def port() -> int:
    """A free port that both games use, one after the other: it stands in the pages."""
    return free_port()


@contextmanager
def house(folder: Path, port: int, clock: FakeClock) -> Iterator[Companion]:
    table = TableSettings(reading_time_s=0.1)
    with simulated(folder, clock, port=port, table=table) as companion:
        yield companion


Acts = tuple[Callable[[], object], ...]


@dataclass
class Scene:
    """A game at the point where South has something to hide, and the ways to say it."""

    companion: Companion
    clock: FakeClock
    outsiders: Outsiders

    @property
    def moment(self) -> str:
        return self.companion.table.view().moment

    def begin(self, game: str, **options: object) -> None:
        """Begin a game, and set it up by hand."""
        self.companion.table.new_game(game, options, seed=1)
        follow_instructions(self.companion.table)

    def say(self, action: str, status: int = 200, seat: str = "south", **changed: str) -> None:
        """Hand an action in at the phone."""
        client = self.outsiders.south if seat == "south" else self.outsiders.north
        body = {"moment": self.moment, "action": action, "salt": "5a17"} | changed
        client.post(f"/api/seat/{seat}/hand-in", status, **body)

    def take_back(self) -> None:
        moment = self.companion.table.view(Seat.SOUTH).own.take_back_moment or self.moment
        self.outsiders.south.post("/api/seat/south/take-back", moment=moment)

    def mine(self) -> None:
        """Look at what is sealed, as its owner."""
        self.outsiders.south.post("/api/seat/south/mine")

    def plan(self, entered: str) -> None:
        """Ask where the orders would lead, on the owner's phone."""
        self.outsiders.south.post("/api/seat/south/plan", moment=self.moment, entered=entered)

    def press(self, *names: str, hold_s: float = 0.0) -> None:
        """Press keys of South's pad, the last one that long."""
        assert self.companion.simulation is not None
        hands = self.companion.simulation.hands
        for name in names:
            hands.press(f"south_{name}")
            self._pass(hold_s if name == names[-1] else 0.0)
            hands.release(f"south_{name}")
            self._pass()

    def _pass(self, seconds: float = 0.0) -> None:
        for _ in range(3 + round(seconds / 0.02)):
            self.clock.advance(0.02)
            self.companion.step_keys()


def buffer(scene: Scene, text: str) -> Acts:
    """Enter three orders by phone and pad, in every way there is."""
    scene.begin("outbuffered")
    pads = [
        {"U": "up", "D": "down", "L": "left", "R": "right", "S": "a", "I": "b"}[letter]
        for letter in text
    ]
    return (
        lambda: scene.plan(text),
        lambda: scene.press(*pads, "up"),
        lambda: scene.press("back"),
        lambda: scene.press(pads[2], "ready"),
        lambda: scene.press("back"),
        lambda: scene.say(f"{text}U", 400),
        lambda: scene.say(text, 409, moment="0.9"),
        lambda: scene.say(text),
        lambda: scene.say(text, 409, salt="beef"),
        scene.mine,
    )


def card(scene: Scene, text: str) -> Acts:
    """Draw a card from a deck that nobody sees, and play it face down."""
    hidden, below = text.split()
    rest = (card for card in DECK if card not in (hidden, below))
    scene.companion.table.new_game("binmat", {"deck": [hidden, below, *rest]}, seed=1)
    scene.companion.table.resume("host")
    return (
        lambda: scene.say("d0"),
        lambda: scene.say("d3", seat="north"),
        lambda: scene.say(f"p{hidden}", 400),
        lambda: scene.say(f"u{hidden}1", 409),
        lambda: scene.say(f"p{hidden}1"),
        lambda: scene.say("--", seat="north"),
        scene.companion.table.undo,
    )


def sheet(scene: Scene, text: str) -> Acts:
    """Give orders to three robots: at the pad robot by robot, then on the phone."""
    scene.begin("arena")
    pads = {
        "N": ("up",),
        "E": ("right",),
        "aN": ("a", "up"),
        "aE": ("a", "right"),
        "D": ("b",),
        "X": ("a", "a"),
    }
    orders = [pads[order.partition(":")[2]] for order in text.split()]
    return (
        lambda: scene.plan(text),
        lambda: scene.press(*orders[0], *orders[1], *orders[2]),
        lambda: scene.press("ready", hold_s=2.0),
        lambda: scene.press("back"),
        lambda: scene.say(f"{text} 9:N", 400),
        lambda: scene.say(f"{text} 7:N", 409),
        lambda: scene.say(text),
        scene.mine,
        scene.take_back,
        lambda: scene.say(text),
    )


def placing(scene: Scene, text: str) -> Acts:
    """Choose where six pieces will stand."""
    scene.begin("kahmate")
    return (
        lambda: scene.say(text[:-1], 400),
        lambda: scene.say(text.replace("B@c1", "B@c5"), 409),
        lambda: scene.say(text),
        scene.mine,
        scene.take_back,
        lambda: scene.say(text),
    )


def strength(scene: Scene, text: str) -> Acts:
    """Choose a card of a face-off, at the pad and on the phone."""
    scene.begin("kahmate", starter="south", ball_card=1)
    placings = ("R@c2 R@f2 B@d2 T@e2 F@a2 S@d1", "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11")
    runs = ("d2-d3-d4", ".", "e10-e9-e8", ".", "d4-d5-d6", ".", "e8-e7-e6", ".", "d6-e6-e5")
    table = scene.companion.table
    for action in (*placings, *runs):
        seat = next(seat for seat, shown in table.view().seats.items() if shown.is_awaited)
        table.hand_in(seat, scene.moment, action)
        follow_instructions(scene.companion.table)
    assert all(shown.is_awaited for shown in table.view().seats.values())
    pad = ("up", "down", "left", "right", "a", "b")[int(text) - 1]
    return (
        lambda: scene.press(pad),
        lambda: scene.press("back"),
        lambda: scene.press(pad, "ready"),
        lambda: scene.press("back"),
        lambda: scene.say(f"{text}7", 400),
        lambda: scene.say(text),
        scene.mine,
        lambda: scene.say(text, 409, salt="beef"),
    )


SECRETS: dict[str, tuple[Callable[[Scene, str], Acts], str, str]] = {
    "buffer": (buffer, "UUS", "DRI"),
    "card": (card, "5& a#", "a# 5&"),
    "order sheet": (sheet, "1:N 2:aE 3:D", "1:E 2:X 3:N"),
    "placing": (placing, "R@c2 R@f2 B@c1 T@e2 F@a2 S@d1", "R@a1 R@b1 B@c1 T@d1 F@e1 S@f1"),
    "strength card": (strength, "5", "2"),
}


def messages_to_others(
    folder: Path,
    port: int,
    begin: Callable[[Scene, str], Acts],
    text: str,
    outsiders: type[Outsiders] = Outsiders,
) -> list[tuple[str, bytes]]:
    """Hide a text as South in every way there is, and return all that the others were sent
    meanwhile.
    """
    clock = FakeClock()
    with house(folder, port, clock) as companion:
        scene = Scene(companion, clock, outsiders(companion))
        acts = begin(scene, text)
        seen = scene.outsiders.all_answers()
        for number, act in enumerate(acts):
            act()
            clock.advance(1)
            companion.step_keys()
            seen += [
                (f"after act {number}: {path}", sent)
                for path, sent in scene.outsiders.all_answers()
            ]
    return seen


@pytest.mark.parametrize("secret", SECRETS)
def test_others_are_sent_the_same_whatever_is_secret(
    tmp_path: Path, port: int, log: pytest.LogCaptureFixture, secret: str
) -> None:
    begin, *texts = SECRETS[secret]
    told = []
    for number, text in enumerate(texts):
        log.clear()
        sent = messages_to_others(tmp_path / str(number), port, begin, text)
        # Several threads write the log: the order of its lines is their affair.
        told.append((sent, sorted(log.text.splitlines())))
    for (path, first), (_, second) in zip(told[0][0], told[1][0], strict=True):
        assert first == second, f"{path} tells South's {secret}"
    assert told[0][1] == told[1][1], f"the log tells South's {secret}"
    assert len(told[0][0]) > 250


def _asks_why(scene: Scene, path: str, **body: object) -> tuple[int, Any]:
    """Return what North's phone is answered."""
    sent = json.dumps({"moment": scene.moment, **body} if "about" in body else body).encode()
    status, answer, _ = scene.outsiders.north.send(path, sent, {"Content-Type": "application/json"})
    return status, json.loads(answer) if answer.startswith(b"{") else answer


def test_nobody_learns_why_a_machine_sealed_something(
    tmp_path: Path, port: int, log: pytest.LogCaptureFixture
) -> None:
    """Whatever it thought, everything sent is the same; once the turn is open it is told."""
    told = []
    for number, (action, reason) in enumerate((("UUS", "It goes up."), ("DRI", "It gets away."))):
        with house(tmp_path / str(number), port, FakeClock()) as companion:
            scene, table = Scene(companion, FakeClock(), Outsiders(companion)), companion.table
            table.free_seat(Seat.SOUTH)
            table.machines.seat_machine(Seat.SOUTH, "Bo")
            scene.begin("outbuffered")
            table.machines.store_reasons(Seat.SOUTH, scene.moment, (reason,))
            table.hand_in(Seat.SOUTH, scene.moment, action)
            coach = _asks_why(scene, "/api/seat/north/coach", about="theirs")
            wall = _asks_why(scene, "/api/table/help", is_wanted=True, reasons=True)
            told.append([("coach", coach), ("wall", wall), *scene.outsiders.all_answers()])
            assert coach[0] == 409
            assert reason not in log.text
            table.hand_in(Seat.NORTH, scene.moment, "III")
            follow_instructions(scene.companion.table)
            status, answer = _asks_why(scene, "/api/seat/north/coach", about="theirs")
            assert (status, answer["action"], answer["why"]) == (200, action, [reason])
    for (path, first), (_, second) in zip(*told, strict=True):
        assert first == second, f"{path} tells what the machine has sealed"


@pytest.fixture
def log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> pytest.LogCaptureFixture:
    """The log, where nothing differs by its nature: receipts (salted hashes), the host's key, the
    disk.
    """
    monkeypatch.setattr(reducer, "receipt_of", lambda *_: "ab" * 32)
    monkeypatch.setattr("companion.service.app.read_host_key", lambda _: "aaaaa-bbbbb")
    monkeypatch.setattr(
        "companion.diagnostics.machine_checks.find_free_bytes", lambda _: 4_000_000_000
    )
    caplog.set_level(logging.DEBUG)
    for library in ("svglib", "pypdfium2"):  # they talk while the kit is drawn, once a process
        caplog.set_level(logging.INFO, library)
    return caplog
