"""Test what self-play reports of good and bad games.

It runs in this process, on a simulated table whose camera sees rendered pictures. `test_service`
has whole games over the service.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from companion.cli import main
from companion.core.grid import Square
from companion.core.ports import Reading
from companion.tools.selfplay import people, play_games
from vision.reading.board_reader import BoardReader


def test_self_play_fails_when_squares_are_misread(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Let the reader take a2 for a1, so that the table accepts layouts that do not lie there."""
    read = BoardReader.read
    a1, a2 = Square(0, 0), Square(0, 1)

    def read_a2_as_a1(self: BoardReader, frame: Any, **_: object) -> Reading:
        reading = read(self, frame)
        seen = {a1 if square == a2 else square: face for square, face in reading.seen.items()}
        return dataclasses.replace(reading, seen=seen)

    monkeypatch.setattr(BoardReader, "read", read_a2_as_a1)
    monkeypatch.setattr(people, "PATIENCE_FRAMES", 8)
    assert main(["selfplay", "--game", "outbuffered", "--games", "1", "--seed", "3"]) == 1
    assert "Game 3: " in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "seed", "turns"), [("scouts", 2, 7), ("arena", 3, 2), ("kahmate", 3, 2)]
)
def test_simulated_hands_carry_out_the_first_turns(
    monkeypatch: pytest.MonkeyPatch, game: str, seed: int, turns: int
) -> None:
    """Play the first turns, and break the game off: whole games take minutes (`make selfplay`).

    Scouts has seven turns, because in its sixth turn two pieces touch each other, so that hands
    have to straighten them.
    """
    monkeypatch.setattr(people, "MAX_TURNS", turns)
    report = next(iter(play_games(game, 1, seed)))
    assert report.turns == turns, report.sentence()
    assert report.reason == "It was broken off."
    assert report.misread_layouts == 0
    assert report.wrong_placements_noticed == report.wrong_placements_made


def test_a_game_of_hidden_cards_has_no_fault() -> None:
    """Play a whole game of BINMAT, whose players hold cards that the camera must not see."""
    report = next(iter(play_games("binmat", 1, 2)))
    assert report.is_good(), report.sentence()
