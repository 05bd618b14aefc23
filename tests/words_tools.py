"""Helpers: a pseudo-language, and functions that find texts that were not translated to it.

The pseudo-language puts every sentence of the catalogues in brackets, such as `⟦{many} and {end}⟧`.
Words outside of brackets show a fault: they were never given to `say`, or were put together with
other words on their way to a page, so that no catalogue has the whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from babel.messages.catalog import Catalog
from babel.messages.frontend import CommandLineInterface
from babel.messages.pofile import read_po
from run_folder import FOLDER_VARIABLE

from companion.core.catalogue_file import read_catalogue
from companion.core.i18n import LANGUAGES, LOCALE

ROOT = Path(__file__).parent.parent
PACKAGES = ("companion", "hardware", "vision", "web")
# Attributes that people read or hear.
READ_ATTRIBUTES = (
    "aria-label",
    "aria-description",
    "aria-roledescription",
    "aria-valuetext",
    "title",
    "placeholder",
    "alt",
    "label",
)
# Elements whose text nobody sees.
INVISIBLE_TAGS = ("script", "style")
# Classes of elements whose text is the same in every language: notation, receipts, addresses,
# keys.
CLASSES_SAME_IN_ALL_LANGUAGES = frozenset(
    ("mono", "receipt", "code", "lab", "letter", "leg", "notation")
)
# Words that are the same in every language, and so need no translation.
SAME_IN_ALL_LANGUAGES = re.compile(
    r"Camera Module \d( Wide)?|HQ Camera|\bauto\b|"
    + "|".join(LANGUAGES.values())
    # names of things
    + r"|Tabletop Companion|SHA-256|Wi-Fi|JSON|PNG|WebP|PDF|GPIO|BCM|https?://\S+|/[\w/<>.-]+"
    # what a phone's script reads: a game, its commitment, seats
    r"|\d+ [0-9a-f]{64}(?: south| north)*"
    r"|\b\d+ de [a-z]+ de \d{4}|\b\d+:[a-z]?[A-Z]+\b"  # dates in Spanish, orders such as 1:aN
    # notation and units
    r"|\b[A-Z]{1,3}\d?\b|\b[a-h]\d{1,2}\b|\b\d+[a-z]{1,2}\b|\bpx\b|\bmm\b|\bcm\b|\bx\b"
)
# A word of two letters or more.
WORD = re.compile(r"[^\W\d_]{2,}")
# Elements of HTML that have no end tag.
_VOID = frozenset(
    (
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "source",
        "track",
        "wbr",
    )
)
# Names in JSON whose values people see, even if they are a single word.
_SHOWN_KEYS = frozenset(
    (
        "label",
        "hint",
        "note",
        "sign",
        "why",
        "sentence",
        "message",
        "stage_title",
        "reason",
        "worth",
    )
)
# Names in JSON whose values are for programs.
_PROGRAM_KEYS = frozenset(("layout", "expected", "face", "faces", "fans", "drawing", "options"))
_TWO_WORDS = re.compile(r"[^\W\d_]{2,}[,.:;]? [^\W\d_]{2,}")


@cache
def extracted_catalogue() -> Catalog:
    """Return the sentences of the program as `make messages` finds them, in about two seconds."""
    # run the Makefile's own command, with the whole paths of what it reads
    command = re.search(
        r"pybabel -q (extract .*?)\\\n\t+(.*)\n", (ROOT / "Makefile").read_text(encoding="utf-8")
    )
    assert command, "the Makefile does not extract the sentences any more"
    words = f"{command[1]} {command[2]}".split()
    words = [str(ROOT / word) if word in (*PACKAGES, "pyproject.toml") else word for word in words]
    # The first worker that needs the file makes it for all. It appears by a rename, so that no
    # other worker reads a part of it.
    shared = Path(os.environ[FOLDER_VARIABLE]) / "messages.pot"
    if not shared.exists():
        with TemporaryDirectory(dir=shared.parent) as folder:
            pot = Path(folder) / "messages.pot"
            words[words.index("messages.pot")] = str(pot)
            CommandLineInterface().run(["pybabel", "-q", *words])
            pot.replace(shared)
    with shared.open("rb") as file:
        return read_po(file)


@cache
def _catalogue_patterns() -> frozenset[str]:
    """Return every English pattern of the Spanish catalogue, which lacks none (`test_i18n.py`)."""
    messages = read_catalogue(LOCALE / "es.po")
    return frozenset(
        text for message in messages for text in (message.singular, message.plural) if text
    )


# Patterns of the first and the last part of a sentence that is sent in parts. Each has one bracket.
PARTIAL_SENTENCES = {"{text!o}": "⟦{text!o}", "{text!w}": "{text!w}⟧"}


def bracketed(language: str, one: str, many: str = "", n: int | None = None) -> str:
    """Return a pattern in the pseudo-language. It replaces `companion.core.i18n.translate_pattern`.

    English stays as it is. A pattern with words that is in no catalogue gets its brackets the wrong
    way round, `⟧words⟦`. So the words stay outside of brackets, even if the pattern becomes a part
    of another sentence, such as `⟦before ⟧words⟦ after⟧`.
    """
    pattern = many if many and n != 1 else one
    if language == "en":
        return pattern
    if one in PARTIAL_SENTENCES:
        return PARTIAL_SENTENCES[one]
    if one in _catalogue_patterns():
        return f"⟦{pattern}⟧"
    return f"⟧{pattern}⟦" if WORD.search(re.sub(r"\{.*?\}", "", pattern)) else pattern


@pytest.fixture
def brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every language but English by the pseudo-language."""
    monkeypatch.setattr("companion.core.i18n.translate_pattern", bracketed)


