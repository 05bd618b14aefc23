"""Test signs and lamps of seats and table screen: whom they address and which key they name."""

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
    """Return the signs of South, North and the table screen."""
    south, north, public = (rig.table.view(viewer).sign.text for viewer in (SOUTH, NORTH, None))
    return south, north, public


def small_lines(rig: TableRig) -> tuple[str, str, str]:
    """Return the smaller lines below the signs of South, North and the table screen."""
    south, north, public = (rig.table.view(viewer).sign.small for viewer in (SOUTH, NORTH, None))
    return south, north, public


def test_the_lobbys_sign_names_the_devices_key(rig: TableRig) -> None:
    # Phones have a key of their own for the chosen game. The table screen is tapped.
    assert signs(rig) == ("Choose a game",) * 3
    rig.table.choose_game("outbuffered")
    on_phone = "Ready for Outbuffered?"
    assert signs(rig) == (on_phone, on_phone, "Start Outbuffered")

    # A pad starts the game whose board lies on the table.
    rig.table.return_to_lobby()
    rig.table.change_door(SOUTH, "pad")
    rig.show_reading({})
    by_pad = "Press ready to start Outbuffered"
    assert signs(rig) == (by_pad, "Choose a game", by_pad)


def test_a_seated_person_waits_for_the_other_side(rig: TableRig) -> None:
    rig.table.free_seat(NORTH)
    assert signs(rig)[0] == "Choose a game"
    assert small_lines(rig)[0] == "The other side is still free."
    rig.table.choose_game("scouts")
    assert signs(rig)[0] == "Waiting for the other side"
    assert lamps_of(live_of(rig.table), SOUTH) == SeatLamps()
    assert lamps_of(live_of(rig.table), NORTH) == SeatLamps()


def test_signs_of_stages_name_the_key(rig: TableRig) -> None:
    rig.table.change_door(SOUTH, "pad")
    rig.begin()
    rig.hand_in_both("UII", "UII")
    # Each seat is told its own move first, without its name.
    assert signs(rig) == ("Robot, a1 to a2", "Robot, c4 to c3", "Purple: robot, a1 to a2")
    south, north, public = small_lines(rig)
    # North's phone lists all moves. South plays by a pad, which has no list, so the small line of
    # South's page names the other move.
    assert south == "Lime: robot, c4 to c3. Then tap Done."
    assert north == "Then tap Done.", "the phone must not repeat what its list says"
    assert public.endswith("Then tap Done, or press ready.")

    # The second step moves nothing.
    rig.confirm("south")
    assert signs(rig) == ("Both wait",) * 3
    assert small_lines(rig) == ("", "", "")


def test_signs_name_the_key_that_starts_clocks(rig: TableRig) -> None:
    rig.table.new_game("binmat", {"way": "referee"}, seed=1)
    assert signs(rig) == ("Start the clock",) * 3
    rig.table.change_door(SOUTH, "pad")
    rig.table.resume("south")
    assert signs(rig) == ("Your turn", "Defender: your turn", "Defender: your turn")
    assert small_lines(rig)[0] == "Ready ends it. Hold it to declare combat."
    assert small_lines(rig)[1] == "", "the line must not repeat what the phone's keys say"


def test_the_winners_sign_says_you_win(rig: TableRig) -> None:
    rig.begin()
    rig.hand_in_both("UII", "III")
    rig.finish_stages()
    rig.table.resign(NORTH)
    assert signs(rig) == ("You win", "Purple wins", "Purple wins")
    assert rig.view.turn.number == 2, "resigning must not count as another turn"


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_are_shortened_in_every_language(language: str) -> None:
    addressed = say("{side!c}: end the turn", side=say("white"))
    full = translate(addressed, language)
    shortened = translate(strip_addressee(addressed, "white"), language)
    assert full.lower().endswith(shortened.lower())
    assert ":" not in shortened
    assert shortened[0].isupper()
    parts = {"piece": say("purple robot"), "square": Square(0, 0), "home": Square(0, 1)}
    problem = say("{piece!c} expected on {home}, seen on {square}: move it back.", **parts)
    assert translate(before_colon(problem), language).endswith("a1.")


# ---- signals and lamps ---------------------------------------------------------------------------


def play(rig: TableRig, action: str) -> None:
    """Hand in an action of the seat on turn, and confirm what hands do for it."""
    view = rig.view
    (seat,) = (seat for seat in SEATS if view.seats[seat].is_awaited)
    rig.table.hand_in(Seat(seat), view.moment, action)
    rig.finish_stages()


