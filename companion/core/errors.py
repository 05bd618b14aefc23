"""Errors that this program raises on purpose. Each leaf is also the builtin that fits.

CompanionError
├── Malformed (ValueError)          text, option or body of the wrong form
├── Illegal (ValueError)            well-formed, but against the rules or the moment
├── Ambiguous (ValueError)          several legal actions fit: somebody has to be asked
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
    """Return type and places of an unexpected error for the log.

    Its words are left out: they may hold somebody's order.
    """
    return f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"


class CompanionError(Exception):
    """Root of all errors that the program raises on purpose."""

    kind = "error"

    @property
    def message(self) -> str:
        """Return the sentence for people, in English or to be translated."""
        text = self.args[0] if self.args else self.kind
        return text if isinstance(text, str) else str(text)


class Malformed(CompanionError, ValueError):
    """A text, option or body that is not in the form that was asked for."""

    kind = "malformed"


class Refusal(StrEnum):
    """Why the table or the engine refuses something, whatever game is played."""

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
    """A well-formed input that the rules or the moment do not allow.

    `reason` is a member of a `StrEnum` (a game's own, or `Refusal`); `rule` names a paragraph of
    the game's rules. `square` is the text of the square that breaks the rule, where one does.
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
    """Return the refusal of what cannot be done now."""
    return Illegal(Refusal.WRONG_PHASE, message)


class Ambiguous(CompanionError, ValueError):
    """Several legal actions explain what was seen or said: somebody has to be asked."""

    kind = "ambiguous"

    def __init__(self, message: str, choices: tuple[str, ...]) -> None:
        super().__init__(message)
        self.choices = choices


class Stale(CompanionError, RuntimeError):
    """An input that belongs to a turn or a game that is already past."""

    kind = "stale"


class ConfigError(CompanionError, ValueError):
    """The settings file is wrong; the message names the place."""

    kind = "config"


class SystemTrouble(CompanionError, OSError):
    """Something of the machine cannot be used: a file, a device, a port. Its message is the whole
    error.
    """

    kind = "system"

    def __str__(self) -> str:
        return self.message


class JournalError(SystemTrouble):
    """The journal cannot be read, written or shared."""

    kind = "journal"


class JournalInUse(JournalError):
    """Another companion has the journal."""


class CameraError(SystemTrouble):
    """A camera or an image cannot be opened or read."""

    kind = "camera"


class PanelError(SystemTrouble):
    """A pin of the panel cannot be used."""

    kind = "panel"
