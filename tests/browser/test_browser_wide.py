"""A seat's page on a laptop: the board as tall as the window, all keys beside it and in sight."""

from __future__ import annotations

import pytest
from service import browser
from tour import SIZES, cdp, dress, touring, visit

pytestmark = pytest.mark.browser

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


@pytest.mark.parametrize(("game", "language"), [("outbuffered", "fr"), ("arena", "es"), ("binmat", "fr")])
def test_the_board_of_a_seat_fills_a_laptop(game: str, language: str) -> None:
    found = {}
    with touring() as tour, browser(SIZES["laptop"]) as window:
        cdp(window, "Network.enable")
        dress(window, SIZES["laptop"], "light")
        for stop in tour.stops((game,)):
            if stop.name.startswith(game) and stop.name.endswith("south"):
                visit(window, tour, stop, language)
                found[stop.name] = window.execute_script(_LAID)
    assert len(found) >= 4
    assert {name: each for name, each in found.items() if each} == {}
