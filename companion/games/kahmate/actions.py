"""The actions of Kahmate and their notation, which the head of the package explains.

In an action squares are numbers, as in `board.py`. `str` gives the notation of an action, and
`parse` reads it.
"""

from __future__ import annotations

import re

import msgspec

from companion.core.errors import Malformed
from companion.core.grid import parse_square_numbers
from companion.core.i18n import Verbatim, say
from companion.games.kahmate.board import RANKS, ROLES, SQUARE_NAMES, SQUARE_NUMBERS

# Numbers of the squares of a path, one step apart if the action is legal. The first is the piece's
# own square.
Path = tuple[int, ...]


class Placement(msgspec.Struct, frozen=True):
    """Squares for the six pieces of a seat, in the order R R B T F S."""

    squares: tuple[int, ...]

    def __str__(self) -> str:
        placed = zip(ROLES, self.squares, strict=True)
        return " ".join(f"{role.letter}@{SQUARE_NAMES[square]}" for role, square in placed)


class Run(msgspec.Struct, frozen=True):
    """A run along a path. `into_goal` adds a step over the far end of the board."""

    path: Path
    into_goal: bool = False

    def __str__(self) -> str:
        return path_text(self.path) + ("-goal" if self.into_goal else "")


class Pass(msgspec.Struct, frozen=True):
    """A pass from the carrier to a team-mate."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"{SQUARE_NAMES[self.start]}*{SQUARE_NAMES[self.end]}"


class Kick(msgspec.Struct, frozen=True):
    """A kick of the ball ahead."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"{SQUARE_NAMES[self.start]}!{SQUARE_NAMES[self.end]}"


class Tackle(msgspec.Struct, frozen=True):
    """A tackle on `target` by one or two pieces. A legal path ends next to the target."""

    paths: tuple[Path, ...]
    target: int

    def __str__(self) -> str:
        return f"{'&'.join(map(path_text, self.paths))}x{SQUARE_NAMES[self.target]}"


class EndTurn(msgspec.Struct, frozen=True):
    """The end of a turn."""

    def __str__(self) -> str:
        return "."


class Card(msgspec.Struct, frozen=True):
    """A card for a face-off."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


# An action that has a plan (`state.ActionPlan`).
BallPlay = Run | Pass | Kick | Tackle

Action = Placement | BallPlay | EndTurn | Card

_SQUARE = "[a-z][1-9][0-9]*"
_PATH = f"{_SQUARE}(?:-{_SQUARE})*"
# Maximum number of characters of a malformed text that are quoted. The longest action has 35.
_MAX_SHOWN = 60
# Pattern of the notation of each action.
_PATTERNS = {
    Run: f"{_SQUARE}(?:(?:-{_SQUARE})+(?:-goal)?|-goal)",
    Pass: rf"{_SQUARE}\*{_SQUARE}",
    Kick: f"{_SQUARE}!{_SQUARE}",
    Tackle: f"{_PATH}(?:&{_PATH})?x{_SQUARE}",
    EndTurn: r"\.",
    Card: "[1-6]",
    Placement: " ".join(f"{role.letter}@{_SQUARE}" for role in ROLES),
}


def path_text(path: Path) -> str:
    """Return the notation of a path.

    >>> path_text((9, 17, 18))
    'b2-b3-c3'
    """
    return "-".join([SQUARE_NAMES[square] for square in path])


def parse(text: str) -> Action:
    """Parse an action from its notation. Raises `Malformed`.

    >>> str(parse("b4-b5&c7-c6xb6"))
    'b4-b5&c7-c6xb6'
    """
    matching = (form for form, pattern in _PATTERNS.items() if re.fullmatch(pattern, text))
    action_type = next(matching, None)
    if action_type is None:
        shown = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
        expected = say(
            "“{text}” is not an action: expected a run b2-b3-c3 (into goal b11-goal), a pass "
            "b5*c4, a kick b5!c8, a tackle b4-b5xb6 or b4-b5&c7-c6xb6, a card 1 to 6, . for the "
            "end of the turn, or a set-up R@b1 R@d1 B@c2 T@e2 F@g1 S@d2",
            text=Verbatim(shown),
        )
        raise Malformed(expected)
    squares = parse_square_numbers(text, SQUARE_NUMBERS, RANKS)
    if action_type is Run:
        return Run(squares, text.endswith("-goal"))
    if action_type is Tackle:
        paths = text.partition("x")[0].split("&")
        return Tackle(
            tuple(parse_square_numbers(path, SQUARE_NUMBERS, RANKS) for path in paths), squares[-1]
        )
    if action_type is Pass or action_type is Kick:
        return action_type(*squares)
    if action_type is EndTurn:
        return EndTurn()
    if action_type is Card:
        return Card(int(text))
    return Placement(squares)
