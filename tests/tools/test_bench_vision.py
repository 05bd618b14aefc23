"""The bench of the reader: its scenes are what they say, its counts count, and its judgement can be lost."""

from dataclasses import replace

import pytest
from bench.reading.costs import bench_photographs, photographs_folder
from bench.reading.ground_truth import Print, prints_of
from bench.reading.pictures import (
    Score,
    judge_reading,
    wrong_entries,
)
from bench.reading.scenes import Scene, scene

from companion.core.kit import Kit
from companion.core.ports import Reading

CLEAN = scene("clean-1-1")


def seen(wanted: Scene) -> tuple[Kit, tuple[Print, ...]]:
    return wanted.kit, prints_of(wanted.table())


def perfect(kit: Kit, prints: tuple[Print, ...]) -> Reading:
    """What a reader without any fault would say."""
    lying = [(square, p) for p in prints for square in p.squares]
    return Reading(
        {square: p.face or "" for square, p in lying},
        beside=tuple(p.face for p in prints if p.face and not p.squares),
        game=kit.game,
        markers={square: p.marker for square, p in lying},
    )


# ---- judging a reader --------------------------------------------------------------------------------------------


def test_everything_that_is_told_wrongly_counts() -> None:
    kit, prints = seen(CLEAN)
    good = perfect(kit, prints)
    (one, other), empty = (
        list(good.seen)[:2],
        next(s for s in kit.board.squares if s not in good.seen),
    )
    faces, markers = dict(good.seen), dict(good.markers)
    lost = faces.pop(one), markers.pop(one)
    faces[empty], markers[empty] = lost
    markers[other], faces[other] = 99, "nobody"
    tally = Score()
    bad = replace(good, seen=faces, markers=markers)
    faults = judge_reading(bad, prints, kit, tally)
    assert tally.wrong_entries == 3
    assert tally.on_board - tally.right == 2
    assert f"{one}: WRONG, empty instead of {lost[0]}" in faults
    assert f"{empty}: WRONG, {lost[0]} instead of nothing" in faults
    unsure = replace(
        good, seen={s: f for s, f in good.seen.items() if s != one}, unknown=frozenset({one})
    )
    assert wrong_entries(unsure, prints, kit) == [], "unknown is not wrong"
    assert "the board of other" in wrong_entries(replace(good, game="other"), prints, kit)[0]
    assert wrong_entries(Reading({}), prints, kit) == [], (
        "who sees no board says nothing of any square"
    )


# ---- judgements --------------------------------------------------------------------------------------------------


# ---- the whole bench ---------------------------------------------------------------------------------------------


# ---- still tables --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(
    not (photographs_folder() / "truth.json").is_file(),
    reason="no photographs beside the project, nor where COMPANION_PHOTOGRAPHS says",
)
def test_photographs_are_read_as_completely_as_by_the_best_peer() -> None:
    found = bench_photographs(lambda line: None)
    assert len(found) >= 5
    for photograph in found:
        assert photograph.verdict().holds, photograph.verdict().sentence()
