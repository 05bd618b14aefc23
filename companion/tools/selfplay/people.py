"""Simulated people who play by phone (HTTP) or pad (mock pins), on a fake clock.

They use the game's own rules and keep their own state, so that the table can be checked against it.
"""

from __future__ import annotations

import http.cookiejar
import json
import secrets
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from companion.core.clock import FakeClock
from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.games.base import Game
from companion.service.app import Companion
from companion.table.session import Phase, turn_random
from companion.table.table_view import TableView

FRAME_S = 0.1
PATIENCE_FRAMES = 60
MAX_TURNS = 400


class Report(msgspec.Struct):
    """The result of one game."""

    game: str
    seed: int
    winners: list[str] | None = None
    reason: str = ""
    turns: int = 0
    frames: int = 0
    wrong_placements_made: int = 0
    wrong_placements_noticed: int = 0
    misread_layouts: int = 0
    seconds: float = 0.0

    def is_good(self) -> bool:
        """Return whether the game ended without a misread layout or an unnoticed placement."""
        noticed = self.wrong_placements_made == self.wrong_placements_noticed
        return self.winners is not None and noticed and self.misread_layouts == 0

    def sentence(self) -> str:
        """Return the report as a sentence."""
        who = "draw"
        if self.winners is None:
            who = "did not end"
        elif self.winners:
            who = " and ".join(self.winners) + " won"
        wrong = f"{self.wrong_placements_noticed} of {self.wrong_placements_made}"
        return (
            f"Game {self.seed}: {who} after {self.turns} turns. {self.reason} {self.frames} "
            f"frames, {wrong} wrong placements noticed, {self.misread_layouts} layouts misread, "
            f"{self.seconds:.1f} s."
        )


class Stuck(CompanionError):
    """The table still waits for something that the simulated people have done."""

    kind = "stuck"


