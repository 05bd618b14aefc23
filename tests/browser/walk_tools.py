"""Helpers: walk through the stops of a tour, and check each page in browsers of several sizes.

`inspect_all` opens each stop once. It checks seats' pages in the sizes of several phones, and table
screens in those of several screens. They are in French, which has the longest sentences, or in
German, which has the longest words. The checks are functions of `walk_checks.js`, which measure the
open page and return its faults.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from finger_tools import remove_details
from flask import Response
from internals import app_of
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, until
from tour import SIZES, Stop, Tour, cdp, resize, set_size_and_theme, visit

from web.server.server import Server

# Scale in which pages are painted, to save time. They are laid out in full size.
SCALE = 0.1
# Window sizes (width, height) of phones, tablets, laptops and large screens.
SMALL = (320, 640)
SMALLEST = (320, 568)
LOW = (360, 640)
UPRIGHT = (1080, 1920)
TABLET = (768, 1024)
LAPTOP = (1366, 768)
DISPLAY = SIZES["display"]
SCREEN = SIZES["screen"]
LOW_TABLET = (768, 900)
NARROW = (1440, 1080)
# States in which a table screen shows the board of a game that is not over.
IN_PLAY = ("setup", "orders", "stages")
# States in which the page of a seat or a spectator must fit on a low phone.
FITTING_STATES = ("lesson", "setup", "orders", "stages", "over")
# Sizes in which table screens are checked for parts that overlap or leave the window, by the first
# word of a stop.
TABLE_SCREENS = {
    "outbuffered": (UPRIGHT, TABLET, DISPLAY),
    "scouts": (UPRIGHT, DISPLAY),
    "arena": (DISPLAY,),
    "kahmate": (TABLET, LAPTOP, DISPLAY),
    "binmat": (UPRIGHT, TABLET, LAPTOP, DISPLAY),
    "lobby": (UPRIGHT, TABLET, LAPTOP, DISPLAY),
    "chosen": (DISPLAY,),
}
# Further checks of table screens in some of these sizes.
CHECKS_BY_SIZE = {
    LAPTOP: ("lowKeys",),
    DISPLAY: ("smallLetters", "brokenWords", "cutLabels"),
}
# Language in which the pages of a game are checked. For all others it is French.
LANGUAGES = {"scouts": "de", "arena": "de", "kahmate": "de"}
# Games whose seats' pages are checked in their layout for laptops, with the keys beside the board.
GAMES_ON_LAPTOPS = ("outbuffered", "binmat")
# Minimum width of a square on a low phone during orders. In other games it is 30, and so is that of
# a lane of cards.
MIN_SQUARE_PX = {"scouts": 42, "kahmate": 36}
# Minimum share of a wide table screen that a board covers. In other games it is 0.33.
MIN_BOARD_SHARE = {"scouts": 0.45, "kahmate": 0.45}
_CHECKS = Path(__file__).with_name("walk_checks.js").read_text(encoding="utf-8")
_RUN = "pageChecks.run(arguments[0], arguments[1])"
_AXE = """
const [kinds, isThemeAlone, isTableScreen, done] = arguments;
pageChecks.accessibilityFaults(kinds, isThemeAlone, isTableScreen)
  .then(done, error => done([`axe itself: ${error}`]));
