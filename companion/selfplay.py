"""Whole games through the real doors: people at phones (HTTP) and pads (mock pins), hands on the rendered table.

The people know the rules from the game itself and keep a position of their own, so that table and rules are held
against each other after every stage. Hands err now and then, and mend it as they are told.
"""

from __future__ import annotations

import http.cookiejar
import itertools
import json
import secrets
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from companion.app import Companion, Simulation
from companion.clock import FakeClock
from companion.config import Settings, TableSettings, WebSettings
from companion.errors import CompanionError
from companion.games import game_named
from companion.games.base import Game, PadGrammar
from companion.grid import Square
from companion.kit import SEATS, Seat
from companion.ports import WorldPiece
from companion.referee import HandMove, Problem, tops
from companion.session import Phase, chance
from companion.views import TableView

FRAME_S = 0.1
PATIENCE_FRAMES = 60
MAX_TURNS = 400
WRONG = 0.15
"""How often a hand puts a piece on a wrong square."""


class Report(msgspec.Struct, frozen=True):
    """What happened in one game."""

    game: str
    seed: int
    winners: list[str] | None
    reason: str
    turns: int
    frames: int
    wrong_placements_made: int
    wrong_placements_noticed: int
    misread_layouts: int
    seconds: float

    def is_good(self) -> bool:
        """Did it end, with every layout read right and every wrong placement noticed?"""
        noticed = self.wrong_placements_made == self.wrong_placements_noticed
        return self.winners is not None and noticed and self.misread_layouts == 0

    def sentence(self) -> str:
        """The report for people."""
        who = "did not end" if self.winners is None else " and ".join(self.winners) + " won" if self.winners else "tie"
        return (
            f"Game {self.seed}: {who} after {self.turns} turns. {self.reason} {self.frames} frames, "
            f"{self.wrong_placements_noticed} of {self.wrong_placements_made} wrong placements noticed, "
            f"{self.misread_layouts} layouts misread, {self.seconds:.1f} s."
        )


class Stuck(CompanionError):
    """The table waits for something that the simulated people have done."""

    kind = "stuck"


@dataclass
class _Count:
    frames: int = 0
    wrong: int = 0
    noticed: int = 0
    misread: int = 0


class Phone:
    """A browser without a screen: one seat, its cookie, JSON requests."""

    def __init__(self, base_url: str, seat: Seat) -> None:
        self._base_url = base_url.rstrip("/")
        self._seat = seat
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._browser = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)

    def post(self, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """POST to the seat; raises `Stuck` with the server's own words when it is refused."""
        request = urllib.request.Request(
            f"{self._base_url}/api/seat/{self._seat}/{action}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Origin": self._base_url},
        )
        try:
            with self._browser.open(request, timeout=30) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                raise Stuck(f"{action}: {error.read().decode()}") from None


@dataclass
class _Player:
    """A simulated person at one seat, with a phone or at a pad."""

    seat: Seat
    phone: Phone | None
    rng: Random

    @property
    def at_pad(self) -> bool:
        return self.phone is None


