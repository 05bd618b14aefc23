"""Replay of a finished game scene by scene. Every turn is resolved again, every receipt checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from companion.archive.game_file import (
    GameFile,
    PlayedAction,
    PlayedTurn,
    chance_of_file,
    replay_turns,
)
from companion.archive.played_games import GameLine, HighlightedEvent, ReplayScene
from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Kit, Layout, Seat
from companion.games import game_named
from companion.games.action_words import SpelledOrder, spell_legal_action
from companion.games.base import Game, Outcome, Step
from companion.table.board_check import hand_moves
from companion.table.chance.fairness import turn_random
from companion.table.seats.machine_seats import MachineTurn, to_json_values

# Reasons of a game that the owner ended, in this version's words and in those of version 1.0.
OWNER_ENDED = (say("The owner ended the game."), "The host ended the game.")
# Second part of the moment at which the set-up is photographed, `GAME.0`.
_SET_UP_TICK = ".0"


class ReplayedTurn(NamedTuple):
    """A turn of the game file that was played again, from the state before it."""

    number: int
    """Number of the turn in the file, from 1 on."""
    moment: str
    """Number of the decision, such as `3.7` for the seventh one of game 3."""
    actions: Mapping[Seat, PlayedAction]
    first_scene: int
    """Index of its first scene in the replay."""
    last_scene: int
    """Index of its last scene."""
    turn_number: int
    """Number in the game's own count, in which several turns of the file may be one.

    0 for a part of the set-up.
    """
    state: Any
    """The game's state before the turn."""
    step: Step[Any]


