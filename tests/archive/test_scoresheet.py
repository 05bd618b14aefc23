"""Notation of whole games: what is written is read again, and what is wrong is named."""

from __future__ import annotations

import pytest
from history_tools import SHORT, made_game
from hypothesis import given, settings
from hypothesis import strategies as st

from companion.archive.replay import GameFile, PlayedOrder, PlayedTurn
from companion.archive.scoresheet import PROOFS, read_sheet, write_sheet
from companion.core.errors import Malformed
from companion.core.kit import SEATS

NAMES = st.dictionaries(st.sampled_from(SEATS), st.text(max_size=24), max_size=2)
PROVEN = st.builds(PlayedOrder, st.text(max_size=12), st.text(max_size=4), st.text(max_size=6))
TURNS = st.builds(
    PlayedTurn, st.text(max_size=5), st.dictionaries(st.sampled_from(SEATS), PROVEN, min_size=1)
)


@pytest.mark.parametrize("name", SHORT)
@given(
    seed=st.integers(0, 10**6),
    turns=st.integers(0, 6),
    players=NAMES,
    begun=st.integers(0, 4 * 10**12),
)
@settings(max_examples=12)
def test_every_game_is_read_as_it_was_written(
    name: str, seed: int, turns: int, players: dict, begun: int
) -> None:
    played = made_game(name, seed, turns, players, begun / 1000)
    assert read_sheet(write_sheet(played)) == played


@given(
    st.lists(TURNS, max_size=4),
    st.sampled_from([None, [], ["south"], ["north", "south"]]),
    st.text(max_size=20),
)
@settings(max_examples=150)
def test_whatever_stands_in_a_file_comes_back(
    turns: list, winners: list | None, reason: str
) -> None:
    outcome = None if winners is None else {"winners": winners, "reason": reason}
    played = GameFile("a “game”", {"x": [1, "|"]}, 3, tuple(turns), outcome)
    assert read_sheet(write_sheet(played)) == played
    assert read_sheet(write_sheet(played).replace("\n", "\r\n")) == played


def test_a_sheet_reads_like_a_game() -> None:
    lines = write_sheet(
        made_game("outbuffered", 4, 2, {SEATS[0]: "Ann"}, 1_700_000_000.5)
    ).splitlines()
    assert lines[:4] == [
        '[Game "outbuffered"]',
        "[Options {}]",
        "[Seed 4]",
        '[Begun "2023-11-14T22:13:20.500000Z"]',
    ]
    assert lines[4:7] == ['[South "Ann"]', '[Result "north"]', '[Reason "Purple resigns."]']
    assert lines[8].startswith("1. south ")
    assert " | north " in lines[8]
    assert lines[11] == PROOFS
    assert lines[12].startswith("1. 7.1 | south ")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[Seed 4]\n", "", "the line [Seed …] is missing"),
        ("[Seed 4]", "[Seed four]", "Line 3: what follows Seed is not JSON"),
        ("[Seed 4]", "Seed 4", "Line 3: expected turn 1, beginning with “1. ”"),
        ("[Seed 4]", '[Seed "4"]', "The text is not a game"),
        ('[Result "north"]', '[Result "east"]', "The result is south, north, tie or *"),
        ("1. south", "2. south", "expected turn 1"),
        ("1. south", "1. east", "expected south or north, each once"),
        ("1. 7.1 | south", "1. 7.1 | north", "expected south or north, each once"),
        ("| north", "| south", "expected south or north, each once"),
        (" | north ", ' | north "', "write it as JSON"),
        (
            "[Receipts]\n",
            "[Receipts]\n1. 7.1 | south a\n",
            "expected a seat, its salt and its receipt",
        ),
        ("\n2. 7.2", "\n3. 7.2", "expected turn 2"),
        ("[Options {}]", '[Options {}]\n[Begun "noon"]', "Begun is a time such as"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, words: str) -> None:
    text = write_sheet(made_game("outbuffered", 4, 2))
    assert old in text
    with pytest.raises(Malformed) as refused:
        read_sheet(text.replace(old, new, 1))
    assert words in refused.value.message


def test_turns_and_receipts_belong_together() -> None:
    whole = write_sheet(made_game("outbuffered", 4, 2))
    with pytest.raises(Malformed, match="2 turns but receipts for 1"):
        read_sheet("\n".join(whole.splitlines()[:-1]))
    proof = next(line for line in whole.splitlines() if line.startswith("1. 7.1"))
    with pytest.raises(Malformed, match="do not belong to the seats"):
        read_sheet(whole.replace(proof, proof.partition(" | north")[0]))
