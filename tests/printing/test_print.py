"""Table cards and kits in other languages: words that fit, codes that scan."""

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
# Set before every sentence: it has letters of Spanish and French, and makes it longer.
LONGER = "¿Ñandú à l’œuvre? « "


class Lengthening(dict[str, tuple[str, ...]]):
    """A catalogue that has something longer for every English sentence, with its parts."""

    def get(self, english: str, default: Any = None) -> tuple[str, ...]:
        if len(english) < 3:
            return (english,)
        return (f"{LONGER if ' ' in english else 'ñé'}{english}",)


@pytest.fixture
def long_words(monkeypatch: pytest.MonkeyPatch) -> str:
    """The code of a language in which every sentence is longer and accented."""
    whole = i18n.load_catalogue("es")
    wordy = type(whole)(Lengthening(), {}, whole.plural_form)
    monkeypatch.setattr(i18n, "load_catalogue", lambda language: wordy)
    return "es"


def kit_of(name: str) -> Kit:
    return GAMES[name].kit(GAMES[name].options({}))


def extras_of(name: str) -> Extras:
    return GAMES[name].extras(GAMES[name].options({}))


def text_of(pdf: bytes) -> list[str]:
    """Return the text of each page."""
    run = subprocess.run(
        ["pdftotext", "-raw", "-", "-"], input=pdf, capture_output=True, check=True
    )
    return run.stdout.decode().split("\f")[:-1]


def clear_sides(page: Image, wide_mm: float, dpi: int) -> None:
    """Check that nothing is so near to the left or the right edge."""
    edge = int(wide_mm * dpi / 25.4)
    assert min(page[:, :edge].min(), page[:, -edge:].min()) > 240


# ---- other languages -----------------------------------------------------------------------------


@needs_poppler
@pytest.mark.parametrize("name", GAMES)
def test_longer_words_fit_every_page_of_a_kit(name: str, long_words: str) -> None:
    pdf, _ = kit_pdf(kit_of(name), KitStyle(language=long_words), extras_of(name))
    for page in rasterise(pdf, 30, first=1, last=9):
        clear_sides(page, MARGIN_MM - 0.9, 30)
    first = " ".join(text_of(pdf)[0].split())
    assert "¿Ñandú à l’œuvre? « Print at 100 % on matt paper" in first


