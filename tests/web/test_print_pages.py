"""The pages of what can be printed and of the rules: addresses, languages, pictures, and a paragraph for every refusal."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from web_fixtures import Place, error_of, page_of

from companion.core.grid import Square
from companion.games import GAMES
from companion.games.base import Game
from companion.printing.kit_printer import PrinterBusy
from companion.printing.rulebook import illustrate, illustrations
from web.routes.rules import figure

PAGE = {"Accept": "text/html"}
ID = re.compile(r"[a-z]+(-[a-z]+)*")


# ---- what can be printed ---------------------------------------------------------------------------------------------


def test_the_page_offers_every_game_on_the_chosen_paper_in_the_chosen_language(
    place: Place,
) -> None:
    page = page_of(place.browser(), "/kit?paper=letter&language=fr")
    for name, game in GAMES.items():
        assert game.title in page
        assert f'href="/kit/{name}.pdf?paper=letter&amp;language=fr"' in page
    assert 'href="/kit/join.pdf?paper=letter&amp;language=fr"' in page
    assert "1 page of instructions" in page
    assert 'href="/kit/outbuffered.pdf?paper=letter&amp;language=fr&amp;board=1"' in page
    assert page.count("<textarea") == 2, "boards of one's own, where a game has such"
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", page)


def test_ink_is_saved_where_that_is_chosen_and_large_boards_come_in_one_piece(place: Place) -> None:
    browser = place.browser()
    page = page_of(browser, "/kit?paper=a4&language=es&ink=low")
    assert 'href="/kit/scouts.pdf?paper=a4&amp;language=es&amp;ink=low"' in page
    assert 'href="/kit?paper=letter&amp;language=es&amp;ink=low"' in page
    assert page.count("The board in one piece, A2") == 3
    assert page.count("The board in one piece, A1") == 1
    lean, full = (
        browser.get(f"/kit/outbuffered.pdf?paper=a4&language=es{ink}") for ink in ("&ink=low", "")
    )
    assert (
        lean.headers["Content-Disposition"]
        == 'inline; filename="outbuffered-kit-a4-es-low-ink.pdf"'
    )
    assert lean.data != full.data
    board = browser.get("/kit/scouts-board.pdf?language=es")
    assert board.data.startswith(b"%PDF-")
    assert board.headers["Content-Disposition"] == 'inline; filename="scouts-board-es.pdf"'


@pytest.mark.parametrize(
    ("accepts", "paper", "language"),
    [("en-US", "letter", "en"), ("fr-CA,en;q=.5", "letter", "fr"), ("de-DE", "a4", "de")],
)
def test_paper_and_language_are_those_of_the_browsers_country(
    place: Place, accepts: str, paper: str, language: str
) -> None:
    page = place.browser().get("/kit", headers={"Accept-Language": accepts}).get_data(as_text=True)
    assert f"/kit/scouts.pdf?paper={paper}&amp;language={language}" in page


def test_every_sheet_comes_as_a_pdf_with_a_name(place: Place) -> None:
    browser = place.browser()
    for path, name in (
        ("/kit/outbuffered.pdf?paper=letter&language=es", "outbuffered-kit-letter-es.pdf"),
        ("/kit/outbuffered.pdf?paper=a4&language=en&tiles=1", "outbuffered-kit-tiles-a4-en.pdf"),
        ("/kit/arena.pdf?paper=a4&language=en&board=1", "arena-kit-walls-a4-en.pdf"),
        (
            "/kit/outbuffered.pdf?paper=a4&language=en&board=n.N%0A...%0As.S&tiles=1",
            "outbuffered-kit-own-board-tiles-a4-en.pdf",
        ),
        ("/kit/arena-board.pdf?language=en&board=1", "arena-board-walls-en.pdf"),
        ("/kit/join.pdf?language=en", "table-card-a4-en.pdf"),
    ):
        answer = browser.get(path)
        assert (answer.status_code, answer.mimetype) == (200, "application/pdf")
        assert answer.data.startswith(b"%PDF-")
        assert answer.headers["Content-Disposition"] == f'inline; filename="{name}"'
    assert answer.headers["Cache-Control"] == "no-store", "the card may hold the Wi-Fi’s password"
    first = browser.get("/kit/outbuffered.pdf")
    again = browser.get("/kit/outbuffered.pdf", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304


def test_a_board_is_chosen_by_number_or_written(place: Place) -> None:
    browser = place.browser()
    plain, walls, same, own = (
        browser.get("/kit/outbuffered.pdf", query_string=query).data
        for query in ({}, {"board": "1"}, {"board": "0"}, {"board": "n.N\r\n...\r\ns.S\r\n"})
    )
    assert plain == same
    assert len({plain, walls, own}) == 3


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/kit/chess.pdf", 404, "There is no such page"),
        ("/kit/scouts-rules.pdf", 404, "There is no such page"),
        ("/kit?paper=a5", 400, "Paper “a5” is unknown: use a4 or letter"),
        ("/kit/scouts.pdf?language=xx", 400, "Language “xx” is unknown: use en, "),
        ("/kit/outbuffered.pdf?board=9", 400, "1 is the lowest rank"),
        ("/kit/scouts.pdf?stacking=9", 400, "“9” is not a choice for Stacks: go back and choose"),
    ],
)
def test_what_cannot_be_printed_is_said(place: Place, path: str, status: int, words: str) -> None:
    answer = place.browser().get(path, headers=PAGE)
    assert answer.status_code == status
    if words[0] != "1":  # a map that is none is refused by the game, in its own words
        assert words in answer.get_data(as_text=True)


def test_a_board_of_ones_own_that_is_none_is_refused_at_its_form_with_what_was_written(
    place: Place,
) -> None:
    path = "/kit/arena.pdf?paper=letter&language=fr&board=%0A<b>.sn"
    answer = place.browser().get(path, headers=PAGE)
    page = answer.get_data(as_text=True)
    offer = re.search(r'<section class="offer" id="arena">.*?</section>', page, re.DOTALL)
    assert answer.status_code == 400
    assert offer
    assert '<p class="refused" role="alert" id="wrong">' in offer[0]
    assert "<details open><summary>A board of your own</summary>" in offer[0]
    assert 'aria-describedby="wrong"' in offer[0]
    assert "&lt;b&gt;.sn</textarea>" in offer[0], "it can be mended"
    assert page.count('role="alert"') == 1
    assert 'href="/kit/arena.pdf?paper=letter&amp;language=fr"' in page
    assert error_of(place.browser().get(path))["kind"] == "malformed", (
        "programs get it as every error"
    )


def test_a_busy_press_is_a_friendly_page(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object, **__: object) -> bytes:
        raise PrinterBusy("Wait a moment and try again.")

    monkeypatch.setattr("companion.printing.kit_printer.KitPrinter.kit", busy)
    answer = place.browser().get("/kit/scouts.pdf", headers=PAGE)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "Wait a moment and try again" in answer.get_data(as_text=True)


# ---- the rules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_a_rules_page_has_contents_pictures_and_no_id_twice(place: Place, name: str) -> None:
    browser, game = place.browser(), GAMES[name]
    page = page_of(browser, f"/rules/{name}")
    for number, rule in enumerate(game.rules, start=1):
        assert f'<a href="#{rule.id}"><b>{number}</b>{rule.title}</a>' in page
        assert f'<section id="{rule.id}"' in page
    assert page.count("<figcaption>") == 1 + len(illustrations(game))
    ids = Counter(re.findall(r'\sid="([^"]+)"', page.partition("</defs>")[2]))
    assert set(ids.values()) == {1}, ids.most_common(3)


@pytest.mark.parametrize("name", GAMES)
def test_examples_are_played_by_the_game_and_lie_on_its_board(name: str) -> None:
    game = GAMES[name]
    shown = illustrations(game)
    assert len(shown) >= 3, "two or three pictures help in every game"
    for rule, picture in shown.items():
        faces = {face.name for face in picture.kit.faces}
        for square, stack in [*picture.layout.items(), *picture.after.items()]:
            assert set(stack) <= faces, rule
            assert square in picture.kit.board.squares, rule
        named = [
            Square.parse(text)
            for event in picture.events
            for text in (event.square, event.to)
            if text
        ]
        assert set(named) <= set(picture.kit.board.squares), (
            f"{rule}: what is told of is in the picture"
        )
        assert picture.tallies or picture.ways or picture.events, rule
        assert picture.caption, rule
        assert bool(figure(picture)) is not bool(picture.kit.deck), rule


@pytest.mark.parametrize(
    ("name", "columns"), [("scouts", [8]), ("arena", [8, 8]), ("kahmate", [10, 10, 1])]
)
def test_many_pieces_stand_below_each_other_side_by_side(
    place: Place, name: str, columns: list[int]
) -> None:
    page = page_of(place.browser(), f"/rules/{name}")
    lists = re.findall(r'<ul class="faces">(.*?)</ul>', page, re.DOTALL)
    assert [each.count("<li>") for each in lists] == columns


@pytest.mark.parametrize("name", GAMES)
def test_what_the_keys_call_orders_the_rules_call_orders(place: Place, name: str) -> None:
    assert not re.search(">[^<]*ommand", page_of(place.browser(), f"/rules/{name}"))


def test_an_example_that_the_rules_forbid_is_a_defect() -> None:
    game = GAMES["outbuffered"]
    example = next(rule.example for rule in game.rules if rule.example)
    with pytest.raises(IndexError):
        illustrate(game, replace(example, stage=9))


# ---- a paragraph for every refusal -----------------------------------------------------------------------------------


def rules_of_a_turn(node: ast.AST) -> list[ast.Constant]:
    """The paragraph in a call of `TurnLog.add(kind, seat, text, rule)` or `.end(winner, reason, rule)`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return []
    place = {"add": 3, "end": 2}.get(node.func.attr, len(node.args))
    return [rule for rule in node.args[place : place + 1] if isinstance(rule, ast.Constant)]


