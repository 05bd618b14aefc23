"""One walk through every page in every state: nothing that axe finds, no drawing missing, nothing
that jumps or is cut.

Every state is looked at once, on a phone, a low phone, the smallest phone and the table screen: in
French, whose sentences are the longest, or in German, whose words are. All other looks are in `make
screenshots`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec
import pytest
from finger_tools import alike
from flask import Response
from inside import app_of
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, until
from tour import SIZES, Stop, Tour, Walk, cdp, open_tour, resize, set_size_and_theme, visit

from companion.core.config import QuietSettings
from companion.core.kit import Seat
from companion.games import GAMES
from companion.table.session import Phase
from web.server.server import Server

pytestmark = pytest.mark.browser

_LOAD_AXE = """
const [done] = arguments, script = document.createElement('script');
script.onload = () => { script.remove(); done(); };
script.src = '/axe.js';
document.head.append(script);
"""
_KINDS_OF = """
const kindsOf = each => [
  ...[...each.classList].map(name => `${each.tagName}.${each.tagName === 'MAIN' ? '' : name}`), // a state of its own
  ...each.getAttributeNames().filter(name => /^(aria-|role|tabindex|hidden|disabled|alt)/.test(name)).map(name => `${each.tagName} ${name}`),
];
"""
# Lists the kinds of parts that a page is made of.
_KINDS = f"""
{_KINDS_OF}
return [...new Set([...document.querySelectorAll('body *')].flatMap(kindsOf))];
"""
_AXE = f"""
{_KINDS_OF}
const [kinds, more, done] = arguments;
const fresh = kinds && [...document.querySelectorAll('body *')].filter(each => kindsOf(each).some(kind => kinds.includes(kind)));
axe.run(fresh ? {{ include: fresh }} : document, {{ resultTypes: ['violations'], preload: false, ...more }}).then(
  found => done(found.violations.flatMap(v => v.nodes.slice(0, 3).map(
    n => `${{v.id}}: ${{n.html.slice(0, 160)}} (${{n.any.concat(n.all, n.none).map(c => c.message).join('; ').slice(0, 200)}})`))),
  error => done([`axe itself: ${{error}}`]));
"""
# All of axe's rules that a theme can break.
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
# Checks contrast AAA of the sign and of everything at least as large as `--w-lead`. Smaller words
# are for people nearby.
_AFAR = """
const done = arguments[0];
const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
const isAfar = each => each.closest('.sign') || parseFloat(getComputedStyle(each).fontSize) >= LEAD * rem - 0.5;
axe.run('#live', { runOnly: { type: 'rule', values: ['color-contrast-enhanced'] }, elementRef: true }).then(
  found => {
    const [read, weak] = ['passes', 'violations'].map(
      kind => found[kind].flatMap(rule => rule.nodes).filter(node => isAfar(node.element)));
    done([read.some(node => node.element.closest('.sign')), weak.map(
      node => `${node.html.slice(0, 160)} (${node.any.map(check => check.message).join('; ').slice(0, 200)})`)]);
  },
  error => done([true, [`axe itself: ${error}`]]));
""".replace("LEAD", "5.2")
SMALL = (320, 640)
SMALLEST = (320, 568)
LOW = (360, 640)
# The game whose tour includes the pages that are alike in all games.
FIRST = ("outbuffered",)
# Pages that are looked at in every game. Those of North and of spectators are made alike.
OF_EACH_GAME = ("-screen", "-south", "-over-watch", "-host", "-rules")
IN_PLAY = ("setup", "orders", "stages")
# States in which the page of a seat or a spectator must fit on a phone.
IN_SIGHT = ("lesson", "setup", "orders", "stages", "over")
MOST_SHIFT = 0.05
LAST_STEP = 7
_MISSING = """
const missing = [...document.querySelectorAll('use')].map(use => use.getAttribute('href'))
  .filter(href => href !== '#' && !document.getElementById(href.slice(1)));
