"""Test games in which the camera recognises moves on the board: Scouts, and one of Outbuffered.

Readings of boards are made up and handed to a table on a fake clock.
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

SOUTH = Seat.SOUTH
NORTH = Seat.NORTH
# The squares on which hands place scouts, in the order of the turns. White's have rank 1.
START_SQUARES = ("c1", "c10", "d1", "d10", "e1", "e10", "f1", "f10", "g1", "g10")
WHITE = ("white scout",)
BLACK = ("black scout",)


def with_changes(
    layout: Layout, **changes: tuple[str, ...] | None
) -> dict[Square, tuple[str, ...]]:
    """Return the layout with the faces on some squares changed. None empties a square."""
    changed = dict(layout)
    for name, faces in changes.items():
        changed.pop(Square.parse(name), None)
        if faces:
            changed[Square.parse(name)] = faces
    return changed


def see(
    rig: TableRig, layout: Layout, quiet: bool = True, after_s: float = 0.1, hidden: str = ""
) -> None:
    """Let time pass, and then let the camera see a layout, except for squares that are hidden."""
    rig.clock.advance(after_s)
    rig.show_reading(layout, unknown=hidden, quiet=quiet, game="scouts")


def expected_layout(rig: TableRig) -> Layout:
    return rig.view.board.layout


def begin(rig: TableRig, **options: object) -> None:
    """Begin a game whose pieces hands place under the camera, one by one."""
    rig.table.new_game("scouts", options, seed=1)
    see(rig, {})
    for name in START_SQUARES:
        scout = WHITE if name.endswith("1") else BLACK
        see(rig, with_changes(expected_layout(rig), **{name: scout}))
    if (clock := rig.view.time.clock) and clock.paused:
        rig.table.resume("table")
    rig.signals.clear()


def left_s(rig: TableRig, seat: Seat) -> float:
    """Return the seconds left on a seat's clock."""
    clock = rig.view.time.clocks[seat]
    return round(clock.left_s if clock.due_s is None else clock.due_s - rig.clock.monotonic_s(), 3)


def test_moves_of_both_sides_in_one_reading_count(rig: TableRig) -> None:
    """Hands are often faster than the machine, which waits before it ends its turn."""
    # The machine moves White's scout. Hands have to carry out that move.
    begin(rig)
    rig.table.free_seat(SOUTH)
    rig.table.machines.seat_machine(SOUTH, "Pip")
    board = expected_layout(rig)
    rig.hand_in(SOUTH, "c1-c2")
    assert rig.view.phase is Phase.STAGES
    rig.signals.clear()

    # They do so, and make Black's move at once, although the machine has not ended its turn yet.
    see(rig, with_changes(board, c1=None, c2=WHITE, c10=None, c9=BLACK))
    view = rig.view
    assert (view.phase, view.board.problems, view.board.broken_rule) == (Phase.ORDERS, (), None)

    # The machine ends its turn, and Black's move counts without another reading.
    rig.hand_in(SOUTH, ".")
    rig.wait(0.2)
    view = rig.view
    assert [line for line in view.match.log if "dashes" in line] == [
        "1. White dashes c1 to c2.",
        "2. Black dashes c10 to c9.",
    ]
    assert (view.board.problems, view.board.broken_rule) == ((), None)
    assert Cue.BOARD_WRONG not in [signal.cue for signal in rig.signals]


def test_a_wrong_move_is_explained_by_its_rule(rig: TableRig) -> None:
    begin(rig)
    board = expected_layout(rig)
    see(rig, with_changes(board, c1=None, c3=WHITE))
    view = rig.view
    assert view.board.broken_rule is not None
    assert view.board.broken_rule.message == "c1 can’t jump: c2 is empty."
    assert view.board.broken_rule.square == "c2"
    assert (str(view.board.problems[0].square), str(view.board.problems[0].home)) == ("c3", "c1")
    assert view.sign.small == view.board.broken_rule.message
    assert Cue.BOARD_WRONG in [signal.cue for signal in rig.signals]

    # The scout is put back.
    see(rig, board)
    assert rig.view.board.broken_rule is None
    assert rig.view.board.problems == ()


