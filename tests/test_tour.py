"""No page is left out of the walk: screenshots and the checks of the browser look at every one that
there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from http.cookiejar import CookieJar

from flask import Flask
from internals import app_of
from tour import NOWHERE, Stop, open_table_tour
from tour_hub import HUB_KEY, open_hub_tour, open_pair_tour

from web.static_files import STATIC

# Values for the parts of an address.
EXAMPLES = {
    "seat": "south",
    "page": "watch",
    "form": "json",
    "letter": "s",
    "number": "1",
    "game": "1",
    "turn": "1",
    "place": "1",
}
# Addresses of files, streams and parts of pages. Where the examples lead to none, a page says so.
NO_PAGES = {
    "/history/<int:number>/scene/<int:place>",
    "/history/<int:number>/turn/<int:turn>/better",
    "/kit/<name>.pdf",
    "/live/seat/<any(south, north):seat>",
    "/static/<version>/<name>",
}
NO_PAGES_OF_THE_HUB = {"/card/<code>", "/static/<version>/<name>"}


def routes_without_stop(app: Flask, stops: Iterable[Stop], key: str) -> set[str]:
    """Return the routes that no stop visits and that give the host's browser a whole page."""
    addresses = app.url_map.bind("127.0.0.1")
    visited = {
        addresses.match(stop.path.partition("?")[0])[0] for stop in stops if stop.path != NOWHERE
    }
    browser, rules = app.test_client(), set()
    for rule in app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()) or rule.endpoint in visited:
            continue
        path = re.sub(r"<(?:[^<>]*:)?(\w+)>", lambda part: EXAMPLES.get(part[1], "x"), str(rule))
        with browser.get(path, headers={"Accept": "text/html", "X-Host-Key": key}) as answer:
            if answer.mimetype == "text/html" and b"<body" in answer.get_data():
                rules.add(str(rule))
    return rules


PATH = "/table"
# An address of this server that a browser follows by itself. Scripts put the site's path before
# all others.
OWN_ADDRESS = re.compile(
    r"""\b(?:href|src|action|formaction)=["']?(/[^"'>\s]*)|url\(["']?(/[^"')]*)"""
)
# What a browser waits for before it draws a page, so that nothing jumps on a slow line.
WHOLE = re.compile(r'<link rel="expect" href="#(\w+)" blocking="render">')
# Code and styles inside a page, and what a browser fetches from elsewhere. The headers of pages
# forbid them.
UNSAFE = re.compile(
    r"""<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|(?:src|href)="(?:https?:)?//"""
)


# The script that makes a key rest when it appears under a finger or in the place of another one.
RESTS = '/early.js"></script>'
KEYS = "|".join(
    re.findall(
        r"\.([\w-]+)", re.findall(r"KEYS = ':is\((.*?)\)", (STATIC / "early.js").read_text())[0]
    )
)
# What that script takes for a key. A link changes the language or goes to another page.
IS_KEY = re.compile(rf'class="(?:[^"]* )?(?:{KEYS}|link)[ "]')
SENDS = re.compile(r"<button(?![^>]*type=.button)[^>]*>|<[^>]* data-post=[^>]*>")


def page_faults(
    app: Flask, stops: Iterable[Stop], jar: CookieJar, past_stops: list[Stop]
) -> Iterator[str]:
    """Yield addresses without the site's path, code inside pages, and keys that never rest, with
    their stop.
    """
    browser = app.test_client(use_cookies=False)
    for stop in stops:
        past_stops.append(stop)
        headers = {"Accept": "text/html"}
        if not stop.is_guest:
            headers["Cookie"] = "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)
        asked = {"SCRIPT_NAME": PATH}
        with browser.get(stop.path, headers=headers, environ_overrides=asked) as answer:
            page = answer.get_data(as_text=True)
        yield from (f"{stop.name}: {code}" for code in UNSAFE.findall(page))
        last = WHOLE.search(page)
        is_whole = last is not None and f'id="{last[1]}"' in page
        if not is_whole and stop.path != "/here":  # which only holds two other pages
            yield f"{stop.name}: drawn before all of it has come"
        if RESTS not in page and stop.path != "/here":
            yield f"{stop.name}: its keys do not rest"
        yield from (f"{stop.name}: {key}" for key in SENDS.findall(page) if not IS_KEY.search(key))
        addresses = [one or other for one, other in OWN_ADDRESS.findall(page)]
        assert addresses, (stop, answer.location)
        for address in addresses:
            if not f"{address}/".startswith(f"{PATH}/"):
                yield f"{stop.name}: {address}"


def test_scripts_ask_for_no_address_without_the_path() -> None:
    bare = re.compile(
        r"""(?:fetch|EventSource|replace|assign|replaceState)\([^`'"]*[`'"]/"""
        r"""|(?:href|src) = [`'"]/"""
    )
    found = {path.name: bare.findall(path.read_text()) for path in STATIC.glob("*.js")}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_every_page_is_a_whole_stop() -> None:
    with open_pair_tour() as tables:
        past_stops = list(tables.stops(("outbuffered",)))
    with open_table_tour() as tour:
        app = app_of(tour.companion.server)
        stops = tour.stops(machines=("outbuffered",))
        assert list(page_faults(app, stops, tour.client.jar, past_stops)) == []
        assert routes_without_stop(app, past_stops, tour.companion.host_key) == NO_PAGES


def test_every_page_of_the_hub_is_a_stop() -> None:
    with open_hub_tour() as hub:
        app, past_stops = app_of(hub.server), list[Stop]()
        assert list(page_faults(app, hub.stops(), hub.client.jar, past_stops)) == []
        assert routes_without_stop(app, past_stops, HUB_KEY) == NO_PAGES_OF_THE_HUB
