"""Test in a browser how a table screen lists more moves than it has room for."""

from __future__ import annotations

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import WALL
from tour import Stop, TableTour, resize, visit

from companion.core.kit import Seat

pytestmark = pytest.mark.browser


# Returns for each listed move whether its row is wholly in sight.
_ROWS_IN_SIGHT = """
const room = document.querySelector('.facts').getBoundingClientRect();
return [...document.querySelectorAll('.todo li')].map(row => row.getBoundingClientRect())
  .map(row => row.bottom <= room.bottom && row.right <= room.right);
"""


def test_moves_of_many_robots_fill_whole_rows(window: WebDriver, tour: TableTour) -> None:
    """Move 16 robots at once. Three rows have a move each, the fourth one the number of others.

    All four rows must be wholly in sight, on a wide and on an upright screen.
    """
    # Each row of the map is a rank, with `n` and `s` for the robots of North and South. All robots
    # go one square towards the other side.
    tour.table.new_game("arena", {"board": "nnnnnnnn.\n.........\n.........\nssssssss."}, seed=7)
    tour.go_on()
    for seat, way in ((Seat.SOUTH, "N"), (Seat.NORTH, "S")):
        orders = " ".join(f"{number}:{way}" for number in range(1, 9))
        tour.table.hand_in(seat, tour.table.view().moment, orders)
    for size in (WALL, (1080, 1920)):
        resize(window, size)
        visit(window, tour, Stop("screen", "/"))
        assert window.execute_script(_ROWS_IN_SIGHT) == [True] * 4
        assert "and 13 more" in window.find_element("css selector", ".todo").text
