"""Test that the tours of `tour` and `tour_hub` show every page of the program, and test each page.

Screenshots and the checks in browsers follow the same tours, so a page that is missing there would
be checked by nobody. Here pages are fetched with Flask's client, without a browser, and their HTML
is searched by regular expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from http.cookiejar import CookieJar

from flask import Flask
from hub_room import HUB_KEY
from internals import app_of
from tour import NOWHERE, Stop, open_table_tour
from tour_hub import open_hub_tour, open_pair_tour

from web.static_files import STATIC

# An example for each variable part of a route.
EXAMPLE_VALUES = {
    "seat": "south",
    "page": "watch",
    "letter": "s",
    "number": "1",
    "game": "1",
    "turn": "1",
    "place": "1",
    "tournament_id": "1",
}
# Routes that need no stop, because they answer with files and parts of pages. For the example
# values they have only an error page. That is a whole page, so `routes_without_stop` returns them.
TABLE_ROUTES_WITHOUT_PAGE = {
    "/history/<int:number>/scene/<int:place>",
    "/history/<int:number>/turn/<int:turn>/better",
    "/kit/<name>.pdf",
    "/live/seat/<any(south, north):seat>",
    "/static/<version>/<name>",
}
HUB_ROUTES_WITHOUT_PAGE = {"/card/<code>", "/static/<version>/<name>"}


def routes_without_stop(app: Flask, stops: Iterable[Stop], key: str) -> set[str]:
    """Return the routes that no stop visits and that answer the owner with a whole page.

    `key` is the owner key.
    """
    addresses = app.url_map.bind("127.0.0.1")
    visited = {
        addresses.match(stop.path.partition("?")[0])[0] for stop in stops if stop.path != NOWHERE
    }
    browser = app.test_client()
    missing_routes = set()
    for rule in app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()) or rule.endpoint in visited:
            continue
        # put an example in place of each variable part, such as `<any(south, north):seat>`
        path = re.sub(
            r"<(?:[^<>]*:)?(\w+)>", lambda part: EXAMPLE_VALUES.get(part[1], "x"), str(rule)
        )
        with browser.get(path, headers={"Accept": "text/html", "X-Host-Key": key}) as answer:
            if answer.mimetype == "text/html" and b"<body" in answer.get_data():
                missing_routes.add(str(rule))
    return missing_routes


# Path below which a proxy serves the site in these tests. Pages have to lead to addresses below it.
SITE_PATH = "/table"
# An address on this server in an attribute or style, which a browser follows without a script. It
# must begin with the site's path. To other addresses, scripts add that path.
ADDRESS_ON_SERVER = re.compile(
    r"""\b(?:href|src|action|formaction)=["']?(/[^"'>\s]*)|url\(["']?(/[^"')]*)"""
)
# The link that makes a browser wait for an element before it draws the page, so that nothing jumps
# on a slow line. The group is the element's id.
RENDER_BLOCKING_LINK = re.compile(r'<link rel="expect" href="#(\w+)" blocking="render">')
# Scripts and styles inside a page, and files from other servers. The Content-Security-Policy of
# pages forbids them.
FORBIDDEN_CODE = re.compile(
    r"""<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|(?:src|href)="(?:https?:)?//"""
)


# The script that makes a key rest, that is, ignore taps just after it has appeared under a finger
# or replaced another key.
REST_SCRIPT = '/early.js"></script>'
# The classes of the elements that this script takes for keys, from its source.
KEY_CLASSES = "|".join(
    re.findall(
        r"\.([\w-]+)", re.findall(r"KEYS = ':is\((.*?)\)", (STATIC / "early.js").read_text())[0]
    )
)
# One of these classes in a tag, or the class of a link. A link needs no rest, because it only
# changes the language or the page.
KEY_CLASS = re.compile(rf'class="(?:[^"]* )?(?:{KEY_CLASSES}|link)[ "]')
# A button or another element that sends something when it is tapped.
SENDING_ELEMENT = re.compile(r"<button(?![^>]*type=.button)[^>]*>|<[^>]* data-post=[^>]*>")


def page_faults(
    app: Flask, stops: Iterable[Stop], jar: CookieJar, visited_stops: list[Stop]
) -> Iterator[str]:
    """Visit all stops, and yield what is wrong with their pages, each time with the stop's name.

    Faults are addresses without the site's path, code inside a page, a page that may be drawn
    before it is complete, and keys that never rest. Each stop is appended to `visited_stops`.
    """
    browser = app.test_client(use_cookies=False)
    for stop in stops:
        visited_stops.append(stop)
        headers = {"Accept": "text/html"}
        if not stop.is_guest:
            headers["Cookie"] = "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)
        environ = {"SCRIPT_NAME": SITE_PATH}
        with browser.get(stop.path, headers=headers, environ_overrides=environ) as answer:
            page = answer.get_data(as_text=True)
        yield from (f"{stop.name}: {code}" for code in FORBIDDEN_CODE.findall(page))
        # The page /here only frames two other pages, so it has nothing that jumps, and no key.
        link = RENDER_BLOCKING_LINK.search(page)
        waits_for_end = link is not None and f'id="{link[1]}"' in page
        if not waits_for_end and stop.path != "/here":
            yield f"{stop.name}: the browser may draw the page before it is complete"
        if REST_SCRIPT not in page and stop.path != "/here":
            yield f"{stop.name}: the script that makes keys rest is missing"
        yield from (
            f"{stop.name}: {key}"
            for key in SENDING_ELEMENT.findall(page)
            if not KEY_CLASS.search(key)
        )
        addresses = [link or image for link, image in ADDRESS_ON_SERVER.findall(page)]
        assert addresses, f"{stop} has no address on this server, and leads to {answer.location}"
        for address in addresses:
            if not f"{address}/".startswith(f"{SITE_PATH}/"):
                yield f"{stop.name}: {address} is not below {SITE_PATH}"


def test_scripts_add_the_site_path_to_addresses() -> None:
    # an address of this server that begins with / and not with a variable for the site's path
    address_without_path = re.compile(
        r"""(?:fetch|EventSource|replace|assign|replaceState)\([^`'"]*[`'"]/"""
        r"""|(?:href|src) = [`'"]/"""
    )
    addresses_by_script = {
        path.name: address_without_path.findall(path.read_text()) for path in STATIC.glob("*.js")
    }
    assert {name: addresses for name, addresses in addresses_by_script.items() if addresses} == {}


def test_tours_show_every_page_without_fault() -> None:
    # The tour of two tables shows the pages of games with another table, which count as visited.
    with open_pair_tour() as tables:
        visited_stops = list(tables.stops(("outbuffered",)))
    # The tour of one table shows all others, and each of its pages is tested.
    with open_table_tour() as tour:
        app = app_of(tour.companion.server)
        stops = tour.stops(machines=("outbuffered",))
        assert list(page_faults(app, stops, tour.client.jar, visited_stops)) == []
        assert (
            routes_without_stop(app, visited_stops, tour.companion.host_key)
            == TABLE_ROUTES_WITHOUT_PAGE
        )


def test_hub_tour_shows_every_page_without_fault() -> None:
    with open_hub_tour() as hub:
        app = app_of(hub.server)
        visited_stops = list[Stop]()
        assert list(page_faults(app, hub.stops(), hub.client.jar, visited_stops)) == []
        assert routes_without_stop(app, visited_stops, HUB_KEY) == HUB_ROUTES_WITHOUT_PAGE
