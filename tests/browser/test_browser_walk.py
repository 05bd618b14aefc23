"""One walk through every page in every state: nothing that axe finds, no drawing missing, nothing that jumps or is cut.

Every state is looked at once, on a phone, a low phone, the smallest phone and the table screen: in French, whose sentences
are the longest, or in German, whose words are. All other looks are in `make screenshots`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec
import pytest
from flask import Response
from history_tools import SHORT
from inside import app_of
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, too_wide, until
from tour import SIZES, Stop, Tour, Walk, cdp, dress, resize, touring, visit

from companion.core.config import QuietSettings
from companion.core.i18n import LANGUAGES
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
_AXE = """
const [more, done] = arguments;
axe.run(document, { resultTypes: ['violations'], preload: false, ...more }).then(
  found => done(found.violations.flatMap(v => v.nodes.slice(0, 3).map(
    n => `${v.id}: ${n.html.slice(0, 160)} (${n.any.concat(n.all, n.none).map(c => c.message).join('; ').slice(0, 200)})`))),
  error => done([`axe itself: ${error}`]));
"""
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
"""All of axe's rules that a theme can break."""
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
"""Contrast AAA of the sign and of everything at least as large as `--w-lead`: what is smaller is for near."""
SMALL = (320, 640)
SMALLEST = (320, 568)
LOW = (360, 640)
IN_SIGHT = ("lesson", "setup", "orders", "stages", "over")
"""The states in which the page of a seat or a spectator must fit on a phone."""
WIDTHS = (768, 1366)
MOST_SHIFT = 0.05
SLOW_BYTES_PER_S = 20_000
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
_FROM_THE_START = """
document.addEventListener('shown', () => { window.heard = true });
window.shifts = [];
new PerformanceObserver(list => window.shifts.push(...list.getEntries())).observe({ type: 'layout-shift', buffered: true });
"""
"""Shifts after "recent input" count: nobody touches a page here, and Chromium takes a window's new size for input."""
_SHIFT = """
const [done] = arguments;
requestAnimationFrame(() => setTimeout(() => {
  const worst = window.shifts.toSorted((one, other) => other.value - one.value)[0];
  const node = worst?.sources?.[0]?.node;
  done([window.shifts.reduce((sum, each) => sum + each.value, 0), node ? `${node.nodeName}.${node.className ?? ''}` : '']);
}));
"""
_EVENING = """
const strip = document.querySelector('.strip');
for (let number = 0; number < 30; number++) strip.append(strip.firstElementChild.cloneNode(true));
"""
_HEIGHT = """
const [done] = arguments;
requestAnimationFrame(() => requestAnimationFrame(() => done(document.scrollingElement.scrollHeight)));
"""
"""Once scripts have moved what they place by hand."""
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
"""Words that stand on two lines, where nothing says that they may."""
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
SLACK_PX = 4
"""Ascenders and descenders reach beyond a line."""
UPRIGHT, TABLET, LAPTOP = (1080, 1920), (768, 1024), (1366, 768)
DISPLAY = SIZES["display"]
TABLE_SCREENS = {
    "outbuffered": (UPRIGHT, TABLET, DISPLAY),
    "scouts": (UPRIGHT, DISPLAY),
    "arena": (DISPLAY,),
    "kahmate": (TABLET, LAPTOP, DISPLAY),
    "binmat": (UPRIGHT, TABLET, LAPTOP, DISPLAY),
    "lobby": (UPRIGHT, TABLET, LAPTOP, DISPLAY),
    "chosen": (DISPLAY,),
}
"""Sizes in which no part of the table screen lies on another one or outside."""
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
"""Words under 12 px, outside of pictures, and a page that scrolls."""
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
LONGEST = {"scouts": "de", "arena": "de", "kahmate": "de"}
"""In which language the pages of a game have to fit; all others: in French."""
SEATS_ON_LAPTOPS = ("outbuffered", "binmat")
"""Games whose seats' pages are laid out on a laptop: the board as tall as the window, all keys beside it."""
_SMALLEST = """
const heads = [...document.querySelectorAll('.top > span')].filter(each => each.scrollWidth > each.clientWidth + 1);
const low = [...document.querySelectorAll('#commit')].filter(each => each.getBoundingClientRect().height < 48);
return [...heads.map(each => `cut: ${each.innerText}`), ...low.map(each => `too low for a finger: ${each.innerText}`)];
"""

