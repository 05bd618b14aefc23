"""What is said of a table beside which a machine thinks."""

from __future__ import annotations

from companion.tools.bench.bots.thinking import Thinking

SLOW = tuple(1.0 + number / 100 for number in range(100))


def test_figures_are_told_with_their_bounds() -> None:
    found = Thinking((0.2,) * 99 + (1.5,), ((4.0,) * 100, (5.0,) * 100), ((2.0,) * 100, (1.0,) * 100))
    assert list(found.sentences()) == [
        "a machine's decisions with the camera on: 100, by the clock p99 1.50 s (bar 2)",
        "key of a pad -> its lamp while a machine thinks: p99 5.00 ms, without 4.00 ms: 1.25 x (bar 1.3)",
        "buzzer while a machine thinks: p99 1.00 ms, without 2.00 ms: 0.50 x (bar 1.3)",
        "ok",
    ]


def test_each_bound_counts() -> None:
    even = (SLOW, SLOW)
    assert Thinking((1.9,), even, even).is_good()
    assert not Thinking((2.1,), even, even).is_good()
    assert not Thinking((), even, even).is_good(), "no decision is none in time"
    late = (SLOW, tuple(1.4 * ms for ms in SLOW))
    assert not Thinking((1.9,), late, even).is_good()
    assert not Thinking((1.9,), even, late).is_good()
    assert list(Thinking((), even, late).sentences())[-1] == "SHORT"


def test_what_is_shorter_than_a_schedulers_tick_is_no_ratio() -> None:
    quick = ((0.01,) * 10, (0.4,) * 10)
    assert Thinking((0.1,), quick, quick).is_good()


def test_a_tone_that_never_came_keeps_no_bound() -> None:
    silent = (*SLOW, float("inf"))
    assert not Thinking((0.1,), (SLOW, SLOW), (SLOW, (float("inf"),) * 3)).is_good()
    assert not Thinking((0.1,), (SLOW, SLOW), (silent[-1:], silent[-1:])).is_good()
