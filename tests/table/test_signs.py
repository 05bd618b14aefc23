"""Signs name the key on the device that shows them, speak to its owner, and count turns as the game
does.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from internals import live_of, session_of
from table_tools import TableRig

from companion.core.errors import Illegal
from companion.core.grid import Square
from companion.core.i18n import LANGUAGES, before_colon, say, strip_addressee, translate
from companion.core.kit import SEATS, Seat
from companion.core.ports import Cue, SeatLamps, TurnLamp
from companion.table.listeners import lamps_of
from companion.table.session import Phase
from companion.table.state import CountedDraft

SOUTH, NORTH = SEATS


def signs(rig: TableRig) -> tuple[str, str, str]:
    """Return what South, North and everybody read."""
    south, north, wall = (rig.table.view(viewer).sign.text for viewer in (SOUTH, NORTH, None))
    return south, north, wall


def smalls(rig: TableRig) -> tuple[str, str, str]:
    """Return the smaller line for South, North and everybody."""
    south, north, wall = (rig.table.view(viewer).sign.small for viewer in (SOUTH, NORTH, None))
    return south, north, wall


def test_the_lobby_names_the_key_of_this_device(rig: TableRig) -> None:
    assert signs(rig) == ("Choose a game",) * 3
    rig.table.choose_game("outbuffered")
    assert signs(rig) == ("Ready for Outbuffered?",) * 2 + ("Start Outbuffered",)
    rig.table.return_to_lobby()
    rig.table.change_door(SOUTH, "pad")
    rig.show({})
    ready = "Press ready to start Outbuffered"
    assert signs(rig) == (ready, "Choose a game", ready)


def test_who_waits_for_the_other_side_is_told(rig: TableRig) -> None:
    rig.table.free_seat(NORTH)
    assert signs(rig)[0] == "Choose a game"
    assert smalls(rig)[0] == "The other side is still free."
    rig.table.choose_game("scouts")
    assert signs(rig)[0] == "Waiting for the other side"
    assert lamps_of(live_of(rig.table), SOUTH) == SeatLamps()
    assert lamps_of(live_of(rig.table), NORTH) == SeatLamps()


def test_hands_are_told_which_key_ends_their_work(rig: TableRig) -> None:
    rig.table.change_door(SOUTH, "pad")
    rig.begin()
    rig.turn("UII", "UII")
    assert signs(rig) == ("Robot, a1 to a2", "Robot, c4 to c3", "Purple: robot, a1 to a2")
    south, north, wall = smalls(rig)
    assert south == "Lime: robot, c4 to c3. Then tap Done.", "its own part is on the sign"
    assert north == "Then tap Done.", "a phone lists the others"
    assert wall.endswith("Then tap Done, or press ready.")
    rig.confirm("south")
    assert (signs(rig), smalls(rig)) == (("Both wait",) * 3, ("", "", ""))


def test_clocks_start_by_the_key_that_exists(rig: TableRig) -> None:
    rig.table.new_game("binmat", {"way": "referee"}, seed=1)
    assert signs(rig) == ("Start the clock",) * 3, "the table screen’s sign is that key"
    rig.table.change_door(SOUTH, "pad")
    rig.table.resume("south")
    assert signs(rig) == ("Your turn", "Defender: your turn", "Defender: your turn")
    assert smalls(rig)[0] == "Ready ends it. Hold it to declare combat."
    assert smalls(rig)[1] == "", "the keys say what they do"


def test_who_wins_reads_it(rig: TableRig) -> None:
    rig.begin()
    rig.turn("UII", "III")
    rig.finish_stages()
    rig.table.resign(NORTH)
    assert signs(rig) == ("You win", "Purple wins", "Purple wins")
    assert rig.view.turn.number == 2, "whoever resigns in turn 2 ends turn 2"


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_and_reasons_are_cut_in_every_language(language: str) -> None:
    told = say("{side!c}: end the turn", side=say("white"))
    mine, whole = translate(strip_addressee(told, "white"), language), translate(told, language)
    assert whole.lower().endswith(mine.lower())
    assert ":" not in mine
    assert mine[0].isupper()
    parts = {"piece": say("purple robot"), "square": Square(0, 0), "home": Square(0, 1)}
    wrong = say("{piece!c} expected on {home}, seen on {square}: move it back.", **parts)
    assert translate(before_colon(wrong), language).endswith("a1.")


# ---- what is wrong, and which turn it is ---------------------------------------------------------


def play(rig: TableRig, action: str) -> None:
    """Act for the seat on turn, and let hands follow."""
    view = rig.view
    (seat,) = (seat for seat in SEATS if view.seats[seat].is_awaited)
    rig.table.hand_in(Seat(seat), view.moment, action)
    rig.finish_stages()


@pytest.mark.parametrize("clock", [{"seconds": 300}, {}], ids=["a chess clock", "no clock"])
def test_the_end_of_a_turn_calls_one_side(clock: dict[str, int], rig: TableRig) -> None:
    start = "a1 b1 c1 d1 e1 / a10 b10 c10 d10 e10"
    rig.table.new_game("scouts", {**clock, "start": start}, seed=1)
    rig.confirm()
    if session_of(rig.table).paused_by:
        rig.table.resume("host")
    called = []
    for text in ("a1-a2", ".", "a10-a9", "b10-b9"):
        rig.signals.clear()
        play(rig, text)
        called.append([signal.seats for signal in rig.signals if signal.cue is Cue.TURN_PASSES])
    assert called == [[], [{Seat.NORTH}], [], []]


def test_lamps_pulse_where_both_sides_give_orders(
    rig: TableRig,
) -> None:
    for game, awaited in (("arena", TurnLamp.PULSE), ("scouts", TurnLamp.ON)):
        rig.table.new_game(game, {}, seed=1)
        rig.confirm()
        live = live_of(rig.table)
        due = session_of(rig.table).awaited_seats
        assert {seat: lamps_of(live, seat).turn for seat in SEATS} == {
            seat: awaited if seat in due else TurnLamp.OFF for seat in SEATS
        }, game
        rig.table.abandon()


def test_three_lamps_count_entered_orders_and_begin_anew(rig: TableRig) -> None:
    rig.begin()
    live = live_of(rig.table)
    counted = []
    for count in range(6):
        lamps = lamps_of(replace(live, drafts={SOUTH: CountedDraft((), count)}), SOUTH)
        counted.append(sorted(lamps.order_lamps))
    assert counted == [[], [1], [1, 2], [1, 2, 3], [1], [1, 2]]
    asked = lamps_of(replace(live, possible_actions=("a1-a2", "a1-b1")), SOUTH)
    assert asked == SeatLamps(frozenset({2}), TurnLamp.WRONG), "answer on the phone"
    by_tiles = replace(live, tiles=replace(live.tiles, ready_seats=frozenset({SOUTH})))
    assert lamps_of(by_tiles, SOUTH).order_lamps == {1, 2, 3}
    rig.turn("III", "III")
    assert lamps_of(live_of(rig.table), NORTH).order_lamps == {1}


def test_a_refused_press_is_answered_to_its_seat(
    rig: TableRig,
) -> None:
    rig.begin()
    before = session_of(rig.table).layout or {}
    rig.show(before)
    rig.turn("UUU", "DDD")
    rig.show(before)
    view = rig.view
    with pytest.raises(Illegal, match="Not seen yet: Purple"):
        rig.confirm(NORTH)
    assert rig.view == view


def test_a_corrected_board_is_reported_once(
    rig: TableRig,
) -> None:
    rig.begin()
    right = rig.view.board.layout
    wrong = {square: faces for square, faces in right.items() if faces != ("purple robot",)}
    heard = []
    for layout in (right, right, wrong, wrong, right, right):
        rig.signals.clear()
        for _ in range(3):
            rig.show(layout)
            rig.wait(1.0)
        heard.append([cue for cue in rig.cues if cue.startswith("board")])
    assert heard == [[], [], ["board_wrong"], [], ["board_agrees"], []]


def test_orders_of_robots_open_with_their_stage(rig: TableRig) -> None:
    rig.table.new_game("arena", {}, seed=1)
    rig.confirm()
    rig.turn("1:N 2:aE 3:D", "1:N 2:N 3:N")
    shown = []
    while rig.view.phase is Phase.STAGES:
        shown.append([order.order for order in rig.view.turn.sheets[SOUTH]])
        rig.confirm()
    assert shown == [[None, None, "D"], ["N", None, "D"], ["N", "aE", "D"]]
    assert not rig.view.turn.sheets
