"""People's names: how they are checked, normalised and compared."""

from __future__ import annotations

import unicodedata

_JOINERS = dict.fromkeys((0x200C, 0x200D))
"""Zero-width joiners, which join letters in emoji and some scripts."""
_TAGS = dict.fromkeys((*range(0xE0020, 0xE007F), 0xE007F))
"""Tag letters, which spell a region after a black flag, as in the flag of England."""
_BLACK_FLAG = "\N{WAVING BLACK FLAG}"
_BLANKS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that Unicode counts as visible although they are blank."""


def is_printable(name: str) -> bool:
    """Return whether every character of a name can be displayed.

    >>> is_printable("Zoë"), is_printable("a\\x07b")
    (True, False)
    """
    if _BLACK_FLAG in name:
        name = name.translate(_TAGS)
    return name.translate(_JOINERS).isprintable()


def has_ink(name: str) -> bool:
    """Return whether a name has at least one visible character.

    >>> has_ink("Zoë"), has_ink("\\u3164"), has_ink("\\ufe0f")
    (True, False, False)
    """
    return any(_is_visible(character) for character in name)


def plain_name(typed: str) -> str:
    """Return a name as it is stored: in normal form C, without spaces around it, empty if nothing
    is visible.

    >>> plain_name("  Rene\\u0301 ") == "Ren\\u00e9", plain_name("\\u2800")
    (True, '')
    """
    name = unicodedata.normalize("NFC", typed).strip()
    return name if has_ink(name) else ""


def _is_visible(character: str) -> bool:
    # marks (M) are visible only on a letter, separators (Z) and controls (C) never
    return character not in _BLANKS and unicodedata.category(character)[0] not in "MZC"
