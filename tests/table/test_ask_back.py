"""Whoever wants back what the other has done asks him; without a yes within 20 s nothing happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from web_fixtures import Place, open_place

from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.table.session import Phase


def to_second_turn(place: Place) -> str:
    """BINMAT's clock, after the first turn. Return the moment."""
    for seat, name in ((Seat.SOUTH, "Mara"), (Seat.NORTH, "Jonas")):
        place.table.take_seat(seat, name)
    moment = place.to_clock()
    (choice,) = (each for each in place.table.view().board.tableau.choices if each.key == "done")  # type: ignore[union-attr]
    place.table.act(moment, choice.text)
    return place.table.view().moment


def acted(place: Place) -> Seat:
    """Who has taken the first turn."""
    return next(seat for seat, shown in place.table.view().seats.items() if not shown.awaited)


@pytest.mark.parametrize("answer", ["yes", "no", "withdrawn", "none"])
def test_other_is_asked_for_his_turn(tmp_path: Path, answer: str) -> None:
    with open_place(tmp_path) as place:
        moment = to_second_turn(place)
        wanting = acted(place).other
        place.table.ask_back(wanting, moment)
        assert place.table.view().match.back_wanted is wanting
        assert place.table.view().moment == moment
        if answer == "yes":
            place.table.ask_back(wanting.other, moment)
        elif answer == "none":
            place.clock.advance(20.5)
            place.table.step()
        else:
            place.table.decline(wanting if answer == "withdrawn" else wanting.other)
        assert place.table.view().match.back_wanted is None
        assert place.table.view().match.can_undo is (answer != "yes")


@pytest.mark.parametrize("by", list(Seat))
def test_draw_is_declined_or_withdrawn(tmp_path: Path, by: Seat) -> None:
    with open_place(tmp_path) as place:
        to_second_turn(place)
        place.table.offer_draw(Seat.SOUTH)
        place.table.decline(by)
        assert place.table.view().match.draw_offer is None


def test_clock_stops_when_nobody_acts_any_more(tmp_path: Path) -> None:
    """Two turns of each side pass by time; after the fourth the clock waits for somebody, and so once more."""
    with open_place(tmp_path) as place:
        place.to_clock()
        for number in range(8):
            assert not place.table.view().time.clock.paused, number  # type: ignore[union-attr]
            place.clock.advance(place.table.view().time.clock.limit_s + 1)  # type: ignore[union-attr]
            place.table.step()
            if number % 4 == 3:
                assert place.table.view().time.clock.paused == "idle"  # type: ignore[union-attr]
                place.table.resume("table")
                place.table.step()


def to_second_move(place: Place) -> None:
    """Scouts with its clock running, after White's first move."""
    for seat, name in ((Seat.SOUTH, "Mara"), (Seat.NORTH, "Jonas")):
        place.table.take_seat(seat, name)
    place.table.new_game("scouts", {}, 1)
    place.table.confirm("host", place.table.view().moment, 0)
    for file in "abcde":
        play(place, Seat.SOUTH, f"@{file}1")
        play(place, Seat.NORTH, f"@{file}10")
    clock = place.table.view().time.clock
    if clock and clock.paused:
        place.table.resume("host")
    play(place, Seat.SOUTH, "a1-a2")


def play(place: Place, seat: Seat, action: str) -> None:
    place.table.hand_in(seat, place.table.view().moment, action)
    while place.table.view().phase is Phase.STAGES:
        place.table.confirm("host", place.table.view().moment, place.table.view().turn.stage)


def test_clocks_wait_for_the_answer_and_go_on(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        to_second_move(place)
        place.table.ask_back(Seat.NORTH, place.table.view().moment)
        assert place.table.view().time.clock.due_s is None  # type: ignore[union-attr]
        with pytest.raises(CompanionError, match="answer first"):
            play(place, Seat.SOUTH, ".")
        place.table.decline(Seat.SOUTH)
        assert place.table.view().time.clock.due_s  # type: ignore[union-attr]


def test_the_move_that_would_go_is_shown(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        to_second_move(place)
        place.table.ask_back(Seat.NORTH, place.table.view().moment)
        view = place.table.view(Seat.SOUTH)
        assert [(str(each.origin), str(each.target)) for each in view.board.back_moves] == [
            ("a2", "a1")
        ]
        assert view.sign.text == "Black wants the last move back"
        assert place.table.view(Seat.NORTH).sign.text == "Waiting for white"


def test_a_piece_that_is_back_lets_the_clock_go_on(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        to_second_move(place)
        place.table.ask_back(Seat.SOUTH, place.table.view().moment)
        view = place.table.view()
        assert (view.phase, view.sign.text) == (Phase.SETUP, "White: scout back to a1")
        place.table.confirm("host", view.moment, 0)
        clock = place.table.view().time.clock
        assert clock is not None
        assert (clock.paused, clock.due_s is None) == ("", False)


def test_the_table_screen_asks_whose_turn_it_was(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        moment = to_second_turn(place)
        doer = acted(place)
        place.table.undo(moment)
        assert place.table.view().match.back_wanted is doer.other
