"""Test languages: translated sentences, complete catalogues, and each viewer's language.

The first part tests values, the last one pages through Flask's client and a small catalogue.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from string import Formatter

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po
from web_fixtures import WebRig, error_of, open_web_rig, page_text
from words_tools import ROOT, brackets, extracted_catalogue

from companion.core import i18n
from companion.core.config import TableSettings
from companion.core.i18n import (
    LANGUAGES,
    Verbatim,
    best_language,
    current_language,
    joined,
    listed,
    say,
    say_n,
    script_translations,
    set_language,
    translate,
    translate_for_json,
)
from companion.core.kit import Seat
from companion.games import GAMES
from web.static_files import static_version

__all__ = ["brackets"]
OTHER_LANGUAGES = tuple(code for code in LANGUAGES if code != "en")
SPANISH_CATALOGUE = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

msgid "lime"
msgstr "lima"

msgid "south"
msgstr "sur"

msgid "{many} and {end}"
msgstr "{many} y {end}"

msgid "{side!c} bounces and stays on {square}."
msgstr "En {square} rebota y se queda {side}."

msgid "One piece to go."
msgid_plural "{n} pieces to go."
msgstr[0] "Falta una pieza."
msgstr[1] "Faltan {n} piezas."

msgid "No game is on yet"
msgstr "Todavía no hay partida"

msgid "Scan the code on your side"
msgstr "Escanea el código de tu lado"

msgid "Scan here to play"
msgstr "Escanea aquí para jugar"

msgid "There is no such page"
msgstr "No existe esa página"

msgid "This browser does not sit at {seat!c}: take the seat, or ask the owner to free it"
msgstr "Este navegador no está en {seat}: toma asiento o pide que lo liberen"

#: web/static/seat.js web/context.py
msgid "Choose a card first"
msgstr "Primero elige una carta"

#: web/static/entry.js
msgid "{n} order is missing"
msgid_plural "{n} orders are missing"
msgstr[0] "Falta {n} orden"
msgstr[1] "Faltan {n} órdenes"
"""


@pytest.fixture
def spanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Replace the Spanish catalogue by a small one. Return its path."""
    file = tmp_path / "es.po"
    file.write_text(SPANISH_CATALOGUE, encoding="utf-8")
    (tmp_path / "fr.po").write_text("", encoding="utf-8")
    monkeypatch.setattr(i18n, "LOCALE", tmp_path)
    i18n.load_catalogue.cache_clear()
    yield file
    i18n.load_catalogue.cache_clear()
    set_language("en")


@pytest.fixture
def rig(tmp_path: Path, spanish: Path) -> Iterator[WebRig]:
    with open_web_rig(tmp_path) as opened:
        yield opened


# ---- sentences -----------------------------------------------------------------------------------


def test_sentences_are_english_and_remember_their_pattern(spanish: Path) -> None:
    sentence = say("{side!c} bounces and stays on {square}.", side=say("lime"), square="c3")
    assert sentence == "Lime bounces and stays on c3."
    # It is also found as a key by its plain text.
    assert {sentence: 1}["Lime bounces and stays on c3."] == 1
    assert translate(sentence, "es") == "En c3 rebota y se queda lima."
    assert translate(sentence, "fr") == "Lime bounces and stays on c3."
    # Plain text has no pattern, so it cannot be translated.
    assert translate("Lime bounces and stays on c3.", "es") == "Lime bounces and stays on c3."
    assert json.dumps(sentence) == '"Lime bounces and stays on c3."'


def test_a_number_chooses_its_form(spanish: Path) -> None:
    one, two = (say_n("One piece to go.", "{n} pieces to go.", number) for number in (1, 2))
    assert (one, two) == ("One piece to go.", "2 pieces to go.")
    assert (translate(one, "es"), translate(two, "es")) == ("Falta una pieza.", "Faltan 2 piezas.")
    assert translate(say_n("{n} win", "{n} wins", 3), "es") == "3 wins"


def test_lists_and_joined_sentences_are_translated(spanish: Path) -> None:
    names = listed([say("lime"), "purple", "white"])
    assert (names, translate(names, "es")) == ("lime, purple and white", "lima, purple y white")
    both = joined(
        " ",
        [say("Scan the code on your side"), "", say_n("One piece to go.", "{n} pieces to go.", 1)],
    )
    assert both == "Scan the code on your side One piece to go."
    assert translate(both, "es") == "Escanea el código de tu lado Falta una pieza."
    assert translate(names.capitalize(), "es") == "Lima, purple y white"


def test_typed_text_is_never_translated(spanish: Path) -> None:
    for name, translation in (("lime", "Toma, lima"), (Verbatim("lime"), "Toma, lime")):
        assert translate(say("Toma, {name}", name=name), "es") == translation
    assert translate_for_json(Verbatim("lime")) == "lime"
    with pytest.raises(NotImplementedError):
        translate_for_json(3)


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (["es-MX", "en"], "es"),
        (["nl", "FR-ch"], "fr"),
        (["nl"], "en"),
        ([], "en"),
        (["", "en-GB", "es"], "en"),
    ],
)
def test_the_first_known_language_is_chosen(wanted: list[str], code: str) -> None:
    assert best_language(wanted) == code


# ---- the catalogues ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sentences() -> Catalog:
    """Return every sentence of the program."""
    return extracted_catalogue()


def test_every_sentence_of_a_script_is_extracted(sentences: Catalog) -> None:
    """Babel's extraction overlooks a call inside another call and inside a template."""
    scripts = "".join(path.read_text() for path in (ROOT / "web/static").glob("*.js"))
    written = re.findall(r"\bsay(?:N)?\('((?:[^'\\]|\\.)+)'", scripts)
    extracted = {_singular_and_plural(message)[0] for message in sentences}
    assert len(written) > 50
    assert set(written) - extracted == set()


