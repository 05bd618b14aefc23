"""Check a game for mistakes and missing parts, for its author.

The check looks at what the game declares, and plays some random games.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import msgspec

from companion.core.errors import CompanionError
from companion.core.i18n import translate_for_json
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.games.base import AnyGame, Step
from companion.games.plugins import plugin_games

# Maximum number of characters of `summary`, which the lobby shows in one line.
MAX_SUMMARY_LENGTH = 41
# Maximum number of characters of a caption of `how_to_win`: two lines of 17.
MAX_CAPTION_LENGTH = 34
# Number of random games that are played. With more the check would be slower, with fewer it would
# miss rare faults.
GAMES_TRIED = 20
# Maximum number of turns of a random game, many times those of a game between people.
MAX_TURNS = 2000

_encode = msgspec.json.Encoder(enc_hook=translate_for_json).encode


def find_faults(name: str) -> tuple[str, ...]:
    """Return a sentence for each fault that makes a game unplayable or wrong."""
    left_out = [game.trouble for game in plugin_games() if game.name == name and game.trouble]
    if name not in GAMES:
        return tuple(left_out) or (
            f"There is no game “{name}”: install its package, then look at its entry point.",
        )
    game = GAMES[name]
    try:
        return tuple(
            dict.fromkeys((*_find_faults_of_declarations(game), *_find_faults_in_play(game)))
        )
    except Exception as error:  # report any error to the author
        return (f"It raises {type(error).__name__}: {error}.",)


def missing_parts(name: str) -> tuple[str, ...]:
    """Return a sentence for each optional part that a game does not have."""
    game = GAMES[name]
    state = game.setup(game.options({}), Random(0))
    pads = [game.pad(state, seat) for seat in game.to_act(state)]
    has_part = {
        "lesson: nobody is guided through a first game": game.lesson is not None,
        "how_to_win: the lobby shows no three captions": len(game.how_to_win) == 3,
        "pad: it is played by phones only": any(pads),
        "expected: the camera checks nothing": game.expected(state) is not None,
        "lead: nobody can say who is ahead": game.lead(state) is not None,
        "picture to a rule: its rules are words alone": any(rule.example for rule in game.rules),
    }
    return tuple(f"It has no {part}." for part, is_present in has_part.items() if not is_present)


def _find_faults_of_declarations(game: AnyGame) -> Iterator[str]:
    """Yield the faults of what a game declares: rules, summary, captions, options, and kit."""
    ids = [rule.id for rule in game.rules]
    if not ids:
        yield "It has no rules: write at least one paragraph."
    if len(ids) != len(set(ids)):
        yield "Two paragraphs of its rules have the same id."
    for name, rule in (("turn_rule", game.turn_rule), ("end_rule", game.end_rule)):
        if rule not in ids:
            yield f"Its {name} names no paragraph of its rules: {rule}."
    if len(game.summary) > MAX_SUMMARY_LENGTH:
        yield f"Its summary has {len(game.summary)} letters: {MAX_SUMMARY_LENGTH} at most."
    if any(len(caption) > MAX_CAPTION_LENGTH for caption in game.how_to_win):
        yield f"A caption of how_to_win has more than {MAX_CAPTION_LENGTH} letters."
    options = game.options({})
    for row in game.option_rows:
        if getattr(options, row.name) != row.choices[0][1]:
            yield f"The first choice of its option {row.name} is not the default."
    kit = game.kit(options)
    if {face for piece in kit.pieces for face in piece} != {face.name for face in kit.faces}:
        yield "The pieces of its kit are not made of the faces of its kit."


def _find_faults_in_play(game: AnyGame) -> Iterator[str]:
    """Play random games, and yield a sentence for each fault."""
    options = game.options({})
    for seed in range(GAMES_TRIED):
        rng = Random(seed)
        state = game.setup(options, rng)
        same_setup = game.setup(options, Random(seed))
        if _encode_state(game, state) != _encode_state(game, same_setup):
            yield "Two set-ups with the same random numbers differ."
        turns = 0
        while (due := game.to_act(state)) and turns < MAX_TURNS:
            actions = {seat: game.random_action(state, seat, rng) for seat in sorted(due)}
            for seat, action in actions.items():
                yield from _find_faults_of_action(game, state, seat, action)
            # seeded by the turn, because the same turn is applied again below
            step = game.apply(state, actions, Random(turns))
            yield from _find_faults_of_apply(game, state, actions, step, turns)
            yield from _find_faults_of_step(game, step)
            state = step.state
            turns += 1
        if turns == MAX_TURNS:
            yield f"A game played at random does not end within {MAX_TURNS} turns."
        elif game.outcome(state) is None:
            yield "Nobody is to act and there is no outcome."
        for viewer in (None, *SEATS):
            _encode(game.view(state, viewer))


def _encode_state(game: AnyGame, state: Any) -> bytes:
    """Return a state as bytes, to compare it with others."""
    return _encode(game.dump(state))


def _find_faults_of_apply(
    game: AnyGame, state: Any, actions: Mapping[Seat, Any], step: Step[Any], turn: int
) -> Iterator[str]:
    """Yield the faults of `apply`, which has returned this `step` for a turn."""
    before = _encode_state(game, state)
    # applying the same turn again has to give the same state
    repeated_step = game.apply(state, actions, Random(turn))
    after = _encode_state(game, step.state)
    if _encode_state(game, repeated_step.state) != after:
        yield "The same actions lead to different states: draw by the rng that apply is given."
    if _encode_state(game, state) != before:
        yield "apply changes the state that it is given: make a new one."


def _find_faults_of_action(game: AnyGame, state: Any, seat: Seat, action: Any) -> Iterator[str]:
    """Yield the faults of the rules about a legal action, and of its notation."""
    try:
        game.check(state, seat, action)
        text = game.format(action)
        if game.format(game.parse(text)) != text:
            yield f"parse and format do not agree on “{text}”."
    except CompanionError as error:
        yield f"A legal action is refused: {error.message}."
    if game.outcome(state) is not None:
        yield "Somebody is to act after the end."


def _find_faults_of_step(game: AnyGame, step: Step[Any]) -> Iterator[str]:
    """Yield a sentence for each rule, square or face that a step names but the game lacks."""
    kit = game.kit(game.options({}))
    squares = set(kit.board.squares)
    faces = {face.name for face in kit.faces}
    rules = {rule.id for rule in game.rules}
    for event in step.events:
        if event.rule is not None and event.rule not in rules:
            yield f"An event names a paragraph that is not there: {event.rule}."
    for stage in step.stages:
        layout = stage.expected or {}
        if not squares.issuperset(layout):
            yield "A layout has squares that are not on the board."
        if not faces.issuperset(itertools.chain(*layout.values())):
            yield "A layout has faces that the kit does not have."
