"""The pages of what can be printed and of the rules: addresses, languages, pictures, and a
paragraph for every refusal.
"""

from __future__ import annotations

import re

import pytest
from web_fixtures import WebRig, error_of, page_text

from companion.games import GAMES
from companion.printing.rulebook import illustrations

PAGE = {"Accept": "text/html"}
# ---- what can be printed -------------------------------------------------------------------------


def test_every_game_is_offered_as_paper_and_language(
    rig: WebRig,
) -> None:
    page = page_text(rig.browser(), "/kit?paper=letter&language=fr&ink=low")
    chosen = "?paper=letter&amp;language=fr&amp;ink=low"
    for name, game in GAMES.items():
        assert game.title in page
        assert f'href="/kit/{name}.pdf{chosen}"' in page
    assert f'href="/kit/outbuffered.pdf{chosen}&amp;board=1"' in page
    assert 'href="/kit?paper=a4&amp;language=fr&amp;ink=low"' in page
    assert page.count('class="mini board"') == 1, "lanes, where a game is of cards"
    assert page.count("<textarea") == 2, "boards of one's own, where a game has such"
    assert page.count("The board in one piece, A2") == 3


@pytest.mark.parametrize(
    ("accepts", "paper", "language"),
    [("en-US", "letter", "en"), ("fr-CA,en;q=.5", "letter", "fr"), ("de-DE", "a4", "de")],
)
def test_paper_and_language_follow_the_browser(
    rig: WebRig, accepts: str, paper: str, language: str
) -> None:
    page = rig.browser().get("/kit", headers={"Accept-Language": accepts}).text
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
def test_what_cannot_be_printed_is_reported(
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


# ---- a paragraph for every refusal ---------------------------------------------------------------


def test_a_refusal_links_to_its_paragraph(rig: WebRig) -> None:
    south = rig.sit("south")
    rig.table.new_game("scouts", {}, 1)
    rig.table.confirm("host", rig.table.view().moment, 0)
    body = {"moment": rig.table.view().moment, "action": "c1-c2"}
    refused = error_of(south.post("/api/seat/south/hand-in", json=body))
    numbers = {rule.id: number for number, rule in enumerate(GAMES["scouts"].rules, 1)}
    address, words = refused["link"]
    assert address == f"/rules/scouts#{refused['rule']}"
    assert words.startswith(f"Rule {numbers[refused['rule']]}, ")
