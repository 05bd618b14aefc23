"""Test Robot Arena and Kahmate in a browser, by taps on the board.

In Arena each robot gets an order on a sheet. In Kahmate players place their pieces and run with
them, and two pieces that meet have a face-off: both players secretly choose a card.

The sheet shows orders in Arena's notation. `1:N` moves robot 1 to the north, `2:aE` lets robot 2
attack to the east, `3:D` lets robot 3 defend itself, and `2:` is a robot without an order.
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
# Placings of both sides of Kahmate, after which South's piece on a2 can run to a5 and a6. Each
# piece has the letter of its role: two are regular, the others big, tough, fast and smart.
PLACINGS = {
    Seat.SOUTH: "R@c2 R@f2 B@d2 T@e2 F@a2 S@d1",
    Seat.NORTH: "R@f10 R@c10 B@e10 T@d10 F@h10 S@e11",
}
SOUTH_PAGE = Stop("south", "/seat/south")


def spectators_page(tour: TableTour) -> str:
    """Return the HTML of the page for spectators, as a client without a seat gets it."""
    return Client(tour.client.url).send("/watch")[1].decode()


def wait_for_orders(window: WebDriver, *orders: str) -> None:
    """Wait until the sheet shows exactly these orders, one for each robot."""
    until(f"{orders} on the sheet", lambda: texts_of(window, ".unit b") == list(orders))


def test_orders_on_a_sheet_are_changed_and_sealed(window: WebDriver, tour: TableTour) -> None:
    """Enter orders by keys, by squares and by letters, change them, and hand them in.

    Orders that are sealed are secret until the reveal. Until then they are on no page, except on
    South's own while a finger holds its shutter open.
    """
    tour.table.new_game("arena", seed=7)
    follow_instructions(tour.table)
    visit(window, tour, SOUTH_PAGE)
    window.get_log("browser")  # type: ignore[attr-defined] # Chrome has it; this empties the log
    wait_for_sign(window, "Orders for your robots")
    wait_for_orders(window, "1:", "2:", "3:")
    assert text_of(window, "#commit") == "No orders yet: 1, 2, 3"

    # Robot 1 moves by a key. After each order, the sheet goes on to the next robot.
    tap(window, "[data-way=N]")
    wait_for_orders(window, "1:N", "2:", "3:")
    # Robot 2 attacks: a key says so, and a square says where.
    tap(window, "[data-kind='1']")
    until("the squares to attack", lambda: window.find_elements(By.CSS_SELECTOR, "#under .dots"))
    tap_square(window, "f1")
    wait_for_orders(window, "1:N", "2:aE", "3:")
    # Robot 3 defends itself by a letter of the keyboard.
    ActionChains(window).send_keys("d").perform()
    wait_for_orders(window, "1:N", "2:aE", "3:D")
    # The board shows each order by its drawing.
    script = (
        "return [...document.querySelectorAll('#plan use, #under use')]"
        ".map(drawing => drawing.getAttribute('href'))"
    )
    assert set(window.execute_script(script)) == {"#order-up", "#blade", "#shield"}

    # Choose robot 3 again and tap “defend” a second time, which takes the order away. A reload
    # keeps the draft as it is.
    tap_square(window, "h1")
    tap(window, "[data-kind='2']")
    wait_for_orders(window, "1:N", "2:aE", "3:")
    window.refresh()
    wait_for_orders(window, "1:N", "2:aE", "3:")

    # Robot 3 has no order, so the page asks before it hands in.
    tap(window, "#commit")
    until(
        "the question about robots without orders",
        lambda: "No orders yet: 3" in text_of(window, "dialog[open]"),
    )
    assert tour.table.view(Seat.SOUTH).seats[Seat.SOUTH].sealed_at is None
    tap(window, ".sure [data-yes]")

    # The orders are sealed. Neither the phone's page, nor its storage, nor the spectators' page
    # contains them.
    until("the shutter", lambda: window.find_elements(By.ID, "shutter"))
    assert not window.find_elements(By.CSS_SELECTOR, "#sheet, .unit")
    assert "aE" not in window.execute_script("return JSON.stringify(sessionStorage)")
    assert "2:aE" not in window.page_source
    assert "2:aE" not in spectators_page(tour)

    # A finger opens the shutter only for as long as it holds the key.
    ActionChains(window).click_and_hold(window.find_element(By.ID, "look")).perform()
    until("the sheet under the shutter", lambda: text_of(window, ".peek") == "1:N 2:aE")
    ActionChains(window).release().perform()
    until("the closed shutter", lambda: not window.find_elements(By.CSS_SELECTOR, ".peek"))

    # North's page begins without orders. North looks at the board from the other side, so the
    # square ahead of its robot 2 lies to the south. With its orders the turn is revealed.
    visit(window, tour, Stop("north", "/seat/north"))
    wait_for_orders(window, "1:", "2:", "3:")
    tap_square(window, "e9", "e8")
    wait_for_orders(window, "1:", "2:S", "3:")
    tap(window, "#commit")
    tap(window, ".sure [data-yes]")
    until("the reveal", lambda: tour.table.view().phase is Phase.STAGES)
    assert_no_errors(window)


def play_to_a_face_off(tour: TableTour) -> None:
    """Play runs of both sides until two pieces meet in a face-off.

    Prefer a run into a piece, whose label has the word “against”. Of the others, prefer the one
    that leads farthest ahead, because the sides then meet soon. A seat that cannot run ends its
    turn (`.`).
    """
    table = tour.table
    while not ((view := table.view()).board.board_ui and view.board.board_ui.duel):
        (seat,) = (seat for seat in SEATS if view.seats[seat].is_awaited)
        legal = [play for play in table.coaching.plays(seat, view.moment) if not play.key]
        runs = [play for play in legal if play.squares]
        ahead = 1 if seat is Seat.SOUTH else -1
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

    Until the reveal, no page shows the placing, and no page of others shows the card.
    """
    table = tour.table
    table.new_game("kahmate", {"starter": "south", "ball_card": 1}, seed=1)
    visit(window, tour, SOUTH_PAGE)
    window.get_log("browser")  # type: ignore[attr-defined] # Chrome has it; this empties the log

    # The page proposes a placing. Let the big piece (d2) and the smart one (d1) change places, and
    # put the fast piece from a2 on a free square.
    wait_for_sign(window, "Place your six pieces")
    until("the proposal", lambda: len(window.find_elements(By.CSS_SELECTOR, "#plan text")) == 6)
    tap_square(window, "d2", "d1")
    tap_square(window, "a2")
    until("the piece that was chosen", lambda: "blue fast a2" in text_of(window, "#told"))
    tap_square(window, "a1")

    # The placing is sealed. Where the big piece stands (`B@d1`) is on no page.
    tap(window, "#commit")
    until("the shutter", lambda: window.find_elements(By.ID, "shutter"))
    assert "B@d1" not in window.page_source
    assert "B@d1" not in spectators_page(tour)

    # North places, too, which reveals both. The pieces lie where the taps have put them.
    table.hand_in(Seat.NORTH, table.view().moment, "R@f10 R@g10 B@e10 T@d10 F@h10 S@e11")
    follow_instructions(tour.table)
    layout = {str(square): faces for square, faces in table.view().board.layout.items()}
    assert (layout["d1"], layout["a1"]) == (("blue big",), ("blue fast",))

    # South runs.
    wait_for_sign(window, "Run up to two")
    tap_square(window, "c2", "c4")
    tap_main_key(window, "Run c2 to c4")
    until("the run", lambda: table.view().phase is Phase.STAGES)
    follow_instructions(tour.table)

    # In a face-off, South chooses a card, and then another one. Spectators see one closed card.
    play_to_a_face_off(tour)
    wait_for_sign(window, "Choose a card")
    tap(window, "[data-card='4']")
    until("the sum with the card", lambda: "with card 4 makes" in text_of(window, "#told"))
    tap(window, "[data-card='5']")
    tap_main_key(window, "Hand in 5")
    until("the seal", lambda: table.view().seats[Seat.SOUTH].sealed_at)
    assert spectators_page(tour).count("of-hand shut") == 1

    # North plays a card, too. The table screen reveals the sums of both sides.
    tour.go_on()
    until("the reveal", lambda: table.view().phase is Phase.STAGES)
    visit(window, tour, Stop("screen", "/"))
    until("the sums", lambda: len(texts_of(window, ".tally .figure.num")) == 2)
    assert_no_errors(window)


