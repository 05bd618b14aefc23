"""`companion hub tournament` and `companion hub export` against a real hub: every line of the manual, and what is refused."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from companion.cli import main
from companion.hub_server.app import Hub
from companion.hub_server.folder import HubFolder
from companion.league.tournament import BoardEnd

MANUAL = Path(__file__).parents[2] / "docs/many-tables.md"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(hub: Hub, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> tuple[int, str]:
        status = main(["hub", *words, "--folder", str(hub.folder.folder)])
        told = capsys.readouterr()
        return status, told.out + told.err

    return run


def test_every_line_of_the_manual_does_what_it_says(hub: Hub, run: Run) -> None:
    lines = re.findall(
        r"^companion hub ((?:tournament|export) .*)$", MANUAL.read_text(), re.MULTILINE
    )
    lines.insert(2, "tournament enter 1 Jonas")
    lines += ["tournament withdraw 1 2", "tournament show 1", "tournament list"]
    lines += ["export cards", "export results"]
    told = [run(*shlex.split(line)) for line in lines]
    assert {status for status, _ in told} == {0}, told
    made = hub.league.tournaments.of(1)
    assert made is not None
    assert (made.rounds_wanted, made.minutes, len(made.rounds)) == (4, 30, 1)
    assert made.rounds[0].matches[0].boards[0].verdict is BoardEnd.SOUTH
    *_, standings, _, shown, listed, cards, results = (text for _, text in told)
    for part in ("Spring cup (swiss, scouts)", "1.1.1", "1 : 0", "After round 1", "(withdrawn)"):
        assert part in shown
    assert standings.startswith("place,player,name,rating")
    assert "Spring cup" in listed
    assert "Mara" in cards
    assert json.loads(results) == []


def test_a_round_is_corrected_taken_back_and_ended(hub: Hub, run: Run) -> None:
    number = re.findall(
        r"\d+", run("tournament", "new", "Teams", "arena/0", "--team-size", "2")[1]
    )[0]
    for team in ("Reds", "Blues"):
        assert run("tournament", "enter", number, f"{team}1", f"{team}2", "--team", team)[0] == 0
    assert (
        run("tournament", "rest", number, "1")[0]
        == run("tournament", "no-rest", number, "1")[0]
        == 0
    )
    assert "Round 1" in run("tournament", "pair", number)[1]
    assert run("tournament", "unpair", number)[0] == run("tournament", "pair", number)[0] == 0
    assert "still open" in run("tournament", "end", number)[1]
    for board, result in (
        ("1.1.1", "0-1-default"),
        ("1.1.2", "1-0"),
        ("1.1.2", "open"),
        ("1.1.2", "0-0-default"),
    ):
        assert run("tournament", "result", number, board, result)[0] == 0
    told = json.loads(run("tournament", "show", number, "--json")[1])
    assert [board["verdict"] for board in told["round"]["boards"]] == [
        "north_by_default",
        "neither",
    ]
    assert run("tournament", "move", number, "1.1.1", "0")[0] == 0
    assert ", over" in run("tournament", "end", number)[1]


def test_what_is_wrong_is_said_and_changes_nothing(hub: Hub, run: Run) -> None:
    number = re.findall(r"\d+", run("tournament", "new", "Cup", "scouts")[1])[0]
    before = hub.league.tournaments.all()
    for words, said in (
        (("tournament", "show", "99"), "no such tournament, game or season"),
        (("tournament", "new", "x", "chess"), "no such tournament, game or season"),
        (("tournament", "new", "x", "scouts", "--rounds", "99"), "There can be 1 to 30"),
        (("tournament", "result", number, "0.1.1", "1-0"), "There is no such board"),
        (("export", "standings", "--game", "chess"), "no such tournament, game or season"),
    ):
        status, told = run(*words)
        assert status == 1, words
        assert said in told, (words, told)
    assert hub.league.tournaments.all() == before


def test_without_a_hub_nothing_is_sent_anywhere(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["hub", "tournament", "list", "--folder", str(tmp_path)]
    assert main(words) == 1
    assert "No hub has run in" in capsys.readouterr().err
    HubFolder(tmp_path)
    (tmp_path / "address").write_text("http://127.0.0.1:9")
    assert main(words) == 1
    assert "The hub does not run" in capsys.readouterr().err
