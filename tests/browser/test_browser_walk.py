"""One walk through every page in every state: nothing that axe finds, no drawing missing, nothing
that jumps or is cut.

Every state is looked at once, on a phone, a low phone, the smallest phone and the table screen: in
French, whose sentences are the longest, or in German, whose words are. All other looks are in `make
screenshots`. What is measured on a page is in `walk_checks.js`.
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

# Nobody looks at these pages: they are laid out in full size, and painted in a tenth of it.
SCALE = 0.1
SMALL = (320, 640)
SMALLEST = (320, 568)
LOW = (360, 640)
UPRIGHT, TABLET, LAPTOP = (1080, 1920), (768, 1024), (1366, 768)
DISPLAY, SCREEN = SIZES["display"], SIZES["screen"]
LOW_TABLET = (768, 900)
NARROW = (1440, 1080)
# The game whose tour includes the pages that are alike in all games.
FIRST = ("outbuffered",)
# Pages that are looked at in every game. Those of North and of spectators are made alike.
OF_EACH_GAME = ("-screen", "-south", "-over-watch", "-host", "-rules")
IN_PLAY = ("setup", "orders", "stages")
# States in which the page of a seat or a spectator must fit on a phone.
IN_SIGHT = ("lesson", "setup", "orders", "stages", "over")
LAST_STEP = 7
# Sizes in which no part of a table screen may overlap another one or leave the window, by game.
TABLE_SCREENS = {
    "outbuffered": (UPRIGHT, TABLET, DISPLAY),
    "scouts": (UPRIGHT, DISPLAY),
    "arena": (DISPLAY,),
    "kahmate": (TABLET, LAPTOP, DISPLAY),
    "binmat": (UPRIGHT, TABLET, LAPTOP, DISPLAY),
    "lobby": (UPRIGHT, TABLET, LAPTOP, DISPLAY),
    "chosen": (DISPLAY,),
}
# Checks of a table screen in some of these sizes, besides those in all of them.
CHECKS_BY_SIZE = {
    LAPTOP: ("lowKeys",),
    DISPLAY: ("smallLetters", "brokenWords", "cutLabels"),
}
# Language in which the pages of a game have to fit. For all others it is French.
LONGEST = {"scouts": "de", "arena": "de", "kahmate": "de"}
# Games whose seats' pages have a layout for laptops: the board as tall as the window, all keys
# beside it.
SEATS_ON_LAPTOPS = ("outbuffered", "binmat")
# Least width of a square on a low phone while one chooses. Else it is 30, as for a lane.
LEAST_PX = {"scouts": 42, "kahmate": 36}
# Least share of a wide table screen that a board covers.
LEAST_SHARE = {"scouts": 0.45, "kahmate": 0.45}
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
    """Open a tour whose service has axe too, which pages then take compiled from the browser's
    cache.
    """
    with open_table_tour() as tour:
        offer_axe(axe, tour.companion.server)
        yield tour


def offer_axe(axe: str, *servers: Server) -> None:
    """Have these servers offer axe under an address of their own."""
    answer = {"mimetype": "text/javascript", "headers": {"Cache-Control": "max-age=3600"}}
    for server in servers:
        app_of(server).add_url_rule("/axe.js", view_func=lambda: Response(axe, **answer))


def wait_for_news(window: WebDriver, stop: Stop) -> None:
    """Wait until the page's stream has said how things stand: what it shows now, scripts have put
    there.
    """
    script = "return pageChecks.isUpToDate()"
    until(f"the stream of {stop.name}", lambda: window.execute_script(script))


def run_checks(window: WebDriver, *checks: str) -> list[str]:
    """Return what checks of `walk_checks.js` find on the open page."""
    return list(window.execute_async_script(_RUN, checks))


class Inspector:
    """Opens the pages of a walk, and notes what is wrong with them."""

    def __init__(self, window: WebDriver, walk: Tour, game: str, past_kinds: set[str]) -> None:
        self.window = window
        self.walk = walk
        self.game = game
        """What the names of pages with states begin with."""
        self.past_kinds = past_kinds
        """Kinds of parts that axe has seen on other pages."""
        self.faults: dict[str, list[str]] = defaultdict(list)
        """Names of the stops at which each fault was found, with the size or the theme."""
        self._stop = Stop("", "")
        self._board_places: set[tuple[int, ...]] = set()

    def inspect(self, stop: Stop) -> None:
        """Open a page, and note all that is wrong with it."""
        self._stop = stop
        # the table screen and the workbench are not made for a phone
        is_large = stop.name.endswith("-screen") or stop.name == "workbench"
        small, usual = (SCREEN, SCREEN) if is_large else (SMALL, PHONE)
        is_meant_to_fit = stop.name.endswith(("south", "north", "watch")) and self._is_in(IN_SIGHT)
        is_seat_in_play = is_meant_to_fit and stop.path.startswith("/seat/")
        set_size_and_theme(self.window, small, "light", SCALE)
        visit(self.window, self.walk, stop, LONGEST.get(self.game, "fr"))
        wait_for_news(self.window, stop)
        self._check("", "layoutShift", "missingDrawings", "cutLabels", "brokenKeys")
        if is_meant_to_fit:
            self._check_low_phone()
        self._check_at(usual, "brokenWordsAndRows", "overlappingTexts")
        new_kinds = self._new_kinds()
        if new_kinds:
            self._check_accessibility(usual, new_kinds)
        if is_seat_in_play:
            self._check("", "brokenAtTwiceTheSize")
        if stop.path == "/":
            self._check_board_place()
            self._check_table_screens()
        if new_kinds and not is_large:
            self._check_at(LOW_TABLET, "sidewaysScroll")
        if is_seat_in_play and self.game in SEATS_ON_LAPTOPS:
            self._check_at(LAPTOP, "badSplit")

    def _is_in(self, states: tuple[str, ...]) -> bool:
        return self._stop.name.startswith(tuple(f"{self.game}-{state}" for state in states))

    def _note(self, faults: Iterable[str], where: object = "") -> None:
        for fault in faults:
            self.faults[fault].append(f"{self._stop.name} {where}")

    def _check(self, where: object, *checks: str) -> None:
        """Note what these checks find on the page as it is."""
        self._note(run_checks(self.window, *checks), where)

    def _check_at(self, size: tuple[int, int], *checks: str) -> None:
        """Note what these checks find on the page in a size."""
        resize(self.window, size, SCALE)
        self._check(size, *checks)

    def _ask(self, function: str) -> Any:
        """Return the answer of a function of `walk_checks.js`."""
        return self.window.execute_script(f"return pageChecks.{function}()")

    def _check_low_phone(self) -> None:
        """Check a seat's or spectator's page on a low phone: keys and subject in sight, squares
        large enough.
        """
        is_choosing = self._stop.path.startswith("/seat/") and "-orders" in self._stop.name
        checks = ["downwardScroll", "smallHeadsAndKeys", *(["partsBelow"] if is_choosing else [])]
        self._check_at(LOW, *checks)
        if is_choosing and "-duel" not in self._stop.name:
            size_px = self._ask("squarePx")
            if size_px < LEAST_PX.get(self.game, 30):
                self._note([f"squares of {size_px:.0f} px"])

    def _check_table_screens(self) -> None:
        """Check a table screen at other sizes. All that is to be set up is in sight there, too."""
        sizes = {*TABLE_SCREENS.get(self._stop.name.partition("-")[0], ())}
        if "-setup-" in self._stop.name:
            sizes |= {LAPTOP, UPRIGHT}
        for size in sorted(sizes):
            self._check_at(size, "cutTexts", "overlappingParts", *CHECKS_BY_SIZE.get(size, ()))

    def _check_board_place(self) -> None:
        """Check the board of a table screen: large, above the sign, and at the same place as
        before.
        """
        place = self._ask("boardPlace")
        if not place or not self._is_in(IN_PLAY):
            return
        self._board_places.add(tuple(place))
        if len(self._board_places) > 1:
            self._note([f"the board moves: {sorted(self._board_places)}"])
        _, top, width, height, sign = place
        if width * height < LEAST_SHARE.get(self.game, 0.33) * SCREEN[0] * SCREEN[1]:
            self._note([f"a small board: {width} x {height} px"])
        if top + height >= sign or (width <= height and self.game != "arena"):
            self._note([f"the board lies badly: {place}"])
        resize(self.window, NARROW, SCALE)
        if not self._ask("isBoardStanding"):
            self._note(["the board does not stand"], NARROW)

    def _new_kinds(self) -> list[str]:
        """Return the kinds of parts on the open page that are new, and its own path if that is
        new.
        """
        kinds = sorted({*self._ask("kinds"), remove_details(self._stop.path)} - self.past_kinds)
        self.past_kinds |= set(kinds)
        # it lets no script in, and both pages that it shows are stops themselves
        return [] if self._stop.path == "/here" else kinds

    def _check_accessibility(self, size: tuple[int, int], kinds: list[str]) -> None:
        """Note what axe finds on parts of these kinds on the open page and on all of a new page."""
        is_new_page = remove_details(self._stop.path) in kinds
        is_table_screen = self._stop.name.endswith("-screen")
        for theme, parts in (("light", None if is_new_page else kinds), ("dark", kinds)):
            is_dark = theme == "dark"
            if is_dark:
                set_size_and_theme(self.window, size, theme, SCALE)
            script = self.window.execute_async_script
            self._note(script(_AXE, parts, is_dark, is_table_screen), theme)


def inspect_all(
    window: WebDriver, walk: Tour, stops: Iterable[Stop], game: str, past_kinds: set[str]
) -> None:
    """Look at all these pages, and tell all faults at once."""
    inspector = Inspector(window, walk, game, past_kinds)
    for stop in stops:
        inspector.inspect(stop)
        # the last page of its state: none follows the game to the next one
        if stop.name.endswith("-watch"):
            window.get("about:blank")
    faults = inspector.faults.items()
    told = [f"{fault}\n    on {', '.join(stops[:4])} ({len(stops)})" for fault, stops in faults]
    assert not told, "\n".join(told)


@pytest.fixture(scope="module")
def past_kinds() -> set[str]:
    """The kinds of parts that the pages of the games before had."""
    return set()


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_every_page_in_every_state(
    game: str, window: WebDriver, axe: str, past_kinds: set[str]
) -> None:
    """Pages that belong to no game are looked at along with the first, and so are all of
    spectators and those of a game against the machine.
    """
    is_first = game in FIRST
    with open_tour_with_axe(axe) as tour:
        stops = (
            stop
            for stop in tour.stops((game,), machines=FIRST)
            if (is_first and not stop.name.endswith("-north"))
            or (stop.name.startswith(game) and stop.name.endswith(OF_EACH_GAME))
        )
        inspect_all(window, tour, stops, game, past_kinds)


def seat_both(tour: TableTour, game: str = "") -> None:
    """Seat Mara and Jonas, and begin a game where one is wanted."""
    for seat, name in ((Seat.SOUTH, "Mara"), (Seat.NORTH, "Jonas")):
        tour.client.post(f"/api/seat/{seat}/take", name=name)
    if game:
        tour.table.new_game(game, dict(GAMES[game].presets[-1].options), 7)


def open_page(
    window: WebDriver, tour: TableTour, path: str, size: tuple[int, int], language: str = "en"
) -> None:
    """Open a page in a size, and wait until all of it is there."""
    set_size_and_theme(window, size, "light", SCALE)
    visit(window, tour, Stop(path, path), language)
    wait_for_news(window, Stop(path, path))


# Notes what is animated and what sounds.
_NOTE_MOVES = """
window.moves = [];
window.OscillatorNode = class { constructor() { window.moves.push('a tone'); } };
localStorage.setItem('voice', 'on');
const nameOf = ({ animationName, transitionProperty, effect }) =>
  `${animationName ?? transitionProperty ?? 'a script'} of ${effect.target.outerHTML.slice(0, 80)}`;
