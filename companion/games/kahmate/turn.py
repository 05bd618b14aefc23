"""How a decision is carried out: placing, runs, passes, kicks, tackles, face-offs, the end of a round.

An action with face-offs waits in the state as its course until cards decide it; only the result moves pieces. The
stages are for the hands: first what was moved lies where it belongs, then the ball, then pieces are turned over, then
those stand up that have lain long enough. Sources: rulebook; Rulings, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from companion.games.base import Event, Outcome, Stage, Step
from companion.games.kahmate.actions import Action, Card, EndRound, Kick, Pass, Placement, Run, Tackle
from companion.games.kahmate.board import (
    BALL_RANK,
    FILES,
    IN_GOAL,
    NAMES,
    PIECE_NAMES,
    ROLE_OF,
    ROLES,
    SEAT_OF,
    SIDE_NAMES,
    TEAMS,
)
from companion.games.kahmate.courses import course_of
from companion.games.kahmate.legal import words
from companion.games.kahmate.state import EMPTY, FULL_HAND, Course, FaceOff, Kind, State, layout_of
from companion.games.screen import Tally
from companion.kit import SEATS, Layout, Seat

STARTERS = ("south", "north")


def play(state: State, actions: Mapping[Seat, Action], rng: Random) -> Step[State]:
    """Carry out what everybody in `to_act` has decided."""
    pair = tuple(actions.get(seat) for seat in SEATS)
    one, other = pair
    if isinstance(one, Placement) and isinstance(other, Placement):
        return _place(state, (one, other), rng)
    if isinstance(one, Card) and isinstance(other, Card):
        return _face_off(state, (one.value, other.value))
    action = pair[state.seat]
    turn = _Turn(state)
    if isinstance(action, Run | Pass | Kick | Tackle):
        course = course_of(state, action)
        _announce(turn, course)
        if course.face_offs:
            return Step(replace(state, course=course, won=0), tuple(turn.events))
        _succeed(turn, course)
    elif isinstance(action, EndRound):
        turn.end_round(f"{SIDE_NAMES[state.seat].capitalize()} ends the round.")
    return turn.step()


@dataclass
class _Turn:
    """The position while an action is carried out, and its events and stages so far."""

    state: State
    places: list[int] = field(init=False)
    down: list[int] = field(init=False)
    ball: int = field(init=False)
    events: list[Event] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    tallies: tuple[Tally, ...] = ()
    """To be shown with the next stage."""
    changes: dict[str, Any] = field(default_factory=dict)
    """What else of the state is different afterwards."""
    _told: int = 0

    def __post_init__(self) -> None:
        self.places, self.down, self.ball = list(self.state.places), list(self.state.down), self.state.ball

    def say(self, kind: str, seat: int | None, text: str, rule: str, **more: Any) -> None:
        """Add an event."""
        self.events.append(Event(kind, text, None if seat is None else SEATS[seat], rule=rule, **more))

    def layout(self) -> Layout:
        """What lies where now."""
        return layout_of(self.places, self.down, self.ball)

    def stage(self, title: str, *, is_decided: bool = True) -> None:
        """What hands do for everything said since the last stage; until all is decided they may have gone ahead."""
        events = tuple(self.events[self._told :])
        self._told = len(self.events)
        self.stages.append(Stage(title, {}, events, self.layout() if is_decided else None, self.tallies))
        self.tallies = ()

    def move_ball(self, square: int, rule: str, falls: tuple[int, ...] = (), why: str | None = None) -> None:
        """Say where the ball goes: who stands there has it. `falls` are pieces that are turned over afterwards."""
        self.ball = square
        piece = self.places.index(square) if square in self.places else EMPTY
        name = NAMES[square]
        if piece == EMPTY:
            self.say("ball", None, f"The ball lies on {name}.", rule, square=name, why=why)
        elif self.down[piece] or piece in falls:
            text = f"The ball lies with {PIECE_NAMES[piece]}, turned over on {name}."
            self.say("ball", SEAT_OF[piece], text, rule, square=name, why=why)
        else:
            self.say("ball", SEAT_OF[piece], f"{words(piece)} has the ball on {name}.", rule, square=name, why=why)

    def turn_over(self, pieces: tuple[int, ...]) -> None:
        """Hands turn pieces over: they lie until the end of their owner's next round."""
        for piece in pieces:
            self.down[piece] = 2 if SEAT_OF[piece] == self.state.seat else 1
            name = NAMES[self.places[piece]]
            text, why = f"{words(piece)} is turned over on {name}.", "It stands up at the end of its side’s next round."
            self.say("turned_over", SEAT_OF[piece], text, "turned-over", square=name, why=why)
        if pieces:
            self.stage("Turn over")

    def end_round(self, text: str) -> None:
        """The other seat is on turn; pieces that have lain through a whole round of their owner stand up."""
        seat = self.state.seat
        self.say("round_end", seat, text, "round")
        risen = []
        for piece in TEAMS[seat]:
            if self.down[piece]:
                self.down[piece] -= 1
                if not self.down[piece]:
                    risen.append(piece)
        for piece in risen:
            name = NAMES[self.places[piece]]
            also = " and has the ball" if self.ball == self.places[piece] else ""
            self.say("stands_up", seat, f"{words(piece)} stands up on {name}{also}.", "turned-over", square=name)
        if risen:
            self.stage("Stand up")
        self.changes |= {"seat": 1 - seat, "ran": (), "round": self.state.round + 1}

    def step(self) -> Step[State]:
        """What is answered; what was said after the last stage belongs to it."""
        if self.stages and (rest := tuple(self.events[self._told :])):
            self.stages[-1] = replace(self.stages[-1], events=(*self.stages[-1].events, *rest))
        moved = {"places": tuple(self.places), "down": tuple(self.down), "ball": self.ball}
        after = replace(self.state, **{"course": None, "won": 0, **moved, **self.changes})
        return Step(after, tuple(self.events), tuple(self.stages))


