"""Test printed pages in other languages, and the card for the table.

Pages are read back as text and pictures. Longer words fit, every sentence is translated, and codes
can be scanned.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from sheet_tools import PAPERS, Image, markers_mm, needs_poppler, rasterise

from companion.cli.main import main
from companion.core import i18n
from companion.core.errors import Malformed
from companion.core.kit import Kit
from companion.core.network import Wifi
from companion.games import GAMES
from companion.games.aids import Extras
from companion.printing.join_card import join_card_pdf
from companion.printing.kit_pages.sheets import KitStyle, kit_pdf
from companion.printing.kit_printer import KitPrinter
from companion.printing.pdf_pen import break_lines, printable, text_width
from companion.printing.tiling import MARGIN_MM, Paper

ADDRESSES = ("http://192.0.2.7:8080/", "http://table.local:8080/")
# Beginning of every sentence in the long language. It has letters of Spanish and French.
PREFIX = "¿Ñandú à l’œuvre? « "


class LengtheningCatalogue(dict[str, tuple[str, ...]]):
    """A catalogue with a longer translation of every English sentence, which keeps its parts."""

    def get(self, english: str, default: Any = None) -> tuple[str, ...]:
        if len(english) < 3:
            return (english,)
        return (f"{PREFIX if ' ' in english else 'ñé'}{english}",)


@pytest.fixture
def long_language(monkeypatch: pytest.MonkeyPatch) -> str:
    """The code of a language in which all sentences are longer and have accents."""
    spanish = i18n.load_catalogue("es")
    lengthening = type(spanish)(LengtheningCatalogue(), {}, spanish.plural_form)
    monkeypatch.setattr(i18n, "load_catalogue", lambda language: lengthening)
    return "es"


def default_kit(name: str) -> Kit:
    return GAMES[name].kit(GAMES[name].options({}))


def default_extras(name: str) -> Extras:
    return GAMES[name].extras(GAMES[name].options({}))


def text_of(pdf: bytes) -> list[str]:
    """Return the text of each page."""
    run = subprocess.run(
        ["pdftotext", "-raw", "-", "-"], input=pdf, capture_output=True, check=True
    )
    return run.stdout.decode().split("\f")[:-1]


def assert_clear_sides(page: Image, margin_mm: float, dpi: int) -> None:
    """Check that nothing is printed within this distance of the left and the right edge."""
    edge_px = int(margin_mm * dpi / 25.4)
    assert min(page[:, :edge_px].min(), page[:, -edge_px:].min()) > 240


# ---- other languages -----------------------------------------------------------------------------


@needs_poppler
@pytest.mark.parametrize("name", GAMES)
def test_longer_words_fit_every_page_of_a_kit(name: str, long_language: str) -> None:
    pdf, _ = kit_pdf(default_kit(name), KitStyle(language=long_language), default_extras(name))
    dpi = 30
    for page in rasterise(pdf, dpi):
        assert_clear_sides(page, MARGIN_MM - 0.9, dpi)
    first_page = " ".join(text_of(pdf)[0].split())
    assert "¿Ñandú à l’œuvre? « Print at 100 % on matt paper" in first_page


@pytest.mark.parametrize("name", GAMES)
def test_every_printed_word_is_translated(
    name: str, long_language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that is printed is a sentence of the catalogue, or a part of one.

    Only addresses are not translated, and words of less than three letters.
    """
    sentences: list[str] = []
    other_texts: list[str] = []

    def note_printed(text: str) -> str:
        printed = printable(text)
        texts = sentences if isinstance(text, i18n.Sentence) else other_texts
        texts.append(printed)
        return printed

    monkeypatch.setattr("companion.printing.pdf_pen.printable", note_printed)
    kit_pdf(default_kit(name), KitStyle(language=long_language), default_extras(name))
    with i18n.in_language(long_language):
        join_card_pdf(ADDRESSES, Wifi("net", "key"), "a4")
    # lines of a paragraph are printed one by one, so they are parts of sentences
    all_sentences = " ".join(" ".join(sentences).split())
    untranslated = {
        text
        for text in other_texts
        if re.search("[A-Za-z]{3}", text) and " ".join(text.split()) not in all_sentences
    }
    assert untranslated <= {"192.0.2.7:8080/join", "table.local:8080/join"}


def test_equal_kits_have_equal_vector_pdfs() -> None:
    kit = default_kit("outbuffered")
    pdf, _ = kit_pdf(kit, KitStyle())
    assert pdf == kit_pdf(kit, KitStyle())[0]
    # A picture would be an /Image. The three names that are removed are in a list of procedures
    # that every page has.
    assert b"/Image" not in pdf.replace(b"/ImageB /ImageC /ImageI", b"")


def test_an_unknown_language_or_paper_is_refused() -> None:
    printer = KitPrinter(GAMES)
    with pytest.raises(Malformed, match="Language “xx” is unknown: use en, "):
        printer.kit_pdf("outbuffered", {}, "a4", "xx")
    with pytest.raises(Malformed, match="Paper “a5” is unknown"):
        printer.plan("outbuffered", "a5", "en")