document.addEventListener('shown', () => setTimeout(
  () => window.moves.push(...document.getAnimations().map(nameOf))
));
"""
# Games whose table screens are looked at step by step, and the size.
WALLS = {"kahmate": UPRIGHT, "binmat": UPRIGHT}


@pytest.mark.parametrize("game", GAMES)
def test_steps_move_nothing_at_night(window: WebDriver, game: str) -> None:
    """Nothing else than what a step is about jumps; in stillness and quiet hours nothing is
    animated or sounds.
    """
    moves: list[str] = []
    with open_table_tour() as tour:
        seat_both(tour)
        night = QuietSettings("00:00", "00:00")
        tour.companion.use_settings(msgspec.structs.replace(tour.companion.settings, quiet=night))
        for path in ("/", "/seat/south"):
            tour.table.new_game(game, dict(GAMES[game].presets[-1].options), 7)
            open_page(window, tour, path, PHONE if path != "/" else WALLS.get(game, SCREEN))
            window.execute_script(_NOTE_MOVES)
            for step in range(LAST_STEP + 1):
                window.execute_script("pageChecks.forgetNews()")
                if step < LAST_STEP and tour.table.view().phase is not Phase.OVER:
                    tour.go_on()
                elif tour.table.view().phase is not Phase.OVER:
                    tour.table.resign(Seat.NORTH)
                else:
                    break
                wait_for_news(window, Stop(f"step {step}", path))
                moves += [f"{path} {step}: {fault}" for fault in run_checks(window, "layoutShift")]
            moves += window.execute_script("return window.moves")
            if path == "/":
                assert window.find_element("id", "hush").text == "Quiet all day"
    assert moves == []


# Lists rows and keys that the last key of the help lies on.
_ROWS_UNDER_KEY = """
const edge = document.querySelector('.help .go').getBoundingClientRect();
return [...document.querySelectorAll('.help li, .help .pair .key')].filter(row => {
  const { top, bottom } = row.getBoundingClientRect();
  return top < edge.bottom - 1 && bottom > edge.top + 1;
}).map(row => row.innerText);
"""
# Returns the space between the letters of the board and the help below.
_ROOM_ABOVE_HELP = """
return document.querySelector('.help-wall').getBoundingClientRect().top
  - Math.max(...[...document.querySelectorAll('.view .lab')].map(
    label => label.getBoundingClientRect().bottom
  ));
