"""Errors that several packages raise on purpose. Each leaf is also the builtin that fits.

A package may define further errors beside the code that raises them, such as `PortInUse` in
`web.server.server`.

CompanionError
├── Malformed (ValueError)          text, option or body of the wrong form
├── Illegal (ValueError)            well-formed, but against the rules or the moment
├── Ambiguous (ValueError)          kept for games written for version 1.0
├── Stale (RuntimeError)            came too late: what it was about is over or has changed
├── ConfigError (ValueError)        a wrong settings file
└── SystemTrouble (OSError)         a file, device or port that cannot be used
    ├── JournalError
    │   └── JournalInUse
    ├── CameraError
    └── PanelError

A message says what, where, and what to do. A refused input changes nothing.

Code that serves people catches `CompanionError` and shows its `message`. Any other exception is a
fault of the program, which goes to the log by `format_trace`.
"""

import traceback
from enum import StrEnum


class CompanionError(Exception):
    """Root of all errors that this program raises on purpose."""

    kind = "error"
    """Name of the class of errors in JSON answers, such as `illegal`."""

    @property
    def message(self) -> str:
        """The sentence for people. If it was made by `say`, it can be translated."""
        text = self.args[0] if self.args else self.kind
        return text if isinstance(text, str) else str(text)


class Malformed(CompanionError, ValueError):
    """A text, option or body has the wrong form."""

    kind = "malformed"


class Refusal(StrEnum):
    """Reasons why the table or the engine refuses an input in any game. A game adds its own."""

    GAME_OVER = "game_over"
    NO_GAME = "no_game"
    AGAINST_RULES = "against_rules"
    NOT_TO_ACT = "not_to_act"
    SEATS_MISSING = "seats_missing"  # one seat acts where both have to act at once
    WRONG_PHASE = "wrong_phase"  # possible at another time, but not now
    PAUSED = "paused"
    ALREADY_SEALED = "already_sealed"
    LESSON = "lesson"  # the guided game asks for another order
    TOO_LATE = "too_late"
    SEAT_TAKEN = "seat_taken"
    NOT_YOUR_SEAT = "not_your_seat"
    HOST_ONLY = "host_only"  # needs the owner key
    JOIN_CODE = "join_code"  # the code of the table is missing or wrong


class Illegal(CompanionError, ValueError):
    """A well-formed input that the rules or the phase of the game do not allow.

    `reason` is a member of `Refusal` or of the game's own `StrEnum`. `rule` is the id of a
    paragraph of the game's rules. `square` is the square that breaks the rule as text, if any.
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


# The refusal of an input about something that does not exist, or no longer. It has the reason of
# `wrong_phase`, because programs that use the addresses know that one.
does_not_exist = wrong_phase


class Ambiguous(CompanionError, ValueError):
    """Several legal actions match, so that somebody has to choose.

    Kept for games written for version 1.0.
    """

    kind = "ambiguous"

    def __init__(self, message: str, choices: tuple[str, ...]) -> None:
        super().__init__(message)
        self.choices = choices


class Stale(CompanionError, RuntimeError):
    """An input came too late: what it was about, such as a turn, is over or has changed."""

    kind = "stale"


class ConfigError(CompanionError, ValueError):
    """The settings file is wrong. The message names the place."""

    kind = "config"


class SystemTrouble(CompanionError, OSError):
    """A resource of the machine cannot be used: a file, a device, a port.

    It is raised with a single sentence, which describes the whole error.
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


def format_trace(error: BaseException) -> str:
    """Return the type and the traceback locations of an unexpected error for the log.

    Its message is left out, since it may contain somebody's order.
    """
    return f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"
