"""What a table screen says of many moves."""

from __future__ import annotations

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import WALL
from tour import Stop, TableTour, resize, visit

from companion.core.kit import Seat

pytestmark = pytest.mark.browser


_ROWS = """
const room = document.querySelector('.facts').getBoundingClientRect();
return [...document.querySelectorAll('.todo li')].map(row => row.getBoundingClientRect())
  .map(row => row.bottom <= room.bottom && row.right <= room.right);
"""


def test_moves_of_many_robots_fill_whole_rows(window: WebDriver, tour: TableTour) -> None:
    """Three of them, and how many more; the board shows the others."""
    tour.table.new_game("arena", {"board": "nnnnnnnn.\n.........\n.........\nssssssss."}, 7)
    tour.go_on()
    for seat, way in ((Seat.SOUTH, "N"), (Seat.NORTH, "S")):
        orders = " ".join(f"{number}:{way}" for number in range(1, 9))
        tour.table.hand_in(seat, tour.table.view().moment, orders)
    for size in (WALL, (1080, 1920)):
        resize(window, size)
        visit(window, tour, Stop("screen", "/"))
        assert window.execute_script(_ROWS) == [True] * 4
        assert "and 13 more" in window.find_element("css selector", ".todo").text
