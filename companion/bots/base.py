"""The interface of a bot, which gets one seat's view and returns an action in notation.

The view of a seat holds only what the player there may know. The functions in this module make the
sentences in which all bots give their reasons.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from companion.core.i18n import joined, say
from companion.core.kit import Seat

# Levels of strength: beginner, club player, and maximum strength.
LEVELS = (1, 2, 3)

# Minimum probability in percent at which an expected reply is mentioned. Chosen by eye: a reply
# below it is hardly more likely than others.
_MIN_LIKELY_PERCENT = 10

# Minimum probability in percent at which an expected reply is stated as if it were certain, without
# its percentage. Chosen by eye.
_CERTAIN_PERCENT = 95


class Choice(NamedTuple):
    """An action that a bot chose."""

    action: str
    """The action in the game's notation."""
    nodes: int
    """Number of positions searched."""
    why: tuple[str, ...] = ()
    """Reasons as sentences, the most important first."""


class Verdict(NamedTuple):
    """A bot's opinion of an action that somebody else chose."""

    best: Choice
    """What the bot would choose."""
    loss: float | None
    """How much worse the action is than `best`, as a share of a whole game, 0 to 1. It is estimated
    by the bot's own evaluation, and None if the bot cannot compare the actions.
    """


def share_of_game(points: float, points_per_game: float) -> float:
    """Return a lead in points as a share of a game, 0 to 1.

    :param points_per_game: lead that usually decides a whole game, in the same points
    """
    return min(1.0, max(0.0, points / points_per_game))


def reply_sentence(orders: Iterable[str], share: float = 1.0) -> str:
    """Return a sentence with the other side's likeliest orders and their probability.

    Return an empty string if nothing is likely.

    :param orders: the orders in words
    :param share: their probability, 0 to 1
    """
    words = joined("; ", orders)
    percent = round(100 * share)
    if not words or percent < _MIN_LIKELY_PERCENT:
        return ""
    if percent >= _CERTAIN_PERCENT:
        return say("Expected from the other side: {orders}.", orders=words)
    return say("I thought you would: {orders}. ({percent} %)", orders=words, percent=percent)


def second_best_sentence(orders: Iterable[str], share: float) -> str:
    """Return a sentence with the second best orders and how much less they are worth.

    Return an empty string if there are no such orders.

    :param orders: the orders in words
    :param share: the difference to the best orders, as a share of a game
    """
    words = joined("; ", orders)
    percent = min(100, round(100 * share))
    if not words:
        return ""
    if percent <= 0:
        return say("Just as good: {orders}.", orders=words)
    return say(
        "Next best: {orders}, worth {percent} % of a game less.", orders=words, percent=percent
    )


def without_empty(*lines: str) -> tuple[str, ...]:
    """Return these sentences in order, without the empty ones."""
    return tuple(filter(None, lines))


class Bot(ABC):
    """A player of one game. Its actions depend only on the options, its seed, and the views it saw.

    A subclass must override `choose`. It may override `see`, if it remembers past turns, and
    `loss`, if it can compare actions. One thread uses a bot.

    The effort of a search is limited in nodes, never in seconds, so that the same views always give
    the same actions. A bot must never raise on a view of a running game in which its seat has to
    act.

    :param options: the game's options, as `Game.options` takes them
    :param level: one of `LEVELS`
    :param seed: seed of all random choices
    """

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        self.seat = seat
        self.options = options
        self.level = level
        self.seed = seed
        self.rng = Random(seed)

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:  # noqa: B027
        """Note a finished turn: the view after it, and its events as this seat may know them."""

    @abstractmethod
    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return the action for this view, in which the seat has to act."""

    def judge(self, view: Mapping[str, Any], action: str) -> Verdict:
        """Return a verdict on a legal action, judged by this view alone."""
        choice = self.choose(view)
        if action == choice.action:
            return Verdict(choice, 0.0)
        return Verdict(choice, self.loss(view, action, choice.action))

    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float | None:  # noqa: ARG002
        """Return how much worse an action is than `best`, as a share of a game.

        Return None if they cannot be compared.
        """
        return None
