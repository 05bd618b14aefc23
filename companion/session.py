"""One game at the table as a value: the fold of its journal.

`advance(session, record)` is pure: it either raises and nothing happened, or answers the next session and the cues
that announce it. The table writes the record to disk before anybody sees the new session, so that a restart ends in
the same place by folding the same records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random
from typing import Any

from companion.errors import Illegal, Malformed, Refusal, Stale
from companion.games import game_named
from companion.games.base import Event, Game, Outcome, Stage
from companion.kit import SEATS, Kit, Layout, Seat
from companion.ports import Cue, Signal
from companion.records import (
    Abandon,
    AnyRecord,
    Begin,
    FreeSeat,
    HandIn,
    NewGame,
    OfferDraw,
    Resign,
    StageDone,
    TakeBack,
    TakeSeat,
    Undo,
)

MAX_NAME = 24
BOTH = frozenset(SEATS)


class Phase(StrEnum):
    """Where a table stands. `ORDERS`: actions are collected; `STAGES`: hands follow what was revealed."""

    LOBBY = "lobby"
    SETUP = "setup"
    ORDERS = "orders"
    STAGES = "stages"
    OVER = "over"


# ---- the session --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sitter:
    """Who sits at a seat, and through which door (`phone` or `pad`)."""

    name: str
    nonce: str
    door: str


@dataclass(frozen=True)
class Sealed:
    """An action handed in. `receipt` is public at once, the rest after the reveal.

    `owner` is the nonce of whoever sat there: who takes the seat later may take the action back, but never see it.
    """

    action: str
    salt: str
    at: float
    receipt: str
    owner: str = ""


@dataclass(frozen=True)
class Turn:
    """A turn that was revealed: what was sealed, and what came of it."""

    moment: str
    sealed: Mapping[Seat, Sealed]
    stages: tuple[Stage, ...]
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Session:
    """The table's public and secret state. Never hand one to a page: `companion.views` filters it for a viewer."""

    seats: Mapping[Seat, Sitter] = field(default_factory=dict)
    number: int = 0
    game: Game[Any, Any] | None = None
    options: Any = None
    raw_options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    state: Any = None
    phase: Phase = Phase.LOBBY
    tick: int = 0
    sealed: Mapping[Seat, Sealed] = field(default_factory=dict)
    stage: int = 0
    turns: tuple[Turn, ...] = ()
    board: Layout | None = None
    """What should lie on the board before the current stage is carried out; None: the board is not checked."""
    outcome: Outcome | None = None
    score: tuple[int, int, int] = (0, 0, 0)
    draw_offer: Seat | None = None
    before: Session | None = None
    """The session at the beginning of the last turn, for taking it back."""

    @property
    def moment(self) -> str:
        """What an action must name to be in time: it changes with every turn, not when the other seat hands in."""
        return f"{self.number}.{self.tick}"

    @property
    def kit(self) -> Kit | None:
        """What lies on the table, or None in the lobby."""
        return self.game.kit(self.options) if self.game else None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of the turn that was revealed last."""
        return self.turns[-1].stages if self.turns else ()

    @property
    def opened(self) -> tuple[Turn, ...]:
        """The turns of which every stage has been shown: only their orders may be told."""
        hidden = self.phase is Phase.STAGES and self.stage + 1 < len(self.stages)
        return self.turns[:-1] if hidden else self.turns

    @property
    def target(self) -> Layout | None:
        """What should lie on the board when hands are done."""
        if self.phase is Phase.STAGES:
            return self.stages[self.stage].expected
        return self.board

    @property
    def awaited(self) -> frozenset[Seat]:
        """Who still has to hand in an action."""
        if self.phase is not Phase.ORDERS or self.game is None:
            return frozenset()
        return self.game.to_act(self.state) - set(self.sealed)

    @property
    def has_moves(self) -> bool:
        """Has a hand anything to do for the current stage?"""
        return self.target is not None and (self.board or {}) != self.target

    @property
    def is_tie_to_replay(self) -> bool:
        """Is this the end of a game whose tie is played again?"""
        if self.game is None or self.outcome is None or not self.game.replays_ties:
            return False
        return not self.outcome.winners and self.outcome == self.game.outcome(self.state)

    def sealed_at(self, seat: Seat, moment: str) -> Sealed | None:
        """What a seat has handed in for a moment, sealed or revealed already."""
        if moment == self.moment and seat in self.sealed:
            return self.sealed[seat]
        return next((turn.sealed.get(seat) for turn in self.turns if turn.moment == moment), None)

    def candidates(self, seat: Seat) -> Iterator[tuple[Any, Layout | None]]:
        """Every legal action of a seat that has the turn, with the layout after it."""
        game = self.playing
        for action in game.legal_actions(self.state, seat):
            step = game.apply(self.state, {seat: action}, chance(self.seed, self.tick))
            yield action, step.stages[-1].expected if step.stages else game.expected(step.state)

    @property
    def playing(self) -> Game[Any, Any]:
        """The game; raises `Illegal` when none is chosen."""
        if self.game is None:
            raise Illegal(Refusal.NO_GAME, "No game is on: choose one first")
        return self.game


def receipt(moment: str, seat: Seat, action: str, salt: str) -> str:
    """SHA-256 of `"MOMENT SEAT ACTION SALT"` in UTF-8, 64 hexadecimal digits: everyone can check it after the reveal.

    >>> receipt("1.1", Seat.SOUTH, "UUS", "00")[:8]
    '6b5ecad5'
    """
    return hashlib.sha256(f"{moment} {seat} {action} {salt}".encode()).hexdigest()


Advance = tuple[Session, tuple[Signal, ...]]


def advance(session: Session, record: AnyRecord) -> Advance:
    """The session after a record, and the cues that announce it; raises a `CompanionError` and changes nothing."""
    match record:
        case TakeSeat():
            return _take_seat(session, record)
        case FreeSeat():
            seats = {seat: sitter for seat, sitter in session.seats.items() if seat != record.seat}
            return replace(session, seats=seats), ()
        case NewGame():
            return _new_game(session, record)
        case Begin():
            return _begin(session)
        case HandIn():
            return _hand_in(session, record)
        case TakeBack():
            return _take_back(session, record)
        case StageDone():
            return _stage_done(session, record)
        case Undo():
            return _undo(session)
        case Resign():
            name = session.playing.sides[record.seat].name.capitalize()
            return _finish(session, Outcome(frozenset({record.seat.other}), f"{name} resigns."))
        case OfferDraw():
            return _offer_draw(session, record)
        case Abandon():
            return replace(
                _finish(session, Outcome(frozenset(), "The host ended the game."))[0], score=session.score
            ), ()


def _take_seat(session: Session, record: TakeSeat) -> Advance:
    if record.seat in session.seats:
        raise Illegal(
            Refusal.SEAT_TAKEN,
            f"{record.seat.title()} is taken: sit down on the other side, or ask the host to free the seat",
        )
    name = record.name.strip()
    if len(name) > MAX_NAME or not name.isprintable():
        raise Malformed(f"A name has at most {MAX_NAME} printable characters")
    sitter = Sitter(name, record.nonce, record.door)
    signal = Signal(Cue.SEAT_TAKEN, frozenset({record.seat}))
    return replace(session, seats={**session.seats, record.seat: sitter}), (signal,)


def _new_game(session: Session, record: NewGame) -> Advance:
    game = game_named(record.game)
    options = game.options(record.options)
    has_begun = session.phase is Phase.SETUP and session.tick > 0  # a turn was taken back
    if session.phase in (Phase.ORDERS, Phase.STAGES) or has_begun:
        raise Illegal(Refusal.WRONG_PHASE, "A game is on: end it before you start another one")
    state = game.setup(options, chance(record.seed, 0))
    board = game.expected(state)
    fresh = Session(
        seats=session.seats,
        number=record.number,
        game=game,
        options=options,
        raw_options=record.options,
        seed=record.seed,
        state=state,
        phase=Phase.SETUP,
        board=board,
        score=record.score,
    )
    if board is None:
        return _begin(fresh)
    return fresh, (Signal(Cue.HANDS_WANTED, BOTH),)


def _begin(session: Session) -> Advance:
    if session.phase is not Phase.SETUP:
        raise Illegal(Refusal.WRONG_PHASE, "There is nothing to set up now")
    return _await_orders(session)


def _await_orders(session: Session) -> Advance:
    """A new turn: nothing sealed, everybody in `to_act` is asked."""
    opened = replace(session, phase=Phase.ORDERS, tick=session.tick + 1, sealed={}, stage=0)
    due = opened.awaited
    cue = Cue.ORDERS_WANTED if len(due) > 1 else Cue.TURN_PASSES
    return opened, (Signal(cue, due),)


def _hand_in(session: Session, record: HandIn) -> Advance:
    game, seat = session.playing, record.seat
    if record.moment != session.moment or session.phase is not Phase.ORDERS:
        raise Stale("That order belongs to a turn that is over: look at the page again")
    if seat not in game.to_act(session.state):
        raise Illegal(Refusal.NOT_TO_ACT, f"{game.sides[seat].name.capitalize()} is not to act now")
    action = game.parse(record.action)
    game.check(session.state, seat, action)
    if seat in session.sealed:
        raise Illegal(Refusal.ALREADY_SEALED, "Your order is sealed already: take it back first")
    text = game.format(action)
    owner = session.seats[seat].nonce if seat in session.seats else ""
    sealed = Sealed(text, record.salt, record.at, receipt(session.moment, seat, text, record.salt), owner)
    full = replace(session, sealed={**session.sealed, seat: sealed})
    signal = Signal(Cue.SEALED, frozenset({seat}))
    if full.awaited:
        return full, (signal,)
    revealed, signals = _reveal(full)
    return revealed, ((signal, *signals) if len(full.sealed) > 1 else signals)


def _reveal(session: Session) -> Advance:
    """Everybody has handed in: one `apply`, then hands follow its stages."""
    game = session.playing
    actions = {seat: game.parse(sealed.action) for seat, sealed in session.sealed.items()}
    step = game.apply(session.state, actions, chance(session.seed, session.tick))
    turn = Turn(session.moment, session.sealed, step.stages, step.events)
    after = replace(
        session,
        state=step.state,
        turns=(*session.turns, turn),
        sealed={},
        phase=Phase.STAGES,
        stage=0,
        draw_offer=None,
        before=session,
    )
    signals = (Signal(Cue.REVEAL, BOTH),) if len(session.sealed) > 1 else ()
    if not step.stages:
        settled, more = _next_turn(replace(after, board=game.expected(step.state)))
        return settled, (*signals, *more)
    return after, (*signals, *_stage_signals(after))


def _stage_signals(session: Session) -> tuple[Signal, ...]:
    """The cues of the stage that is shown now: its number, what happened in it, whose hands are wanted."""
    kinds = {"bounce": Cue.BOUNCED, "shot": Cue.SHOT, "flag_taken": Cue.FLAG_TAKEN}
    stage = session.stages[session.stage]
    happened = [
        Signal(kinds[event.kind], frozenset({event.seat} if event.seat else BOTH))
        for event in stage.events
        if event.kind in kinds
    ]
    if session.has_moves and not happened:
        happened = [Signal(Cue.HANDS_WANTED, BOTH)]
    return (Signal(Cue.STEP, BOTH, session.stage + 1), *happened)


def _stage_done(session: Session, record: StageDone) -> Advance:
    if session.phase is not Phase.STAGES or (record.moment, record.stage) != (session.moment, session.stage):
        raise Stale("That step is done already")
    board = session.stages[session.stage].expected
    agreed = Signal(Cue.BOARD_AGREES, BOTH)
    if session.stage + 1 < len(session.stages):
        shown = replace(session, stage=session.stage + 1, board=board)
        return shown, (agreed, *_stage_signals(shown))
    settled, signals = _next_turn(replace(session, board=board))
    return settled, (agreed, *signals)


def _next_turn(session: Session) -> Advance:
    outcome = session.playing.outcome(session.state)
    return _finish(session, outcome) if outcome else _await_orders(session)


def _finish(session: Session, outcome: Outcome) -> Advance:
    if session.outcome is not None or session.phase in (Phase.LOBBY, Phase.OVER):
        raise Illegal(Refusal.GAME_OVER, "The game is over already")
    south, north, ties = session.score
    score = (
        south + (outcome.winners == {Seat.SOUTH}),
        north + (outcome.winners == {Seat.NORTH}),
        ties + (not outcome.winners),
    )
    over = replace(
        session,
        phase=Phase.OVER,
        outcome=outcome,
        score=score,
        sealed={},
        draw_offer=None,
        tick=session.tick + 1,
    )
    return over, (Signal(Cue.WON if outcome.winners else Cue.TIE, outcome.winners or BOTH),)


def _take_back(session: Session, record: TakeBack) -> Advance:
    if record.moment != session.moment or session.phase is not Phase.ORDERS:
        raise Illegal(Refusal.TOO_LATE, "Too late: the orders are open")
    if record.seat not in session.sealed:
        raise Illegal(Refusal.WRONG_PHASE, "You have nothing to take back")
    sealed = {seat: kept for seat, kept in session.sealed.items() if seat != record.seat}
    return replace(session, sealed=sealed), (Signal(Cue.TAKEN_BACK, frozenset({record.seat})),)


def _undo(session: Session) -> Advance:
    """Back to the beginning of the last turn; the board has to be put back, as in a set-up."""
    earlier = session.before
    if earlier is None or session.phase is Phase.LOBBY:
        raise Illegal(Refusal.WRONG_PHASE, "There is no turn to take back")
    phase = Phase.SETUP if earlier.board is not None else Phase.ORDERS
    undone = replace(
        earlier, seats=session.seats, sealed={}, phase=phase, tick=session.tick + 1, outcome=None, draw_offer=None
    )
    return undone, (Signal(Cue.TAKEN_BACK, BOTH),)


def _offer_draw(session: Session, record: OfferDraw) -> Advance:
    if session.phase not in (Phase.ORDERS, Phase.STAGES):
        raise Illegal(Refusal.WRONG_PHASE, "A draw can be offered while the game is on")
    if session.draw_offer is record.seat.other:
        return _finish(session, Outcome(frozenset(), "Both agreed on a draw."))
    return replace(session, draw_offer=record.seat), (Signal(Cue.OFFER, BOTH),)


def chance(seed: int, tick: int) -> Random:
    """The chance of one moment: the same for the live game and for its replay."""
    return Random(f"{seed}/{tick}")
