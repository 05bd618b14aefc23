"""How a decision is carried out: placing, runs, passes, kicks, tackles, face-offs, the end of a
round.

An action with face-offs waits in the state as its course until cards decide it. Only the result moves pieces. The
stages are for the hands: first what was moved lies where it belongs, then the ball, then pieces are turned over, then
those stand up that have lain long enough. Sources: rulebook. Rulings, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from companion.core.i18n import joined, listed, say
from companion.core.kit import SEATS, Layout, Seat
from companion.games.base import Event, Outcome, Stage, Step
from companion.games.events import CommonEvent, EventKind
from companion.games.kahmate.actions import (
    Action,
    Card,
    EndRound,
    Kick,
    Pass,
    Placement,
    Run,
    Tackle,
)
from companion.games.kahmate.board import (
    BALL_RANK,
    CLEAR_LEAD,
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
from companion.games.kahmate.events import KahmateEvent
from companion.games.kahmate.state import EMPTY, FULL_HAND, Course, FaceOff, Kind, State, layout_of
from companion.games.screen import Headline, Tally

STARTERS = ("south", "north")
_CARD = say("card")
_FACE_OFF = say("Face-off")
_TITLES = {Kind.RUN: say("Run"), Kind.PASS: say("Pass"), Kind.KICK: say("Kick")}
_TRY, _TURN_OVER, _STAND_UP = say("Try"), say("Turn over"), say("Stand up")
_STANDS_UP = say("It stands up at the end of its side’s next turn.")
_ENDS = tuple(say("{side!c} ends the turn.", side=name) for name in SIDE_NAMES)


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
        turn.end_round(_ENDS[state.seat])
    return turn.result()


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
    told: str = ""
    """The headline of those sums."""
    changes: dict[str, Any] = field(default_factory=dict)
    """What else of the state is different afterwards."""
    _told: int = 0

    def __post_init__(self) -> None:
        self.places, self.down, self.ball = (
            list(self.state.places),
            list(self.state.down),
            self.state.ball,
        )

    def add_event(
        self, kind: EventKind, seat: int | None, text: str, rule: str, **more: Any
    ) -> None:
        """Add an event."""
        self.events.append(
            Event(kind, text, None if seat is None else SEATS[seat], rule=rule, **more)
        )

    def layout(self) -> Layout:
        """Return what lies where now."""
        return layout_of(self.places, self.down, self.ball)

    def stage(self, title: str, *, is_decided: bool = True) -> None:
        """Add a stage of what hands do for everything said since the last stage.

        Until all is decided they may have gone ahead.
        """
        events = tuple(self.events[self._told :])
        self._told = len(self.events)
        headlines = (Headline(self.told, "sums"),) if self.tallies else ()
        self.stages.append(
            Stage(
                title,
                {},
                events,
                self.layout() if is_decided else None,
                self.tallies,
                headlines=headlines,
            )
        )
        self.tallies = ()

    def move_ball(
        self, square: int, rule: str, falls: tuple[int, ...] = (), why: str | None = None
    ) -> None:
        """Say where the ball goes: who stands there has it. `falls` are pieces that are turned over afterwards."""
        self.ball = square
        piece = self.places.index(square) if square in self.places else EMPTY
        name, seat = NAMES[square], None if piece == EMPTY else SEAT_OF[piece]
        if piece == EMPTY:
            text = say("The ball lies on {square}.", square=name)
        elif self.down[piece] or piece in falls:
            text = say(
                "The ball lies with {piece}, turned over on {square}.",
                piece=PIECE_NAMES[piece],
                square=name,
            )
        else:
            text = say("{piece!c} has the ball on {square}.", piece=PIECE_NAMES[piece], square=name)
        self.add_event(KahmateEvent.BALL, seat, text, rule, square=name, why=why)

    def turn_over(self, pieces: tuple[int, ...]) -> None:
        """Have hands turn pieces over: they lie until the end of their owner's next round."""
        for piece in pieces:
            self.down[piece] = 2 if SEAT_OF[piece] == self.state.seat else 1
            name = NAMES[self.places[piece]]
            text = say(
                "{piece!c} is turned over on {square}.", piece=PIECE_NAMES[piece], square=name
            )
            self.add_event(
                KahmateEvent.TURNED_OVER,
                SEAT_OF[piece],
                text,
                "turned-over",
                square=name,
                why=_STANDS_UP,
            )
        if pieces:
            self.stage(_TURN_OVER)

    def end_round(self, text: str) -> None:
        """Give the turn to the other seat.

        Pieces that have lain through a whole round of their owner stand up.
        """
        seat = self.state.seat
        self.add_event(KahmateEvent.ROUND_END, seat, text, "round")
        risen = []
        for piece in TEAMS[seat]:
            if self.down[piece]:
                self.down[piece] -= 1
                if not self.down[piece]:
                    risen.append(piece)
        for piece in risen:
            name = NAMES[self.places[piece]]
            text = say("{piece!c} stands up on {square}.", piece=PIECE_NAMES[piece], square=name)
            if self.ball == self.places[piece]:
                text = say(
                    "{piece!c} stands up on {square} and has the ball.",
                    piece=PIECE_NAMES[piece],
                    square=name,
                )
            self.add_event(KahmateEvent.STANDS_UP, seat, text, "turned-over", square=name)
        if risen:
            self.stage(_STAND_UP)
        self.changes |= {"seat": 1 - seat, "ran": (), "round": self.state.round + 1}
        self._end_at_limit()

    def _end_at_limit(self) -> None:
        """End in a draw when the last round is over, or the last one of those that may go by without a face-off."""
        state, options = self.state, self.state.options
        quiet = state.round - self.changes.get("fought", state.fought)
        if state.round == options.round_limit:
            reason = say(
                "Turn {number} was the last one, without a try: a draw.", number=state.round
            )
        elif options.quiet_limit and quiet >= options.quiet_limit:
            reason = say("{number} turns without a face-off: a draw.", number=quiet)
        else:
            return
        self.end(frozenset(), reason, "limits")

    def end(self, winners: frozenset[Seat], reason: str, rule: str) -> None:
        """End the game."""
        outcome = Outcome(winners, reason)
        self.events.append(outcome.event(rule))
        self.changes["outcome"] = outcome

    def result(self) -> Step[State]:
        """Return what is answered. What was said after the last stage belongs to it."""
        if self.stages and (rest := tuple(self.events[self._told :])):
            self.stages[-1] = replace(self.stages[-1], events=(*self.stages[-1].events, *rest))
        moved = {"places": tuple(self.places), "down": tuple(self.down), "ball": self.ball}
        after = replace(self.state, **{"course": None, "won": 0, **moved, **self.changes})
        return Step(after, tuple(self.events), tuple(self.stages))


