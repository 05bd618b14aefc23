"""Test that everything the games say to people can be translated.

Random games are played with every option, and wrong actions are refused. The translation here sets
each sentence in brackets, so that words outside them were never given to `say`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from random import Random
from string import Formatter
from typing import Any

import pytest
from words_tools import bracketed, untranslated_words

from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import Sentence, Verbatim, sentence_from_json, sentence_to_json, translate
from companion.core.kit import SEATS, Deck, Face, Kit, Seat, Side
from companion.games import GAMES
from companion.games.base import Event, Example, Game, OptionRow, Outcome, Preset, Rule, Stage, Step
from companion.games.pads import Key
from companion.games.screen import (
    Badge,
    BoardUi,
    CardUi,
    ChoiceKey,
    Count,
    Direction,
    Duel,
    Duellist,
    Lane,
    OrderKind,
    Play,
    Tally,
    Unit,
)

EVERY_GAME = pytest.mark.parametrize("name", GAMES)
# Number of decisions after which a random game is broken off.
MAX_DECISIONS = 80
# Costly questions are asked only in every sixth position.
COSTLY_INTERVAL = 6
# Number of altered actions that are tried in such a position.
ALTERED_COUNT = 5

# Fields that people read or check, by type. All other fields are followed further down.
TEXT_FIELDS: Mapping[type, tuple[str, ...]] = {
    Badge: ("text",),
    ChoiceKey: ("label", "hint"),
    Count: ("label",),
    Deck: ("lane_piles", "side_piles"),
    Direction: ("label",),
    Duel: ("hint",),
    Duellist: ("face", "text"),
    Event: ("text", "why"),
    Example: ("caption",),
    Face: ("name",),
    Key: ("label",),
    Kit: ("title", "notes"),
    Lane: ("name",),
    OptionRow: ("title", "sentence"),
    OrderKind: ("label",),
    Outcome: ("reason",),
    Play: ("label",),
    Preset: ("label",),
    Rule: ("title", "text"),
    Side: ("name",),
    Stage: ("title",),
    BoardUi: ("sign", "hint", "facts"),
    CardUi: ("acting", "sign", "hint", "facts", "piles"),
    Tally: ("total", "worth"),
    Unit: ("note",),
}
# Texts that at least one game does not accept as an action, to get all sentences of its parser.
NO_ACTIONS = [
    "",
    *[
        "?",
        "@",
        ".",
        "7",
        "-",
        "@z9",
        "z9-a1",
        "c1-c2-c3",
        "c1^c2-c3",
        "a1^z99",
        "R@a1",
        "R@a1-c3",
        "R@b1-a1",
    ],
    *["B@j9", "z9!z8", "9:Z", "1:Q", "4x", "⟂", "UU", "c7//p0a"],
    "1:N 1:N",
    "N " * 30,
    "a1-" * 200,
    "p0 d1 --",
]
SQUARE = re.compile(r"[a-h]\d{1,2}")
# The same in every language: squares, and an attack in Arena. Single letters and cards need no
# pattern, because `untranslated_words` ignores them.
NOTATION = re.compile(r"\b[a-h]\d{1,2}\b|\ba[NESW]\b")


@pytest.fixture(autouse=True)
def bracketed_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the translations of every language but English by brackets."""
    monkeypatch.setattr("companion.core.i18n.translate_pattern", pieces_in_brackets)


def pieces_in_brackets(language: str, one: str, many: str = "", n: int | None = None) -> str:
    """Return a known pattern with brackets around its own words, but not around its parts."""
    pattern = many if many and n != 1 else one
    return _in_pieces(pattern) if bracketed(language, one, many, n).startswith("⟦") else pattern


@cache
def _in_pieces(pattern: str) -> str:
    """Return a pattern with brackets around the words between its parts."""
    pieces = ""
    for words, name, form, conversion in Formatter().parse(pattern):
        pieces += f"⟦{words}⟧" if words else ""
        if name is not None:
            suffix = f"!{conversion}" if conversion else ""
            suffix += f":{form}" if form else ""
            pieces += f"{{{name}{suffix}}}"
    return pieces


