"""Programs of the opponents that are killed at the table: the game goes on, by their own choice."""

from __future__ import annotations

from companion.tools.bench.bots.kills import kill_bots


def test_the_game_goes_on_whatever_program_is_killed() -> None:
    report = kill_bots(5)
    assert report.is_good, report
    assert report.kills == 5
