"""Texts, options and records: what is read once, and remembered by nobody."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from hypothesis import strategies as st

from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import plain_words
from companion.core.kit import SEATS
from companion.games import GAMES
from companion.table.records import AnyRecord
from companion.table.remote.fold import advance
from companion.table.session import Session
from fuzz.running import Probe, Target

ODD_TEXTS = st.one_of(
    st.text(max_size=20),
    st.text(string.printable, max_size=60),
    st.sampled_from(
        [
            "",
            " ",
            "\0",
            "\n",
            "🂡",
            "\u202ex",
            "ａ１",
            "0" * 300,
            "9" * 5000,
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
    ),
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
NOTATION = "UDLRSI.-+*@#%&^>x:,; |abcdefghijklmnop0123456789NESWTRBFpuvdcXo/=@?!()"
GAME = st.sampled_from(sorted(GAMES))


def mended(text: str, edits: list[tuple[int, int, str]]) -> str:
    """A text in which pieces are replaced: each edit is a place, how much goes, and what comes."""
    for place, gone, come in edits:
        at = place % (len(text) + 1)
        text = text[:at] + come + text[at + gone :]
    return text


EDITS = st.one_of(
    st.just([]),
    st.lists(
        st.tuples(
            st.integers(0, 5000), st.integers(0, 3), st.text(NOTATION + '{}[]"\n\t\0é', max_size=3)
        ),
        max_size=3,
    ),
)


def legal_text(game: Any, seed: int, turns: int) -> str:
    """The notation of an action that is legal somewhere in a random game."""
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
def notation(_: Path, number: int) -> Iterator[Probe]:
    """Actions in notation: read or refused, and what is read is written as it was meant."""
    samples = {
        name: [legal_text(game, seed, seed % 12) for seed in range(number, number + 30)]
        for name, game in GAMES.items()
    }
    states = {}
    for name, game in GAMES.items():
        rng = Random(number)
        states[name] = game.setup(game.options({}), rng)

    def check(case: tuple[str, int, list[tuple[int, int, str]], str | None]) -> tuple[str, int]:
        name, which, edits, free = case
        game, state = GAMES[name], states[name]
        text = free if free is not None else mended(samples[name][which % 30], edits)
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

    texts = st.one_of(st.none(), st.none(), st.none(), st.text(NOTATION, max_size=30), ODD_TEXTS)
    yield Probe(st.tuples(GAME, st.integers(0, 29), EDITS, texts), check)


@contextmanager
def options(_: Path, number: int) -> Iterator[Probe]:
    """Options of games: refused, or a game that begins and can be played."""
    own = {
        name: st.dictionaries(
            st.sampled_from([row.name for row in game.option_rows] * 3 + ["seed", "x"]),
            st.one_of(
                st.sampled_from([value for row in game.option_rows for _, value in row.choices]),
                JSON,
                st.text(".sSnN#xX123\n", max_size=80),
                st.builds(
                    mended,
                    st.sampled_from(
                        [str(value) for row in game.option_rows for _, value in row.choices]
                    ),
                    EDITS,
                ),
            ),
            max_size=3,
        )
        for name, game in GAMES.items()
    }

    def check(case: tuple[str, dict[str, Any]]) -> tuple[str, int]:
        name, raw = case
        game = GAMES[name]
        try:
            chosen = game.options(raw)
        except Malformed:
            return "malformed", 1
        rng = Random(number)
        state = game.setup(chosen, rng)
        kit, layout = game.kit(chosen), game.expected(state)
        assert layout is None or {face for stack in layout.values() for face in stack} <= {
            face.name for face in kit.faces
        }
        due = game.to_act(state)
        assert due
        game.apply(state, {seat: game.random_action(state, seat, rng) for seat in due}, rng)
        for viewer in (None, *SEATS):
            msgspec.json.encode(game.view(state, viewer), enc_hook=plain_words)
        return "played", 1

    yield Probe(GAME.flatmap(lambda name: st.tuples(st.just(name), own[name])), check)


@contextmanager
def records(_: Path, number: int) -> Iterator[Probe]:
    """Records of a journal: each leads to another session or is refused, and never changes the one before."""
    decode, encode = msgspec.json.Decoder(AnyRecord).decode, msgspec.json.Encoder().encode
    kinds = list(AnyRecord.__args__)
    samples = {
        name: [legal_text(game, seed, 0) for seed in range(number, number + 12)]
        for name, game in GAMES.items()
    }
    every = [text for texts in samples.values() for text in texts]
    fields = {
        "seat": st.sampled_from(["south", "north"]),
        "moment": st.one_of(st.just("NOW"), st.just("NOW"), st.just("NOW"), ODD_TEXTS),
        "action": st.one_of(st.just("LEGAL"), st.just("LEGAL"), st.sampled_from(every), ODD_TEXTS),
        "stage": st.one_of(st.just("NOW"), st.just("NOW"), st.integers(-1, 5)),
        "game": GAME,
        "number": st.integers(1, 5),
        "seed": st.integers(0, 100),
        "options": st.one_of(st.just({}), st.dictionaries(ODD_TEXTS, JSON, max_size=2)),
        "score": st.just([0, 0, 0]),
        "now_s": st.floats(0, 1000),
        "read_s": st.floats(0, 1000),
        "at": st.floats(0, 2e9),
        "by": st.sampled_from(["south", "host", "table", "camera"]),
        "door": st.sampled_from(["phone", "pad"]),
    }

    def of(kind: Any) -> st.SearchStrategy[dict[str, Any]]:
        info = msgspec.structs.fields(kind)
        return st.fixed_dictionaries(
            {
                "is": st.just(kind.__struct_config__.tag),
                **{f.name: fields.get(f.name, ODD_TEXTS) for f in info},
            }
        )

    one = st.one_of(
        *[of(kind) for kind in kinds], of(kinds[5]), of(kinds[5]), of(kinds[4]), of(kinds[7])
    )

    def check(case: tuple[str, int, list[dict[str, Any]]]) -> tuple[str, int]:
        name, seed, rows = case
        session, word = Session(), "refused"
        start = {"is": "new_game", "game": name, "number": 1, "seed": seed}
        for row in (start, {"is": "begin", "by": "host", "now_s": 0.0}, *rows):
            before = msgspec.json.encode(session.raw_options), session.moment, session.phase
            record = _record(decode, session, row)
            if record is None:
                word = "no record"
                continue
            assert decode(encode(record)) == record
            try:
                session, _ = advance(session, record)
                word = "accepted"
            except CompanionError:
                assert before == (
                    msgspec.json.encode(session.raw_options),
                    session.moment,
                    session.phase,
                )
        return word, len(rows) + 2

    yield Probe(st.tuples(GAME, st.integers(0, 50), st.lists(one, max_size=14)), check)


def _record(decode: Any, session: Session, row: dict[str, Any]) -> Any:
    """A row with what it leaves to the moment filled in; None where a journal could not hold it."""
    filled = dict(row)
    if filled.get("moment") == "NOW":
        filled["moment"] = session.moment
    if filled.get("stage") == "NOW":
        filled["stage"] = session.stage
    if filled.get("action") == "LEGAL":
        seat = next(seat for seat in SEATS if seat == filled["seat"])
        due = session.game.to_act(session.state) if session.game else ()
        filled["action"] = (
            session.playing.format(
                session.playing.random_action(session.state, seat, Random(session.tick))
            )
            if seat in due
            else "?"
        )
    try:
        return decode(json.dumps(filled).encode())
    except (msgspec.ValidationError, UnicodeDecodeError):
        return None


TARGETS = (
    Target("notation", 0.236, 4000, notation),
    Target("options", 0.015, 1500, options),
    Target("records", 0.26, 1500, records),
)
