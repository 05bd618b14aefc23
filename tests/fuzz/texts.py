"""Texts, engine lines, settings, options and images: what is read once, and remembered by nobody."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import cv2
import msgspec
import numpy as np
from hypothesis import strategies as st

from companion.core.config import Settings, read_settings
from companion.core.errors import CompanionError, ConfigError, Malformed, SystemTrouble
from companion.core.i18n import plain_words
from companion.core.kit import SEATS
from companion.games import GAMES
from companion.games.engine import Engine
from companion.maintenance.settings.file import SettingsFile, flat
from companion.table.records import AnyRecord
from companion.table.reducer import advance
from companion.table.session import Session
from fuzz.running import Probe, Target, refused
from vision.still_pictures import read_images

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
    yield Probe(st.tuples(GAME, st.integers(0, 29), EDITS, texts), check, pure=True)


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

    yield Probe(GAME.flatmap(lambda name: st.tuples(st.just(name), own[name])), check, pure=True)


@contextmanager
def engine(_: Path, number: int) -> Iterator[Probe]:
    """Lines for the engine: every one gets a line of JSON, and what is wrong changes nothing."""
    engines = {name: Engine(game) for name, game in GAMES.items()}
    seats = st.sampled_from(["south", "north", "west", ""])

    def actions(name: str) -> st.SearchStrategy[Any]:
        samples = [legal_text(GAMES[name], seed, 0) for seed in range(number, number + 10)]
        text = st.one_of(
            st.sampled_from(samples), st.text(NOTATION, max_size=12), st.just("RANDOM")
        )
        return st.one_of(
            st.fixed_dictionaries({"south": text, "north": text}),
            st.dictionaries(seats, text, max_size=3),
        )

    def requests(name: str) -> st.SearchStrategy[Any]:
        presets = st.sampled_from([dict(preset.options) for preset in GAMES[name].presets])
        new = st.fixed_dictionaries(
            {}, optional={"options": st.one_of(presets, JSON), "seed": ODD_NUMBERS}
        )
        one = st.one_of(
            st.fixed_dictionaries({"new": new}),
            st.fixed_dictionaries(
                {"legal": seats, "limit": st.one_of(st.integers(0, 20), ODD_NUMBERS)}
            ),
            st.fixed_dictionaries({"is_legal": actions(name)}),
            st.fixed_dictionaries({"apply": actions(name)}),
            st.fixed_dictionaries({"apply": actions(name)}),
            st.fixed_dictionaries({"view": st.one_of(seats, st.none())}),
            st.just({"state": True}),
            st.dictionaries(ODD_TEXTS, JSON, max_size=3),
        )
        return st.tuples(st.just(name), one, EDITS)

    def check(case: tuple[str, dict[str, Any], list[tuple[int, int, str]]]) -> tuple[str, int]:
        name, request, edits = case
        driven, game = engines[name], GAMES[name]
        if driven.state is None:
            driven.answer(b'{"new": {}}')
        before = driven.state
        for verb in ("apply", "is_legal"):
            if isinstance(request.get(verb), dict):
                due = sorted(game.to_act(before))
                request = {
                    verb: {
                        seat: _random(game, before, seat, text, due)
                        for seat, text in request[verb].items()
                    }
                }
        line = mended(json.dumps(request), edits).encode()
        reply = json.loads(driven.answer(line))
        if "error" in reply:
            assert driven.state is before, "an error changed the game"
            assert reply["error"]["message"]
            return reply["error"]["kind"], 1
        return next(iter(reply)), 1

    yield Probe(GAME.flatmap(requests), check)


def _random(game: Any, state: Any, seat: str, text: str, due: list[Any]) -> str:
    """A legal action where the case only asks for one."""
    if text != "RANDOM" or seat not in due:
        return text
    return str(
        game.format(
            game.random_action(state, next(each for each in SEATS if each == seat), Random(0))
        )
    )


def _toml_values() -> st.SearchStrategy[str]:
    """Values as TOML writes them, some wrong."""
    fine = st.one_of(
        st.booleans(), ODD_NUMBERS, ODD_TEXTS, st.lists(st.integers(0, 30), max_size=3)
    ).map(_toml)
    return st.one_of(
        fine,
        st.sampled_from(
            [
                "nan",
                "inf",
                "-inf",
                "1979-05-27",
                "07:32:00",
                "{}",
                "[[]]",
                "''",
                '"""x"""',
                "0x1f",
                "=",
            ]
        ),
    )


def _toml(value: Any) -> str:
    return json.dumps(value) if not isinstance(value, float) else repr(value)


@contextmanager
def settings(folder: Path, _: int) -> Iterator[Probe]:
    """Settings: read or refused with the place, and what is changed in a file can be read again."""
    keys = sorted(flat(Settings()))
    path = folder / "settings.toml"
    entry = st.tuples(st.sampled_from([*keys, "x", "web.x"]), _toml_values())
    changes = st.dictionaries(
        st.sampled_from(keys),
        st.one_of(st.none(), st.booleans(), ODD_NUMBERS, ODD_TEXTS),
        max_size=2,
    )

    def check(
        case: tuple[list[tuple[str, str]], list[tuple[int, int, str]], dict[str, Any]],
    ) -> tuple[str, int]:
        entries, edits, wanted = case
        text = mended("".join(f"{key} = {value}\n" for key, value in entries), edits)
        try:
            read_settings(text)
        except ConfigError as error:
            return refused(error)
        path.write_bytes(text.encode(errors="surrogatepass"))
        file = SettingsFile(path)
        try:
            held = file.read()
            file.change(wanted, held.seen)
        except (ConfigError, SystemTrouble):
            return "kept", 1
        file.read()
        return "changed", 1

    yield Probe(st.tuples(st.lists(entry, max_size=4), EDITS, changes), check, pure=True)


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

    yield Probe(st.tuples(GAME, st.integers(0, 50), st.lists(one, max_size=14)), check, pure=True)


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


@contextmanager
def images(folder: Path, number: int) -> Iterator[Probe]:
    """Pictures for the reader: any bytes are read or named as no picture, and nothing is seen where nothing is."""
    kits = {name: game.kit(game.options({})) for name, game in GAMES.items()}
    rng = np.random.default_rng(number)
    base = rng.integers(0, 255, (96, 128), dtype=np.uint8)
    files = [bytes(cv2.imencode(ending, base)[1]) for ending in (".jpg", ".png", ".bmp", ".tiff")]
    endings = st.sampled_from([".jpg", ".png", ".bmp", ".tiff"])
    damage = st.lists(
        st.tuples(st.integers(0, 20000), st.binary(min_size=1, max_size=6)), max_size=6
    )

    def check(case: tuple[int, str, list[tuple[int, bytes]], int, bool]) -> tuple[str, int]:
        which, ending, places, cut, is_noise = case
        content = bytearray(files[which])
        for at, come in places:
            start = at % len(content)
            content[start : start + len(come)] = come
        path = folder / f"picture{ending}"
        path.write_bytes(
            bytes(content[: len(content) - cut]) if not is_noise else bytes(content[::-1])
        )
        try:
            (answer,) = read_images([path], kits)
        except CompanionError:
            return "refused", 1
        assert not answer.get("layout"), f"read in noise: {answer}"
        return "read", 1

    yield Probe(
        st.tuples(st.integers(0, 3), endings, damage, st.integers(0, 400), st.booleans()),
        check,
        pure=True,
    )


TARGETS = (
    Target("notation", 0.135, 4000, notation),
    Target("options", 0.015, 1500, options),
    Target("engine", 0.08, 4000, engine),
    Target("settings", 0.02, 2500, settings),
    Target("records", 0.26, 1500, records),
    Target("images", 0.001, 500, images),
)
