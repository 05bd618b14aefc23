"""The pictures of a game's end: the strip of the board cuts nothing, and the photograph shows the turn's square."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from history_tools import play
from web_fixtures import open_place

from companion.core.grid import Square
from companion.games import GAMES
from web.rendering.board import board_part
from web.rendering.board_picture import BoardPicture
from web.rendering.finale import nearest_tenth
from web.static_files import STATIC

SCOUTS = GAMES["scouts"].kit(GAMES["scouts"].options({}))
SCOUT = "white scout"


def rank_edges(svg: str) -> tuple[float, float]:
    """The first rank of a picture and the one behind the last, from above; labels belong to the outermost."""
    _, y, _, height = map(float, re.search(r'viewBox="(.*?)"', svg)[1].split())  # type: ignore[index] # it has one
    count = SCOUTS.board.ranks
    pitch = 100 * SCOUTS.board.pitch_mm / SCOUTS.board.square_mm
    return max(0.0, y / pitch), min(float(count), (y + height) / pitch)


@pytest.mark.parametrize("stone_rank", range(SCOUTS.board.ranks - 1))
@pytest.mark.parametrize("rank", range(SCOUTS.board.ranks))
def test_a_strip_of_the_board_shows_every_piece_whole_or_not_at_all(stone_rank: int, rank: int) -> None:
    stone = next(face.name for face in SCOUTS.faces if face.size == (2, 2))
    covered = [Square(file, stone_rank + up) for file in (2, 3) for up in (0, 1)]
    layout = {**dict.fromkeys(covered, (stone,)), **{Square(7, each): (SCOUT,) for each in range(10)}}
    svg = board_part(BoardPicture(SCOUTS, layout), Square(7, rank))
    upper, lower = rank_edges(svg)
    assert upper == pytest.approx(round(upper))
    assert lower == pytest.approx(round(lower))
    rows = {SCOUTS.board.ranks - 1 - square.rank for square in covered}
    inside = {row for row in rows if upper <= row < lower}
    assert inside in (set(), rows), "the stone is cut"
    drawn = {Square.parse(text).rank for text in re.findall(r'data-at="(\w+)"', svg)}
    assert drawn == {SCOUTS.board.ranks - 1 - row for row in range(round(upper), round(lower))}
    assert rank in drawn
    assert lower - upper <= 6, "no more of the board than that needs"


@pytest.mark.parametrize(("square", "goals"), [("d11", ["pink"]), ("d6", []), ("d1", ["blue"])])
def test_a_strip_of_the_board_holds_only_the_goal_that_is_seen(square: str, goals: list[str]) -> None:
    kit = GAMES["kahmate"].kit(GAMES["kahmate"].options({}))
    svg = board_part(BoardPicture(kit, {}), Square.parse(square))
    assert re.findall(r'class="goal side-(\w+)"', svg) == goals


@pytest.mark.parametrize(
    ("square", "lies", "tenth"),
    [("a3", "a3", 4), ("b1", "b1", 9), ("c4", "a2", 6), ("c4", "a1 b1 b3", 4), ("", "a1 b1 b3", 9), ("", "", 5)],
)
def test_a_photograph_shows_the_square_of_its_turn_or_the_next_piece(square: str, lies: str, tenth: int) -> None:
    """Whoever was hit on c4 has gone home when the photograph is taken."""
    kit = GAMES["outbuffered"].kit(GAMES["outbuffered"].options({}))
    layout = {Square.parse(each): ("purple robot",) for each in lies.split()}
    finale: Any = SimpleNamespace(kit=kit)
    still: Any = SimpleNamespace(square=square, scene=SimpleNamespace(layout=layout))
    assert nearest_tenth(finale, still) == tenth


def test_every_part_of_a_photograph_can_be_shown() -> None:
    style = (STATIC / "wall.css").read_text()
    assert {int(tenth) for tenth in re.findall(r"\.down-(\d+) \{", style)} == set(range(11)) - {5}, "5 is the middle"


@pytest.mark.parametrize("turns", [3000, 5, 1])
@pytest.mark.parametrize("game", GAMES)
def test_every_picture_of_the_tableau_says_which_turn_it_is_and_what_happened(
    game: str, turns: int, tmp_path: Path
) -> None:
    """Why the game ended is said once: under the last picture, or above all of them; phones say how long it was."""
    with open_place(tmp_path) as place:
        phone = place.sit("south")
        play(place.table, place.clock, game, turns)
        page = place.browser().get("/").get_data(as_text=True)
        captions = re.findall(r"<p><b>(.+?)</b>(.*?)</p></li>", page)
        assert len(captions) == min(3, turns)
        for title, words in captions:
            assert title == "Set-up" or int(re.findall(r"^Turn (\d+)", title)[0])
            assert words.strip()
        outcome = place.table.view().match.outcome
        assert outcome
        assert page.partition('id="finale"')[2].partition('id="said"')[0].count(str(outcome.reason)) == 1
        head = phone.get("/seat/south").get_data(as_text=True).partition('<header class="top">')[2]
        assert re.search(r"</h1><span[^>]*>(After \d+ turn|Before the first turn)", re.sub(r"\s*\n", "", head))