def test_a_lifted_scout_is_no_problem(rig: TableRig) -> None:
    """A player who thinks with a piece in the hand must not be called to order."""
    # White is on turn, so its scout may be in its player's hand.
    begin(rig)
    moment = rig.view.moment
    see(rig, with_changes(expected_layout(rig), c1=None))
    view = rig.view
    assert (view.moment, view.board.problems, view.board.broken_rule) == (moment, (), None)
    assert Cue.BOARD_WRONG not in [signal.cue for signal in rig.signals]

    # A scout of Black must not be lifted now.
    see(rig, with_changes(expected_layout(rig), c10=None))
    assert rig.view.board.problems[0].text == "Black scout is missing on c10: put it there."


def test_a_missing_piece_stays_missing_under_a_hand(rig: TableRig) -> None:
    """What is hidden proves neither that a piece is there nor that it is missing."""
    # A piece is missing. A hand over its square does not bring it back.
    begin(rig)
    complete = expected_layout(rig)
    see(rig, with_changes(complete, e10=None))
    see(rig, with_changes(complete, e10=None), hidden="e10 e9")
    sign = rig.view.sign
    assert sign.text == "Put the black scout on e10"
    assert sign.small.startswith("The camera cannot see e9, e10: take away your hand")
    assert not live_of(rig.table).shows_layout(complete), "a hidden square must not count as seen"

    # Once the piece has been seen again, a hand over it is no problem.
    see(rig, complete)
    assert rig.view.board.problems == ()
    see(rig, with_changes(complete, e10=None), hidden="e10 e9")
    assert rig.view.board.problems == (), (
        "a piece that was seen before must not be missed under a hand"
    )
    assert rig.view.sign.small.startswith("The camera cannot see e9, e10: take away your hand")


def test_markers_tell_scouts_of_one_side_apart(rig: TableRig) -> None:
    """Put the scout from c1 on the one on d1, so that d1 shows another marker than before."""
    # The scout is lifted. The one on d1 still shows its own marker.
    begin(rig)
    board = expected_layout(rig)
    see_markers(rig, board, {"c1": 30, "d1": 31})
    moment = rig.view.moment
    see_markers(rig, with_changes(board, c1=None), {"d1": 31})
    assert rig.view.moment == moment, "a lifted scout must not count as moved"

    # Now d1 shows the marker of the scout that was on c1.
    see_markers(rig, with_changes(board, c1=None), {"d1": 30})
    assert rig.view.match.log[-1] == "1. White dashes c1 to d1."
    assert expected_layout(rig)[Square.parse("d1")] == ("white scout", "white scout")
    rig.hand_in(SOUTH, ".")
    assert rig.view.sign.seats == {NORTH}


def test_markers_stay_known_while_the_camera_fails(rig: TableRig) -> None:
    begin(rig)
    see_markers(rig, expected_layout(rig), {"c1": 30, "d1": 31})
    # Without the camera, people play on by taps until it is White's turn again.
    rig.table.set_camera_status(CameraStatus(CameraState.TROUBLE))
    play(rig, "g1-g2", ".", "g10-g9", "f10-f9", ".")
    see_markers(rig, with_changes(expected_layout(rig), c1=None), {"d1": 30})
    assert rig.view.match.log[-1].endswith("White dashes c1 to d1.")


def see_markers(rig: TableRig, layout: Layout, markers: dict[str, int]) -> None:
    """Let the camera see a layout and its scouts' markers."""
    rig.clock.advance(0.1)
    markers_by_square = {Square.parse(square): marker for square, marker in markers.items()}
    reading = Reading(
        top_faces(layout),
        frozenset(),
        quiet=True,
        game="scouts",
        at_s=rig.clock.monotonic_s(),
        markers=markers_by_square,
    )
    rig.table.handle_reading(reading)
    rig.table.step()


def test_a_move_that_changes_no_picture_is_confirmed(rig: TableRig) -> None:
    """Move White's scout under the one on d1, whose marker stays on top."""
    begin(rig)
    board = expected_layout(rig)
    see_markers(rig, board, {"d1": 22})
    rig.hand_in(SOUTH, "c1-d1")
    see_markers(rig, with_changes(board, c1=None), {"d1": 22})
    view = rig.view
    assert (view.phase, view.board.problems) == (Phase.STAGES, ())
    assert view.sign.text == "Camera cannot tell: confirm by hand"
    assert view.sign.small.startswith("Check that the pieces are where they should be. Then ")
    rig.confirm(SOUTH)
    assert rig.view.phase is Phase.ORDERS


