"""People's names: how they are checked and normalised before they are shown and stored.

Names are text in any script, with emoji. What must not pass are control characters, and names that
look empty.
"""

from __future__ import annotations

import unicodedata

# Zero-width joiner and non-joiner, as a table for `str.translate`. Emoji and some scripts use them
# between letters.
_JOINERS = dict.fromkeys((0x200C, 0x200D))
# Tag letters, as a table for `str.translate`. They spell a region after a black flag, as in the
# flag of England.
_TAGS = dict.fromkeys(range(0xE0020, 0xE0080))

_BLACK_FLAG = "\N{WAVING BLACK FLAG}"
# Characters that are blank although their Unicode category is a visible one.
_BLANKS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def is_printable(name: str) -> bool:
    """Return whether every character of a name can be displayed. An empty name is printable.

    Joiners are allowed, and with a black flag also tag letters, although they have no shape.

    >>> is_printable("Zoë"), is_printable("a\\x07b")
    (True, False)
    """
    if _BLACK_FLAG in name:
        name = name.translate(_TAGS)
    return name.translate(_JOINERS).isprintable()


def is_visible(name: str) -> bool:
    """Return whether a name has at least one visible character.

    >>> is_visible("Zoë"), is_visible("\\u3164"), is_visible("\\ufe0f")
    (True, False, False)
    """
    # Marks (M) are visible only on a letter, separators (Z) and controls (C) never.
    return any(
        character not in _BLANKS and unicodedata.category(character)[0] not in "MZC"
        for character in name
    )


def normalise_name(typed: str) -> str:
    """Return a name as it is stored: in Unicode's normal form C, without spaces around it.

    It is empty if nothing in it is visible.

    >>> normalise_name("  Rene\\u0301 ") == "Ren\\u00e9", normalise_name("\\u2800")
    (True, '')
    """
    name = unicodedata.normalize("NFC", typed).strip()
    return name if is_visible(name) else ""
