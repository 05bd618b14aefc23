"""What self-play reports when something is wrong; whole good games are in `test_service`."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from companion.cli import main
from companion.core.grid import Square
from companion.core.ports import Reading
from companion.tools.selfplay import people, play_games
from vision.reading.board_reader import BoardReader


def test_a_camera_that_lies_is_found_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader that takes a2 for a1: layouts are accepted that are not on the table."""
    read = BoardReader.read
    honest = Square(0, 1)

    def lying(self: BoardReader, frame: Any, **_: object) -> Reading:
        reading = read(self, frame)
        seen = {
            Square(0, 0) if square == honest else square: face
            for square, face in reading.seen.items()
        }
        return dataclasses.replace(reading, seen=seen)

    monkeypatch.setattr(BoardReader, "read", lying)
    monkeypatch.setattr(people, "PATIENCE_FRAMES", 8)
    assert main(["selfplay", "--game", "outbuffered", "--games", "1", "--seed", "3"]) == 1
    assert "Game 3: " in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "seed", "turns"), [("scouts", 2, 7), ("arena", 3, 2), ("kahmate", 3, 2)]
)
def test_hands_are_followed_through_the_first_turns(
    monkeypatch: pytest.MonkeyPatch, game: str, seed: int, turns: int
) -> None:
    """Whole games take minutes (`make selfplay`); here they are broken off. In that of Scouts two
    pieces touch in the sixth turn, and hands put them straight.
    """
    monkeypatch.setattr(people, "MAX_TURNS", turns)
    report = next(iter(play_games(game, 1, seed)))
    assert report.turns == turns, report.sentence()
    assert report.reason == "It was broken off."
    assert report.misread_layouts == 0
    assert report.wrong_placements_noticed == report.wrong_placements_made


def test_a_game_of_hidden_hands_is_good() -> None:
    report = next(iter(play_games("binmat", 1, 2)))
    assert report.is_good(), report.sentence()