def test_no_line_breaks_at_a_no_break_space() -> None:
    words = "Est-ce «\N{NO-BREAK SPACE}prêt\N{NO-BREAK SPACE}»\N{NARROW NO-BREAK SPACE}?"
    lines = break_lines(words, text_width("Est-ce « pr", 4.0), 4.0)
    assert lines == ["Est-ce", "«\N{NO-BREAK SPACE}prêt\N{NO-BREAK SPACE}»\N{NO-BREAK SPACE}?"]


def test_letters_that_the_fonts_lack_are_replaced() -> None:
    assert printable("¡Señal! œ Œ « » “ ” ’ – …") == "¡Señal! œ Œ « » “ ” ’ – …"
    assert printable("♜") == "?"


def test_no_word_stands_alone_in_a_last_line() -> None:
    width = text_width("the lamp shines on", 4.0)
    assert break_lines("the lamp shines on it", width, 4.0) == ["the lamp shines", "on it"]
    # a line of two words keeps both
    assert break_lines("the lamp", text_width("lamp", 4.0), 4.0) == ["the", "lamp"]
    narrow = text_width("a very wide-ranging", 4.0)
    # the last two words together have no room in one line
    lines = break_lines("a very wide-ranging wide-ranging", narrow, 4.0)
    assert lines[-1] == "wide-ranging"


@pytest.mark.parametrize(("name", "paper"), [("binmat", "letter"), ("outbuffered", "a4")])
def test_a_plan_has_the_printed_page_count(name: str, paper: Paper) -> None:
    plan = KitPrinter(GAMES).plan(name, paper, "en")
    _, pages = kit_pdf(default_kit(name), KitStyle(paper), default_extras(name))
    assert plan.page_count == len(pages)


# ---- the card for the table ----------------------------------------------------------------------


def qr_texts(page: Image) -> set[str]:
    """Return the contents of the QR codes on a page."""
    found, texts, _, _ = cv2.QRCodeDetector().detectAndDecodeMulti(np.ascontiguousarray(page))
    return set(texts) if found else set()


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_a_table_cards_codes_scan_from_both_sides(paper: Paper) -> None:
    wifi = Wifi("Table; one", 'a:b"c\\d')
    page = rasterise(join_card_pdf(ADDRESSES, wifi, paper), 120)[0]
    assert not list(markers_mm(page)), "the card has a marker that a camera takes for a piece"
    # the upper half is upside down on the page, so that it is upright once the card is folded
    half = page.shape[0] // 2
    for side in (page[half:], page[:half][::-1, ::-1]):
        assert qr_texts(side) == {wifi.qr_text, "http://192.0.2.7:8080/join"}
        # without the fold, which runs from edge to edge
        assert_clear_sides(side[5:-5], margin_mm=11, dpi=120)


@needs_poppler
def test_a_card_without_wifi_has_addresses() -> None:
    text = text_of(join_card_pdf(ADDRESSES, None, "a4"))[0]
    for words in (
        "Sit down at the table",
        "192.0.2.7:8080/join",
        "table.local:8080/join",
        "South: 192.0.2.7:8080/s",
    ):
        assert words in text
    assert "Wi-Fi" not in text
    with pytest.raises(Malformed, match="There is no address to print"):
        join_card_pdf((), None, "a4")


# ---- the printer ---------------------------------------------------------------------------------


def test_a_printer_makes_each_pdf_once() -> None:
    printer = KitPrinter(GAMES)
    first = printer.kit_pdf("outbuffered", {}, "a4", "en")
    assert printer.kit_pdf("outbuffered", {}, "a4", "en") is first
    assert printer.kit_pdf("outbuffered", {"board": "n.N\n...\ns.S"}, "a4", "en") != first
    assert printer.kit_pdf("outbuffered", {}, "a4", "en") is first, "the second kit took its place"


# ---- the commands --------------------------------------------------------------------------------


def test_the_commands_write_sheets_in_a_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, sentence in (
        ("kit outbuffered --language es", "print it at 100 %, on matt paper"),
        ("kit arena --board-only", "one sheet of A2; print it at 100 %, on matt paper"),
        ("card 192.0.2.7:8080", "print it, and fold it along the dashes"),
    ):
        file = tmp_path / f"{len(arguments)}.pdf"
        assert main([*arguments.split(), "-o", str(file)]) == 0
        assert capsys.readouterr().out == f"{file}: {sentence}.\n"
        assert file.read_bytes().startswith(b"%PDF-")


def test_a_card_keeps_the_given_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KitPrinter, "join_card_pdf", lambda _, urls, *__: urls[0].encode())
    file = tmp_path / "card.pdf"
    main(["card", "https://table.local", "-o", str(file)])
    assert file.read_text() == "https://table.local/"


def test_the_commands_explain_a_bad_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none" / "kit.pdf"
    kit = str(tmp_path / "kit.pdf")
    (tmp_path / "map").write_bytes(b"\xff\xfe")
    for arguments, reason in (
        (("scouts", "-o", str(missing)), f"{missing} cannot be written: No such file or directory"),
        (("arena", "-o", kit, "--board", str(missing)), f"{missing} cannot be read: No such file"),
        (("arena", "-o", kit, "--board", str(tmp_path / "map")), "is not text: a map is lines"),
    ):
        assert main(["kit", *arguments]) == 1
        assert reason in capsys.readouterr().err