def _place(state: State, placed: tuple[Placement, Placement], rng: Random) -> Step[State]:
    """Return the step in which both place: the ball's card and who begins are drawn."""
    options = state.options
    card = options.ball_card or rng.randint(1, 6)
    starter = STARTERS.index(options.starter or rng.choice(STARTERS))
    turn = _Turn(state)
    turn.places = [*placed[0].squares, *placed[1].squares]
    for seat, placement in enumerate(placed):
        told = (
            joined(" ", (role.name, NAMES[at]))
            for role, at in zip(ROLES, placement.squares, strict=True)
        )
        text = say("{side!c} places {pieces}.", side=SIDE_NAMES[seat], pieces=joined(", ", told))
        turn.add_event(CommonEvent.PLACED, seat, text, "setting-up")
    turn.ball = BALL_RANK * FILES + card
    name = NAMES[turn.ball]
    text = say("Card {card}: the ball lies on {square}.", card=card, square=name)
    turn.add_event(KahmateEvent.BALL, None, text, "setting-up", square=name)
    turn.add_event(
        KahmateEvent.BEGINS,
        starter,
        say("{side!c} begins.", side=SIDE_NAMES[starter]),
        "setting-up",
    )
    turn.stage(say("Put the pieces out"))
    turn.changes = {"seat": starter}
    return turn.result()


