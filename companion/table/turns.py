"""Handle input for the turn that is due: hand in, undo, confirm, read on, ask for help, lay tiles.

Callers of the functions hold the table's lock (see `TableStore`). The words (moment, stage,
headline, sealed) are explained in `companion.table.session`.
"""

from __future__ import annotations

import secrets
from dataclasses import replace

import msgspec

from companion.core.errors import CompanionError, Illegal, Malformed, Refusal, Stale, wrong_phase
from companion.core.i18n import say
from companion.core.kit import RowFault, RowSeen, RowsSeen, RowsWanted, Seat
from companion.core.ports import Cue, Signal, signal_to
from companion.table.records import Begin, HandIn, RequestUndo, StageDone, Undo
from companion.table.session import Phase
from companion.table.state import NO_TILES, TableState, TileState, instructions_of
from companion.table.store import TableStore

# Maximum number of characters of a salt. A salt that the table itself makes has 32.
MAX_SALT = 64
# Time in seconds for which the camera has to disagree before players can overrule it. With a
# shorter time, they would overrule it by mistake while a hand is still over the board. The sentence
# of the refusal names this number, too.
MIN_DISAGREEMENT_S = 5.0
# Timeout in seconds for the camera's answer about rows of tiles. Without an answer, the table acts
# as if the camera did not see the board.
CAMERA_ANSWER_TIMEOUT_S = 12.0


def hand_in(store: TableStore, record: HandIn) -> str:
    """Seal a seat's action, and return its receipt.

    An action that is sent again with the same salt has no further effect, and gets the same
    receipt. If `record` has no salt, the table makes one. The table also fills in the time of day.

    A press of a chess clock gets an empty receipt if it waits until the camera sees a quiet board,
    or if it repeats a press and has no effect.

    Raises `Malformed` for a bad salt or action, `Stale` for another moment, and `Illegal` if the
    rules or the phase do not allow the action.
    """
    session = store.session
    seat = record.seat
    moment = record.moment
    salt = record.salt
    if salt and (len(salt) > MAX_SALT or not salt.isascii() or not salt.isalnum()):
        raise Malformed(say("A salt is at most {number} letters and digits", number=MAX_SALT))
    earlier = session.find_sealed_action(seat, moment)
    if earlier and salt and (earlier.action, earlier.salt) == (record.action, salt):
        return earlier.receipt
    # `read_s` is set if this press has already waited for the camera.
    if session.chess_clocks and not record.read_s:
        early_press = store.live.early_press
        # A second press of the key: the first one waits for the camera, or has ended the turn.
        if early_press and (early_press.seat, early_press.action) == (seat, record.action):
            return ""
        if session.is_repeated_press(seat, moment, record.action):
            return ""
        if _must_wait_for_camera(store.live, record):
            store.publish(replace(store.live, early_press=record))
            return ""
    complete_record = msgspec.structs.replace(
        record, salt=salt or secrets.token_hex(16), at=store.clock.wall_s()
    )
    store.accept_stamped(record.now_s, complete_record)
    sealed = store.session.find_sealed_action(seat, moment)
    return sealed.receipt if sealed else ""


def _must_wait_for_camera(live: TableState, press: HandIn) -> bool:
    """Return whether a press of the clock must wait for the camera.

    It must wait while something moves on the board. It must also wait if the rules forbid the
    action as the board was read last, and that reading is older than the press.
    """
    session = live.session
    reading = live.reading
    is_due = press.moment == session.moment and press.seat in session.awaited_seats
    if not is_due or not live.sees_board or press.action not in session.open_actions:
        return False
    if not reading.quiet:
        return True
    game = session.require_game()
    try:
        game.check(session.state, press.seat, game.parse(press.action))
    except Illegal:
        # A picture from before the press may not show the move that makes the press legal.
        return reading.at_s < press.now_s
    return False


def act(store: TableStore, moment: str, action: str, at_s: float) -> None:
    """Act for the seat on turn in an open game, in which anybody at the table may do so.

    `at_s` is the monotonic time of the press. Raises `Illegal` for an action that is not open,
    `Stale` for another moment, and what `hand_in` raises.
    """
    session = store.session
    session.require_moment(moment)
    laid_actions = store.live.laid_actions.values() if session.is_open else ()
    if action not in session.open_actions and action not in laid_actions:
        raise Illegal(
            Refusal.NOT_TO_ACT, say("That cannot be done from the table: use the seat’s phone")
        )
    (seat,) = session.awaited_seats
    hand_in(store, HandIn(seat, moment, action, now_s=at_s))


