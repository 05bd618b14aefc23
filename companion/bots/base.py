"""The contract of an opponent, which sees one seat's view and chooses an action in the game's
notation.

Also the sentences in which all opponents give their reasons.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from companion.core.i18n import Said, joined, say, unpacked
from companion.core.kit import Seat

LEVELS = (1, 2, 3)
"""Beginner, club player, as strong as it can be."""
_MIN_LIKELY = 10
_CERTAIN = 95
"""Chance in percent from which an expected reply is worth a word, and from which it is told as
sure."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An action in the game's text notation, how many positions were looked at for it, and its
    reasons, best first.
    """

    action: str
    nodes: int
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a bot thinks of an action: what it would have done, and how much worse the action is by
    its own judgement.

    `loss` is a share of a whole game, 0 to 1, as far as such a thing can be said. None: it cannot
    compare them.
    """

    best: Choice
    loss: float | None


def share_of_game(points: float, points_a_game: float) -> float:
    """Return a lead as a share of a game, 0 to 1."""
    return min(1.0, max(0.0, points / points_a_game))


def said_by_bot(reasons: Iterable[str]) -> tuple[str, ...]:
    """Return reasons of one of our own as sentences for every language, also those without parts,
    which are plain English."""
    return tuple(
        line if isinstance(line, Said) else unpacked({"say": line, "many": "", "parts": {}})
        for line in reasons
    )


def expected_reply(orders: Iterable[str], share: float = 1.0) -> str:
    """Return what the other side is likeliest to do, in words, and how likely it is.

    Where nothing is likely: no sentence.
    """
    words = joined("; ", orders)
    percent = round(100 * share)
    if not words or percent < _MIN_LIKELY:
        return ""
    if percent >= _CERTAIN:
        return say("Expected from the other side: {orders}.", orders=words)
    return say("I thought you would: {orders}. ({percent} %)", orders=words, percent=percent)


def second_best(orders: Iterable[str], share: float) -> str:
    """Return what else was thought of, in words, and how much less it is worth, as a share of a
    game."""
    words = joined("; ", orders)
    percent = min(100, round(100 * share))
    if not words:
        return ""
    if percent <= 0:
        return say("Just as good: {orders}.", orders=words)
    return say(
        "Next best: {orders}, worth {percent} % of a game less.", orders=words, percent=percent
    )


def reasons_of(*lines: str) -> tuple[str, ...]:
    """Return these sentences without the empty ones."""
    return tuple(line for line in lines if line)


class Bot(ABC):
    """One player of one game: what it does depends on the views it was shown, its options and its
    own seed alone.

    Budgets are counted in nodes, never in seconds, so that a game can be played again and each move
    be checked. A bot must never raise on a view of a running game in which its seat has to act.

    :param options: the game's options, as `Game.options` takes them
    :param level: one of `LEVELS`
    """

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        self.seat = seat
        self.options = options
        self.level = level
        self.rng = Random(seed)

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:  # noqa: B027
        """Remember what a turn has shown: the view after it, and its events as this seat may know
        them.
        """

    @abstractmethod
    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return the action for this view, in which the seat has to act."""

    def judge(self, view: Mapping[str, Any], action: str) -> Verdict:
        """Return how good a legal action for such a view is, from what the view tells alone."""
        choice = self.choose(view)
        if action == choice.action:
            return Verdict(choice, 0.0)
        return Verdict(choice, self.loss(view, action, choice.action))

    @abstractmethod
    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float | None:
        """Return how much worse an action is than the `best` one, as a share of a game.

        None: they cannot be compared.
        """
