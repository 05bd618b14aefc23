"""Replay of a finished game scene by scene. Every turn is resolved again, every receipt checked.

Turns are counted in two ways. In the game file, a turn is one decision with its effect. Its number
in the file is counted from 1, so it is the index in `Replay.turns` plus 1. The game's own count,
which people read, may put several turns of the file into one (see `Game.turn_number`).

A stage is a part of a turn that hands carry out on the board before the next one is shown. A scene
is the board after a stage. Scene 0 is the start.
"""

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
from companion.table.session import ABANDONED

# How a game ended that its owner has ended, as this version and as version 1.0 say it.
OWNER_ENDED = (ABANDONED.reason, "The host ended the game.")
# End of the moment under which the set-up of a game is photographed: `3.0` in game 3.
_SET_UP_TICK = ".0"


class ReplayedTurn(NamedTuple):
    """A turn of the game file that the rules have resolved again."""

    number_in_file: int
    """Number of the turn in the file, from 1 on."""
    moment: str
    """Id of the decision, such as `3.7` for the seventh one of game 3."""
    actions: Mapping[Seat, PlayedAction]
    first_scene: int
    """Index of its first scene in the replay."""
    last_scene: int
    """Index of its last scene."""
    turn_number: int
    """Number of the turn in the game's own count. 0 for a part of the set-up."""
    state: Any
    """The game's state before the turn."""
    step: Step[Any]
    """What the rules made of the turn: its stages, its events, and the state after it."""


