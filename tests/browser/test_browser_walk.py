"""Test in a browser that every page in every state is complete, accessible and laid out well.

A walk follows the tour of a table (`tour.py`) and inspects each of its stops (`walk_tools.py`).
Other tests here look at what the tour does not show. `make screenshots` shows all pages in all
sizes and languages to people.
"""

from __future__ import annotations

import msgspec
import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, until
from tour import Stop, TableTour, open_table_tour, set_size_and_theme, visit
from walk_tools import (
    LAPTOP,
    SCALE,
    SCREEN,
    SMALLEST,
    TABLET,
    UPRIGHT,
    inspect_all,
    offer_axe,
    past_kinds,
    run_checks,
    wait_for_news,
    window,
)

from companion.core.config import QuietSettings
from companion.core.kit import Seat
from companion.games import GAMES
from companion.table.session import Phase

__all__ = ["past_kinds", "window"]
pytestmark = pytest.mark.browser

# The game whose walk includes the pages that belong to no game.
FIRST_GAMES = ("outbuffered",)
# Endings of stops that are checked in every game. Other pages of spectators are checked in one game
# only. North's pages are not checked, because they are made by the same templates as South's.
ENDINGS_IN_EACH_GAME = ("-screen", "-south", "-over-watch", "-host", "-rules")
# Number of steps of each game that are checked at night, before somebody resigns.
NIGHT_STEPS = 7


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_every_page_of_a_table_has_no_fault(
    game: str, window: WebDriver, axe: str, past_kinds: set[str]
) -> None:
    """Walk through each game. The first walk also visits all pages that belong to no game.

    Only the first walk checks spectators' pages in all states, and a game against the machine.
    """
    is_first = game in FIRST_GAMES
    with open_table_tour() as tour:
        offer_axe(axe, tour.companion.server)
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
