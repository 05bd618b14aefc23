"""A language that nobody speaks: every sentence of the catalogues stands in brackets, so that one
without is found.

`⟦{many} and {end}⟧`: what is not in brackets was never given to `say`, or has lost its pattern on
the way to a page.
"""

from __future__ import annotations

import json
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

from companion.core.i18n import LANGUAGES

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
INVISIBLE_TAGS = ("script", "style")
# Classes of elements whose text is the same in every language: notation, receipts, addresses,
# keys.
CLASSES_SAME_IN_ALL_LANGUAGES = frozenset(
    ("mono", "receipt", "code", "lab", "letter", "leg", "notation")
)
SAME_IN_ALL_LANGUAGES = re.compile(
    r"Camera Module \d( Wide)?|HQ Camera|\bauto\b|"
    + "|".join(LANGUAGES.values())
    # names of things
    + r"|Tabletop Companion|SHA-256|Wi-Fi|JSON|PNG|WebP|PDF|GPIO|BCM|https?://\S+|/[\w/<>.-]+"
    # what a phone's script is to answer: a game, its commitment, seats
    r"|\d+ [0-9a-f]{64}(?: south| north)*"
    r"|\b\d+ de [a-z]+ de \d{4}|\b\d+:[a-z]?[A-Z]+\b"  # dates in Spanish, orders by unit
    # notation and units
    r"|\b[A-Z]{1,3}\d?\b|\b[a-h]\d{1,2}\b|\b\d+[a-z]{1,2}\b|\bpx\b|\bmm\b|\bcm\b|\bx\b"
)
WORD = re.compile(r"[^\W\d_]{2,}")
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
# Names in JSON whose values are shown, even if they are a single word.
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
    """The sentences of the program, as `make messages` finds them; some two seconds of work,
    once.
    """
    command = re.search(
        r"pybabel -q (extract .*?)\\\n\t+(.*)\n", (ROOT / "Makefile").read_text(encoding="utf-8")
    )
    assert command, "the Makefile does not extract the sentences any more"
    words = f"{command[1]} {command[2]}".split()
    words = [str(ROOT / word) if word in (*PACKAGES, "pyproject.toml") else word for word in words]
    with TemporaryDirectory() as folder:
        pot = Path(folder) / "messages.pot"
        words[words.index("messages.pot")] = str(pot)
        CommandLineInterface().run(["pybabel", "-q", *words])
        with pot.open("rb") as file:
            return read_po(file)


@cache
def _catalogue_patterns() -> frozenset[str]:
    """Every English pattern that the catalogues can hold."""
    ids = (
        message.id if isinstance(message.id, tuple | list) else (message.id,)
        for message in extracted_catalogue()
    )
    return frozenset(text for several in ids for text in several if text)


# Sentences that are only the beginning or the end of another one: they have one bracket.
PARTIAL_SENTENCES = {"{text!o}": "⟦{text!o}", "{text!w}": "{text!w}⟧"}


def bracketed(language: str, one: str, many: str, n: int | None) -> str:
    """The pattern in the language that nobody speaks; what no catalogue can hold stays outside,
    also within another.
    """
    pattern = many if many and n != 1 else one
    if one in PARTIAL_SENTENCES:
        return PARTIAL_SENTENCES[one]
    if one in _catalogue_patterns():
        return f"⟦{pattern}⟧"
    return f"⟧{pattern}⟦" if WORD.search(re.sub(r"\{.*?\}", "", pattern)) else pattern


@pytest.fixture
def brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every language but English is the one that nobody speaks."""
    monkeypatch.setattr("companion.core.i18n.lookup", bracketed)


def text_outside_brackets(text: str) -> str:
    """What of a text stands in no brackets."""
    kept, depth = [], 0
    for letter in text:
        depth += letter == "⟦"
        kept.append(" " if depth > 0 or letter in "⟦⟧" else letter)
        depth -= letter == "⟧"
    return "".join(kept)


def untranslated_words(text: str) -> str:
    """The words of a text that were not translated; empty: none. Names of languages stand in their
    own words.
    """
    return " ".join(WORD.findall(SAME_IN_ALL_LANGUAGES.sub(" ", text_outside_brackets(text))))


def untranslated_on_page(html: str, names: Iterable[str] = ()) -> set[str]:
    """Everything on a page that people read or hear and that was not translated; `names` were typed
    by people.
    """
    reader = _Page()
    reader.feed(html)
    found = set()
    for text in reader.told:
        plain = text
        for name in names:
            plain = plain.replace(name, " ")
        if untranslated_words(plain):
            found.add(" ".join(text.split()))
    return found


def untranslated_in_json(value: object, key: str = "") -> set[str]:
    """The same of an answer to a program or a script: what has a name of `_LABELS`, and what has
    several words.
    """
    if isinstance(value, dict):
        inner = ((name, each) for name, each in value.items() if name not in _PROGRAM_KEYS)
        return {text for name, each in inner for text in untranslated_in_json(each, str(name))}
    if isinstance(value, list):
        return {text for each in value for text in untranslated_in_json(each, key)}
    if not isinstance(value, str) or not (
        key in _SHOWN_KEYS or _TWO_WORDS.search(text_outside_brackets(value))
    ):
        return set()
    return {value} if untranslated_words(value) and not re.search(r'[<"=]', value) else set()


class _Page(HTMLParser):
    """Collects what a page tells: text, the attributes of `TOLD`, and what its scripts are given to
    tell.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.told: list[str] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        is_plain = (
            bool(CLASSES_SAME_IN_ALL_LANGUAGES & set(given.get("class", "").split()))
            or tag in INVISIBLE_TAGS
            or tag == "code"
        )
        is_plain = is_plain or ("lang" in given and tag != "html")
        plain = is_plain or any(inside for _, inside in self._open)
        if not plain:
            self.told += [given[name] for name in READ_ATTRIBUTES if name in given]
            if tag == "input" and given.get("type") in ("submit", "button", "reset"):
                self.told.append(given.get("value", ""))
        data = [
            value
            for name, value in given.items()
            if name.startswith("data-") and name != "data-sheet"
        ]
        self.told += [text for value in data for text in _data(value)]
        if tag not in _VOID:
            self._open.append((tag, is_plain))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not any(plain for _, plain in self._open):
            self.told.append(data)


def _data(value: str) -> Iterator[str]:
    """What of a `data-` attribute may be told: sentences, also those inside of JSON."""
    if value[:1] in ("{", "["):
        try:
            yield from untranslated_in_json(json.loads(value))
            return
        except ValueError:
            pass
    if " " in value and not re.search(r"[/=]|\d\.\d", value):
        yield value
