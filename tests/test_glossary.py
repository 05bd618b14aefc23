"""The words of docs/glossary.md: each stands in one row, and no sentence for people uses what they
replace.
"""

from __future__ import annotations

import re
from pathlib import Path

from companion.core.catalogue_file import read_catalogue
from companion.core.i18n import LOCALE

ROOT = Path(__file__).parent.parent


GLOSSARY = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")


def test_words_are_explained_once_and_files_exist() -> None:
    words = [
        word
        for row in re.findall(r"^\| ([a-z][a-z, ]*) \|", GLOSSARY, re.MULTILINE)
        for word in row.split(", ")
    ]
    assert len(words) > 30
    assert len(set(words)) == len(words)
    for name in re.findall(r"`([a-z_/]+\.py)`", GLOSSARY):
        assert (ROOT / name).is_file(), name


# Parts of paths whose sentences mean rounds of a tournament.
TOURNAMENTS = (
    "companion/league/",
    "companion/hub",
    "web/hub/",
    "templates/hub",
    "templates/_hub",
    "table/lobby.py",
)
# Parts of other sentences that may say "round": what goes around, and a tournament's round.
AROUND = ("go round", "Round {number}: {south}", "round’s game")
# Whole sentences that may say it: the shape of a drawing.
SHAPES = ("Round",)
# Parts of sentences that are not words for people: fields, addresses, commands and settings.
TECHNICAL = r"\{\w+\}|/host\b|host-key|companion \w+|\[\w+\] \w+|south, north, tie or \*"


def test_no_sentence_calls_a_thing_by_another_name() -> None:
    """The table “In sentences for people” of the glossary, over all sentences of the catalogue."""
    section = GLOSSARY.partition("## In sentences for people")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([A-Z][^|]*) \|[^|]*\| ([^|]+) \|$", section, re.MULTILINE)[1:]
    unwanted = [word for _, words in rows for word in words.split(", ")]
    assert len(unwanted) > 15
    pattern = re.compile(rf"\b({'|'.join(unwanted)})\b", re.IGNORECASE)
    found = []
    for message in read_catalogue(LOCALE / "es.po"):
        is_of_tournament = any(part in path for path in message.files for part in TOURNAMENTS)
        for sentence in filter(None, (message.singular, message.plural)):
            plain = re.sub(TECHNICAL, "", sentence)
            hit = pattern.search(plain)
            is_around = sentence in SHAPES or any(words in sentence for words in AROUND)
            if hit and not (
                hit[1].lower() in ("round", "rounds") and (is_of_tournament or is_around)
            ):
                found.append(f"{hit[1]}: {sentence}")
    assert not found, "\n".join(found)
