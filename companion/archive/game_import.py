"""Import of game files from other machines, which are parsed and checked before they are stored."""

from __future__ import annotations

import math

import msgspec

from companion.archive.game_file import GameFile, check_chance, replay_turns
from companion.archive.played_games import MAX_GAME_BYTES
from companion.archive.replay import outcome_without_rules
from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.messages import has_too_many_brackets
from companion.core.names import is_printable
from companion.games import game_named
from companion.table.seats.seat_fold import MAX_NAME

# Maximum number of turns of an imported game.
MAX_TURNS = 2000
# Latest valid start of a game: the beginning of the year 2100, Unix time.
_LATEST_START = 4_102_444_800.0


def parse_game_file(content: bytes) -> GameFile:
    """Parse a game file in JSON. Raises `Malformed`."""
    if len(content) > MAX_GAME_BYTES:
        raise Malformed(say("A game file may have at most {number} bytes", number=MAX_GAME_BYTES))
    try:
        text = content.decode("utf-8-sig")
        if has_too_many_brackets(content):
            raise ValueError
    except ValueError:
        raise Malformed(
            say("This is not a game file: choose one that was saved from a list of games")
        ) from None
    if text.lstrip().startswith("["):
        raise Malformed(say("The notation is for people to read: choose the game’s JSON file"))
    try:
        return msgspec.json.decode(text, type=GameFile)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Malformed(say("This is not a game file: {error}", error=str(error))) from None


def check_game(played: GameFile) -> None:
    """Raise `Malformed` unless the game can be replayed to its end and all receipts match.

    Its number of turns, its start and the names of its players must be valid as well.
    """
    if not 0 < len(played.turns) <= MAX_TURNS:
        raise Malformed(
            say(
                "The game has {number} turns: an imported game may have 1 to {most}",
                number=len(played.turns),
                most=MAX_TURNS,
            )
        )
    if not (math.isfinite(played.begun) and 0 <= played.begun <= _LATEST_START):
        raise Malformed(say("The start of the game is not a valid date"))
    for name in played.players.values():
        if len(name) > MAX_NAME or not is_printable(name):
            raise Malformed(
                say("A name may have at most {number} printable characters", number=MAX_NAME)
            )
    # raises unless the game can be replayed to its end
    end_reason(played)


def end_reason(played: GameFile) -> str:
    """Replay a game, and return the sentence on how it ended.

    Raises `Malformed` if file and rules disagree, or if the game is not over.
    """
    check_chance(played)
    game = game_named(played.game)
    rules_outcome = None
    for _, _, step in replay_turns(played):
        rules_outcome = game.outcome(step.state)
    return (rules_outcome or outcome_without_rules(game, played.outcome or {})).reason
