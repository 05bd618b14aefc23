"""A game that is over, told again scene by scene: every turn is resolved anew and every receipt checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from companion.archive.played_games import GameLine, HighlightedEvent, PastTurn, Proof, ReplayStep
from companion.archive.replay import GameFile, PlayedTurn, chance_of, play_again
from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Kit, Layout, Seat
from companion.games import game_named
from companion.games.base import Event, Game, Outcome, Stage, Step
from companion.games.screen import CardUi, UnitOrder
from companion.games.spelling import SpelledOrder, spell_action
from companion.table.board_check import hand_moves
from companion.table.seats.machine_seats import MachineTurn, plain
from companion.table.session import chance

_SET_UP = ".0"
"""How the moment of the set-up's photograph ends."""


@dataclass(frozen=True)
class _Played:
    """A turn with the state before it."""

    state: Any
    step: Step[Any]
    turn: PastTurn


class Replay:
    """A game that is over. Scenes are made when they are asked for, and any thread may ask.

    `trouble` says where file, rules or receipts disagree (empty: all fits). `photographs` are the moments of which
    there are some.
    """

    def __init__(self, line: GameLine, played: GameFile, photographs: Sequence[str] = ()) -> None:
        self.line = line
        self.trouble = ""
        self.photographs = frozenset(photographs)
        """The moments of which there is one."""
        self._game: Game[Any, Any] = game_named(played.game)
        self._raw_options = played.options
        self._options = self._game.options(played.options)
        self.kit: Kit = self._game.kit(self._options)
        self._first: Any = self._game.setup(self._options, chance(played.seed, 0))
        self.chance = chance_of(played, line.number)
        self._turns: list[_Played] = []
        try:
            place = 1
            for number, (state, turn, step) in enumerate(play_again(played), start=1):
                last = place + max(1, len(step.stages)) - 1
                self._turns.append(
                    _Played(
                        state,
                        step,
                        _past_turn(number, turn, place, last, self._counted(state, number)),
                    )
                )
                place = last + 1
        except CompanionError as error:
            self.trouble = error.message
        if self.chance and self.chance.faults:
            self.trouble = joined(" ", [*self.chance.faults, *filter(None, [self.trouble])])

    def _counted(self, state: Any, number: int) -> int:
        """Return the number of the turn that is due in a state, as the game counts.

        Where it does not, that of its line.
        """
        counted = self._game.turn_number(state)
        return number if counted is None else counted

    @property
    def turns(self) -> Sequence[PastTurn]:
        """Return the notation."""
        return [played.turn for played in self._turns]

    @property
    def places(self) -> int:
        """Return how many scenes there are. The first is the start."""
        return self._turns[-1].turn.last + 1 if self._turns else 1

    def photograph(self, turn: int) -> str:
        """Return the moment of the photograph that shows the board after a turn (0: the set-up).

        Empty: there is none.
        """
        moment = self._turns[turn - 1].turn.moment if turn else f"{self.line.number}{_SET_UP}"
        return moment if moment in self.photographs else ""

    @cached_property
    def leads(self) -> tuple[float, ...]:
        """Return by how much South led at the start and after every turn (see `Game.lead`).

        Empty: nobody can say.

        A game that was won by its rules ends with a lead of its winner, as great as any before.
        """
        states = [self._first, *(played.step.state for played in self._turns)]
        counted = [self._game.lead(state) for state in states]
        known_leads = [lead for lead in counted if lead is not None]
        if len(known_leads) < len(counted):
            return ()
        outcome = self.outcome()
        if outcome and len(outcome.winners) == 1:
            most = max(1.0, *map(abs, known_leads)) if len(known_leads) > 1 else 1.0
            known_leads[-1] = most if Seat.SOUTH in outcome.winners else -most
        return tuple(known_leads)

    @cached_property
    def highlights(self) -> tuple[HighlightedEvent, ...]:
        """Return what people will remember of it, in its order."""
        return tuple(
            HighlightedEvent(played.turn.first + index, played.turn.number, event)
            for played in self._turns
            for index, events in enumerate(_events_by_scene(played.step))
            for event in events
            if event.kind.highlight
        )

    def events_of(self, turn: int) -> Sequence[Event]:
        """Return what happened in a turn, counted from 1."""
        return self._turns[turn - 1].step.events

    def known(self, turn: int, seat: Seat) -> tuple[MachineTurn, str] | None:
        """Return what a seat could know when it acted in a turn, counted from 1, and what it did.

        None: it did nothing.
        """
        played = self._turns[turn - 1]
        done = next((proof.action for proof in played.turn.proofs if proof.seat is seat), None)
        if done is None:
            return None
        hidden = self._game.hidden_options(self._options) or ()
        told = MachineTurn(
            seat=seat,
            name="",
            game=self._game.name,
            number=self.line.number,
            options={
                name: value for name, value in self._raw_options.items() if name not in hidden
            },
            moment=played.turn.moment,
            view=plain(self._game.view(played.state, seat)),
            events=tuple(tuple(plain(earlier.step.events)) for earlier in self._turns[: turn - 1]),
            is_due=False,
            due_s=None,
        )
        return told, done

    def spell_action(self, turn: int, seat: Seat, action: str) -> tuple[SpelledOrder, ...]:
        """Return a legal action for a turn in words and drawings.

        Raises a `CompanionError` for any other.
        """
        state = self._turns[turn - 1].state
        self._game.check(state, seat, self._game.parse(action))
        return spell_action(self._game, state, seat, action)

    @property
    def proofs(self) -> int:
        """Return how many receipts there are. All of them fit unless there is `trouble`."""
        return sum(len(played.turn.proofs) for played in self._turns)

    @property
    def game(self) -> Game[Any, Any]:
        """Return its rules."""
        return self._game

    def scene(self, place: int) -> ReplayStep:
        """Return one of the scenes. Raises IndexError."""
        if place == 0:
            return self._shown(
                ReplayStep(0, 0, 0, 0, say("The start"), self._layout_of(self._first)), self._first
            )
        played = next(
            (each for each in self._turns if each.turn.first <= place <= each.turn.last), None
        )
        if played is None or place < 0:
            raise IndexError(place)
        return self._scene_of(played, place - played.turn.first)

    def _scene_of(self, played: _Played, index: int) -> ReplayStep:
        """Return the board when a stage of a turn was done. A turn without any has one scene."""
        stages, turn = played.step.stages, played.turn
        before = self._before(played, index)
        is_last = index + 1 >= len(stages)
        after = stages[index].expected if stages else None
        if after is None and is_last:
            after = self._game.expected(played.step.state)
        if (
            after is None
        ):  # nobody can say how it lies then: when a game ends with a robot that cannot return, say
            after = before
        moves = () if self.kit.deck else hand_moves(self.kit, before, after)
        bare = ReplayStep(
            place=turn.first + index,
            turn=turn.number,
            stage=index + 1 if stages else 0,
            stages=len(stages),
            title=stages[index].title if stages else "",
            layout=after,
            moves=tuple(
                (move.origin, move.target)
                for move in moves
                if move.origin and move.target and move.origin != move.target
            ),
            events=stages[index].events if stages else played.step.events,
            orders=tuple(stage.orders for stage in stages[: index + 1] if stage.orders),
            sheets=self._sheets(played, index),
            tallies=_tallies(stages[: index + 1]),
        )
        return self._shown(bare, played.step.state if is_last else played.state, is_last)

    def _sheets(self, played: _Played, index: int) -> Mapping[Seat, tuple[UnitOrder, ...]]:
        actions = {proof.seat: self._game.parse(proof.action) for proof in played.turn.proofs}
        return self._game.opened(played.state, actions, played.step.stages, index) or {}

    def _before(self, played: _Played, index: int) -> Layout:
        """Return how the board lay before a stage."""
        earlier = played.step.stages[index - 1].expected if index else None
        return earlier if earlier is not None else self._layout_of(played.state)

    def _layout_of(self, state: Any) -> Layout:
        return self._game.expected(state) or {}

    def _shown(self, bare: ReplayStep, state: Any, is_last: bool = True) -> ReplayStep:
        """Return a scene with what the game shows beside the board.

        Figures at pieces hold only when a turn is done.
        """
        changed: dict[str, Any] = {}
        if standing := self._game.standing(state, None):
            changed = {
                "facts": standing.facts,
                "cards": standing.hands,
                "badges": standing.badges if is_last else {},
            }
        if tableau := self._game.tableau(state, None):
            changed = {**changed, **self._cards(state, tableau)}
        return ReplayStep(**{**vars(bare), **changed})

    def _cards(self, state: Any, tableau: CardUi) -> dict[str, Any]:
        """Return each seat's hand as its owner saw it: the game is over."""
        own = {seat: self._game.tableau(state, seat) for seat in SEATS}
        return {
            "facts": tableau.facts,
            "lanes": tableau.lanes,
            "hands": {
                seat: hand
                for seat in SEATS
                if (mine := own[seat]) and (hand := mine.hands.get(seat))
            },
            "count": (tableau.count.number, tableau.count.label) if tableau.count else None,
        }

    def outcome(self) -> Outcome | None:
        """Return how it ended by its rules.

        None: it was ended by somebody's word, or by a clock.
        """
        return self._game.outcome(self.end)

    @property
    def end(self) -> Any:
        """Return the state after the last turn."""
        return self._turns[-1].step.state if self._turns else self._first


