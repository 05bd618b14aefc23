"""Languages: a sentence for people is English text that remembers its pattern, and is said to each
in his own language.

`say("{side!c} bounces and stays on {square}.", side=..., square=...)` answers a `str` with the
English sentence, to be compared, stored and logged like any other. Whoever shows it to a person
calls `translate`; the pages do that for all they print. What is glued together by `+` or an
f-string forgets its pattern: use `say`, `joined` and `listed` instead. The catalogues are
`locale/*.po` (gettext), written anew by `make messages`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from gettext import c2py
from pathlib import Path
from types import MappingProxyType
from typing import Any

from companion.core.catalogue_file import Message, plural_of, read_catalogue, team_of

LOCALE = Path(__file__).parents[1] / "locale"


def languages_in(folder: Path) -> Mapping[str, str]:
    """Return what can be spoken, by its code, in its own word: English, and each catalogue of a
    folder.

    A catalogue's header says the word as `Language-Team`.
    """
    languages = {"en": "English"}
    for path in sorted(folder.glob("*.po")):
        with closing(read_catalogue(path)) as messages:
            languages[path.stem] = team_of(next(messages)) or path.stem
    return languages


LANGUAGES = languages_in(LOCALE)
_spoken: ContextVar[str] = ContextVar("spoken", default="en")
NOBODY: Mapping[str, str] = MappingProxyType({})
_names: ContextVar[Mapping[str, str]] = ContextVar("names", default=NOBODY)
"""Who plays each side, by the side's English word: whoever is told a sentence reads the name."""
COLOUR = "colour"
"""A part that is called so says how a piece looks, and stays the side's word."""


class Said(str):
    """A sentence in English that knows its pattern, the plural's pattern (empty: none) and its
    parts by name.
    """

    __slots__ = ("many", "parts", "pattern")
    pattern: str
    many: str
    parts: Mapping[str, object]

    def capitalize(self) -> Said:
        """Return it with a capital letter, the rest as it is, in every language."""
        return _said("{text!c}", "", {"text": self})


class Verbatim(str):
    """What somebody has typed, such as a name: the same in every language, also where the catalogue
    knows the word.
    """

    __slots__ = ()


class _Comma(float):
    """A number that writes 0,5, whatever the pattern asks of its digits."""

    def __format__(self, digits: str) -> str:
        return super().__format__(digits).replace(".", ",")


def say(pattern: str, /, **parts: object) -> str:
    """Return a sentence from its English pattern and what its `{names}` stand for.

    `{name!c}` begins with a capital letter.

    >>> say("{side!c} is on {square}.", side="lime", square="c3")
    'Lime is on c3.'
    """
    return _said(pattern, "", parts)


def say_n(one: str, many: str, n: int, /, **parts: object) -> str:
    """Return a sentence about `{n}` things, with its pattern for one and for several.

    >>> say_n("{n} piece to go.", "{n} pieces to go.", 2)
    '2 pieces to go.'
    """
    return _said(one, many, {**parts, "n": n})


def to_owner(text: str, name: str) -> str:
    """Return a sentence for whoever has this name: without it, or "Both", in front.

    Any other sentence as it is.

    >>> to_owner(say("{side!c}: choose a card", side="lime"), "lime")
    'Choose a card'
    >>> to_owner(say("Choose a game"), "lime")
    'Choose a game'
    """
    if not text.startswith(("Both: ", f"{_converted(name, 'c')}: ")):
        return text
    return _said("{text!o}", "", {"text": text})


def before_colon(text: str) -> str:
    """Return what a sentence says before its colon, or all of it where there is none.

    >>> before_colon(say("The {piece} is seen twice: take one away.", piece="ball"))
    'The ball is seen twice.'
    """
    return _said("{text!w}", "", {"text": text})


def initial(text: str) -> str:
    """Return the first letter of a sentence in each language, such as the letter of an order.

    >>> initial(say("U for up"))
    'U'
    """
    return _said("{text!i}", "", {"text": text})


def joined(separator: str, parts: Iterable[object]) -> str:
    """Join sentences. Empty ones are left out.

    >>> joined(" ", [say("Wait."), "", say("Then press ready.")])
    'Wait. Then press ready.'
    """
    named: dict[str, object] = {}
    pattern = ""
    # braces of a separator are signs, not parts of the pattern
    glue = separator.replace("{", "{{").replace("}", "}}")
    for part in filter(None, parts):
        name = f"p{len(named)}"
        pattern += f"{glue}{{{name}}}" if named else f"{{{name}}}"
        named[name] = part
    return _said(pattern, "", named) if named else ""


def headed(head: str, text: str) -> str:
    """Return what something is, a colon as each language sets it, and what there is to say of it.

    An empty part is left out.

    >>> headed(say("Lane {lane}", lane="2"), "5&")
    'Lane 2: 5&'
    """
    return say("{option}: {choice}", option=head, choice=text) if head and text else head or text


