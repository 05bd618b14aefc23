"""Test the table as one object on a fake clock, mostly with games of Outbuffered.

Tests give orders, let the camera see boards, and look at views and cues. For a restart they open
the same journal again. In Outbuffered, each seat gives three orders for a turn, such as `UUS`: U,
D, L and R move the robot, S shoots, and I waits. Purple is South, lime is North.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import enumerate as enumerate_threads
from unittest.mock import Mock

import pytest
from history_tools import play
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from internals import live_of, session_of
from service import until
from table_tools import TableRig, follow_instructions, open_table_rig, seat_both
from toy import Toy

from companion.core.clock import FakeClock
from companion.core.errors import (
    Illegal,
    JournalError,
    Refusal,
    Stale,
)
from companion.core.grid import Square
from companion.core.kit import SEATS, Layout
from companion.core.ports import PadKey, Press
from companion.games import GAMES
from companion.storage.journal import Journal
from companion.table import board_check
from companion.table.follower import TableFollower
from companion.table.listeners import TableListener
from companion.table.records import SEATS_GAME, HandIn, TakeSeat
from companion.table.session import Phase
from companion.table.table import Table
from companion.table.turns import CAMERA_ANSWER_TIMEOUT_S

SOUTH, NORTH = SEATS


def begin_and_show(rig: TableRig) -> Layout:
    """Begin a game, and let the camera see its board as it should lie. Return the layout."""
    rig.begin()
    board = rig.view.board.layout
    rig.show_reading(board)
    return board


def with_move(layout: Layout, origin: str, target: str) -> dict[Square, tuple[str, ...]]:
    """Return the layout with one stack moved to another square."""
    after = dict(layout)
    after[Square.parse(target)] = after.pop(Square.parse(origin))
    return after


# ---- a turn --------------------------------------------------------------------------------------


def test_a_turn_is_played_by_taps_alone(rig: TableRig) -> None:
    # The set-up and the orders: the sign says what is due.
    rig.table.new_game("outbuffered", seed=1)
    assert (rig.view.phase, rig.view.sign.text) == (Phase.SETUP, "Purple: flag to b1")
    rig.confirm("south")
    assert rig.view.sign.text == "Both: hand in your orders"
    assert rig.table.view(SOUTH).sign.text == "Three orders to go"

    # The reveal shows the first order of each seat, and nothing of the later ones.
    rig.hand_in_both("UUS", "UUS")
    assert rig.cues[-1] == "reveal"
    turn = rig.view.turn
    assert (turn.title, rig.view.sign.text) == ("Step 1 of 3", "Purple: robot, a1 to a2")
    assert (len(turn.orders), turn.stage_count, turn.revealed_orders) == (1, 3, ())
    text = repr(replace(rig.view, own=None)) + repr(rig.table.view(NORTH).turn)
    assert "order-shoot" not in text, "an order must not be shown before its step"
    assert "UUS" not in text

    # Once the reveal has sounded, the first stage calls for hands.
    rig.wait(0.7)
    assert rig.cues[-2:] == ["step", "hands_wanted"]

    # After two stages the last one is shown. It needs no hands and ends when it has been read.
    rig.confirm("south")
    rig.confirm("north")
    assert rig.view.sign.text == "Both shoot. Nobody is hit."
    assert [opened.action for opened in rig.view.turn.revealed_orders] == ["UUS", "UUS"]
    rig.wait(2.4)
    assert rig.view.phase is Phase.STAGES
    rig.wait(0.2)
    assert (rig.view.phase, rig.view.turn.number) == (Phase.ORDERS, 2)


def test_the_camera_ticks_off_set_up_and_stages(rig: TableRig) -> None:
    # The set-up ends once the board lies right and still.
    rig.table.new_game("outbuffered", seed=1)
    board = rig.view.board.layout
    rig.show_reading(with_move(board, "a1", "a2"))
    assert rig.view.sign.text == "Move the purple robot a2 to a1"
    rig.show_reading(board, quiet=False)
    assert rig.view.phase is Phase.SETUP
    rig.show_reading(board)
    assert rig.view.phase is Phase.ORDERS

    # So does a stage.
    rig.hand_in_both("UII", "III")
    rig.show_reading(with_move(board, "a1", "a2"), quiet=False)
    assert rig.view.turn.stage == 0
    rig.show_reading(with_move(board, "a1", "a2"))
    assert rig.view.turn.stage == 1
    assert "board_agrees" in rig.cues


def test_an_unseen_moving_piece_is_asked_for(rig: TableRig) -> None:
    # The robot has left a1. It may lie on a square that the camera cannot see, or be in a hand.
    board = dict(begin_and_show(rig))
    rig.hand_in_both("UII", "III")
    del board[Square.parse("a1")]
    rig.show_reading(board, unknown="c2")
    assert rig.view.sign.small.startswith("The camera cannot see c2: take away your hand")
    rig.show_reading(board)
    assert rig.view.sign.small == "", "a piece in a hand must not be asked for"

    # The square where it belongs is hidden by something that lies still, then by a moving hand.
    moved = board | {Square.parse("a2"): ("purple robot",)}
    rig.show_reading(moved, unknown="a2")
    assert rig.view.sign.text == "Camera cannot see a2"
    rig.show_reading(moved, unknown="a2", quiet=False)
    assert rig.view.sign.text == "Purple: robot, a1 to a2", (
        "a moving hand must not be reported as trouble"
    )
    assert rig.view.turn.stage == 0


def test_a_misplaced_piece_is_named_with_its_square(rig: TableRig) -> None:
    # The robot belongs on a2 and lies on b2.
    board = begin_and_show(rig)
    rig.hand_in_both("UII", "III")
    rig.show_reading(with_move(board, "a1", "b2"))
    (problem,) = rig.view.board.problems
    assert problem.text == "Purple robot expected on a2, seen on b2: move it to a2."
    sign = rig.table.view(SOUTH).sign
    assert sign.text == "Move the purple robot b2 to a2"
    assert sign.small == "Purple robot expected on a2, seen on b2."
    assert rig.cues[-1] == "board_wrong"

    # A person cannot confirm that, unless the camera no longer sees this game's board.
    with pytest.raises(Illegal, match="expected on a2, seen on b2"):
        rig.confirm("south")
    rig.show_reading({}, game="scouts")
    rig.confirm("south")
    assert rig.view.turn.stage == 1, "a reading of another game must not stop the turn"


def test_a_forced_confirmation_overrules_the_camera(rig: TableRig) -> None:
    """A camera that is wrong must not stop the game for good."""
    board = begin_and_show(rig)
    rig.hand_in_both("UII", "III")
    misread = with_move(board, "a1", "b2")
    rig.show_reading(misread)
    view = rig.view
    # The camera may be overruled 5 s after the stage began.
    rig.clock.advance(4.5)
    with pytest.raises(Illegal, match="still looks"):
        rig.table.confirm("south", view.moment, view.turn.stage, force=True)
    rig.clock.advance(0.6)
    rig.table.confirm("south", view.moment, view.turn.stage, force=True)
    assert rig.view.turn.stage == 1
    assert rig.view.board.problems == ()

    # The same problem is not reported again in the next stage.
    rig.show_reading(misread, quiet=False)
    rig.show_reading(misread)
    assert rig.view.board.problems == ()


def test_a_bumped_board_stops_no_orders(rig: TableRig) -> None:
    # Somebody has moved the lime robot by mistake. Orders can be given nevertheless.
    board = begin_and_show(rig)
    rig.show_reading(with_move(board, "c4", "c3"))
    assert rig.view.sign.text == "Move the lime robot c3 to c4"
    rig.hand_in_both("III", "III")
    assert rig.view.phase is Phase.STAGES
    rig.wait(5)
    assert rig.view.turn.stage == 0, "the next stage must not begin with a wrong board"
    rig.show_reading(board)
    assert rig.view.turn.stage == 1


def test_sides_swap_between_games_with_phones(rig: TableRig) -> None:
    # In the lobby, in a game, after it, and when one player has gone to the pad.
    can_swap = [rig.view.match.can_swap]
    rig.begin()
    can_swap.append(rig.view.match.can_swap)
    rig.table.resign(SOUTH)
    can_swap.append(rig.view.match.can_swap)
    rig.table.change_door(NORTH, "pad")
    can_swap.append(rig.view.match.can_swap)
    assert can_swap == [True, False, True, False]


# ---- refusals ------------------------------------------------------------------------------------


def test_repeated_inputs_count_once_and_late_ones_never(rig: TableRig) -> None:
    """A phone sends an input again if it has received no answer."""
    # The same orders with the same salt count once. Other orders are refused.
    rig.begin()
    moment = rig.view.moment
    receipt = rig.hand_in(SOUTH, "UUS", "abc123")
    assert rig.hand_in(SOUTH, "UUS", "abc123") == receipt, (
        "a repeated input must have the same receipt"
    )
    with pytest.raises(Illegal) as exc_info:
        rig.hand_in(SOUTH, "DDD", "other")
    assert exc_info.value.reason is Refusal.ALREADY_SEALED

    # After the reveal, the repeated orders still get their receipt. Everything else is too late.
    rig.hand_in(NORTH, "III")
    assert rig.hand_in(SOUTH, "UUS", "abc123") == receipt, (
        "a repeated input must not change the receipt"
    )
    for act_late in (
        lambda: rig.table.hand_in(SOUTH, moment, "DDD", "later"),
        lambda: rig.table.confirm("south", moment, 2),
    ):
        with pytest.raises(Stale):
            act_late()
    with pytest.raises(Illegal, match="Too late: the orders have been revealed"):
        rig.table.take_back(SOUTH, moment)


# ---- ends ----------------------------------------------------------------------------------------

# Options of a small board on which South can win in its second turn. `S` and `N` are the starts of
# the robots, `s` and `n` their flags, the highest rank first.
SMALL_BOARD = {"board": ".N\nsn\nS."}


def test_a_win_counts_for_the_match(rig: TableRig) -> None:
    # South fetches the flag from b2, and brings it home with the second order of the next turn.
    rig.begin(**SMALL_BOARD)
    rig.hand_in_both("URI", "III")
    rig.finish_stages()
    rig.hand_in_both("LDD", "III")
    assert rig.view.turn.stage_count == 3, (
        "the number of stages must not reveal that the game ends early"
    )
    rig.finish_stages()
    view = rig.view
    assert (view.phase, view.sign.text, view.match.score) == (Phase.OVER, "Purple wins", (1, 0, 0))
    rig.table.rematch()
    assert (rig.view.phase, rig.view.match.score) == (Phase.SETUP, (1, 0, 0))


def test_a_draw_is_played_again_by_itself(rig: TableRig) -> None:
    # A game of one turn in which nothing happens.
    rig.begin(turn_limit=1)
    rig.hand_in_both("III", "III")
    rig.finish_stages()
    assert rig.view.sign.text == "A draw: once more"
    # The next game begins after 6 s.
    rig.wait(5.9)
    assert rig.view.phase is Phase.OVER
    rig.wait(0.2)
    view = rig.view
    assert (view.phase, view.match.score) == (Phase.SETUP, (0, 0, 1))


def test_resigned_drawn_and_abandoned_games_are_scored(rig: TableRig) -> None:
    # South resigns.
    rig.begin()
    rig.table.resign(SOUTH)
    assert rig.view.sign.text == "Lime wins"

    # In the next game both agree on a draw. A second offer of the same seat changes nothing.
    rig.table.rematch()
    rig.confirm()
    for seat in (NORTH, NORTH):
        rig.table.offer_draw(seat)
        assert rig.table.view(SOUTH).sign.small == "Lime offers a draw."
        assert rig.table.view(NORTH).sign.small == "You offer a draw."
    rig.table.offer_draw(SOUTH)
    rig.wait(60)
    assert rig.view.phase is Phase.OVER, "an agreed draw must not be played again by itself"
    assert rig.view.match.score == (0, 1, 1)

    # The owner ends the third game, which leads to the lobby.
    rig.table.rematch()
    rig.table.abandon()
    assert rig.view.match.score == (0, 0, 0), "the score must not stay after an abandoned game"


def test_an_undone_turn_asks_for_its_board(rig: TableRig) -> None:
    rig.begin()
    rig.hand_in_both("UUS", "UUS")
    rig.finish_stages()
    rig.wait(4)

    # Hands have to put the board back. Orders for the turn after the undone one are out of date.
    stale_moment = rig.view.moment
    rig.table.undo()
    view = rig.view
    assert (view.phase, view.turn.number) == (Phase.SETUP, 1)
    assert view.board.layout[Square.parse("a1")] == ("purple robot",)
    with pytest.raises(Stale):
        rig.table.hand_in(SOUTH, stale_moment, "UUS")

    # Then the turn is played again.
    rig.confirm("south")
    rig.hand_in_both("III", "III")
    assert rig.view.phase is Phase.STAGES


# ---- pads ----------------------------------------------------------------------------------------


def test_orders_are_entered_and_sealed_on_a_pad(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        # The first key of a pad seats whoever presses it.
        rig.press(SOUTH, "U")
        rig.press(NORTH, "ready")
        assert rig.view.seats[SOUTH].door == "pad"
        rig.begin()
        # Keys of South's pad, the number of orders that are entered then, and the last cue. A
        # fourth order is refused, and so is Ready while one of the three is missing.
        for keys, entered_count, cue in (
            (("U", "U", "S", "L"), 3, "key_refused"),
            (("back",), 2, "key_back"),
            (("ready",), 2, "key_refused"),
            (("D", "ready"), 3, "sealed"),
            (("back",), 3, "taken_back"),
        ):
            rig.press(SOUTH, *keys)
            assert (rig.view.seats[SOUTH].entered_count, rig.cues[-1]) == (entered_count, cue)

        # Holding Back clears all keys. Both sides hand in, and then Ready confirms a stage.
        rig.press(SOUTH, "back", held=True)
        rig.press(SOUTH, "R", "S", "S", "ready")
        rig.press(NORTH, "I", "I", "U", "ready")
        assert rig.view.turn.orders[0][SOUTH].letter == "R"
        rig.press(NORTH, "ready")
        assert rig.view.turn.stage == 1


def test_holding_ready_overrules_one_refused_press(rig: TableRig) -> None:
    """Otherwise one long press could confirm several stages."""
    # The camera does not see the move that the stage asks for.
    begin_and_show(rig)
    rig.hand_in_both("UUI", "III")
    rig.press(SOUTH, "ready")
    assert rig.cues[-1] == "key_refused"
    rig.wait(5.1)
    rig.press(SOUTH, "ready", held=True)
    assert rig.view.turn.stage == 1
    rig.press(SOUTH, "ready", held=True)
    assert rig.view.turn.stage == 1, "a second hold must not confirm a stage without a refusal"


def test_starting_the_clock_overrules_no_camera(rig: TableRig) -> None:
    """Press and hold ready to start the clock, while a piece lies on a wrong square."""
    # All scouts are placed, and one moves. That turn is undone, so its clock is stopped.
    rig.table.new_game("scouts", {})
    follow_instructions(rig.table)
    placements = [f"@{file}{rank}" for file in "bcdef" for rank in (1, 10)]
    for action in (*placements, "b1-b2"):
        if session_of(rig.table).paused_by:
            rig.table.resume("host")
        (seat,) = session_of(rig.table).awaited_seats
        rig.hand_in(seat, action)
        follow_instructions(rig.table)
    after = rig.view.board.layout
    rig.table.undo()

    # A piece lies wrong for long enough to overrule the camera. The press starts the clock, and
    # holding it on must not confirm the board.
    rig.show_reading(with_move(after, "f10", "f5"), game="scouts")
    rig.wait(6)
    pressed_s = rig.clock.monotonic_s()
    for is_held in (False, True):
        rig.table.press(Press(SOUTH, PadKey.READY, pressed_s, is_held))
        rig.wait(0.8)
    assert session_of(rig.table).paused_by == ""
    assert rig.view.phase is Phase.SETUP


def test_an_unexpected_error_is_logged_without_its_words(
    rig: TableRig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The words of an error may contain what somebody has entered in secret."""
    rig.begin()
    words = "-".join(("draft", "up"))  # joined, because a traceback shows this source
    with monkeypatch.context() as patch:
        failing = Mock(side_effect=RuntimeError(words))
        patch.setattr("companion.table.seats.pads.effect_of_press", failing)
        rig.press(SOUTH, "U")
    assert "RuntimeError" in caplog.text
    assert words not in caplog.text

    # The table goes on.
    rig.press(SOUTH, "U")
    assert rig.view.seats[SOUTH].entered_count == 1


