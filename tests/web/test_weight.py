"""What pages weigh: the page itself with every style and script that is loaded with it, as it goes over the air."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from tour import Stop, touring

from companion.games import GAMES
from web.static_files import packed, script_words, static_files

MOST = 60_000
"""Bytes at the first load: the page as it is, styles and scripts packed."""
MOST_UNPACKED = 90_000
"""What the browser has to read of it."""
LOADED = re.compile(r'(?:src|href)="/static/\w+/([\w.-]+\.(?:js|css))"')
IMPORTED = re.compile(r'(?:from|import) ?"\./([\w.]+)"')


def parts_of(page: str) -> dict[str, tuple[int, int]]:
    """Every file that is loaded with a page and what it weighs on the air and unpacked, the page as "html".

    A script counts with what it imports; what it only fetches when it is needed (`await import`) does not.
    """
    parts = {"html": (len(page.encode()), len(page.encode()))}
    todo = LOADED.findall(page)
    while todo:
        name = todo.pop()
        if name not in parts:
            content = script_words(name) or static_files()[name]
            parts[name] = (len(packed(content)), len(content))
            todo += IMPORTED.findall(content.decode().replace("'", '"')) if name.endswith(".js") else ()
    return parts


def too_heavy(stop: Stop, parts: Mapping[str, tuple[int, int]]) -> str:
    """What is wrong with a page, with its heaviest parts; empty when it is light enough."""
    told = ", ".join(f"{name} {size}" for name, (size, _) in sorted(parts.items(), key=lambda each: -each[1][0])[:12])
    packed_size, size = (sum(sizes) for sizes in zip(*parts.values(), strict=True))
    return f"{stop.name} {packed_size} ({size}): {told}" if packed_size > MOST or size > MOST_UNPACKED else ""


def walk(games: tuple[str, ...], start: str = "") -> list[str]:
    """The pages of a walk that weigh too much, in the language with the longest words."""
    with touring() as tour:
        told = []
        for stop in tour.stops(games):
            if stop.name.startswith(start):
                status, body, _ = tour.client.send(stop.path, None, {"Accept": "text/html", "Accept-Language": "fr"})
                assert status < 500, stop.name
                told.append(too_heavy(stop, parts_of(body.decode())))
    assert len(told) > 5
    return [words for words in told if words]


@pytest.mark.parametrize("game", GAMES)
def test_no_page_of_a_game_weighs_too_much(game: str) -> None:
    assert not walk((game,), f"{game}-")


def test_no_document_weighs_too_much() -> None:
    assert not walk(())


def test_a_page_is_weighed_with_all_that_it_loads() -> None:
    page = '<link href="/static/0/phone.css"><script src="/static/0/check.js"></script>'
    assert {"html", "phone.css", "check.js", "say.js"} == set(parts_of(page))
    assert "words.fr.js" in parts_of('<link rel="modulepreload" href="/static/0/words.fr.js">')
