"""Tests of Kahmate's notation, placing and options, on states without a table.

Counts of positions and a golden game follow.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from kahmate_tools import GAME, NORTH, SOUTH, SlowKahmate, carry_out, set_up_state
from step_tools import event_texts

from companion.core.errors import Malformed
from companion.core.kit import SEATS, Seat
from companion.games.base import Drawn, plain_layout

# Placings of all pieces, one square for each: R is regular, B big, T tough, F fast, and S smart.
BLUE_PLACING = "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1"
PINK_PLACING = "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11"


# ---- notation ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "b2-b3-c3", "b2-b3-b2", "b10-b11-goal", "b11-goal", "b5*c4", "b5!c8", "b4-b5xb6",
        "b5xb6", "b4-b5&c7-c6xb6", "b5&c6xb6", ".", "1", "6", BLUE_PLACING, PINK_PLACING,
    ],
)  # fmt: skip
def test_notation_is_read_and_written_alike(text: str) -> None:
    assert GAME.format(GAME.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "b2", "-b2", "b2-b3-goal-b4", "B2-b3", "b5!", "b5xb6xb7", "a1&a2&a3xb6", "12",
        BLUE_PLACING.replace(" ", "  "), BLUE_PLACING + " R@a1", "b" * 10_000,
    ],
)  # fmt: skip
def test_malformed_text_says_what_was_expected(text: str) -> None:
    with pytest.raises(Malformed, match="is not an action: expected a run b2-b3-c3") as refused:
        GAME.parse(text)
    assert len(refused.value.message) < 400


@pytest.mark.parametrize("text", ["b2-i2", "b5*j4", "b5!b12"])
def test_a_square_off_the_board_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="is not on the board: files are a to h, ranks 1 to 11"):
        GAME.parse(text)


# ---- set-up --------------------------------------------------------------------------------------


def test_chance_places_the_ball_and_chooses_a_beginner() -> None:
    """The 60 seeds give every square of the ball's cards, and both sides as beginners."""
    state = GAME.setup(GAME.options({}), Random(0))
    assert GAME.to_act(state) == set(SEATS)
    assert GAME.expected(state) is None
    balls = Counter[str]()
    beginners = Counter[Seat]()
    for seed in range(60):
        after = GAME.apply(
            state, {SOUTH: GAME.parse(BLUE_PLACING), NORTH: GAME.parse(PINK_PLACING)}, Random(seed)
        ).state
        balls[GAME.dump(after)["ball"]["square"]] += 1
        beginners.update(GAME.to_act(after))
    assert set(balls) == {"b6", "c6", "d6", "e6", "f6", "g6"}
    assert set(beginners) == set(SEATS)


def test_the_placing_puts_out_all_pieces() -> None:
    # The options leave nothing to chance: card 1 puts the ball on b6, and pink begins.
    state = GAME.setup(GAME.options({"ball_card": 1, "starter": "north"}), Random(0))
    step = GAME.apply(
        state, {SOUTH: GAME.parse(BLUE_PLACING), NORTH: GAME.parse(PINK_PLACING)}, Random(0)
    )
    (stage,) = step.stages
    assert stage.title == "Put the pieces out"
    assert stage.expected == GAME.expected(step.state)
    assert plain_layout(stage.expected) == {
        "a2": ["blue fast"], "b6": ["ball"], "c2": ["blue regular"], "d1": ["blue smart"],
        "d2": ["blue big"], "e2": ["blue tough"], "f2": ["blue regular"],
        "c10": ["pink regular"], "d10": ["pink tough"], "e10": ["pink big"],
        "e11": ["pink smart"], "f10": ["pink regular"], "h10": ["pink fast"],
    }  # fmt: skip
    assert event_texts(step) == [
        "Blue places regular c2, regular f2, big d2, tough e2, fast a2, smart d1.",
        "Pink places regular f10, regular c10, big e10, tough d10, fast h10, smart e11.",
        "Card 1: the ball lies on b6.",
        "Pink begins.",
    ]


# ---- counts --------------------------------------------------------------------------------------

# Numbers of sequences of one and of two decisions of blue from `set_up_state`.
GOLDEN_COUNTS = (338, 89972)


def test_sequences_are_counted_to_depth_two() -> None:
    """The game and the slow second implementation, which sees only the public dump, count alike."""
    start = set_up_state()
    # Count the legal actions of the start, then those of each position after one of them.
    first = list(GAME.legal_actions(start, SOUTH))
    second_count = slow_count = 0
    for action in first:
        state = GAME.apply(start, {SOUTH: action}, Random(0)).state
        (seat,) = GAME.to_act(state)
        second_count += sum(1 for _ in GAME.legal_actions(state, seat))
        slow_count += len(SlowKahmate(GAME.dump(state)).legal_texts())
    assert (len(first), second_count) == GOLDEN_COUNTS
    assert (len(SlowKahmate(GAME.dump(start)).legal_texts()), slow_count) == GOLDEN_COUNTS


