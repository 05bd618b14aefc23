"""Execution of actions in Kahmate: placing, runs, passes, kicks, tackles, face-offs, ends of turns.

A face-off is a duel with secret cards against a piece in the way. An `ActionPlan` says who moves,
where piece and ball end, and which face-offs must be won first. The plan of an action with
face-offs waits in the state until the cards decide it. Only the result moves pieces.

The stages tell the players what to do on the board: first move the pieces, then the ball, then turn
pieces over, then stand up those whose time is over. Sources: the rulebook and the rulings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from companion.core.i18n import joined, listed, say
from companion.core.kit import SEATS, Seat
from companion.games.base import Step
from companion.games.events import CommonEvent
from companion.games.kahmate.actions import Action, BallPlay, Card, EndTurn, Placement
from companion.games.kahmate.board import (
    BALL_RANK,
    CLEAR_LEAD,
    FILES,
    PIECE_NAMES,
    ROLE_OF,
    ROLES,
    SEAT_OF,
    SIDE_NAMES,
    SQUARE_NAMES,
    TEAMS,
    KahmateEvent,
    piece_and_square,
)
from companion.games.kahmate.moves import plan_action
from companion.games.kahmate.state import (
    FULL_HAND,
    ActionKind,
    ActionPlan,
    FaceOff,
    State,
    layout_of,
)
from companion.games.screen import Headline, Tally
from companion.games.turn_log import TurnLog

_FACE_OFF_TITLE = say("Face-off")
_BALL_TITLE = say("Place the ball")
_STAGE_TITLES = {
    ActionKind.RUN: say("Run"),
    ActionKind.PASS: say("Pass"),
    ActionKind.KICK: say("Kick"),
}


def carry_out(state: State, actions: Mapping[Seat, Action], rng: Random) -> Step[State]:
    """Carry out the actions of all seats in `to_act`."""
    south, north = (actions.get(seat) for seat in SEATS)
    log = _ActionLog(state)
    if isinstance(south, Placement) and isinstance(north, Placement):
        _place_pieces(log, (south, north), rng)
    elif state.pending_plan and isinstance(south, Card) and isinstance(north, Card):
        _decide_face_off(log, state.pending_plan, (south.value, north.value))
    else:
        _begin_action(log, actions[SEATS[state.seat]])
    return log.finish_action()


def _begin_action(log: _ActionLog, action: Action) -> None:
    """Carry out an action of the seat on turn, up to its first face-off."""
    state = log.state
    if isinstance(action, EndTurn):
        log.end_turn(say("{side!c} ends the turn.", side=SIDE_NAMES[state.seat]))
    elif isinstance(action, BallPlay):
        plan = plan_action(state, action)
        _report_action(log, plan)
        # With face-offs, the plan waits in the state until cards decide.
        if plan.face_offs:
            log.changes["pending_plan"] = plan
        else:
            _complete_action(log, plan)


class _ActionLog(TurnLog):
    """The position while an action is carried out, with its events and stages.

    `carry_out` makes one for each action. `state` is the position before the action. Methods change
    the other attributes, and `finish_action` returns the step to the next state.
    """

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state
        self.ball = state.ball
        self.piece_squares = list(state.piece_squares)
        self.turns_to_miss = list(state.turns_to_miss)
        self.tallies: tuple[Tally, ...] = ()
        """Sums to show with the next stage."""
        self.changes: dict[str, Any] = {}
        """New values of other fields of `State`, by their names."""

    def finish_stage(self, title: str, *, is_decided: bool = True) -> None:
        """Add a stage with the events and the sums since the last one.

        Without `is_decided` the face-off is repeated, or another one follows. Players may or may
        not have moved the pieces of the action already, so the stage then expects no layout.
        """
        layout = (
            layout_of(self.piece_squares, self.turns_to_miss, self.ball) if is_decided else None
        )
        self.add_stage(title, layout, tallies=self.tallies)
        self.tallies = ()

    def move_ball(
        self, square: int, rule: str, fallen: tuple[int, ...] = (), why: str | None = None
    ) -> None:
        """Move the ball and report it. A standing piece on that square has the ball.

        `fallen` are pieces that are turned over afterwards, in a later stage.
        """
        self.ball = square
        seat = None
        if square not in self.piece_squares:
            text = say("The ball lies on {square}.", square=SQUARE_NAMES[square])
        else:
            piece = self.piece_squares.index(square)
            seat = SEAT_OF[piece]
            # A turned-over piece does not have the ball, which lies on its square.
            if self.turns_to_miss[piece] or piece in fallen:
                text = say(
                    "The ball lies with {piece}, turned over on {square}.",
                    **piece_and_square(piece, square),
                )
            else:
                text = say("{piece!c} has the ball on {square}.", **piece_and_square(piece, square))
        self.add_event(KahmateEvent.BALL, seat, text, rule, square=SQUARE_NAMES[square], why=why)

    def turn_over(self, pieces: tuple[int, ...]) -> None:
        """Turn pieces over until the end of their owner's next turn (rulebook, "TURNED OVER")."""
        why = say("It stands up at the end of its side’s next turn.")
        for piece in pieces:
            seat = SEAT_OF[piece]
            square = self.piece_squares[piece]
            # The present turn does not count for its own side (ruling).
            self.turns_to_miss[piece] = 2 if seat == self.state.seat else 1
            text = say("{piece!c} is turned over on {square}.", **piece_and_square(piece, square))
            self.add_event(
                KahmateEvent.TURNED_OVER,
                seat,
                text,
                "turned-over",
                square=SQUARE_NAMES[square],
                why=why,
            )
        if pieces:
            self.finish_stage(say("Turn over"))

    def end_turn(self, text: str) -> None:
        """Give the turn to the other seat.

        Pieces that were turned over for a whole turn of their owner stand up.
        """
        seat = self.state.seat
        self.add_event(KahmateEvent.ROUND_END, seat, text, "round")
        standing_up = [piece for piece in TEAMS[seat] if self.turns_to_miss[piece] == 1]
        for piece in TEAMS[seat]:
            self.turns_to_miss[piece] = max(0, self.turns_to_miss[piece] - 1)
        for piece in standing_up:
            square = self.piece_squares[piece]
            if self.ball == square:
                text = say(
                    "{piece!c} stands up on {square} and has the ball.",
                    **piece_and_square(piece, square),
                )
            else:
                text = say("{piece!c} stands up on {square}.", **piece_and_square(piece, square))
            self.add_event(
                KahmateEvent.STANDS_UP, seat, text, "turned-over", square=SQUARE_NAMES[square]
            )
        if standing_up:
            self.finish_stage(say("Stand up"))
        self.changes |= {"seat": 1 - seat, "moved_pieces": (), "turn": self.state.turn + 1}
        self._end_at_limit()

    def _end_at_limit(self) -> None:
        """End in a draw at the limit of turns or of turns without a face-off."""
        state = self.state
        options = state.options
        # A face-off of this turn is only in `changes` so far.
        quiet_turns = state.turn - self.changes.get("last_face_off_turn", state.last_face_off_turn)
        if state.turn == options.round_limit:
            text = say("Turn {number} was the last one, without a try: a draw.", number=state.turn)
            self.end_game(
                None, text, "limits", say("Turn {number} was the last.", number=state.turn)
            )
        elif options.quiet_limit and quiet_turns >= options.quiet_limit:
            text = say("{number} turns without a face-off: a draw.", number=quiet_turns)
            self.end_game(
                None, text, "limits", say("{number} turns, no face-off.", number=quiet_turns)
            )

    def finish_action(self) -> Step[State]:
        """Return the step to the next state.

        Events after the last stage, such as the end of the turn, become part of that stage.
        """
        if self.stages and self.events_since_stage:
            last = self.stages[-1]
            self.stages[-1] = replace(last, events=(*last.events, *self.events_since_stage))
        # A plan whose face-offs are not all decided is in `self.changes` and replaces None here.
        changes: dict[str, Any] = {
            "pending_plan": None,
            "face_offs_won": 0,
            "piece_squares": tuple(self.piece_squares),
            "turns_to_miss": tuple(self.turns_to_miss),
            "ball": self.ball,
            "outcome": self.outcome,
        }
        after = replace(self.state, **(changes | self.changes))
        return self.build_step(after)


