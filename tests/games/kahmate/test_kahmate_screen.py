"""Kahmate on screens, pads and under hands: signs, face-offs, what can be tapped, what the board shows, no secrets."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import pytest
from kahmate_tools import GAME, NORTH, SOUTH, at, do, placed, told, with_hands

from companion.core.grid import Square
from companion.core.kit import SEATS, Layout, Seat
from companion.games.base import plain_layout
from companion.games.kahmate.actions import Run, Tackle
from companion.games.kahmate.state import State
from companion.games.pads import PadGrammar
from companion.games.screen import Duellist, Play

NEW = GAME.setup(GAME.options({}), Random(0))
TACKLED = at("B@e5 T@f6", "S@e6", "e6")


def plays(state: State) -> dict[str, Play]:
    """What the seat on turn can tap, by notation."""
    (seat,) = GAME.to_act(state)
    return {play.text: play for play in GAME.plays(state, seat)}


def squares(play: Play) -> str:
    return " ".join(map(str, play.squares))


def laid(state: State, text: str) -> dict[str, list[str]] | None:
    """How hands leave the board."""
    (seat,) = GAME.to_act(state)
    action = GAME.parse(text)
    step = GAME.apply(state, {seat: action}, Random(0))
    return plain_layout(GAME.layouts_by_hand(state, seat, action, step)[0])


def random_states(seed: int, count: int) -> list[State]:
    """Positions of random games in which one seat is on turn."""
    rng, state, found = Random(seed), placed(), []
    while len(found) < count:
        due = sorted(GAME.to_act(state))
        if len(due) == 1 and rng.random() < 0.2:
            found.append(state)
        if not due:
            state = placed()
            continue
        state = GAME.apply(
            state, {seat: GAME.random_action(state, seat, rng) for seat in due}, rng
        ).state
    return found


# ---- standing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "sign"),
    [
        (NEW, "Both: place your six pieces"),
        (placed(starter="north"), "Pink: run up to two"),
        (TACKLED, "Blue: run up to two"),
        (at("B@e5 T@e4 S@a3", "S@e6", "e5", ran="e4 a3"), "Blue: pass, kick or end the turn"),
        (at("B@e5 T@e4 S@a6", "S@e6", "e5", ran="e4 a6"), "Blue: pass or end the turn"),
        (at("B@e5 T@e2 S@a1", "S@e6", "e5", ran="e2 a1"), "Blue: kick or end the turn"),
        (at("B@e5 T@e4 S@a3", "S@e6", "e6", ran="e4 a3"), "Blue: end the turn"),
        (do(TACKLED, "e5xe6").state, "Both: choose a card"),
        (do(at("R@h10", "", "h10"), "h10-h11-goal").state, "Blue wins by a try"),
    ],
)
def test_the_sign_says_in_40_characters_what_is_awaited(state: State, sign: str) -> None:
    for viewer in (None, *SEATS):
        assert GAME.standing(state, viewer).sign == sign
    assert len(sign) <= 40


def test_facts_and_hands_are_open_to_everybody() -> None:
    state = do(with_hands(placed(), (2, 3, 5), (1, 4, 6)), "e2-e3").state
    for viewer in (None, *SEATS):
        standing = GAME.standing(state, viewer)
        assert standing.facts == {SOUTH: "run 2 of 2", NORTH: "cards 1 4 6"}
        assert [card.value for card in standing.hands[NORTH] if card.is_spent] == ["2", "3", "5"]
    assert GAME.standing(do(state, "d2-d3").state, None).facts[SOUTH] == "no run left"


def test_what_is_proposed_can_be_placed() -> None:
    assert GAME.standing(NEW, None).placing is None
    for seat in SEATS:
        placing = GAME.standing(NEW, seat).placing
        assert placing is not None
        assert {face.split()[0] for _, face in placing.pieces} == {GAME.sides[seat].name}
        pairs = zip(placing.pieces, placing.proposal, strict=True)
        text = " ".join(f"{letter}@{square}" for (letter, _), square in pairs)
        GAME.check(NEW, seat, GAME.parse(text))


def test_keys_are_for_the_seat_on_turn_and_only_those_behind_which_is_a_play() -> None:
    def keys(state: State, viewer: Seat | None) -> list[str]:
        return [key.name for key in GAME.standing(state, viewer).keys]

    assert keys(placed(), SOUTH) == ["end"]
    assert keys(placed(), NORTH) == []
    assert keys(TACKLED, SOUTH) == ["tackle2", "end"]
    assert keys(at("B@h10 T@h9", "", "h10"), SOUTH) == ["kick", "end"]
    assert keys(do(TACKLED, "e5xe6").state, SOUTH) == []


def test_a_tackle_that_waits_is_shown_as_a_duel() -> None:
    duel = GAME.standing(do(TACKLED, "e5&f6xe6").state, None).duel
    assert duel is not None
    assert duel.hint == "A lead of more than 2 takes the ball."
    assert duel.sides == {
        SOUTH: Duellist("blue big", Square.parse("e5"), "tackles from e5 with tough on f6", (2, 1)),
        NORTH: Duellist("pink smart", Square.parse("e6"), "has the ball on e6", (1,)),
    }
    assert GAME.standing(TACKLED, SOUTH).duel is None


def test_runs_and_passes_that_wait_are_shown_as_duels() -> None:
    state = do(at("R@d6 T@d4", "S@d5", "d6"), "d6*d4").state
    duel = GAME.standing(state, NORTH).duel
    assert duel is not None
    assert [side.text for side in duel.sides.values()] == [
        "passes from d6 to d4",
        "intercepts on d5",
    ]
    state = do(at("T@d4", "S@d5 B@d6", "h6"), "d4-d5-d4").state
    duel = GAME.standing(state, NORTH).duel
    assert duel is not None
    assert [side.text for side in duel.sides.values()] == [
        "runs from d4 and comes back",
        "is in the way on d5",
    ]


# ---- what can be tapped -------------------------------------------------------------------------------------------------


def test_the_end_of_the_round_is_a_key_without_squares() -> None:
    assert plays(placed())["."] == Play(".", (), "End turn", "end", is_by_hand=False)


def test_a_try_is_tapped_beyond_the_last_rank_of_the_other_side() -> None:
    play = plays(at("B@h10", "", "h10"))["h10-h11-goal"]
    assert (squares(play), play.label, play.key) == ("h10 h11", "Run h10 into goal", "")
    assert " ".join(map(str, play.touches)) == "h10 h12"
    pink = plays(at("B@a8", "B@h2", "h2", NORTH))["h2-h1-goal"]
    assert " ".join(map(str, pink.touches)) == "h2 h0"


def test_of_the_ways_to_a_square_the_one_that_meets_nobody_comes_first() -> None:
    ways = [
        play
        for play in plays(at("F@d4", "R@d5", "a9")).values()
        if play.touches[1:] == (Square.parse("d6"),)
    ]
    assert [(play.text, " ".join(map(str, play.meets))) for play in ways] == [
        ("d4-c4-c5-c6-d6", ""),
        ("d4-d5-d6", "d5"),  # who loses to d5 is left on d4, c5 or e5
        ("d4-c4-c5-d5-d6", "d5"),
        ("d4-e4-e5-d5-d6", "d5"),
    ]


def test_of_passes_and_kicks_kicks_alone_have_a_key() -> None:
    found = plays(at("R@d6 T@d4", "S@d5", "d6"))
    assert (squares(found["d6*d4"]), found["d6*d4"].key) == ("d6 d4", "")
    assert found["d6*d4"].label == "Pass d6 to d4 against d5"
    assert (squares(found["d6!f8"]), found["d6!f8"].key, found["d6!f8"].label) == (
        "d6 f8",
        "kick",
        "Kick d6 to f8",
    )


def test_a_tackle_by_two_has_a_key() -> None:
    found = plays(at("B@e5 T@f7", "S@e6", "e6"))
    assert (squares(found["e5xe6"]), found["e5xe6"].key) == ("e5 e6", "")
    two = [play for play in found.values() if play.key == "tackle2"]
    assert sorted(play.text for play in two) == ["e5&f7-e7xe6", "f7-e7&e5xe6"]
    assert " ".join(map(str, found["f7-e7&e5xe6"].touches)) == "f7 e5 e6"
    assert found["f7-e7&e5xe6"].label == "Tackle e6 from f7 and e5"


@pytest.mark.parametrize("seed", range(3))
def test_plays_are_one_for_each_next_state(seed: int) -> None:
    """Every legal action leads to the state of exactly one play, looks alike under hands, and is no better than it."""
    for state in random_states(seed, 6):
        (seat,) = GAME.to_act(state)
        kept = {}
        for play in GAME.plays(state, seat):
            action = GAME.parse(play.text)
            GAME.check(state, seat, action)
            after = GAME.apply(state, {seat: action}, Random(0)).state
            assert after not in kept
            kept[after] = play
            assert len(play.label) <= 40
        assert {play.key for play in kept.values()} - {""} == {
            key.name for key in GAME.standing(state, seat).keys
        }
        sizes = defaultdict(list)
        for action in GAME.legal_actions(state, seat):
            step = GAME.apply(state, {seat: action}, Random(0))
            text = GAME.format(action)
            sizes[step.state].append((size(action), text))
            best = GAME.parse(kept[step.state].text)
            assert GAME.as_laid(state, seat, action, step) == GAME.as_laid(state, seat, best, step)
        assert set(sizes) == set(kept)
        for after, found in sizes.items():
            assert min(found)[1] == kept[after].text


def size(action: object) -> int:
    """How many squares a notation names."""
    return (
        len(str(action).replace("&", "-").replace("x", "-").split("-"))
        if isinstance(action, Run | Tackle)
        else 0
    )


# ---- what hands leave ---------------------------------------------------------------------------------------------------


def test_a_run_is_laid_with_the_ball_it_has_or_fetches() -> None:
    state = at("T@d3", "", "d4")
    assert laid(state, "d3-d4-e4") is not None
    assert (laid(state, "d3-d4-e4") or {})["e4"] == ["blue tough", "ball"]
    assert (laid(state, "d3-e3-e4") or {})["e4"] == ["blue tough"]
    assert (laid(state, "d3-e3-e4") or {})["d4"] == ["ball"]
    assert told(do(state, "d3-d4-d3"))[0] == "Blue tough runs from d3 and comes back."
    won = do(state, "d3-d4-e4")
    assert plain_layout(won.stages[0].expected) == laid(state, "d3-d4-e4")


def test_a_run_over_an_opponent_is_laid_as_if_it_were_won() -> None:
    state = at("F@d3", "S@d4", "d3")
    found = laid(state, "d3-d4-d5") or {}
    assert found["d5"] == ["blue fast", "ball"]
    assert found["d4"] == ["pink smart"], "not turned over yet"
    assert "d3" not in found


def test_pass_and_kick_are_laid_with_the_ball() -> None:
    state = at("R@d6 T@d4", "S@d5 B@e8", "d6")
    assert (laid(state, "d6*d4") or {})["d4"] == ["blue tough", "ball"]
    assert (laid(state, "d6*d4") or {})["d6"] == ["blue regular"]
    assert (laid(state, "d6!e8") or {})["e8"] == ["pink big", "ball"]
    assert (laid(state, "d6!d9") or {})["d9"] == ["ball"]


def test_tacklers_are_laid_on_the_carrier() -> None:
    assert (laid(TACKLED, "e5xe6") or {})["e6"] == ["pink smart", "ball", "blue big"]
    found = laid(TACKLED, "f6&e5xe6") or {}
    assert found["e6"] == ["pink smart", "ball", "blue tough", "blue big"]
    assert "e5" not in found
    assert "f6" not in found


def test_into_goal_is_laid_off_the_board_and_the_end_of_a_round_by_no_hand() -> None:
    found = laid(at("B@h10", "", "h10"), "h10-h11-goal") or {}
    assert "ball" not in {face for faces in found.values() for face in faces}
    assert "h10" not in found
    assert [play.text for play in GAME.plays(placed(), SOUTH) if not play.is_by_hand] == ["."]


def test_what_hands_have_laid_is_the_first_stage_of_what_needs_no_face_off() -> None:
    for state in random_states(5, 8):
        (seat,) = GAME.to_act(state)
        for play in GAME.plays(state, seat):
            action = GAME.parse(play.text)
            step = GAME.apply(state, {seat: action}, Random(0))
            found = GAME.layouts_by_hand(state, seat, action, step)
            if step.stages and play.text != ".":
                assert found[0] == step.stages[0].expected


PLACED = {"c2": "R", "f2": "R", "d2": "B", "e2": "T", "a2": "F", "d1": "S"}
ROLES = {"R": "regular", "B": "big", "T": "tough", "F": "fast", "S": "smart"}


def shown(side: str, places: dict[str, str]) -> dict[Square, str]:
    return {Square.parse(name): f"{side} {ROLES[letter]}" for name, letter in places.items()}


def test_six_pieces_on_the_own_ranks_are_a_placing() -> None:
    seen = shown("blue", PLACED)
    action = GAME.laid_out(NEW, SOUTH, seen)
    assert action is not None
    assert GAME.format(action) == "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1"
    GAME.check(NEW, SOUTH, action)


def test_anything_else_is_no_placing() -> None:
    seen = shown("blue", PLACED)
    down = {**seen, Square.parse("d1"): "blue smart turned over"}
    missing = shown("blue", {k: v for k, v in PLACED.items() if k != "d1"})
    for wrong in (down, missing, {}):
        assert GAME.laid_out(NEW, SOUTH, wrong) is None
    assert GAME.laid_out(placed(), SOUTH, seen) is None


def test_a_legal_play_that_hands_made_breaks_no_rule() -> None:
    """Whatever hands may do as a play is never told as a broken rule."""
    for state in random_states(9, 8):
        (seat,) = GAME.to_act(state)
        for play in GAME.plays(state, seat):
            action = GAME.parse(play.text)
            layout = GAME.as_laid(state, seat, action, GAME.apply(state, {seat: action}, Random(0)))
            if layout is not None and not (isinstance(action, Run) and action.into_goal):
                told = GAME.why_not(state, seat, tops(layout))
                assert told is None or may_be_other(state, action)


def tops(layout: Layout) -> dict[Square, str]:
    return {square: faces[-1] for square, faces in layout.items()}


def may_be_other(state: State, action: object) -> bool:
    """A longer way round something, for which the straight one is no play, cannot be guessed from the board."""
    return isinstance(action, Run | Tackle) and size(action) > 2


# ---- pads ---------------------------------------------------------------------------------------------------------------


def test_in_a_face_off_six_keys_are_six_cards_and_spent_ones_are_refused() -> None:
    state = do(with_hands(TACKLED, (2, 3, 5), (1, 4, 6)), "e5xe6").state
    for seat, hand in ((SOUTH, "235"), (NORTH, "146")):
        pad = GAME.pad(state, seat)
        assert pad is not None
        assert "".join(key.letter for key in pad.keys) == "123456"
        assert {pad.text((key.pad,)) for key in pad.keys if pad.accepts((), key.pad)} == set(hand)
        assert pad.text(()) is None
        assert not pad.accepts((pad.keys[0].pad,), "down"), "one card"


def test_in_a_round_ready_ends_it() -> None:
    pad = GAME.pad(placed(), SOUTH)
    assert isinstance(pad, PadGrammar)
    assert (pad.length, pad.keys, pad.text(())) == (0, (), ".")
    assert not pad.accepts((), "up")
    assert GAME.pad(placed(), NORTH) is None


def test_a_placing_is_for_the_phone_and_nothing_follows_a_try() -> None:
    assert GAME.pad(NEW, SOUTH) is None
    assert GAME.pad(do(at("R@h10", "", "h10"), "h10-h11-goal").state, SOUTH) is None


# ---- secrets ------------------------------------------------------------------------------------------------------------


def test_all_viewers_see_the_same_of_what_is_open() -> None:
    for state in (NEW, placed(), do(TACKLED, "e5xe6").state):
        views = [GAME.view(state, viewer) for viewer in (None, *SEATS)]
        assert views[0] == views[1] == views[2] == GAME.dump(state)