def _events_by_scene(step: Step[Any]) -> Sequence[tuple[Event, ...]]:
    return [stage.events for stage in step.stages] or [step.events]


def _past_turn(number: int, turn: PlayedTurn, first: int, last: int, counted: int) -> PastTurn:
    proofs = tuple(
        Proof(seat, turn.orders[seat].action, turn.orders[seat].salt, turn.orders[seat].receipt)
        for seat in SEATS
        if seat in turn.orders
    )
    return PastTurn(number, turn.moment, proofs, first, last, counted)


def _tallies(shown: Sequence[Stage]) -> Any:
    return next((stage.tallies for stage in reversed(shown) if stage.tallies), ())


def ended_by_word(game: Game[Any, Any], told: dict[str, Any]) -> Outcome:
    """Return the end that no rule but somebody's word or a clock has brought.

    Raises `Malformed` for words of no such end.
    """
    names = {seat: game.sides[seat].name for seat in SEATS}
    ends = [Outcome(frozenset(), HOST_ENDED), Outcome(frozenset(), say("A draw."))]
    if told.get("reason") == "Both agreed on a draw.":  # as games of earlier versions say it
        return Outcome(frozenset(), say("A draw."))
    for seat in SEATS:
        winner = frozenset({seat.other})
        ends.append(Outcome(winner, say("{side!c} resigns.", side=names[seat])))
        ends.append(Outcome(winner, say("{side!c} has no time left.", side=names[seat])))
    for end in ends:
        if told == {"winners": sorted(end.winners), "reason": str(end.reason)}:
            return end
    raise Malformed(
        say("The game is not over after its last turn, and nobody has resigned or agreed on a draw")
    )


HOST_ENDED = say("The owner ended the game.")
OWNER_ENDED = (HOST_ENDED, "The host ended the game.")
"""How a game was broken off, in words of today and of version 1.0."""