def _place_pieces(log: _ActionLog, placements: tuple[Placement, Placement], rng: Random) -> None:
    """Place the pieces of both seats. Draw the ball's card and the first seat."""
    options = log.state.options
    card = options.ball_card or rng.randint(1, 6)
    starter = SEATS.index(Seat(options.starter or rng.choice(SEATS)))
    for seat, placement in enumerate(placements):
        log.piece_squares += placement.squares
        placed = zip(ROLES, placement.squares, strict=True)
        pieces = joined(
            ", ", (joined(" ", (role.name, SQUARE_NAMES[square])) for role, square in placed)
        )
        text = say("{side!c} places {pieces}.", side=SIDE_NAMES[seat], pieces=pieces)
        log.add_event(CommonEvent.PLACED, seat, text, "setting-up")
    # Cards 1 to 6 put the ball on files b to g (ruling). Files count from 0, so file b is 1.
    log.ball = BALL_RANK * FILES + card
    name = SQUARE_NAMES[log.ball]
    text = say("Card {card}: the ball lies on {square}.", card=card, square=name)
    log.add_event(KahmateEvent.BALL, None, text, "setting-up", square=name)
    text = say("{side!c} begins.", side=SIDE_NAMES[starter])
    log.add_event(KahmateEvent.BEGINS, starter, text, "setting-up")
    log.finish_stage(say("Put the pieces out"))
    log.changes["seat"] = starter


