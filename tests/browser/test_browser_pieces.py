"""Test Robot Arena and Kahmate in a browser, by taps on the board.

In Arena each robot gets an order on a sheet. In Kahmate pieces are placed, run, and meet in
face-offs.
"""

from __future__ import annotations

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import Client, tap, tap_main_key, tap_square, until, wait_for_sign
from table_tools import follow_instructions
from tour import Stop, TableTour, resize, visit
from window_tools import assert_no_errors, text_of, texts_of

from companion.core.kit import SEATS, Seat
from companion.table.session import Phase

pytestmark = pytest.mark.browser
# Placings of both sides of Kahmate, after which South's piece on a2 can run to a5 and a6.
FORMATIONS = {
    Seat.SOUTH: "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1",
    Seat.NORTH: "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11",
}
SOUTH_PAGE = Stop("south", "/seat/south")


def spectators_page(tour: TableTour) -> str:
    """Return the HTML of the page for spectators, as a browser without a seat gets it."""
    return Client(tour.client.url).send("/watch")[1].decode()


def wait_for_orders(window: WebDriver, *orders: str) -> None:
    """Wait until the robots of the sheet have these orders, such as `1:N`, or `2:` for none."""
    until(f"{orders} on the sheet", lambda: texts_of(window, ".unit b") == list(orders))


def test_orders_on_a_sheet_are_changed_and_sealed(window: WebDriver, tour: TableTour) -> None:
    """Enter orders by keys, by squares and by letters, change them, and hand them in.

    Once they are sealed, no page shows them any more, and South's only while a finger holds it.
    """
    tour.table.new_game("arena", {}, 7)
    follow_instructions(tour.table)
    visit(window, tour, SOUTH_PAGE)
    window.get_log("browser")  # type: ignore[attr-defined] # Chrome has it
    wait_for_sign(window, "Orders for your robots")
    wait_for_orders(window, "1:", "2:", "3:")
    assert text_of(window, "#commit") == "No orders yet: 1, 2, 3"
    tap(window, "[data-way=N]")
    wait_for_orders(window, "1:N", "2:", "3:")
    tap(window, "[data-kind='1']")
    until("the squares to attack", lambda: window.find_elements(By.CSS_SELECTOR, "#under .dots"))
    tap_square(window, "f1")
    wait_for_orders(window, "1:N", "2:aE", "3:")
    ActionChains(window).send_keys("d").perform()
    wait_for_orders(window, "1:N", "2:aE", "3:D")
    script = (
        "return [...document.querySelectorAll('#plan use, #under use')]"
        ".map(drawing => drawing.getAttribute('href'))"
    )
    assert set(window.execute_script(script)) == {"#order-up", "#blade", "#shield"}
    tap_square(window, "h1")
    tap(window, "[data-kind='2']")  # a second time, which takes the order away
    wait_for_orders(window, "1:N", "2:aE", "3:")
    window.refresh()
    wait_for_orders(window, "1:N", "2:aE", "3:")
    tap(window, "#commit")
    until(
        "the question about robots without orders",
        lambda: "No orders yet: 3" in text_of(window, "dialog[open]"),
    )
    assert tour.table.view(Seat.SOUTH).seats[Seat.SOUTH].sealed_at is None
    tap(window, ".sure [data-yes]")
    until("the shutter", lambda: window.find_elements(By.ID, "shutter"))
    assert not window.find_elements(By.CSS_SELECTOR, "#sheet, .unit")
    assert "aE" not in window.execute_script("return JSON.stringify(sessionStorage)")
    assert "2:aE" not in window.page_source
    assert "2:aE" not in spectators_page(tour)
    ActionChains(window).click_and_hold(window.find_element(By.ID, "look")).perform()
    until("the sheet under the shutter", lambda: text_of(window, ".peek") == "1:N 2:aE")
    ActionChains(window).release().perform()
    until("the closed shutter", lambda: not window.find_elements(By.CSS_SELECTOR, ".peek"))
    visit(window, tour, Stop("north", "/seat/north"))
    wait_for_orders(window, "1:", "2:", "3:")
    tap_square(window, "e9", "e8")  # robot 2, and the square ahead of it: South on the board
    wait_for_orders(window, "1:", "2:S", "3:")
    tap(window, "#commit")
    tap(window, ".sure [data-yes]")
    until("the reveal", lambda: tour.table.view().phase is Phase.STAGES)
    assert_no_errors(window)


def play_to_a_face_off(tour: TableTour) -> None:
    """Play runs of both sides until two pieces meet in a face-off.

    Prefer a run into a piece, then the one that leads farthest ahead.
    """
    table = tour.table
    while not ((view := table.view()).board.board_ui and view.board.board_ui.duel):
        (seat,) = (seat for seat in SEATS if view.seats[seat].is_awaited)
        legal = [play for play in table.coaching.plays(seat, view.moment) if not play.key]
        ahead = 1 if seat is Seat.SOUTH else -1
        runs = [play for play in legal if play.squares]
        best_run = max(
            runs,
            key=lambda run: (
                "against" in run.label,
                (run.squares[-1].rank - run.squares[0].rank) * ahead,
            ),
            default=None,
        )
        table.hand_in(seat, view.moment, best_run.text if best_run else ".")
        follow_instructions(tour.table)