# ---- a golden game -------------------------------------------------------------------------------

# Actions of the seat on turn, such as a run `e2-e3` or the end of a turn `.`. A pair such as `2/1`
# is blue's and pink's card in a face-off.
GOLDEN_GAME = [
    "e2-e3-e4-e5", "a2-a3-a4-a5-b5", ".", "e10-e9-e8", "d10-d9-d8-d7", ".", "e5-e6-d6-c6", ".",
    "d7-c7xc6", "2/1", "4/3", "3/6", "b5-b6-b7-c7xd7", "5/2", "e8-d8", "d8*c10",
    "c10-c9-c8-c7", ".", "c6&b5-b6-b7xc7", "1/5", "c7-c6-c5-c4", ".", "c2-c3", ".", "c4-c3-c2",
    "6/4", ".", "c6-c5-c6-c7", "c7!b8", "b5-b6-b7-b8-b9", ".", ".", "b9-b10-b11-goal",
]  # fmt: skip
# Sentences of all events of the game.
GOLDEN_EVENTS = [
    "Blue tough runs from e2 to e5.",
    "Blue fast runs from a2 to b5.",
    "Blue ends the turn.",
    "Pink big runs from e10 to e8.",
    "Pink tough runs from d10 to d7.",
    "Pink ends the turn.",
    "Blue tough runs from e5 to c6.",
    "Blue tough takes the ball on d6.",
    "Blue ends the turn.",
    "Pink tough tackles blue tough on c6.",
    "2 against 2: both choose a card again.",
    "4 against 4: both choose a card again.",
    "7 against 3: pink tough wins the face-off.",
    "Pink tough has the ball on d7.",
    "Blue tough is turned over on c6.",
    "The tackle ends pink’s turn.",
    "Blue fast tackles pink tough on d7.",
    "4 against 2: blue fast wins the face-off.",
    "The ball lies on d8.",
    "Pink tough is turned over on d7.",
    "The tackle ends blue’s turn.",
    "Blue tough stands up on c6.",
    "Pink big runs from e8 to d8.",
    "Pink big passes from d8 to c10.",
    "Pink regular has the ball on c10.",
    "Pink regular runs from c10 to c7.",
    "Pink ends the turn.",
    "Pink tough stands up on d7.",
    "Blue tough and blue fast tackle pink regular on c7.",
    "1 against 5: pink regular wins the face-off.",
    "Pink regular keeps the ball on c7.",
    "Blue tough is turned over on c6.",
    "Blue fast is turned over on b5.",
    "The tackle ends blue’s turn.",
    "Pink regular runs from c7 to c4.",
    "Pink ends the turn.",
    "Blue regular runs from c2 to c3.",
    "Blue ends the turn.",
    "Blue tough stands up on c6.",
    "Blue fast stands up on b5.",
    "Pink regular runs from c4 to c2.",
    "4 against 6: blue regular wins the face-off.",
    "All cards have been used: both hands hold 1 to 6 again.",
    "Pink regular stops on c4.",
    "The ball lies on c5.",
    "Pink regular is turned over on c4.",
    "Pink ends the turn.",
    "Blue tough runs from c6 to c7.",
    "Blue tough takes the ball on c5.",
    "Blue tough kicks from c7 to b8.",
    "The ball lies on b8.",
    "Blue fast runs from b5 to b9.",
    "Blue fast takes the ball on b8.",
    "Blue ends the turn.",
    "Pink ends the turn.",
    "Pink regular stands up on c4.",
    "Blue fast runs from b9 into goal.",
    "Blue fast carries the ball into goal: a try.",
]
# Faces on each square at the end.
GOLDEN_END = {
    "c3": ["blue regular"],
    "c4": ["pink regular"],
    "c7": ["blue tough"],
    "d1": ["blue smart"],
    "d2": ["blue big"],
    "d7": ["pink tough"],
    "d8": ["pink big"],
    "e11": ["pink smart"],
    "f2": ["blue regular"],
    "f10": ["pink regular"],
    "h10": ["pink fast"],
}


def test_golden_game() -> None:
    """Play a whole game, and compare all sentences and the end with those that were recorded."""
    state = set_up_state()
    sentences = []
    for text in GOLDEN_GAME:
        step = carry_out(state, text)
        sentences += event_texts(step)
        state = step.state
    assert sentences == GOLDEN_EVENTS
    assert plain_layout(GAME.expected(state)) == GOLDEN_END
    assert state.outcome is not None
    assert (state.outcome.winners, state.outcome.reason) == (
        {SOUTH},
        "Blue fast carries the ball into goal: a try.",
    )


def test_chance_decides_what_options_leave_open() -> None:
    open_options: tuple[dict[str, object], ...] = ({}, {"ball_card": 3}, {"starter": "north"})
    assert [GAME.drawn(GAME.options(options)) for options in open_options] == [Drawn.PLAY] * 3
    assert GAME.drawn(GAME.options({"ball_card": 3, "starter": "north"})) is Drawn.NEVER