# ---- runs, passes, kicks, tackles ----------------------------------------------------------------


def _report_action(log: _ActionLog, plan: ActionPlan) -> None:
    """Report the action and the opponents on its way."""
    state = log.state
    mover = plan.mover
    start = state.piece_squares[mover]
    parts = {"piece": PIECE_NAMES[mover], "start": SQUARE_NAMES[start]}
    defenders = [
        say(
            "{piece} on {square}",
            **piece_and_square(face_off.defender, state.piece_squares[face_off.defender]),
        )
        for face_off in plan.face_offs
    ]
    why = None
    rule = plan.kind.value
    to = None
    if defenders:
        why = say("It meets {pieces}: both choose a card.", pieces=listed(defenders))
    match plan.kind:
        case ActionKind.RUN if plan.ends_in_goal:
            rule = "try"
            text = say("{piece!c} runs from {start} into goal.", **parts)
        case ActionKind.RUN:
            to = SQUARE_NAMES[plan.end]
            rule = "running"
            if plan.end == start:
                text = say("{piece!c} runs from {start} and comes back.", **parts)
            else:
                text = say("{piece!c} runs from {start} to {end}.", **parts, end=to)
        case ActionKind.TACKLE:
            to = SQUARE_NAMES[state.ball]
            why = say("Both choose a card.")
            if len(plan.movers) > 1:
                parts["other"] = PIECE_NAMES[plan.movers[1]]
                text = say("{piece!c} and {other} tackle {target}.", **parts, target=defenders[0])
            else:
                text = say("{piece!c} tackles {target}.", **parts, target=defenders[0])
        case ActionKind.PASS:
            to = SQUARE_NAMES[plan.ball]
            text = say("{piece!c} passes from {start} to {end}.", **parts, end=to)
        case ActionKind.KICK:
            to = SQUARE_NAMES[plan.ball]
            text = say("{piece!c} kicks from {start} to {end}.", **parts, end=to)
    log.add_event(
        KahmateEvent(plan.kind), state.seat, text, rule, square=SQUARE_NAMES[start], to=to, why=why
    )


def _complete_action(log: _ActionLog, plan: ActionPlan) -> None:
    """Carry out a run, pass or kick that has no face-off, or has won all of them."""
    state = log.state
    mover = plan.mover
    # If there are sums to show, this stage belongs to the last face-off.
    title = _FACE_OFF_TITLE if log.tallies else _STAGE_TITLES[plan.kind]
    if plan.kind is not ActionKind.RUN:
        log.move_ball(plan.ball, plan.kind)
        log.finish_stage(title)
        return
    log.piece_squares[mover] = plan.end
    log.changes["moved_pieces"] = (*state.moved_pieces, mover)
    # If the ball moves with a runner that is not the carrier, it was loose.
    if plan.ball != state.ball and mover != state.carrier:
        text = say("{piece!c} takes the ball on {square}.", **piece_and_square(mover, state.ball))
        log.add_event(
            KahmateEvent.BALL, state.seat, text, "loose-ball", square=SQUARE_NAMES[state.ball]
        )
    log.ball = plan.ball
    if plan.ends_in_goal:
        reason = say("{piece!c} carries the ball into goal: a try.", piece=PIECE_NAMES[mover])
        log.end_game(state.seat, reason, "try", say("A try."))
        if not log.tallies:
            title = say("Try")
    log.finish_stage(title)
    # After the arrival of the runner, the beaten defenders are turned over.
    log.turn_over(tuple(face_off.defender for face_off in plan.face_offs))