# ---- texts of a game -----------------------------------------------------------------------------


@dataclass
class TextCollector:
    """Checks the texts of a game, and keeps those that are not translated, with their places."""

    untranslated: dict[str, str] = field(default_factory=dict)
    checked: set[tuple[str, str]] = field(default_factory=set)

    def check(self, where: str, text: object) -> None:
        """Note a text that keeps English words, or that JSON does not preserve."""
        if not isinstance(text, str) or (text, getattr(text, "pattern", "")) in self.checked:
            return
        self.checked.add((text, getattr(text, "pattern", "")))
        words = translate(text, "es")
        decoded = sentence_from_json(json.loads(json.dumps(sentence_to_json(text))))
        if translate(decoded, "es") != words:
            self.untranslated[text] = f"{where} (as JSON)"
        for typed in typed_parts(text):
            words = words.replace(typed, " ")
        if untranslated_words(NOTATION.sub(" ", words)):
            self.untranslated[text] = where

    def check_all(self, where: str, thing: object) -> None:
        """Check the text fields of a thing and of everything in it."""
        if isinstance(thing, str) or thing is None:
            return
        if isinstance(thing, Mapping):
            thing = tuple(thing.values())
        if isinstance(thing, tuple | list):
            for item in thing:
                self.check_all(where, item)
            return
        shown = TEXT_FIELDS.get(type(thing), ())
        for name in shown:
            self.check_texts(f"{where}: {type(thing).__name__}.{name}", getattr(thing, name))
        if is_dataclass(thing) and not isinstance(thing, type):
            for other_field in fields(thing):
                if other_field.name not in shown and other_field.init:
                    self.check_all(where, getattr(thing, other_field.name))

    def check_texts(self, where: str, value: object) -> None:
        """Check a text, or all texts in a sequence or a mapping."""
        if isinstance(value, Mapping):
            texts = [*value.values(), *(key for key in value if not isinstance(key, Seat))]
        else:
            texts = [*value] if isinstance(value, tuple | list) else [value]
        for text in texts:
            self.check(where, text)


def typed_parts(text: object) -> Iterator[str]:
    """Yield the parts of a sentence that somebody typed, which are the same in every language."""
    if isinstance(text, Verbatim) and text:
        yield text
    if isinstance(text, Sentence):
        for part in text.parts.values():
            yield from typed_parts(part)


def assert_all_translated(texts: TextCollector) -> None:
    lines = "\n".join(f"    {where}: {text}" for text, where in texts.untranslated.items())
    assert not texts.untranslated, f"{len(texts.untranslated)} texts are not translated:\n{lines}"
    assert len(texts.checked) > 30, "more texts must be checked than a few"


# ---- games ---------------------------------------------------------------------------------------


def option_sets(game: Game[Any, Any]) -> list[dict[str, Any]]:
    """Return sets of options for a game: none, each choice that is not the default, the presets.

    For an option that is a number, one choice is enough.
    """
    others = []
    for row in game.option_rows:
        values = [value for _, value in row.choices[1:]]
        others += [
            {row.name: value}
            for value in (values if all(isinstance(each, str) for each in values) else values[:1])
        ]
    return [{}, *others, *(dict(preset.options) for preset in game.presets if preset.options)]


def check_position(
    texts: TextCollector, game: Game[Any, Any], state: Any, asks_costly: bool
) -> None:
    """Check what a position shows to every viewer."""
    for viewer in (None, *SEATS):
        texts.check_all("standing", game.board_ui(state, viewer))
        texts.check_all("tableau", game.card_ui(state, viewer))
    for seat in game.to_act(state):
        if pad := game.pad(state, seat):
            texts.check_all("pad", pad)
        if asks_costly:
            plays = itertools.islice(game.plays(state, seat), 400)
            texts.check_all("plays", [play for play in plays if play.label != play.text])


