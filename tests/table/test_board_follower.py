"""Games of hands under the camera: plays recognised or explained, chess clocks, and presses that
come too early.
"""

from __future__ import annotations

import pytest
from internals import live_of, session_of
from table_tools import TableRig, follow_instructions

from companion.core.errors import Stale
from companion.core.grid import Square
from companion.core.kit import Layout, Seat
from companion.core.ports import Alarm, CameraState, CameraStatus, Cue, Reading
from companion.table.board_check import top_faces
from companion.table.listeners import TableListener
from companion.table.session import Phase

SOUTH, NORTH = Seat.SOUTH, Seat.NORTH
PLACES = ("c1", "c10", "d1", "d10", "e1", "e10", "f1", "f10", "g1", "g10")
WHITE, BLACK = ("white scout",), ("black scout",)


def sq(text: str) -> Square:
    return Square.parse(text)


def lay(layout: Layout, **changes: tuple[str, ...] | None) -> dict[Square, tuple[str, ...]]:
    """Return the layout with some squares changed. None: empty."""
    changed = dict(layout) | {sq(square): faces for square, faces in changes.items() if faces}
    return {square: faces for square, faces in changed.items() if changes.get(str(square), faces)}


def see(
    rig: TableRig, layout: Layout, quiet: bool = True, after_s: float = 0.1, hidden: str = ""
) -> None:
    """Let time pass, and then let the camera see this."""
    rig.clock.advance(after_s)
    rig.show(layout, hidden, quiet, "scouts")


def now(rig: TableRig) -> Layout:
    return rig.view.board.layout


def begin(rig: TableRig, **options: object) -> None:
    """Begin a game whose pieces hands place under the camera, one by one."""
    rig.table.new_game("scouts", options, seed=1)
    see(rig, {})
    for square in PLACES:
        see(rig, lay(now(rig), **{square: WHITE if square.endswith("1") else BLACK}))
    if (clock := rig.view.time.clock) and clock.paused:
        rig.table.resume("table")
    rig.signals.clear()


def left_s(rig: TableRig, seat: Seat) -> float:
    clock = rig.view.time.clocks[seat]
    return round(clock.left_s if clock.due_s is None else clock.due_s - rig.clock.monotonic_s(), 3)


def press(rig: TableRig, seat: Seat) -> None:
    """Press the seat's clock on the phone."""
    rig.hand_in(seat, ".")


def machine_moves(rig: TableRig, action: str) -> None:
    """Let South's machine say what it does, as its program would."""
    rig.hand_in(SOUTH, action)


def test_moves_for_both_sides_at_once_count(rig: TableRig) -> None:
    begin(rig)
    rig.table.free_seat(SOUTH)
    rig.table.machines.seat_machine(SOUTH, "Pip")
    board = now(rig)
    machine_moves(rig, "c1-c2")
    assert rig.view.phase is Phase.STAGES
    rig.signals.clear()
    see(rig, lay(board, c1=None, c2=WHITE, c10=None, c9=BLACK))
    view = rig.view
    assert (view.phase, view.board.problems, view.board.broken_rule) == (Phase.ORDERS, (), None)
    machine_moves(rig, ".")
    rig.wait(0.2)
    view = rig.view
    assert [line for line in view.match.log if "dashes" in line] == [
        "1. White dashes c1 to c2.",
        "2. Black dashes c10 to c9.",
    ]
    assert (view.board.problems, view.board.broken_rule) == ((), None)
    assert Cue.BOARD_WRONG not in [signal.cue for signal in rig.signals]


def test_a_wrong_play_is_named_with_its_rule(rig: TableRig) -> None:
    begin(rig)
    board = now(rig)
    see(rig, lay(board, c1=None, c3=WHITE))
    view = rig.view
    assert view.board.broken_rule is not None
    assert view.board.broken_rule.message == "c1 can’t jump: c2 is empty."
    assert view.board.broken_rule.square == "c2"
    assert (str(view.board.problems[0].square), str(view.board.problems[0].home)) == ("c3", "c1")
    assert view.sign.small == view.board.broken_rule.message
    assert Cue.BOARD_WRONG in [signal.cue for signal in rig.signals]
    see(rig, board)
    assert rig.view.board.broken_rule is None
    assert rig.view.board.problems == ()


def test_a_scout_in_the_hand_is_no_mistake(rig: TableRig) -> None:
    begin(rig)
    moment = rig.view.moment
    see(rig, lay(now(rig), c1=None))
    view = rig.view
    assert (view.moment, view.board.problems, view.board.broken_rule) == (moment, (), None)
    assert Cue.BOARD_WRONG not in [signal.cue for signal in rig.signals]
    see(rig, lay(now(rig), c10=None))
    assert rig.view.board.problems[0].text == "Black scout is missing on c10: put it there."


