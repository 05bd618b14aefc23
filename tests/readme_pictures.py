"""Takes README's pictures anew, from the pages as they are. `make docs-pictures`."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import browser
from tour import Stop, cdp, dress, touring, visit

PICTURES = Path(__file__).resolve().parents[1] / "web" / "pictures"
_SCREEN, _PHONE = (1920, 1080), (390, 844)


def _three_orders(window: WebDriver) -> None:
    for letter in "URS":
        window.find_element(By.CSS_SELECTOR, f'[data-letter="{letter}"]').click()


def _running(window: WebDriver) -> None:
    window.execute_script("document.getElementById('running').scrollIntoView()")


class Shot(NamedTuple):
    """A picture: its name, the stop of the tour, window and theme, what happens before it, and its
    width, pixels.
    """

    name: str
    stop: str
    size: tuple[int, int]
    theme: str
    width: int
    ready: Callable[[WebDriver], None] | None = None


SHOTS = (
    Shot("orders", "outbuffered-orders-south", _PHONE, "light", 390, _three_orders),
    Shot("reveal", "outbuffered-stages-screen", _SCREEN, "light", 1120),
    Shot("rules", "kahmate-rules", (1366, 768), "light", 732, _running),
    Shot("clock", "binmat-orders-screen", _SCREEN, "dark", 732),
)


def take(window: WebDriver, shot: Shot) -> Image.Image:
    """What the window shows, drawn smaller, in as few colours as look the same."""
    if shot.ready:
        shot.ready(window)
    top = window.execute_script("return scrollY")
    clip = {
        "x": 0,
        "y": top,
        "width": shot.size[0],
        "height": shot.size[1],
        "scale": shot.width / shot.size[0],
    }
    taken = base64.b64decode(cdp(window, "Page.captureScreenshot", format="png", clip=clip)["data"])
    return (
        Image.open(io.BytesIO(taken))
        .convert("RGB")
        .quantize(255, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )


def main() -> None:
    """Write all of them."""
    wanted = {shot.stop: shot for shot in SHOTS}
    with touring() as tour, browser(_SCREEN) as window:
        cdp(window, "Network.enable")
        for stop in tour.stops(("outbuffered", "kahmate", "binmat")):
            if shot := wanted.get(stop.name):
                dress(window, shot.size, shot.theme)
                visit(window, tour, Stop(stop.name, stop.path))
                take(window, shot).save(PICTURES / f"{shot.name}.png", optimize=True)


if __name__ == "__main__":
    main()
