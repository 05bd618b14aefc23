"""Test the lobby: what leads back to it, how a game is chosen there, and who stays seated."""

from __future__ import annotations

from pathlib import Path

import pytest
from internals import session_of
from table_tools import TableRig, open_table_rig, seat_both

from companion.core.errors import Illegal, Malformed
from companion.core.kit import SEATS
from companion.table.session import Phase
from companion.table.table import LOBBY_TIMEOUT_S

SOUTH, NORTH = SEATS


def play_to_the_end(rig: TableRig) -> None:
    """Play a game that South wins."""
    rig.begin()
    rig.table.resign(NORTH)


def test_idle_minutes_or_free_seats_lead_to_lobby(rig: TableRig) -> None:
    # The end of a game stays until the timeout. The lobby has its players, without their score.
    play_to_the_end(rig)
    rig.wait(LOBBY_TIMEOUT_S - 1)
    assert rig.view.phase is Phase.OVER
    rig.wait(1)
    view = rig.view
    assert (view.phase, view.game, view.match.score) == (Phase.LOBBY, None, (0, 0, 0))
    assert all(view.seats[seat].name is not None for seat in SEATS)

    # A player who leaves ends it at once.
    play_to_the_end(rig)
    rig.table.free_seat(NORTH)
    assert rig.view.phase is Phase.LOBBY


def test_a_restart_restores_what_the_lobby_led_to(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        seat_both(rig)
        play_to_the_end(rig)
        rig.table.show_card(SOUTH, "card-1")
        rig.table.return_to_lobby()
        rig.table.free_seat(NORTH)
        rig.table.take_seat(NORTH, "Cleo")
        rig.table.choose_game("outbuffered")
        rig.table.begin_chosen()
    with open_table_rig(tmp_path) as restarted:
        view = restarted.view
        assert (view.phase, view.game, view.seats[NORTH].name) == (
            Phase.SETUP,
            "outbuffered",
            "Cleo",
        )
        assert session_of(restarted.table).seats[SOUTH].card == "card-1"


def test_a_game_is_chosen_then_begun(rig: TableRig) -> None:
    # Neither no game nor an unknown one can begin.
    with pytest.raises(Illegal):
        rig.table.begin_chosen()
    with pytest.raises(Malformed):
        rig.table.choose_game("ludo")

    # The table shows the chosen game and its sides before it begins.
    rig.table.choose_game("kahmate")
    view = rig.view
    assert (view.phase, view.chosen_game, view.sign.text) == (
        Phase.LOBBY,
        "kahmate",
        "Start Kahmate",
    )
    assert view.seats[NORTH].side is not None

    # While it is on, no other one can be chosen.
    rig.table.begin_chosen()
    assert (rig.view.game, rig.view.chosen_game) == ("kahmate", None)
    for during_a_game in (rig.table.return_to_lobby, lambda: rig.table.choose_game("scouts")):
        with pytest.raises(Illegal, match="A game is on"):
            during_a_game()


def test_a_choice_stays_until_all_seats_are_free(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        rig.table.take_seat(SOUTH, "Ann")
        rig.table.choose_game("scouts")
        rig.table.take_seat(NORTH, "Ben")
        assert rig.view.chosen_game == "scouts"
        for seat in SEATS:
            rig.table.free_seat(seat)
        assert rig.view.chosen_game is None


def test_a_machine_leaves_with_the_last_person(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        rig.table.take_seat(SOUTH, "Ann")
        rig.table.machines.seat_machine(NORTH, "Pip")
        rig.table.choose_game("binmat")
        rig.table.begin_chosen()
        assert session_of(rig.table).is_machine_seat(NORTH), (
            "the game must begin in a way that a machine can play"
        )

        # It stays while the game is on, although nobody plays against it.
        rig.table.free_seat(SOUTH)
        assert rig.view.seats[NORTH].name == "Pip"
        rig.table.abandon()
        assert rig.view.seats[NORTH].name is None


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ((), "Scan the code on your side"),
        (("Ann",), "Scan here to play against Ann"),
        (("Ann", "Ben"), "Choose a game"),
    ],
)
def test_the_lobbys_sign_says_what_to_do(tmp_path: Path, names: tuple[str, ...], text: str) -> None:
    with open_table_rig(tmp_path) as rig:
        for seat, name in zip(SEATS, names, strict=False):
            rig.table.take_seat(seat, name)
        assert rig.view.sign.text == text