Found = Iterator[tuple[str, str]]
"""What is wrong with a page, and at which size or in which theme."""


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Page.addScriptToEvaluateOnNewDocument", source=_FROM_THE_START)
        yield opened


@contextmanager
def touring_with_axe(axe: str) -> Iterator[Tour]:
    """A walk whose service has axe too: a page that calls for it takes it from the browser's cache, already compiled."""
    with touring() as tour:
        offer(axe, tour.companion.server)
        yield tour


def offer(axe: str, *servers: Server) -> None:
    """Have these servers offer axe under an address of their own."""
    answer = {"mimetype": "text/javascript", "headers": {"Cache-Control": "max-age=3600"}}
    for server in servers:
        app_of(server).add_url_rule("/axe.js", view_func=lambda: Response(axe, **answer))


def heard(window: WebDriver, stop: Stop) -> None:
    """Wait until the page's stream has said how things stand: what it shows now, scripts have put there."""
    script = "return !document.body.dataset.live || window.heard === true"
    until(f"the stream of {stop.name}", lambda: window.execute_script(script))


def looked_at(window: WebDriver, walk: Walk, stop: Stop, game: str) -> Found:
    """Open a page and yield all that is wrong with it; `game` is what the names of pages with states begin with."""
    # the table screen and the workbench are not made for a phone
    is_large = stop.name.endswith("-screen") or stop.name == "workbench"
    small, usual = (SIZES["screen"], SIZES["screen"]) if is_large else (SMALL, PHONE)
    is_meant_to_fit = stop.name.endswith(("south", "north", "watch")) and stop.name.startswith(
        tuple(f"{game}-{state}" for state in IN_SIGHT)
    )
    dress(window, small, "light")
    visit(window, walk, stop, LONGEST.get(game, "fr"))
    heard(window, stop)
    shift, what = window.execute_async_script(_SHIFT)
    if shift > MOST_SHIFT:
        yield f"shifts by {shift:.2f}: {what}", ""
    for script in (_MISSING, _CUT, _BROKEN_KEYS):
        yield from ((what, "") for what in window.execute_script(script))
    if is_meant_to_fit:
        yield from below_the_edge(window)
    resize(window, usual)
    window.execute_async_script(_HEIGHT)
    for script in (_TORN, _LYING):
        yield from ((what, "") for what in window.execute_script(script))
    yield from violations(window, stop, usual)
    if stop.path == "/":
        yield from on_table_screens(window, stop)
    yield from wide(window)
    if is_meant_to_fit and stop.path.startswith("/seat/"):
        yield from at_other_sizes(window, game)


def below_the_edge(window: WebDriver) -> Found:
    """An open page of a seat or a spectator on a low phone: its keys and what it is about are in sight."""
    resize(window, LOW)
    if (height := window.execute_async_script(_HEIGHT)) > LOW[1]:
        yield f"scrolls: {height} px high in {LOW[1]}", ""
    yield from ((what, "") for what in window.execute_script(_SMALLEST))


def at_other_sizes(window: WebDriver, game: str) -> Found:
    """An open page of a seat on a laptop, and with letters of twice their size."""
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
    """An open table screen at other sizes; all that is to be set up is also seen on a laptop and an upright screen."""
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


def wide(window: WebDriver) -> Found:
    """The open page at every width: it never scrolls sideways. It is laid out, and nobody waits until it is drawn."""
    window.execute_script(_DRAWN, "hidden")
    for width in WIDTHS:
        resize(window, (width, 900))
        yield from ((what, "") for what in window.execute_script(_WIDE))
    window.execute_script(_DRAWN, "")


def violations(window: WebDriver, stop: Stop, size: tuple[int, int]) -> Found:
    """Yield what axe finds on the open page, unless the page lets no script in."""
    if stop.path == "/here":  # both pages that it shows are stops themselves
        return
    window.execute_async_script(_LOAD_AXE)
    for theme, rules in (("light", {}), ("dark", CONTRAST)):
        dress(window, size, theme)
        yield from ((what, theme) for what in window.execute_async_script(_AXE, rules))
        if stop.name.endswith("-screen"):
            has_read_sign, weak = window.execute_async_script(_AFAR)
            yield from ((f"from afar: {what}", theme) for what in weak)
            if not has_read_sign:
                yield "from afar: the sign was not read at all", theme


