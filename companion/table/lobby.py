"""The lobby between two games: which game begins next, and with which options.

The words on the table screen are in `web/templates/_lobby.html`, and those of the sign (the one
sentence that says what the table waits for) are in `prompts/sign.py`. Callers of the functions hold
the table's lock (see `TableStore`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import msgspec

from companion.core.errors import Illegal, JournalError, Malformed, Refusal, wrong_phase
from companion.core.i18n import say
from companion.games import game_named
from companion.table.chance.game_chance import new_game_record
from companion.table.records import GameOptions, Score
from companion.table.seats import seating
from companion.table.session import MACHINE, Phase
from companion.table.state import with_session
from companion.table.store import TableStore


def begin_game(
    store: TableStore,
    game: str,
    options: GameOptions | None = None,
    seed: int | None = None,
    score: Score = (0, 0, 0),
) -> None:
    """Start a game with its set-up.

    `options` are the chosen ones by name. The game fills in the others. A `seed` is chosen by the
    owner, and decides everything that the game draws. Without it, chance is fair. `score` is the
    score of the match so far.

    Raises `Malformed` for unknown games and options, `Illegal` during a game, and `JournalError` if
    the disk is full.
    """
    _require_disk_space(store)
    store.accept(new_game_record(store, game, options or {}, seed, score))


def begin_for_owner(
    store: TableStore, game: str, options: GameOptions, seed: int | None = None
) -> None:
    """Start a game for the owner, and remember the choice. Raises what `begin_game` raises."""
    begin_game(store, game, options, seed)
    store.last_choices.remember(game, options)
    store.publish(replace(store.live, remembered_game=game))


def begin_lesson(store: TableStore, game: str) -> None:
    """Start the lesson of a game.

    Raises `Malformed` if the game has none, and what `begin_game` raises.
    """
    rules = game_named(game)
    if rules.lesson is None:
        raise Malformed(say("{game} has no lesson", game=rules.title))
    _require_disk_space(store)
    record = new_game_record(store, game, rules.lesson.options)
    store.accept(msgspec.structs.replace(record, is_guided=True))


def choose_game(store: TableStore, game: str) -> None:
    """Choose the game that everybody sees before it begins.

    Raises `Malformed` for an unknown game, and `Illegal` outside the lobby: during a game, and
    while the end of one is shown.
    """
    name = game_named(game).name
    if store.session.phase is not Phase.LOBBY:
        raise wrong_phase(say("A game is on: end it before you start another one"))
    store.publish(replace(store.live, chosen_game=name, stage_since_s=store.now_s()))


def return_to_lobby(store: TableStore) -> None:
    """Return to the lobby with its list of all games. Raises `Illegal` during a game."""
    if not store.session.is_between_games:
        raise wrong_phase(say("A game is on: end it before you start another one"))
    session = store.session.lobby if store.session.phase is Phase.OVER else store.session
    live = with_session(store.live, session, store.now_s())
    store.publish(replace(live, chosen_game=None, stage_since_s=store.now_s()))
    seating.free_lone_machines(store)


def begin_chosen(store: TableStore) -> None:
    """Start the chosen game. Raises `Illegal` if none is chosen, and what `begin_game` raises."""
    chosen = store.live.chosen_game
    if chosen is None:
        raise Illegal(Refusal.NO_GAME, say("No game is on: choose one first"))
    _begin_with_last_options(store, chosen)


def begin_by_key(store: TableStore, is_guided: bool) -> None:
    """Start a game, or its lesson, by a key of a pad.

    The key does not say which game. It is the first of these that there is: the game of the
    tournament's round, the game that was chosen in the lobby, the game whose board lies on the
    table, the game that the owner started last. A round has no lesson. Raises `Illegal` if there is
    none of them.
    """
    live = store.live
    if store.round_game and not is_guided:
        begin_round(store)
        return
    game = live.chosen_game or live.suggested_game or live.remembered_game
    if game is None:
        raise Illegal(Refusal.NO_GAME, say("No board lies on the table"))
    if is_guided:
        begin_lesson(store, game)
    else:
        _begin_with_last_options(store, game)


def begin_round(store: TableStore) -> None:
    """Start the game of the tournament's round. Raises `Illegal` if there is none."""
    if store.round_game is None:
        raise Illegal(Refusal.NO_GAME, say("No game of a round is to be played here"))
    begin_game(store, *store.round_game)


def rematch(store: TableStore, swap: bool = False) -> None:
    """Start the same game with the same options again, as the next game of the match.

    With `swap` the players change sides, if possible. After a lesson, start the game itself. Raises
    `Illegal` unless the end of a game at this table alone is shown, and what `begin_game` raises.
    """
    session = store.session
    if session.phase is not Phase.OVER:
        raise wrong_phase(say("The game is not over yet"))
    if session.remote is not None:
        raise wrong_phase(say("For another game, pair the tables again"))
    south, north, ties = session.score
    # On a full disk `begin_game` refuses below, and then nobody may have changed places.
    if swap and session.can_swap and store.has_disk_space:
        seating.swap_seats(store)
        # The wins follow the people who change places.
        south, north = north, south
    name = session.require_game().name
    options = _last_options(store, name) if session.is_guided else session.chosen_options
    begin_game(store, name, options, score=(south, north, ties))


def _begin_with_last_options(store: TableStore, game: str) -> None:
    """Start a game with the options that the owner chose for it last."""
    rules = game_named(game)
    options = _last_options(store, game)
    # A machine cannot know cards that people deal. With the first preset the program deals them.
    if MACHINE in store.session.doors and rules.is_dealt_by_hand(rules.options(options)):
        options = rules.presets[0].options
    begin_game(store, game, options)


def _require_disk_space(store: TableStore) -> None:
    """Raise `JournalError` if the disk has no room for another game."""
    if not store.has_disk_space:
        raise JournalError(
            say("The disk is full: no game can start. Remove old games or other files first.")
        )


def _last_options(store: TableStore, game: str) -> GameOptions:
    """Return the options that the owner chose last for a game, or else its last preset."""
    rules = game_named(game)
    options = store.last_choices.options(game)
    # An older version of the program may have had other options.
    with suppress(Malformed):
        if options is not None:
            rules.options(options)
            return options
    return rules.presets[-1].options