class Replay:
    """Replay of a finished game. Scenes are made on request, from any thread.

    A stage is a part of a turn that is carried out on the board before the next one is shown. A
    scene is the board after a stage, and scene 0 is the start.

    Raises a `CompanionError` if the game or its options are unknown. If turns or receipts do not
    match, `trouble` says so, and the replay ends before the first such turn.
    """

    def __init__(self, line: GameLine, played: GameFile, photographs: Sequence[str] = ()) -> None:
        self.line = line
        self.trouble = ""
        """Sentence on where file, rules or receipts disagree. Empty if they match."""
        self.photographs = frozenset(photographs)
        """Moments of the turns that have a photograph."""
        self.game: Game[Any, Any] = game_named(played.game)
        self._raw_options = played.options
        self._options = self.game.options(played.options)
        self.kit: Kit = self.game.kit(self._options)
        self._first_state: Any = self.game.setup(self._options, turn_random(played.seed, 0))
        self.chance = chance_of_file(played, line.number)
        self.turns: list[ReplayedTurn] = []
        try:
            for state, turn, step in replay_turns(played):
                self._add_turn(state, turn, step)
        except CompanionError as error:
            self.trouble = error.message
        if self.chance and self.chance.faults:
            self.trouble = joined(" ", (*self.chance.faults, self.trouble))

    def _add_turn(self, state: Any, turn: PlayedTurn, step: Step[Any]) -> None:
        """Add a turn with the state before it and the step that it made."""
        number = len(self.turns) + 1
        first = self.scene_count
        actions = {seat: turn.actions[seat] for seat in SEATS if seat in turn.actions}
        # a turn without stages still has one scene
        last = first + max(1, len(step.stages)) - 1
        turn_number = self.game.turn_number(state)
        if turn_number is None:
            turn_number = number
        self.turns.append(
            ReplayedTurn(number, turn.moment, actions, first, last, turn_number, state, step)
        )

    @property
    def scene_count(self) -> int:
        """Return the number of scenes. The first one is the start."""
        return self.turns[-1].last_scene + 1 if self.turns else 1

    def photograph_moment(self, turn: int) -> str:
        """Return the moment of the photograph after a turn (0: the set-up), empty without one."""
        moment = self.turns[turn - 1].moment if turn else f"{self.line.number}{_SET_UP_TICK}"
        return moment if moment in self.photographs else ""

    @cached_property
    def leads(self) -> tuple[float, ...]:
        """Return South's lead at the start and after every turn, as `Game.lead` gives it.

        It is negative where North leads. Empty if the game has no leads. If the rules decided the
        game, its last lead is the winner's: as large as any before, and at least 1.
        """
        leads: list[float] = []
        for state in (self._first_state, *(turn.step.state for turn in self.turns)):
            lead = self.game.lead(state)
            if lead is None:
                return ()
            leads.append(lead)
        outcome = self.outcome
        if outcome and len(outcome.winners) == 1:
            largest = max([1.0, *map(abs, leads)]) if len(leads) > 1 else 1.0
            leads[-1] = largest if Seat.SOUTH in outcome.winners else -largest
        return tuple(leads)

    @cached_property
    def highlights(self) -> tuple[HighlightedEvent, ...]:
        """Return the memorable events in their order."""
        highlights = []
        for turn in self.turns:
            step = turn.step
            events_by_scene = [stage.events for stage in step.stages] or [step.events]
            for scene_index, events in enumerate(events_by_scene, turn.first_scene):
                for event in events:
                    if event.kind.highlight:
                        highlights.append(HighlightedEvent(scene_index, turn.number, event))
        return tuple(highlights)

    def known_to(self, turn: int, seat: Seat) -> tuple[MachineTurn, str] | None:
        """Return what a seat could know when it acted in a turn (from 1 on), and its action.

        The coach reviews the turn with it. It is what a machine player would have got. None if the
        seat did not act in this turn.
        """
        past = self.turns[turn - 1]
        if seat not in past.actions:
            return None
        # remove hidden options such as the order of a deck, which nobody knew then
        options = dict(self._raw_options)
        for hidden in self.game.hidden_options(self._options) or ():
            options.pop(hidden, None)
        earlier = self.turns[: turn - 1]
        known = MachineTurn(
            seat=seat,
            name="",
            game=self.game.name,
            number=self.line.number,
            options=options,
            moment=past.moment,
            view=to_json_values(self.game.view(past.state, seat)),
            events=tuple(tuple(to_json_values(before.step.events)) for before in earlier),
            is_due=False,
            due_s=None,
        )
        return known, past.actions[seat].action

    def spell_action(self, seat: Seat, moment: str, action: str) -> tuple[SpelledOrder, ...]:
        """Return a legal action in words and drawings, for the turn of the replay at this moment.

        Raises a `CompanionError` if the action is not legal there.
        """
        state = next(turn.state for turn in self.turns if turn.moment == moment)
        return spell_legal_action(self.game, state, seat, action)

    def scene(self, index: int) -> ReplayScene:
        """Return one scene. Raises `IndexError`."""
        if index == 0:
            layout = self._layout_of(self._first_state)
            start = ReplayScene(turn=0, stage=0, stages=0, title=say("The start"), layout=layout)
            return self._complete(start, self._first_state)
        for turn in self.turns:
            if turn.first_scene <= index <= turn.last_scene:
                return self._scene_of(turn, index - turn.first_scene)
        raise IndexError(index)

    def _scene_of(self, turn: ReplayedTurn, stage_index: int) -> ReplayScene:
        """Return the board after a stage of a turn. A turn without stages has one scene, 0."""
        stages = turn.step.stages
        shown = stages[: stage_index + 1]
        is_last = stage_index + 1 >= len(stages)
        before, after = self._layouts_of_stage(turn, stage_index, is_last)
        moves_by_hand = () if self.kit.deck else hand_moves(self.kit, before, after)
        actions = {seat: self.game.parse(sealed.action) for seat, sealed in turn.actions.items()}
        tallies = [stage.tallies for stage in shown if stage.tallies]
        scene = ReplayScene(
            turn=turn.number,
            stage=stage_index + 1 if stages else 0,
            stages=len(stages),
            title=stages[stage_index].title if stages else "",
            layout=after,
            # without pieces that came to the board, left it, or were turned over
            moves=tuple(
                (move.origin, move.target)
                for move in moves_by_hand
                if move.origin and move.target and move.origin != move.target
            ),
            events=stages[stage_index].events if stages else turn.step.events,
            orders=tuple(stage.orders for stage in shown if stage.orders),
            sheets=self.game.opened(turn.state, actions, stages, stage_index) or {},
            tallies=tallies[-1] if tallies else (),
        )
        return self._complete(scene, turn.step.state if is_last else turn.state, is_last)

    def _layouts_of_stage(
        self, turn: ReplayedTurn, stage_index: int, is_last: bool
    ) -> tuple[Layout, Layout]:
        """Return the layout before a stage of a turn, and the one after it."""
        stages = turn.step.stages
        before = stages[stage_index - 1].expected if stage_index else None
        if before is None:
            before = self._layout_of(turn.state)
        after = stages[stage_index].expected if stages else None
        if after is None and is_last:
            after = self.game.expected(turn.step.state)
        if after is None:
            # the layout is unknown, for example when a game ends with a robot that cannot return
            after = before
        return before, after

    def _layout_of(self, state: Any) -> Layout:
        return self.game.expected(state) or {}

    def _complete(self, scene: ReplayScene, state: Any, is_last: bool = True) -> ReplayScene:
        """Return a scene with everything that the game shows beside the board in a state.

        Badges on pieces are valid only at the end of a turn (`is_last`).
        """
        if board_ui := self.game.board_ui(state, None):
            badges = board_ui.badges if is_last else {}
            scene = replace(scene, facts=board_ui.facts, cards=board_ui.hands, badges=badges)
        if card_ui := self.game.card_ui(state, None):
            # each hand as its owner saw it, since the game is over
            hands = {}
            for seat in SEATS:
                own = self.game.card_ui(state, seat)
                if own and (hand := own.hands.get(seat)):
                    hands[seat] = hand
            count = (card_ui.count.number, card_ui.count.label) if card_ui.count else None
            scene = replace(
                scene, facts=card_ui.facts, lanes=card_ui.lanes, hands=hands, count=count
            )
        return scene

    @property
    def outcome(self) -> Outcome | None:
        """Return how the game ended by its rules.

        Return None if it ended by resignation, agreement or the owner, or on time.
        """
        return self.game.outcome(self.final_state)

    @property
    def final_state(self) -> Any:
        """Return the state after the last turn."""
        return self.turns[-1].step.state if self.turns else self._first_state


def outcome_without_rules(game: Game[Any, Any], ending: dict[str, Any]) -> Outcome:
    """Return the outcome that ended a game without a decision by its rules.

    That is a resignation, an agreed draw, a lack of time, or the owner. `ending` is the outcome in
    a game file. Raises `Malformed` if it is none of these.
    """
    names = {seat: game.sides[seat].name for seat in SEATS}
    draw = Outcome(frozenset(), say("A draw."))
    if ending.get("reason") == "Both agreed on a draw.":  # wording of earlier versions
        return draw
    ends = [draw, Outcome(frozenset(), say("The owner ended the game."))]
    for seat in SEATS:
        winner = frozenset({seat.other})
        ends.append(Outcome(winner, say("{side!c} resigns.", side=names[seat])))
        ends.append(Outcome(winner, say("{side!c} has no time left.", side=names[seat])))
    for end in ends:
        if ending == {"winners": sorted(end.winners), "reason": str(end.reason)}:
            return end
    raise Malformed(
        say("The game is not over after its last turn, and nobody has resigned or agreed on a draw")
    )
