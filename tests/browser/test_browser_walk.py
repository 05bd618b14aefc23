"""Test in a browser that every page in every state is complete, accessible and laid out well.

A walk follows the tour of a table (`tour.py`) and opens each of its stops once. It checks seats'
pages in the sizes of several phones, and table screens in those of several screens. They are in
French, which has the longest sentences, or in German, which has the longest words. The checks are
functions of `walk_checks.js`, which measure the open page and return its faults. `make screenshots`
shows all pages in all sizes and languages to people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from finger_tools import remove_details
from flask import Response
from internals import app_of
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, until
from tour import (
    SIZES,
    Stop,
    TableTour,
    Tour,
    cdp,
    open_table_tour,
    resize,
    set_size_and_theme,
    visit,
)

from companion.core.config import QuietSettings
from companion.core.kit import Seat
from companion.games import GAMES
from companion.table.session import Phase
from web.server.server import Server

pytestmark = pytest.mark.browser

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
# The game whose walk includes the pages that belong to no game.
FIRST_GAMES = ("outbuffered",)
# Endings of stops that are checked in every game. Other pages of North and of spectators are like
# these, and are checked in one game only.
ENDINGS_IN_EACH_GAME = ("-screen", "-south", "-over-watch", "-host", "-rules")
# States in which a table screen shows the board of a game that is not over.
IN_PLAY = ("setup", "orders", "stages")
# States in which the page of a seat or a spectator must fit on a low phone.
FITTING_STATES = ("lesson", "setup", "orders", "stages", "over")
# Number of steps of each game that are checked at night, before somebody resigns.
NIGHT_STEPS = 7
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


@contextmanager
def open_tour_with_axe(axe: str) -> Iterator[TableTour]:
    """Open a tour whose service also serves axe, so that the browser caches its compiled script."""
    with open_table_tour() as tour:
        offer_axe(axe, tour.companion.server)
        yield tour


def offer_axe(axe: str, *servers: Server) -> None:
    """Let these servers answer /axe.js with the source of axe."""
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
        light_kinds = None if is_new_page else kinds  # None stands for the whole page
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


@pytest.fixture(scope="module")
def past_kinds() -> set[str]:
    """The kinds of parts that axe has checked in this file."""
    return set()


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_every_page_of_a_table_has_no_fault(
    game: str, window: WebDriver, axe: str, past_kinds: set[str]
) -> None:
    """Walk through each game. The first walk also visits all pages that belong to no game.

    Only there are spectators' pages checked in all states, and a game against the machine.
    """
    is_first = game in FIRST_GAMES
    with open_tour_with_axe(axe) as tour:
        stops = (
            stop
            for stop in tour.stops((game,), machines=FIRST_GAMES)
            if (is_first and not stop.name.endswith("-north"))
            or (stop.name.startswith(game) and stop.name.endswith(ENDINGS_IN_EACH_GAME))
        )
        inspect_all(window, tour, stops, game, past_kinds)


def begin(tour: TableTour, game: str) -> None:
    """Begin a game with the options of its last preset."""
    tour.table.new_game(game, dict(GAMES[game].presets[-1].options), seed=7)


def open_page(
    window: WebDriver, tour: TableTour, path: str, size: tuple[int, int], language: str = "en"
) -> None:
    """Open a page in a size, and wait until it has drawn what its stream sent."""
    set_size_and_theme(window, size, "light", SCALE)
    visit(window, tour, Stop(path, path), language)
    wait_for_news(window, Stop(path, path))


# Notes animations after each drawing, and tones.
_NOTE_ANIMATIONS = """
window.animations = [];
window.OscillatorNode = class { constructor() { window.animations.push('a tone'); } };
localStorage.setItem('voice', 'on');
const nameOf = ({ animationName, transitionProperty, effect }) =>
  `${animationName ?? transitionProperty ?? 'a script'} of ${effect.target.outerHTML.slice(0, 80)}`;
document.addEventListener('shown', () => setTimeout(
  () => window.animations.push(...document.getAnimations().map(nameOf))
));
"""
# Size of the table screen at night. For all other games it is SCREEN.
NIGHT_SCREENS = {"kahmate": UPRIGHT, "binmat": UPRIGHT}


@pytest.mark.parametrize("game", GAMES)
def test_nothing_moves_at_night(window: WebDriver, tour: TableTour, game: str) -> None:
    """Play some steps in quiet hours, which last all day here.

    Nobody must be disturbed: no part may shift, nothing may be animated, and no tone may sound.
    """
    faults: list[str] = []
    night = QuietSettings("00:00", "00:00")
    tour.companion.use_settings(msgspec.structs.replace(tour.companion.settings, quiet=night))
    for path in ("/", "/seat/south"):
        begin(tour, game)
        open_page(window, tour, path, PHONE if path != "/" else NIGHT_SCREENS.get(game, SCREEN))
        window.execute_script(_NOTE_ANIMATIONS)
        for step in range(NIGHT_STEPS + 1):
            window.execute_script("pageChecks.forgetNews()")
            if tour.table.view().phase is Phase.OVER:
                break
            # after the last step somebody resigns, so that the finale is checked, too
            if step < NIGHT_STEPS:
                tour.go_on()
            else:
                tour.table.resign(Seat.NORTH)
            wait_for_news(window, Stop(f"step {step}", path))
            faults += [f"{path} {step}: {fault}" for fault in run_checks(window, "layoutShift")]
        faults += window.execute_script("return window.animations")
        if path == "/":
            assert window.find_element("id", "hush").text == "Quiet all day"
    assert faults == []


# Lists rows and keys of the help that its main key covers.
_ROWS_UNDER_KEY = """
const edge = document.querySelector('.help .go').getBoundingClientRect();
return [...document.querySelectorAll('.help li, .help .pair .key')].filter(row => {
  const { top, bottom } = row.getBoundingClientRect();
  return top < edge.bottom - 1 && bottom > edge.top + 1;
}).map(row => row.innerText);
"""
# Returns the space between the letters below the board and the help.
_ROOM_ABOVE_HELP = """
return document.querySelector('.help-wall').getBoundingClientRect().top
  - Math.max(...[...document.querySelectorAll('.view .lab')].map(
    label => label.getBoundingClientRect().bottom
  ));
