"""How keys of a pad, or of a phone that has the same ones, spell an action."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Key:
    """One order that a person can give, on the phone and on the pad.

    `pad` is the pad's key (`up down left right a b`), `letter` what it adds to the notation,
    `initial` the letter that players read in their own language. Empty: the notation's. Journals,
    receipts and files have the notation.
    """

    letter: str
    label: str
    drawing: str
    pad: str
    initial: str = ""


@dataclass(frozen=True)
class PadGrammar:
    """How keys spell an action: exactly `length` keys, each adding its letter. Ready hands it in.

    `held_ready` is what holding the ready key down means instead of a press. Empty: nothing. A game
    whose orders are more than single keys overrides `count`, `accepts` and `text`. They must depend
    on the keys alone, so that lamps and refusals never tell what was entered.

    `ready_is_key`: a short press of ready is a key of the draft (`ready`) as long as `accepts`
    takes it, and hands in only when it does not. Held down it hands in at any time, so `text` then
    has an answer to every draft.
    """

    keys: tuple[Key, ...]
    length: int
    held_ready: str = ""
    ready_is_key: bool = False
    at_once: str = ""
    """The pad's key that is handed in with its press, without ready. Empty: none."""
    ready_alone: str = ""
    """The action that ready hands in where there are no keys to be pressed before it."""

    def key(self, pad: str) -> Key | None:
        """Return the key behind a pad's button, or None."""
        return next((key for key in self.keys if key.pad == pad), None)

    def count(self, draft: tuple[str, ...]) -> int:
        """Return how many orders are entered. `draft` are the pad keys pressed so far."""
        return len(draft)

    def accepts(self, draft: tuple[str, ...], pad: str) -> bool:
        """Return whether this key may follow."""
        return self.key(pad) is not None and len(draft) < self.length

    def text(self, draft: tuple[str, ...]) -> str | None:
        """Return the action in notation, or None while something is missing."""
        if len(draft) != self.length:
            return None
        letters = [key.letter for pad in draft if (key := self.key(pad))]
        return "".join(letters) or self.ready_alone

    def spell(self, text: str) -> tuple[str, ...]:
        """Return the pad keys that spell an action, without the ready that hands it in."""
        return tuple(key.pad for letter in text for key in self.keys if key.letter == letter)

    def is_at_once(self, draft: tuple[str, ...]) -> bool:
        """Return whether it is handed in with its last key, without ready."""
        return draft == (self.at_once,)
