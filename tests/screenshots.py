"""Take screenshots of every page in every state of every game.

Each is taken at five sizes, in both themes and in every language: `python -m screenshots FOLDER`,
with `tests` on the path.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from selenium.webdriver.remote.webdriver import WebDriver
from service import browser
from tour import (
    SIZES,
    THEMES,
    Stop,
    Tour,
    cdp,
    open_table_tour,
    screenshot,
    set_size_and_theme,
    visit,
)
from tour_hub import open_hub_tour, open_pair_tour

from companion.core.i18n import LANGUAGES
from companion.games import GAMES


def main() -> None:
    """Write the screenshots that the arguments ask for."""
    parser = argparse.ArgumentParser(description="Pictures of every page in every state.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--themes", nargs="+", choices=THEMES, default=list(THEMES))
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=list(LANGUAGES))
    parser.add_argument(
        "--only", nargs="+", default=[""], help="only stops whose name has one of these words"
    )
    parser.add_argument("--games", nargs="+", choices=GAMES, default=list(GAMES))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with browser(SIZES["phone"]) as window:
        cdp(window, "Network.enable")
        for tour, stop in all_stops(tuple(arguments.games)):
            if any(words in stop.name for words in arguments.only):
                count += take_screenshots(window, tour, stop, arguments)
    print(f"{count} pictures in {arguments.folder}")


def all_stops(games: tuple[str, ...]) -> Iterator[tuple[Tour, Stop]]:
    """Yield every stop of every tour."""
    with open_table_tour() as table:
        yield from ((table, stop) for stop in table.stops(games))
    with open_hub_tour() as hub:
        yield from ((hub, stop) for stop in hub.stops())
    with open_pair_tour() as pair:
        yield from ((pair, stop) for stop in pair.stops())


def take_screenshots(window: WebDriver, tour: Tour, stop: Stop, wanted: argparse.Namespace) -> int:
    """Take all wanted screenshots of a stop, and return their number."""
    variants = list(product(wanted.sizes, wanted.themes, wanted.languages))
    for size, theme, language in variants:
        set_size_and_theme(window, SIZES[size], theme)
        visit(window, tour, stop, language)
        path = wanted.folder / f"{stop.name}.{size}.{theme}.{language}.png"
        path.write_bytes(screenshot(window))
    return len(variants)


if __name__ == "__main__":
    main()
