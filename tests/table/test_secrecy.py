"""Test that nobody learns what South hides before it is revealed.

Each test plays two games that differ only in South's secret. Every byte that others are sent, and
every log line, has to be the same. The service runs in simulation on a fake clock.
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
    """A free port for both games, one after the other, because pages contain it."""
    return free_port()


@contextmanager
def open_service(folder: Path, port: int, clock: FakeClock) -> Iterator[Companion]:
    """Open a service in simulation whose headlines are short."""
    table = TableSettings(reading_time_s=0.1)
    with simulated(folder, clock, port=port, table=table) as companion:
        yield companion


# What people do with a secret, one step after the other.
Steps = tuple[Callable[[], object], ...]


@dataclass
class Scene:
    """A game in which South hides something, and the ways in which South enters and changes it."""

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

    def hand_in(self, action: str, status: int = 200, seat: str = "south", **changed: str) -> None:
        """Hand in an action on a seat's phone, and expect this status of the answer.

        `changed` replaces fields of the request.
        """
        client = self.outsiders.south if seat == "south" else self.outsiders.north
        body = {"moment": self.moment, "action": action, "salt": "5a17"} | changed
        client.post(f"/api/seat/{seat}/hand-in", status, **body)

    def take_back(self) -> None:
        moment = self.companion.table.view(Seat.SOUTH).own.take_back_moment or self.moment
        self.outsiders.south.post("/api/seat/south/take-back", moment=moment)

    def show_sealed(self) -> None:
        """Let South look at its own sealed action."""
        self.outsiders.south.post("/api/seat/south/mine")

    def preview(self, entered: str) -> None:
        """Let South's phone ask where the entered orders would lead."""
        self.outsiders.south.post("/api/seat/south/plan", moment=self.moment, entered=entered)

    def press(self, *names: str, hold_s: float = 0.0) -> None:
        """Press keys of South's pad, and hold the last one for `hold_s` more seconds."""
        assert self.companion.simulation is not None
        hands = self.companion.simulation.hands
        for name in names:
            hands.press(f"south_{name}")
            self._pass(hold_s if name == names[-1] else 0.0)
            hands.release(f"south_{name}")
            self._pass()

    def _pass(self, seconds: float = 0.0) -> None:
        """Let time pass for the panel, at least so long that a key is debounced."""
        for _ in range(3 + round(seconds / 0.02)):
            self.clock.advance(0.02)
            self.companion.step_keys()


def enter_orders(scene: Scene, text: str) -> Steps:
    """Enter three orders of Outbuffered by phone and pad, in every way there is.

    Some of the steps are refused: a key too many, a fourth order, an order for another moment, and
    the same order with another salt.
    """
    scene.begin("outbuffered")
    keys = [
        {"U": "up", "D": "down", "L": "left", "R": "right", "S": "a", "I": "b"}[letter]
        for letter in text
    ]
    return (
        lambda: scene.preview(text),
        lambda: scene.press(*keys, "up"),
        lambda: scene.press("back"),
        lambda: scene.press(keys[2], "ready"),
        lambda: scene.press("back"),
        lambda: scene.hand_in(f"{text}U", 400),
        lambda: scene.hand_in(text, 409, moment="0.9"),
        lambda: scene.hand_in(text),
        lambda: scene.hand_in(text, 409, salt="beef"),
        scene.show_sealed,
    )


def play_card(scene: Scene, text: str) -> Steps:
    """Draw the first of two cards from a deck that nobody sees, and play it face down.

    `text` names both cards, the upper one first. In the notation of BINMAT, `d0` draws from the
    deck of lane 0, `p` plays a card face down, `u` plays it face up, and `--` passes.
    """
    hidden, next_card = text.split()
    rest = (card for card in DECK if card not in (hidden, next_card))
    scene.companion.table.new_game("binmat", {"deck": [hidden, next_card, *rest]}, seed=1)
    scene.companion.table.resume("host")
    return (
        lambda: scene.hand_in("d0"),
        lambda: scene.hand_in("d3", seat="north"),
        lambda: scene.hand_in(f"p{hidden}", 400),
        lambda: scene.hand_in(f"u{hidden}1", 409),
        lambda: scene.hand_in(f"p{hidden}1"),
        lambda: scene.hand_in("--", seat="north"),
        scene.companion.table.undo,
    )