"""


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Page.addScriptToEvaluateOnNewDocument", source=_CHECKS)
        yield opened


@pytest.fixture(scope="module")
def past_kinds() -> set[str]:
    """The kinds of parts that axe has checked for the tests of a file."""
    return set()


def offer_axe(axe: str, *servers: Server) -> None:
    """Let these servers answer /axe.js with the source of axe.

    So the browser caches its compiled script, which is loaded on many pages.
    """
    answer = {"mimetype": "text/javascript", "headers": {"Cache-Control": "max-age=3600"}}
    for server in servers:
        app_of(server).add_url_rule("/axe.js", view_func=lambda: Response(axe, **answer))


def wait_for_news(window: WebDriver, stop: Stop) -> None:
    """Wait until the page has drawn what its stream sent, so that scripts have done their part."""
    script = "return pageChecks.isUpToDate()"
    until(f"the stream of {stop.name}", lambda: window.execute_script(script))


def run_checks(window: WebDriver, *checks: str) -> list[str]:
    """Return the faults that these checks of `walk_checks.js` find on the open page."""
    return list(window.execute_async_script(_RUN, checks))


class Inspector:
    """Opens the pages of a walk, and notes their faults."""

    def __init__(self, window: WebDriver, walk: Tour, game: str, past_kinds: set[str]) -> None:
        self.window = window
        self.walk = walk
        self.game = game
        """First word in the names of stops with states."""
        self.past_kinds = past_kinds
        """Kinds of parts (`walk_checks.js`) and addresses of pages that axe has checked."""
        self.faults: dict[str, list[str]] = defaultdict(list)
        """The stops at which each fault was found, with the size or the theme."""
        self._stop = Stop("", "")
        self._board_places: set[tuple[int, ...]] = set()

    def inspect(self, stop: Stop) -> None:
        """Open a page, and note all its faults.

        Which checks a page gets depends on who sees it, in which state, and in which sizes.
        """
        self._stop = stop
        # The table screen and the workbench are not meant for phones. Pages of seats and spectators
        # must fit on a low phone in most states.
        is_large = stop.name.endswith("-screen") or stop.name == "workbench"
        smallest_size, usual_size = (SCREEN, SCREEN) if is_large else (SMALL, PHONE)
        is_meant_to_fit = stop.name.endswith(("south", "north", "watch")) and self._is_in(
            FITTING_STATES
        )
        is_seat_in_play = is_meant_to_fit and stop.path.startswith("/seat/")

        # Open the page in the smallest size that it is meant for.
        set_size_and_theme(self.window, smallest_size, "light", SCALE)
        visit(self.window, self.walk, stop, LANGUAGES.get(self.game, "fr"))
        wait_for_news(self.window, stop)
        self._check("", "layoutShift", "missingDrawings", "cutLabels", "brokenKeys")
        if is_meant_to_fit:
            self._check_low_phone()

        # Look at words in the usual size, and let axe check what it has not seen before.
        self._check_at(usual_size, "brokenWordsAndRows", "overlappingTexts")
        new_kinds = self._new_kinds()
        if new_kinds:
            self._check_accessibility(usual_size, new_kinds)
        if is_seat_in_play:
            self._check("", "brokenAtTwiceTheSize")

        # Look at it in other sizes: a table screen in those of several screens, a phone's page on a
        # tablet and a laptop.
        if stop.path == "/":
            self._check_board_place()
            self._check_table_screens()
        if new_kinds and not is_large:
            self._check_at(LOW_TABLET, "sidewaysScroll")
        if is_seat_in_play and self.game in GAMES_ON_LAPTOPS:
            self._check_at(LAPTOP, "badSplit")

    def _is_in(self, states: tuple[str, ...]) -> bool:
        return self._stop.name.startswith(tuple(f"{self.game}-{state}" for state in states))

    def _note(self, faults: Iterable[str], where: object = "") -> None:
        """Note faults of the open page. `where` is its size or theme."""
        for fault in faults:
            self.faults[fault].append(f"{self._stop.name} {where}")

    def _check(self, where: object, *checks: str) -> None:
        """Note what these checks find on the page as it is."""
        self._note(run_checks(self.window, *checks), where)

    def _check_at(self, size: tuple[int, int], *checks: str) -> None:
        """Note what these checks find on the page in a size."""
        resize(self.window, size, SCALE)
        self._check(size, *checks)

    def _call(self, function: str) -> Any:
        """Return the result of a function of `walk_checks.js`."""
        return self.window.execute_script(f"return pageChecks.{function}()")

    def _check_low_phone(self) -> None:
        """Check a seat's or a spectator's page on a low phone.

        It must not scroll. During orders all keys must be in sight, and squares large enough.
        """
        has_orders = self._stop.path.startswith("/seat/") and "-orders" in self._stop.name
        checks = ["downwardScroll", "smallHeadsAndKeys"]
        if has_orders:
            checks.append("partsBelow")
        self._check_at(LOW, *checks)
        if has_orders and "-duel" not in self._stop.name:
            size_px = self._call("squarePx")
            if size_px < MIN_SQUARE_PX.get(self.game, 30):
                self._note([f"squares of {size_px:.0f} px"])

    def _check_table_screens(self) -> None:
        """Check a table screen in other sizes, in more of them while pieces are set up."""
        sizes = {*TABLE_SCREENS.get(self._stop.name.partition("-")[0], ())}
        if "-setup-" in self._stop.name:
            sizes |= {LAPTOP, UPRIGHT}
        for size in sorted(sizes):
            self._check_at(size, "cutTexts", "overlappingParts", *CHECKS_BY_SIZE.get(size, ()))

    def _check_board_place(self) -> None:
        """Check that a table screen's board is large, above the sign, and where it was before.

        It must lie: on a wide screen, South sits at its left or right. In a narrow window it must
        stand upright.
        """
        place = self._call("boardPlace")
        if not place or not self._is_in(IN_PLAY):
            return
        self._board_places.add(tuple(place))
        if len(self._board_places) > 1:
            self._note([f"the board changes its place: {sorted(self._board_places)}"])
        _, top, width, height, sign_top = place
        if width * height < MIN_BOARD_SHARE.get(self.game, 0.33) * SCREEN[0] * SCREEN[1]:
            self._note([f"a small board: {width} x {height} px"])
        # Arena's board is square, so it need not be wider than high
        if top + height >= sign_top or (width <= height and self.game != "arena"):
            self._note([f"the board reaches the sign, or does not lie: {place}"])
        resize(self.window, NARROW, SCALE)
        if not self._call("isBoardStanding"):
            self._note(["the board does not stand"], NARROW)

    def _new_kinds(self) -> list[str]:
        """Return the kinds of parts on the open page that axe has not checked, and note them.

        The page's address is one of them if no page of such an address was checked.
        """
        kinds = sorted({*self._call("kinds"), remove_details(self._stop.path)} - self.past_kinds)
        self.past_kinds |= set(kinds)
        # this page permits no script of axe, and shows two pages that are stops themselves
        return [] if self._stop.path == "/here" else kinds

    def _check_accessibility(self, size: tuple[int, int], kinds: list[str]) -> None:
        """Note what axe finds on parts of these kinds, or on a whole page if its address is new.

        In the dark theme only the contrast of the new parts is checked.
        """
        script = self.window.execute_async_script
        is_table_screen = self._stop.name.endswith("-screen")
        is_new_page = remove_details(self._stop.path) in kinds
        # The script's arguments are the kinds, or None for the whole page, whether only the
        # contrast is checked, and whether the page is a table screen.
        light_kinds = None if is_new_page else kinds
        self._note(script(_AXE, light_kinds, False, is_table_screen), "light")
        set_size_and_theme(self.window, size, "dark", SCALE)
        self._note(script(_AXE, kinds, True, is_table_screen), "dark")


def inspect_all(
    window: WebDriver, walk: Tour, stops: Iterable[Stop], game: str, past_kinds: set[str]
) -> None:
    """Inspect all these pages, and then fail with a list of all faults and their stops."""
    inspector = Inspector(window, walk, game, past_kinds)
    for stop in stops:
        inspector.inspect(stop)
        # Leave the last page of a state. It would be drawn again and again during the next steps.
        if stop.name.endswith("-watch"):
            window.get("about:blank")
    faults = inspector.faults.items()
    report = [f"{fault}\n    on {', '.join(names[:4])} ({len(names)})" for fault, names in faults]
    assert not report, "\n".join(report)
