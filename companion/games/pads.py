"""How the keys of a pad, or the same keys on a phone, spell an action.

A pad is the small panel of a seat, with eight keys. Six of them belong to the game: `up down left
right a b`. Back and ready belong to the table: back removes the last key of the draft, and ready
hands the action in. The draft is what a seat has entered but not handed in. A game returns a
`PadGrammar` from `Game.pad`, and the table asks it after each press. It holds no state of its own:
every question comes with the whole draft.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Key:
    """An order that a person can enter with one key of the pad, or of the phone."""

    letter: str
    """Letter of the order in the notation, which journals, receipts and files use."""
    label: str
    drawing: str
    pad: str
    """Key of the pad that enters it: `up down left right a b`."""
    initial: str = ""
    """Letter in the players' language, or empty if it is `letter`."""


# A draft: the pad keys that a seat has pressed so far, such as `("up", "a")`.
Draft = tuple[str, ...]


@dataclass(frozen=True)
class PadGrammar:
    """The rules by which keys spell an action: exactly `length` keys, one letter each.

    The key ready hands the action in. A game whose orders need several keys overrides `count`,
    `accepts` and `text`. Their results must depend on the draft alone. Lamps and refusals, which
    everybody at the table notices, then reveal nothing secret.
    """

    keys: tuple[Key, ...]
    length: int
    """Number of keys of a complete draft."""
    held_ready: str = ""
    """Action for holding ready for a second, instead of what its press has done. Empty for none."""
    ready_is_key: bool = False
    """Whether a short press of ready adds `ready` to the draft while `accepts` allows it.

    Otherwise a short press hands the draft in. A long press always hands it in, so a game that sets
    this has to override `text` so that it accepts every draft.
    """
    at_once: str = ""
    """The pad key that, pressed alone, hands in its action without ready. Empty for none."""
    ready_alone: str = ""
    """The action that ready hands in on an empty draft. Empty for none."""

    def key(self, pad_key: str) -> Key | None:
        """Return the order that a key of the pad enters, or None if it enters none."""
        return next((key for key in self.keys if key.pad == pad_key), None)

    def count(self, draft: Draft) -> int:
        """Return the number of complete orders in a draft, which the order lamps show."""
        return len(draft)

    def accepts(self, draft: Draft, pad_key: str) -> bool:
        """Return whether this key of the pad may follow the draft."""
        return self.key(pad_key) is not None and len(draft) < self.length

    def text(self, draft: Draft) -> str | None:
        """Return the action of a draft in notation, or None if the draft is not complete."""
        if not draft and self.ready_alone:
            return self.ready_alone
        if len(draft) != self.length:
            return None
        return "".join(key.letter for pad_key in draft if (key := self.key(pad_key)))

    def spell(self, text: str) -> Draft:
        """Return the pad keys that spell an action in notation, without the final ready.

        The result is empty if keys cannot spell it.
        """
        draft = tuple(key.pad for letter in text for key in self.keys if key.letter == letter)
        # A text with foreign letters, or of the wrong length, does not come back the same.
        return draft if self.text(draft) == text else ()

    def is_at_once(self, draft: Draft) -> bool:
        """Return whether the draft is handed in as soon as its last key is pressed."""
        return draft == (self.at_once,)