class Replay:
    """Replay of a finished game. All turns are resolved at once, scenes are made on request.

    Any thread may request scenes.

    Raises a `CompanionError` if the game or its options are unknown. If the rules refuse a turn, or
    if a receipt does not match its action, `trouble` says so, and the replay ends before that turn.
    """

    def __init__(self, line: GameLine, played: GameFile, photographs: Sequence[str] = ()) -> None:
        self.line = line
        self.trouble = ""
        """Sentences on turns, receipts or chance that do not match. Empty if all match."""
        self.photographs = frozenset(photographs)
        """Moments of the turns that have a photograph."""
        self.game: Game[Any, Any] = game_named(played.game)
        self._raw_options = played.options
        self._options = self.game.options(played.options)
        self.kit: Kit = self.game.kit(self._options)
        self._first_state: Any = self.game.setup(self._options, turn_random(played.seed, 0))
        self.chance = chance_of_file(played, line.number)
        """Where the chance of the game comes from, for people to check. None if it uses none.

        Its `faults` are sentences on what does not match: commitment, secret or seed.
        """
        self.turns: list[ReplayedTurn] = []
        try:
            for state, turn, step in replay_turns(played):
                self._add_turn(state, turn, step)
        except CompanionError as error:
            self.trouble = error.message
        if self.chance and self.chance.faults:
            self.trouble = joined(" ", (*self.chance.faults, self.trouble))

    def _add_turn(self, state: Any, turn: PlayedTurn, step: Step[Any]) -> None:
        """Add a turn: the state before it, and the step that the rules made of it."""
        number_in_file = len(self.turns) + 1
        first = self.scene_count
        actions = {seat: turn.actions[seat] for seat in SEATS if seat in turn.actions}
        # a turn without stages still has one scene
        last = first + max(1, len(step.stages)) - 1
        turn_number = self.game.turn_number(state)
        if turn_number is None:
            turn_number = number_in_file
        self.turns.append(
            ReplayedTurn(
                number_in_file, turn.moment, actions, first, last, turn_number, state, step
            )
        )

    @property
    def scene_count(self) -> int:
        """The number of scenes. The first one is the start."""
        return self.turns[-1].last_scene + 1 if self.turns else 1

    def photograph_moment(self, turn: int) -> str:
        """Return the moment under which the board was photographed after a turn.

        `turn` is its number in the file, 0 for the set-up. Return an empty string if there is no
        photograph.
        """
        moment = self.turns[turn - 1].moment if turn else f"{self.line.number}{_SET_UP_TICK}"
        return moment if moment in self.photographs else ""

    @cached_property
    def leads(self) -> tuple[float, ...]:
        """South's lead at the start and after every turn, as `Game.lead` gives it.

        A lead is negative where North leads. The result is empty if the game has no leads.

        If the rules decided the game, the last lead is set to that of the winner, because a win may
        come while the other side is ahead. It is then as large as any lead before, and at least 1.
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
        """The memorable events in their order."""
        highlights = []
        for turn in self.turns:
            step = turn.step
            events_by_scene = [stage.events for stage in step.stages] or [step.events]
            for scene_index, events in enumerate(events_by_scene, turn.first_scene):
                for event in events:
                    if event.kind.highlight:
                        highlights.append(HighlightedEvent(scene_index, turn.number_in_file, event))
        return tuple(highlights)

    def decision_of(self, turn: int, seat: Seat) -> tuple[MachineTurn, str] | None:
        """Return a seat's decision in a turn, and the action that the seat chose.

        `turn` is the number of the turn in the file. The decision has only what the seat could know
        then. It has the form in which machine players get theirs, because the coach asks a bot what
        it would have done. Return None if the seat did not act in this turn.
        """
        past = self.turns[turn - 1]
        if seat not in past.actions:
            return None
        # without options that nobody knew then, such as the order of a deck
        options = dict(self._raw_options)
        for hidden in self.game.hidden_options(self._options) or ():
            options.pop(hidden, None)
        earlier = self.turns[: turn - 1]
        decision = MachineTurn(
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
        return decision, past.actions[seat].action

    def spell_action(self, seat: Seat, moment: str, action: str) -> tuple[SpelledOrder, ...]:
        """Return an action in words and drawings, in the situation before the turn of this moment.

        The action need not be the one that was played. Raises a `CompanionError` if it was not
        legal then.
        """
        state = next(turn.state for turn in self.turns if turn.moment == moment)
        return spell_legal_action(self.game, state, seat, action)

    def scene(self, index: int) -> ReplayScene:
        """Return one scene. Raises `IndexError` if the replay has no scene with this index."""
        if index == 0:
            layout = self._layout_of(self._first_state)
            start = ReplayScene(turn=0, stage=0, stages=0, title=say("The start"), layout=layout)
            return self._complete(start, self._first_state)
        for turn in self.turns:
            if turn.first_scene <= index <= turn.last_scene:
                return self._scene_of(turn, index - turn.first_scene)
        raise IndexError(index)

    def _scene_of(self, turn: ReplayedTurn, stage_index: int) -> ReplayScene:
        """Return the scene after a stage of a turn.

        A turn without stages has one scene, for which `stage_index` is 0.
        """
        stages = turn.step.stages
        shown = stages[: stage_index + 1]
        is_last = stage_index + 1 >= len(stages)
        before, after = self._layouts_of_stage(turn, stage_index, is_last)
        moves_by_hand = () if self.kit.deck else hand_moves(self.kit, before, after)
        actions = {seat: self.game.parse(sealed.action) for seat, sealed in turn.actions.items()}
        tallies = [stage.tallies for stage in shown if stage.tallies]
        scene = ReplayScene(
            turn=turn.number_in_file,
            stage=stage_index + 1 if stages else 0,
            stages=len(stages),
            title=stages[stage_index].title if stages else "",
            layout=after,
            # only pieces that went from one square to another: no others can have an arrow
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
            # the rules expect no layout, for example when a game ends with a robot that cannot
            # return, so show the last known one
            after = before
        return before, after

    def _layout_of(self, state: Any) -> Layout:
        return self.game.expected(state) or {}

    def _complete(self, scene: ReplayScene, state: Any, is_last: bool = True) -> ReplayScene:
        """Return a scene with everything that the game shows beside the board in a state.

        `is_last` is whether the scene is the last one of its turn. Only then the state is that of
        the scene, so that the badges on pieces are right.
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
        """How the game ended by its rules.

        None if the rules did not end it: somebody resigned or had no time left, both agreed on a
        draw, or the owner ended the game.
        """
        return self.game.outcome(self.final_state)

    @property
    def final_state(self) -> Any:
        """The state after the last turn."""
        return self.turns[-1].step.state if self.turns else self._first_state


def outcome_without_rules(game: Game[Any, Any], ending: dict[str, Any]) -> Outcome:
    """Return the outcome of a game that its rules did not end.

    Somebody resigned or had no time left, both agreed on a draw, or the owner ended the game.
    `ending` is the outcome in a game file. It has no code for the kind of ending, only the winners
    and the reason as an English sentence. So every possible outcome is made, and the one with the
    same winners and the same sentence is returned.

    Raises `Malformed` if `ending` is none of these outcomes.
    """
    names = {seat: game.sides[seat].name for seat in SEATS}
    draw = Outcome(frozenset(), say("A draw."))
    reason = ending.get("reason")
    # two sentences that earlier versions said
    if reason == "Both agreed on a draw.":
        return draw
    if reason == OWNER_ENDED[1]:
        return ABANDONED
    outcomes = [draw, ABANDONED]
    for loser in SEATS:
        winner = frozenset({loser.other})
        outcomes.append(Outcome(winner, say("{side!c} resigns.", side=names[loser])))
        outcomes.append(Outcome(winner, say("{side!c} has no time left.", side=names[loser])))
    for outcome in outcomes:
        if ending == {"winners": sorted(outcome.winners), "reason": str(outcome.reason)}:
            return outcome
    raise Malformed(
        say("The game is not over after its last turn, and nobody has resigned or agreed on a draw")
    )