def _place(state: State, placed: tuple[Placement, Placement], rng: Random) -> Step[State]:
    """Both have placed: the ball's card and who begins are drawn."""
    options = state.options
    card = options.ball_card or rng.randint(1, 6)
    starter = STARTERS.index(options.starter or rng.choice(STARTERS))
    turn = _Turn(state)
    turn.places = [*placed[0].squares, *placed[1].squares]
    for seat, placement in enumerate(placed):
        told = (f"{role.name} {NAMES[at]}" for role, at in zip(ROLES, placement.squares, strict=True))
        turn.say("placed", seat, f"{SIDE_NAMES[seat].capitalize()} places {', '.join(told)}.", "setting-up")
    turn.ball = BALL_RANK * FILES + card
    name = NAMES[turn.ball]
    turn.say("ball", None, f"Card {card}: the ball lies on {name}.", "setting-up", square=name)
    turn.say("begins", starter, f"{SIDE_NAMES[starter].capitalize()} begins.", "setting-up")
    turn.stage("Put the pieces out")
    turn.changes = {"seat": starter}
    return turn.step()


# ---- actions -----------------------------------------------------------------------------------------------------


def _announce(turn: _Turn, course: Course) -> None:
    """Say what is done, and whom it meets."""
    state, places = turn.state, turn.places
    mover = course.movers[0]
    name, start = words(mover), NAMES[places[mover]]
    met = [f"{PIECE_NAMES[each.defender]} on {NAMES[places[each.defender]]}" for each in course.face_offs]
    why = f"It meets {' and '.join(met)}: both choose a card." if met else None
    match course.kind:
        case Kind.RUN if course.end == IN_GOAL:
            text, rule, to = f"{name} runs from {start} into goal.", "try", None
        case Kind.RUN:
            to = NAMES[course.end]
            text, rule = f"{name} runs from {start} to {to}.", "running"
        case Kind.TACKLE:
            to = NAMES[state.ball]
            also = "".join(f" and {PIECE_NAMES[each]}" for each in course.movers[1:])
            text, rule = f"{name}{also} tackle{'' if also else 's'} {met[0]}.", "tackle"
            why = "Both choose a card."
        case _:
            to, rule = NAMES[course.ball], course.kind.value
            text = f"{name} {'passes' if course.kind is Kind.PASS else 'kicks'} from {start} to {to}."
    turn.say(course.kind, state.seat, text, rule, square=start, to=to, why=why)


def _succeed(turn: _Turn, course: Course) -> None:
    """A run, pass or kick without a face-off, or with every one of them won."""
    state, mover = turn.state, course.movers[0]
    if course.kind is not Kind.RUN:
        turn.move_ball(course.ball, course.kind)
        turn.stage(_title(turn, "Pass" if course.kind is Kind.PASS else "Kick"))
        return
    turn.places[mover] = course.end
    turn.changes["ran"] = (*state.ran, mover)
    if course.ball != state.ball and mover != state.carrier:
        name = NAMES[state.ball]
        turn.say("ball", state.seat, f"{words(mover)} takes the ball on {name}.", "loose-ball", square=name)
    turn.ball = course.ball
    if course.end == IN_GOAL:
        reason = f"{words(mover)} carries the ball into goal: a try."
        turn.say("won", state.seat, reason, "try")
        turn.changes["outcome"] = Outcome(frozenset({SEATS[state.seat]}), reason)
    turn.stage(_title(turn, "Try" if course.end == IN_GOAL else "Run"))
    turn.turn_over(tuple(face_off.defender for face_off in course.face_offs))


def _title(turn: _Turn, title: str) -> str:
    """A stage that shows sums is the face-off's."""
    return "Face-off" if turn.tallies else title


# ---- face-offs ---------------------------------------------------------------------------------------------------


