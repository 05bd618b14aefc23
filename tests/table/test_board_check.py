"""What the referee says about boards."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from toy import Toy

from companion.core.errors import Ambiguous
from companion.core.grid import Square
from companion.core.kit import Kit, Layout, Seat
from companion.core.ports import Reading
from companion.games import game_named
from companion.table.board_check import (
    Before,
    HandMove,
    agrees,
    as_people_lay,
    explain,
    hand_moves,
    known_faces,
    problems,
    turned_below,
)
from companion.table.session import Session
from companion.table.state import who_and_what

GAME = game_named("outbuffered")
KIT = GAME.kit(GAME.options({}))
START = GAME.expected(GAME.setup(GAME.options({}), Random(0))) or {}


def sq(text: str) -> Square:
    return Square.parse(text)


def layout(**stacks: str) -> Layout:
    """`layout(a1="purple flag, purple robot")`, bottom to top."""
    return {sq(square): tuple(faces.split(", ")) for square, faces in stacks.items()}


def reading(unknown: str = "", quiet: bool = True, **seen: str) -> Reading:
    hidden = frozenset(sq(text) for text in unknown.split())
    return Reading(
        {sq(square): face for square, face in seen.items()}, hidden, quiet=quiet, game="outbuffered"
    )


STILL = {"a1": "purple robot", "b1": "purple flag", "c4": "lime robot", "b4": "lime flag"}


def test_a_layout_agrees_by_its_tops_alone() -> None:
    carried = layout(a1="lime flag, purple robot", b1="purple flag", c4="lime robot")
    assert agrees(carried, reading(a1="purple robot", b1="purple flag", c4="lime robot"))
    assert agrees(START, reading(**STILL))
    assert agrees(START, reading("b2", **STILL)), "what is hidden beside the pieces does not matter"
    assert not agrees(START, reading("a1", **STILL)), "a piece under a hand is not seen"
    assert not agrees(START, reading(quiet=False, **STILL))
    assert not agrees(START, reading(**(STILL | {"a2": "lime robot"})))


def test_what_has_not_moved_may_be_hidden() -> None:
    """A robot on b3 is so tall that the camera does not see the flag on b4 behind it."""
    before = layout(a1="purple robot", b2="lime robot", b4="lime flag")
    after = layout(a1="purple robot", b3="lime robot", b4="lime flag")
    hidden = reading("b4", a1="purple robot", b3="lime robot")
    assert agrees(after, hidden, before)
    assert not agrees(after, hidden), "in a set-up everything must be seen"
    assert not agrees(after, reading("b3", a1="purple robot", b4="lime flag"), before), (
        "what has moved must be seen"
    )
    assert not agrees(
        after, reading("b4", a1="purple robot", b3="lime robot", b2="purple flag"), before
    )


def test_what_lay_below_what_has_gone_may_be_hidden() -> None:
    before = layout(g4="pink regular, ball", e6="pink big")
    after = layout(g4="pink regular", e6="pink big, ball")
    assert agrees(after, reading("g4", e6="ball"), before)
    assert not agrees(after, reading(e6="ball"), before), "the piece is missed"
    assert not agrees(after, reading("e6", g4="pink regular"), before), (
        "where the ball went is not seen"
    )


def test_hand_moves_follow_stacks() -> None:
    before = layout(b3="lime flag, purple robot", c4="lime robot")
    after = layout(b2="lime flag, purple robot", c3="lime robot")
    assert set(hand_moves(KIT, before, after)) == {
        HandMove(("lime flag", "purple robot"), sq("b3"), sq("b2")),
        HandMove(("lime robot",), sq("c4"), sq("c3")),
    }
    seen = reading(b2="purple robot", c4="lime robot")
    done = {move.faces[-1]: move.done for move in hand_moves(KIT, before, after, seen)}
    assert done == {"purple robot": True, "lime robot": False}
    left_behind = reading(b2="purple robot", b3="lime flag", c3="lime robot")
    assert not hand_moves(KIT, before, after, left_behind)[0].done, "the flag was forgotten"
    covered = reading("b3 c4", b2="purple robot", c3="lime robot")
    assert not any(move.done for move in hand_moves(KIT, before, after, covered)), (
        "a hand is over where they were"
    )


def test_what_turns_over_under_another_piece_is_done_once_hands_were_there() -> None:
    kit = game_named("kahmate").kit(game_named("kahmate").options({}))
    before = layout(g7="pink fast turned over, ball", b2="blue big turned over")
    after = layout(g7="pink fast, ball", b2="blue big")
    assert turned_below(before, after) == {sq("g7")}, "the other one can be seen"
    seen = Reading(
        {sq("g7"): "ball", sq("b2"): "blue big"}, frozenset(), quiet=True, game="kahmate"
    )
    assert agrees(after, seen, before), "as far as a picture goes"
    done = {move.target: move.done for move in hand_moves(kit, before, after, seen)}
    assert done == {sq("g7"): False, sq("b2"): True}
    assert all(move.done for move in hand_moves(kit, before, after, seen, {sq("g7")}))


def test_what_is_hidden_is_remembered_unless_it_is_seen_elsewhere() -> None:
    board = layout(a1="purple robot", b1="purple flag")
    hidden = reading("a1", b1="purple flag")
    assert known_faces(hidden, board) == {sq("a1"): "purple robot", sq("b1"): "purple flag"}
    gone = reading("a1", a3="purple robot", b1="purple flag")
    assert known_faces(gone, board) == {sq("a3"): "purple robot", sq("b1"): "purple flag"}


def test_of_equal_pieces_that_are_hidden_so_many_are_remembered_as_are_not_seen() -> None:
    board = layout(a1="pink regular", c1="pink regular", e1="pink regular")
    both = known_faces(reading("a1 c1", e1="pink regular"), board)
    assert both == dict.fromkeys(map(sq, ("a1", "c1", "e1")), "pink regular")
    one = known_faces(reading("a1 c1", e1="pink regular", g1="pink regular"), board)
    assert one == dict.fromkeys(map(sq, ("a1", "e1", "g1")), "pink regular"), (
        "one of the two is seen elsewhere"
    )


def test_of_equal_pieces_the_one_that_keeps_its_face_goes_its_way_and_the_other_turns_over() -> (
    None
):
    kit = game_named("kahmate").kit(game_named("kahmate").options({}))
    front, back = _two_sides(kit)
    before, after = layout(a1=front, c1=back), layout(e1=back, g1=back)
    ways = {(move.origin, move.target, move.turned) for move in hand_moves(kit, before, after)}
    assert ways == {(sq("a1"), sq("g1"), True), (sq("c1"), sq("e1"), False)}


def _two_sides(kit: Kit) -> tuple[str, str]:
    """A piece that can be turned over: its two faces."""
    return next(
        (kit.kind(face.name), face.name) for face in kit.faces if kit.kind(face.name) != face.name
    )


def test_setting_up_and_clearing_are_moves_too() -> None:
    assert hand_moves(KIT, {}, layout(a1="purple robot"))[0].origin is None
    assert hand_moves(KIT, layout(a1="purple robot"), {})[0].target is None


@pytest.mark.parametrize(
    ("seen", "text", "sign"),
    [
        (
            {"a1": None, "a2": "purple robot"},
            "Purple robot expected on a1, seen on a2: move it back.",
            "Move the purple robot a2 to a1",
        ),
        (
            {"a1": None},
            "Purple robot is missing on a1: put it there.",
            "Put the purple robot on a1",
        ),
        (
            {"c4": "purple flag", "b1": None},
            "Purple flag expected on b1, seen on c4: move it back.",
            "",
        ),
    ],
)
def test_a_wrong_piece_is_named_with_its_way_back(
    seen: dict[str, str | None], text: str, sign: str
) -> None:
    squares = {square: face for square, face in (STILL | seen).items() if face}
    found = problems(KIT, START, START, reading(**squares))
    assert text in [problem.text for problem in found]
    if sign:
        assert [problem.sign for problem in found] == [sign]


def test_what_does_not_belong_is_sent_off() -> None:
    found = problems(KIT, START, START, reading(**(STILL | {"b2": "lime robot"})))
    assert found[0].square == sq("b2")
    assert "move it back" in found[0].text or "take it off" in found[0].text


def test_on_the_way_nothing_is_wrong() -> None:
    after = layout(a2="purple robot", b1="purple flag", c3="lime robot", b4="lime flag")
    lifted = {"b1": "purple flag", "b4": "lime flag"}
    assert problems(KIT, START, after, reading(**STILL)) == (), "not begun"
    assert problems(KIT, START, after, reading(**lifted)) == (), "both in the air"
    assert problems(KIT, START, after, reading(**lifted, a2="purple robot", c4="lime robot")) == ()
    wrong = problems(KIT, START, after, reading(**lifted, b2="purple robot", c4="lime robot"))
    assert [problem.text for problem in wrong] == [
        "Purple robot expected on a2, seen on b2: move it to a2."
    ]
    assert wrong[0].home == sq("a2")
    swapped = problems(KIT, START, after, reading(**lifted, a2="lime robot", c3="purple robot"))
    assert {problem.square: problem.home for problem in swapped} == {
        sq("a2"): sq("c3"),
        sq("c3"): sq("a2"),
    }


def test_a_stack_may_come_apart_on_the_way() -> None:
    before = layout(b3="lime flag, purple robot", b1="purple flag", c4="lime robot")
    after = layout(b2="lime flag, purple robot", b1="purple flag", c4="lime robot")
    assert (
        problems(KIT, before, after, reading(b3="lime flag", b1="purple flag", c4="lime robot"))
        == ()
    )


@pytest.mark.parametrize(
    ("faces", "seen", "fits"),
    [
        ("lime flag, purple robot", {"b3": "lime flag"}, True),
        ("lime flag, purple robot", {"b3": "lime flag", "a1": "purple robot"}, False),
        ("lime flag, purple robot", {"b3": "lime robot"}, False),
    ],
)
def test_a_flag_lies_above_or_below_its_robot(faces: str, seen: dict[str, str], fits: bool) -> None:
    after = layout(b3=faces, b1="purple flag")
    look = reading(b1="purple flag", **seen)
    assert agrees(after, as_people_lay(KIT, after, look)) is fits
    assert (problems(KIT, after, after, look) == ()) is fits


def test_a_flag_alone_shows_no_robot_on_it_until_a_hand_was_there() -> None:
    before, after = layout(a3="purple robot", b3="lime flag"), layout(b3="lime flag, purple robot")
    look = reading(b3="lime flag")
    assert not agrees(after, as_people_lay(KIT, after, look, before)), "the robot is in a hand"
    assert agrees(after, as_people_lay(KIT, after, look, before, {sq("b3")}))
    (pick_up,) = hand_moves(KIT, before, after, look, {sq("b3")})
    assert pick_up.done


def test_a_ball_lies_above_or_below_its_player() -> None:
    """Of two players that look the same it is with the one whom a run has brought there."""
    game = game_named("kahmate")
    kit = game.kit(game.options({}))
    board = layout(b5="blue regular, ball", e5="blue regular")
    outcomes = [
        ("run", (layout(b7="blue regular, ball", e5="blue regular"),)),
        ("kick", (board | layout(b7="ball"),)),
    ]
    look = reading(b7="blue regular", e5="blue regular")
    assert explain(game, Seat.SOUTH, look, outcomes, Before(kit, board)) == "run"
    left = reading(b7="blue regular", e5="blue regular", b5="ball")
    assert explain(game, Seat.SOUTH, left, outcomes, Before(kit, board)) is None, (
        "it was left behind"
    )


def test_what_belongs_on_another_square_is_told_also_where_it_belongs_below() -> None:
    game = game_named("kahmate")
    kit = game.kit(game.options({}))
    before = layout(d4="blue fast", d6="ball")
    after = layout(d6="blue fast, ball")
    assert problems(kit, before, after, reading(d6="blue fast")) == (), "the ball lies below"
    (astray,) = problems(kit, after, after, reading(e6="blue fast", d6="ball"))
    assert astray.text == "Blue fast expected on d6, seen on e6: move it back.", (
        "also what belongs below"
    )
    assert problems(kit, before, after, reading()) == (), "both in the hand"
    assert problems(kit, before, after, reading(d6="ball")) == (), "the ball has not been lifted"
    for faces in (("pink fast", "ball"), ("ball", "pink fast")):
        seat, text = who_and_what(Session(), kit, HandMove(faces, sq("d4"), sq("d6")))
        assert (seat, text) == (Seat.NORTH, "Pink: fast and ball, d4 to d6"), "a ball is nobody's"


def test_unknown_squares_are_never_wrong() -> None:
    assert problems(KIT, START, START, reading("a1 b1", c4="lime robot", b4="lime flag")) == ()


def test_a_piece_that_would_lie_on_one_that_looks_the_same_is_told_by_its_marker() -> None:
    scouts = game_named("scouts")
    kit, (plain, full) = scouts.kit(scouts.options({})), ("black scout", "black scout with intel")
    a3, a4 = sq("a3"), sq("a4")
    board = layout(a3=full, a4=f"{plain}, {full}")
    outcomes = [
        ("a4-a3", (layout(a3=f"{full}, {full}", a4=plain),)),
        ("a4-a5", (layout(a3=full, a4=plain, a5=full),)),
    ]
    outcomes = [(scouts.parse(text), layouts) for text, layouts in outcomes]
    before = Before(kit, board, {a3: 20, a4: 21})
    hidden = replace(reading("a5", a3=full, a4=plain), game="scouts", markers={a3: 20, a4: 22})
    assert explain(scouts, Seat.NORTH, hidden, outcomes, before) is None, (
        "the piece lies on a5, where nothing is seen"
    )
    shown = replace(hidden, markers={a3: 21, a4: 22})
    assert explain(scouts, Seat.NORTH, shown, outcomes, before) == scouts.parse("a4-a3")
    assert explain(
        scouts, Seat.NORTH, shown, outcomes, replace(before, markers={a4: 21})
    ) == scouts.parse("a4-a3")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a4": 21, "c3": 25}, {"a3": 20, "a4": 21, "c3": 25}),
        ({"a3": 20, "c3": 25}, {"a3": 20, "a4": 21, "c3": 25}),
        ({"a3": 20, "a4": 21, "c3": 25}, {"a3": 25, "a4": 21, "c3": 20}),
    ],
    ids=["put straight", "the other one put straight", "taken for each other"],
)
def test_what_hands_put_straight_or_take_for_each_other_is_no_play(
    before: dict[str, int], after: dict[str, int]
) -> None:
    scouts = game_named("scouts")
    kit, plain = scouts.kit(scouts.options({})), "black scout"
    board = layout(a3=plain, a4=f"{plain}, {plain}", c3=plain)
    outcomes = [(scouts.parse("a4-a3"), (layout(a3=f"{plain}, {plain}", a4=plain, c3=plain),))]
    was, now = ({sq(square): marker for square, marker in each.items()} for each in (before, after))
    seen = replace(reading("", a3=plain, a4=plain, c3=plain), game="scouts", markers=now)
    assert explain(scouts, Seat.NORTH, seen, outcomes, Before(kit, board, was)) is None


def test_explain_finds_the_one_play() -> None:
    toy = Toy()
    state = toy.setup(toy.options({}), Random(0))
    outcomes = [
        (action, (toy.expected(toy.apply(state, {Seat.SOUTH: action}, Random(0)).state) or {},))
        for action in toy.legal_actions(state, Seat.SOUTH)
    ]
    before = Before(toy.kit(toy.options({})), toy.expected(state) or {})
    seen = reading(a3="white counter", b1="black counter")
    assert explain(toy, Seat.SOUTH, seen, outcomes, before) == 2
    assert (
        explain(toy, Seat.SOUTH, reading(a5="white counter", b1="black counter"), outcomes, before)
        is None
    )
    with pytest.raises(Ambiguous) as asked:
        explain(toy, Seat.SOUTH, seen, [*outcomes, (1, outcomes[1][1])], before)
    assert asked.value.choices == ("2", "1")