def test_a_hand_does_not_replace_a_missing_piece(rig: TableRig) -> None:
    begin(rig)
    whole = now(rig)
    see(rig, lay(whole, e10=None))
    see(rig, lay(whole, e10=None), hidden="e10 e9")
    sign = rig.view.sign
    assert sign.text == "Put the black scout on e10"
    assert sign.small.startswith("The camera cannot see e9, e10: take away your hand")
    assert not live_of(rig.table).shows_layout(whole), "nothing is ticked off by that"
    see(rig, whole)
    assert rig.view.board.problems == ()
    see(rig, lay(whole, e10=None), hidden="e10 e9")
    assert rig.view.board.problems == (), "what lay well may be hidden"
    assert rig.view.sign.small.startswith("The camera cannot see e9, e10: take away your hand")


def test_markers_tell_stacked_scouts_of_one_look_apart(rig: TableRig) -> None:
    begin(rig)
    board = now(rig)
    see_markers(rig, board, {"c1": 30, "d1": 31})
    moment = rig.view.moment
    see_markers(rig, lay(board, c1=None), {"d1": 31})
    assert rig.view.moment == moment, "the scout may be in the hand"
    see_markers(rig, lay(board, c1=None), {"d1": 30})
    assert rig.view.match.log[-1] == "1. White dashes c1 to d1."
    assert now(rig)[sq("d1")] == ("white scout", "white scout")
    press(rig, SOUTH)
    assert rig.view.sign.seats == {NORTH}


def test_markers_stay_known_while_the_camera_is_away(rig: TableRig) -> None:
    begin(rig)
    see_markers(rig, now(rig), {"c1": 30, "d1": 31})
    rig.table.set_camera_status(CameraStatus(CameraState.TROUBLE))
    tap(rig, "g1-g2", ".", "g10-g9", "f10-f9", ".")
    see_markers(rig, lay(now(rig), c1=None), {"d1": 30})
    assert rig.view.match.log[-1].endswith("White dashes c1 to d1.")


def see_markers(rig: TableRig, layout: Layout, markers: dict[str, int], unknown: str = "") -> None:
    """Let the camera see this and these markers, except what is hidden."""
    rig.clock.advance(0.1)
    ids = {sq(square): marker for square, marker in markers.items()}
    hidden = frozenset(map(sq, unknown.split()))
    seen = {square: face for square, face in top_faces(layout).items() if square not in hidden}
    reading = Reading(
        seen, hidden, quiet=True, game="scouts", at_s=rig.clock.monotonic_s(), markers=ids
    )
    rig.table.handle_reading(reading)
    rig.table.step()


def test_what_no_picture_can_tell_is_asked_for(rig: TableRig) -> None:
    """A scout comes to lie on one of its side, or under it: the marker on top is the same as
    before.
    """
    begin(rig)
    board = now(rig)
    see_markers(rig, board, {"d1": 22})
    rig.hand_in(SOUTH, "c1-d1")
    see_markers(rig, lay(board, c1=None), {"d1": 22})
    view = rig.view
    assert (view.phase, view.board.problems) == (Phase.STAGES, ())
    assert view.sign.text == "Camera cannot tell: confirm by hand"
    assert view.sign.small.startswith("Check that the pieces are where they should be. Then ")
    rig.confirm(SOUTH)
    assert rig.view.phase is Phase.ORDERS


def test_a_rock_between_two_plays_covers_its_squares(rig: TableRig) -> None:
    begin(rig)
    see(rig, lay(now(rig), c1=None, c2=WHITE))
    boulder = ("white boulder",)
    see(rig, lay(now(rig), c5=boulder, d5=boulder, c6=boulder, d6=boulder))
    view = rig.view
    assert view.match.log[-1].startswith("1. White lays its boulder")
    see(rig, lay(now(rig), c5=None, c6=None, e5=boulder, e6=boulder))
    assert [str(problem.square) for problem in rig.view.board.problems] == ["d5"], (
        "one piece, one sentence"
    )


def tap(rig: TableRig, *texts: str) -> None:
    """Play by taps, with hands that follow unseen."""
    for text in texts:
        view = rig.view
        (seat,) = [seat for seat, shown in view.seats.items() if shown.is_awaited]
        rig.table.hand_in(seat, view.moment, text)
        follow_instructions(rig.table)


# ---- the chess clock -----------------------------------------------------------------------------


def test_an_early_press_waits_and_counts_as_stamped(
    rig: TableRig,
) -> None:
    begin(rig, increment=5)
    board = lay(now(rig), c1=None, c2=WHITE)
    see(rig, now(rig), quiet=False, after_s=30)
    rig.clock.advance(2)
    rig.press(SOUTH, "ready")
    assert rig.view.sign.text == "Take your hands off the board"
    see(rig, board, quiet=False, after_s=0.5)
    see(rig, board, after_s=0.5)
    assert rig.view.sign.seats == {NORTH}
    assert left_s(rig, SOUTH) == 573, "reading the board is charged to nobody"
    assert left_s(rig, NORTH) == 600
    rig.wait(7)
    assert (left_s(rig, SOUTH), left_s(rig, NORTH)) == (573, 593)
    assert Cue.KEY_REFUSED not in [signal.cue for signal in rig.signals]