def listed(parts: Iterable[object]) -> str:
    """Return a list in words.

    >>> listed(["a2", "b3", "c4"])
    'a2, b3 and c4'
    """
    *rest, end = list(parts) or [""]
    if not rest:
        return end if isinstance(end, str) else str(end)
    many = joined(", ", rest)
    return say("{many} and {end}", many=many, end=end)


def translate(text: object, language: str | None = None) -> str:
    """Return what was said, in a language of `LANGUAGES` (None: the one spoken now).

    Any other text as it is.
    """
    if not isinstance(text, Said):
        return str(text)
    language = _spoken.get() if language is None else language
    if language == "en" and not _names.get():
        return str.__str__(text)
    return _translate(text, language)


def plain_words(value: object) -> str:
    """Return what msgspec's `enc_hook` makes of a sentence: the words in the language spoken
    now.
    """
    if isinstance(value, Said | Verbatim):
        return translate(value)
    raise NotImplementedError(f"{type(value).__name__} has no plain form")


def packed(text: object) -> Any:
    """Return a sentence or one of its parts in plain JSON, to be kept.

    `unpacked` makes it again.
    """
    if isinstance(text, Said):
        return {
            "say": text.pattern,
            "many": text.many,
            "parts": {name: packed(part) for name, part in text.parts.items()},
        }
    if isinstance(text, Verbatim):
        return {"typed": str(text)}
    return text if isinstance(text, int | float | str) else str(text)


def unpacked(plain: Any) -> Any:
    """Return what was packed."""
    if not isinstance(plain, dict):
        return plain
    if "typed" in plain:
        return Verbatim(plain["typed"])
    parts = {name: unpacked(part) for name, part in plain["parts"].items()}
    return _said(plain["say"], plain["many"], parts)


def spoken() -> str:
    """Return the language that is spoken now, in this thread or task."""
    return _spoken.get()


def speak(language: str, names: Mapping[str, str] = NOBODY) -> None:
    """Speak it from now on, in this thread or task, with these names for sides."""
    _spoken.set(language)
    _names.set(names)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Speak it for a while."""
    token = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(token)


def names_of_sides() -> Mapping[str, str]:
    """Return the names that stand for sides now, by the side's English word."""
    return _names.get()


@contextmanager
def naming(names: Mapping[str, str]) -> Iterator[None]:
    """Say these names for sides for a while.

    >>> with naming({"lime": "Ann"}):
    ...     translate(say("{side!c} waits on {square}.", side="lime", square="c3"))
    'Ann waits on c3.'
    """
    token = _names.set(names)
    try:
        yield
    finally:
        _names.reset(token)


def best_language(wanted: Iterable[str]) -> str:
    """Return the first of some codes (`es-MX`) that can be spoken, or English."""
    for text in wanted:
        code = text.lower()[:2]
        if code in LANGUAGES:
            return code
    return "en"


def words_for_scripts(language: str) -> Mapping[str, str]:
    """Return the translations that the pages' scripts need: those whose pattern stands in one of
    them.
    """
    return {} if language == "en" else catalogue_of(language).scripts


# ---- inside --------------------------------------------------------------------------------------


_CONVERTED = re.compile(r"\{(\w+)!([cowitT])\}")