def fill_order_sheet(scene: Scene, text: str) -> Steps:
    """Give orders to three robots of Arena, by the pad robot by robot, then on the phone."""
    scene.begin("arena")
    keys_by_order = {
        "N": ("up",),
        "E": ("right",),
        "aN": ("a", "up"),
        "aE": ("a", "right"),
        "D": ("b",),
        "X": ("a", "a"),
    }
    keys = [keys_by_order[order.partition(":")[2]] for order in text.split()]
    return (
        lambda: scene.preview(text),
        lambda: scene.press(*keys[0], *keys[1], *keys[2]),
        lambda: scene.press("ready", hold_s=2.0),
        lambda: scene.press("back"),
        lambda: scene.hand_in(f"{text} 9:N", 400),
        lambda: scene.hand_in(f"{text} 7:N", 409),
        lambda: scene.hand_in(text),
        scene.show_sealed,
        scene.take_back,
        lambda: scene.hand_in(text),
    )


def choose_placing(scene: Scene, text: str) -> Steps:
    """Choose where six pieces of Kahmate will stand."""
    scene.begin("kahmate")
    return (
        lambda: scene.hand_in(text[:-1], 400),
        lambda: scene.hand_in(text.replace("B@c1", "B@c5"), 409),
        lambda: scene.hand_in(text),
        scene.show_sealed,
        scene.take_back,
        lambda: scene.hand_in(text),
    )


def choose_strength(scene: Scene, text: str) -> Steps:
    """Choose a strength card in a face-off of Kahmate, by the pad and on the phone."""
    scene.begin("kahmate", starter="south", ball_card=1)
    # Both sides place their pieces, and run until a player of South meets one of North.
    placings = ("R@c2 R@f2 B@d2 T@e2 F@a2 S@d1", "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11")
    runs = ("d2-d3-d4", ".", "e10-e9-e8", ".", "d4-d5-d6", ".", "e8-e7-e6", ".", "d6-e6-e5")
    table = scene.companion.table
    for action in (*placings, *runs):
        seat = next(seat for seat, state in table.view().seats.items() if state.is_awaited)
        table.hand_in(seat, scene.moment, action)
        follow_instructions(scene.companion.table)
    assert all(state.is_awaited for state in table.view().seats.values())
    # The keys of a pad stand for the strengths 1 to 6.
    key = ("up", "down", "left", "right", "a", "b")[int(text) - 1]
    return (
        lambda: scene.press(key),
        lambda: scene.press("back"),
        lambda: scene.press(key, "ready"),
        lambda: scene.press("back"),
        lambda: scene.hand_in(f"{text}7", 400),
        lambda: scene.hand_in(text),
        scene.show_sealed,
        lambda: scene.hand_in(text, 409, salt="beef"),
    )


# What South does with each kind of secret, and two secrets in the notation of the game. Others must
# not be able to tell which of the two South has.
SECRETS: dict[str, tuple[Callable[[Scene, str], Steps], str, str]] = {
    "orders": (enter_orders, "UUS", "DRI"),
    "card": (play_card, "5& a#", "a# 5&"),
    "order sheet": (fill_order_sheet, "1:N 2:aE 3:D", "1:E 2:X 3:N"),
    "placing": (choose_placing, "R@c2 R@f2 B@c1 T@e2 F@a2 S@d1", "R@a1 R@b1 B@c1 T@d1 F@e1 S@f1"),
    "strength card": (choose_strength, "5", "2"),
}


def messages_to_others(
    folder: Path, port: int, begin: Callable[[Scene, str], Steps], text: str
) -> list[tuple[str, bytes]]:
    """Let South enter a secret step by step, and return everything that others were sent.

    Each answer comes with the step after which it was sent, and its path.
    """
    clock = FakeClock()
    with open_service(folder, port, clock) as companion:
        scene = Scene(companion, clock, Outsiders(companion))
        steps = begin(scene, text)
        answers = scene.outsiders.all_answers()
        for number, step in enumerate(steps):
            step()
            clock.advance(1)
            companion.step_keys()
            answers += [
                (f"after step {number}: {path}", answer)
                for path, answer in scene.outsiders.all_answers()
            ]
    return answers


