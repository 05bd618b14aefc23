"""The colour of the sign stands in `companion.core.drawings`; where a style or a picture needs it
written out, it is the same.
"""

from __future__ import annotations

import re
from pathlib import Path

from companion.core.drawings import SIGN

ROOT = Path(__file__).parents[2]


def test_the_pages_and_their_small_picture_have_the_signs_colour() -> None:
    tokens = (ROOT / "web/static/base.css").read_text(encoding="utf-8")
    assert set(re.findall(r"--sign: (#\w+)", tokens)) == {SIGN}
    assert SIGN in (ROOT / "web/static/favicon.svg").read_text(encoding="utf-8")
