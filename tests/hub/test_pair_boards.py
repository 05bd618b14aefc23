"""One game at two tables over a real hub, each under its own rendered camera: hands err on both boards."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from bench.two_tables import half_at, play_pair
from hub_tools import running

from companion.core.kit import SEATS


def test_two_boards_with_hands_that_err_end_with_the_same_game(tmp_path: Path) -> None:
    with running(tmp_path / "hub") as hub, ExitStack() as stack:
        halves = [half_at(tmp_path / seat, "outbuffered", seat, 2, stack) for seat in SEATS]
        for half in halves:
            half.companion.hub.join(hub.urls()[0], hub.door.code, names=False)
        report = play_pair(halves)
        assert report.is_good(), report.sentence()
        assert report.wrong_placements_noticed > 0
        assert all(half.count.wrong for half in halves), "hands err at both tables"
