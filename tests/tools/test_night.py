"""What a night of play counts as growth; the night itself is `make night`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench import night
from bench.night import NightSample, faults_of, growth_of, play_night

from companion.games import GAMES

NAMES = tuple(GAMES)
STEADY = [
    NightSample(game / 2, NAMES[game % 5], game, 150 + game % 3, 98, 20, 900 + 40 * game, 70 * game)
    for game in range(1, 41)
]


def test_a_steady_night_has_no_fault() -> None:
    assert faults_of(STEADY) == []
    assert "threads 98 to 98" in growth_of(STEADY)


@pytest.mark.parametrize(
    ("what", "grown"),
    [
        ("memory", lambda s: replace(s, mb=s.mb + 0.6 * s.games)),
        ("threads", lambda s: replace(s, threads=s.threads + s.games // 5)),
        ("files", lambda s: replace(s, files=s.files + s.games // 5)),
        ("journal", lambda s: replace(s, journal_kb=900 + 90 * s.games)),
    ],
)
def test_growth_is_a_fault(what: str, grown) -> None:
    (fault,) = faults_of([grown(sample) for sample in STEADY])
    assert what in fault


def test_a_night_plays_at_one_table_and_says_what_it_saw(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("companion.tools.selfplay.people.MAX_TURNS", 1)
    assert not play_night(0, 3), "a game that was broken off is no good game"
    told = capsys.readouterr().out
    assert told.startswith(night.HEAD)
    assert "1 games, 1 turns" in told
    assert "too few games to judge any growth: 16 are needed" in told
    assert "NOT GOOD: outbuffered: Game 3: did not end" in told