return [...new Set(missing)].map(href => `no drawing ${href}`);
"""
_WIDE = """
const wide = document.scrollingElement.scrollWidth, room = document.documentElement.clientWidth;
if (wide <= room) return [];
const far = [...document.querySelectorAll('body *')].filter(each => each.getBoundingClientRect().right > room + 1 && !each.closest('svg'));
return [`${wide} px wide in ${room}: ${far.slice(0, 3).map(each => each.tagName + '.' + each.className).join(', ')}`];
"""
_DRAWN = "document.documentElement.style.visibility = arguments[0]"
_TWICE = "document.documentElement.style.fontSize = '200%'"
# Notes layout shifts, also those after "recent input": nobody touches a page here, and Chromium
# takes a window's new size for input.
_FROM_THE_START = """
document.addEventListener('shown', () => { window.heard = true });
window.shifts = [];
new PerformanceObserver(list => window.shifts.push(...list.getEntries())).observe({ type: 'layout-shift', buffered: true });
"""
_SHIFT = """
const [done] = arguments;
requestAnimationFrame(() => setTimeout(() => {
  const worst = window.shifts.toSorted((one, other) => other.value - one.value)[0];
  const node = worst?.sources?.[0]?.node;
  done([window.shifts.reduce((sum, each) => sum + each.value, 0), node ? `${node.nodeName}.${node.className ?? ''}` : '']);
}));
"""
# Returns the height of the page once scripts have moved what they place by hand.
_HEIGHT = """
const [done] = arguments;
requestAnimationFrame(() => requestAnimationFrame(() => done(document.scrollingElement.scrollHeight)));
"""
_CUT = """
const found = [], seen = each => each.checkVisibility() && !each.closest('.vh, svg, [hidden]');
const wide = document.scrollingElement.scrollWidth;
if (wide > document.documentElement.clientWidth + 1) found.push(`the page is ${wide} px wide`);
for (const each of document.querySelectorAll('button, a.key, .sign, h1, h2, th, label, summary')) {
  if (!seen(each)) continue;
  const box = each.getBoundingClientRect();
  if (!box.width || !each.innerText?.trim()) continue;
  if (each.scrollWidth > each.clientWidth + 2 && each.clientWidth) found.push(`cut: ${each.innerText.trim().slice(0, 40)}`);
}
return found;
"""
# Lists words that are broken over two lines where nothing allows it.
_BROKEN = """
const found = [], letters = /[\\p{L}’]{2,}/gu;
for (const part of document.querySelectorAll('button, .key, .sign, h1, h2, thead th, .steps th, label, summary, .ours, #told')) {
  if (!part.checkVisibility({ visibilityProperty: true }) || part.closest('.vh, svg, .mono') || part.textContent.includes('\u00ad')) continue;
  const walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (walk.nextNode()) for (const word of walk.currentNode.data.matchAll(letters)) {
    range.setStart(walk.currentNode, word.index);
    range.setEnd(walk.currentNode, word.index + word[0].length);
    if (new Set([...range.getClientRects()].filter(box => box.width).map(box => Math.round(box.top / 6))).size > 1)
      found.push(`broken: ${word[0]} in ${part.tagName}.${part.className}`);
  }
}
return found;
"""
_TORN = _BROKEN.replace("thead th", "th")
_LYING = """
const found = [], range = document.createRange();
for (const row of document.querySelectorAll('.todo li')) {
  const texts = [], walk = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) if (walk.currentNode.data.trim() && !walk.currentNode.parentElement.closest('.vh, svg')) {
    range.selectNodeContents(walk.currentNode);
    texts.push([walk.currentNode.data.trim(), range.getBoundingClientRect()]);
  }
  for (const [one, here] of texts) for (const [other, there] of texts) if (one !== other
    && Math.min(here.right, there.right) - Math.max(here.left, there.left) > 2
    && Math.min(here.bottom, there.bottom) - Math.max(here.top, there.top) > 2) found.push(`${one} lies on ${other}`);
}
return found;
"""
_CUT_FROM_AFAR = """
const cut = [];
for (const part of document.querySelectorAll('main h1, main h2, main p, main li, main .sign, main small')) {
  if (!part.innerText?.trim() || part.matches('.still') || part.closest('.vh, .board, .log')) continue;
  const range = document.createRange();
  range.selectNodeContents(part);
  const box = range.getBoundingClientRect();
  if (!box.width || !box.height || getComputedStyle(part).visibility === 'hidden') continue;
  let frame = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  for (let outer = part; outer; outer = outer.parentElement) {
    if (outer === document.body || getComputedStyle(outer).overflow === 'visible') continue;
    const edge = outer.getBoundingClientRect();
    frame = { left: Math.max(frame.left, edge.left), top: Math.max(frame.top, edge.top),
      right: Math.min(frame.right, edge.right), bottom: Math.min(frame.bottom, edge.bottom) };
  }
  const out = Math.max(frame.left - box.left, frame.top - box.top, box.right - frame.right, box.bottom - frame.bottom);
  if (out > arguments[0]) cut.push(`${part.tagName}.${part.className} ${Math.round(out)} px: ${part.innerText.slice(0, 60)}`);
}
return cut;
"""
_OVER = """
const parts = [...document.querySelectorAll('.rows > li, .home > .col, .mid > *, .page > .dial, .page > .lesson, .lanes, .facts > *, .chance, .page > .sign, .view .board, .asking > .key, .whole-word, #to-seat')]
  .map(part => [part, part.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
const over = [];
for (const [one, here] of parts) for (const [other, there] of parts) {
  if (one === other || one.contains(other) || other.contains(one)) continue;
  const across = Math.min(here.right, there.right) - Math.max(here.left, there.left);
  const along = Math.min(here.bottom, there.bottom) - Math.max(here.top, there.top);
  if (across > arguments[0] && along > arguments[0]) over.push(`${one.className} lies on ${other.className}`);
}
return over;
"""
# Ascenders and descenders reach this far beyond a line.
SLACK_PX = 4
UPRIGHT, TABLET, LAPTOP = (1080, 1920), (768, 1024), (1366, 768)
DISPLAY = SIZES["display"]
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
# Lists words under 12 px outside of pictures, and says whether the page scrolls.
_SMALL_LETTERS = """
const found = innerHeight < document.scrollingElement.scrollHeight ? ['scrolls'] : [];
for (const each of document.querySelectorAll('main *')) {
  if (![...each.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
  if (!each.checkVisibility({ visibilityProperty: true }) || each.closest('.vh, .picture, .piece')) continue;
  const matrix = each.ownerSVGElement ? each.getScreenCTM() : { a: 1, b: 0 };
  const size = parseFloat(getComputedStyle(each).fontSize) * Math.hypot(matrix.a, matrix.b);
  if (size < 11.9) found.push(`${size.toFixed(1)} px: ${each.textContent.trim().slice(0, 40)}`);
}
return found;
"""
_LAID = """
const board = document.querySelector('.phone > .view .board, .phone > .shutter, .hold > .lanes, .clockwork > .dial');
const tall = document.scrollingElement.scrollHeight;
const found = tall > innerHeight ? [`scrolls: ${tall} px high in ${innerHeight}`] : [];
if (!board) return found;
const room = board.getBoundingClientRect();
if (room.height < 0.6 * innerHeight) found.push(`the board is ${Math.round(room.height)} px high in ${innerHeight}`);
for (const key of document.querySelectorAll('.phone .key')) {
  const box = key.getBoundingClientRect();
  if (box.width && box.left < room.right - 1 && box.right > room.left + 1 && box.bottom > room.top && !board.contains(key))
    found.push(`not beside the board: ${key.innerText}`);
}
for (const key of document.querySelectorAll('.phone .key, .phone .sign'))
  if (key.checkVisibility() && key.scrollWidth > key.clientWidth + 2) found.push(`cut: ${key.innerText}`);
return found;
"""
# Language in which the pages of a game have to fit. For all others it is French.
LONGEST = {"scouts": "de", "arena": "de", "kahmate": "de"}
# Games whose seats' pages have a layout for laptops: the board as tall as the window, all keys
# beside it.
SEATS_ON_LAPTOPS = ("outbuffered", "binmat")
# Least width of a square on a low phone while one chooses. Else it is 30, as for a lane.
LEAST_PX = {"scouts": 42, "kahmate": 36}
# Least share of a wide table screen that a board covers.
LEAST_SHARE = {"scouts": 0.45, "kahmate": 0.45}
NARROW = (1440, 1080)
_SQUARE = """
const board = document.querySelector('.view .board');
if (!board) return Math.min(...[...document.querySelectorAll('.lanes .ln')].map(each => each.getBoundingClientRect().width));
return Number(board.dataset.grid.split(' ')[2]) * board.getScreenCTM().a;
"""
_BELOW = """
const last = document.querySelector('#commit, #hand-in')?.getBoundingClientRect();
const under = each => last && each.getBoundingClientRect().top >= last.bottom - 1;
const out = each => each.getBoundingClientRect().bottom > innerHeight + 1 || each.scrollHeight > each.clientHeight + 2;
return [...document.querySelectorAll('#live .key, #live .sign')].filter(each => each.checkVisibility())
  .filter(each => out(each) || under(each)).map(each => each.innerText);
"""
_PLACE = """
const board = document.querySelector('.desk .lies .board')?.getBoundingClientRect();
const sign = document.querySelector('#sign')?.getBoundingClientRect();
return board && [board.left, board.top, board.width, board.height, sign?.top ?? 0].map(Math.round);
"""
_STANDS = """
const [lies, stands] = ['.lies', '.stands'].map(name => document.querySelector(`.desk ${name}`).checkVisibility());
return stands && !lies;
"""
_SMALLEST = """
const heads = [...document.querySelectorAll('.top > span')].filter(each => each.scrollWidth > each.clientWidth + 1);
const low = [...document.querySelectorAll('#commit')].filter(each => each.getBoundingClientRect().height < 48);
return [...heads.map(each => `cut: ${each.innerText}`), ...low.map(each => `too low for a finger: ${each.innerText}`)];
"""

# What is wrong with a page, and at which size or in which theme.
Found = Iterator[tuple[str, str]]


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Page.addScriptToEvaluateOnNewDocument", source=_FROM_THE_START)
        yield opened


@contextmanager
def touring_with_axe(axe: str) -> Iterator[Tour]:
    """Open a tour whose service has axe too, which pages then take compiled from the browser's
    cache.
    """
    with open_tour() as tour:
        offer(axe, tour.companion.server)
        yield tour


def offer(axe: str, *servers: Server) -> None:
    """Have these servers offer axe under an address of their own."""
    answer = {"mimetype": "text/javascript", "headers": {"Cache-Control": "max-age=3600"}}
    for server in servers:
        app_of(server).add_url_rule("/axe.js", view_func=lambda: Response(axe, **answer))


def heard(window: WebDriver, stop: Stop) -> None:
    """Wait until the page's stream has said how things stand: what it shows now, scripts have put
    there.
    """
    script = "return !document.body.dataset.live || window.heard === true"
    until(f"the stream of {stop.name}", lambda: window.execute_script(script))


def looked_at(
    window: WebDriver,
    walk: Walk,
    stop: Stop,
    game: str,
    known: set[str],
    places: set[tuple[int, ...]],
) -> Found:
    """Open a page and yield all that is wrong with it; `game` is what the names of pages with
    states begin with.
    """
    # the table screen and the workbench are not made for a phone
    is_large = stop.name.endswith("-screen") or stop.name == "workbench"
    small, usual = (SIZES["screen"], SIZES["screen"]) if is_large else (SMALL, PHONE)
    is_meant_to_fit = stop.name.endswith(("south", "north", "watch")) and stop.name.startswith(
        tuple(f"{game}-{state}" for state in IN_SIGHT)
    )
    set_size_and_theme(window, small, "light")
    visit(window, walk, stop, LONGEST.get(game, "fr"))
    heard(window, stop)
    shift, what = window.execute_async_script(_SHIFT)
    if shift > MOST_SHIFT:
        yield f"shifts by {shift:.2f}: {what}", ""
    for script in (_MISSING, _CUT, _BROKEN_KEYS):
        yield from ((what, "") for what in window.execute_script(script))
    if is_meant_to_fit:
        yield from below_the_edge(window, stop, game)
    resize(window, usual)
    window.execute_async_script(_HEIGHT)
    for script in (_TORN, _LYING):
        yield from ((what, "") for what in window.execute_script(script))
    kinds = new_kinds(window, stop, known)
    if kinds:
        yield from violations(window, stop, usual, kinds)
    if stop.path == "/":
        yield from board_place(window, stop, game, places)
        yield from on_table_screens(window, stop)
    if kinds and not is_large:
        yield from wide(window)
    if is_meant_to_fit and stop.path.startswith("/seat/"):
        yield from at_other_sizes(window, game)


def below_the_edge(window: WebDriver, stop: Stop, game: str) -> Found:
    """Check a seat's or spectator's page on a low phone: keys and subject in sight, squares large
    enough.
    """
    resize(window, LOW)
    if (height := window.execute_async_script(_HEIGHT)) > LOW[1]:
        yield f"scrolls: {height} px high in {LOW[1]}", ""
    yield from ((what, "") for what in window.execute_script(_SMALLEST))
    if stop.path.startswith("/seat/") and "-orders" in stop.name:
        yield from ((f"below: {what}", "") for what in window.execute_script(_BELOW))
        size_px = window.execute_script(_SQUARE)  # None where there is only something to read
        if size_px and "-duel" not in stop.name and size_px < LEAST_PX.get(game, 30):
            yield f"squares of {size_px:.0f} px", ""


def at_other_sizes(window: WebDriver, game: str) -> Found:
    """Check an open page of a seat on a laptop, and with letters of twice their size."""
    if game in SEATS_ON_LAPTOPS:
        resize(window, LAPTOP)
        window.execute_async_script(_HEIGHT)
        yield from ((what, "laptop") for what in window.execute_script(_LAID))
    resize(window, PHONE)
    window.execute_async_script(_HEIGHT)
    window.execute_script(_TWICE)
    for script in (_BROKEN, _BROKEN_KEYS):
        yield from ((what, "at twice the size") for what in window.execute_script(script))


def on_table_screens(window: WebDriver, stop: Stop) -> Found:
    """Check an open table screen at other sizes. All that is to be set up is in sight there, too."""
    sizes = {*TABLE_SCREENS.get(stop.name.partition("-")[0], ())}
    if "-setup-" in stop.name:
        sizes |= {LAPTOP, UPRIGHT}
    for size in sorted(sizes):
        resize(window, size)
        window.execute_async_script(_HEIGHT)
        for script in (_CUT_FROM_AFAR, _OVER):
            yield from ((what, str(size)) for what in window.execute_script(script, SLACK_PX))
        if size == LAPTOP:
            yield from ((f"too low: {what}", str(size)) for what in window.execute_script(_LOW))
        if size == DISPLAY:
            for script in (_SMALL_LETTERS, _BROKEN, _CUT):
                yield from ((what, str(size)) for what in window.execute_script(script))


def board_place(window: WebDriver, stop: Stop, game: str, places: set[tuple[int, ...]]) -> Found:
    """Check the board of a table screen: large, above the sign, and at the same place as before."""
    place = window.execute_script(_PLACE)
    if not place or not stop.name.startswith(tuple(f"{game}-{state}" for state in IN_PLAY)):
        return
    places.add(tuple(place))
    if len(places) > 1:
        yield f"the board moves: {sorted(places)}", ""
    _, top, width, height, sign = place
    if width * height < LEAST_SHARE.get(game, 0.33) * SIZES["screen"][0] * SIZES["screen"][1]:
        yield f"a small board: {width} x {height} px", ""
    if top + height >= sign or (width <= height and game != "arena"):
        yield f"the board lies badly: {place}", ""
    resize(window, NARROW)
    if not window.execute_script(_STANDS):
        yield "the board does not stand", str(NARROW)


def wide(window: WebDriver) -> Found:
    """Check that the open page never scrolls sideways on a tablet. It is laid out but not drawn."""
    window.execute_script(_DRAWN, "hidden")
    resize(window, (TABLET[0], 900))
    yield from ((what, "") for what in window.execute_script(_WIDE))
    window.execute_script(_DRAWN, "")


def new_kinds(window: WebDriver, stop: Stop, known: set[str]) -> list[str]:
    """Return the kinds of parts on the open page that are new, and its own path if that is new."""
    fresh = sorted({*window.execute_script(_KINDS), alike(stop.path)} - known)
    known |= set(fresh)
    # it lets no script in, and both pages that it shows are stops themselves
    return [] if stop.path == "/here" else fresh


def violations(window: WebDriver, stop: Stop, size: tuple[int, int], kinds: list[str]) -> Found:
    """Yield what axe finds on parts of these kinds on the open page, and on all of a new page."""
    window.execute_async_script(_LOAD_AXE)
    parts_in_light = None if alike(stop.path) in kinds else kinds
    for theme, parts, rules in (("light", parts_in_light, {}), ("dark", kinds, CONTRAST)):
        if theme == "dark":
            set_size_and_theme(window, size, theme)
        yield from ((what, theme) for what in window.execute_async_script(_AXE, parts, rules))
        if stop.name.endswith("-screen"):
            has_read_sign, weak = window.execute_async_script(_AFAR)
            yield from ((f"from afar: {what}", theme) for what in weak)
            if not has_read_sign:
                yield "from afar: the sign was not read at all", theme


def nothing_wrong(
    window: WebDriver, walk: Walk, stops: Iterable[Stop], game: str, known: set[str]
) -> None:
    """Look at all these pages and tell everything at once; `known` are the kinds of parts that
    others had.
    """
    found: dict[str, list[str]] = defaultdict(list)
    places: set[tuple[int, ...]] = set()
    for stop in stops:
        for what, where in looked_at(window, walk, stop, game, known, places):
            found[what].append(f"{stop.name} {where}")
        if stop.name.endswith(
            "-watch"
        ):  # the last page of its state: none follows the game to the next one
            window.get("about:blank")
    told = [
        f"{what}\n    on {', '.join(where[:4])} ({len(where)})" for what, where in found.items()
    ]
    assert not told, "\n".join(told)


@pytest.fixture(scope="module")
def known() -> set[str]:
    """What kinds of parts the pages of the games before had."""
    return set()


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_every_page_in_every_state(game: str, window: WebDriver, axe: str, known: set[str]) -> None:
    """Pages that belong to no game are looked at along with the first, and so are all of
    spectators and those of a game against the machine.
    """
    is_first = game in FIRST
    with touring_with_axe(axe) as tour:
        stops = (
            stop
            for stop in tour.stops((game,), machines=FIRST)
            if (is_first and not stop.name.endswith("-north"))
            or (stop.name.startswith(game) and stop.name.endswith(OF_EACH_GAME))
        )
        nothing_wrong(window, tour, stops, game, known)


def at_table(tour: Tour, game: str = "") -> None:
    """Seat Mara and Jonas, and begin a game where one is wanted."""
    for seat, name in ((Seat.SOUTH, "Mara"), (Seat.NORTH, "Jonas")):
        tour.client.post(f"/api/seat/{seat}/take", name=name)
    if game:
        tour.table.new_game(game, dict(GAMES[game].presets[-1].options), 7)


def look(
    window: WebDriver, tour: Tour, path: str, size: tuple[int, int], language: str = "en"
) -> None:
    """Open a page in a size, and wait until all of it is there."""
    set_size_and_theme(window, size, "light")
    visit(window, tour, Stop(path, path), language)
    heard(window, Stop(path, path))


_MOVED = """
window.moved = [];
window.OscillatorNode = class { constructor() { window.moved.push('a tone'); } };
localStorage.setItem('voice', 'on');
document.addEventListener('shown', () => setTimeout(() => window.moved.push(...document.getAnimations()
  .map(each => `${each.animationName ?? each.transitionProperty ?? 'a script'} of ${each.effect.target.outerHTML.slice(0, 80)}`))));
"""
# Games whose table screens are looked at step by step, and the size.
WALLS = {"kahmate": UPRIGHT, "binmat": UPRIGHT}


@pytest.mark.parametrize("game", GAMES)
def test_steps_up_to_the_end_move_nothing_at_night(window: WebDriver, game: str) -> None:
    """Nothing else than what a step is about jumps; in stillness and quiet hours nothing is
    animated or sounds.
    """
    found: list[str] = []
    with open_tour() as tour:
        at_table(tour)
        night = QuietSettings("00:00", "00:00")
        tour.companion.use_settings(msgspec.structs.replace(tour.companion.settings, quiet=night))
        for path in ("/", "/seat/south"):
            tour.table.new_game(game, dict(GAMES[game].presets[-1].options), 7)
            look(window, tour, path, PHONE if path != "/" else WALLS.get(game, SIZES["screen"]))
            window.execute_script(_MOVED)
            for step in range(LAST_STEP + 1):
                window.execute_script("window.shifts = []; window.heard = false")
                if step < LAST_STEP and tour.table.view().phase is not Phase.OVER:
                    tour.go_on()
                elif tour.table.view().phase is not Phase.OVER:
                    tour.table.resign(Seat.NORTH)
                else:
                    break
                until("the step", lambda: window.execute_script("return window.heard"))
                shift, what = window.execute_async_script(_SHIFT)
                if shift > MOST_SHIFT:
                    found.append(f"{path} {step}: {shift:.3f} {what}")
            found += window.execute_script("return window.moved")
            if path == "/":
                assert window.find_element("id", "hush").text == "Quiet all day"
    assert found == []


_UNDER_HELP = """
const edge = document.querySelector('.help .go').getBoundingClientRect();
return [...document.querySelectorAll('.help li, .help .pair .key')].filter(each => {
  const { top, bottom } = each.getBoundingClientRect();
  return top < edge.bottom - 1 && bottom > edge.top + 1;
}).map(each => each.innerText);
"""
_ON_BOARD = """
return document.querySelector('.help-wall').getBoundingClientRect().top
  - Math.max(...[...document.querySelectorAll('.view .lab')].map(each => each.getBoundingClientRect().bottom));
"""


_OVER_FACTS = """
return document.querySelector('.help-wall').getBoundingClientRect().top
  - document.querySelector('.facts').getBoundingClientRect().top;
"""
_BESIDE_HELP = """
const key = document.querySelector('button.sign'), box = key.getBoundingClientRect();
const rows = [...document.querySelectorAll('.help-wall li')].map(each => each.getBoundingClientRect().bottom);
return key.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)) && Math.max(...rows) <= box.top;
"""


def test_help_hides_nothing_or_all(window: WebDriver) -> None:
    """On a low phone its last key lies on no row. On an upright table screen it keeps off the
    letters of the board and leaves nothing of what stands below; the sign stands below it, which
    starts the clock.
    """
    with open_tour() as tour:
        at_table(tour, "arena")
        while tour.table.view().phase is not Phase.ORDERS:
            tour.go_on()
        for size in ((667, 375), SMALLEST):
            look(window, tour, "/seat/south", size)
            window.execute_script("document.querySelector('.ask').click()")
            is_open = "return !document.getElementById('help').hidden"
            until("the help", lambda is_open=is_open: window.execute_script(is_open))
            assert window.execute_script(_UNDER_HELP) == [], size
        tour.table.show_help(True)
        for size in (UPRIGHT, TABLET):
            look(window, tour, "/", size)
            assert window.execute_script(_ON_BOARD) > 0, size
            assert window.execute_script(_OVER_FACTS) <= 1, size
        tour.table.abandon()
        tour.table.begin_lesson("scouts")
        tour.table.confirm("host", tour.table.view().moment, 0, force=True)
        tour.table.skip_lesson("host")
        tour.table.show_help(True)
        for size in (LAPTOP, UPRIGHT):
            look(window, tour, "/", size)
            assert window.execute_script(_BESIDE_HELP), size


def test_one_phone_for_both_needs_no_scrolling(window: WebDriver) -> None:
    """From the placing, after which hands move many pieces, to the first orders."""
    with open_tour() as tour:
        tour.client.send("/pass", b"south=Mara&north=Jonas")
        tour.table.new_game("kahmate", dict(GAMES["kahmate"].presets[-1].options), 7)
        for _ in range(6):
            look(window, tour, "/pass", SMALLEST, "fr")
            phase = tour.table.view().phase
            assert window.execute_async_script(_HEIGHT) <= SMALLEST[1], phase
            tour.go_on()


_UNDER = """
const { left, top, width, height } = document.getElementById('scrub').getBoundingClientRect();
return document.elementFromPoint(left + width / 2, top + height / 2)?.id;
"""


def test_every_scene_of_a_replay_has_its_drawings(window: WebDriver) -> None:
    with open_tour() as tour:
        at_table(tour, "outbuffered")
        while tour.table.view().phase is not Phase.OVER:
            tour.go_on()
        look(window, tour, "/history/1", PHONE)
        script = "return document.querySelector('.replay').dataset.places"
        for place in range(int(window.execute_script(script))):
            key = "next" if place else "first"
            window.execute_script("document.getElementById(arguments[0]).click()", key)
            until("the scene", lambda place=place: window.current_url.endswith(f"?at={place}"))
            until("its drawings", lambda: window.execute_script(_MISSING) == [])
        look(window, tour, "/history/1", TABLET, "es")
        window.execute_async_script(_HEIGHT)
        covers = "keys or marks lie over the bar of the replay"
        assert window.execute_script(_UNDER) == "scrub", covers


_LOW = """
return [...document.querySelectorAll('main .key, #to-seat')].filter(each => each.checkVisibility({ visibilityProperty: true })
  && each.getBoundingClientRect().height < 44).map(each => each.innerText);
"""


def test_twice_the_text_makes_no_page_wider(window: WebDriver) -> None:
    size = (
        "return parseFloat(getComputedStyle(document.querySelector('.rules section > p')).fontSize)"
    )
    with open_tour() as tour:
        set_size_and_theme(window, PHONE, "light")
        for path in ("/kit", "/join", "/host/health", "/rules/binmat"):
            visit(window, tour, Stop(path, path, is_guest=True), "fr")
            before = window.execute_script(size) if "/rules" in path else 0
            window.execute_script(_TWICE)
            window.execute_async_script(_HEIGHT)
            wide = window.execute_script("return document.documentElement.scrollWidth")
            assert wide <= PHONE[0], path
        assert window.execute_script(size) == 2 * before, "what one has to read grows along"


_BROKEN_KEYS = """
const range = document.createRange(), broken = [];
for (const key of document.querySelectorAll('.phone .key')) {
  if (!key.checkVisibility()) continue;
  const texts = document.createTreeWalker(key, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) for (const { 0: word, index } of texts.currentNode.data.matchAll(/[^\\s\\u00ad-]+/g)) {
    range.setStart(texts.currentNode, index + (texts.currentNode.data[index - 1] === '\\u00ad')); // its hyphen is no part
    range.setEnd(texts.currentNode, index + word.length);
    if (new Set([...range.getClientRects()].map(each => Math.round(each.top))).size > 1) broken.push(word);
  }
}
return [...broken, ...[document.documentElement.scrollWidth].filter(each => each > innerWidth)];
"""
