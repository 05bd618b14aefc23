"""Long work says so, and links that download say that they do."""

from __future__ import annotations

from pathlib import Path

import pytest
from web_fixtures import open_place, page_of


@pytest.mark.parametrize(
    ("token", "is_told"), [("k3x9", True), ("", False), ("a;b", False), ("x" * 13, False)]
)
def test_the_answer_to_a_wish_carries_its_word(tmp_path: Path, token: str, is_told: bool) -> None:
    with open_place(tmp_path) as place:
        answer = place.browser().get("/kit/join.pdf", query_string={"wait": token})
        assert answer.status_code == 200
        cookies = [
            cookie for cookie in answer.headers.getlist("Set-Cookie") if cookie.startswith("made=")
        ]
        assert [cookie.split(";")[0] for cookie in cookies] == (
            [f"made={token}"] if is_told else []
        )


def test_what_is_printed_says_that_it_is_a_pdf(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        page = page_of(place.browser(), "/kit")
        assert page.count("PDF to cut out") == 6
        assert page.count("PDF to fold") == 1
        assert "page.js" in page