# ---- restarts ------------------------------------------------------------------------------------


def test_a_restart_resumes_with_sealed_orders(tmp_path: Path) -> None:
    """Nobody has to enter anything again after a power cut."""
    # The power is cut in the second turn, when South has handed in and North has not.
    with open_table_rig(tmp_path) as rig:
        seat_both(rig)
        rig.begin()
        rig.hand_in_both("III", "III")
        rig.finish_stages()
        rig.wait(4)
        rig.hand_in(SOUTH, "RII", "salt1")
        views = [replace(rig.table.view(viewer), version=0) for viewer in (None, *SEATS)]
        nonce = rig.table.nonce_of(SOUTH)
    with open_table_rig(tmp_path) as restarted:
        for viewer, view in zip((None, *SEATS), views, strict=True):
            assert replace(restarted.table.view(viewer), version=0) == view
        assert restarted.table.nonce_of(SOUTH) == nonce
        restarted.table.hand_in(NORTH, views[0].moment, "LII")
        assert restarted.view.phase is Phase.STAGES


ORDERS = st.text("UDLRIS", min_size=3, max_size=3)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(ORDERS, ORDERS), max_size=5), st.integers(0, 3))
def test_a_replayed_journal_makes_the_same_session(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[str, str]], undos: int
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with open_table_rig(folder) as rig:
        rig.begin(turn_limit=40)
        for south, north in turns:
            if rig.view.phase is not Phase.ORDERS:
                break
            rig.hand_in_both(south, north)
            for viewer in (None, *SEATS):
                assert len(rig.table.view(viewer).sign.text) <= 40, (
                    "the sign must be short enough to be read from afar"
                )
            rig.finish_stages()
        for _ in range(undos):
            if rig.view.match.can_undo:
                rig.table.undo()
                if rig.view.phase is Phase.SETUP:
                    rig.confirm()
        with Journal(folder / "journal.sqlite", read_only=True) as journal:
            # The commitment of the next game is no record of this game.
            session = replace(session_of(rig.table), commitment="")
            assert replace(journal.fold(1), commitment="") == session