def text_outside_brackets(text: str) -> str:
    """Return a text with spaces in place of all brackets and of what is in them.

    The depth is below 0 inside of brackets that are the wrong way round, see `bracketed`.
    """
    characters = []
    depth = 0
    for character in text:
        depth += character == "⟦"
        characters.append(" " if depth > 0 or character in "⟦⟧" else character)
        depth -= character == "⟧"
    return "".join(characters)


def untranslated_words(text: str) -> str:
    """Return the words of a text that were not translated, or an empty string.

    Names of languages do not count: each stands in its own language.
    """
    return " ".join(WORD.findall(SAME_IN_ALL_LANGUAGES.sub(" ", text_outside_brackets(text))))


def untranslated_on_page(html: str, names: Iterable[str] = ()) -> set[str]:
    """Return all texts of a page that people read or hear and that were not translated.

    People have typed `names`, so they need no translation.
    """
    reader = _PageReader()
    reader.feed(html)
    untranslated = set()
    for text in reader.texts:
        without_names = text
        for name in names:
            without_names = without_names.replace(name, " ")
        if untranslated_words(without_names):
            untranslated.add(" ".join(text.split()))
    return untranslated


def untranslated_in_json(value: object, key: str = "") -> set[str]:
    """Return the untranslated texts of a JSON value. `key` is its key in the object around it.

    Only what people see counts: values with a key of `_SHOWN_KEYS`, and texts of several words.
    Markup does not count.
    """
    if isinstance(value, dict):
        shown = ((name, item) for name, item in value.items() if name not in _PROGRAM_KEYS)
        return {text for name, item in shown for text in untranslated_in_json(item, str(name))}
    if isinstance(value, list):
        return {text for item in value for text in untranslated_in_json(item, key)}
    if not isinstance(value, str):
        return set()
    is_shown = key in _SHOWN_KEYS or _TWO_WORDS.search(text_outside_brackets(value))
    is_markup = re.search(r'[<"=]', value)
    return {value} if is_shown and not is_markup and untranslated_words(value) else set()


class _PageReader(HTMLParser):
    """Collects the texts of a page that people read or hear.

    They are between tags, in the attributes of `READ_ATTRIBUTES`, and in data that scripts show.
    Elements whose text need not be translated (`is_exempt`) are left out with all that is in them,
    except for their data.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._open: list[tuple[str, bool]] = []
        """The open elements, each with whether its text need not be translated."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        is_exempt = (
            bool(CLASSES_SAME_IN_ALL_LANGUAGES & set(values.get("class", "").split()))
            or tag in INVISIBLE_TAGS
            or tag == "code"
            # words in a language that is not the page's own, such as the name of that language
            or ("lang" in values and tag != "html")
        )
        if not (is_exempt or self._is_in_exempt()):
            self.texts += [values[name] for name in READ_ATTRIBUTES if name in values]
            if tag == "input" and values.get("type") in ("submit", "button", "reset"):
                self.texts.append(values.get("value", ""))
        data = [
            value
            for name, value in values.items()
            if name.startswith("data-") and name != "data-sheet"
        ]
        self.texts += [text for value in data for text in _data_texts(value)]
        if tag not in _VOID:
            self._open.append((tag, is_exempt))

    def handle_endtag(self, tag: str) -> None:
        # also close the elements in it whose end tags HTML permits to leave out, such as `li`
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._is_in_exempt():
            self.texts.append(data)

    def _is_in_exempt(self) -> bool:
        return any(is_exempt for _, is_exempt in self._open)


def _data_texts(value: str) -> Iterator[str]:
    """Yield the sentences in a `data-` attribute that a script may show, also those in its JSON.

    Texts with a slash, an equals sign or a decimal number are addresses, settings and drawings.
    """
    if value[:1] in ("{", "["):
        try:
            yield from untranslated_in_json(json.loads(value))
            return
        except ValueError:
            pass
    if " " in value and not re.search(r"[/=]|\d\.\d", value):
        yield value