def catalogue_faults(catalogue: Catalog, sentences: Catalog) -> list[str]:
    """Return the faults of a catalogue: messages that are missing, obsolete or wrong."""
    wanted, present = (
        {_singular_and_plural(message) for message in messages if message.id}
        for messages in (sentences, catalogue)
    )
    faults = [f"is missing: {text}" for text, _ in sorted(wanted - present)]
    faults += [f"is no longer used: {text}" for text, _ in sorted(present - wanted)]
    faults += [f"is obsolete: {text}" for text in map(str, catalogue.obsolete)]
    for message in catalogue:
        if message.id:
            faults += [
                f"{fault}: {_singular_and_plural(message)[0]}" for fault in _message_faults(message)
            ]
    return faults


def _singular_and_plural(message: Message) -> tuple[str, str]:
    return (
        (message.id, "")
        if isinstance(message.id, str)
        else (str(message.id[0]), str(message.id[1]))
    )


def _message_faults(message: Message) -> Iterator[str]:
    """Yield each fault of a message: what is missing, or differs from the English one."""
    if message.fuzzy:
        yield "is fuzzy"
    texts = [message.string] if isinstance(message.string, str) else list(message.string)
    if not all(texts):
        yield "is not translated"
        return
    one, many = _singular_and_plural(message)
    for text in texts:
        try:
            names = _part_names(text)
        except ValueError as error:
            yield f"“{text}” cannot be filled ({error})"
            continue
        # A form for one or for few may lack the number, as the English singular does.
        if names != _part_names(many or one) and not (
            many and text is not texts[-1] and names == _part_names(one)
        ):
            yield f"“{text}” has other parts"
        if text != text.strip():
            yield f"“{text}” begins or ends with a blank"
        if re.search(r"\w [:;»]|« ", text):
            yield f"“{text}” may break at a blank before its mark"


def _part_names(pattern: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(pattern) if name is not None}


@pytest.mark.parametrize("code", OTHER_LANGUAGES)
def test_every_sentence_is_translated(code: str, sentences: Catalog) -> None:
    with (ROOT / f"companion/locale/{code}.po").open("rb") as file:
        faults = catalogue_faults(read_po(file, locale=code), sentences)
    assert not faults, f"{len(faults)} faults in {code}.po:\n" + "\n".join(faults)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", GAMES)
def test_no_two_orders_have_the_same_letter(name: str, language: str) -> None:
    game = GAMES[name]
    state = game.setup(game.options({}), Random(1))
    pad = game.pad(state, Seat.SOUTH)
    board_ui = game.board_ui(state, Seat.SOUTH)
    if board_ui and board_ui.sheet:
        initials = [way.initial or way.letter for way in board_ui.sheet.directions]
        initials += [kind.letter for kind in board_ui.sheet.kinds]
    else:
        initials = [key.initial or key.letter for key in pad.keys] if pad else []
    letters = [translate(initial, language).upper() for initial in initials]
    assert len(set(letters)) == len(letters)
    assert max(map(len, letters), default=0) <= 1


def test_decimal_numbers_have_each_languages_separator() -> None:
    sentence = say("{seconds} s, {height:g} mm", seconds=0.5, height=2.5)
    assert translate(sentence, "en") == "0.5 s, 2.5 mm"
    assert {translate(sentence, language) for language in OTHER_LANGUAGES} == {"0,5 s, 2,5 mm"}