"""
# Returns by how much the help begins below the facts that it has to cover.
_FACTS_ABOVE_HELP = """
return document.querySelector('.help-wall').getBoundingClientRect().top
  - document.querySelector('.facts').getBoundingClientRect().top;
"""
# Returns whether nothing covers the sign, and all rows of the help are above it.
_IS_SIGN_BELOW_HELP = """
const key = document.querySelector('button.sign'),
  { x, y, width, height } = key.getBoundingClientRect();
const ends = [...document.querySelectorAll('.help-wall li')].map(
  row => row.getBoundingClientRect().bottom
);
return key.contains(document.elementFromPoint(x + width / 2, y + height / 2))
  && Math.max(...ends) <= y;
"""


def test_help_hides_nothing_or_all(window: WebDriver) -> None:
    """On a low phone its last key lies on no row. On an upright table screen it keeps off the
    letters of the board and leaves nothing of what stands below; the sign stands below it, which
    starts the clock.
    """
    with open_table_tour() as tour:
        seat_both(tour, "arena")
        while tour.table.view().phase is not Phase.ORDERS:
            tour.go_on()
        for size in ((667, 375), SMALLEST):
            open_page(window, tour, "/seat/south", size)
            window.execute_script("document.querySelector('.ask').click()")
            is_open = "return !document.getElementById('help').hidden"
            until("the help", lambda is_open=is_open: window.execute_script(is_open))
            assert window.execute_script(_ROWS_UNDER_KEY) == [], size
        tour.table.show_help(True)
        for size in (UPRIGHT, TABLET):
            open_page(window, tour, "/", size)
            assert window.execute_script(_ROOM_ABOVE_HELP) > 0, size
            assert window.execute_script(_FACTS_ABOVE_HELP) <= 1, size
        tour.table.abandon()
        tour.table.begin_lesson("scouts")
        tour.table.confirm("host", tour.table.view().moment, 0, force=True)
        tour.table.skip_lesson("host")
        tour.table.show_help(True)
        for size in (LAPTOP, UPRIGHT):
            open_page(window, tour, "/", size)
            assert window.execute_script(_IS_SIGN_BELOW_HELP), size


def test_one_phone_for_both_needs_no_scrolling(window: WebDriver) -> None:
    """From the placing, after which hands move many pieces, to the first orders."""
    with open_table_tour() as tour:
        tour.client.send("/pass", b"south=Mara&north=Jonas")
        tour.table.new_game("kahmate", dict(GAMES["kahmate"].presets[-1].options), 7)
        for _ in range(6):
            open_page(window, tour, "/pass", SMALLEST, "fr")
            assert run_checks(window, "downwardScroll") == [], tour.table.view().phase
            tour.go_on()


# Returns the id of what a finger touches in the middle of the replay's bar.
_TOUCHED_ON_BAR = """
const { left, top, width, height } = document.getElementById('scrub').getBoundingClientRect();
return document.elementFromPoint(left + width / 2, top + height / 2)?.id;
"""


def test_every_scene_of_a_replay_has_its_drawings(window: WebDriver) -> None:
    with open_table_tour() as tour:
        seat_both(tour, "outbuffered")
        while tour.table.view().phase is not Phase.OVER:
            tour.go_on()
        open_page(window, tour, "/history/1", PHONE)
        script = "return document.querySelector('.replay').dataset.places"
        for place in range(int(window.execute_script(script))):
            key = "next" if place else "first"
            window.execute_script("document.getElementById(arguments[0]).click()", key)
            until("the scene", lambda place=place: window.current_url.endswith(f"?at={place}"))
            until("its drawings", lambda: run_checks(window, "missingDrawings") == [])
        open_page(window, tour, "/history/1", TABLET, "es")
        assert run_checks(window) == []
        covers = "keys or marks lie over the bar of the replay"
        assert window.execute_script(_TOUCHED_ON_BAR) == "scrub", covers


def test_twice_the_text_makes_no_page_wider(window: WebDriver) -> None:
    twice = "document.documentElement.style.fontSize = '200%'"
    letters = "parseFloat(getComputedStyle(document.querySelector('.rules section > p')).fontSize)"
    with open_table_tour() as tour:
        set_size_and_theme(window, PHONE, "light", SCALE)
        for path in ("/kit", "/join", "/host/health", "/rules/binmat"):
            visit(window, tour, Stop(path, path, is_guest=True), "fr")
            before = window.execute_script(f"return {letters}") if "/rules" in path else 0
            window.execute_script(twice)
            assert run_checks(window, "sidewaysScroll") == [], path
        after = window.execute_script(f"return {letters}")
        assert after == 2 * before, "what one has to read grows along"
