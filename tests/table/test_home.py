"""The lobby is home: what leads there, what is chosen there, and who is taken along."""

from __future__ import annotations

from pathlib import Path

import pytest
from inside import session_of
from table_tools import Played, playing, seat_both

from companion.core.errors import Illegal, Malformed
from companion.core.kit import SEATS
from companion.table.session import Phase
from companion.table.table import LOBBY_TIMEOUT_S

SOUTH, NORTH = SEATS


def _end(played: Played) -> None:
    """Play a game that South wins."""
    played.begin()
    played.table.resign(NORTH)


def test_quiet_minutes_or_free_seats_lead_home(played: Played) -> None:
    _end(played)
    played.wait(LOBBY_TIMEOUT_S - 1)
    assert played.view.phase is Phase.OVER
    played.wait(1)
    view = played.view
    assert (view.phase, view.game, view.match.score) == (Phase.LOBBY, None, (0, 0, 0))
    assert all(view.seats[seat].name is not None for seat in SEATS)
    _end(played)
    played.table.free_seat(NORTH)
    assert played.view.phase is Phase.LOBBY


def test_what_follows_at_home_is_restored(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        seat_both(played)
        _end(played)
        played.table.return_to_lobby()
        played.table.free_seat(NORTH)
        played.table.take_seat(NORTH, "Cleo")
        played.table.choose_game("outbuffered")
        played.table.begin_chosen()
    with playing(tmp_path) as again:
        view = again.view
        assert (view.phase, view.game, view.seats[NORTH].name) == (
            Phase.SETUP,
            "outbuffered",
            "Cleo",
        )


def test_a_game_is_chosen_then_begun(played: Played) -> None:
    with pytest.raises(Illegal):
        played.table.begin_chosen()
    with pytest.raises(Malformed):
        played.table.choose_game("ludo")
    played.table.choose_game("kahmate")
    view = played.view
    assert (view.phase, view.chosen_game, view.sign.text) == (
        Phase.LOBBY,
        "kahmate",
        "Start Kahmate",
    )
    assert view.seats[NORTH].side is not None
    played.table.begin_chosen()
    assert (played.view.game, played.view.chosen_game) == ("kahmate", None)
    for during_a_game in (played.table.return_to_lobby, lambda: played.table.choose_game("scouts")):
        with pytest.raises(Illegal, match="A game is on"):
            during_a_game()


def test_a_choice_stays_until_all_seats_are_free(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        played.table.take_seat(SOUTH, "Ann")
        played.table.choose_game("scouts")
        played.table.take_seat(NORTH, "Ben")
        assert played.view.chosen_game == "scouts"
        for seat in SEATS:
            played.table.free_seat(seat)
        assert played.view.chosen_game is None


def test_a_machine_leaves_with_the_last_person(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        played.table.take_seat(SOUTH, "Ann")
        played.table.machines.seat_machine(NORTH, "Pip")
        played.table.choose_game("binmat")
        played.table.begin_chosen()
        assert session_of(played.table).is_machine_seat(NORTH), "it is given a way that it can play"
        played.table.free_seat(SOUTH)
        assert played.view.seats[NORTH].name == "Pip"
        played.table.abandon()
        assert played.view.seats[NORTH].name is None


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ((), "Scan the code on your side"),
        (("Ann",), "Scan here to play against Ann"),
        (("Ann", "Ben"), "Choose a game"),
    ],
)
def test_the_home_sign_says_what_to_do(tmp_path: Path, names: tuple[str, ...], text: str) -> None:
    with playing(tmp_path) as played:
        for seat, name in zip(SEATS, names, strict=False):
            played.table.take_seat(seat, name)
        assert played.view.sign.text == text