"""
# Returns by how many pixels the help begins below the facts, which it has to cover.
_FACTS_ABOVE_HELP = """
return document.querySelector('.help-wall').getBoundingClientRect().top
  - document.querySelector('.facts').getBoundingClientRect().top;
"""
# Returns whether nothing covers the sign, and all rows of the help end above it.
_IS_SIGN_BELOW_HELP = """
const key = document.querySelector('button.sign'),
  { x, y, width, height } = key.getBoundingClientRect();
const ends = [...document.querySelectorAll('.help-wall li')].map(
  row => row.getBoundingClientRect().bottom
);
return key.contains(document.elementFromPoint(x + width / 2, y + height / 2))
  && Math.max(...ends) <= y;
"""


def test_help_covers_facts_but_no_keys(window: WebDriver, tour: TableTour) -> None:
    """Open the help on low phones, and on table screens in orders and before the clock starts.

    People must be able to read all of the help, and still see the board and tap the sign.
    """
    # On a low phone, the main key of the help must cover none of its rows.
    begin(tour, "arena")
    while tour.table.view().phase is not Phase.ORDERS:
        tour.go_on()
    for size in ((667, 375), SMALLEST):
        open_page(window, tour, "/seat/south", size)
        window.execute_script("document.querySelector('.ask').click()")
        is_open = "return !document.getElementById('help').hidden"
        until("the help", lambda is_open=is_open: window.execute_script(is_open))
        assert window.execute_script(_ROWS_UNDER_KEY) == [], size

    # On an upright table screen, it must cover all facts beside the board, so that no half of them
    # is left, but not the letters below the board.
    tour.table.show_help(True)
    for size in (UPRIGHT, TABLET):
        open_page(window, tour, "/", size)
        assert window.execute_script(_ROOM_ABOVE_HELP) > 0, size
        assert window.execute_script(_FACTS_ABOVE_HELP) <= 1, size

    # Before the clock of Scouts starts, the sign is the key that starts it. The help must not cover
    # it.
    tour.table.abandon()
    tour.table.begin_lesson("scouts")
    tour.table.confirm("host", tour.table.view().moment, 0, force=True)
    tour.table.skip_lesson("host")
    tour.table.show_help(True)
    for size in (LAPTOP, UPRIGHT):
        open_page(window, tour, "/", size)
        assert window.execute_script(_IS_SIGN_BELOW_HELP), size


def test_a_shared_phone_needs_no_scrolling(window: WebDriver) -> None:
    """Check six steps of Kahmate on the smallest phone, which both sides share.

    After the placing, the page lists more pieces to be moved than any other.
    """
    with open_table_tour() as tour:
        tour.client.send("/pass", b"south=Mara&north=Jonas")
        begin(tour, "kahmate")
        for _ in range(6):
            open_page(window, tour, "/pass", SMALLEST, "fr")
            assert run_checks(window, "downwardScroll") == [], tour.table.view().phase
            tour.go_on()


# Returns the id of the element that a finger touches in the middle of the replay's slider.
_ELEMENT_ON_SLIDER = """
const { left, top, width, height } = document.getElementById('scrub').getBoundingClientRect();
return document.elementFromPoint(left + width / 2, top + height / 2)?.id;
"""


def test_every_scene_of_a_replay_has_its_drawings(window: WebDriver, tour: TableTour) -> None:
    """Go through a game of Outbuffered. Each scene must have all its drawings.

    Then open the page in Spanish, whose long words must not push a key over the slider.
    """
    begin(tour, "outbuffered")
    while tour.table.view().phase is not Phase.OVER:
        tour.go_on()
    open_page(window, tour, "/history/1", PHONE)
    script = "return document.querySelector('.replay').dataset.places"
    for scene in range(int(window.execute_script(script))):
        key = "next" if scene else "first"
        window.execute_script("document.getElementById(arguments[0]).click()", key)
        until("the scene", lambda scene=scene: window.current_url.endswith(f"?at={scene}"))
        until("its drawings", lambda: run_checks(window, "missingDrawings") == [])
    open_page(window, tour, "/history/1", TABLET, "es")
    run_checks(window)  # waits until scripts have placed everything
    assert window.execute_script(_ELEMENT_ON_SLIDER) == "scrub", "keys or marks cover the slider"


def test_letters_of_twice_the_size_fit(window: WebDriver) -> None:
    """Set the letters to twice their size, as people with weak eyes do in their browser.

    The pages must not scroll sideways, and the letters of the rules must really grow.
    """
    double_letters = "document.documentElement.style.fontSize = '200%'"
    letters_px = (
        "parseFloat(getComputedStyle(document.querySelector('.rules section > p')).fontSize)"
    )
    with open_table_tour() as tour:
        set_size_and_theme(window, PHONE, "light", SCALE)
        for path in ("/kit", "/join", "/host/health", "/rules/binmat"):
            visit(window, tour, Stop(path, path, is_guest=True), "fr")
            before = window.execute_script(f"return {letters_px}") if "/rules" in path else 0
            window.execute_script(double_letters)
            assert run_checks(window, "sidewaysScroll") == [], path
        after = window.execute_script(f"return {letters_px}")
        assert after == 2 * before, "the letters of the rules do not grow"
