"""Simulated people who play by phone (HTTP) or pad (mock pins), on a fake clock.

The people know the rules from the code of the game, and keep a state of the game of their own. The
table is right if it agrees with that state. Time passes in frames: the clock is advanced by
`FRAME_S`, and then the service does one round with one picture of the board. A `SimulatedGame` is
one game. Its subclasses are in `pieces` (sealed orders for pieces on a board), `plays` (turns on a
board) and `cards`.

Words of the table (docs/glossary.md):

- A moment is the number of the decision that is due.
- A stage is a part of a turn that hands carry out.
- The sign is the sentence that says what the table waits for.
- An action is sealed as long as it is handed in but not revealed.
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
from companion.games.base import AnyGame
from companion.service.app import Companion
from companion.table.chance.fairness import turn_random
from companion.table.session import Phase
from companion.table.table_view import TableView

# Length of a frame on the fake clock in seconds, so that a camera reads ten pictures a second.
FRAME_S = 0.1
# Number of frames after which people give up waiting. With more frames, a game that is stuck would
# be reported later. With fewer, a game that is only slow would be reported as stuck.
PATIENCE_FRAMES = 60
# Maximum number of turns. A game that is longer is reported as not ended.
MAX_TURNS = 400


class Report(msgspec.Struct):
    """The result of one game."""

    game: str
    seed: int
    winners: list[str] | None = None
    """Seats that won. The list is empty after a draw, and None if the game did not end."""
    reason: str = ""
    """Why the game ended, or what the table was waiting for."""
    turns: int = 0
    frames: int = 0
    wrong_placements_made: int = 0
    """How often hands put a piece on a wrong square on purpose."""
    wrong_placements_noticed: int = 0
    """How often the table reported such a piece."""
    misread_layouts: int = 0
    """How often the table accepted what was not on the board, or showed other cards."""
    seconds: float = 0.0
    """Real time that the game took."""

    def is_good(self) -> bool:
        """Return whether the game ended, no layout was misread and every mistake was noticed."""
        is_all_noticed = self.wrong_placements_made == self.wrong_placements_noticed
        return self.winners is not None and is_all_noticed and self.misread_layouts == 0

    def sentence(self) -> str:
        """Return the report as sentences in one line."""
        result = "draw"
        if self.winners is None:
            result = "did not end"
        elif self.winners:
            result = " and ".join(self.winners) + " won"
        noticed = f"{self.wrong_placements_noticed} of {self.wrong_placements_made}"
        return (
            f"Game {self.seed}: {result} after {self.turns} turns. {self.reason} {self.frames} "
            f"frames, {noticed} wrong placements noticed, {self.misread_layouts} layouts misread, "
            f"{self.seconds:.1f} s."
        )


class Stuck(CompanionError):
    """The game cannot go on.

    A request was refused, or the table still waits for what people have already done.
    """

    kind = "stuck"


class Phone:
    """The phone of one seat: a browser without a screen, which sends JSON and keeps its cookie."""

    def __init__(self, base_url: str, seat: Seat) -> None:
        self._base_url = base_url.rstrip("/")
        self._seat = seat
        self.cookies = http.cookiejar.CookieJar()
        jar = urllib.request.HTTPCookieProcessor(self.cookies)
        # The table runs on this machine, so ignore proxies that the environment names.
        self._browser = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)

    def post(self, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a POST request of the seat, and return the answer.

        `action` is the end of its address, such as `hand-in`. Raises `Stuck` with the server's
        message if the request is refused.
        """
        headers = {"Content-Type": "application/json", "Origin": self._base_url}
        return self._send(action, json.dumps(body).encode(), headers)

    def hand_in(self, moment: str, action: str, salt: int) -> None:
        """Hand in an action of the seat. Raises `Stuck` if it is refused."""
        self.post("hand-in", {"moment": moment, "action": action, "salt": f"{salt:032x}"})

    def get(self, resource: str) -> dict[str, Any]:
        """Send a GET request of the seat, and return the answer.

        Raises `Stuck` if it is refused.
        """
        return self._send(resource, None, {})

    def _send(self, name: str, data: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
        url = f"{self._base_url}/api/seat/{self._seat}/{name}"
        request = urllib.request.Request(url, data, headers)
        try:
            with self._browser.open(request, timeout=30) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                raise Stuck(f"{name}: {error.read().decode()}") from None


@dataclass
class SimulatedPlayer:
    """A simulated person at one seat, who plays by a phone, or by a pad if `phone` is None."""

    seat: Seat
    phone: Phone | None
    rng: Random


@dataclass
class SimulatedGame(ABC):
    """One game that simulated people play, from taking the seats to the end.

    `play` runs it in one thread, and returns the `report`. A subclass says what people and hands
    do. It must define `finish_set_up`, `follow_stage` and `act`. If pieces lie on a board, it also
    defines `compare_layouts`, `correct_layout` and `straighten`, which do nothing by default. It
    may use:

    - `view`: what the table shows now.
    - `hand_in`, `press`, `press_button`: act by phone or pad.
    - `run_frames`: let time pass.
    - `wait_for_progress`: run frames until `progress_key` changes, or report the game as stuck.
    - `turn_rng`: random numbers, the same as the table uses in this turn.
    """

    companion: Companion
    clock: FakeClock
    game: AnyGame
    seed: int
    options: Mapping[str, Any]
    players: dict[Seat, SimulatedPlayer]

    def __post_init__(self) -> None:
        # There is a rendered table and simulated pins only in simulation.
        assert self.companion.simulation is not None
        self.simulation = self.companion.simulation
        self.world = self.simulation.world
        """The rendered table, on which hands move pieces."""
        options = self.game.options(self.options)
        self.kit = self.game.kit(options)
        self.report = Report(self.game.name, self.seed)
        self.rng = Random(f"{self.game.name}/{self.seed}")
        self.state: Any = self.game.setup(options, turn_random(self.seed, 0))
        """The people's own copy of the game's state."""

    def play(self) -> Report:
        """Play a whole game, and return its report.

        If the game gets stuck, the report says what the table waits for. A game of more than
        `MAX_TURNS` turns is broken off.
        """
        began_s = time.perf_counter()
        report = self.report
        report.reason = "It was broken off."
        try:
            self._play_to_the_end()
            if outcome := self.view().match.outcome:
                report.winners = sorted(outcome.winners)
                report.reason = outcome.reason
        except Stuck as error:
            report.reason = error.message
        report.seconds = round(time.perf_counter() - began_s, 2)
        return report

    def _play_to_the_end(self) -> None:
        """Take the seats, set up, and play. Raises `Stuck`."""
        for player in self.players.values():
            self._sit_down(player)
        self.companion.table.new_game(self.game.name, self.options, self.seed)
        self.world.set_up({})
        self.finish_set_up()
        while (phase := self.view().phase) is not Phase.OVER and self.report.turns < MAX_TURNS:
            if phase is Phase.ORDERS:
                self.report.turns += 1
                self.give_orders()
            else:
                self.follow_stage()

    # ---- what subclasses define ------------------------------------------------------------------

    @abstractmethod
    def finish_set_up(self) -> None:
        """Do what the table waits for after the set-up."""

    @abstractmethod
    def follow_stage(self) -> None:
        """Do what the table asks hands to do in this stage, and wait until the table moves on."""

    @abstractmethod
    def act(self, seat: Seat) -> Any:
        """Choose an action for a seat that is due, hand it in, and return it."""

    def compare_layouts(self, before: TableView, after: TableView) -> None:  # noqa: B027 - optional
        """Compare what the table has just accepted with the truth, and count differences.

        Called after each frame in which the table has moved on, with its views before and after
        the frame.
        """

    def correct_layout(self, view: TableView) -> None:  # noqa: B027 - optional
        """Correct pieces that the table reports as misplaced."""

    def straighten(self) -> None:  # noqa: B027 - optional
        """Straighten pieces that the camera cannot see."""

    # ---- what people do --------------------------------------------------------------------------

    def give_orders(self) -> None:
        """Act for all seats that are due, in random order."""
        # Before anybody acts, because the random numbers depend on the number of turns so far.
        rng = self.turn_rng()
        moment = self.view().moment
        due = sorted(self.game.to_act(self.state))
        self.rng.shuffle(due)
        actions = {seat: self.act(seat) for seat in due}
        self.state = self.game.apply(self.state, actions, rng).state

        now = self.view()
        if now.moment == moment and now.phase is Phase.ORDERS:
            raise Stuck(f"All have handed in, but the table says “{now.sign.text}”")

    def hand_in(self, seat: Seat, text: str, *, is_unsure: bool = False) -> None:
        """Hand in an action in notation, by the phone or the pad of the seat.

        If no keys of the pad spell the action, it is handed in at the table itself. A player who
        `is_unsure` takes something back first: the whole action on a phone, one key on a pad.
        """
        player = self.players[seat]
        view = self.view()
        if player.phone:
            # Once both have handed in, no action can be taken back.
            if is_unsure and view.seats[seat.other].sealed_at is None:
                player.phone.hand_in(view.moment, text, secrets.randbits(128))
                player.phone.post("take-back", {"moment": view.moment})
            player.phone.hand_in(view.moment, text, player.rng.getrandbits(128))
            return

        # At a pad. The key “ready” alone may already spell the action, as for a pass.
        grammar = self.game.pad(self.state, seat)
        keys = grammar.spell(text) if grammar else ()
        needs_only_ready = grammar is not None and grammar.text(()) == text
        if not keys and not needs_only_ready:
            self.companion.table.hand_in(seat, view.moment, text)
            return
        correction = (keys[0], "back") if keys and is_unsure else ()
        for key in (*correction, *keys, "ready"):
            self.press(seat, key)

    def view(self) -> TableView:
        """Return the table's public view."""
        return self.companion.table.view()

    def progress_key(self) -> tuple[str, int, Phase]:
        """Return a key that changes whenever the table moves on: its moment, stage and phase."""
        view = self.view()
        return view.moment, view.turn.stage, view.phase

    def turn_rng(self) -> Random:
        """Return the random numbers of the present turn, the same as the table uses."""
        return turn_random(self.seed, len(self.companion.table.progress().turn_numbers) + 1)

    def run_frames(self, frames: int = 1) -> None:
        """Run some frames, and compare everything that the table accepts with the truth."""
        for _ in range(frames):
            before = self.view()
            key_before = self.progress_key()
            self.clock.advance(FRAME_S)
            self.companion.step()
            self.report.frames += 1
            if self.progress_key() != key_before:
                self.compare_layouts(before, self.view())

    def wait_for_progress(self, done_sentence: str, key_before: object) -> None:
        """Run frames until the table moves on: until `progress_key` differs from `key_before`.

        Meanwhile, correct the layout and straighten pieces, as people do who wait in vain. After
        `PATIENCE_FRAMES`, raises `Stuck` with what the table still waits for.

        :param done_sentence: what people have done, without a full stop, for the message
        """
        for frame in range(PATIENCE_FRAMES):
            if self.progress_key() != key_before:
                return
            view = self.view()
            # After a quarter of the frames, people look for pieces on wrong squares.
            if frame == PATIENCE_FRAMES // 4:
                self.correct_layout(view)
            # After half of them, they straighten pieces that may hide something.
            if frame == PATIENCE_FRAMES // 2 and view.board.unknown:
                self.straighten()
            self.run_frames()
        sign = self.view().sign
        raise Stuck(f"{done_sentence}: the table still says “{sign.text}” ({sign.small})")

    def _sit_down(self, player: SimulatedPlayer) -> None:
        """Take a seat: by entering a name on a phone, or by a key of the pad."""
        if player.phone:
            player.phone.post("take", {"name": f"Player {player.seat}"})
        else:
            self.press(player.seat, "ready")

    def press(self, seat: Seat, key: str) -> None:
        """Press and release a key of a pad."""
        self.press_button(f"{seat}_{key}")

    def press_button(self, name: str) -> None:
        """Press and release a button of the panel, each for longer than it is debounced."""
        hands = self.simulation.hands
        for move in (hands.press, hands.release):
            move(name)
            for _ in range(3):
                self.clock.advance(0.02)
                self.companion.step_keys()
