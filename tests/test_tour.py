"""No page is left out of the walk: screenshots and the checks of the browser look at every one that there is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from flask import Flask
from inside import app_of
from tour import NOWHERE, Stop, touring
from tour_hub import HUB_KEY, touring_hub, touring_tables

EXAMPLES = {
    "seat": "south",
    "page": "watch",
    "form": "json",
    "number": "1",
    "game": "1",
    "turn": "1",
    "place": "1",
}
"""What stands in an address for its parts."""
NO_PAGES = {
    "/camera/settled/<int:number>.jpg",
    "/history/<int:number>/scene/<int:place>",
    "/history/<int:number>/turn/<int:turn>.webp",
    "/history/<int:number>/turn/<int:turn>/better",
    "/kit/<name>.pdf",
    "/live/seat/<any(south, north):seat>",
    "/static/<version>/<name>",
}
NO_PAGES_OF_THE_HUB = {"/card/<code>", "/static/<version>/<name>"}
"""Files, streams and parts of pages for whose examples there is only a page that says so."""


def unvisited(app: Flask, stops: Iterable[Stop], key: str) -> set[str]:
    """The routes that are the path of no stop and answer the host's browser with a whole page."""
    addresses = app.url_map.bind("127.0.0.1")
    visited = {
        addresses.match(stop.path.partition("?")[0])[0] for stop in stops if stop.path != NOWHERE
    }
    browser, found = app.test_client(), set()
    for rule in app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()) or rule.endpoint in visited:
            continue
        path = re.sub(r"<(?:[^<>]*:)?(\w+)>", lambda part: EXAMPLES.get(part[1], "x"), str(rule))
        with browser.get(path, headers={"Accept": "text/html", "X-Host-Key": key}) as answer:
            if answer.mimetype == "text/html" and b"<body" in answer.get_data():
                found.add(str(rule))
    return found


def test_every_page_of_the_companion_is_a_stop() -> None:
    with touring_tables() as tables:
        stops = list(tables.stops(("outbuffered",)))
    with touring() as tour:
        stops += tour.stops(("outbuffered",))
        assert unvisited(app_of(tour.companion.server), stops, tour.companion.host_key) == NO_PAGES


def test_every_page_of_the_hub_is_a_stop() -> None:
    with touring_hub() as tour:
        assert unvisited(app_of(tour.server), tour.stops(), HUB_KEY) == NO_PAGES_OF_THE_HUB
