"""Everything the games say to people, in a language that nobody speaks: what has no brackets was
never given to `say`.

Random games of every game are played with every option, wrong things are asked of them, hands wrong
the board.
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

EACH = pytest.mark.parametrize("name", GAMES)
# Number of decisions after which a random game is left.
LONGEST = 80
# Costly questions are asked in every `SPARSE`-th position, of `BENT` bent actions.
SPARSE, BENT = 6, 5

# Fields that people read or hear, by type. All other fields are followed further down.
SHOWN: Mapping[type, tuple[str, ...]] = {
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
# Texts that are no action in one game or another.
GARBAGE = [
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
# What is the same in every language: squares, and an arena robot's attack. Single letters and
# cards are so anyway.
NOTATION = re.compile(r"\b[a-h]\d{1,2}\b|\ba[NESW]\b")


@pytest.fixture(autouse=True)
def in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every language but English is the one that nobody speaks."""
    monkeypatch.setattr("companion.core.i18n.translate_pattern", pieces_in_brackets)


def pieces_in_brackets(language: str, one: str, many: str = "", n: int | None = None) -> str:
    """Return a known pattern with each piece in brackets, so that its parts have to bring their
    own.
    """
    pattern = many if many and n != 1 else one
    return _in_pieces(pattern) if bracketed(language, one, many, n).startswith("⟦") else pattern


@cache
def _in_pieces(pattern: str) -> str:
    told = ""
    for words, name, form, conversion in Formatter().parse(pattern):
        told += f"⟦{words}⟧" if words else ""
        told += (
            ""
            if name is None
            else f"{{{name}{'!' + conversion if conversion else ''}{':' + form if form else ''}}}"
        )
    return told


# ---- what was told -------------------------------------------------------------------------------


@dataclass
class Told:
    """What a game has said, by where, and how it reads in the other language."""

    strays: dict[str, str] = field(default_factory=dict)
    checked: set[tuple[str, str]] = field(default_factory=set)

    def hear(self, where: str, text: object) -> None:
        """Note a text that keeps English words, or does not survive being kept as JSON."""
        if not isinstance(text, str) or (text, getattr(text, "pattern", "")) in self.checked:
            return
        self.checked.add((text, getattr(text, "pattern", "")))
        words = translate(text, "es")
        kept = sentence_from_json(json.loads(json.dumps(sentence_to_json(text))))
        if translate(kept, "es") != words:
            self.strays[text] = f"{where} (kept)"
        for each in typed_parts(text):
            words = words.replace(each, " ")
        if untranslated_words(NOTATION.sub(" ", words)):
            self.strays[text] = where

    def hear_all(self, where: str, thing: object) -> None:
        """Note what is shown of a thing and of everything within it."""
        if isinstance(thing, str) or thing is None:
            return
        if isinstance(thing, Mapping):
            thing = tuple(thing.values())
        if isinstance(thing, tuple | list):
            for each in thing:
                self.hear_all(where, each)
            return
        shown = SHOWN.get(type(thing), ())
        for name in shown:
            self.hear_texts(f"{where}: {type(thing).__name__}.{name}", getattr(thing, name))
        if is_dataclass(thing) and not isinstance(thing, type):
            for one in fields(thing):
                if one.name not in shown and one.init:
                    self.hear_all(where, getattr(thing, one.name))

    def hear_texts(self, where: str, value: object) -> None:
        """Note a text, or several."""
        if isinstance(value, Mapping):
            several = [*value.values(), *(key for key in value if not isinstance(key, Seat))]
        else:
            several = [*value] if isinstance(value, tuple | list) else [value]
        for each in several:
            self.hear(where, each)


def typed_parts(text: object) -> Iterator[str]:
    """Yield the parts of a sentence that somebody typed, which are the same in every language."""
    if isinstance(text, Verbatim) and text:
        yield text
    if isinstance(text, Sentence):
        for part in text.parts.values():
            yield from typed_parts(part)


def nothing_left(told: Told) -> None:
    lines = "\n".join(f"    {where}: {text}" for text, where in told.strays.items())
    assert not told.strays, f"{len(told.strays)} texts are not translated:\n{lines}"
    assert len(told.checked) > 30, "hardly anything was told"


# ---- games ---------------------------------------------------------------------------------------


