"""People's names: how they are checked and normalised before they are shown and stored.

A name may be in any script, and may have emoji in it. Two kinds of names must not pass:

- Names with control characters, which could garble a page or a log. Whoever accepts a name has to
  refuse it unless `is_printable` returns True. `seats/seat_fold.py` does so for a seat.
- Names that look empty. `normalise_name` makes them empty, and a player with an empty name is a
  guest.
"""

from __future__ import annotations

import unicodedata

# Zero-width joiner and non-joiner, as a table with which `str.translate` removes them. Emoji and
# some scripts use them between letters.
_JOINERS = dict.fromkeys((0x200C, 0x200D))
# Tag letters, as a table with which `str.translate` removes them. After a black flag they spell a
# region, as in the flag of England.
_TAGS = dict.fromkeys(range(0xE0020, 0xE0080))

_BLACK_FLAG = "\N{WAVING BLACK FLAG}"
# Characters that are blank although their Unicode category is a visible one.
_BLANKS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def is_printable(name: str) -> bool:
    """Return whether every character of a name can be displayed. An empty name is printable.

    Joiners are allowed, although they have no shape of their own. So are tag letters in a name with
    a black flag.

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
    # By the first letter of their Unicode category: marks (M), such as accents, are visible only
    # on a letter. Separators (Z) and control characters (C) are never visible.
    return any(
        character not in _BLANKS and unicodedata.category(character)[0] not in "MZC"
        for character in name
    )


def normalise_name(typed: str) -> str:
    """Return a name as it is stored: in Unicode's normal form C, without spaces around it.

    If nothing in the name is visible, return an empty string.

    >>> normalise_name("  Rene\\u0301 ") == "Ren\\u00e9", normalise_name("\\u2800")
    (True, '')
    """
    name = unicodedata.normalize("NFC", typed).strip()
    return name if is_visible(name) else ""