# ---- actions -----------------------------------------------------------------------------------------------------


def _announce(turn: _Turn, course: Course) -> None:
    """Say what is done, and whom it meets."""
    state, places = turn.state, turn.places
    mover = course.movers[0]
    start, to, rule = NAMES[places[mover]], None, course.kind.value
    met = [_on_square(each.defender, places[each.defender]) for each in course.face_offs]
    why = say("It meets {pieces}: both choose a card.", pieces=listed(met)) if met else None
    parts = {"piece": PIECE_NAMES[mover], "start": start}
    match course.kind:
        case Kind.RUN if course.end == IN_GOAL:
            text, rule = say("{piece!c} runs from {start} into goal.", **parts), "try"
        case Kind.RUN:
            to, rule = NAMES[course.end], "running"
            text = _runs(mover, places[mover], course.end)
        case Kind.TACKLE:
            to, why = NAMES[state.ball], say("Both choose a card.")
            text = _tackle_text(course, met[0])
        case Kind.PASS:
            to = NAMES[course.ball]
            text = say("{piece!c} passes from {start} to {end}.", **parts, end=to)
        case Kind.KICK:
            to = NAMES[course.ball]
            text = say("{piece!c} kicks from {start} to {end}.", **parts, end=to)
    turn.add_event(KahmateEvent(course.kind), state.seat, text, rule, square=start, to=to, why=why)


def _on_square(piece: int, square: int) -> str:
    return say("{piece} on {square}", piece=PIECE_NAMES[piece], square=NAMES[square])


def _runs(piece: int, start: int, end: int) -> str:
    if end == start:
        return say(
            "{piece!c} runs from {start} and comes back.",
            piece=PIECE_NAMES[piece],
            start=NAMES[start],
        )
    return say(
        "{piece!c} runs from {start} to {end}.",
        piece=PIECE_NAMES[piece],
        start=NAMES[start],
        end=NAMES[end],
    )


def _tackle_text(course: Course, target: str) -> str:
    first, *others = (PIECE_NAMES[piece] for piece in course.movers)
    if others:
        return say(
            "{piece!c} and {other} tackle {target}.", piece=first, other=others[0], target=target
        )
    return say("{piece!c} tackles {target}.", piece=first, target=target)


def _succeed(turn: _Turn, course: Course) -> None:
    """Carry out a run, pass or kick without a face-off, or with every one of them won."""
    state, mover = turn.state, course.movers[0]
    if course.kind is not Kind.RUN:
        turn.move_ball(course.ball, course.kind)
        turn.stage(_title(turn, course))
        return
    turn.places[mover] = course.end
    turn.changes["ran"] = (*state.ran, mover)
    if course.ball != state.ball and mover != state.carrier:
        name = NAMES[state.ball]
        text = say("{piece!c} takes the ball on {square}.", piece=PIECE_NAMES[mover], square=name)
        turn.add_event(KahmateEvent.BALL, state.seat, text, "loose-ball", square=name)
    turn.ball = course.ball
    if course.end == IN_GOAL:
        reason = say("{piece!c} carries the ball into goal: a try.", piece=PIECE_NAMES[mover])
        turn.end(frozenset({SEATS[state.seat]}), reason, "try")
    turn.stage(_title(turn, course))
    turn.turn_over(tuple(face_off.defender for face_off in course.face_offs))


def _title(turn: _Turn, course: Course) -> str:
    """Return a stage that shows sums is the face-off's."""
    if turn.tallies:
        return _FACE_OFF
    return _TRY if course.end == IN_GOAL else _TITLES[course.kind]


# ---- face-offs ---------------------------------------------------------------------------------------------------


