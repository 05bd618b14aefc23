"""Test that each word of docs/glossary.md has one row, and that sentences for people use its words.

Sentences are read from the Spanish catalogue, which lists all of them in English, too.
"""

from __future__ import annotations

import re
from pathlib import Path

from companion.core.catalogue_file import read_catalogue
from companion.core.i18n import LOCALE

ROOT = Path(__file__).parent.parent
GLOSSARY = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")


def test_words_have_one_row_and_files_exist() -> None:
    words = [
        word
        for row in re.findall(r"^\| ([a-z][a-z’, ]*) \|", GLOSSARY, re.MULTILINE)
        for word in row.split(", ")
    ]
    assert len(words) > 30
    assert len(set(words)) == len(words)
    for name in re.findall(r"`([a-z_/]+\.(?:py|html))`", GLOSSARY):
        assert (ROOT / name).is_file(), name


# Parts of the paths of files in which "round" means a round of a tournament.
TOURNAMENT_FILES = (
    "companion/league/",
    "companion/hub",
    "web/hub/",
    "templates/hub",
    "templates/_hub",
    "table/lobby.py",
)
# Parts of other sentences that may say "round": a motion, and a tournament's round.
ALLOWED_ROUNDS = ("go round", "Round {number}: {south}", "round’s game")
# Whole sentences that may say "round": the shape of a drawing.
ROUND_SHAPES = ("Round",)
# Parts of sentences that are not words for people: fields, addresses, commands and settings.
TECHNICAL = r"\{\w+\}|/host\b|host-key|companion \w+|\[\w+\] \w+|south, north, tie or \*"


def test_no_sentence_uses_an_unwanted_word() -> None:
    """Search all sentences for the words under *Not* in the table “In sentences for people”."""
    section = GLOSSARY.partition("## In sentences for people")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([A-Z][^|]*) \|[^|]*\| ([^|]+) \|$", section, re.MULTILINE)[1:]
    unwanted = [word for _, words in rows for word in words.split(", ")]
    assert len(unwanted) > 15
    pattern = re.compile(rf"\b({'|'.join(unwanted)})\b", re.IGNORECASE)
    faults = []
    for message in read_catalogue(LOCALE / "es.po"):
        is_of_tournament = any(part in path for path in message.files for part in TOURNAMENT_FILES)
        for sentence in filter(None, (message.singular, message.plural)):
            plain = re.sub(TECHNICAL, "", sentence)
            may_say_round = sentence in ROUND_SHAPES or any(
                words in sentence for words in ALLOWED_ROUNDS
            )
            for word in pattern.findall(plain):
                is_round = word.lower() in ("round", "rounds")
                if not (is_round and (is_of_tournament or may_say_round)):
                    faults.append(f"{word}: {sentence}")
    assert not faults, "\n".join(faults)