@dataclass
class _Match:
    """One game being played."""

    companion: Companion
    simulation: Simulation
    clock: FakeClock
    game: Game[Any, Any]
    seed: int
    rng: Random
    players: dict[Seat, _Player]
    state: Any
    count: _Count = field(default_factory=_Count)
    turns: int = 0

    # ---- the loop ----------------------------------------------------------------------------------------------------

    def play(self) -> Report:
        """Sit down, set up, play to the end; a game that gets stuck is reported with what the table waits for."""
        began_s = time.perf_counter()
        reason = "It was broken off."
        try:
            self._play_to_the_end()
        except Stuck as stuck:
            reason = stuck.message
        outcome = self._view().outcome
        return Report(
            self.game.name,
            self.seed,
            sorted(outcome.winners) if outcome else None,
            outcome.reason if outcome else reason,
            self.turns,
            self.count.frames,
            self.count.wrong,
            self.count.noticed,
            self.count.misread,
            round(time.perf_counter() - began_s, 2),
        )

    def _play_to_the_end(self) -> None:
        for player in self.players.values():
            self._sit_down(player)
        self.companion.table.new_game(self.game.name, {}, self.seed)
        self.simulation.world.set_up({})
        self._round(3)
        while self._view().phase is not Phase.OVER and self.turns < MAX_TURNS:
            self._work_with_hands()
            if self._view().phase is Phase.ORDERS:
                self.turns += 1
                self._give_orders()

    def _view(self) -> TableView:
        return self.companion.table.view()

    def _round(self, frames: int = 1) -> None:
        """Let some frames pass, and hold what the table accepts against what really lies there."""
        for _ in range(frames):
            before = self._view()
            self.clock.advance(FRAME_S)
            self.companion.step()
            self.count.frames += 1
            after = self._view()
            place = (after.moment, after.stage, after.phase)
            checked = after.kit is not None and after.outcome is None
            if checked and place != (before.moment, before.stage, before.phase) and after.phase is not Phase.SETUP:
                self.count.misread += tops(after.layout) != self._truth()

    def _truth(self) -> dict[Square, str]:
        """The face on top of each square of the rendered table."""
        return {piece.square: piece.face for piece in self.simulation.world.pieces() if piece.square}

    def _until(self, done: str, *before: object) -> None:
        """Let frames pass until the table has moved on from `before`; raises `Stuck` with what it waits for."""
        for frame in range(PATIENCE_FRAMES):
            view = self._view()
            if (view.moment, view.stage, view.phase) != before:
                return
            if frame == PATIENCE_FRAMES // 2 and "does not see" in view.sign.text:
                self._straighten()
            self._round()
        raise Stuck(f"{done}: the table still says “{self._view().sign.text}” ({self._view().sign.small})")

    # ---- people ------------------------------------------------------------------------------------------------------

    def _sit_down(self, player: _Player) -> None:
        if player.phone:
            player.phone.post("take", {"name": f"Player {player.seat}"})
        else:
            self._press(player.seat, "ready")

    def _press(self, seat: Seat, key: str) -> None:
        """Press and release a pad's key, with the time that a finger and the debouncing take."""
        hands = self.simulation.hands
        for act in (hands.press, hands.release):
            act(f"{seat}_{key}")
            for _ in range(3):
                self.clock.advance(0.02)
                self.companion.step_keys()

    def _give_orders(self) -> None:
        view = self._view()
        actions = {seat: _choose(self.game, self.state, seat, self.players[seat].rng) for seat in SEATS}
        due = sorted(self.game.to_act(self.state), key=lambda _: self.rng.random())
        for seat in due:
            self._hand_in(self.players[seat], view.moment, self.game.format(actions[seat]))
        tick = int(view.moment.rpartition(".")[2])
        step = self.game.apply(self.state, {seat: actions[seat] for seat in due}, chance(self.seed, tick))
        self.state = step.state
        if self._view().moment == view.moment and self._view().phase is Phase.ORDERS:
            raise Stuck(f"Both have handed in, but the table says “{self._view().sign.text}”")

    def _hand_in(self, player: _Player, moment: str, text: str) -> None:
        """Hand an action in; now and then somebody changes their mind first."""
        wavers = player.rng.random() < 0.2
        if player.phone:
            body = {"moment": moment, "action": text, "salt": f"{player.rng.getrandbits(128):032x}"}
            if wavers and self._view().seats[player.seat.other].sealed_at is None:
                player.phone.post("hand-in", body | {"salt": secrets.token_hex(16)})
                player.phone.post("take-back", {"moment": moment})
            player.phone.post("hand-in", body)
            return
        grammar = self.game.pad(self.state, player.seat)
        if grammar is None:
            raise Stuck("This game cannot be played at a pad")
        keys = _spell(grammar, text)
        if wavers:
            self._press(player.seat, keys[0])
            self._press(player.seat, "back")
        for key in (*keys, "ready"):
            self._press(player.seat, key)

    # ---- hands -------------------------------------------------------------------------------------------------------

    def _work_with_hands(self) -> None:
        """Follow the instructions of the set-up or of all stages of a turn."""
        while (view := self._view()).phase in (Phase.SETUP, Phase.STAGES):
            place = (view.moment, view.stage, view.phase)
            for move in [i.move for i in view.instructions if not i.move.done]:
                self._carry_out(move)
                now = self._view()
                if (now.moment, now.stage, now.phase) != place:
                    break
            self._until("Hands are done", *place)

    def _carry_out(self, move: HandMove) -> None:
        """One move, sometimes first to a wrong square."""
        pieces = [self._piece(face, move.origin) for face in move.faces]
        if self.rng.random() < WRONG and (wrong := self._wrong_square(move)) is not None:
            self.count.wrong += 1
            self._put(pieces[-1], wrong)
            problem = self._wait_for_problem(wrong)
            if problem is None:
                return
            self.count.noticed += 1
            self._put(pieces[-1], problem.home or wrong)
            pieces = pieces[:-1]
            if not pieces:
                self._round(1)
                return
            self._put_under(pieces, move)
            return
        for piece in pieces:
            self._put(piece, move.target)
        self._round(1)

    def _put_under(self, pieces: list[WorldPiece], move: HandMove) -> None:
        """The rest of a stack goes below the piece that is there already: lift it, put them down, put it back."""
        top = self._piece(move.faces[-1], move.target)
        for piece in (*pieces, top):
            self._put(piece, move.target)
        self._round(1)

    def _straighten(self) -> None:
        """Put every piece on the middle of its square, as the sign asks when one hides another."""
        for piece in self.simulation.world.pieces():
            if piece.square is not None:
                self.simulation.world.move_to(piece.id, piece.square)

    def _piece(self, face: str, square: Square | None) -> WorldPiece:
        """The piece with that face there; raises `Stuck` when there is none."""
        for piece in self.simulation.world.pieces():
            if piece.face == face and piece.square == square:
                return piece
        raise Stuck(f"There is no {face} on {square or 'the table beside the board'}")

    def _wrong_square(self, move: HandMove) -> Square | None:
        """An empty square that no piece comes from or goes to."""
        view = self._view()
        if view.kit is None:
            return None
        busy = {*self._truth(), *view.kit.board.holes, *view.layout, move.target, move.origin}
        for instruction in view.instructions:
            busy |= {instruction.move.target, instruction.move.origin}
        free = [square for square in view.kit.board.squares if square not in busy]
        return self.rng.choice(free) if free else None

    def _put(self, piece: WorldPiece, square: Square | None) -> None:
        """A hand carries a piece to a square, is seen over it, puts it down a little askew, and goes."""
        world = self.simulation.world
        if square is None:
            world.take_off(piece.id)
            return
        world.hold_hand(square)
        self._round(1)
        world.move_to(piece.id, square)
        world.nudge(piece.id, self.rng.uniform(-5, 5), self.rng.uniform(-5, 5))
        world.turn(piece.id, self.rng.uniform(-40, 40))
        self._round(1)
        world.hold_hand(None)

    def _wait_for_problem(self, square: Square) -> Problem | None:
        """What the table says about a wrong square once the board is quiet; None when it never says a word."""
        for _ in range(PATIENCE_FRAMES):
            self._round()
            for problem in self._view().problems:
                if problem.square == square:
                    return problem
        return None