def _face_off(state: State, cards: tuple[int, int]) -> Step[State]:
    """Return the step in which both cards are open: totals are compared, the cards are discarded (rulebook, "FACE
    OFF")."""
    course, face_off = state.course, state.face_off
    if course is None or face_off is None:
        raise AssertionError("cards are only asked for while a face-off waits")
    turn = _Turn(state, changes={"fought": state.round})
    strengths = [(ROLE_OF[piece].name, ROLE_OF[piece].attack) for piece in course.movers]
    attack = _Sum(state.seat, course.movers[0], (*strengths, (_CARD, cards[state.seat])))
    defender = ROLE_OF[face_off.defender]
    other = 1 - state.seat
    defence = _Sum(
        other, face_off.defender, ((defender.name, defender.defence), (_CARD, cards[other]))
    )
    turn.tallies = (attack.tally(defence), defence.tally(attack))
    _tell_totals(turn, attack, defence)
    turn.told = _headline(state, course, attack.total, defence.total)
    _discard(turn, cards)
    if attack.total == defence.total or (
        attack.total > defence.total and state.won + 1 < len(course.face_offs)
    ):
        turn.changes |= {"course": course, "won": state.won + (attack.total > defence.total)}
        turn.stage(_FACE_OFF, is_decided=False)
    elif course.kind is Kind.TACKLE:
        _settle_tackle(turn, course, face_off, attack.total - defence.total)
    elif attack.total > defence.total:
        _succeed(turn, course)
    elif course.kind is Kind.PASS:
        turn.move_ball(face_off.ball, "intercept")
        turn.stage(_FACE_OFF)
    else:
        _stop_run(turn, course, face_off)
    return turn.result()


Parts = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class _Sum:
    """One side of a face-off: its piece (the first of two), and strengths and card by name."""

    seat: int
    piece: int
    parts: Parts

    @property
    def total(self) -> int:
        return sum(number for _, number in self.parts)

    def tally(self, other: _Sum) -> Tally:
        """Return the tally as it is shown beside the other one."""
        parts = tuple((name, f"{number}".replace("-", "−")) for name, number in self.parts)
        return Tally(SEATS[self.seat], parts, str(self.total), is_greater=self.total > other.total)


def _comparison(attack: Parts, defence: Parts) -> str:
    """Return the comparison, such as “Big 2 + card 3 against regular 0 + card 5.”."""
    one, other = (
        joined(" + ", (joined(" ", (name, str(number))) for name, number in parts))
        for parts in (attack, defence)
    )
    return say("{attack!c} against {defence}.", attack=one, defence=other)


def _tell_totals(turn: _Turn, attack: _Sum, defence: _Sum) -> None:
    """Say who wins the face-off, and by which sums."""
    why = _comparison(attack.parts, defence.parts)
    totals: dict[str, object] = {"attack": attack.total, "defence": defence.total}
    if attack.total == defence.total:
        text = say("{attack} against {defence}: both choose a card again.", **totals)
        turn.add_event(KahmateEvent.FACE_OFF_AGAIN, None, text, "face-off", why=why)
        return
    winner = max(attack, defence, key=lambda each: each.total)
    text = say(
        "{attack} against {defence}: {piece} wins the face-off.",
        **totals,
        piece=PIECE_NAMES[winner.piece],
    )
    if len(attack.parts) > 2 and winner is attack:
        side = SIDE_NAMES[attack.seat]
        text = say(
            "{attack} against {defence}: the two of {side} win the face-off.", **totals, side=side
        )
    turn.add_event(KahmateEvent.FACE_OFF, winner.seat, text, "face-off", why=why)