def lie_down(window: WebDriver) -> None:
    """Make the window a phone that lies on its side."""
    size = {"width": PHONE[1], "height": PHONE[0]}
    cdp(window, "Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=True)


def nothing_wrong(window: WebDriver, walk: Walk, stops: Iterable[Stop], game: str) -> None:
    """Look at all these pages and tell everything at once."""
    found: dict[str, list[str]] = defaultdict(list)
    for stop in stops:
        for what, where in looked_at(window, walk, stop, game):
            found[what].append(f"{stop.name} {where}")
        if stop.name.endswith(
            "-watch"
        ):  # the last page of its state: none follows the game to the next one
            window.get("about:blank")
    told = [
        f"{what}\n    on {', '.join(where[:4])} ({len(where)})" for what, where in found.items()
    ]
    assert not told, "\n".join(told)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("game", GAMES)
def test_every_page_in_every_state(game: str, window: WebDriver, axe: str) -> None:
    """Pages that belong to no game are looked at along with the first."""
    is_first = game == next(iter(GAMES))
    with touring_with_axe(axe) as tour:
        stops = (
            stop
            for stop in tour.stops((game,))
            if is_first or (stop.name.startswith(game) and not stop.name.endswith("-north"))
        )
        nothing_wrong(window, tour, stops, game)


def test_a_small_window_is_led_to_a_seat_on_its_side_too(window: WebDriver) -> None:
    with touring() as tour:
        lie_down(window)
        visit(window, tour, Stop("lobby", "/", is_guest=True), "fr")
        shown = (
            "return ['.door', '.page'].map(each => document.querySelector(each).checkVisibility())"
        )
        assert window.execute_script(shown) == [True, False]


def test_what_is_too_wide_for_a_phone_is_found(window: WebDriver) -> None:
    """Such a page makes an emulated phone's `innerWidth` larger."""
    with touring() as tour:
        dress(window, SMALL, "light")
        visit(window, tour, Stop("join", "/join", is_guest=True))
        assert [*window.execute_script(_CUT), *window.execute_script(_WIDE)] == []
        script = "const p = document.createElement('p'); p.append('x'); p.style.width = '640px'; document.body.append(p)"
        window.execute_script(script)
        assert window.execute_script(_CUT) == ["the page is 640 px wide"]
        assert window.execute_script(_WIDE) == ["640 px wide in 320: P."]
        assert too_wide(window) == SMALL[0]


IN_PIECES = ("binmat-lesson-south", "replay")


def test_a_page_that_comes_in_pieces_does_not_move(window: WebDriver) -> None:
    """On a slow line, or where the browser is busy, half a page has come when it could be drawn: it is drawn whole."""
    line = {"offline": False, "latency": 5, "uploadThroughput": -1}
    shifts = {}
    with touring() as tour:
        dress(window, PHONE, "light")
        cdp(window, "Network.enable")
        for stop in tour.stops(("binmat",), machines=()):
            if stop.name not in IN_PIECES:
                continue
            cdp(window, "Network.clearBrowserCache")
            cdp(
                window,
                "Network.emulateNetworkConditions",
                downloadThroughput=SLOW_BYTES_PER_S,
                **line,
            )
            try:
                visit(window, tour, stop)
                heard(window, stop)
                shifts[stop.name] = window.execute_async_script(_SHIFT)
            finally:
                cdp(window, "Network.emulateNetworkConditions", downloadThroughput=-1, **line)
    assert set(shifts) == set(IN_PIECES)
    assert not [each for each in shifts.items() if each[1][0] > MOST_SHIFT]


@pytest.mark.parametrize(
    ("game", "size"),
    [
        ("outbuffered", SIZES["screen"]),
        ("arena", PHONE),
        ("kahmate", UPRIGHT),
        ("binmat", UPRIGHT),
    ],
)
def test_a_step_that_follows_another_moves_nothing_else(
    window: WebDriver, game: str, size: tuple[int, int]
) -> None:
    """Not even the end of the game does, where somebody resigns."""
    found = []
    with touring() as tour:
        for seat, name in ((Seat.SOUTH, "Mara"), (Seat.NORTH, "Jonas")):
            tour.client.post(f"/api/seat/{seat}/take", name=name)
        for path in ("/watch", "/seat/south") if size == PHONE else ("/",):
            tour.table.new_game(game, dict(GAMES[game].presets[-1].options), 7)
            dress(window, size, "light")
            visit(window, tour, Stop(path, path))
            heard(window, Stop(path, path))
            for step in range(LAST_STEP + 1):
                if tour.table.view().phase is Phase.OVER:
                    break
                window.execute_script("window.shifts = []; window.heard = false")
                if step < LAST_STEP:
                    tour.go_on()
                else:
                    tour.table.resign(Seat.NORTH)
                until("the step", lambda: window.execute_script("return window.heard"))
                shift, what = window.execute_async_script(_SHIFT)
                if shift > MOST_SHIFT:
                    found.append(f"{path} {step}: {shift:.3f} {what}")
            if tour.table.view().phase is not Phase.OVER:
                tour.table.abandon()
    assert found == []


_MOVED = """
window.moved = [];
window.OscillatorNode = class { constructor() { window.moved.push('a tone'); } };
localStorage.setItem('voice', 'on');
document.addEventListener('shown', () => setTimeout(() => window.moved.push(...document.getAnimations()
  .map(each => `${each.animationName ?? each.transitionProperty ?? 'a script'} of ${each.effect.target.outerHTML.slice(0, 80)}`))));
"""


@pytest.mark.parametrize("game", GAMES)
def test_in_stillness_and_at_night_nothing_moves_or_sounds_up_to_the_end(
    window: WebDriver, game: str
) -> None:
    """Where reduced motion is asked for, in quiet hours: steps are shown one after the other all the same."""
    with touring() as tour:
        for seat, name in ((Seat.SOUTH, "Mara"), (Seat.NORTH, "Jonas")):
            tour.client.post(f"/api/seat/{seat}/take", name=name)
        tour.companion.use(
            msgspec.structs.replace(tour.companion.settings, quiet=QuietSettings("00:00", "00:00"))
        )
        for path in ("/", "/seat/south"):
            tour.table.new_game(game, SHORT[game], 7)
            dress(window, PHONE if path == "/seat/south" else SIZES["screen"], "light")
            visit(window, tour, Stop(path, path))
            heard(window, Stop(path, path))
            window.execute_script(_MOVED)
            stages = 0
            while stages < LAST_STEP and tour.table.view().phase is not Phase.OVER:
                window.execute_script("window.heard = false")
                tour.go_on()
                stages += tour.table.view().phase is Phase.STAGES
                until("the step", lambda: window.execute_script("return window.heard"))
            tour.table.resign(Seat.NORTH)
            until(
                "the end",
                lambda: window.execute_script("return !!document.querySelector('.finale')"),
            )
            assert window.execute_async_script(_SHIFT)
            assert window.execute_script("return window.moved") == []
            if path == "/":
                assert window.find_element("id", "hush").text == "Quiet all day"


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


def test_help_hides_nothing_or_all(window: WebDriver) -> None:
    """On a low phone its last key lies on no row. On an upright table screen it keeps off the letters of the board and
    leaves nothing of what stands below.
    """
    with touring() as tour:
        tour.client.post("/api/seat/south/take", name="Mara")
        tour.table.new_game("arena", {}, 7)
        while tour.table.view().phase is not Phase.ORDERS:
            tour.go_on()
        for size in ((667, 375), (844, 390), SMALLEST):
            dress(window, size, "light")
            visit(window, tour, Stop("south", "/seat/south"))
            heard(window, Stop("south", "/seat/south"))
            window.execute_script("document.querySelector('.ask').click()")
            until(
                "the help",
                lambda: window.execute_script("return !document.getElementById('help').hidden"),
            )
            assert window.execute_script(_UNDER_HELP) == [], size
        tour.table.help(True)
        for size in (UPRIGHT, TABLET):
            dress(window, size, "light")
            visit(window, tour, Stop("help", "/"))
            assert window.execute_script(_ON_BOARD) > 0, size
            assert window.execute_script(_OVER_FACTS) <= 1, size


_BESIDE_HELP = """
const key = document.querySelector('button.sign'), box = key.getBoundingClientRect();
const rows = [...document.querySelectorAll('.help-wall li')].map(each => each.getBoundingClientRect().bottom);
return key.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)) && Math.max(...rows) <= box.top;
"""


def test_the_key_that_starts_the_clock_stands_below_help(window: WebDriver) -> None:
    """It is the sign."""
    with touring() as tour:
        tour.client.post("/api/seat/south/take", name="Mara")
        tour.table.begin_lesson("scouts")
        tour.table.confirm("host", tour.table.view().moment, 0, force=True)
        tour.table.skip_lesson("host")
        tour.table.help(True)
        for size in (SIZES["screen"], LAPTOP, UPRIGHT, (1024, 768)):
            dress(window, size, "light")
            visit(window, tour, Stop("help", "/"))
            assert window.execute_script(_BESIDE_HELP), size


_RAYS_OVER = """
const box = each => each.getBoundingClientRect();
const rays = [...document.querySelectorAll('.bounce .rays')].map(box).filter(ray => ray.width);
const lie = [...document.querySelectorAll('.sign, .strip, .top, .steps thead th.now, .tell, .key')].filter(each => each.checkVisibility() && rays.some(ray =>
  ray.left < box(each).right && ray.right > box(each).left && ray.top < box(each).bottom && ray.bottom > box(each).top));
return [rays.length, ...lie.map(each => each.className), ...rays.filter(ray => ray.bottom > innerHeight).map(() => 'the edge')];
"""


def test_what_bounces_off_the_edge_of_the_board_touches_nothing(window: WebDriver) -> None:
    with touring() as tour:
        for seat, name in ((Seat.SOUTH, "Mara"), (Seat.NORTH, "Jonas")):
            tour.client.post(f"/api/seat/{seat}/take", name=name)
        tour.table.new_game("outbuffered", {}, 7)
        tour.go_on()
        for seat in (Seat.SOUTH, Seat.NORTH):
            tour.table.hand_in(seat, tour.table.view().moment, "DII")
        for path, sizes in {
            "/": (SIZES["screen"], UPRIGHT, TABLET, (1024, 768)),
            "/seat/north": (PHONE, LAPTOP, SIZES["screen"]),
            "/seat/south": (PHONE, LAPTOP, SIZES["screen"]),
            "/watch": (PHONE, LAPTOP, SIZES["screen"]),
        }.items():
            for size in sizes:
                dress(window, size, "light")
                visit(window, tour, Stop(path, path))
                assert window.execute_script(_RAYS_OVER) == [2], f"{path} {size}"


_PRESS_OVER = """
const box = each => each.getBoundingClientRect();
const tag = box(document.getElementById('press'));
return [...document.querySelectorAll('.view [data-at]')].map(each => [each.dataset.at, box(each)]).filter(([, piece]) =>
  tag.left < piece.right && tag.right > piece.left && tag.top < piece.bottom && tag.bottom > piece.top).map(([at]) => at);
"""


def test_the_small_sign_of_a_lesson_hides_no_piece_of_a_large_board(window: WebDriver) -> None:
    with touring() as tour:
        tour.client.post("/api/seat/south/take", name="Mara")
        tour.table.begin_lesson("scouts")
        tour.table.confirm("host", tour.table.view().moment, 0, force=True)
        for size in (LAPTOP, SIZES["screen"]):
            dress(window, size, "light")
            visit(window, tour, Stop("lesson", "/seat/south"))
            seen = "return document.getElementById('press')?.hidden === false"
            until("the small sign", lambda script=seen: window.execute_script(script))
            assert window.execute_script(_PRESS_OVER) == [], size


def test_one_phone_for_both_needs_no_scrolling(window: WebDriver) -> None:
    """From the placing, after which hands move many pieces, to the first orders."""
    with touring() as tour:
        tour.client.send("/pass", b"south=Mara&north=Jonas")
        tour.table.new_game("kahmate", dict(GAMES["kahmate"].presets[-1].options), 7)
        dress(window, SMALLEST, "light")
        phases = set()
        for _ in range(6):
            visit(window, tour, Stop("pass", "/pass"), "fr")
            heard(window, Stop("pass", "/pass"))
            phase = tour.table.view().phase
            assert window.execute_async_script(_HEIGHT) <= SMALLEST[1], phase
            phases.add(phase)
            tour.go_on()
        assert len(phases) > 1


def test_every_scene_of_a_replay_has_its_drawings(window: WebDriver) -> None:
    with touring() as tour:
        for stop in tour.stops(("outbuffered",)):
            if stop.name == "replay":
                dress(window, PHONE, "light")
                visit(window, tour, stop)
                places = int(
                    window.execute_script("return document.querySelector('.replay').dataset.places")
                )
                for place in range(places):
                    window.execute_script(
                        f"document.getElementById('{'next' if place else 'first'}').click()"
                    )
                    until(
                        "the scene", lambda place=place: window.current_url.endswith(f"?at={place}")
                    )
                    until("its drawings", lambda: window.execute_script(_MISSING) == [])
                dress(window, TABLET, "light")
                visit(window, tour, stop, "es")
                window.execute_async_script(_HEIGHT)
                assert window.execute_script(_UNDER) == "scrub", (
                    "keys or marks lie over the bar of the replay"
                )
            if stop.name == "health":
                visit(window, tour, stop)
                heard(window, stop)
                window.execute_script(_EVENING)
                assert window.execute_script(_WIDE) == []
                break


_UNDER = """
const { left, top, width, height } = document.getElementById('scrub').getBoundingClientRect();
return document.elementFromPoint(left + width / 2, top + height / 2)?.id;
"""


_LOW = """
return [...document.querySelectorAll('main .key, #to-seat')].filter(each => each.checkVisibility({ visibilityProperty: true })
  && each.getBoundingClientRect().height < 44).map(each => each.innerText);
"""


_HIDDEN = """
scrollTo(0, document.scrollingElement.scrollHeight);
return [...document.querySelectorAll('.elsewhere a, .elsewhere button, .st a')].filter(each => {
  each.scrollIntoView({ block: 'nearest' });
  const [{ left, top, width, height }] = each.getClientRects();
  const hit = document.elementFromPoint(left + width / 2, top + height / 2);
  return !each.contains(hit);
}).map(each => each.innerText);
"""


@pytest.mark.parametrize("size", [(390, 844), (1366, 768)])
def test_no_link_of_the_hosts_page_stays_under_the_sign(
    window: WebDriver, size: tuple[int, int]
) -> None:
    with touring() as tour:
        tour.client.send("/host", f"key={tour.companion.host_key}".encode())
        tour.table.new_game("outbuffered", {}, 7)
        dress(window, size, "light")
        visit(window, tour, Stop("host", "/host"))
        heard(window, Stop("host", "/host"))
        assert window.execute_script(_HIDDEN) == []
        cut = "return [...document.querySelectorAll('.nav, .nav *')].filter(each => each.scrollHeight > each.clientHeight + 2 && getComputedStyle(each).overflowY !== 'visible').length"
        assert window.execute_script(cut) == 0, "the index scrolls inside"


def test_twice_the_text_in_a_browsers_settings_makes_no_page_wider(window: WebDriver) -> None:
    with touring() as tour:
        dress(window, PHONE, "light")
        for path in ("/kit", "/rules/", "/rules/scouts", "/rules/binmat", "/join", "/host/health"):
            visit(window, tour, Stop(path, path, is_guest=True), "fr")
            window.execute_script("document.documentElement.style.fontSize = '200%'")
            window.execute_async_script(_HEIGHT)
            wide = window.execute_script("return document.documentElement.scrollWidth")
            assert wide <= PHONE[0], path
        visit(window, tour, Stop("rules", "/rules/binmat"), "fr")
        size = "return parseFloat(getComputedStyle(document.querySelector('.rules section > p')).fontSize)"
        before = window.execute_script(size)
        window.execute_script("document.documentElement.style.fontSize = '200%'")
        assert window.execute_script(size) == 2 * before, "what one has to read grows along"


_KEYS = """
return [...document.querySelectorAll('.order b')].filter(each => {
  const [{ width }] = each.getClientRects();
  return each.getClientRects().length > 1 || width > each.parentElement.clientWidth || !width;
}).map(each => each.innerText);
"""


def test_a_small_laptop_zoomed_to_twice_its_size_shows_words_on_keys_and_options(
    window: WebDriver,
) -> None:
    with touring() as tour:
        tour.client.post("/api/seat/south/take", name="Mara")
        tour.client.send("/host", f"key={tour.companion.host_key}".encode())
        tour.table.new_game("outbuffered", {}, 7)
        dress(window, (640, 400), "light")
        visit(window, tour, Stop("host", "/host"), "es")
        below = "return Boolean(document.elementFromPoint(320, 380).closest('.foot'))"
        assert not window.execute_script(below), "the sign covers half of the options"
        tour.table.confirm("host", tour.table.view().moment, 0, force=True)
        visit(window, tour, Stop("south", "/seat/south"), "es")
        assert window.execute_script(_KEYS) == []
        lines = "return [...document.querySelectorAll('.order b')].map(each => each.offsetHeight)"
        assert max(window.execute_script(lines)) < 24, "a word is broken"


def test_the_sign_of_an_upright_lobby_stands_between_its_tips(window: WebDriver) -> None:
    with touring() as tour:
        dress(window, UPRIGHT, "light")
        visit(window, tour, Stop("lobby", "/"), "fr")
        rooms = window.execute_script(
            "const sign = document.querySelector('.page > .sign'), range = document.createRange();"
            "range.selectNodeContents(sign.querySelector('span'));"
            "const [outer, inner] = [sign.getBoundingClientRect(), range.getBoundingClientRect()];"
            "return [inner.left - outer.left, outer.right - inner.right]"
        )
        assert min(rooms) >= 50


_CAPTIONS = """
return [...document.querySelectorAll('figcaption')].filter(each => {
  const box = each.getBoundingClientRect(), next = each.closest('.top-part, section').nextElementSibling;
  return next && box.bottom > next.getBoundingClientRect().top;
}).map(each => each.innerText);
"""


_BROKEN_SUMS = """
return [...document.querySelectorAll('.adds')].filter(each =>
  each.lastElementChild.offsetTop >= each.querySelector('b').offsetTop + each.querySelector('b').offsetHeight).length;
"""


def test_no_caption_lies_on_the_next_part(window: WebDriver) -> None:
    with touring() as tour:
        for game in GAMES:
            visit(window, tour, Stop("rules", f"/rules/{game}"))
            for size in ("phone", "tablet", "laptop"):
                resize(window, SIZES[size])
                assert not window.execute_script(_CAPTIONS), (game, size)
        for language in LANGUAGES:
            visit(window, tour, Stop("rules", "/rules/binmat"), language)
            for size in ("phone", "tablet", "laptop"):
                resize(window, SIZES[size])
                assert not window.execute_script(_BROKEN_SUMS), (language, size)


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


def test_on_a_low_phone_lying_on_its_side_no_arrow_lies_on_its_letter(window: WebDriver) -> None:
    with touring() as tour:
        tour.client.post("/api/seat/south/take", name="Mara")
        tour.table.new_game("outbuffered", {}, 7)
        tour.table.confirm("host", tour.table.view().moment, 0, force=True)
        dress(window, (667, 331), "light")
        visit(window, tour, Stop("south", "/seat/south"), "es")
        rooms = "return [...document.querySelectorAll('.order')].map(each => each.querySelector('.ic').getBoundingClientRect().left - each.querySelector('.leg').getBoundingClientRect().right)"
        assert min(window.execute_script(rooms)) >= 0


def test_two_attacks_stand_whole_on_the_table_screen(window: WebDriver) -> None:
    with touring() as tour:
        table = tour.table
        table.begin_lesson("arena")
        table.confirm("host", table.view().moment, 0, force=True)
        table.skip_lesson("host")
        for south, north in (("1:N 2:N 3:N", "1:S 2:D 3:S"), ("1:D 2:aN 3:N", "1:D 2:aS 3:D")):
            for seat, orders in ((Seat.SOUTH, south), (Seat.NORTH, north)):
                table.hand_in(seat, table.view().moment, orders)
            while (
                view := table.view()
            ).phase is Phase.STAGES and "attacks" not in view.turn.events[0].text:
                tour.client.post("/workbench/tidy")
                for _ in range(5):
                    tour.clock.advance(0.5)
                    tour.companion.step()
        dress(window, SIZES["screen"], "light")
        visit(window, tour, Stop("attacks", "/"))
        assert window.execute_script(_CUT_FROM_AFAR, SLACK_PX) == []