def undo(store: TableStore, moment: str | None = None) -> None:
    """Undo the last turn.

    Without `moment`, the owner undoes the turn. With it, the table screen does so, which is
    possible only in an open game. If the player of the turn has a phone and a person sits opposite,
    that player has to agree.

    Raises `Illegal` if no turn can be undone, and `Stale` for another moment.
    """
    session = store.session
    if session.phase is Phase.OVER and not session.can_undo:
        raise wrong_phase(say("There is no turn to take back"))
    if moment is not None:
        _require_open_game(store, moment)
        if session.last_turn.is_of_one_seat:
            (mover,) = session.last_turn.sealed
            # Act as if the other seat had asked, so that the player of the turn has to agree.
            if mover.other in session.seats and not session.is_machine_seat(mover.other):
                store.accept(RequestUndo(mover.other, session.moment, store.now_s()))
                return
    store.accept(Undo())


def request_undo(store: TableStore, seat: Seat, moment: str) -> None:
    """Undo the last turn for a seat, or ask the other seat if it was not this seat's own turn.

    See `companion.table.undo.request_undo`. Raises `Illegal` if no turn can be undone by seats, and
    `Stale` for another moment.
    """
    _require_open_game(store, moment)
    store.accept(RequestUndo(seat, moment, store.now_s()))


def confirm(store: TableStore, by: str, moment: str, stage: int, force: bool = False) -> None:
    """Confirm for `by` that the board is right, in the set-up or after a stage.

    `moment` and the index `stage` name the stage that is meant. With `force`, a camera that
    disagrees is overruled. Players can do so only if it has disagreed for `MIN_DISAGREEMENT_S`, the
    owner can do so at once.

    Raises `Stale` if another stage is shown, and `Illegal` if the camera disagrees and is not
    overruled.
    """
    session = store.session
    if (moment, stage) != (session.moment, session.stage_index):
        raise Stale(say("That step is already done"))
    if store.live.sees_board:
        _require_agreement(store, by, force)
    end_stage(store, by)
    live = store.live
    # Overruled problems are not reported again in this stage.
    if force and live.problems:
        store.publish(replace(live, overruled_problems=live.problems, problems=()))


def end_stage(store: TableStore, by: str) -> None:
    """End the set-up, or the stage that is shown. `by` as in `Begin`."""
    session = store.session
    now_s = store.now_s()
    if session.phase is Phase.SETUP:
        store.accept(Begin(by, now_s))
    else:
        store.accept(StageDone(session.moment, session.stage_index, by, now_s))


def read_headline(store: TableStore, by: str, moment: str, stage: int, index: int) -> None:
    """Mark the current headline as read. Raises `Stale` if another one is shown now.

    It has no effect while this table waits for the other one.
    """
    session = store.session
    headline = store.live.headline
    shown_headline = (session.moment, session.stage_index, headline.index if headline else None)
    if (moment, stage, index) != shown_headline:
        raise Stale(say("That step is already done"))
    if not session.awaits_other_table:
        show_next_headline(store, by)


def show_next_headline(store: TableStore, by: str) -> None:
    """Show the next headline of the stage.

    After the last one, end the stage if hands have nothing to do.
    """
    session = store.session
    headline = store.live.headline
    following = store.timed_headline(session, headline.index + 1) if headline else None
    if following or session.needs_hands:
        store.publish(replace(store.live, headline=following))
    else:
        end_stage(store, by)


def show_help(store: TableStore, is_shown: bool) -> None:
    """Show or hide on the table screen what can be done now.

    Raises `Illegal` for showing it while no orders are due.
    """
    if is_shown and store.session.phase is not Phase.ORDERS:
        raise wrong_phase(say("There is nothing to decide now: do as the sign says"))
    store.publish(replace(store.live, is_help_shown=is_shown))


def _require_open_game(store: TableStore, moment: str) -> None:
    """Raise `Stale` for another moment, and `Illegal` if only the owner may undo turns."""
    store.session.require_moment(moment)
    if not store.session.is_open:
        raise Illegal(Refusal.HOST_ONLY, say("Only the owner can take this turn back"))


