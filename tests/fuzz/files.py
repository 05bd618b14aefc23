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
def journals(folder: Path, number: int) -> Iterator[Probe]:
    """Open damaged journals.

    Each must keep its undamaged games, report the damage, and let a game be played.
    """
    content, log = make_journal(folder / "made.sqlite", games=8, with_log=True)

    def check(case: tuple[str, int]) -> tuple[str, int]:
        kind, seed = case
        damaged, damaged_log = damage(kind, content, log, Random(seed))
        problems = problems_after(folder, damaged, damaged_log, kind not in SILENT_KINDS)
        assert not problems, problems
        return kind, 1

    yield Probe(st.tuples(st.sampled_from(KINDS), st.integers(0, 2**32)), check)


# ---- games to import -----------------------------------------------------------------------------

# Places in a file, and the bytes to write over what stands there.
DAMAGE = st.lists(st.tuples(st.integers(0, 2**20), st.binary(min_size=1, max_size=16)), max_size=6)
# Number of bytes to cut off the end.
CUT = st.one_of(st.just(0), st.just(0), st.integers(0, 2**16))


def overwrite_bytes(content: bytes, places: list[tuple[int, bytes]], cut: int) -> bytes:
    """Overwrite some bytes of a file, and cut off its end. Numbers wrap around at its length."""
    changed = bytearray(content)
    for place, new_bytes in places:
        start = place % max(1, len(changed))
        changed[start : start + len(new_bytes)] = new_bytes
    return bytes(changed[: len(changed) - cut % max(1, len(changed))])


def play(table: Table, game: str, turns: int, seed: int) -> None:
    """Play some turns of a new game."""
    if table.view().phase not in (Phase.LOBBY, Phase.OVER):
        table.abandon()
    table.new_game(game, dict(GAMES[game].presets[0].options), seed)
    play_turns(table, turns, Random(seed))


def _finished_game_files(folder: Path, seed: int) -> list[bytes]:
    """Return the game file of one finished game of each kind."""
    files = []
    with (
        Journal(folder / "finished" / "journal.sqlite") as journal,
        Table(journal, FakeClock(), TableSettings(reading_time_s=0.1)) as table,
    ):
        for number, game in enumerate(sorted(GAMES)):
            play(table, game, 6, seed + number)
            if table.view().phase is not Phase.OVER:
                table.resign(Seat.NORTH)
            played = build_game_file(journal.fold(session_of(table).game_number))
            files.append(msgspec.json.encode(played))
    return files


@contextmanager
def history(folder: Path, seed: int) -> Iterator[Probe]:
    """Import damaged game files. Each is refused with a reason, or kept and shown in every form."""
    files = _finished_game_files(folder, seed)
    values: st.SearchStrategy[Any] = (
        st.sampled_from([None, True, [], {}, "UUS"]) | ODD_NUMBERS | ODD_TEXTS
    )
    replacements = st.lists(values, min_size=3, max_size=9)

    def check(case: Any) -> tuple[str, int]:
        number, damage_kind, values, edits, places, cut = case
        content = files[number % len(files)]
        if damage_kind == "value":
            game = change_values(json.loads(content), Random(number), values, 0.02)
            content = json.dumps(game).encode(errors="replace")
        elif damage_kind == "bytes":
            content = overwrite_bytes(content, places, cut)
        else:
            content = apply_edits(content.decode(), edits).encode(errors="replace")
        try:
            kept = archive.import_game(content)
        except CompanionError as error:
            return refusal_result(error)
        archive.file(kept)
        archive.as_json(kept)
        archive.as_text(kept)
        archive.line(kept)
        archive.replay(kept)
        archive.statistics()
        archive.remove(kept)
        return "kept", 1

    with Journal(folder / "here" / "journal.sqlite") as journal:
        archive = History(
            journal, folder / "here" / "history", FakeClock(), find_current_game=lambda: 0
        )
        cases = st.tuples(
            st.integers(0, 2**16),
            st.sampled_from(["value", "text", "text", "bytes"]),
            replacements,
            EDITS,
            DAMAGE,
            CUT,
        )
        yield Probe(cases, check)


TARGETS = (
    Target("journals", 0.005, 300, journals),
    Target("history", 0.01, 800, history),
)