# ---- face-offs -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _FaceOffSum:
    """The strengths and the card of one side of a face-off."""

    seat: int
    piece: int
    """The piece of this side. Of two tacklers, the first."""
    parts: tuple[tuple[str, int], ...]
    """Pairs (name, number) for the strength of each piece, then for the card."""

    @property
    def total(self) -> int:
        """The total that is compared."""
        return sum(number for _, number in self.parts)

    @property
    def text(self) -> str:
        """The sum in words, such as “big 2 + card 3”."""
        return joined(" + ", (joined(" ", (name, str(number))) for name, number in self.parts))

    def tally(self, other: _FaceOffSum) -> Tally:
        """Return the tally that is shown beside the other side's."""
        # A real minus sign, as printed numbers have.
        parts = tuple((name, f"{number}".replace("-", "−")) for name, number in self.parts)
        return Tally(SEATS[self.seat], parts, str(self.total), is_greater=self.total > other.total)


def _decide_face_off(log: _ActionLog, plan: ActionPlan, cards: tuple[int, int]) -> None:
    """Reveal both cards, compare the totals and discard the cards (rulebook, "FACE OFF").

    Equal totals are played again with the next cards (ruling).
    """
    state = log.state
    face_off = plan.face_offs[state.face_offs_won]
    # The count of turns without a face-off restarts here.
    log.changes["last_face_off_turn"] = state.turn
    attack = _attack_sum(state.seat, plan, cards[state.seat])
    defence = _defence_sum(face_off.defender, cards[1 - state.seat])
    log.tallies = (attack.tally(defence), defence.tally(attack))
    _report_totals(log, attack, defence)
    headline = _face_off_headline(state, plan, attack.total, defence.total)
    log.headlines.append(Headline(headline, "sums"))
    _discard_cards(log, cards)
    is_won = attack.total > defence.total
    is_tied = attack.total == defence.total
    has_more = state.face_offs_won + 1 < len(plan.face_offs)
    # A tie is played again. After a win the next opponent may follow.
    if is_tied or (is_won and has_more):
        log.changes |= {"pending_plan": plan, "face_offs_won": state.face_offs_won + is_won}
        log.finish_stage(_FACE_OFF_TITLE, is_decided=False)
    elif plan.kind is ActionKind.TACKLE:
        _finish_tackle(log, plan, face_off, attack.total - defence.total)
    elif is_won:
        _complete_action(log, plan)
    elif plan.kind is ActionKind.PASS:
        # An interception turns nobody over (ruling).
        log.move_ball(face_off.ball_if_lost, "intercept")
        log.finish_stage(_FACE_OFF_TITLE)
    else:
        _stop_run(log, plan, face_off)


def _attack_sum(seat: int, plan: ActionPlan, card: int) -> _FaceOffSum:
    roles = [ROLE_OF[piece] for piece in plan.movers]
    strengths = [(role.name, role.attack) for role in roles]
    return _FaceOffSum(seat, plan.mover, (*strengths, (say("card"), card)))


def _defence_sum(defender: int, card: int) -> _FaceOffSum:
    role = ROLE_OF[defender]
    parts = ((role.name, role.defence), (say("card"), card))
    return _FaceOffSum(SEAT_OF[defender], defender, parts)


def _report_totals(log: _ActionLog, attack: _FaceOffSum, defence: _FaceOffSum) -> None:
    """Report the winner of the face-off and the sums."""
    why = say("{attack!c} against {defence}.", attack=attack.text, defence=defence.text)
    totals = {"attack": attack.total, "defence": defence.total}
    if attack.total == defence.total:
        text = say("{attack} against {defence}: both choose a card again.", **totals)
        log.add_event(KahmateEvent.FACE_OFF_AGAIN, None, text, "face-off", why=why)
        return
    winner = attack if attack.total > defence.total else defence
    text = say(
        "{attack} against {defence}: {piece} wins the face-off.",
        **totals,
        piece=PIECE_NAMES[winner.piece],
    )
    # A sum of three parts, two strengths and a card, belongs to two tacklers.
    if len(winner.parts) > 2:
        text = say(
            "{attack} against {defence}: the two of {side} win the face-off.",
            **totals,
            side=SIDE_NAMES[winner.seat],
        )
    log.add_event(KahmateEvent.FACE_OFF, winner.seat, text, "face-off", why=why)


