"""Fuzz targets: damaged journals, and damaged game files to import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from damage_tools import KINDS, SILENT_KINDS, damage, make_journal, problems_after
from hypothesis import strategies as st
from internals import session_of

from companion.archive.game_file import build_game_file
from companion.archive.history import History
from companion.core.clock import FakeClock
from companion.core.config import TableSettings
from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.games import GAMES
from companion.storage.journal import Journal
from companion.table.session import Phase
from companion.table.table import Table
from fuzz.endings import play_turns
from fuzz.running import Probe, Target, refusal_result
from fuzz.texts import EDITS, ODD_NUMBERS, ODD_TEXTS, apply_edits, change_values

# ---- journals ------------------------------------------------------------------------------------


@contextmanager
def journals(folder: Path, _seed: int) -> Iterator[Probe]:
    """Damage a journal in all ways, and let the program open it.

    The program must find the undamaged games, report the damage, and let a game be played.
    """
    content, log = make_journal(folder / "made.sqlite", games=8, with_log=True)

    def check(case: tuple[str, int]) -> tuple[str, int]:
        kind, damage_seed = case
        damaged, damaged_log = damage(kind, content, log, Random(damage_seed))
        problems = problems_after(folder, damaged, damaged_log, kind not in SILENT_KINDS)
        assert not problems, problems
        return kind, 1

    yield Probe(st.tuples(st.sampled_from(KINDS), st.integers(0, 2**32)), check)


# ---- game files to import ------------------------------------------------------------------------


def overwrite_bytes(content: bytes, parts: list[tuple[int, bytes]], cut: int) -> bytes:
    """Overwrite parts of a file, each given by its index, and cut so many bytes off its end.

    Numbers wrap around at the length of the file.
    """
    changed = bytearray(content)
    for index, new_bytes in parts:
        start = index % max(1, len(changed))
        changed[start : start + len(new_bytes)] = new_bytes
    return bytes(changed[: len(changed) - cut % max(1, len(changed))])


def edit_text(content: bytes, edits: list[tuple[int, int, str]]) -> bytes:
    """Apply edits of `fuzz.texts.EDITS` to a file."""
    return apply_edits(content.decode(), edits).encode(errors="replace")


def replace_values(content: bytes, seed: int, replacements: list[Any]) -> bytes:
    """Replace some values of a file of JSON."""
    message = change_values(json.loads(content), Random(seed), replacements, probability=0.02)
    return json.dumps(message).encode(errors="replace")


def _damages() -> st.SearchStrategy[Any]:
    """Return ways to damage a file: one of the functions above, and its further arguments."""
    parts = st.tuples(st.integers(0, 2**20), st.binary(min_size=1, max_size=16))
    cuts = st.one_of(st.just(0), st.just(0), st.integers(0, 2**16))
    values = st.sampled_from([None, True, [], {}, "UUS"]) | ODD_NUMBERS | ODD_TEXTS
    replacements = st.lists(values, min_size=3, max_size=9)
    edited = st.tuples(st.just(edit_text), EDITS)
    return st.one_of(
        st.tuples(st.just(overwrite_bytes), st.lists(parts, max_size=6), cuts),
        st.tuples(st.just(replace_values), st.integers(0, 2**16), replacements),
        # text comes twice as often
        edited,
        edited,
    )


def _finished_game_files(folder: Path, seed: int) -> list[bytes]:
    """Play six turns of each kind of game, and end it. Return the game files."""
    files = []
    with (
        Journal(folder / "finished" / "journal.sqlite") as journal,
        Table(journal, FakeClock(), TableSettings(reading_time_s=0.1)) as table,
    ):
        for game_seed, name in enumerate(sorted(GAMES), start=seed):
            table.new_game(name, dict(GAMES[name].presets[0].options), game_seed)
            play_turns(table, 6, Random(game_seed))
            if table.view().phase is not Phase.OVER:
                table.resign(Seat.NORTH)
            game_file = build_game_file(journal.fold(session_of(table).game_number))
            files.append(msgspec.json.encode(game_file))
    return files


@contextmanager
def history(folder: Path, seed: int) -> Iterator[Probe]:
    """Import damaged game files.

    Each must be refused with a reason, or be imported, and then every page of the game must work.
    """
    files = _finished_game_files(folder, seed)
    with Journal(folder / "here" / "journal.sqlite") as journal:
        archive = History(
            journal, folder / "here" / "history", FakeClock(), find_current_game=lambda: 0
        )

        def check(case: Any) -> tuple[str, int]:
            index, (damage_file, *arguments) = case
            try:
                number = archive.import_game(damage_file(files[index], *arguments))
            except CompanionError as error:
                return refusal_result(error)
            archive.file(number)
            archive.as_json(number)
            archive.as_text(number)
            archive.line(number)
            archive.replay(number)
            archive.statistics()
            archive.remove(number)
            return "kept", 1

        yield Probe(st.tuples(st.integers(0, len(files) - 1), _damages()), check)


TARGETS = (
    Target("journals", share=0.005, batch=300, open_probe=journals),
    Target("history", share=0.01, batch=800, open_probe=history),
)
