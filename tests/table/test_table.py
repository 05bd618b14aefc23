"""The table on a fake clock: phases, hands, pads, overruling, matches, undo, draws, restarts,
secrecy.
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
from inside import live_of, session_of
from service import until
from table_tools import Played, follow_instructions, playing, seat_both
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
from companion.table.records import HandIn, TakeSeat
from companion.table.session import Phase
from companion.table.table import Table
from companion.table.turns import CAMERA_ANSWER_TIMEOUT_S

SOUTH, NORTH = SEATS


def begin_and_show(played: Played) -> Layout:
    """Begin a game, and let the camera see its board as it should lie. Return the layout."""
    played.begin()
    board = played.view.board.layout
    played.show(board)
    return board


def with_move(layout: Layout, origin: str, target: str) -> dict[Square, tuple[str, ...]]:
    """Return a layout after a stack went somewhere else."""
    after = dict(layout)
    after[Square.parse(target)] = after.pop(Square.parse(origin))
    return after


# ---- a turn --------------------------------------------------------------------------------------


def test_a_turn_by_taps_alone(played: Played) -> None:
    played.table.new_game("outbuffered", seed=1)
    assert (played.view.phase, played.view.sign.text) == (Phase.SETUP, "Purple: flag to b1")
    played.confirm("south")
    assert played.view.sign.text == "Both: hand in your orders"
    assert played.table.view(SOUTH).sign.text == "Three orders to go"
    played.turn("UUS", "UUS")
    assert played.cues[-1] == "reveal"
    turn = played.view.turn
    assert (turn.title, played.view.sign.text) == ("Step 1 of 3", "Purple: robot, a1 to a2")
    assert (len(turn.orders), turn.stage_count, turn.revealed_orders) == (1, 3, ())
    text = repr(replace(played.view, own=None)) + repr(played.table.view(NORTH).turn)
    assert "order-shoot" not in text, "no step is told before its turn"
    assert "UUS" not in text
    played.wait(0.7)
    assert played.cues[-2:] == ["step", "hands_wanted"], "after the reveal"
    played.confirm("south")
    played.confirm("north")
    assert played.view.sign.text == "Both shoot. Nobody is hit."
    assert [opened.action for opened in played.view.turn.revealed_orders] == ["UUS", "UUS"]
    played.wait(2.4)
    assert played.view.phase is Phase.STAGES
    played.wait(0.2)
    assert (played.view.phase, played.view.turn.number) == (Phase.ORDERS, 2)


def test_the_camera_ticks_off_set_up_and_stages(played: Played) -> None:
    played.table.new_game("outbuffered", seed=1)
    board = played.view.board.layout
    played.show(with_move(board, "a1", "a2"))
    assert played.view.sign.text == "Move the purple robot a2 to a1"
    played.show(board, quiet=False)
    assert played.view.phase is Phase.SETUP
    played.show(board)
    assert played.view.phase is Phase.ORDERS
    played.turn("UII", "III")
    played.show(with_move(board, "a1", "a2"), quiet=False)
    assert played.view.turn.stage == 0
    played.show(with_move(board, "a1", "a2"))
    assert played.view.turn.stage == 1
    assert "board_agrees" in played.cues


def test_an_unseen_moving_piece_is_asked_for(played: Played) -> None:
    board = dict(begin_and_show(played))
    played.turn("UII", "III")
    del board[Square.parse("a1")]
    played.show(board, unknown="c2")
    assert played.view.sign.small.startswith("The camera cannot see c2: take away your hand")
    played.show(board)
    assert played.view.sign.small == "", "somebody holds it"
    there = board | {Square.parse("a2"): ("purple robot",)}
    played.show(there, unknown="a2")
    assert played.view.sign.text == "Camera cannot see a2"
    played.show(there, unknown="a2", quiet=False)
    assert played.view.sign.text == "Purple: robot, a1 to a2", "a hand is over it: it is no trouble"
    assert played.view.turn.stage == 0


def test_a_wrong_placement_tells_its_way(played: Played) -> None:
    board = begin_and_show(played)
    played.turn("UII", "III")
    played.show(with_move(board, "a1", "b2"))
    (problem,) = played.view.board.problems
    assert problem.text == "Purple robot expected on a2, seen on b2: move it to a2."
    sign = played.table.view(SOUTH).sign
    assert sign.text == "Move the purple robot b2 to a2"
    assert sign.small == "Purple robot expected on a2, seen on b2."
    assert played.cues[-1] == "board_wrong"
    with pytest.raises(Illegal, match="expected on a2, seen on b2"):
        played.confirm("south")
    played.show({}, game="scouts")
    played.confirm("south")
    assert played.view.turn.stage == 1, "what is seen of another game holds nobody up"


def test_force_overrules_the_camera_until_the_board_changes(played: Played) -> None:
    board = begin_and_show(played)
    played.turn("UII", "III")
    misread = with_move(board, "a1", "b2")
    played.show(misread)
    view = played.view
    played.clock.advance(4.5)
    with pytest.raises(Illegal, match="still looks"):
        played.table.confirm("south", view.moment, view.turn.stage, force=True)
    played.clock.advance(0.6)
    played.table.confirm("south", view.moment, view.turn.stage, force=True)
    assert played.view.turn.stage == 1
    assert played.view.board.problems == ()
    played.show(misread, quiet=False)
    played.show(misread)
    assert played.view.board.problems == ()


def test_a_bump_during_orders_stops_nobody(played: Played) -> None:
    board = begin_and_show(played)
    played.show(with_move(board, "c4", "c3"))
    assert played.view.sign.text == "Move the lime robot c3 to c4"
    played.turn("III", "III")
    assert played.view.phase is Phase.STAGES
    played.wait(5)
    assert played.view.turn.stage == 0, "the board is wrong: the next step waits"
    played.show(board)
    assert played.view.turn.stage == 1


def test_people_with_phones_change_sides_between_games(played: Played) -> None:
    can_swap = [played.view.match.can_swap]
    played.begin()
    can_swap.append(played.view.match.can_swap)
    played.table.resign(SOUTH)
    can_swap.append(played.view.match.can_swap)
    played.table.change_door(NORTH, "pad")
    can_swap.append(played.view.match.can_swap)
    assert can_swap == [True, False, True, False]


# ---- refusals ------------------------------------------------------------------------------------


def test_stale_and_double_inputs(played: Played) -> None:
    played.begin()
    moment = played.view.moment
    south = SOUTH
    first = played.hand_in(south, "UUS", "abc123")
    assert played.hand_in(south, "UUS", "abc123") == first, "sent twice, taken once"
    with pytest.raises(Illegal) as again:
        played.hand_in(south, "DDD", "other")
    assert again.value.reason is Refusal.ALREADY_SEALED
    played.hand_in(NORTH, "III")
    assert played.hand_in(south, "UUS", "abc123") == first, "even after the reveal"
    for late in (
        lambda: played.table.hand_in(south, moment, "DDD", "later"),
        lambda: played.table.confirm("south", moment, 2),
    ):
        with pytest.raises(Stale):
            late()
    with pytest.raises(Illegal, match="Too late: the orders have been revealed"):
        played.table.take_back(south, moment)


# ---- ends ----------------------------------------------------------------------------------------

SHORT = {"board": ".N\nsn\nS."}


def test_a_win_counts_for_the_match(played: Played) -> None:
    played.begin(**SHORT)
    played.turn("URI", "III")
    played.finish_stages()
    played.turn("LDD", "III")
    assert played.view.turn.stage_count == 3, "that it ends early is not told before"
    played.finish_stages()
    view = played.view
    assert (view.phase, view.sign.text, view.match.score) == (Phase.OVER, "Purple wins", (1, 0, 0))
    played.table.rematch()
    assert (played.view.phase, played.view.match.score) == (Phase.SETUP, (1, 0, 0))


def test_a_tie_is_played_again_by_itself(played: Played) -> None:
    played.begin(turn_limit=1)
    played.turn("III", "III")
    played.finish_stages()
    assert played.view.sign.text == "A draw: once more"
    played.wait(5.9)
    assert played.view.phase is Phase.OVER
    played.wait(0.2)
    view = played.view
    assert (view.phase, view.match.score) == (Phase.SETUP, (0, 0, 1))


def test_resign_draw_abandon(played: Played) -> None:
    played.begin()
    played.table.resign(SOUTH)
    assert played.view.sign.text == "Lime wins"
    played.table.rematch()
    played.confirm()
    for seat in (NORTH, NORTH):
        played.table.offer_draw(seat)
        assert played.table.view(SOUTH).sign.small == "Lime offers a draw."
        assert played.table.view(NORTH).sign.small == "You offer a draw."
    played.table.offer_draw(SOUTH)
    played.wait(60)
    assert played.view.phase is Phase.OVER, "an agreed draw is not played again by itself"
    assert played.view.match.score == (0, 1, 1)
    played.table.rematch()
    played.table.abandon()
    assert played.view.match.score == (0, 0, 0), "nobody looks back on it"


def test_undo_goes_back_and_asks_for_the_board(played: Played) -> None:
    played.begin()
    played.turn("UUS", "UUS")
    played.finish_stages()
    played.wait(4)
    stale = played.view.moment
    played.table.undo()
    view = played.view
    assert (view.phase, view.turn.number) == (Phase.SETUP, 1)
    assert view.board.layout[Square.parse("a1")] == ("purple robot",)
    with pytest.raises(Stale):
        played.table.hand_in(SOUTH, stale, "UUS")
    played.confirm("south")
    played.turn("III", "III")
    assert played.view.phase is Phase.STAGES


# ---- pads ----------------------------------------------------------------------------------------


def test_a_buffer_blind_on_a_pad(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        south = SOUTH
        played.press(south, "U")
        played.press(NORTH, "ready")
        assert played.view.seats[south].door == "pad"
        played.begin()
        for keys, entered, cue in (
            (("U", "U", "S", "L"), 3, "key_refused"),
            (("back",), 2, "key_back"),
            (("ready",), 2, "key_refused"),
            (("D", "ready"), 3, "sealed"),
            (("back",), 3, "taken_back"),
        ):
            played.press(south, *keys)
            assert (played.view.seats[south].entered_count, played.cues[-1]) == (entered, cue)
        played.press(south, "back", held=True)
        played.press(south, "R", "S", "S", "ready")
        played.press(NORTH, "I", "I", "U", "ready")
        assert played.view.turn.orders[0][south].letter == "R"
        played.press(NORTH, "ready")
        assert played.view.turn.stage == 1


def test_holding_ready_overrules_only_what_was_refused(played: Played) -> None:
    begin_and_show(played)
    played.turn("UUI", "III")
    played.press(SOUTH, "ready")
    assert played.cues[-1] == "key_refused"
    played.wait(5.1)
    played.press(SOUTH, "ready", held=True)
    assert played.view.turn.stage == 1
    played.press(SOUTH, "ready", held=True)
    assert played.view.turn.stage == 1, "one hold, one stage"


def test_the_press_that_starts_the_clock_overrules_nothing(played: Played) -> None:
    played.table.new_game("scouts", {})
    follow_instructions(played.table)
    placements = [f"@{file}{rank}" for file in "bcdef" for rank in (1, 10)]
    for action in (*placements, "b1-b2"):
        if session_of(played.table).paused_by:
            played.table.resume("host")
        (seat,) = session_of(played.table).awaited
        played.hand_in(seat, action)
        follow_instructions(played.table)
    after = played.view.board.layout
    played.table.undo()
    played.show(with_move(after, "f10", "f5"), game="scouts")
    played.wait(6)
    pressed_s = played.clock.monotonic_s()
    for is_held in (False, True):
        played.table.press(Press(SOUTH, PadKey.READY, pressed_s, is_held))
        played.wait(0.8)
    assert session_of(played.table).paused_by == ""
    assert played.view.phase is Phase.SETUP


def test_an_unexpected_error_is_logged_without_words(
    played: Played, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    played.begin()
    words = "-".join(("draft", "up"))  # not in one piece: a trace shows the source
    with monkeypatch.context() as patch:
        failing = Mock(side_effect=RuntimeError(words))
        patch.setattr("companion.table.seats.pads.effect_of_press", failing)
        played.press(SOUTH, "U")
    assert "RuntimeError" in caplog.text
    assert words not in caplog.text
    played.press(SOUTH, "U")
    assert played.view.seats[SOUTH].entered_count == 1


# ---- hands games: the made-up game ---------------------------------------------------------------


# ---- restarts ------------------------------------------------------------------------------------


def test_a_restart_resumes_with_sealed_orders(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        seat_both(played)
        played.begin()
        played.turn("III", "III")
        played.finish_stages()
        played.wait(4)
        played.hand_in(SOUTH, "RII", "salt1")
        views = [replace(played.table.view(viewer), version=0) for viewer in (None, *SEATS)]
        nonce = played.table.nonce_of(SOUTH)
    with playing(tmp_path) as again:
        for viewer, view in zip((None, *SEATS), views, strict=True):
            assert replace(again.table.view(viewer), version=0) == view
        assert again.table.nonce_of(SOUTH) == nonce
        again.table.hand_in(NORTH, views[0].moment, "LII")
        assert again.view.phase is Phase.STAGES


BUFFERS = st.text("UDLRIS", min_size=3, max_size=3)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(BUFFERS, BUFFERS), max_size=5), st.integers(0, 3))
def test_replayed_journal_is_the_live_state(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[str, str]], undos: int
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with playing(folder) as played:
        played.begin(turn_limit=40)
        for south, north in turns:
            if played.view.phase is not Phase.ORDERS:
                break
            played.turn(south, north)
            for viewer in (None, *SEATS):
                assert len(played.table.view(viewer).sign.text) <= 40, "can be read from afar"
            played.finish_stages()
        for _ in range(undos):
            if played.view.match.can_undo:
                played.table.undo()
                if played.view.phase is Phase.SETUP:
                    played.confirm()
        with Journal(folder / "journal.sqlite", read_only=True) as journal:
            # the next game's chance is committed to between games, outside of this game's run
            live = replace(session_of(played.table), commitment="")
            assert replace(journal.fold(1), commitment="") == live


# ---- journal troubles ----------------------------------------------------------------------------


def test_seats_stay_when_a_game_is_unreadable(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        seat_both(played)
        played.begin()
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.append(1, [HandIn(SOUTH, "1.1", "XYZ")], 0.0)
    with playing(tmp_path) as again:
        view = again.view
        assert view.phase is Phase.LOBBY
        assert view.devices.notices[0].startswith("Game 1 cannot be continued (malformed")
        assert "XYZ" not in view.devices.notices[0]
        assert view.seats[SOUTH].name == "South"
        again.table.new_game("outbuffered")


def test_an_unwritable_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="set state_dir"):
        Journal(tmp_path / "file" / "journal.sqlite")


# ---- the thread, replay files --------------------------------------------------------------------


def test_many_threads_at_once_lose_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.sqlite") as journal, Table(journal, FakeClock()) as table:
        table.start()
        nonces: list[str] = []

        def try_to_sit(number: int) -> None:
            with suppress(Illegal):
                nonces.append(table.take_seat(SEATS[number % 2], "P"))

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(try_to_sit, range(16)))
        taken = [entry for entry in journal.entries(0) if isinstance(entry.record, TakeSeat)]
        assert (len(nonces), len(taken)) == (2, 2)


def test_a_finished_turn_has_no_hints(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        table = played.table
        table.take_seat(SOUTH, "Ann")
        table.machines.seat_machine(NORTH, "Pip")
        played.begin()
        moment = played.view.moment
        assert table.coaching.possible(SOUTH, moment, "")
        assert table.coaching.possible(SOUTH, "1.0", "") == ()
        with pytest.raises(Stale, match="That turn is over"):
            table.machines.act_at_random(NORTH, "1.0")
        table.machines.act_at_random(NORTH, moment)
        assert played.view.seats[NORTH].receipt


def test_an_ambiguous_board_is_asked_about(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GAMES, "toy", Toy())
    monkeypatch.setattr(board_check, "match_actions", Mock(return_value=([1, 2], [])))
    played.table.new_game("toy", seed=1)
    board = played.view.board.layout
    for seen in (board, with_move(board, "a1", "a3")):
        played.show(seen, game="toy")
    assert [played.table.view(seat).own.possible_actions for seat in SEATS] == [("1", "2"), ()]
    assert played.cues[-1] == "asked"


def test_tiles_not_read_in_time_are_asked_for(played: Played) -> None:
    played.begin(tiles=True)
    played.show(played.view.board.layout)
    for seat in SEATS:
        played.table.set_tiles_ready(seat, played.view.moment, True)
    played.wait(CAMERA_ANSWER_TIMEOUT_S - 0.1)
    assert played.view.board.tiles_ready == set(SEATS)
    played.wait(0.2)
    assert set(live_of(played.table).tiles.faults) == set(SEATS)


def test_ready_hands_in_a_placing_on_board(played: Played) -> None:
    for seat in SEATS:
        played.table.change_door(seat, "pad")
    played.table.new_game("kahmate", seed=1)
    played.press(SOUTH, "a")
    assert played.cues[-1] == "key_refused", "a pad has no keys for a placing"
    session = session_of(played.table)
    game, state = session.require_game(), session.state
    actions = {seat: game.random_action(state, seat, Random(1)) for seat in SEATS}
    placed = game.expected(game.apply(state, actions, Random(1)).state) or {}
    pieces = {square: faces[:1] for square, faces in placed.items() if faces[0] != "ball"}
    played.show(pieces, game="kahmate")
    own = played.table.view(SOUTH)
    assert (own.own.laid_action, played.view.own.laid_action) == (game.format(actions[SOUTH]), None)
    assert own.sign.text == "Tap “As it lies on the board”"
    played.press(SOUTH, "ready")
    assert [bool(played.view.seats[seat].receipt) for seat in SEATS] == [True, False]


def test_followers_rest_no_longer_than_agreed(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.sqlite") as journal, Table(journal, FakeClock()) as table:
        steps: list[float] = []
        follower = TableFollower(table, "eager", lambda: steps.append(60.0) or steps[-1], 0.01)
        follower.start()
        until("a third step", lambda: len(steps) > 2)
        follower.close()
        assert "eager" not in {thread.name for thread in enumerate_threads()}


def test_a_listener_learns_of_the_last_turn(played: Played) -> None:
    ends: list[tuple[int, int]] = []
    played.table.connect(TableListener(on_game=lambda *change: ends.append(change)))
    play(played.table, played.clock, "binmat", 200, 3)
    assert ends[-1] == (0, len(session_of(played.table).turns))
