"""Scouts: counts of legal sequences, and a golden game with jumps, stacks, rocks, intel on both
sides and a win.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from scouts_tools import (
    GAME,
    SET_UP,
    SlowScouts,
    carry_out,
    legal_texts,
    make_state,
    start,
    state_after,
)

from companion.games.scouts.state import State

_GAME = (
    "@d1 @f10 @e1 @h10 @b1 @e10 @g1 @d10 @h1 @c10 "
    "g1-f2 . e10^g10 R@h4-h5 d10-d9 . d1^f1^f3 f2^f4 . c10-d9 h10-h9 . f3^f5 f4^f6 . "
    "f10^h10^h8 h9^h7 . f5^f7 b1-a1 . g10-h10 h8^h6 . f6^f8 f7^f9 . d9-d10 h10-g9 . "
    "f8^f10 f9-g10 . d10^d8 d9^d7 . f10^h10 g10^g8 . g9^g7 d8^d6 . g8^g6 h10-g9 . "
    "d7-e6 g7^g5 B@a2 . e1-d2 g6^g4 . g5^g3 h6^h8 . g4^g2 d2-c3 . h8^h6 g3^g1 . g2-f1"
)
GOLDEN_GAME = tuple(_GAME.split())
GOLDEN_EVENTS = [
    "The set-up is complete. White begins with one move.",
    "Black jumps e10 to g10. It jumps over black’s scout on f10.",
    "Black lays its rock on h4 and h5. It costs no move.",
    "White jumps d1 to f1. It jumps over white’s scout on e1.",
    "White jumps f1 to f3. It jumps over white’s scout on f2.",
    "White jumps f2 to f4. It jumps over white’s scout on f3.",
    "Black dashes c10 to d9. The black scout on d9 waits under it.",
    "White jumps f3 to f5. It jumps over white’s scout on f4.",
    "White jumps f4 to f6. It jumps over white’s scout on f5.",
    "Black jumps f10 to h10. It jumps over black’s scout on g10.",
    "Black jumps h10 to h8. It jumps over black’s scout on h9.",
    "Black jumps h9 to h7. It jumps over black’s scout on h8.",
    "White jumps f5 to f7. It jumps over white’s scout on f6.",
    "Black jumps h8 to h6. It jumps over black’s scout on h7.",
    "White jumps f6 to f8. It jumps over white’s scout on f7.",
    "White jumps f7 to f9. It jumps over white’s scout on f8.",
    "Black dashes d9 to d10. The black scout on d9 is free again.",
    "White jumps f8 to f10. It jumps over white’s scout on f9.",
    "White gathers intel on f10. A scout on the other home rank is turned over.",
    "White gathers intel on g10. A scout on the other home rank is turned over.",
    "Black jumps d10 to d8. It jumps over black’s scout on d9.",
    "Black jumps d9 to d7. It jumps over black’s scout on d8.",
    "White jumps f10 to h10. It jumps over white’s scout on g10.",
    "White jumps g10 to g8. It jumps over black’s scout on g9.",
    "Black jumps g9 to g7. It jumps over white’s scout on g8.",
    "Black jumps d8 to d6. It jumps over black’s scout on d7.",
    "White jumps g8 to g6. It jumps over black’s scout on g7.",
    "Black jumps g7 to g5. It jumps over white’s scout on g6.",
    "Black lays its boulder on a2, b2, a3 and b3. It costs no move.",
    "White jumps g6 to g4. It jumps over black’s scout on g5.",
    "Black jumps g5 to g3. It jumps over white’s scout on g4.",
    "Black jumps h6 to h8. It jumps over black’s scout on h7.",
    "White jumps g4 to g2. It jumps over black’s scout on g3.",
    "Black jumps h8 to h6. It jumps over black’s scout on h7.",
    "Black jumps g3 to g1. It jumps over white’s scout on g2.",
    "Black gathers intel on g1. A scout on the other home rank is turned over.",
]
GOLDEN_BOARD = {
    "a1": ["white scout"],
    "c3": ["white scout"],
    "f1": ["white scout with intel"],
    "g9": ["white scout with intel"],
    "h1": ["white scout"],
    "d6": ["black scout"],
    "e6": ["black scout"],
    "g1": ["black scout with intel"],
    "h6": ["black scout"],
    "h7": ["black scout"],
    **{square: ["black boulder"] for square in ("a2", "a3", "b2", "b3")},
    **{square: ["black rock"] for square in ("h4", "h5")},
}


# Legal sequences of 1, 2, 3 … decisions from the empty board (8 x 8 x 7 x 7), with all scouts
# placed, and in a fight.
GOLDEN_COUNTS = {
    "set-up": (8, 64, 448, 3136),
    "full": (198, 18727, 764933),
    "fight": (63, 2379, 56794),
}


def perft(state: State, depth: int) -> int:
    texts = legal_texts(state)
    if depth == 1:
        return len(texts)
    return sum(perft(state_after(state, text), depth - 1) for text in texts)


def slow_count(game: SlowScouts, depth: int) -> int:
    texts = game.legal()
    if depth == 1:
        return len(texts)
    total = 0
    for text in texts:
        then = copy.deepcopy(game)
        then.do(text)
        total += slow_count(then, depth - 1)
    return total


LINES = {"set-up": (), "full": SET_UP, "fight": GOLDEN_GAME[:31]}


@pytest.mark.parametrize("line", LINES)
def test_sequences_counted_to_a_depth(line: str) -> None:
    state = state_after(start(), *LINES[line])
    counts = tuple(perft(state, depth) for depth, _ in enumerate(GOLDEN_COUNTS[line], start=1))
    assert counts == GOLDEN_COUNTS[line]


@pytest.mark.parametrize("line", LINES)
def test_slow_rules_count_the_same_to_depth_two(line: str) -> None:
    game = SlowScouts()
    for text in LINES[line]:
        game.do(text)
    assert (slow_count(game, 1), slow_count(game, 2)) == GOLDEN_COUNTS[line][:2]


def test_golden_game() -> None:
    state, told, plain = start(), [], []
    for text in GOLDEN_GAME:
        step = carry_out(state, text)
        told += [
            f"{event.text} {event.why or ''}".strip()
            for event in step.events
            if event.why and event.kind != "placed"
        ]
        told += [event.text for event in step.events if event.kind == "begun"]
        plain += [event.text for event in step.events if not event.why]
        state = step.state
    assert told == GOLDEN_EVENTS
    assert plain[:2] == [
        "The set-up is complete. White begins with one move.",
        "White dashes g1 to f2.",
    ]
    assert plain[-2:] == ["White dashes g2 to f1.", "White brings intel home to f1."]
    assert plain.count("White ends the turn.") == plain.count("Black ends the turn.") == 10
    dump = GAME.dump(state)
    assert dump["expected"] == GOLDEN_BOARD
    assert (dump["turn"], dump["due"], dump["played"]) == (21, 1, ["f1"])
    assert dump["outcome"] == {"winners": ["south"], "reason": "White brings intel home to f1."}


def test_the_view_tells_which_stacked_scout_has_intel() -> None:
    """Rulings, section 2, "Stacks"."""

    def pieces(**masks: str) -> Any:
        return GAME.view(make_state(white="d4", white_low="d4", **masks), None)["scouts"]["south"]

    upper, lower = pieces(intel="d4"), pieces(lower_intel="d4")
    assert upper["with_intel"] == lower["with_intel"] == ["d4"]
    assert upper["pieces"] == [
        {"square": "d4", "level": "upper", "intel": True},
        {"square": "d4", "level": "lower", "intel": False},
    ]
    assert [piece["intel"] for piece in lower["pieces"]] == [False, True]


@pytest.mark.parametrize(
    ("state", "action", "told"),
    [
        (make_state("c4", "d5"), "c4-d5", []),
        (make_state("c9", "h9"), "c9-c10", ["White gathers intel"]),
        (make_state("c2", "h9", intel="c2"), "c2-c1", ["White brings the intel home"]),
    ],
)
def test_the_sign_tells_of_intel_and_homecoming(state: State, action: str, told: list[str]) -> None:
    headlines = [
        headline for stage in carry_out(state, action).stages for headline in stage.headlines
    ]
    assert [headline.text for headline in headlines] == told
    assert all(headline.scene for headline in headlines), "it is drawn before hands go on"
