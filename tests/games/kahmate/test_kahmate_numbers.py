"""The numbers of the rules stand once in the code; sentences in every language say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from companion.core.i18n import LANGUAGES, speaking, translate
from companion.games.kahmate import legal
from companion.games.kahmate.board import CLEAR_LEAD, KICK_REACH, PASS_REACH, RANKS, ROLES
from companion.games.kahmate.state import FULL_HAND, RUNS
from companion.games.kahmate.words import RULES

NUMBERS = {
    "pass": {1, PASS_REACH},
    "kick": {1, KICK_REACH},
    "tackled-ball": {CLEAR_LEAD},
    "face-off": {1, FULL_HAND[-1]},
    "try": {1, RANKS},
}
PARAGRAPHS = {rule.id: rule for rule in RULES}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rule", NUMBERS)
def test_rules_say_the_numbers_of_the_code(rule: str, language: str) -> None:
    with speaking(language):
        text = translate(PARAGRAPHS[rule].text)
    assert {int(number) for number in re.findall(r"\d+", text)} == NUMBERS[rule]


def test_runs_and_cards_in_words() -> None:
    words = {2: "two", 6: "six"}
    assert f"up to {words[RUNS]} different pieces run" in PARAGRAPHS["round"].text
    assert (
        f"{words[len(FULL_HAND)]} cards, {FULL_HAND[0]} to {FULL_HAND[-1]}"
        in PARAGRAPHS["face-off"].text
    )


def test_refusals_say_how_far_a_pass_and_a_kick_go() -> None:
    source = Path(legal.__file__).read_text(encoding="utf-8")
    for what, reach in (("pass", PASS_REACH), ("kick", KICK_REACH)):
        told = re.findall(rf"a {what} goes ([^.]*ranks[^.]*)", source)
        assert [set(map(int, re.findall(r"\d+", each))) for each in told] == [
            {1, reach},
            {reach},
        ], what


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_piece_is_as_strong_as_its_paragraph_says(language: str) -> None:
    with speaking(language):
        text = translate(PARAGRAPHS["pieces"].text)
    for role in ROLES:
        assert f"{role.speed}, {role.attack}, {role.defence}".replace("-", "−") in text, role