def check_step(texts: TextCollector, step: Step[Any]) -> None:
    """Check the events of a step, and the instructions for hands."""
    texts.check_all("step", (*step.events, *step.stages))
    for stage in step.stages:
        for _, sentence in stage.todo:
            texts.check("todo", sentence)
        for tally in stage.tallies:
            for label, worth in tally.parts:
                texts.check("tally", label)
                texts.check("tally", worth)


def check_refusals(
    texts: TextCollector, game: Game[Any, Any], state: Any, actions: list[Any], rng: Random
) -> None:
    """Check the sentences by which a position refuses actions.

    These are earlier `actions` of the game, by either seat, and altered ones.
    """
    due = game.to_act(state)
    for seat in SEATS:
        written = [
            game.format(action) for action in rng.sample(actions, min(len(actions), ALTERED_COUNT))
        ]
        written += [alter(text, rng) for text in written]
        if seat in due:
            written += [
                alter(game.format(game.random_action(state, seat, rng)), rng)
                for _ in range(ALTERED_COUNT)
            ]
        for text in written:
            try:
                game.check(state, seat, game.parse(text))
            except CompanionError as refusal:
                texts.check("check", refusal.message)
        try:
            game.require(state, {seat: actions[0]} if actions else {})
        except CompanionError as refusal:
            texts.check("require", refusal.message)


def alter(notation: str, rng: Random) -> str:
    """Return an action with another square, or with a sign and a square appended."""
    square = f"{rng.choice('abcdefgh')}{rng.randint(1, 11)}"
    places = list(SQUARE.finditer(notation))
    if places and rng.random() < 0.8:
        place = rng.choice(places)
        return notation[: place.start()] + square + notation[place.end() :]
    return (
        f"{notation}{rng.choice('-^*!x&')}{square}"
        if places
        else rng.choice((f"{square}-{square}", "."))
    )


def play_and_check(
    texts: TextCollector, game: Game[Any, Any], options: dict[str, Any], seed: int
) -> None:
    """Play one random game, and check what it says."""
    rng = Random(f"{game.name}/{seed}")
    state = game.setup(game.options(options), rng)
    actions: list[Any] = []
    for number in range(MAX_DECISIONS):
        asks_costly = number % COSTLY_INTERVAL == seed % COSTLY_INTERVAL
        check_position(texts, game, state, asks_costly)
        due_seats = sorted(game.to_act(state))
        if asks_costly or not due_seats:
            check_refusals(texts, game, state, actions, rng)
        if not due_seats:
            break
        taken = {seat: game.random_action(state, seat, rng) for seat in due_seats}
        actions += taken.values()
        step = game.apply(state, taken, rng)
        check_step(texts, step)
        state = step.state
    texts.check_all("outcome", game.outcome(state))


@EVERY_GAME
def test_a_games_names_and_rules_are_translated(name: str) -> None:
    game = GAMES[name]
    texts = TextCollector()
    for text in (game.title, game.summary, *(side.name for side in game.sides.values())):
        texts.check("name", text)
    texts.check_all("words", (game.option_rows, game.rules, game.presets))
    for row in game.option_rows:
        for label, _ in row.choices:
            texts.check(f"choice of {row.name}", label)
        if row.free_text:
            for text in ("", ".", "s.\n...", "sSnN?", "ssSnN", "sSnN\n." * 30):
                try:
                    game.kit(game.options({row.name: text}))
                except Malformed as refusal:
                    texts.check(f"option {row.name}", refusal.message)
    kit = game.kit(game.options({}))
    texts.check_all("kit", kit)
    texts.check("board", kit.board.name)
    assert_all_translated(texts)


@EVERY_GAME
def test_a_games_events_and_refusals_are_translated(name: str) -> None:
    game = GAMES[name]
    texts = TextCollector()
    for seed, options in enumerate(option_sets(game)):
        play_and_check(texts, game, options, seed)
    for text in NO_ACTIONS:
        try:
            game.parse(text)
        except CompanionError as refusal:
            texts.check(f"parse of {text!r}", refusal.message)
    assert_all_translated(texts)
