"""What a phone's sign and keys say: orders count down, keys carry words, and a wrong placement is said once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import WALL, says, tap, too_wide, until
from tour import Stop, Tour, cdp, resize, touring, visit

from companion.core.grid import Square
from companion.core.kit import SEATS, Seat
from companion.core.ports import Reading
from companion.table.board_check import tops
from companion.table.session import Phase

pytestmark = pytest.mark.browser
SEAT = Stop("south", "/seat/south")


@pytest.fixture
def tour() -> Iterator[Tour]:
    with touring() as walk:
        for seat, name in zip(SEATS, ("Mara", "Jonas"), strict=True):
            walk.client.post(f"/api/seat/{seat}/take", name=name)
        yield walk


def begin(tour: Tour, game: str = "outbuffered") -> None:
    """A game whose board is set."""
    tour.table.new_game(game, {}, 7)
    while tour.table.view().phase is Phase.SETUP:
        tour.table.confirm(
            "host", tour.table.view().moment, tour.table.view().turn.stage, force=True
        )


def test_the_sign_counts_the_orders_down(window: WebDriver, tour: Tour) -> None:
    begin(tour)
    visit(window, tour, SEAT)
    for words in ("Three orders to go", "Two orders to go", "One order to go"):
        says(window, words)
        tap(window, '.order[data-letter="U"]')
    says(window, "Hand in, or change your mind")
    tour.table.redraw()
    tour.table.step()
    says(window, "Hand in, or change your mind")
    window.refresh()
    says(window, "Hand in, or change your mind")
    tap(window, "#clear")
    says(window, "Three orders to go")
    tour.table.hand_in(Seat.NORTH, tour.table.view().moment, "III")
    until("what the other did", lambda: "Jonas has handed in." in window.page_source)
    tap(window, '.order[data-letter="S"]')
    says(window, "Two orders to go")


def test_the_keys_of_shooting_and_waiting_carry_words(window: WebDriver, tour: Tour) -> None:
    begin(tour)
    visit(window, tour, SEAT)
    script = "return [...document.querySelectorAll('.order')].map(key => key.innerText.trim().replace(/\\s+/g, ' '))"
    assert window.execute_script(script) == ["S Shoot", "U", "I Wait", "L", "D", "R"]
    fits = "return [...document.querySelectorAll('.order')].every(key => key.scrollHeight <= key.clientHeight + 1)"
    for height in (844, 640, 568):
        cdp(
            window,
            "Emulation.setDeviceMetricsOverride",
            width=320,
            height=height,
            deviceScaleFactor=1,
            mobile=True,
        )
        assert window.execute_script(fits), f"at {height} px"
    cdp(
        window,
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=844,
        deviceScaleFactor=1,
        mobile=True,
    )


def test_a_wrong_placement_is_said_once(window: WebDriver, tour: Tour) -> None:
    begin(tour)
    tour.table.hand_in(Seat.SOUTH, tour.table.view().moment, "UII")
    tour.table.hand_in(Seat.NORTH, tour.table.view().moment, "III")
    astray = dict(tour.table.view().board.target or {})
    astray[Square.parse("c2")] = astray.pop(Square.parse("a2"))
    tour.table.saw(
        Reading(
            tops(astray), frozenset(), quiet=True, game="outbuffered", at_s=tour.clock.monotonic_s()
        )
    )
    tour.table.step()
    visit(window, tour, SEAT)
    says(window, "Move the purple robot c2 to a2")
    text = window.find_element("css selector", "#live").text
    assert text.count(" c2") == 2, f"once what to do, once why: {text}"
    assert "a1 to a2" not in text.replace("goes up, a1 to a2", ""), "the move that is overtaken"


# ---- games of pieces -----------------------------------------------------------------------------------------------------


def test_where_a_scout_may_be_placed_is_dotted(window: WebDriver, tour: Tour) -> None:
    begin(tour, "scouts")
    visit(window, tour, SEAT)
    dots = "return document.querySelector('#under .dots')?.getAttribute('d').split('M').length - 1"
    until("eight dots", lambda: window.execute_script(dots) == 8)


def test_the_letters_of_kahmate_are_explained(window: WebDriver, tour: Tour) -> None:
    begin(tour, "kahmate")
    visit(window, tour, SEAT)
    text = window.find_element("css selector", ".view + .letters").text
    assert text == "R regular B big T tough F fast S smart"


def test_revealed_orders_of_robots_stand_in_a_table(window: WebDriver, tour: Tour) -> None:
    begin(tour, "arena")
    tour.table.hand_in(Seat.SOUTH, tour.table.view().moment, "1:N 2:D")
    tour.table.hand_in(Seat.NORTH, tour.table.view().moment, "1:S 2:aN")
    visit(window, tour, SEAT)
    table = "return [...document.querySelectorAll('.units-open tr')].map(row => [...row.cells].slice(1).map(cell => cell.textContent))"
    closed = ["1closed", "2Defend", "3closed"], ["1closed", "2closed", "3closed"]
    assert window.execute_script(table) == list(closed)
    view = tour.table.view()
    while tour.table.view().phase is Phase.STAGES and tour.table.view().turn.title != "Attacks":
        view = tour.table.view()
        tour.table.confirm("host", view.moment, view.turn.stage, force=True)
    opened = [
        ["1Move north", "2Defend", "3–no order"],
        ["1Move south", "2Attack north", "3–no order"],
    ]
    until("all orders", lambda: window.execute_script(table) == opened)
    assert too_wide(window) <= 0


_ROWS = """
const room = document.querySelector('.facts').getBoundingClientRect();
return [...document.querySelectorAll('.todo li')].map(row => row.getBoundingClientRect())
  .map(row => row.bottom <= room.bottom && row.right <= room.right);
"""


@pytest.mark.parametrize("size", [WALL, (1024, 768), (1080, 1920)])
def test_what_many_robots_do_is_told_in_whole_rows(
    window: WebDriver, tour: Tour, size: tuple[int, int]
) -> None:
    """Three of them, and how many more; the board shows the others."""
    tour.table.new_game("arena", {"board": "nnnnnnnn.\n.........\n.........\nssssssss."}, 7)
    while tour.table.view().phase is Phase.SETUP:
        tour.table.confirm(
            "host", tour.table.view().moment, tour.table.view().turn.stage, force=True
        )
    for seat, way in ((Seat.SOUTH, "N"), (Seat.NORTH, "S")):
        tour.table.hand_in(
            seat, tour.table.view().moment, " ".join(f"{number}:{way}" for number in range(1, 9))
        )
    resize(window, size)
    visit(window, tour, Stop("screen", "/"))
    assert window.execute_script(_ROWS) == [True] * 4
    assert "and 13 more" in window.find_element("css selector", ".todo").text
