"""Fuzz target: actions in notation that are nearly right.

Also has what other targets use: odd texts and numbers, and changes of texts and messages.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from companion.core.errors import CompanionError, Malformed
from companion.core.kit import SEATS
from companion.games import GAMES
from fuzz.running import Probe, Target

# Texts that confuse parsers, pages or Python: among them a character outside the first 65,536, one
# that reverses the direction of writing, full-width letters, and an Arabic digit.
_ODD = [
    "\x00",
    "\n",
    "🂡",
    "\u202ex",
    "ａ１",
    "-1",
    "NaN",
    "null",
    "None",
    "__class__",
    "{}",
    "%s",
    "../..",
    "١",
]
ODD_TEXTS = st.one_of(
    st.text(max_size=20),
    st.text(string.printable, max_size=60),
    st.sampled_from(["", " ", "0" * 300, "9" * 5000, *_ODD]),
)
ODD_NUMBERS = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63), -(2**64)]),
    st.floats(allow_nan=False, allow_infinity=False),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), ODD_NUMBERS, ODD_TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(ODD_TEXTS, inner, max_size=4)
    ),
    max_leaves=8,
)
# All letters and signs of the notations of all games.
NOTATION_LETTERS = "UDLRSI.-+*@#%&^>x:,; |abcdefghijklmnop0123456789NESWTRBFpuvdcXo/=@?!()"
GAME = st.sampled_from(sorted(GAMES))


def apply_edits(text: str, edits: list[tuple[int, int, str]]) -> str:
    """Replace parts of a text.

    Each edit is the index of the part, its length, and the text that replaces it. Indices wrap
    around at the length of the text.
    """
    for index, length, new_part in edits:
        start = index % (len(text) + 1)
        text = text[:start] + new_part + text[start + length :]
    return text


def change_values(value: Any, rng: Random, replacements: list[Any], probability: float) -> Any:
    """Return a message, as JSON types, in which some values are replaced.

    Each value is replaced with this probability, mostly by one of the same type. Some keys are left
    out, and some lists become empty or repeat.
    """
    if isinstance(value, dict):
        return {
            key: change_values(item, rng, replacements, probability)
            for key, item in value.items()
            if rng.random() >= probability / 4
        }
    if isinstance(value, list):
        copies = rng.choice([0, 2, 40]) if rng.random() < probability else 1
        return [change_values(item, rng, replacements, probability) for item in value] * copies
    if rng.random() >= probability:
        return value
    same_type = [item for item in replacements if type(item) is type(value)]
    return rng.choice(same_type if same_type and rng.random() < 0.8 else replacements)


# Edits for `apply_edits`. The first of the two choices leaves a text as it is.
EDITS = st.one_of(
    st.just([]),
    st.lists(
        st.tuples(
            st.integers(0, 5000),
            st.integers(0, 3),
            st.text(NOTATION_LETTERS + '{}[]"\n\t\0é', max_size=3),
        ),
        max_size=3,
    ),
)


def legal_text(game: Any, seed: int, turns: int) -> str:
    """Return the notation of an action that is legal after so many turns of a random game.

    If the game is over before, it is the last action.
    """
    rng = Random(seed)
    state = game.setup(game.options({}), rng)
    text = ""
    for _ in range(turns + 1):
        due = sorted(game.to_act(state))
        if not due:
            break
        actions = {seat: game.random_action(state, seat, rng) for seat in due}
        text = game.format(actions[due[-1]])
        state = game.apply(state, actions, rng).state
    return text


@contextmanager
def notation(_: Path, seed: int) -> Iterator[Probe]:
    """Parse actions that are nearly right, or any text.

    Each must be refused, or be the same action after formatting and parsing it again. No method of
    the game may raise another error for it.
    """
    samples = {
        name: [legal_text(game, number, turns=number % 12) for number in range(seed, seed + 30)]
        for name, game in GAMES.items()
    }
    states = {}
    for name, game in GAMES.items():
        rng = Random(seed)
        states[name] = game.setup(game.options({}), rng)

    def check(case: tuple[str, int, list[tuple[int, int, str]], str | None]) -> tuple[str, int]:
        name, index, edits, free_text = case
        game, state = GAMES[name], states[name]
        text = free_text if free_text is not None else apply_edits(samples[name][index], edits)
        try:
            action = game.parse(text)
        except Malformed:
            return "malformed", 1
        assert game.parse(game.format(action)) == action
        word = "legal"
        for seat in SEATS:
            try:
                game.require(state, {seat: action})
                game.check(state, seat, action)
            except CompanionError:
                word = "refused"
            game.plan(state, seat, text)
        return word, 1

    # mostly None, for a changed sample
    free_texts = st.one_of(
        st.none(), st.none(), st.none(), st.text(NOTATION_LETTERS, max_size=30), ODD_TEXTS
    )
    yield Probe(st.tuples(GAME, st.integers(0, 29), EDITS, free_texts), check)


TARGETS = (Target("notation", share=0.495, batch=4000, open_probe=notation),)