def _face_off(state: State, cards: tuple[int, int]) -> Step[State]:
    """Both cards are open: totals are compared, the cards are discarded (rulebook, "FACE OFF")."""
    course, face_off = state.course, state.face_off
    if course is None or face_off is None:
        raise AssertionError("cards are only asked for while a face-off waits")
    turn = _Turn(state)
    strengths = [(ROLE_OF[piece].name, ROLE_OF[piece].attack) for piece in course.movers]
    attack = _Sum(state.seat, course.movers[0], (*strengths, ("card", cards[state.seat])))
    defender = ROLE_OF[face_off.defender]
    other = 1 - state.seat
    defence = _Sum(other, face_off.defender, ((defender.name, defender.defence), ("card", cards[other])))
    turn.tallies = (attack.tally(defence), defence.tally(attack))
    _tell_totals(turn, attack, defence)
    _discard(turn, cards)
    if attack.total == defence.total or (attack.total > defence.total and state.won + 1 < len(course.face_offs)):
        turn.changes |= {"course": course, "won": state.won + (attack.total > defence.total)}
        turn.stage("Face-off", is_decided=False)
    elif course.kind is Kind.TACKLE:
        _settle_tackle(turn, course, face_off, attack.total - defence.total)
    elif attack.total > defence.total:
        _succeed(turn, course)
    elif course.kind is Kind.PASS:
        turn.move_ball(face_off.ball, "intercept")
        turn.stage("Face-off")
    else:
        _stop_run(turn, course, face_off)
    return turn.step()


@dataclass(frozen=True)
class _Sum:
    """One side of a face-off: its piece (the first of two), and strengths and card by name."""

    seat: int
    piece: int
    parts: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        return sum(number for _, number in self.parts)

    def tally(self, other: _Sum) -> Tally:
        """As it is shown beside the other one."""
        parts = tuple((name, f"{number}".replace("-", "−")) for name, number in self.parts)
        return Tally(SEATS[self.seat], parts, str(self.total), is_greater=self.total > other.total)

    def told(self) -> str:
        """Such as “big 2 + card 3”."""
        return " + ".join(f"{name} {number}" for name, number in self.parts)


def _tell_totals(turn: _Turn, attack: _Sum, defence: _Sum) -> None:
    """Say who wins the face-off, and by which sums."""
    why = f"{attack.told()} against {defence.told()}."
    why = why[0].upper() + why[1:]
    totals = f"{attack.total} against {defence.total}"
    if attack.total == defence.total:
        turn.say("face_off_again", None, f"{totals}: both choose a card again.", "face-off", why=why)
        return
    winner = max(attack, defence, key=lambda each: each.total)
    text = f"{totals}: {PIECE_NAMES[winner.piece]} wins the face-off."
    if len(attack.parts) > 2 and winner is attack:
        text = f"{totals}: the two of {SIDE_NAMES[attack.seat]} win the face-off."
    turn.say("face_off", winner.seat, text, "face-off", why=why)


def _discard(turn: _Turn, cards: tuple[int, int]) -> None:
    """Both cards are spent; a hand that is empty is filled again at once."""
    first, second = (
        tuple(card for card in hand if card != spent) for hand, spent in zip(turn.state.hands, cards, strict=True)
    )
    if not first:
        text = "All cards are spent: both hands hold 1 to 6 again."
        turn.say("refilled", None, text, "face-off")
    turn.changes["hands"] = (first or FULL_HAND, second or FULL_HAND)


def _stop_run(turn: _Turn, course: Course, face_off: FaceOff) -> None:
    """The run is over: the runner lies on the last free square before the other, its ball one square behind it."""
    state, mover = turn.state, course.movers[0]
    beaten = tuple(each.defender for each in course.face_offs[: state.won])
    falls = (*beaten, mover)
    turn.places[mover] = face_off.stop
    turn.changes["ran"] = (*state.ran, mover)
    name = NAMES[face_off.stop]
    text = f"{words(mover)} stops on {name}."
    turn.say("stopped", state.seat, text, "in-the-way", square=NAMES[state.places[mover]], to=name)
    had_ball = mover == state.carrier or face_off.ball != state.ball
    if had_ball:
        turn.ball = face_off.stop
    turn.stage("Face-off")
    if had_ball:
        turn.move_ball(face_off.ball, "in-the-way", falls)
        if face_off.ball != face_off.stop:
            turn.stage("Place the ball")
    turn.turn_over(falls)


def _settle_tackle(turn: _Turn, course: Course, face_off: FaceOff, ahead: int) -> None:
    """The tacklers go back; `ahead` is by how much the attack is greater than the defence. The round is over."""
    state, carrier = turn.state, face_off.defender
    turn.stage("Face-off")
    if ahead < 0:
        name = NAMES[state.ball]
        turn.say("ball", 1 - state.seat, f"{words(carrier)} keeps the ball on {name}.", "tackle", square=name)
        turn.turn_over(course.movers)
    else:
        taken, why = state.places[course.movers[0]], f"The attack is {ahead} ahead: more than 2 takes the ball."
        if ahead <= 2:
            taken, why = course.ball, f"The attack is {ahead} ahead: it takes more than 2 to have the ball."
        turn.move_ball(taken, "tackled-ball", (carrier,), why)
        turn.stage("Place the ball")
        turn.turn_over((carrier,))
    turn.end_round(f"The tackle ends {SIDE_NAMES[state.seat]}’s round.")