def ids_named(game: Game[object, object]) -> set[str]:
    """The paragraphs that a game's own code names: `rule=…`, and what stands beside a reason of a refusal."""
    found = {game.turn_rule, game.end_rule} - {None}
    for path in Path(GAMES[game.name].kit.__code__.co_filename).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.keyword)
                and node.arg == "rule"
                and isinstance(node.value, ast.Constant)
            ):
                found.add(node.value.value)
            found |= {argument.value for argument in rules_of_a_turn(node)}
            parts = (
                node.args
                if isinstance(node, ast.Call)
                else node.elts
                if isinstance(node, ast.Tuple)
                else []
            )
            if any(
                isinstance(part, ast.Attribute) and ast.unparse(part.value) in ("Reason", "Refusal")
                for part in parts
            ):
                words = [
                    part.value
                    for part in parts
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ]
                found |= {word for word in words if ID.fullmatch(word)}
    return {str(each) for each in found if each}


@pytest.mark.parametrize("name", GAMES)
def test_every_paragraph_that_a_refusal_or_an_event_names_exists(place: Place, name: str) -> None:
    game = GAMES[name]
    named, page = ids_named(game), page_of(place.browser(), f"/rules/{name}")
    assert len(named) >= 3
    for rule in named:
        assert f'id="{rule}"' in page, rule


def test_a_refusal_links_to_its_paragraph(place: Place) -> None:
    south = place.sit("south")
    place.table.new_game("scouts", {}, 1)
    place.table.confirm("host", place.table.view().moment, 0)
    moment = place.table.view().moment
    refused = error_of(
        south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "c1-c2"})
    )
    rule = refused["rule"]
    address, words = refused["link"]
    assert address == f"/rules/scouts#{rule}"
    number = next(
        number for number, one in enumerate(GAMES["scouts"].rules, start=1) if one.id == rule
    )
    assert words == f"Rule {number}, {GAMES['scouts'].rules[number - 1].title}"
    assert error_of(place.browser().get("/api/nowhere"))["link"] is None
