"""What every game must keep, the made-up one included."""

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

ALL = [*GAMES.values(), Toy()]
EACH = pytest.mark.parametrize("game", ALL, ids=lambda game: game.name)


def random_game(
    game: Game[Any, Any], seed: int, cap: int = 60
) -> list[tuple[Any, dict[Seat, Any]]]:
    """Return states and the actions taken in them."""
    rng = Random(seed)
    state = game.setup(game.options({}), rng)
    path = []
    while (due := game.to_act(state)) and len(path) < cap:
        actions = {}
        for seat in due:
            actions[seat] = game.random_action(state, seat, rng)
        path.append((state, actions))
        state = game.apply(state, actions, rng).state
    return path


@EACH
def test_declares_what_pages_and_kit_need(game: Game[Any, Any]) -> None:
    options = game.options({})
    kit = game.kit(options)
    assert set(game.sides) == set(SEATS)
    with pytest.raises(Malformed, match="unknown field `nonsense`"):
        game.options({"nonsense": 1})
    ids = [rule.id for rule in game.rules]
    assert len(ids) == len(set(ids))
    for row in game.option_rows:
        assert getattr(options, row.name) == row.choices[0][1], "the first choice is the default"
        for _, value in row.choices:
            game.options({row.name: value})
    names = {face.drawing for face in kit.faces} | {mark.drawing for mark in kit.board.marks}
    names |= {side.drawing for side in game.sides.values()}
    names |= {kind.look.around for kind in (*CommonEvent, *game.events)} - {""}
    assert names <= set(drawings.DRAWINGS)
    assert {name for piece in kit.pieces for name in piece} == {face.name for face in kit.faces}


def test_one_name_is_one_event_and_one_sound() -> None:
    cues = [str(cue) for cue in event_cues()]
    assert len(set(cues)) == len(cues)
    assert not set(cues) & set(Cue), "a broker could not tell an event's cue from the table's"
    for game in ALL:
        assert game.events is CommonEvent or not {*CommonEvent} & {*game.events}, (
            "what is common is not declared again"
        )


@pytest.mark.parametrize("text", ["H4 40", "A4", "A4 loud", ""])
def test_an_unplayable_tone_cannot_be_declared(text: str) -> None:
    with pytest.raises(ValueError, match=r"no note|needs its milliseconds|could not convert"):
        EventCue("wrong", text)


# Corner markers, the first and last marker and the number of pieces or cards, squares and gaps in
# mm.
PRINTED = {
    "outbuffered": ((0, 1, 2, 3), (20, 23, 4), 46, 3),
    "scouts": ((4, 5, 6, 7), (30, 53, 24), 35, 0),
    "arena": ((8, 9, 10, 11), (54, 69, 16), 30, 0),
    "kahmate": ((12, 13, 14, 15), (70, 94, 25), 31, 0),
    "binmat": ((16, 17, 18, 19), (100, 177, 78), 70, 2),
}


@pytest.mark.parametrize("name", GAMES)
def test_kits_that_are_printed_stay_good(name: str) -> None:
    kit = GAMES[name].kit(GAMES[name].options({}))
    markers = [marker for face in kit.faces for marker in face.markers]
    if kit.deck:
        markers += [card.marker for card in kit.deck.cards]
    ends = (markers[0], max(markers), len(set(markers)))
    board = kit.board
    assert (board.corners, ends, board.square_mm, board.gap_mm) == PRINTED[name]


@EACH
@pytest.mark.parametrize("seed", range(5))
def test_random_games_keep_the_contract(game: Game[Any, Any], seed: int) -> None:
    ids = {rule.id for rule in game.rules}
    path = random_game(game, seed)
    for state, actions in path:
        kept = copy.deepcopy(state)
        for _seat, action in actions.items():
            assert game.parse(game.format(action)) == action
        game.require(state, actions)
        step = game.apply(state, actions, Random(1))
        assert step == game.apply(state, actions, Random(1)), "apply is a pure function"
        assert state == kept, "a state never changes"
        assert {event.rule for event in step.events} - {None} <= ids
        assert {event.kind for event in step.events} <= {*CommonEvent, *game.events}, (
            "an event nobody has declared"
        )
        for viewer in (None, *SEATS):
            msgspec.json.encode(game.view(step.state, viewer))
        msgspec.json.encode(game.dump(step.state))
        assert all(len(stage.title) <= 24 for stage in step.stages)
        if step.stages:
            last = step.stages[-1].expected
            assert last == game.expected(step.state) or (
                last is None and not game.is_checked(step.state)
            )
    assert path
    if game.outcome(step.state):
        for given in ({}, actions):
            with pytest.raises(Illegal) as refused:
                game.require(step.state, given)
            assert (refused.value.reason, refused.value.rule) == (Refusal.GAME_OVER, game.end_rule)


@EACH
def test_the_first_turn_refuses_what_is_not_due(game: Game[Any, Any]) -> None:
    rng = Random(1)
    state = game.setup(game.options({}), rng)
    paragraphs = {rule.id for rule in game.rules}
    assert game.end_rule in paragraphs
    due = game.to_act(state)
    actions = {seat: game.random_action(state, seat, rng) for seat in sorted(due)}
    wrong = [({}, Refusal.SEATS_MISSING)]
    if outsiders := set(SEATS) - due:
        both = {**actions, outsiders.pop(): next(iter(actions.values()))}
        wrong.append((both, Refusal.NOT_TO_ACT))
    for given, reason in wrong:
        with pytest.raises(Illegal) as refused:
            game.require(state, given)
        assert refused.value.reason is reason
        assert refused.value.rule in paragraphs


@EACH
def test_plans_and_pads_depend_on_keys_alone(game: Game[Any, Any]) -> None:
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
    class Former(Toy, CardGame[Any, Any], TimedGame[Any, Any], ChessClockGame[Any, Any]):
        pass

    game = Former()
    state = game.setup(game.options({}), Random(0))
    step = game.apply(state, {Seat.SOUTH: 2}, Random(0))
    assert game.layouts_by_hand(state, Seat.SOUTH, 2, step) == (game.expected(step.state),)


def test_a_game_refuses_all_but_legal_actions() -> None:
    class Plain(Toy):
        check = Game.check

    game = Plain()
    with pytest.raises(Illegal, match="That cannot be done now") as refused:
        game.check(game.setup(game.options({}), Random(0)), Seat.SOUTH, 3)
    assert (refused.value.reason, refused.value.rule) == (Refusal.AGAINST_RULES, "race")


def test_an_unknown_games_error_names_known_ones() -> None:
    with pytest.raises(Malformed, match="no game “chess”: choose one of outbuffered"):
        game_named("chess")


def test_every_game_has_counts_and_a_golden_game() -> None:
    for name in GAMES:
        files = [*Path(__file__).parent.rglob(f"test_{name}*.py")]
        for golden in ("GOLDEN_COUNTS", "GOLDEN_GAME"):
            pattern = re.compile(rf"^{golden}\b.* = .", re.MULTILINE)
            assert any(pattern.search(file.read_text(encoding="utf-8")) for file in files), name
