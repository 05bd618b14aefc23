"""The colour of the sign stands in `companion.core.drawings`; where a style or a picture needs it written out, it is the same."""

from __future__ import annotations

import re
from pathlib import Path

from companion.core.drawings import SIGN

ROOT = Path(__file__).parents[2]
COPIES = {"companion/core/drawings.py", "web/static/base.css", "web/static/favicon.svg"}


def test_the_pages_and_their_small_picture_have_the_signs_colour() -> None:
    tokens = (ROOT / "web/static/base.css").read_text(encoding="utf-8")
    assert set(re.findall(r"--sign: (#\w+)", tokens)) == {SIGN}
    assert SIGN in (ROOT / "web/static/favicon.svg").read_text(encoding="utf-8")


def test_nobody_else_writes_it_out() -> None:
    found = set()
    for package in ("companion", "hardware", "vision", "web"):
        for path in (ROOT / package).rglob("*"):
            if (
                path.suffix in (".py", ".css", ".js", ".html", ".svg")
                and SIGN.lower() in path.read_text("utf-8").lower()
            ):
                found.add(path.relative_to(ROOT).as_posix())
    assert found == COPIES
