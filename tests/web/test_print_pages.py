"""Tests of the pages of printed sheets and of the rules, through Flask's client.

They cover paper and language, the sheets' files, contents and pictures of the rules, and the link
from a refusal to its rule.
"""

from __future__ import annotations

import re

import pytest
from web_fixtures import WebRig, error_of, page_text

from companion.games import GAMES
from companion.printing.rulebook import illustrations

# Headers of a browser that asks for a page.
PAGE = {"Accept": "text/html"}

# ---- printed sheets ------------------------------------------------------------------------------


def test_every_games_kit_is_offered(rig: WebRig) -> None:
    page = page_text(rig.browser(), "/kit?paper=letter&language=fr&ink=low")
    query = "?paper=letter&amp;language=fr&amp;ink=low"
    for name, game in GAMES.items():
        assert game.title in page
        assert f'href="/kit/{name}.pdf{query}"' in page
    assert f'href="/kit/outbuffered.pdf{query}&amp;board=1"' in page
    assert 'href="/kit?paper=a4&amp;language=fr&amp;ink=low"' in page
    assert page.count('class="mini board"') == 1, (
        "the lanes of the card game must be drawn exactly once"
    )
    assert page.count("<textarea") == 2, "exactly two games must accept a board of one’s own"
    # three games have boards that fit on a sheet of A2
    assert page.count("The board in one piece, A2") == 3


@pytest.mark.parametrize(
    ("accepted_languages", "paper", "language"),
    [("en-US", "letter", "en"), ("fr-CA,en;q=.5", "letter", "fr"), ("de-DE", "a4", "de")],
)
def test_paper_and_language_follow_the_browser(
    rig: WebRig, accepted_languages: str, paper: str, language: str
) -> None:
    page = rig.browser().get("/kit", headers={"Accept-Language": accepted_languages}).text
    assert f"/kit/scouts.pdf?paper={paper}&amp;language={language}" in page


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("outbuffered.pdf?paper=letter&language=es", "outbuffered-kit-letter-es"),
        ("outbuffered.pdf?paper=a4&ink=low", "outbuffered-kit-a4-en-low-ink"),
        ("outbuffered-board.pdf?language=en&board=n.N%0A...%0As.S", "outbuffered-board-en"),
        ("join.pdf?language=en&wait=k3x9", "table-card-a4-en"),
    ],
)
def test_every_sheet_is_a_named_pdf(rig: WebRig, path: str, name: str) -> None:
    browser = rig.browser()
    answer = browser.get(f"/kit/{path}")
    assert (answer.status_code, answer.data[:5]) == (200, b"%PDF-")
    assert answer.headers["Content-Disposition"] == f'inline; filename="{name}.pdf"'
    # the card may hold the Wi-Fi's password
    assert answer.headers["Cache-Control"] == "no-store"
    if path.startswith("join"):
        # the page that asked with `wait` sees by the cookie that its file is here
        assert "made=k3x9;" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/kit/chess.pdf", 404, "There is no such page"),
        ("/kit?paper=a5", 400, "Paper “a5” is unknown: use a4 or letter"),
        ("/kit/scouts.pdf?language=xx", 400, "Language “xx” is unknown: use en, "),
        ("/kit/scouts.pdf?stacking=9", 400, "“9” is not a choice for Stacks: go back and choose"),
        ("/kit/arena.pdf?board=%0A<b>.sn", 400, "This request cannot be read"),
    ],
)
def test_an_invalid_print_request_is_explained(
    rig: WebRig, path: str, status: int, words: str
) -> None:
    answer = rig.browser().get(path, headers=PAGE)
    assert (answer.status_code, words in answer.text) == (status, True)


# ---- the rules -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_a_rules_page_has_contents_and_pictures(rig: WebRig, name: str) -> None:
    game = GAMES[name]
    page = page_text(rig.browser(), f"/rules/{name}")
    for number, rule in enumerate(game.rules, start=1):
        assert f'<a href="#{rule.id}"><b>{number}</b>{rule.title}</a>' in page
        assert f'<section id="{rule.id}"' in page
    assert page.count("<figcaption>") == 1 + len(illustrations(game))
    ids = re.findall(r'\sid="([^"]+)"', page.partition("</defs>")[2])
    assert len(ids) == len(set(ids))


# ---- refusals ------------------------------------------------------------------------------------


def test_a_refusal_links_to_its_rule(rig: WebRig) -> None:
    south = rig.sit("south")
    rig.table.new_game("scouts", {}, 1)
    rig.table.confirm("host", rig.table.view().moment, 0)
    body = {"moment": rig.table.view().moment, "action": "c1-c2"}
    refused = error_of(south.post("/api/seat/south/hand-in", json=body))
    # the link leads to the paragraph that has the id of the broken rule, and has its number
    numbers = {rule.id: number for number, rule in enumerate(GAMES["scouts"].rules, 1)}
    link_address, link_text = refused["link"]
    assert link_address == f"/rules/scouts#{refused['rule']}"
    assert link_text.startswith(f"Rule {numbers[refused['rule']]}, ")