def _face_off_headline(state: State, plan: ActionPlan, attack: int, defence: int) -> str:
    """Return the result of a face-off for both sides, in at most 40 characters."""
    is_won = attack > defence
    winner = SIDE_NAMES[state.seat if is_won else 1 - state.seat]
    parts = {"more": max(attack, defence), "less": min(attack, defence), "side": winner}
    if attack == defence:
        return say("{more} against {less}: choose again", **parts)
    if plan.kind is ActionKind.TACKLE:
        if not is_won:
            return say("{more} against {less}: {side} keeps the ball", **parts)
        if attack - defence > CLEAR_LEAD:
            return say("{more} against {less}: {side} has the ball", **parts)
        return say("{more} against {less}: the ball is loose", **parts)
    if plan.kind is ActionKind.PASS:
        if is_won:
            return say("{more} against {less}: the pass gets through", **parts)
        return say("{more} against {less}: {side} has the ball", **parts)
    if not is_won:
        return say("{more} against {less}: {side} stops the run", **parts)
    if plan.ends_in_goal:
        return say("{more} against {less}: {side} scores", **parts)
    return say("{more} against {less}: {side} gets past", **parts)


def _discard_cards(log: _ActionLog, cards: tuple[int, int]) -> None:
    """Discard both cards, and refill the hands when they are empty."""
    hands = zip(log.state.cards, cards, strict=True)
    remaining = [tuple(card for card in hand if card != spent) for hand, spent in hands]
    # Both hands have the same size, so they become empty together.
    if not remaining[0]:
        text = say("All cards have been used: both hands hold 1 to 6 again.")
        log.add_event(KahmateEvent.REFILLED, None, text, "face-off")
    log.changes["cards"] = tuple(hand or FULL_HAND for hand in remaining)


def _stop_run(log: _ActionLog, plan: ActionPlan, face_off: FaceOff) -> None:
    """Stop a run on the last free square before the opponent, because its face-off is lost.

    The runner is turned over, and its ball goes one square behind it (rulebook, "One round").
    """
    state = log.state
    mover = plan.mover
    # Defenders that the runner has beaten before are turned over as well.
    beaten = tuple(previous.defender for previous in plan.face_offs[: state.face_offs_won])
    fallen = (*beaten, mover)
    stop = face_off.stop_if_lost
    log.piece_squares[mover] = stop
    log.changes["moved_pieces"] = (*state.moved_pieces, mover)
    text = say("{piece!c} stops on {square}.", **piece_and_square(mover, stop))
    start = SQUARE_NAMES[state.piece_squares[mover]]
    log.add_event(
        KahmateEvent.STOPPED, state.seat, text, "in-the-way", square=start, to=SQUARE_NAMES[stop]
    )
    # Whether the runner brought the ball along or picked it up on its way.
    had_ball = mover == state.carrier or face_off.ball_if_lost != state.ball
    if had_ball:
        # Players first put down the runner with the ball, then the ball behind it.
        log.ball = stop
    log.finish_stage(_FACE_OFF_TITLE)
    if had_ball:
        log.move_ball(face_off.ball_if_lost, "in-the-way", fallen)
        if face_off.ball_if_lost != stop:
            log.finish_stage(_BALL_TITLE)
    log.turn_over(fallen)


def _finish_tackle(log: _ActionLog, plan: ActionPlan, face_off: FaceOff, lead: int) -> None:
    """Send the tacklers back, move the ball, turn over the losers, and end the turn.

    `lead` is the attack's total minus the defence's, which is never 0. A tackler who is more than 2
    ahead takes the ball, and one who is less ahead only makes it loose (rulebook, "One round").
    """
    state = log.state
    carrier = face_off.defender
    side = SIDE_NAMES[state.seat]
    # In any case the tacklers return to their start squares (ruling).
    log.finish_stage(_FACE_OFF_TITLE)
    if lead < 0:
        text = say("{piece!c} keeps the ball on {square}.", **piece_and_square(carrier, state.ball))
        log.add_event(
            KahmateEvent.BALL, 1 - state.seat, text, "tackle", square=SQUARE_NAMES[state.ball]
        )
        log.turn_over(plan.movers)
    else:
        square = plan.ball
        why = say("{number} ahead: it takes more than 2 to win the ball.", number=lead)
        if lead > CLEAR_LEAD:
            square = state.piece_squares[plan.mover]
            why = say("{number} ahead: {side} wins the ball.", number=lead, side=side)
        log.move_ball(square, "tackled-ball", (carrier,), why)
        log.finish_stage(_BALL_TITLE)
        log.turn_over((carrier,))
    log.end_turn(say("The tackle ends {side}’s turn.", side=side))
