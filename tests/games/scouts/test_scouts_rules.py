"""Scouts: the sentences of the rulebook and of the rulings, the worked example, and the notation."""

from __future__ import annotations

import pytest
from scouts_tools import GAME, SET_UP, after, at, do, legal, plays_of, start

from companion.core.errors import Malformed
from companion.core.grid import Square
from companion.core.kit import Seat
from companion.games.scouts.state import State


def full() -> State:
    return after(start(), *SET_UP)


def squares(names: str) -> list[str]:
    return names.split()


def plays(state: State) -> set[str]:
    """The legal plays: neither rocks nor the end of the turn."""
    return {text for text in legal(state) if text[0] not in "BR."}


def jumps(state: State, origin: str) -> set[str]:
    return {text for text in plays_of(state, origin) if "^" in text}


def on(state: State, square: str) -> tuple[str, ...]:
    return GAME.expected(state).get(Square.parse(square), ())


# ---- the worked example of the rulings ----------------------------------------------------------------------------------


def test_worked_example_two_jumps_are_one_play() -> None:
    state = at("c1 c4", "c2")
    assert "c1^c3^c5" in legal(state)
    then = after(state, "c1^c3^c5")
    assert then.position.due == 1
    assert on(then, "c5") == ("white scout",)


# ---- setup ------------------------------------------------------------------------------------------------------------------


def test_setup_alternates_beginning_with_white_until_each_has_five() -> None:
    state = start()
    for number, text in enumerate(SET_UP):
        assert state.seat is (Seat.SOUTH, Seat.NORTH)[number % 2]
        assert state.turn == 0
        assert not {text for text in legal(state) if text[0] != "@"}, (
            "no rocks and no end of a turn yet"
        )
        state = do(state, text).state
    assert state.seat is Seat.SOUTH
    assert state.turn == 1
    assert "@a1" not in legal(state)
    assert sorted(map(str, GAME.expected(state))) == sorted(text[1:] for text in SET_UP)


# ---- turns and plays ------------------------------------------------------------------------------------------------------


def test_whites_first_turn_has_one_play_and_every_other_turn_two() -> None:
    state = after(full(), "c1-c2")
    assert not plays(state)
    assert "." in legal(state)
    state = after(state, ".", "c10-c9")
    assert "." not in legal(state)
    state = after(state, "d10-d9", ".", "c2-c3")
    assert "." not in legal(state)
    assert "." in legal(after(state, "d1-d2"))


def test_the_turn_may_end_when_no_piece_that_was_not_played_has_a_play() -> None:
    assert "." in legal(after(at("c4", "h10"), "c4-c5")), "the only scout has been played"
    walled = at("a1", "a2 h10", white_low="a2", rocks={"white boulder": "b1 c1 b2 c2"})
    assert "." in legal(walled), "no play at all, and none has been made"
    assert any(text.startswith("R@") for text in legal(walled)), "rocks are not plays"
    step = do(walled, ".")
    assert step.events[0].why == "No scout can move."
    assert step.state.seat is Seat.NORTH


# ---- dash -----------------------------------------------------------------------------------------------------------------


def test_dash_goes_to_any_of_the_eight_adjacent_squares() -> None:
    assert plays_of(at("c4"), "c4") == {
        f"c4-{square}" for square in squares("b3 b4 b5 c3 c5 d3 d4 d5")
    }
    assert plays_of(at("a1"), "a1") == {"a1-a2", "a1-b1", "a1-b2"}
    assert plays_of(at("h5"), "h5") == {f"h5-{square}" for square in squares("h4 h6 g4 g5 g6")}


def test_a_dash_always_ends_the_play() -> None:
    state = after(at("c4 h1", "c6"), "c4-c5")
    assert not plays_of(state, "c5")
    with pytest.raises(Malformed, match="mixes dash and jump: a dash is a move of its own"):
        GAME.parse("c4-c5^c7")


def test_a_diagonal_dash_passes_between_any_two_things() -> None:
    """Reminders: a piece cannot jump between stacks, but can dash between stacks; rocks likewise."""
    stacks = at("c4", "c5 d4", white_low="c5 d4")
    assert "c4-d5" in legal(stacks)
    assert not jumps(stacks, "c4")
    assert "c4-d5" in legal(at("c4", rocks={"white rock": "c5 c6", "black rock": "d4 e4"}))


# ---- jump -----------------------------------------------------------------------------------------------------------------


def test_a_jump_lands_on_an_empty_square_of_the_board() -> None:
    assert not jumps(at("c4", "c5 c6"), "c4")
    assert not jumps(at("g4", "h4"), "g4")
    assert not jumps(at("c4", "c5", rocks={"white rock": "c6 d6"}), "c4")


# ---- stacks ---------------------------------------------------------------------------------------------------------------


def test_a_dash_may_end_on_one_other_piece_of_either_side_and_forms_a_stack() -> None:
    state = at("c4 c5", "d4")
    assert {"c4-c5", "c4-d4"} <= legal(state)
    assert on(after(state, "c4-c5"), "c5") == ("white scout", "white scout")
    step = do(state, "c4-d4")
    assert on(step.state, "d4") == ("black scout", "white scout")
    assert step.events[0].why == "The black scout on d4 waits under it."
    assert step.events[0].rule == "stacks"


@pytest.mark.parametrize(("low", "side"), [("white_low", "white"), ("black_low", "black")])
def test_whose_piece_is_uncovered_is_told(low: str, side: str) -> None:
    step = do(at("c4 h1", "g9", **{low: "c4"}), "c4-c5")
    assert step.events[0].why == f"The {side} scout on c4 is free again."