def test_a_piece_has_the_article_of_its_language() -> None:
    expectation = say(
        "{piece!c} expected on {home}, seen on {square}: move it back.",
        piece="white scout",
        home="c1",
        square="c2",
    )
    assert translate(expectation, "fr").startswith("L’éclaireur blanc est attendu en c1")
    assert translate(expectation, "es").startswith("Se espera el explorador blanco en c1")
    removal = say("Take the {piece} off {square}", piece="white rock", square="c4")
    assert translate(removal, "es") == "Quita la roca blanca de c4"
    move = say("Move the {piece} {square} to {home}", piece="ball", square="c4", home="d4")
    assert translate(move, "fr") == "Déplacez le ballon de c4 à d4"
    tackle = say("{piece!c} tackles {target}.", piece="blue fast player", target="ball")
    assert translate(tackle, "es").endswith("placa al balón.")


# ---- for each viewer -----------------------------------------------------------------------------


def test_a_browser_gets_its_language(rig: WebRig) -> None:
    # The browser asks for Dutch, which is not there, and then for Spanish.
    browser = rig.browser()
    spanish_first = {"Accept-Language": "nl;q=0.9, es-ES, en;q=0.5"}
    assert "No game is on yet" in page_text(browser, "/watch")
    page = browser.get("/watch", headers=spanish_first).get_data(as_text=True)
    assert '<html lang="es"' in page
    assert "Todavía no hay partida" in page

    # A language that was chosen on the page comes before those of the browser.
    assert (
        browser.post("/language", data={"code": "en", "back": "/watch"}).headers["Location"]
        == "/watch"
    )
    assert "No game is on yet" in browser.get("/watch", headers=spanish_first).get_data(
        as_text=True
    )


def test_the_settings_choose_the_table_screens_language(tmp_path: Path, spanish: Path) -> None:
    with open_web_rig(tmp_path, table_settings=TableSettings(language="es")) as rig:
        browser = rig.browser()
        assert '<html lang="es"' in page_text(browser, "/")
        assert '<html lang="en"' in page_text(browser, "/watch")
        browser.set_cookie("language", "fr")
        assert '<html lang="fr"' in page_text(browser, "/")


@pytest.mark.parametrize(
    ("back", "location"),
    [
        ("/seat/south", "/seat/south"),
        ("https://elsewhere.example/", "/"),
        ("/\t/elsewhere.example/", "/"),
    ],
)
def test_choosing_a_language_stays_on_the_site(back: str, location: str, rig: WebRig) -> None:
    answer = rig.browser().post("/language", data={"code": "es", "back": back})
    assert (answer.status_code, answer.headers["Location"]) == (303, location)
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("language=es;")
    assert {"HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))


def test_a_stream_keeps_its_language(rig: WebRig) -> None:
    browser = rig.browser()
    english = rig.browser()
    with browser.get("/live/table", headers={"Accept-Language": "es"}, buffered=False) as stream:
        # The first chunk only opens the stream.
        chunks = iter(stream.response)
        next(chunks)
        assert "Escanea el código de tu lado" in next(chunks).decode()
        english.post("/api/seat/north/take", json={"name": ""})
        assert "Scan here to play" in page_text(english, "/")
        assert "Escanea aquí para jugar" in next(chunks).decode()
        assert current_language() == "en"


def test_a_refusal_is_in_the_viewers_language(rig: WebRig) -> None:
    browser = rig.browser()
    english = browser.post("/api/seat/south/resign", json={})
    assert error_of(english)["message"].startswith("This browser does not sit at South")
    browser.set_cookie("language", "es")
    refused = error_of(browser.post("/api/seat/south/resign", json={}))
    assert refused["message"] == "Este navegador no está en sur: toma asiento o pide que lo liberen"
    assert (refused["kind"], refused["reason"]) == ("illegal", "not_your_seat")
    page = browser.get("/nowhere", headers={"Accept": "text/html"}).get_data(as_text=True)
    assert "No existe esa página" in page
    view = browser.get("/api/view").get_json()
    assert view["sign"]["text"] == "Escanea el código de tu lado"
    assert rig.browser().get("/api/view").get_json()["sign"]["text"] == "Scan the code on your side"


def test_scripts_get_only_their_own_sentences(rig: WebRig, spanish: Path) -> None:
    browser = rig.browser()
    path = f"/static/{static_version()}/words.es.js"
    words = json.loads(page_text(browser, path).removeprefix("export default ").rstrip(";\n"))
    assert words == {
        "Choose a card first": "Primero elige una carta",
        "{n} order is missing": "Falta {n} orden",
        "{n} orders are missing": "Faltan {n} órdenes",
    }
    assert words == script_translations("es")
    assert script_translations("en") == {}
    assert [
        browser.get(f"/static/x/words.{code}.js").status_code for code in ("en", "xx", "es.js")
    ] == [200, 404, 404]

    # A page that was loaded before a change of the translations loads the scripts again.
    version_before = static_version()
    spanish.write_text(SPANISH_CATALOGUE.replace("Primero", "Antes"), encoding="utf-8")
    assert static_version() != version_before