@pytest.mark.parametrize("clock", [{"seconds": 300}, {}], ids=["a chess clock", "no clock"])
def test_a_turn_that_passes_calls_one_side(clock: dict[str, int], rig: TableRig) -> None:
    start = "a1 b1 c1 d1 e1 / a10 b10 c10 d10 e10"
    rig.table.new_game("scouts", {**clock, "start": start}, seed=1)
    rig.confirm()
    if session_of(rig.table).paused_by:
        rig.table.resume("host")
    called_seats = []
    for action in ("a1-a2", ".", "a10-a9", "b10-b9"):
        rig.signals.clear()
        play(rig, action)
        called_seats.append(
            [signal.seats for signal in rig.signals if signal.cue is Cue.TURN_PASSES]
        )
    # White moves and ends its turn, which calls Black. Black's moves call nobody.
    assert called_seats == [[], [{Seat.NORTH}], [], []]


def test_lamps_pulse_where_both_sides_give_orders(rig: TableRig) -> None:
    for game, awaited_lamp in (("arena", TurnLamp.PULSE), ("scouts", TurnLamp.ON)):
        rig.table.new_game(game, {}, seed=1)
        rig.confirm()
        live = live_of(rig.table)
        awaited_seats = session_of(rig.table).awaited_seats
        assert {seat: lamps_of(live, seat).turn for seat in SEATS} == {
            seat: awaited_lamp if seat in awaited_seats else TurnLamp.OFF for seat in SEATS
        }, game
        rig.table.abandon()


def test_three_lamps_count_entered_orders(rig: TableRig) -> None:
    rig.begin()
    live = live_of(rig.table)
    lamps_by_count = []
    for count in range(6):
        lamps = lamps_of(replace(live, drafts={SOUTH: CountedDraft((), count)}), SOUTH)
        lamps_by_count.append(sorted(lamps.order_lamps))
    # With more than three orders the lamps start again from the first one.
    assert lamps_by_count == [[], [1], [1, 2], [1, 2, 3], [1], [1, 2]]

    # The board can mean two moves. The middle lamp says that the seat has to choose one.
    ambiguous = lamps_of(replace(live, possible_actions=("a1-a2", "a1-b1")), SOUTH)
    assert ambiguous == SeatLamps(frozenset({2}), TurnLamp.WRONG)

    # All three lamps are lit if a row of tiles lies ready, as if the orders were entered.
    by_tiles = replace(live, tiles=replace(live.tiles, ready_seats=frozenset({SOUTH})))
    assert lamps_of(by_tiles, SOUTH).order_lamps == {1, 2, 3}

    # The first of three stages is shown.
    rig.hand_in_both("III", "III")
    assert lamps_of(live_of(rig.table), NORTH).order_lamps == {1}


def test_a_refused_confirmation_changes_no_view(rig: TableRig) -> None:
    """A refusal that changed the view would be drawn and spoken again on every page."""
    rig.begin()
    before = session_of(rig.table).layout or {}
    rig.show_reading(before)
    rig.hand_in_both("UUU", "DDD")
    rig.show_reading(before)
    view = rig.view
    with pytest.raises(Illegal, match="Not seen yet: Purple"):
        rig.confirm(NORTH)
    assert rig.view == view


def test_a_corrected_board_is_reported_once(rig: TableRig) -> None:
    rig.begin()
    right = rig.view.board.layout
    wrong = {square: faces for square, faces in right.items() if faces != ("purple robot",)}
    # Each board is read three times. Only a change from right to wrong or back sounds.
    cues_by_layout = []
    for layout in (right, right, wrong, wrong, right, right):
        rig.signals.clear()
        for _ in range(3):
            rig.show_reading(layout)
            rig.wait(1.0)
        cues_by_layout.append([cue for cue in rig.cues if cue.startswith("board")])
    assert cues_by_layout == [[], [], ["board_wrong"], [], ["board_agrees"], []]


def test_robots_orders_are_revealed_with_their_stage(rig: TableRig) -> None:
    """Later orders of a robot stay secret until the board shows the earlier ones."""
    # South's robots go north, attack to the east, and defend.
    rig.table.new_game("arena", {}, seed=1)
    rig.confirm()
    rig.hand_in_both("1:N 2:aE 3:D", "1:N 2:N 3:N")
    sheets = []
    while rig.view.phase is Phase.STAGES:
        sheets.append([order.order for order in rig.view.turn.sheets[SOUTH]])
        rig.confirm()
    # Robot 3 defends before anybody moves. Then the robots move in order of their numbers.
    assert sheets == [[None, None, "D"], ["N", None, "D"], ["N", "aE", "D"]]
    assert not rig.view.turn.sheets