class Phone:
    """A browser without a screen: one seat with its cookie, which sends JSON requests."""

    def __init__(self, base_url: str, seat: Seat) -> None:
        self._base_url = base_url.rstrip("/")
        self._seat = seat
        self.cookies = http.cookiejar.CookieJar()
        jar = urllib.request.HTTPCookieProcessor(self.cookies)
        # ignore proxies of the environment, since the table runs on this machine
        self._browser = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)

    def post(self, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a POST request of the seat and return the reply.

        Raises `Stuck` with the server's message if it is refused.
        """
        headers = {"Content-Type": "application/json", "Origin": self._base_url}
        return self._send(action, json.dumps(body).encode(), headers)

    def hand_in(self, moment: str, action: str, salt: int) -> None:
        """Hand in an action of the seat. Raises `Stuck` if it is refused."""
        self.post("hand-in", {"moment": moment, "action": action, "salt": f"{salt:032x}"})

    def get(self, what: str) -> dict[str, Any]:
        """Send a GET request of the seat and return the reply. Raises `Stuck`."""
        return self._send(what, None, {})

    def _send(self, what: str, data: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
        url = f"{self._base_url}/api/seat/{self._seat}/{what}"
        request = urllib.request.Request(url, data, headers)
        try:
            with self._browser.open(request, timeout=30) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                raise Stuck(f"{what}: {error.read().decode()}") from None


@dataclass
class SimulatedPlayer:
    """A simulated person at one seat, with a phone or a pad."""

    seat: Seat
    phone: Phone | None
    rng: Random


@dataclass
class Match(ABC):
    """One simulated game. Subclasses say how a seat acts, and what hands do between two turns.

    `state` is the simulated people's own copy of the game.
    """

    companion: Companion
    clock: FakeClock
    game: Game[Any, Any]
    seed: int
    options: Mapping[str, Any]
    players: dict[Seat, SimulatedPlayer]

    def __post_init__(self) -> None:
        # self-play needs the rendered table and the simulated pins
        assert self.companion.simulation is not None
        self.simulation = self.companion.simulation
        self.world = self.simulation.world
        self.kit = self.game.kit(self.game.options(self.options))
        self.report = Report(self.game.name, self.seed)
        self.rng = Random(f"{self.game.name}/{self.seed}")
        self.state: Any = self.game.setup(
            self.game.options(self.options), turn_random(self.seed, 0)
        )

    def play(self) -> Report:
        """Play a whole game and return its report.

        If the game gets stuck, the report says what the table waits for.
        """
        began_s = time.perf_counter()
        report = self.report
        report.reason = "It was broken off."
        try:
            self._play_to_the_end()
            if outcome := self.look().match.outcome:
                report.winners = sorted(outcome.winners)
                report.reason = outcome.reason
        except Stuck as stuck:
            report.reason = stuck.message
        report.seconds = round(time.perf_counter() - began_s, 2)
        return report

    def _play_to_the_end(self) -> None:
        """Take the seats, set up, and play. Raises `Stuck`."""
        for player in self.players.values():
            self._sit_down(player)
        self.companion.table.new_game(self.game.name, self.options, self.seed)
        self.world.set_up({})
        self.begin()
        while (phase := self.look().phase) is not Phase.OVER and self.report.turns < MAX_TURNS:
            if phase is Phase.ORDERS:
                self.report.turns += 1
                self.give_orders()
            else:
                self.follow_stage()

    @abstractmethod
    def begin(self) -> None:
        """Do what the table waits for after the set-up."""

    @abstractmethod
    def follow_stage(self) -> None:
        """Do once what the table asks hands to do before the next stage or turn."""

    @abstractmethod
    def act(self, seat: Seat) -> Any:
        """Decide for a seat that is due, and let the table know. Return the action."""

    def give_orders(self) -> None:
        """Act for all seats that are due, in random order."""
        # before anybody acts, because the table draws for this turn
        drawn = self.chance()
        moment = self.look().moment
        due = sorted(self.game.to_act(self.state))
        self.rng.shuffle(due)
        actions = {seat: self.act(seat) for seat in due}
        self.state = self.game.apply(self.state, actions, drawn).state

        now = self.look()
        if now.moment == moment and now.phase is Phase.ORDERS:
            raise Stuck(f"All have handed in, but the table says “{now.sign.text}”")

    def hand_in(self, seat: Seat, text: str, *, is_unsure: bool = False) -> None:
        """Hand in an action by phone, by pad, or at the table where no keys spell it.

        A player who `is_unsure` takes something back first.
        """
        player = self.players[seat]
        view = self.look()
        if player.phone:
            # an action can be taken back only until both have handed in
            if is_unsure and view.seats[seat.other].sealed_at is None:
                player.phone.hand_in(view.moment, text, secrets.randbits(128))
                player.phone.post("take-back", {"moment": view.moment})
            player.phone.hand_in(view.moment, text, player.rng.getrandbits(128))
            return

        # at a pad: ready alone may already spell the action
        grammar = self.game.pad(self.state, seat)
        keys = grammar.spell(text) if grammar else ()
        is_ready_enough = grammar is not None and grammar.text(()) == text
        if not keys and not is_ready_enough:
            self.companion.table.hand_in(seat, view.moment, text)
            return

        corrected = (keys[0], "back") if keys and is_unsure else ()
        for key in (*corrected, *keys, "ready"):
            self.press(seat, key)

    @abstractmethod
    def check(self, before: TableView, after: TableView) -> None:
        """Compare what the table has just accepted with the truth, and count differences."""

    def mend(self, view: TableView) -> None:  # noqa: B027 - nothing, where hands never go ahead
        """Correct pieces that the table reports as misplaced."""

    @abstractmethod
    def straighten(self) -> None:
        """Straighten pieces that the camera cannot see."""

    def look(self) -> TableView:
        """Return the table's public view."""
        return self.companion.table.view()

    def place(self) -> tuple[str, int, Phase]:
        """Return a key that changes whenever the table moves on."""
        view = self.look()
        return view.moment, view.turn.stage, view.phase

    def chance(self) -> Random:
        """Return the random numbers of the present turn, the same as the table's."""
        return turn_random(self.seed, len(self.companion.table.progress().turns) + 1)

    def round(self, frames: int = 1) -> None:
        """Run some frames, and check everything that the table accepts."""
        for _ in range(frames):
            before = self.look()
            place = self.place()
            self.clock.advance(FRAME_S)
            self.companion.step()
            self.report.frames += 1
            if self.place() != place:
                self.check(before, self.look())

    def until(self, done: str, before: object) -> None:
        """Run frames until `place` differs from `before`.

        Raises `Stuck` with what the table waits for.
        """
        for frame in range(PATIENCE_FRAMES):
            if self.place() != before:
                return
            view = self.look()
            # after half of the frames, straighten pieces that may hide something
            if frame == PATIENCE_FRAMES // 2 and view.board.unknown:
                self.straighten()
            if frame == PATIENCE_FRAMES // 4:
                self.mend(view)
            self.round()
        sign = self.look().sign
        raise Stuck(f"{done}: the table still says “{sign.text}” ({sign.small})")

    def _sit_down(self, player: SimulatedPlayer) -> None:
        """Take a seat: by a name on a phone, or by a key of the pad."""
        if player.phone:
            player.phone.post("take", {"name": f"Player {player.seat}"})
        else:
            self.press(player.seat, "ready")

    def press(self, seat: Seat, key: str) -> None:
        """Press and release a key of a pad."""
        self.press_button(f"{seat}_{key}")

    def press_button(self, name: str) -> None:
        """Press and release a button, with realistic times for debouncing."""
        hands = self.simulation.hands
        for act in (hands.press, hands.release):
            act(name)
            for _ in range(3):
                self.clock.advance(0.02)
                self.companion.step_keys()