def test_a_repeated_press_that_waited_counts_once(rig: TableRig) -> None:
    begin(rig)
    first, salt = rig.view.moment, "5" * 32
    board = lay(now(rig), c1=None, c2=WHITE)
    see(rig, now(rig), quiet=False, after_s=30)
    for _ in range(2):
        assert rig.table.hand_in(SOUTH, first, ".", salt) == ""
        rig.clock.advance(1)
    see(rig, board, after_s=0.5)
    assert rig.view.sign.seats == {NORTH}
    assert left_s(rig, SOUTH) == 570, "as given first"
    turn = session_of(rig.table).turns[-1]
    assert rig.table.hand_in(SOUTH, first, ".", salt) == ""
    assert rig.table.hand_in(SOUTH, turn.moment, ".", salt) == turn.sealed[SOUTH].receipt
    assert rig.table.hand_in(SOUTH, first, ".", "6" * 32) == "", "the key pressed twice"
    with pytest.raises(Stale, match="belongs to a turn that is over"):
        rig.table.hand_in(SOUTH, first, "d1d2", salt)
    assert session_of(rig.table).turns[-1] == turn


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_press_without_play_is_refused(rig: TableRig, is_seen: bool) -> None:
    begin(rig)
    see(rig, now(rig), quiet=False)
    rig.press(SOUTH, "ready")
    if is_seen:
        see(rig, now(rig))
    else:
        rig.wait(4)
    assert rig.view.sign.seats == {SOUTH}
    assert Cue.KEY_REFUSED in [signal.cue for signal in rig.signals]
    assert rig.view.sign.text != "Take your hands off the board"


def test_who_has_no_time_left_loses(rig: TableRig) -> None:
    begin(rig, seconds=180)
    rig.wait(181)
    view = rig.view
    assert view.phase is Phase.OVER
    assert view.match.outcome is not None
    assert view.match.outcome.winners == {NORTH}
    assert view.match.outcome.reason == "White has no time left."
    assert view.time.clocks[SOUTH].left_s == 0


def test_the_last_half_minute_and_seconds_are_heard(rig: TableRig) -> None:
    begin(rig, seconds=180)
    told: list[tuple[Alarm, ...]] = []
    rig.table.connect(TableListener(on_alarms=told.append))
    start_s = rig.clock.monotonic_s()
    heard = [(round(alarm.at_s - start_s), alarm.signal.cue) for alarm in told[-1]]
    last = [(170 + second, Cue.CLOCK_LAST) for second in range(10)]
    assert heard == [(150, Cue.CLOCK_LOW), *last, (180, Cue.TIME_OUT)]
    see(rig, lay(now(rig), c1=None, c2=WHITE), after_s=160)
    assert set(told[-1]) <= set(told[0]), "a play does not ring the clock anew"


def test_taking_back_restores_turn_board_and_time(rig: TableRig) -> None:
    start(rig, "c1 d1 e1 f1 g1 / c10 d10 e10 f10 g10")
    rig.clock.advance(20)
    tap(rig, "c1-c2")
    back = rig.table.view(SOUTH).own.take_back_moment
    assert back is not None
    rig.clock.advance(40)
    rig.table.take_back(SOUTH, back)
    view = rig.view
    assert view.phase is Phase.SETUP
    assert view.turn.instructions[0].text == "White: scout back to c1"
    rig.wait(30)
    rig.confirm()
    assert left_s(rig, SOUTH) == 580, "putting it back is not charged"


def start(rig: TableRig, start: str, *plays: str, **options: object) -> None:
    """Begin a game with its scouts on these squares, played by taps."""
    rig.table.new_game("scouts", {"start": start, **options}, seed=1)
    rig.confirm()
    if (clock := rig.view.time.clock) and clock.paused:
        rig.table.resume("table")
    tap(rig, *plays)
    rig.signals.clear()


def test_a_scout_across_is_turned_over_first(rig: TableRig) -> None:
    start(rig, "c9 e1 f1 g1 h1 / c10 d10 e10 f10 g10")
    see(rig, now(rig))
    arrived = lay(now(rig), c9=None, b10=WHITE)
    see(rig, arrived)
    see(rig, arrived, after_s=10)
    view = rig.view
    assert view.phase is Phase.STAGES
    assert [i.text for i in view.turn.instructions] == ["White: turn scout over on b10"]
    assert view.board.problems == ()
    see(rig, lay(now(rig), b10=("white scout with intel",)))
    assert rig.view.phase is Phase.ORDERS
    see(rig, lay(now(rig), b10=WHITE))
    (problem,) = rig.view.board.problems
    assert problem.text == "White scout with intel expected on b10: turn the piece over."


def test_a_hidden_change_counts_after_a_hand(rig: TableRig) -> None:
    rig.begin(board=".N\nsn\nS.")
    rig.turn("UII", "III")
    target = rig.view.board.target
    assert target is not None
    below = lay(target, a2=("purple flag",))
    rig.show(below)
    assert rig.view.turn.stage == 0, "the robot may be in a hand"
    rig.show(below, unknown="a2")
    rig.show(below)
    assert rig.view.turn.stage == 1