def _spell(grammar: PadGrammar, text: str) -> tuple[str, ...]:
    """The pad keys that give a text, for grammars of one letter a key."""
    pads = {key.letter: key.pad for key in grammar.keys}
    return tuple(pads[letter] for letter in text)


def _choose(game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> Any:
    """An action of somebody who sees a win that is near and plays at random otherwise."""
    own = list(game.legal_actions(state, seat))
    if len(own) > 72:
        own = rng.sample(own, 72)
    others = [other for other in game.to_act(state) if other is not seat]
    replies = [{other: rng.choice(list(game.legal_actions(state, other))) for other in others} for _ in range(2)]

    def gain(action: Any) -> float:
        total = rng.random()
        for reply in replies:
            outcome = game.outcome(game.apply(state, {seat: action, **reply}, Random(0)).state)
            if outcome and outcome.winners:
                total += 10 if seat in outcome.winners else -10
        return total

    return max(own, key=gain)


def play_games(name: str, games: int, seed: int) -> Iterator[Report]:
    """So many games with the seeds `seed`, `seed + 1` …; each a fresh installation in a temporary folder."""
    for number in itertools.islice(itertools.count(seed), games):
        yield _play_game(name, number)


def _play_game(name: str, seed: int) -> Report:
    game, rng, clock = game_named(name), Random(f"{name}/{seed}"), FakeClock()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            state_dir=folder,
            web=WebSettings(host="127.0.0.1", port=0),
            table=TableSettings(reading_time_s=FRAME_S),
        )
        with Companion(settings, simulate=True, clock=clock, threads=False) as companion:
            if companion.simulation is None:
                raise Stuck("There is no simulation to play in")
            at_pad = rng.choice([(), (Seat.SOUTH,), (Seat.NORTH,), SEATS])
            url = f"http://127.0.0.1:{companion.server.port}"
            players = {
                seat: _Player(seat, None if seat in at_pad else Phone(url, seat), Random(f"{seed}/{seat}"))
                for seat in SEATS
            }
            state = game.setup(game.options({}), chance(seed, 0))
            return _Match(companion, companion.simulation, clock, game, seed, rng, players, state).play()