# ---- journal troubles ----------------------------------------------------------------------------


def test_seats_survive_an_unreadable_game(tmp_path: Path) -> None:
    """The people at the table can begin a new game without sitting down again."""
    with open_table_rig(tmp_path) as rig:
        seat_both(rig)
        rig.begin()
    # An order of game 1 that the rules do not accept. It may be secret, so no notice may name it.
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.append(1, [HandIn(SOUTH, "1.1", "XYZ")], at=0.0)
    with open_table_rig(tmp_path) as restarted:
        view = restarted.view
        assert view.phase is Phase.LOBBY
        assert view.devices.notices[0].startswith("Game 1 cannot be continued (malformed")
        assert "XYZ" not in view.devices.notices[0]
        assert view.seats[SOUTH].name == "South"
        restarted.table.new_game("outbuffered")


def test_an_unwritable_folder_names_its_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="set state_dir"):
        Journal(tmp_path / "file" / "journal.sqlite")


# ---- threads, hints, ambiguous boards ------------------------------------------------------------


def test_each_seat_is_taken_by_one_thread(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.sqlite") as journal, Table(journal, FakeClock()) as table:
        table.start()
        nonces: list[str] = []

        def try_to_sit(number: int) -> None:
            with suppress(Illegal):
                nonces.append(table.take_seat(SEATS[number % 2], "P"))

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(try_to_sit, range(16)))
        # Sixteen calls of eight threads have seated one player on each side.
        records = [entry.record for entry in journal.entries(SEATS_GAME)]
        assert len(nonces) == 2
        assert len([record for record in records if isinstance(record, TakeSeat)]) == 2


