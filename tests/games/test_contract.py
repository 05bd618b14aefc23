"""Tests of the contract of `Game`, which all games must keep, the made-up one of `toy.py` included.

The games are called directly, without a table. Random actions lead through their positions.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from toy import Toy

from companion.core import drawings
from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.event_cues import EventCue
from companion.core.kit import SEATS, Seat
from companion.core.ports import Cue
from companion.games import GAMES, event_cues, game_named
from companion.games.base import CardGame, ChessClockGame, Game, TimedGame
from companion.games.events import CommonEvent

ALL_GAMES = [*GAMES.values(), Toy()]
for_each_game = pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)


def random_game(
    game: Game[Any, Any], seed: int, max_turns: int = 60
) -> list[tuple[Any, dict[Seat, Any]]]:
    """Return the states of a random game, each with the actions taken in it."""
    rng = Random(seed)
    state = game.setup(game.options({}), rng)
    path = []
    while (due := sorted(game.to_act(state))) and len(path) < max_turns:
        actions = {}
        for seat in due:
            actions[seat] = game.random_action(state, seat, rng)
        path.append((state, actions))
        state = game.apply(state, actions, rng).state
    return path


@for_each_game
def test_a_game_declares_what_pages_and_kits_need(game: Game[Any, Any]) -> None:
    options = game.options({})
    kit = game.kit(options)
    assert set(game.sides) == set(SEATS)
    with pytest.raises(Malformed, match="unknown field `nonsense`"):
        game.options({"nonsense": 1})
    rule_ids = [rule.id for rule in game.rules]
    assert len(rule_ids) == len(set(rule_ids))

    # Each choice on the set-up page is a valid option, and the first one is the default.
    for row in game.option_rows:
        assert getattr(options, row.name) == row.choices[0][1], (
            "the first choice must be the default"
        )
        for _, value in row.choices:
            game.options({row.name: value})

    # Everything that the game draws has a drawing, and its pieces have exactly the faces of the
    # kit.
    drawing_names = {face.drawing for face in kit.faces} | {
        mark.drawing for mark in kit.board.marks
    }
    drawing_names |= {side.drawing for side in game.sides.values()}
    drawing_names |= {kind.look.around for kind in (*CommonEvent, *game.events)} - {""}
    assert drawing_names <= set(drawings.DRAWINGS)
    assert {name for piece in kit.pieces for name in piece} == {face.name for face in kit.faces}


def test_names_of_events_and_cues_are_unique() -> None:
    cues = [str(cue) for cue in event_cues()]
    assert len(set(cues)) == len(cues)
    assert not set(cues) & set(Cue), (
        "an event's cue must not have the name of one of the table's cues"
    )
    for game in ALL_GAMES:
        assert game.events is CommonEvent or not {*CommonEvent} & {*game.events}, (
            "a game must not declare a common event again"
        )


@pytest.mark.parametrize("text", ["H4 40", "A4", "A4 loud", ""])
def test_an_unplayable_tone_cannot_be_declared(text: str) -> None:
    with pytest.raises(ValueError, match=r"no note|needs its milliseconds|could not convert"):
        EventCue("wrong", text)


# What is printed of each game, by its name:
# - the markers of the board's corners,
# - the first and the last marker of its faces or cards, and how many there are,
# - the side of a square, and the gap between two squares, both in mm.
PRINTED_KITS = {
    "outbuffered": ((0, 1, 2, 3), (20, 23, 4), 46, 3),
    "scouts": ((4, 5, 6, 7), (30, 53, 24), 35, 0),
    "arena": ((8, 9, 10, 11), (54, 69, 16), 30, 0),
    "kahmate": ((12, 13, 14, 15), (70, 94, 25), 31, 0),
    "binmat": ((16, 17, 18, 19), (100, 177, 78), 70, 2),
}


@pytest.mark.parametrize("name", GAMES)
def test_printed_kits_stay_usable(name: str) -> None:
    """Another number would make the kits useless that people have printed already."""
    kit = GAMES[name].kit(GAMES[name].options({}))
    markers = [marker for face in kit.faces for marker in face.markers]
    if kit.deck:
        markers += [card.marker for card in kit.deck.cards]
    marker_range = (markers[0], max(markers), len(set(markers)))
    board = kit.board
    assert (board.corners, marker_range, board.square_mm, board.gap_mm) == PRINTED_KITS[name]


@for_each_game
@pytest.mark.parametrize("seed", range(5))
def test_random_games_keep_the_contract(game: Game[Any, Any], seed: int) -> None:
    rule_ids = {rule.id for rule in game.rules}
    path = random_game(game, seed)
    for state, actions in path:
        before = copy.deepcopy(state)
        for action in actions.values():
            assert game.parse(game.format(action)) == action
        game.require(state, actions)

        # The same actions and the same random numbers always give the same step.
        step = game.apply(state, actions, Random(1))
        assert step == game.apply(state, actions, Random(1)), (
            "the same actions must not give different steps"
        )
        assert state == before, "apply must not change the state"

        # The game declares all rules and kinds of the events.
        assert {event.rule for event in step.events} - {None} <= rule_ids
        assert {event.kind for event in step.events} <= {*CommonEvent, *game.events}, (
            "the game must declare each kind of event of the step"
        )

        # Views are plain JSON. The last stage expects the layout of the next state, unless the
        # board is not checked then.
        for viewer in (None, *SEATS):
            msgspec.json.encode(game.view(step.state, viewer))
        msgspec.json.encode(game.dump(step.state))
        assert all(len(stage.title) <= 24 for stage in step.stages)
        if step.stages:
            last_layout = step.stages[-1].expected
            assert last_layout == game.expected(step.state) or (
                last_layout is None and not game.is_checked(step.state)
            )
    assert path

    # After the end nobody may act.
    if game.outcome(step.state):
        for late_actions in ({}, actions):
            with pytest.raises(Illegal) as refused:
                game.require(step.state, late_actions)
            assert (refused.value.reason, refused.value.rule) == (Refusal.GAME_OVER, game.end_rule)


@for_each_game
def test_missing_and_surplus_actions_are_refused(game: Game[Any, Any]) -> None:
    rng = Random(1)
    state = game.setup(game.options({}), rng)
    rule_ids = {rule.id for rule in game.rules}
    assert game.end_rule in rule_ids
    due = game.to_act(state)
    actions = {seat: game.random_action(state, seat, rng) for seat in sorted(due)}
    # No action at all. Then, if only one seat has to act, an action of the other seat as well.
    wrong_actions = [({}, Refusal.SEATS_MISSING)]
    if waiting_seats := set(SEATS) - due:
        of_both_seats = {**actions, waiting_seats.pop(): next(iter(actions.values()))}
        wrong_actions.append((of_both_seats, Refusal.NOT_TO_ACT))
    for refused_actions, reason in wrong_actions:
        with pytest.raises(Illegal) as refused:
            game.require(state, refused_actions)
        assert refused.value.reason is reason
        assert refused.value.rule in rule_ids


@for_each_game
def test_pad_keys_spell_a_legal_action(game: Game[Any, Any]) -> None:
    """Keys are pressed in rotation until they spell an action. A pad accepts only its own keys."""
    state = game.setup(game.options({}), Random(0))
    for seat in SEATS:
        grammar = game.pad(state, seat)
        if grammar is None:
            continue
        draft: tuple[str, ...] = ()
        while grammar.text(draft) is None:
            key = grammar.keys[len(draft) % len(grammar.keys)]
            assert grammar.accepts(draft, key.pad)
            draft = (*draft, key.pad)
            assert grammar.count(draft) == len(draft)
        text = grammar.text(draft)
        assert text is not None
        game.check(state, seat, game.parse(text))
        assert not grammar.accepts(draft, "nonsense")


def test_a_game_with_the_former_bases_still_loads() -> None:
    # Games for version 1.0 derive from these classes, which no longer have members of their own.
    class GameWithFormerBases(
        Toy, CardGame[Any, Any], TimedGame[Any, Any], ChessClockGame[Any, Any]
    ):
        pass

    game = GameWithFormerBases()
    state = game.setup(game.options({}), Random(0))
    step = game.apply(state, {Seat.SOUTH: 2}, Random(0))
    assert game.layouts_by_hand(state, Seat.SOUTH, 2, step) == (game.expected(step.state),)


def test_the_default_check_refuses_unlisted_actions() -> None:
    class GameWithDefaultCheck(Toy):
        check = Game.check

    # The toy game moves by 1 or 2. 3 is not among its legal actions.
    game = GameWithDefaultCheck()
    with pytest.raises(Illegal, match="That cannot be done now") as refused:
        game.check(game.setup(game.options({}), Random(0)), Seat.SOUTH, 3)
    assert (refused.value.reason, refused.value.rule) == (Refusal.AGAINST_RULES, "race")


def test_an_unknown_games_error_lists_known_games() -> None:
    with pytest.raises(Malformed, match="no game “chess”: choose one of outbuffered"):
        game_named("chess")


def test_every_game_has_counts_and_a_golden_game() -> None:
    # A test of each game counts its positions, and another one plays a whole game.
    for name in GAMES:
        files = [*Path(__file__).parent.rglob(f"test_{name}*.py")]
        for constant in ("GOLDEN_COUNTS", "GOLDEN_GAME"):
            pattern = re.compile(rf"^{constant}\b.* = .", re.MULTILINE)
            assert any(pattern.search(file.read_text(encoding="utf-8")) for file in files), name