@lru_cache(maxsize=4096)
def _conversions(pattern: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a pattern whose `{name!c}` are `{name_c}`, and those pairs: `str.format` knows no such
    conversions.
    """
    return _CONVERTED.sub(r"{\1_\2}", pattern), tuple(_CONVERTED.findall(pattern))


def _converted(text: str, conversion: str) -> str:
    """Convert a part. `c`: with a capital letter. `i`: that letter alone.

    `o`: what stands behind the colon. `w`: what stands before it.
    """
    if conversion == "i":
        return text[:1].upper()
    before, colon, behind = text.partition(": ")
    if conversion == "o" and colon:
        text = behind
    if conversion == "w" and colon:
        text = f"{before.rstrip()}."
    return text[:1].upper() + text[1:]


def _fill(pattern: str, parts: Mapping[str, object], language: str = "en") -> str:
    """Return a pattern with its parts. What has none stays as it is, braces and all.

    `{name!t}` and, at the beginning of a sentence, `{name!T}` have an article: of translations
    alone.
    """
    if not parts:
        return pattern
    has_article = False
    if "!" in pattern:
        pattern, conversions = _conversions(pattern)
        parts = dict(parts)
        for name, conversion in conversions:
            text = str(parts[name])
            if conversion in "tT":
                has_article = True
                usual, other, nouns = _pattern(language, ARTICLES).split("|")
                # every catalogue names the noun first, and then what describes it
                noun = text.partition(" ")[0].lower()
                text = (other if re.search(nouns, noun) else usual) + text
            # “T” has an article and a capital letter, “t” the article alone
            if conversion != "t":
                text = _converted(text, conversion)
            parts[f"{name}_{conversion}"] = text
    filled = pattern.format(**parts)
    if has_article:
        for pair in _pattern(language, CONTRACTIONS).split(";"):
            long, is_pair, short = pair.partition("=")
            if is_pair:
                # whole words alone, between spaces
                filled = filled.replace(f" {long} ", f" {short} ")
    return filled


def _said(pattern: str, many: str, parts: Mapping[str, object]) -> Said:
    chosen = many if many and parts["n"] != 1 else pattern
    sentence = Said(_fill(chosen, parts))
    sentence.pattern, sentence.many, sentence.parts = pattern, many, parts
    return sentence


def _translate(text: Said, language: str) -> str:
    if not text.parts and (name := _names.get().get(text.pattern)):
        return name
    parts = {name: _part(part, language, name == COLOUR) for name, part in text.parts.items()}
    number = text.parts["n"] if text.many else None
    n = number if isinstance(number, int) else None
    pattern = _pattern(language, text.pattern, text.many, n)
    return _fill(pattern, parts, language)


def _part(part: object, language: str, is_colour: bool) -> object:
    """Return a part in words: a sentence of its own or a word.

    The word is one that the catalogue may know, such as a piece's name.
    """
    if isinstance(part, float) and decimal_mark(language) == ",":
        return _Comma(part)
    if not isinstance(part, str):
        return part
    if is_colour:
        return _pattern(language, str(part))
    if isinstance(part, Verbatim):
        return part
    if name := _names.get().get(part):
        return name
    return _translate(part, language) if isinstance(part, Said) else _pattern(language, part)


def _pattern(language: str, one: str, many: str = "", n: int | None = None) -> str:
    if language == "en":
        return many if many and n != 1 else one
    return lookup(language, one, many, n)


def lookup(language: str, one: str, many: str, n: int | None) -> str:
    """Return the pattern in a language, or the English one where the catalogue has none."""
    catalogue = catalogue_of(language)
    words = catalogue.words.get(one)
    if not words:
        return many if many and n != 1 else one
    return words[catalogue.plural(n)] if n is not None and len(words) > 1 else words[0]


@dataclass(frozen=True)
class _Catalogue:
    """A language's words by English pattern (several where it counts), which of them scripts say,
    and its plural.
    """

    words: Mapping[str, tuple[str, ...]]
    scripts: Mapping[str, str]
    plural: Callable[[int], int]


@cache
def catalogue_of(language: str) -> _Catalogue:
    """Return the catalogue of a language, read at its first use."""
    words: dict[str, tuple[str, ...]] = {}
    scripts: dict[str, str] = {}
    plural = plural_of(Message())
    for message in read_catalogue(LOCALE / f"{language}.po"):
        if not message.one:
            plural = plural_of(message)
        elif all(message.words):
            words[message.one] = tuple(message.words)
            if any(path.endswith(".js") for path in message.files):
                # scripts ask for a plural by its own English pattern
                ids = (message.one, message.many) if message.many else (message.one,)
                scripts |= dict(zip(ids, message.words, strict=True))
    return _Catalogue(words, scripts, c2py(plural))


# ---- what a catalogue says of its language ----

DECIMAL = say("0.5")
"""How a number is written. One that is a part of a sentence is handed in as a number."""
ARTICLES = say("the |the |$^")
"""The article of a piece's name, another one, and which nouns have that, as a regular
expression."""
CONTRACTIONS = say("to the|of the")
"""Pairs such as `a el=al;de el=del`: what a preposition and an article become."""
MONTHS = (
    say("January"), say("February"), say("March"), say("April"), say("May"), say("June"),
    say("July"), say("August"), say("September"), say("October"), say("November"), say("December"),
)  # fmt: skip


def decimal_mark(language: str | None = None) -> str:
    """Return what a language (None: the one spoken now) writes before decimals.

    >>> decimal_mark("en"), decimal_mark("es")
    ('.', ',')
    """
    return _pattern(language or spoken(), DECIMAL)[1]


def long_date(at: datetime, language: str) -> str:
    """Return a day with its month in words (Unicode CLDR 46: the long date).

    >>> long_date(datetime(2026, 11, 3), "es")
    '3 de noviembre de 2026'
    """
    return translate(
        say("{day} {month} {year}", day=at.day, month=MONTHS[at.month - 1], year=at.year), language
    )


def time_of_day(at: datetime, language: str) -> str:
    """Return hours and minutes (Unicode CLDR 46: the short time).

    >>> time_of_day(datetime(2026, 11, 3, 9, 5), "es")
    '9:05'
    """
    return translate(say("{hour:02}:{minute:02}", hour=at.hour, minute=at.minute), language)