def square_px(window: WebDriver) -> float:
    """Return the width of a square of the board on the open page, in CSS pixels."""
    scale = "return document.querySelector('.view .board').getScreenCTM().a"
    pitch = "return Number(document.querySelector('.view .board').dataset.grid.split(' ')[2])"
    return window.execute_script(scale) * window.execute_script(pitch)


def place_all(tour: TableTour) -> None:
    """Place the pieces of both sides of Kahmate, and carry out the instructions."""
    for seat, text in PLACINGS.items():
        tour.table.hand_in(seat, tour.table.view().moment, text)
    follow_instructions(tour.table)


def test_a_second_tap_on_the_target_commits(window: WebDriver, tour: TableTour) -> None:
    """Tap a runner and a target, change the target, and tap the new one again.

    Before that, the test looks at the squares on a small phone, because taps must hit them: they
    must be at least 41 px wide, in the placing and in a run.
    """
    table = tour.table
    table.new_game("kahmate")
    follow_instructions(tour.table)
    resize(window, (360, 640))
    visit(window, tour, SOUTH_PAGE)
    assert square_px(window) >= 41, "small squares in the placing"
    place_all(tour)
    # without the option `starter`, a face-off may decide who begins
    while table.view().board.board_ui.duel:
        tour.go_on()
    mover = next(seat for seat in SEATS if table.view().seats[seat].is_awaited)
    visit(window, tour, Stop("run", f"/seat/{mover}"))
    assert square_px(window) >= 41, "small squares in a run"

    # In a new game South begins, so that it is South's turn to run.
    table.abandon()
    table.new_game("kahmate", {"starter": "south"})
    follow_instructions(tour.table)
    place_all(tour)
    visit(window, tour, SOUTH_PAGE)
    is_ready = "return !document.querySelector('#commit').matches('.off')"
    until("a main key that takes taps", lambda: window.execute_script(is_ready))

    # Tap a runner, then a target, then another target, which replaces the first one. The board
    # draws the way, the runner's ghost on the target, and the target.
    for square, taps in (("a2", "a2"), ("a6", "a2 a6"), ("a5", "a2 a5")):
        tap_square(window, square)
        read_taps = "return document.getElementById('plays').dataset.taps"
        assert window.execute_script(read_taps).split() == taps.split()
    drawn = window.find_elements(By.CSS_SELECTOR, "#plan :is(.way, .ghost, .target)")
    assert len(drawn) == 3
    assert not window.find_elements(By.CSS_SELECTOR, "[data-begin]"), (
        "a run must need no key that chooses a mode"
    )

    # A second tap on the target commits the run.
    tap_square(window, "a5")
    until("the run", lambda: table.view().phase is Phase.STAGES)
    (run,) = table.view().turn.instructions
    assert (str(run.move.origin), str(run.move.target)) == ("a2", "a5")
