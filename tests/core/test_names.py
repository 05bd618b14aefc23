"""Test names of people: each has one spelling, and a name that shows nothing is none."""

from __future__ import annotations

import pytest

from companion.core.names import is_printable, is_visible, normalise_name

FLAG_OF_ENGLAND = (
    "\N{WAVING BLACK FLAG}"
    + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng")
    + "\U000e007f"
)


def test_two_spellings_of_a_letter_are_one_name() -> None:
    assert normalise_name("Rene\N{COMBINING ACUTE ACCENT}") == normalise_name(
        "Ren\N{LATIN SMALL LETTER E WITH ACUTE}"
    )


@pytest.mark.parametrize(
    "invisible", ["\u200d", "\u3164", "\u2800", "\u115f\u1160", " \u3000 ", "\u0301"]
)
def test_an_invisible_name_is_empty(invisible: str) -> None:
    assert normalise_name(invisible) == ""


@pytest.mark.parametrize("name", ["Zoë", "Łukasz", "山田", "👩‍🚀", "❤\ufe0f", "ش", FLAG_OF_ENGLAND])
def test_names_of_all_scripts_are_kept(name: str) -> None:
    assert normalise_name(name) == name
    assert is_printable(name)
    assert is_visible(name)


@pytest.mark.parametrize("name", ["a\x07", "a\u202eb", "Tom\U000e0067"])
def test_controls_are_not_printable(name: str) -> None:
    assert not is_printable(name)
