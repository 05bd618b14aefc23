"""Errors that this program raises on purpose. Each leaf is also the builtin that fits.

CompanionError
├── Malformed (ValueError)          text, option or body of the wrong form
├── Illegal (ValueError)            well-formed, but against the rules or the moment
├── Ambiguous (ValueError)          kept for games written for version 1.0
├── Stale (RuntimeError)            belongs to a turn or a game that is past
├── ConfigError (ValueError)        a wrong settings file
└── SystemTrouble (OSError)         a file, device or port that cannot be used
    ├── JournalError
    │   └── JournalInUse
    ├── CameraError
    └── PanelError

A message says what, where, and what to do. A refused input changes nothing.
"""

import traceback
from enum import StrEnum


def trace_of(error: BaseException) -> str:
    """Return the type and the traceback locations of an unexpected error for the log.

    Its message is left out, since it may contain somebody's order.
    """
    return f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"


class CompanionError(Exception):
    """Root of all errors that this program raises on purpose."""

    kind = "error"

    @property
    def message(self) -> str:
        """The sentence for people, in English or to be translated."""
        text = self.args[0] if self.args else self.kind
        return text if isinstance(text, str) else str(text)


class Malformed(CompanionError, ValueError):
    """A text, option or body has the wrong form."""

    kind = "malformed"


class Refusal(StrEnum):
    """Reasons why the table or the engine refuses an input in any game."""

    GAME_OVER = "game_over"
    NO_GAME = "no_game"
    AGAINST_RULES = "against_rules"
    NOT_TO_ACT = "not_to_act"
    SEATS_MISSING = "seats_missing"
    WRONG_PHASE = "wrong_phase"
    PAUSED = "paused"
    ALREADY_SEALED = "already_sealed"
    LESSON = "lesson"
    TOO_LATE = "too_late"
    SEAT_TAKEN = "seat_taken"
    NOT_YOUR_SEAT = "not_your_seat"
    HOST_ONLY = "host_only"
    JOIN_CODE = "join_code"


class Illegal(CompanionError, ValueError):
    """A well-formed input that the rules or the phase of the game do not allow.

    `reason` is a member of a `StrEnum` (a game's own, or `Refusal`). `rule` names a paragraph of
    the game's rules. `square` is the text of the square that breaks the rule, if any.
    """

    kind = "illegal"

    def __init__(
        self, reason: StrEnum, message: str, rule: str | None = None, square: str | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.rule = rule
        self.square = square


def wrong_phase(message: str) -> Illegal:
    """Return the refusal of an action that is not possible now."""
    return Illegal(Refusal.WRONG_PHASE, message)


class Ambiguous(CompanionError, ValueError):
    """Several legal actions match, so that somebody has to choose. Kept for games written for
    version 1.0.
    """

    kind = "ambiguous"

    def __init__(self, message: str, choices: tuple[str, ...]) -> None:
        super().__init__(message)
        self.choices = choices


class Stale(CompanionError, RuntimeError):
    """An input belongs to a turn or a game that is over."""

    kind = "stale"


class ConfigError(CompanionError, ValueError):
    """The settings file is wrong. The message names the place."""

    kind = "config"


class SystemTrouble(CompanionError, OSError):
    """A resource of the machine cannot be used: a file, a device, a port. Its message describes the
    whole error.
    """

    kind = "system"

    def __str__(self) -> str:
        return self.message


class JournalError(SystemTrouble):
    """The journal cannot be read, written or shared."""

    kind = "journal"


class JournalInUse(JournalError):
    """Another companion uses the journal."""


class CameraError(SystemTrouble):
    """A camera or an image cannot be opened or read."""

    kind = "camera"


class PanelError(SystemTrouble):
    """A pin of the panel cannot be used."""

    kind = "panel"
