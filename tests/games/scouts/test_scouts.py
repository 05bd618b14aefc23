"""Tests of Scouts by a golden game and by counts of legal sequences, on states without a table.

The golden game has jumps, stacks, rocks, intel of both sides, and a win. The counts are made by the
game and by the slow second implementation of `scouts_tools.py`.

In the notation `@d1` places a scout, `g1-f2` is a dash, `e10^g10` a jump, `R@h4-h5` lays a rock,
`B@a2` a boulder, and `.` ends the turn.
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

# All decisions of the game. White begins, and places in turn with black.
_GAME = (
    "@d1 @f10 @e1 @h10 @b1 @e10 @g1 @d10 @h1 @c10 "
    "g1-f2 . e10^g10 R@h4-h5 d10-d9 . d1^f1^f3 f2^f4 . c10-d9 h10-h9 . f3^f5 f4^f6 . "
    "f10^h10^h8 h9^h7 . f5^f7 b1-a1 . g10-h10 h8^h6 . f6^f8 f7^f9 . d9-d10 h10-g9 . "
    "f8^f10 f9-g10 . d10^d8 d9^d7 . f10^h10 g10^g8 . g9^g7 d8^d6 . g8^g6 h10-g9 . "
    "d7-e6 g7^g5 B@a2 . e1-d2 g6^g4 . g5^g3 h6^h8 . g4^g2 d2-c3 . h8^h6 g3^g1 . g2-f1"
)
GOLDEN_GAME = tuple(_GAME.split())
# Sentences of the events that have a reason, each with the reason. Only the end of the set-up has
# none. Placements are left out.
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
# Faces on each square at the end.
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

# Decisions that lead to positions: none, the set-up, and part of the golden game.
OPENINGS = {"set-up": (), "full": SET_UP, "fight": GOLDEN_GAME[:31]}
# Numbers of legal sequences of 1, 2, 3 … decisions from each of these positions. Those of the
# set-up can be worked out: each side has 8 squares for its first scout and 7 for its second, which
# makes 8, 8 * 8, 8 * 8 * 7 and 8 * 8 * 7 * 7 sequences.
GOLDEN_COUNTS = {
    "set-up": (8, 64, 448, 3136),
    "full": (198, 18727, 764933),
    "fight": (63, 2379, 56794),
}


def count_sequences(state: State, depth: int) -> int:
    """Return the number of sequences of legal decisions of this length."""
    texts = legal_texts(state)
    if depth == 1:
        return len(texts)
    return sum(count_sequences(state_after(state, text), depth - 1) for text in texts)


def slow_count(game: SlowScouts, depth: int) -> int:
    """Return the number of sequences of legal decisions of this length, by the slow rules."""
    texts = game.legal()
    if depth == 1:
        return len(texts)
    total = 0
    for text in texts:
        then = copy.deepcopy(game)
        then.do(text)
        total += slow_count(then, depth - 1)
    return total


@pytest.mark.parametrize("opening", OPENINGS)
def test_legal_sequences_are_counted(opening: str) -> None:
    state = state_after(start(), *OPENINGS[opening])
    counts = tuple(
        count_sequences(state, depth) for depth, _ in enumerate(GOLDEN_COUNTS[opening], start=1)
    )
    assert counts == GOLDEN_COUNTS[opening]


@pytest.mark.parametrize("opening", OPENINGS)
def test_slow_rules_count_the_same_to_depth_two(opening: str) -> None:
    game = SlowScouts()
    for text in OPENINGS[opening]:
        game.do(text)
    assert (slow_count(game, 1), slow_count(game, 2)) == GOLDEN_COUNTS[opening][:2]


def test_golden_game() -> None:
    """Play a whole game, and compare its sentences and its end with those that were recorded."""
    # Collect the sentences of the events with their reasons, and those of events without one.
    state = start()
    explained = []
    unexplained = []
    for text in GOLDEN_GAME:
        step = carry_out(state, text)
        explained += [
            f"{event.text} {event.why or ''}".strip()
            for event in step.events
            if event.why and event.kind != "placed"
        ]
        explained += [event.text for event in step.events if event.kind == "begun"]
        unexplained += [event.text for event in step.events if not event.why]
        state = step.state

    # Every jump, rock and stack is explained. Other dashes, the ends of turns and the win need no
    # reason.
    assert explained == GOLDEN_EVENTS
    assert unexplained[:2] == [
        "The set-up is complete. White begins with one move.",
        "White dashes g1 to f2.",
    ]
    assert unexplained[-2:] == ["White dashes g2 to f1.", "White brings intel home to f1."]
    assert unexplained.count("White ends the turn.") == 10
    assert unexplained.count("Black ends the turn.") == 10

    # White has won by the first move of its eleventh turn.
    dump = GAME.dump(state)
    assert dump["expected"] == GOLDEN_BOARD
    assert (dump["turn"], dump["due"], dump["played"]) == (21, 1, ["f1"])
    assert dump["outcome"] == {"winners": ["south"], "reason": "White brings intel home to f1."}


def test_the_view_says_which_stacked_scout_has_intel() -> None:
    """Two scouts of one side share a square, and first the upper, then the lower one has intel.

    The rulings say so in section 2, "Stacks".
    """

    def view_scouts(**masks: str) -> Any:
        return GAME.view(make_state(white="d4", white_low="d4", **masks), None)["scouts"]["south"]

    upper = view_scouts(intel="d4")
    lower = view_scouts(lower_intel="d4")
    assert upper["with_intel"] == lower["with_intel"] == ["d4"]
    assert upper["pieces"] == [
        {"square": "d4", "level": "upper", "intel": True},
        {"square": "d4", "level": "lower", "intel": False},
    ]
    assert [piece["intel"] for piece in lower["pieces"]] == [False, True]


@pytest.mark.parametrize(
    ("state", "action", "expected"),
    [
        (make_state("c4", "d5"), "c4-d5", []),
        (make_state("c9", "h9"), "c9-c10", ["White gathers intel"]),
        (make_state("c2", "h9", intel="c2"), "c2-c1", ["White brings the intel home"]),
    ],
)
def test_intel_and_homecoming_have_a_headline(
    state: State, action: str, expected: list[str]
) -> None:
    headlines = [
        headline for stage in carry_out(state, action).stages for headline in stage.headlines
    ]
    assert [headline.text for headline in headlines] == expected
    # With a scene, pages draw the headline before hands go on.
    assert all(headline.scene for headline in headlines)