def test_a_finished_turn_has_no_hints(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        table = rig.table
        table.take_seat(SOUTH, "Ann")
        table.machines.seat_machine(NORTH, "Pip")
        rig.begin()
        # The set-up, moment 1.0, is over.
        moment = rig.view.moment
        assert table.coaching.possibilities(SOUTH, moment, "")
        assert table.coaching.possibilities(SOUTH, "1.0", "") == ()
        with pytest.raises(Stale, match="That turn is over"):
            table.machines.act_at_random(NORTH, "1.0")
        table.machines.act_at_random(NORTH, moment)
        assert rig.view.seats[NORTH].receipt


def test_an_ambiguous_board_asks_the_acting_seat(
    rig: TableRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The board is made to mean the actions 1 and 2.
    monkeypatch.setitem(GAMES, "toy", Toy())
    monkeypatch.setattr(board_check, "match_actions", Mock(return_value=([1, 2], [])))
    rig.table.new_game("toy", seed=1)
    board = rig.view.board.layout
    for layout in (board, with_move(board, "a1", "a3")):
        rig.show_reading(layout, game="toy")
    assert [rig.table.view(seat).own.possible_actions for seat in SEATS] == [("1", "2"), ()]
    assert rig.cues[-1] == "asked"


def test_tiles_not_read_in_time_are_asked_for(rig: TableRig) -> None:
    rig.begin(tiles=True)
    rig.show_reading(rig.view.board.layout)
    for seat in SEATS:
        rig.table.set_tiles_ready(seat, rig.view.moment, True)
    rig.wait(CAMERA_ANSWER_TIMEOUT_S - 0.1)
    assert rig.view.board.tiles_ready == set(SEATS)
    rig.wait(0.2)
    assert set(live_of(rig.table).tiles.faulty_rows) == set(SEATS)


def test_ready_hands_in_pieces_placed_on_the_board(rig: TableRig) -> None:
    for seat in SEATS:
        rig.table.change_door(seat, "pad")
    rig.table.new_game("kahmate", seed=1)
    rig.press(SOUTH, "a")
    assert rig.cues[-1] == "key_refused", "a pad's key must not enter a placing"

    # The camera sees both sides' pieces where two random actions have placed them.
    session = session_of(rig.table)
    game = session.require_game()
    state = session.state
    actions = {seat: game.random_action(state, seat, Random(1)) for seat in SEATS}
    placed = game.expected(game.apply(state, actions, Random(1)).state) or {}
    pieces = {square: faces[:1] for square, faces in placed.items() if faces[0] != "ball"}
    rig.show_reading(pieces, game="kahmate")

    # Only South is asked to confirm South's own placing, by the key Ready of its pad.
    view = rig.table.view(SOUTH)
    assert view.own.laid_action == game.format(actions[SOUTH])
    assert rig.view.own.laid_action is None
    assert view.sign.text == "Tap “As it lies on the board”"
    rig.press(SOUTH, "ready")
    assert [bool(rig.view.seats[seat].receipt) for seat in SEATS] == [True, False]


def test_a_followers_pause_is_limited_by_its_interval(tmp_path: Path) -> None:
    """The follower's step asks for a pause of 60 s, and its interval is 0.01 s."""
    with Journal(tmp_path / "journal.sqlite") as journal, Table(journal, FakeClock()) as table:
        steps: list[str] = []

        def ask_for_pause() -> float:
            steps.append("step")
            return 60.0

        follower = TableFollower(table, "eager", ask_for_pause, interval_s=0.01)
        follower.start()
        until("a third step", lambda: len(steps) > 2)
        follower.close()
        assert "eager" not in {thread.name for thread in enumerate_threads()}


def test_a_listener_is_told_the_last_turn(rig: TableRig) -> None:
    """When a game ends, listeners get the number 0 of no game and the number of its turns."""
    changes: list[tuple[int, int]] = []
    rig.table.connect(TableListener(on_game=lambda *change: changes.append(change)))
    play(rig.table, rig.clock, "binmat", 200, 3)
    assert changes[-1] == (0, len(session_of(rig.table).turns))