def ways(game: Game[Any, Any]) -> list[dict[str, Any]]:
    """Return options to play a game with: none, other words, a number, presets."""
    others = []
    for row in game.option_rows:
        values = [value for _, value in row.choices[1:]]
        others += [
            {row.name: value}
            for value in (values if all(isinstance(each, str) for each in values) else values[:1])
        ]
    return [{}, *others, *(dict(preset.options) for preset in game.presets if preset.options)]


def listen(told: Told, game: Game[Any, Any], state: Any, sparse: bool) -> None:
    """Collect what a position says to everybody."""
    for viewer in (None, *SEATS):
        told.hear_all("standing", game.board_ui(state, viewer))
        told.hear_all("tableau", game.card_ui(state, viewer))
    for seat in game.to_act(state):
        if pad := game.pad(state, seat):
            told.hear_all("pad", pad)
        if sparse:
            plays = itertools.islice(game.plays(state, seat), 400)
            told.hear_all("plays", [play for play in plays if play.label != play.text])


def hear_step(told: Told, step: Step[Any]) -> None:
    """Collect what happened in a step, and what hands do for it."""
    told.hear_all("step", (*step.events, *step.stages))
    for stage in step.stages:
        for _, sentence in stage.todo:
            told.hear("todo", sentence)
        for tally in stage.tallies:
            for label, worth in tally.parts:
                told.hear("tally", label)
                told.hear("tally", worth)


def hear_refusals(
    told: Told, game: Game[Any, Any], state: Any, actions: list[Any], rng: Random
) -> None:
    """Try what may not be done here: actions of other positions and of the wrong seat, and some
    that never were.
    """
    due = game.to_act(state)
    for seat in SEATS:
        written = [game.format(action) for action in rng.sample(actions, min(len(actions), BENT))]
        written += [bend(text, rng) for text in written]
        if seat in due:
            written += [
                bend(game.format(game.random_action(state, seat, rng)), rng) for _ in range(BENT)
            ]
        for text in written:
            try:
                game.check(state, seat, game.parse(text))
            except CompanionError as refusal:
                told.hear("check", refusal.message)
        try:
            game.require(state, {seat: actions[0]} if actions else {})
        except CompanionError as refusal:
            told.hear("require", refusal.message)


def bend(notation: str, rng: Random) -> str:
    """Return an action with one of its squares elsewhere, or with another sign."""
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


def play_and_listen(told: Told, game: Game[Any, Any], options: dict[str, Any], seed: int) -> None:
    """Play one random game, and collect what it says."""
    rng = Random(f"{game.name}/{seed}")
    state = game.setup(game.options(options), rng)
    actions: list[Any] = []
    for number in range(LONGEST):
        sparse = number % SPARSE == seed % SPARSE
        listen(told, game, state, sparse)
        due = sorted(game.to_act(state))
        if sparse or not due:
            hear_refusals(told, game, state, actions, rng)
        if not due:
            break
        taken = {seat: game.random_action(state, seat, rng) for seat in due}
        actions += taken.values()
        step = game.apply(state, taken, rng)
        hear_step(told, step)
        state = step.state
    told.hear_all("outcome", game.outcome(state))


@EACH
def test_what_a_game_is_called_is_translated(name: str) -> None:
    game, told = GAMES[name], Told()
    for text in (game.title, game.summary, *(side.name for side in game.sides.values())):
        told.hear("name", text)
    told.hear_all("words", (game.option_rows, game.rules, game.presets))
    for row in game.option_rows:
        for label, _ in row.choices:
            told.hear(f"choice of {row.name}", label)
        if row.free_text:
            for text in ("", ".", "s.\n...", "sSnN?", "ssSnN", "sSnN\n." * 30):
                try:
                    game.kit(game.options({row.name: text}))
                except Malformed as refusal:
                    told.hear(f"option {row.name}", refusal.message)
    kit = game.kit(game.options({}))
    told.hear_all("kit", kit)
    told.hear("board", kit.board.name)
    nothing_left(told)


@EACH
def test_what_a_game_tells_is_translated(name: str) -> None:
    game, told = GAMES[name], Told()
    for seed, options in enumerate(ways(game)):
        play_and_listen(told, game, options, seed)
    for text in GARBAGE:
        try:
            game.parse(text)
        except CompanionError as refusal:
            told.hear(f"parse of {text!r}", refusal.message)
    nothing_left(told)