@pytest.mark.parametrize("name", GAMES)
def test_every_printed_word_is_translated(
    name: str, long_words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is printed is a sentence of the catalogue, or a line of one."""
    said: list[str] = []
    plain: list[str] = []

    def listening(words: str) -> str:
        shown = printable(words)
        (said if isinstance(words, i18n.Sentence) else plain).append(shown)
        return shown

    monkeypatch.setattr("companion.printing.pdf_pen.printable", listening)
    kit_pdf(kit_of(name), KitStyle(language=long_words), extras_of(name))
    with i18n.in_language(long_words):
        join_card_pdf(ADDRESSES, Wifi("net", "key"), "a4")
    whole = " ".join(" ".join(said).split())
    strange = {
        text
        for text in plain
        if re.search("[A-Za-z]{3}", text) and " ".join(text.split()) not in whole
    }
    assert strange <= {"192.0.2.7:8080/join", "table.local:8080/join"}, strange


def test_equal_kits_have_equal_bytes_of_vectors() -> None:
    kit = kit_of("outbuffered")
    pdf, _ = kit_pdf(kit, KitStyle())
    assert pdf == kit_pdf(kit, KitStyle())[0]
    assert b"/Image" not in pdf.replace(b"/ImageB /ImageC /ImageI", b"")
    with pytest.raises(Malformed, match="Language “xx” is unknown: use en, "):
        KitPrinter(GAMES).kit_pdf("outbuffered", {}, "a4", "xx")


def test_a_space_that_must_not_break_does_not() -> None:
    words = "Est-ce «\N{NO-BREAK SPACE}prêt\N{NO-BREAK SPACE}»\N{NARROW NO-BREAK SPACE}?"
    lines = break_lines(words, text_width("Est-ce « pr", 4.0), 4.0)
    assert lines == ["Est-ce", "«\N{NO-BREAK SPACE}prêt\N{NO-BREAK SPACE}»\N{NO-BREAK SPACE}?"]
    assert printable("¡Señal! œ Œ « » “ ” ’ – …") == "¡Señal! œ Œ « » “ ” ’ – …"
    assert printable("♜") == "?"


def test_no_word_stands_alone_in_a_last_line() -> None:
    width = text_width("the lamp shines on", 4.0)
    assert break_lines("the lamp shines on it", width, 4.0) == ["the lamp shines", "on it"]
    assert break_lines("the lamp", text_width("lamp", 4.0), 4.0) == ["the", "lamp"]
    narrow = text_width("a very wide-ranging", 4.0)
    assert break_lines("a very wide-ranging wide-ranging", narrow, 4.0)[-1] == "wide-ranging", (
        "both have no room"
    )


@pytest.mark.parametrize(("name", "paper"), [("binmat", "letter"), ("outbuffered", "a4")])
def test_a_plan_tells_what_is_printed(name: str, paper: Paper) -> None:
    plan = KitPrinter(GAMES).plan(name, paper, "en")
    _, pages = kit_pdf(kit_of(name), KitStyle(paper), extras_of(name))
    assert plan.page_count == len(pages)


# ---- the card for the table ----------------------------------------------------------------------


def codes_on(page: Image) -> set[str]:
    """Return the contents of the QR codes on a page."""
    found, texts, _, _ = cv2.QRCodeDetector().detectAndDecodeMulti(np.ascontiguousarray(page))
    return set(texts) if found else set()


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_a_table_cards_codes_scan_from_both_sides(paper: Paper) -> None:
    wifi = Wifi("Table; one", 'a:b"c\\d')
    page = rasterise(join_card_pdf(ADDRESSES, wifi, paper), 120)[0]
    assert not list(markers_mm(page)), "a camera takes nothing on it for a piece"
    half = page.shape[0] // 2
    for side in (page[half:], page[:half][::-1, ::-1]):
        assert codes_on(side) == {wifi.qr_text, "http://192.0.2.7:8080/join"}
        clear_sides(side[5:-5], 11, 120)


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


# ---- the press -----------------------------------------------------------------------------------


def test_the_press_prints_the_same_but_once() -> None:
    press = KitPrinter(GAMES)
    first = press.kit_pdf("outbuffered", {}, "a4", "en")
    assert press.kit_pdf("outbuffered", {}, "a4", "en") is first
    assert press.kit_pdf("outbuffered", {"board": "n.N\n...\ns.S"}, "a4", "en") != first
    assert press.kit_pdf("outbuffered", {}, "a4", "en") is first, "both have room"
    with pytest.raises(Malformed, match="Paper “a5” is unknown"):
        press.plan("outbuffered", "a5", "en")


# ---- the commands --------------------------------------------------------------------------------


def test_the_commands_write_sheets_in_a_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, said in (
        ("kit outbuffered --language es", "print it at 100 %, on matt paper"),
        ("kit arena --board-only", "one sheet of A2; print it at 100 %, on matt paper"),
        ("card 192.0.2.7:8080", "print it, and fold it along the dashes"),
    ):
        file = tmp_path / f"{len(words)}.pdf"
        assert main([*words.split(), "-o", str(file)]) == 0
        assert capsys.readouterr().out == f"{file}: {said}.\n"
        assert file.read_bytes().startswith(b"%PDF-")


def test_a_card_keeps_the_given_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KitPrinter, "join_card_pdf", lambda _, urls, *__: urls[0].encode())
    file = tmp_path / "card.pdf"
    main(["card", "https://table.local", "-o", str(file)])
    assert file.read_text() == "https://table.local/"


def test_the_commands_explain_a_bad_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere, kit = tmp_path / "none" / "kit.pdf", str(tmp_path / "kit.pdf")
    (tmp_path / "map").write_bytes(b"\xff\xfe")
    for words, said in (
        (("scouts", "-o", str(nowhere)), f"{nowhere} cannot be written: No such file or directory"),
        (("arena", "-o", kit, "--board", str(nowhere)), f"{nowhere} cannot be read: No such file"),
        (("arena", "-o", kit, "--board", str(tmp_path / "map")), "is not text: a map is lines"),
    ):
        assert main(["kit", *words]) == 1
        assert said in capsys.readouterr().err
