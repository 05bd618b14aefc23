"""What a phone's sign and keys say: orders count down, keys carry words, and a wrong placement is
said once.
"""

from __future__ import annotations

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import WALL, says, tap, until
from tour import Stop, Tour, resize, visit

from companion.core.kit import Seat
from companion.table.session import Phase

pytestmark = pytest.mark.browser
SEAT = Stop("south", "/seat/south")


def test_the_sign_counts_the_orders_down(window: WebDriver, tour: Tour) -> None:
    tour.table.new_game("outbuffered", {}, 7)
    while tour.table.view().phase is Phase.SETUP:
        tour.go_on()
    visit(window, tour, SEAT)
    for words in ("Three orders to go", "Two orders to go", "One order to go"):
        says(window, words)
        tap(window, '.order[data-letter="U"]')
    says(window, "Hand in, or change your mind")
    tour.table.redraw()
    tour.table.step()
    says(window, "Hand in, or change your mind")
    tap(window, "#clear")
    says(window, "Three orders to go")
    tour.table.hand_in(Seat.NORTH, tour.table.view().moment, "III")
    until("what the other did", lambda: "Jonas has handed in." in window.page_source)
    tap(window, '.order[data-letter="S"]')
    says(window, "Two orders to go")


# ---- games of pieces -----------------------------------------------------------------------------


_ROWS = """
const room = document.querySelector('.facts').getBoundingClientRect();
return [...document.querySelectorAll('.todo li')].map(row => row.getBoundingClientRect())
  .map(row => row.bottom <= room.bottom && row.right <= room.right);
"""


def test_what_many_robots_do_is_told_in_whole_rows(window: WebDriver, tour: Tour) -> None:
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