# ---- boulders and rocks ---------------------------------------------------------------------------------------------------


def test_rocks_are_laid_before_between_and_after_the_plays_whites_first_turn_included() -> None:
    state = full()
    assert {"B@d5", "R@d5-e5"} <= legal(state)
    state = after(state, "B@d5", "c1-c2", "R@a1-a2")
    assert legal(state) == {"."}
    state = after(state, ".", "c10-c9", "B@g5", "d10-d9")
    assert {"R@a5-a6", "."} <= legal(state)
    assert "d9-d8" not in legal(state)


def test_rocks_may_lie_anywhere_home_ranks_included() -> None:
    state = at("c4", "c6")
    assert {"B@a1", "B@g9", "R@a1-b1", "R@a10-b10", "R@h9-h10"} <= legal(state)
    assert len({text for text in legal(state) if text[0] == "B"}) == 7 * 9 - 4 - 4
    assert len({text for text in legal(state) if text[0] == "R"}) == 7 * 10 + 8 * 9 - 4 - 4


def test_a_rock_lies_in_every_square_that_it_covers() -> None:
    state = after(full(), "B@d5", "R@a7-a8")
    layout = {str(square): faces for square, faces in GAME.expected(state).items()}
    assert [layout[name] for name in ("d5", "e5", "d6", "e6")] == [("white boulder",)] * 4
    assert [layout[name] for name in ("a7", "a8")] == [("white rock",)] * 2


# ---- gathering intel, winning -----------------------------------------------------------------------------------------------


def test_a_piece_on_the_enemys_back_rank_is_flipped_which_ends_the_play() -> None:
    step = do(at("c8 h1", "c9 d10"), "c8^c10")
    assert on(step.state, "c10") == ("white scout with intel",)
    assert [stage.title for stage in step.stages] == ["Jump", "Turn the scout over"]
    assert "c8^c10^e10" not in legal(at("c8", "c9 d10"))


def test_black_gathers_on_rank_1_and_brings_it_to_rank_10() -> None:
    state = after(at("h5", "c2 a3", seat=Seat.NORTH), "c2-c1")
    assert on(state, "c1") == ("black scout with intel",)
    won = after(at("h5", "c9 a3", seat=Seat.NORTH, intel="c9"), "c9-c10")
    assert won.outcome is not None
    assert won.outcome.winners == {Seat.NORTH}


def test_a_flipped_piece_on_its_own_first_row_wins_at_once() -> None:
    step = do(at("c2 f4", "h9", intel="c2"), "c2-c1")
    assert step.state.outcome is not None
    assert step.state.outcome.winners == {Seat.SOUTH}
    assert GAME.to_act(step.state) == frozenset()
    assert not legal(step.state), "no end of the turn either"
    stacked = after(at("c2 f4 c1", "h9", intel="c2"), "c2-c1")
    assert stacked.outcome is not None, "on top of another scout too"


def test_the_chain_ends_where_it_wins_and_a_plain_piece_at_home_does_not_win() -> None:
    state = at("c3 h2", "c2 d1", intel="c3")
    assert "c3^c1" in legal(state)
    assert "c3^c1^e1" not in legal(state)
    plain = after(at("c3 h2", "c2 d1"), "c3^c1^e1")
    assert plain.outcome is None


# ---- notation -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["@c1", "c1-d2", "c1^c3^e3", "B@d5", "R@d5-e5", "R@d9-d10", ".", "a10^c10"]
)
def test_notation_is_kept(text: str) -> None:
    assert GAME.format(GAME.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "“” is not a move: expected @c1, c1-d2"),
        ("c1", "“c1” is not a move"),
        ("R", "“R” is not a move"),
        ("B", "“B” is not a move"),
        ("c1-", "“c1-” is not a move"),
        ("c1 d2", "“c1 d2” is not a move"),
        ("C1-D2", "“C1-D2” is not a move"),
        (" .", "“ .” is not a move"),
        (".\n", "is not a move"),
        ("..", "“..” is not a move"),
        ("@", "“@” is not a move"),
        ("@c0", "c0 is not on the board: files are a to h, ranks 1 to 10"),
        ("@i1", "i1 is not on the board"),
        ("@c01", "c01 is not on the board"),
        ("c10-c11", "c11 is not on the board"),
        ("c1-d2-e3", "“c1-d2-e3” has 2 dashes: a dash has two squares"),
        ("c1-d2^f2", "mixes dash and jump"),
        ("X@d5", "“X@d5” is not a move"),
        ("b@d5", "“b@d5” is not a move"),
        ("B@d5-e5", "“B@d5-e5” is not a move"),
        ("R@d5", "“R@d5” is not a rock: expected its two squares, such as R@d5-e5"),
        ("R@d5-f5", "d5 and f5 are not side by side"),
        ("R@d5-d5", "d5 and d5 are not side by side"),
        ("R@h5-a6", "h5 and a6 are not side by side"),
        ("R@e5-d5", "with its lower file or rank first: expected R@d5-e5"),
        ("R@d6-d5", "with its lower file or rank first: expected R@d5-d6"),
        ("c1^" * 300, "longer than the board"),
        ("x" * 90, "x…” is not a move"),
    ],
)
def test_anything_else_is_malformed_and_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        GAME.parse(text)
    assert message in caught.value.message
    assert len(caught.value.message) < 140