def _headline(state: State, course: Course, attack: int, defence: int) -> str:
    """Say what came of a face-off, for both, in at most 40 letters."""
    totals = {"more": max(attack, defence), "less": min(attack, defence)}
    side, other = SIDE_NAMES[state.seat], SIDE_NAMES[1 - state.seat]
    if attack == defence:
        return say("{more} against {less}: choose again", **totals)
    is_won = attack > defence
    match course.kind:
        case Kind.TACKLE if attack - defence > CLEAR_LEAD:
            return say("{more} against {less}: {side} has the ball", **totals, side=side)
        case Kind.TACKLE if is_won:
            return say("{more} against {less}: the ball is loose", **totals)
        case Kind.TACKLE:
            return say("{more} against {less}: {side} keeps the ball", **totals, side=other)
        case Kind.PASS if is_won:
            return say("{more} against {less}: the pass gets through", **totals)
        case Kind.PASS:
            return say("{more} against {less}: {side} has the ball", **totals, side=other)
        case Kind.KICK:
            return say(
                "{more} against {less}: {side} wins", **totals, side=side if is_won else other
            )
        case _ if not is_won:
            return say("{more} against {less}: {side} stops the run", **totals, side=other)
        case _ if state.won + 1 < len(course.face_offs):
            return say("{more} against {less}: {side} runs on", **totals, side=side)
        case _ if course.end == IN_GOAL:
            return say("{more} against {less}: {side} scores", **totals, side=side)
    return say("{more} against {less}: {side} gets past", **totals, side=side)


def _discard(turn: _Turn, cards: tuple[int, int]) -> None:
    """Spend both cards. Fill an empty hand again at once."""
    first, second = (
        tuple(card for card in hand if card != spent)
        for hand, spent in zip(turn.state.hands, cards, strict=True)
    )
    if not first:
        text = say("All cards have been used: both hands hold 1 to 6 again.")
        turn.add_event(KahmateEvent.REFILLED, None, text, "face-off")
    turn.changes["hands"] = (first or FULL_HAND, second or FULL_HAND)


def _stop_run(turn: _Turn, course: Course, face_off: FaceOff) -> None:
    """End the run: the runner lies on the last free square before the other, its ball one square behind it."""
    state, mover = turn.state, course.movers[0]
    beaten = tuple(each.defender for each in course.face_offs[: state.won])
    falls = (*beaten, mover)
    turn.places[mover] = face_off.stop
    turn.changes["ran"] = (*state.ran, mover)
    name = NAMES[face_off.stop]
    text = say("{piece!c} stops on {square}.", piece=PIECE_NAMES[mover], square=name)
    turn.add_event(
        KahmateEvent.STOPPED,
        state.seat,
        text,
        "in-the-way",
        square=NAMES[state.places[mover]],
        to=name,
    )
    had_ball = mover == state.carrier or face_off.ball != state.ball
    if had_ball:
        turn.ball = face_off.stop
    turn.stage(_FACE_OFF)
    if had_ball:
        turn.move_ball(face_off.ball, "in-the-way", falls)
        if face_off.ball != face_off.stop:
            turn.stage(say("Place the ball"))
    turn.turn_over(falls)


def _settle_tackle(turn: _Turn, course: Course, face_off: FaceOff, ahead: int) -> None:
    """Send the tacklers back.

    `ahead` is by how much the attack is greater than the defence. The round is over.
    """
    state, carrier = turn.state, face_off.defender
    turn.stage(_FACE_OFF)
    if ahead < 0:
        name = NAMES[state.ball]
        text = say("{piece!c} keeps the ball on {square}.", piece=PIECE_NAMES[carrier], square=name)
        turn.add_event(KahmateEvent.BALL, 1 - state.seat, text, "tackle", square=name)
        turn.turn_over(course.movers)
    else:
        if ahead > CLEAR_LEAD:
            taken = state.places[course.movers[0]]
            why = say(
                "{number} ahead: {side} wins the ball.", number=ahead, side=SIDE_NAMES[state.seat]
            )
        else:
            taken = course.ball
            why = say("{number} ahead: it takes more than 2 to win the ball.", number=ahead)
        turn.move_ball(taken, "tackled-ball", (carrier,), why)
        turn.stage(say("Place the ball"))
        turn.turn_over((carrier,))
    turn.end_round(say("The tackle ends {side}’s turn.", side=SIDE_NAMES[state.seat]))