@pytest.mark.parametrize("secret", SECRETS)
def test_answers_and_log_do_not_depend_on_secrets(
    tmp_path: Path, port: int, log: pytest.LogCaptureFixture, secret: str
) -> None:
    begin, *texts = SECRETS[secret]
    games = []
    for number, text in enumerate(texts):
        log.clear()
        answers = messages_to_others(tmp_path / str(number), port, begin, text)
        # Several threads write the log, so the order of its lines is left to chance.
        games.append((answers, sorted(log.text.splitlines())))
    (answers, log_lines), (other_answers, other_log_lines) = games
    for (path, answer), (_, other_answer) in zip(answers, other_answers, strict=True):
        assert answer == other_answer, f"{path} depends on South's {secret}"
    assert log_lines == other_log_lines, f"the log depends on South's {secret}"
    assert len(answers) > 250, "more answers must be compared"


def _post_as_north(scene: Scene, path: str, **body: object) -> tuple[int, Any]:
    """Send a request from North's phone. Return the status and the answer."""
    content = json.dumps({"moment": scene.moment, **body} if "about" in body else body).encode()
    status, answer, _ = scene.outsiders.north.send(
        path, content, {"Content-Type": "application/json"}
    )
    return status, json.loads(answer) if answer.startswith(b"{") else answer


def test_a_machines_reasons_are_secret_until_the_reveal(
    tmp_path: Path, port: int, log: pytest.LogCaptureFixture
) -> None:
    """Compare two games in which the machine has different actions and reasons."""
    games = []
    for number, (action, reason) in enumerate((("UUS", "It goes up."), ("DRI", "It gets away."))):
        with open_service(tmp_path / str(number), port, FakeClock()) as companion:
            # A machine plays South, and has handed in an action with a reason.
            scene = Scene(companion, FakeClock(), Outsiders(companion))
            table = companion.table
            table.free_seat(Seat.SOUTH)
            table.machines.seat_machine(Seat.SOUTH, "Bo")
            scene.begin("outbuffered")
            table.machines.store_reasons(Seat.SOUTH, scene.moment, (reason,))
            table.hand_in(Seat.SOUTH, scene.moment, action)

            # North asks for the reason on its phone and on the table screen.
            coach = _post_as_north(scene, "/api/seat/north/coach", about="theirs")
            table_help = _post_as_north(scene, "/api/table/help", is_wanted=True, reasons=True)
            games.append(
                [("coach", coach), ("table help", table_help), *scene.outsiders.all_answers()]
            )
            assert coach[0] == 409
            assert reason not in log.text

            # After the reveal, North gets it.
            table.hand_in(Seat.NORTH, scene.moment, "III")
            follow_instructions(scene.companion.table)
            status, answer = _post_as_north(scene, "/api/seat/north/coach", about="theirs")
            assert (status, answer["action"], answer["why"]) == (200, action, [reason])
    for (path, answer), (_, other_answer) in zip(*games, strict=True):
        assert answer == other_answer, f"{path} depends on what the machine has sealed"


@pytest.fixture
def log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> pytest.LogCaptureFixture:
    """The log, with fixed values for what differs between any two games.

    These are receipts, which are salted hashes, the owner key and the free space on the disk.
    """
    monkeypatch.setattr(reducer, "receipt_of", lambda *_: "ab" * 32)
    monkeypatch.setattr("companion.service.app.read_host_key", lambda _: "aaaaa-bbbbb")
    monkeypatch.setattr(
        "companion.diagnostics.machine_checks.find_free_bytes", lambda _: 4_000_000_000
    )
    caplog.set_level(logging.DEBUG)
    for library in ("svglib", "pypdfium2"):  # they log while the kit is drawn, once a process
        caplog.set_level(logging.INFO, library)
    return caplog
