"""The file of a finished game. To check it, every turn and every receipt are computed again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from companion.core.errors import CompanionError, Malformed, wrong_phase
from companion.core.i18n import Verbatim, in_language, joined, say
from companion.core.kit import SEATS, Seat
from companion.games import game_named
from companion.games.base import Step, plain_outcome
from companion.table.chance.fairness import FairChance, stream_number, turn_random
from companion.table.chance.game_chance import (
    ChanceView,
    chosen_start_sentence,
    reveal_chance,
    uses_chance,
)
from companion.table.session import Phase, Session, receipt_of


class PlayedAction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a seat decided in a turn."""

    action: str
    """The action in the game's notation."""
    salt: str
    """Random text, so that nobody can find the action from its receipt."""
    receipt: str
    """SHA-256 of `"moment seat action salt"`, which the player got when handing in."""


class PlayedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn, with the actions that were sealed (handed in, and hidden until the reveal)."""

    moment: str
    """Id of the decision, such as `3.7` for the seventh one of game 3. Receipts contain it."""
    actions: dict[Seat, PlayedAction] = msgspec.field(name="orders")


class GameFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finished game, with everything that a replay needs."""

    game: str
    options: dict[str, Any]
    seed: int
    """Seed from which all chance of the game comes."""
    turns: tuple[PlayedTurn, ...]
    outcome: dict[str, Any] | None
    """Outcome as `plain_outcome` returns it."""
    format: int = 1
    """Version of the file's format."""
    players: dict[Seat, str] = {}
    """Names of the players at the end, if known."""
    begun: float = 0.0
    """Unix time of the first input. 0 if unknown."""
    chance: FairChance | None = None
    """Source of the seed. None if the owner chose the seed, if an older version drew it, or if the
    game uses no chance.
    """
    is_seed_chosen: bool = msgspec.field(default=False, name="is_chosen")
    """Whether the owner chose the seed."""
    machines: tuple[Seat, ...] = ()
    """Seats that a program played at the end."""
    coached: tuple[Seat, ...] = ()
    """Seats that asked the coach."""


def build_game_file(
    session: Session,
    players: Mapping[Seat, str] | None = None,
    begun: float = 0.0,
    machines: tuple[Seat, ...] = (),
) -> GameFile:
    """Return the file of a finished game.

    `players`, `begun` and `machines` have the same meaning as in `GameFile`. A session does not
    have them. Raises `Illegal` while the game is on, because the file would reveal what is hidden.
    """
    if session.phase is not Phase.OVER:
        raise wrong_phase(say("The game is still on: it can be exported when it is over"))
    turns = tuple(
        PlayedTurn(
            turn.moment,
            {
                seat: PlayedAction(sealed.action, sealed.salt, sealed.receipt)
                for seat, sealed in turn.sealed.items()
            },
        )
        for turn in session.turns
    )
    with in_language("en"):  # a file does not depend on the language
        outcome = plain_outcome(session.outcome)
    fair_chance = session.chance
    return GameFile(
        session.require_game().name,
        dict(session.chosen_options),
        fair_chance.seed if fair_chance else session.seed,
        turns,
        outcome,
        players=dict(players or {}),
        begun=begun,
        chance=fair_chance,
        is_seed_chosen=session.is_seed_chosen,
        machines=machines,
        coached=tuple(sorted(session.coached_seats)),
    )


def replay_turns(played: GameFile) -> Iterator[tuple[Any, PlayedTurn, Step[Any]]]:
    """Yield the state before each turn, the turn, and the step that `Game.apply` returns for it.

    Raises a `CompanionError` if the rules refuse a turn, or if a receipt does not match its action.
    After the last turn, it also raises one if the game is over by its rules and the file has other
    winners.
    """
    game = game_named(played.game)
    options = game.options(played.options)
    state = game.setup(options, turn_random(played.seed, 0))
    for number, turn in enumerate(played.turns, start=1):
        try:
            tick = int(turn.moment.rpartition(".")[2])  # 7 of the moment `3.7`
            actions = {seat: game.parse(sealed.action) for seat, sealed in turn.actions.items()}
            game.require(state, actions)
        except (ValueError, CompanionError) as error:
            message = error.message if isinstance(error, CompanionError) else str(error)
            raise Malformed(
                say("Turn {number} cannot be played: {error}", number=number, error=message)
            ) from None
        _require_receipts(turn, number)
        stream = stream_number(played.chance, played.is_seed_chosen, number, tick)
        step = game.apply(state, actions, turn_random(played.seed, stream))
        yield state, turn, step
        state = step.state
    with in_language("en"):  # as in the file
        outcome = plain_outcome(game.outcome(state))
    # compare only the winners, because older versions may word the reason differently
    winners = (played.outcome or {}).get("winners")
    if outcome is not None and outcome["winners"] != winners:
        raise Malformed(
            say(
                "The file says “{told}”, the rules say “{found}”",
                told=str(played.outcome),
                found=str(outcome),
            )
        )


def _require_receipts(turn: PlayedTurn, number: int) -> None:
    """Raise `Malformed` unless all receipts of a turn match its actions.

    `number` is the number of the turn in the file, for the message.
    """
    for seat, sealed in turn.actions.items():
        if receipt_of(turn.moment, seat, sealed.action, sealed.salt) != sealed.receipt:
            raise Malformed(
                say(
                    "Turn {number}: the receipt of {seat} does not match its order {order}",
                    number=number,
                    seat=seat,
                    order=Verbatim(sealed.action),
                )
            )


def chance_of_file(played: GameFile, number: int = 0) -> ChanceView | None:
    """Return where the random numbers of a game come from. None if it uses no chance.

    `number` is the number of the game in its journal, 0 for a file from elsewhere.
    """
    game = game_named(played.game)
    options = game.options(played.options)
    chosen = chosen_start_sentence(game, options, played.is_seed_chosen)
    if not uses_chance(game, options) and not chosen:
        return None
    if played.chance is None:
        return ChanceView(number, chosen=chosen, seed=played.seed)
    return reveal_chance(
        ChanceView(number, played.chance.commitment, chosen), played.chance, played.seed
    )


def check_chance(played: GameFile) -> list[str]:
    """Check where the random numbers of a game come from, and return lines about it.

    Raises `Malformed` if commitment, secret and seed do not match.
    """
    chance = chance_of_file(played)
    if chance is None:
        return []
    if chance.faults:
        raise Malformed(joined(" ", chance.faults))
    if chance.opened is None:
        return [chance.description]
    commitment = say("Commitment: {commitment}", commitment=chance.commitment)
    proof = say(
        "The seed is SHA-256 of “{text}”: commitment and seed match.", text=chance.opened.seed_text
    )
    return [chance.description, f"  {commitment}", f"  {proof}"]


def transcript_lines(played: GameFile) -> Iterator[str]:
    """Yield the lines that the command `replay` prints: the game turn by turn, in English.

    Raises a `CompanionError` if file, rules and receipts disagree.
    """
    yield from check_chance(played)
    for seat in played.coached:
        yield say("{side!c} played with the coach.", side=game_named(played.game).sides[seat].name)
    for number, (_, turn, step) in enumerate(replay_turns(played), start=1):
        actions = "  ".join(
            f"{seat} {turn.actions[seat].action}" for seat in SEATS if seat in turn.actions
        )
        # not translated, like all that commands print
        yield f"Turn {number}: {actions}"
        yield from (f"  {event.text}" for event in step.events)
    if played.outcome:
        yield str(played.outcome.get("reason", ""))