def test_a_misplaced_boulder_is_one_problem(rig: TableRig) -> None:
    begin(rig)
    see(rig, with_changes(expected_layout(rig), c1=None, c2=WHITE))
    boulder = ("white boulder",)
    see(rig, with_changes(expected_layout(rig), c5=boulder, d5=boulder, c6=boulder, d6=boulder))
    view = rig.view
    assert view.match.log[-1].startswith("1. White lays its boulder")
    see(rig, with_changes(expected_layout(rig), c5=None, c6=None, e5=boulder, e6=boulder))
    # The boulder covers four squares. It was moved by one file without a turn.
    assert [str(problem.square) for problem in rig.view.board.problems] == ["d5"]


def play(rig: TableRig, *actions: str) -> None:
    """Hand in actions by taps, with hands that the camera does not see."""
    for action in actions:
        view = rig.view
        (seat,) = [seat for seat, state in view.seats.items() if state.is_awaited]
        rig.table.hand_in(seat, view.moment, action)
        follow_instructions(rig.table)


# ---- the chess clock -----------------------------------------------------------------------------


def test_an_early_press_counts_from_its_own_time(rig: TableRig) -> None:
    """The time that the camera needs to read the board must not be charged to a player."""
    # South presses the clock after 32 of its 600 s, while a hand is still at the board. With the
    # increment of 5 s, 573 s are left.
    begin(rig, increment=5)
    board = with_changes(expected_layout(rig), c1=None, c2=WHITE)
    see(rig, expected_layout(rig), quiet=False, after_s=30)
    rig.clock.advance(2)
    rig.press(SOUTH, "ready")
    assert rig.view.sign.text == "Take your hands off the board"

    # A second later the camera has read the move.
    see(rig, board, quiet=False, after_s=0.5)
    see(rig, board, after_s=0.5)
    assert rig.view.sign.seats == {NORTH}
    assert left_s(rig, SOUTH) == 573, "the time for reading the board must not be charged to South"
    assert left_s(rig, NORTH) == 600

    # Since then North's clock runs.
    rig.wait(7)
    assert (left_s(rig, SOUTH), left_s(rig, NORTH)) == (573, 593)
    assert Cue.KEY_REFUSED not in [signal.cue for signal in rig.signals]


def test_a_repeated_early_press_counts_once(rig: TableRig) -> None:
    # South presses twice while the board is not quiet, 30 s and 31 s after the start.
    begin(rig)
    first = rig.view.moment
    salt = "5" * 32
    board = with_changes(expected_layout(rig), c1=None, c2=WHITE)
    see(rig, expected_layout(rig), quiet=False, after_s=30)
    for _ in range(2):
        assert rig.table.hand_in(SOUTH, first, ".", salt) == ""
        rig.clock.advance(1)
    see(rig, board, after_s=0.5)
    assert rig.view.sign.seats == {NORTH}
    assert left_s(rig, SOUTH) == 570, "the first press must count, not the second"

    # Repeated presses change nothing, whichever moment they name. Another action is too late.
    turn = session_of(rig.table).turns[-1]
    assert rig.table.hand_in(SOUTH, first, ".", salt) == ""
    assert rig.table.hand_in(SOUTH, turn.moment, ".", salt) == turn.sealed[SOUTH].receipt
    assert rig.table.hand_in(SOUTH, first, ".", "6" * 32) == "", (
        "a second press must not have a receipt"
    )
    with pytest.raises(Stale, match="belongs to a turn that is over"):
        rig.table.hand_in(SOUTH, first, "d1d2", salt)
    assert session_of(rig.table).turns[-1] == turn


@pytest.mark.parametrize("is_board_read", [True, False])
def test_a_press_without_a_move_is_refused(rig: TableRig, is_board_read: bool) -> None:
    begin(rig)
    see(rig, expected_layout(rig), quiet=False)
    rig.press(SOUTH, "ready")
    # Either the camera sees that nothing was moved, or it sees no quiet board for 3 s.
    if is_board_read:
        see(rig, expected_layout(rig))
    else:
        rig.wait(4)
    assert rig.view.sign.seats == {SOUTH}
    assert Cue.KEY_REFUSED in [signal.cue for signal in rig.signals]
    assert rig.view.sign.text != "Take your hands off the board"