def _require_agreement(store: TableStore, by: str, force: bool) -> None:
    """Raise `Illegal` if the camera sees another layout, with a sentence on what it sees.

    A board without a problem and without a missing move is accepted, even if the camera cannot
    prove all of it. `force` has the same meaning as in `confirm`.
    """
    live = store.live
    now_s = store.now_s()
    if live.session.expected_layout is None or live.shows_expected_layout:
        return
    since_s = now_s if live.disagrees_since_s is None else live.disagrees_since_s
    store.live = live = replace(live, disagrees_since_s=since_s)
    if force:
        if by != "host" and now_s - since_s < MIN_DISAGREEMENT_S:
            raise wrong_phase(say("The camera still looks: wait five seconds"))
        return
    if live.problems:
        raise wrong_phase(live.problems[0].text)
    for instruction in instructions_of(live):
        if not instruction.move.is_done:
            raise wrong_phase(say("Not seen yet: {todo}", todo=instruction.text))


# ---- orders as tiles behind walls ----------------------------------------------------------------
#
# In some games players may lay their orders as a row of tiles behind a wall. The camera reads the
# rows once all seats with orders due are ready. Then the orders are handed in by the same call as
# those of a pad. Until then, nothing of them is shown, logged or stored.


def set_tiles_ready(store: TableStore, seat: Seat, moment: str, is_ready: bool = True) -> None:
    """Note whether a seat's row of tiles is ready to be read.

    Raises `Illegal` if no tiles are read or no order is due, and `Stale` for another moment.
    """
    session = store.session
    if session.kit is None or session.kit.order_tiles is None:
        raise wrong_phase(say("This game has no order tiles: switch them on in its options"))
    session.require_moment(moment)
    if seat not in session.awaited_seats or not session.is_played_here(seat):
        raise Illegal(Refusal.NOT_TO_ACT, say("No order is needed from this seat now"))
    tiles = store.live.tiles
    if (seat in tiles.ready_seats) == is_ready:
        return
    ready_seats = tiles.ready_seats | {seat} if is_ready else tiles.ready_seats - {seat}
    faulty_rows = {owner: row for owner, row in tiles.faulty_rows.items() if owner is not seat}
    cue = signal_to(seat, Cue.KEY_TAKEN, 3) if is_ready else signal_to(seat, Cue.KEY_BACK)
    _set_tiles(store, TileState(ready_seats, faulty_rows), cue)
    request_rows(store)


def handle_rows(store: TableStore, answer: RowsSeen) -> None:
    """Hand in the rows that the camera has read, or show which ones it could not read.

    If it could not read one of them, none is handed in. An answer to an older request is ignored.
    """
    tiles = store.live.tiles
    if tiles.requested_rows is None or tiles.requested_rows.number != answer.number:
        return
    faulty_rows = {seat: row for seat, row in answer.rows.items() if row.fault}
    if faulty_rows:
        _set_tiles(
            store,
            TileState(tiles.ready_seats - set(faulty_rows), faulty_rows),
            Signal(Cue.BOARD_WRONG, frozenset(faulty_rows)),
        )
        return
    session = store.session
    now_s = store.now_s()
    # Clear first: each accepted order calls `request_rows`, which would ask for them again.
    store.live = replace(store.live, tiles=NO_TILES)
    try:
        for seat in sorted(answer.rows):
            hand_in(store, HandIn(seat, session.moment, answer.rows[seat].text, now_s=now_s))
    # For example, the disk may be full. A notice says so, and the players press ready again.
    except CompanionError:
        _set_tiles(store, NO_TILES, Signal(Cue.KEY_REFUSED, frozenset(answer.rows)))


def request_rows(store: TableStore) -> None:
    """Ask the camera for the rows once all people with orders due are ready."""
    if not store.live.tiles.ready_seats:
        return
    live = store.live
    session = store.session
    people = frozenset(filter(session.is_played_here, session.awaited_seats))
    if not people or not people <= live.tiles.ready_seats:
        return
    if live.tiles.requested_rows and live.tiles.requested_rows.seats == people:
        return
    wanted = RowsWanted(live.version, people, store.now_s())
    _set_tiles(store, replace(live.tiles, requested_rows=wanted))
    if live.sees_board:
        store.listeners.request_rows(wanted)
    else:
        report_unseen_rows(store, wanted)


def report_unseen_rows(store: TableStore, wanted: RowsWanted) -> None:
    """Answer a request for rows in place of a camera that does not see the board."""
    rows = dict.fromkeys(wanted.seats, RowSeen(fault=RowFault.NO_BOARD))
    handle_rows(store, RowsSeen(wanted.number, rows))


def _set_tiles(store: TableStore, tiles: TileState, *signals: Signal) -> None:
    store.publish(replace(store.live, tiles=tiles), signals)
