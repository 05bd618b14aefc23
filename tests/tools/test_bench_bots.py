"""The bench of opponents: what it plays, how it counts, and what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bench.bots import Plan, bench_bots, pairings
from bench.bots.perfect import MOST_LOST_A_TURN, losses

from companion.core.errors import Malformed
from companion.core.kit import Seat


def test_roles_are_played_each_for_itself() -> None:
    greedy = [pairing for pairing in pairings("binmat") if pairing.rival == "greedy"]
    assert [(pairing.seat, pairing.bar) for pairing in greedy] == [(Seat.SOUTH, 0.40), (Seat.NORTH, 0.80)]
    assert {pairing.seat for pairing in pairings("kahmate") if pairing.rival == "greedy"} == {None}


def test_a_run_that_was_broken_off_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games.jsonl"
    bench_bots(Plan(["scouts 3 v random"], 1, file, jobs=1))
    with file.open("ab") as torn:
        torn.write(b'{"pairing":"scouts 3 v ran')
    first = file.read_bytes().splitlines()[0]
    bench_bots(Plan(["scouts 3 v random"], 2, file, jobs=1))
    lines = file.read_bytes().splitlines()
    assert lines[0] == first
    assert sum(b'"number":0' in line for line in lines) == 1
    assert sum(b'"number":1' in line for line in lines) == 1
    assert "2-0-0 (won, lost, tied), 100.0% [34.2%, 100.0%], bar 99%" in capsys.readouterr().out
    bench_bots(Plan(["scouts 3 v random"], 2, file, jobs=1))
    assert file.read_bytes().split() == b"\n".join(lines).split(), "nothing is left to be played"


def test_games_of_other_programs_do_not_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games.jsonl"
    file.write_bytes(
        b'{"pairing":"scouts 3 v random","sample":0,"number":0,"code":"another","won":-1,"times_ms":[1],"nodes":[1]}\n'
    )
    bench_bots(Plan(["scouts 3 v random"], 1, file, jobs=1))
    assert "1-0-0 (won, lost, tied)" in capsys.readouterr().out


def test_a_perfect_opponent_gains_little(capsys: pytest.CaptureFixture[str]) -> None:
    found = losses(1, 5)
    assert 20 <= len(found.turns) <= 30
    assert 0 < found.mean <= MOST_LOST_A_TURN
    assert bench_bots(Plan(["outbuffered 3 v perfect"], 1, sample=5))
    assert f"loses {found.mean:.4f} a turn" in capsys.readouterr().out


def test_what_an_opponents_own_process_costs_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_bots(Plan(["outbuffered costs"], 1, sample=3))
    told = capsys.readouterr().out
    seconds, megabytes = re.search(r"p99 ([0-9.]+) s of processor time .* ([0-9]+) MB", told).groups()
    assert 0 < float(seconds) <= 2
    assert 20 < int(megabytes) <= 60
    assert "by the clock" in told or "no quota of processor time can be set here" in told


def test_an_unknown_pairing_is_refused() -> None:
    with pytest.raises(Malformed, match="There is no pairing like that: chess"):
        bench_bots(Plan(["chess"], 1))


def test_all_pairings_have_a_game_before_one_has_many(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """So a run that is broken off tells something of each; and few games leave a bar open, which is no failure."""
    file = tmp_path / "games.jsonl"
    assert bench_bots(Plan(["outbuffered 3 v random", "outbuffered 2 v 1"], 4, file, jobs=1))
    order = [json.loads(line)["pairing"] for line in file.read_bytes().splitlines()]
    assert order == [*["outbuffered 3 v random"] * 2, *["outbuffered 2 v 1"] * 2] * 2
    told = capsys.readouterr().out
    assert "4-0-0 (won, lost, tied), 100.0% [51.0%, 100.0%], bar 99%" in told
    assert told.count("open: too few games") >= 1
    assert told.splitlines()[-1] == "8 of 8 games"


def test_what_is_known_to_be_below_its_bar_fails_also_a_part(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    bench_bots(Plan(["outbuffered 3 v random"], 1, file, jobs=1))
    game = json.loads(file.read_bytes())
    lost = [json.dumps({**game, "number": number, "won": -1}) for number in range(4)]
    file.write_text("\n".join(lost))
    assert not bench_bots(Plan(["outbuffered 3 v random"], 4, file, jobs=1))


def test_a_look_ends_when_its_time_is_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The games that have begun are kept, and how long the rest takes is said."""
    file = tmp_path / "games.jsonl"
    assert bench_bots(Plan(["outbuffered 3 v random"], None, file, jobs=1, minutes=1e-9))
    assert capsys.readouterr().out.splitlines()[-1] == "0 of 500 games"
    bench_bots(Plan(["outbuffered 3 v random"], 1, file, jobs=1))
    assert bench_bots(Plan(["outbuffered 3 v random"], None, file, jobs=2, minutes=1e-9))
    assert re.fullmatch("1 of 500 games, some .* to go", capsys.readouterr().out.splitlines()[-1])