def test_a_side_without_time_loses(rig: TableRig) -> None:
    begin(rig, seconds=180)
    rig.wait(181)
    view = rig.view
    assert view.phase is Phase.OVER
    assert view.match.outcome is not None
    assert view.match.outcome.winners == {NORTH}
    assert view.match.outcome.reason == "White has no time left."
    assert view.time.clocks[SOUTH].left_s == 0


def test_alarms_sound_in_the_last_half_minute(rig: TableRig) -> None:
    begin(rig, seconds=180)
    schedules: list[tuple[Alarm, ...]] = []
    rig.table.connect(TableListener(on_alarms=schedules.append))
    start_s = rig.clock.monotonic_s()
    alarms = [(round(alarm.at_s - start_s), alarm.signal.cue) for alarm in schedules[-1]]
    # One for half a minute, one for each of the last ten seconds, and one for the end.
    last_seconds = [(170 + second, Cue.CLOCK_LAST) for second in range(10)]
    assert alarms == [(150, Cue.CLOCK_LOW), *last_seconds, (180, Cue.TIME_OUT)]
    see(rig, with_changes(expected_layout(rig), c1=None, c2=WHITE), after_s=160)
    assert set(schedules[-1]) <= set(schedules[0]), "a move must not add alarms to the schedule"


def test_taking_back_restores_turn_board_and_time(rig: TableRig) -> None:
    """A take-back gives the time back, and costs no time for putting the pieces back."""
    # White moves after 20 s, and takes the move back 40 s later.
    begin_placed(rig, "c1 d1 e1 f1 g1 / c10 d10 e10 f10 g10")
    rig.clock.advance(20)
    play(rig, "c1-c2")
    moment = rig.table.view(SOUTH).own.take_back_moment
    assert moment is not None
    rig.clock.advance(40)
    rig.table.take_back(SOUTH, moment)
    view = rig.view
    assert view.phase is Phase.SETUP
    assert view.turn.instructions[0].text == "White: scout back to c1"

    # Of its 600 s only the first 20 are used, however long it takes to put the scout back.
    rig.wait(30)
    rig.confirm()
    assert left_s(rig, SOUTH) == 580, "the time for putting the scout back must not be charged"


def begin_placed(rig: TableRig, start: str) -> None:
    """Begin a game with its scouts on these squares, white ones before the slash."""
    rig.table.new_game("scouts", {"start": start}, seed=1)
    rig.confirm()
    if (clock := rig.view.time.clock) and clock.paused:
        rig.table.resume("table")
    rig.signals.clear()


def test_a_scout_that_crosses_is_turned_over_first(rig: TableRig) -> None:
    # A white scout reaches the last rank. It has to be turned over before the turn goes on.
    begin_placed(rig, "c9 e1 f1 g1 h1 / c10 d10 e10 f10 g10")
    see(rig, expected_layout(rig))
    arrived = with_changes(expected_layout(rig), c9=None, b10=WHITE)
    see(rig, arrived)
    see(rig, arrived, after_s=10)
    view = rig.view
    assert view.phase is Phase.STAGES
    assert [work.text for work in view.turn.instructions] == ["White: turn scout over on b10"]
    assert view.board.problems == ()
    see(rig, with_changes(expected_layout(rig), b10=("white scout with intel",)))
    assert rig.view.phase is Phase.ORDERS

    # If it is turned back afterwards, that is a problem.
    see(rig, with_changes(expected_layout(rig), b10=WHITE))
    (problem,) = rig.view.board.problems
    assert problem.text == "White scout with intel expected on b10: turn the piece over."


def test_a_vanished_robot_counts_after_a_hand(rig: TableRig) -> None:
    # On a small board of Outbuffered, South's robot goes to the square of its own flag, a2.
    rig.begin(board=".N\nsn\nS.")
    rig.hand_in_both("UII", "III")
    target = rig.view.board.target
    assert target is not None
    without_robot = with_changes(target, a2=("purple flag",))
    rig.show_reading(without_robot)
    assert rig.view.turn.stage == 0, "a robot that may be in a hand must not count as put down"

    # After a hand was over a2, the flag may lie on the robot.
    rig.show_reading(without_robot, unknown="a2")
    rig.show_reading(without_robot)
    assert rig.view.turn.stage == 1