def test_taps_place_run_and_face_off(window: WebDriver, tour: TableTour) -> None:
    """Change a proposed placing by taps, run with a piece, and choose a card for a face-off.

    Until the reveal, nobody else's page shows the placing or the card.
    """
    table = tour.table
    table.new_game("kahmate", {"starter": "south", "ball_card": 1}, 1)
    visit(window, tour, SOUTH_PAGE)
    window.get_log("browser")  # type: ignore[attr-defined] # Chrome has it
    wait_for_sign(window, "Place your six pieces")
    until("the proposal", lambda: len(window.find_elements(By.CSS_SELECTOR, "#plan text")) == 6)
    tap_square(window, "d2", "d1")  # big and smart change places
    tap_square(window, "a2")
    until("the piece that was chosen", lambda: "blue fast a2" in text_of(window, "#told"))
    tap_square(window, "a1")
    tap(window, "#commit")
    until("the shutter", lambda: window.find_elements(By.ID, "shutter"))
    assert "B@d1" not in window.page_source
    assert "B@d1" not in spectators_page(tour)
    table.hand_in(Seat.NORTH, table.view().moment, "R@f10 R@g10 B@e10 T@d10 F@h10 S@e11")
    follow_instructions(tour.table)
    layout = {str(square): faces for square, faces in table.view().board.layout.items()}
    assert (layout["d1"], layout["a1"]) == (("blue big",), ("blue fast",))
    wait_for_sign(window, "Run up to two")
    tap_square(window, "c2", "c4")
    tap_main_key(window, "Run c2 to c4")
    until("the run", lambda: table.view().phase is Phase.STAGES)
    follow_instructions(tour.table)
    play_to_a_face_off(tour)
    wait_for_sign(window, "Choose a card")
    tap(window, "[data-card='4']")
    until("the sum with the card", lambda: "with card 4 makes" in text_of(window, "#told"))
    tap(window, "[data-card='5']")
    tap_main_key(window, "Hand in 5")
    until("the seal", lambda: table.view().seats[Seat.SOUTH].sealed_at)
    assert spectators_page(tour).count("of-hand shut") == 1
    tour.go_on()
    until("the reveal", lambda: table.view().phase is Phase.STAGES)
    visit(window, tour, Stop("screen", "/"))
    until("the sums", lambda: len(texts_of(window, ".tally .figure.num")) == 2)
    assert_no_errors(window)


def square_px(window: WebDriver) -> float:
    """Return the width of a square of the board on the open page."""
    scale = "return document.querySelector('.view .board').getScreenCTM().a"
    pitch = "return Number(document.querySelector('.view .board').dataset.grid.split(' ')[2])"
    return window.execute_script(scale) * window.execute_script(pitch)


def place_all(tour: TableTour) -> None:
    """Place the pieces of both sides of Kahmate, and carry out the instructions."""
    for seat, text in FORMATIONS.items():
        tour.table.hand_in(seat, tour.table.view().moment, text)
    follow_instructions(tour.table)


def test_a_second_tap_on_the_target_commits(window: WebDriver, tour: TableTour) -> None:
    """Tap a runner and a target, change the target, and tap the new one again.

    Kahmate's squares must be at least 41 px wide on a small phone, in the placing and in a run.
    """
    table = tour.table
    table.new_game("kahmate")
    follow_instructions(tour.table)
    resize(window, (360, 640))
    visit(window, tour, SOUTH_PAGE)
    assert square_px(window) >= 41, "small squares in the placing"
    place_all(tour)
    while table.view().board.board_ui.duel:  # a face-off may decide who begins
        tour.go_on()
    mover = next(seat for seat in SEATS if table.view().seats[seat].is_awaited)
    visit(window, tour, Stop("run", f"/seat/{mover}"))
    assert square_px(window) >= 41, "small squares in a run"
    table.abandon()
    table.new_game("kahmate", {"starter": "south"})
    follow_instructions(tour.table)
    place_all(tour)
    visit(window, tour, SOUTH_PAGE)
    is_ready = "return !document.querySelector('#commit').matches('.off')"
    until("the plays", lambda: window.execute_script(is_ready))
    # a runner, a target, and another target instead of it
    for taps in (["a2"], ["a2", "a6"], ["a2", "a5"]):
        tap_square(window, taps[-1])
        tapped = "return document.getElementById('plays').dataset.taps"
        assert window.execute_script(tapped).split() == taps
    drawn = window.find_elements(By.CSS_SELECTOR, "#plan :is(.way, .ghost, .target)")
    assert len(drawn) == 3
    assert not window.find_elements(By.CSS_SELECTOR, "[data-begin]"), "a key for a mode"
    tap_square(window, "a5")
    until("the run", lambda: table.view().phase is Phase.STAGES)
    (run,) = table.view().turn.instructions
    assert (str(run.move.origin), str(run.move.target)) == ("a2", "a5")
