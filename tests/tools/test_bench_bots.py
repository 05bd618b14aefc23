"""The bench of opponents: what it plays, how it counts, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.bots import Plan, bench_bots


def test_a_run_that_was_broken_off_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "games.jsonl"
    bench_bots(Plan(["scouts 3 v greedy"], 1, file, jobs=1))
    with file.open("ab") as torn:
        torn.write(b'{"pairing":"scouts 3 v gre')
    first = file.read_bytes().splitlines()[0]
    bench_bots(Plan(["scouts 3 v greedy"], 2, file, jobs=1))
    lines = file.read_bytes().splitlines()
    assert lines[0] == first
    assert sum(b'"number":0' in line for line in lines) == 1
    assert sum(b'"number":1' in line for line in lines) == 1
    assert "2-0-0 (won, lost, tied), 100.0% [34.2%, 100.0%], bar 80%" in capsys.readouterr().out
    bench_bots(Plan(["scouts 3 v greedy"], 2, file, jobs=1))
    assert file.read_bytes().split() == b"\n".join(lines).split(), "nothing is left to be played"
