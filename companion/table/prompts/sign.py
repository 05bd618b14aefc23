"""The sign: the one sentence that says what the table waits for.

Every page shows it large: the table screen shows the sign for everybody, and a phone shows the sign
of its seat. The functions return sentences that are translated where they are shown. Functions
whose names end in `_words` return a part of a sign. `companion.table.session` explains what stages
and headlines are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from companion.core.i18n import Verbatim, before_colon, joined, listed, say, say_n, strip_addressee
from companion.core.kit import SEATS, Kit, RowFault, RowSeen, Seat, Side
from companion.games import GAMES
from companion.games.screen import BoardUi, CardUi
from companion.table.lesson_progress import is_first_decision_after_lesson, lesson_step
from companion.table.prompts.guide import lesson_words, waiting_words
from companion.table.remote.messages import RemoteGame
from companion.table.session import ABANDONED, BOTH, Phase, Session, Viewer
from companion.table.state import Instruction, TableState, instructions_of

# What a seat that gives several orders has to do, by the number of orders to go.
_ORDERS_TO_GO = {
    1: say("One order to go"),
    2: say("Two orders to go"),
    3: say("Three orders to go"),
}
# The sign, or its small line, when the first decision after a lesson is due.
_LESSON_IS_OVER = say("That’s all there is. Now play.")
# Why the clock is stopped, by `Session.paused_by`. For every other value the sign only says that
# the clock is stopped.
_PAUSE_REASONS = {
    "start": say("The clock has not been started."),
    "restart": say("The companion was off. Turn and time are as they were."),
    "idle": say("Nobody has moved for four turns."),
    "undo": say("A turn was taken back. Turn and time are as they were."),
}
# Small lines while this table waits for the other table's answer to a question.
_REMOTE_QUESTIONS = {
    "resign": say("This table has resigned. The game is over as soon as the other table knows."),
    "draw": say("The draw is accepted. The game is over as soon as the other table knows."),
    "end": say("The game ends as soon as the other table knows. To end it at once, end it again."),
}


@dataclass(frozen=True)
class Sign:
    """The sentence that says what the table waits for."""

    text: str
    """The sentence. It has at most 40 characters, unless names or lists make it longer."""
    small: str = ""
    """The small line below it, with the reason or with advice. Empty for none."""
    seats: frozenset[Seat] = frozenset()
    """Seats that the sign concerns: those that have to act now, or that have won the game."""
    orders_left: int = 0
    """Number of orders that the text asks for. 0 if it names no number. The seat's page counts this
    number down as orders are entered.
    """
    is_elsewhere: bool = False
    """Whether this table waits for another table, so that nobody here has anything to do."""
    is_headline: bool = False
    """Whether the sign says what happened, while nobody has to do anything."""


def sign_of(live: TableState, viewer: Viewer) -> Sign:
    """Return what the table waits for, and why.

    The small line also names a piece that does not belong on the table. A seat's own sign addresses
    its player, and names the key on the player's device.
    """
    sign = _most_urgent_sign(live, viewer)
    game = live.session.game
    if viewer in sign.seats and game:
        sign = replace(sign, text=strip_addressee(sign.text, game.sides[viewer].name))
    strangers = live.quiet_reading.strangers
    if not strangers or live.session.is_between_games:
        return sign
    stranger = stranger_words(live.session.kit, strangers[0])
    return replace(sign, small=joined(" ", (sign.small, stranger)))


def _plays_without_pad(live: TableState, viewer: Viewer) -> bool:
    """Return whether players sit at the seats in question, and none of them plays by a pad.

    These are both seats if the viewer is everybody, otherwise the viewer's. A free seat among two
    does not matter. If all seats in question are free, return False: a pad may still take them.
    """
    seats = live.session.seats
    doors = {player.door for seat, player in seats.items() if viewer in (None, seat)}
    return bool(doors) and "pad" not in doors


def stranger_words(kit: Kit | None, marker: int) -> str:
    """Return a sentence on a marker that belongs to no piece of this game, or is seen twice.

    `marker` is its id.
    """
    if face := kit.face_by_marker.get(marker) if kit else None:
        return say(
            "The {piece} is seen twice (marker {marker}): take one away.",
            piece=face.name,
            marker=marker,
        )
    return say("Marker {marker} belongs to no piece of this game: take it away.", marker=marker)


def _most_urgent_sign(live: TableState, viewer: Viewer) -> Sign:
    """Return the sign of what matters most.

    A clock that was pressed too early comes first. Then follow a question to the players, a problem
    on the board, and waiting for the other table. Without any of them, the sign says what the phase
    asks for.
    """
    session = live.session
    if live.early_press:
        return Sign(
            say("Take your hands off the board"),
            say("The clock was pressed; the board is being read."),
        )
    if live.possible_actions:
        return _choice_sign(live, viewer)
    if session.undo_requester:
        asked_seats = frozenset({session.undo_requester.other})
        side = session.require_game().sides[session.undo_requester].name
        text = say("{side!c} wants the last move back", side=side)
        if viewer is session.undo_requester:
            text = waiting_words(session, asked_seats)
        return Sign(text, "", asked_seats)
    if live.problems:
        return _problem_sign(live)
    if session.remote is not None and (remote_sign := _remote_sign(session, session.remote)):
        return remote_sign
    match session.phase:
        case Phase.LOBBY:
            return _lobby_sign(live, viewer)
        case Phase.SETUP | Phase.STAGES:
            return _hands_sign(live, viewer)
        case Phase.ORDERS:
            sign = _orders_sign(live, viewer)
            # The sign of the first decision after a lesson also says that the lesson is over. If
            # the clock is paused then, `_orders_sign` has said so already.
            if (
                not session.is_guided
                or not is_first_decision_after_lesson(session)
                or session.paused_by
            ):
                return sign
            if viewer:
                return replace(sign, small=_LESSON_IS_OVER)
            return replace(sign, text=_LESSON_IS_OVER)
        case Phase.OVER:
            return _over_sign(session, viewer)


def _problem_sign(live: TableState) -> Sign:
    """Return the sign for the first problem of the board: what to do, and what is wrong."""
    problem = live.problems[0]
    kit = live.session.kit
    small = before_colon(problem.text)
    # A piece that is not seen may lie on one of the squares that the camera cannot see.
    if problem.square not in live.reading.seen:
        small = _unseen_words(live) or small
    if live.broken_rule:
        small = live.broken_rule.message
    owner = kit.face(problem.face).seat if kit and not kit.deck else None
    return Sign(problem.sign, small, frozenset({owner}) if owner else BOTH)


def _remote_sign(session: Session, remote: RemoteGame) -> Sign | None:
    """Return the sign while a game at two tables waits for the other table.

    None if the game waits only for something at this table.
    """
    seats = frozenset({remote.their_seat})
    if session.phase is Phase.OVER:
        return None
    if remote.open_question:
        small = _REMOTE_QUESTIONS[remote.open_question]
        seats = BOTH
    elif remote.has_reported_stage:
        small = say("Your board is right. The pieces there are still on their way.")
    elif session.phase is not Phase.ORDERS or session.awaited_seats != seats:
        return None
    elif session.paused_by:
        small = say("Its clock is stopped.")
    elif remote.own_seat in session.sealed:
        small = say("The order is sealed and stays. Both are opened once both are sealed.")
    else:
        side = session.require_game().sides[remote.their_seat].name
        small = say("{side!c} plays there. The pieces move here when that is done.", side=side)
    return Sign(say("Waiting for the other table"), small, seats, is_elsewhere=True)


def _choice_sign(live: TableState, viewer: Viewer) -> Sign:
    """Return the sign for a board that can mean several moves."""
    awaited = live.session.awaited_seats
    if viewer in awaited:
        return Sign(say("Which move is it?"), say("The board matches each of them."), awaited)
    (seat,) = awaited
    side = live.session.require_game().sides[seat].name
    return Sign(
        say("{side!c}: tap the move you made", side=side),
        say("The board matches several."),
        awaited,
    )


def _unseen_words(live: TableState) -> str:
    """Return a sentence on squares that the camera cannot see. Empty if it sees all of them."""
    unknown = live.quiet_reading.unknown
    if not unknown:
        return ""
    return say(
        "The camera cannot see {squares}: take away your hand or what lies there, or straighten "
        "the pieces.",
        squares=joined(", ", map(str, sorted(unknown)[:4])),
    )


def _lobby_sign(live: TableState, viewer: Viewer) -> Sign:
    """Return the sign of the lobby: who should sit down, which game to choose, how to start it."""
    seats = live.session.seats
    free = [seat for seat in SEATS if seat not in seats]
    if len(free) == 2:
        return Sign(say("Scan the code on your side"), seats=BOTH)
    if free and viewer is None:
        text = say("Scan here to play")
        if name := seats[free[0].other].name:
            text = say("Scan here to play against {name}", name=Verbatim(name))
        return Sign(text, seats=frozenset(free))
    # Without a choice, a pad starts the game that lies on the table, or else the last one. A phone
    # has to choose on its page.
    game_by_key = (
        None if _plays_without_pad(live, viewer) else live.suggested_game or live.remembered_game
    )
    if game := live.chosen_game or game_by_key:
        return _start_sign(live, viewer, game, free)
    small = say("The other side is still free.") if free else ""
    return Sign(say("Choose a game"), small, frozenset({viewer}) if viewer else BOTH)


def _start_sign(live: TableState, viewer: Viewer, game_name: str, free: list[Seat]) -> Sign:
    """Return the sign for a game that can begin.

    It names the key of a pad, if one plays. Otherwise the sign on the table screen is the key, and
    a phone has a key below its sign.
    """
    title = GAMES[game_name].title
    if free and viewer:
        return Sign(say("Waiting for {sides}", sides=say("the other side")), seats=frozenset(free))
    if not _plays_without_pad(live, viewer):
        return Sign(say("Press ready to start {game}", game=title), seats=BOTH)
    if viewer is None:
        return Sign(say("Start {game}", game=title), seats=BOTH)
    return Sign(say("Ready for {game}?", game=title), seats=frozenset({viewer}))


def _hands_sign(live: TableState, viewer: Viewer) -> Sign:
    """Return the sign for a set-up or a stage: what hands have to do.

    When they are done, it says what the camera or the table still waits for.
    """
    session = live.session
    if live.headline:
        return Sign(live.headline.content.text, is_headline=True)
    all_instructions = instructions_of(live)
    if todo := [item for item in all_instructions if not item.move.is_done]:
        todo.sort(key=lambda item: item.seat is not viewer)  # first those for the viewer
        return _moves_sign(live, viewer, todo)
    if session.phase is Phase.SETUP:
        return Sign(say("Take your hands off the board"), say("The camera takes one last look."))
    is_proven = live.has_cards or live.shows_expected_layout or live.problems
    # The board is quiet, and still no picture proves that the instructions are done. For example,
    # a piece may lie on another one that looks the same.
    if all_instructions and live.quiet_reading.quiet and not is_proven:
        advice = say("Check that the pieces are where they should be.")
        small = joined(" ", (advice, _confirm_words(viewer)))
        return Sign(say("Camera cannot tell: confirm by hand"), small, BOTH)
    return Sign(session.shown_stage.title)


def _moves_sign(live: TableState, viewer: Viewer, todo: list[Instruction]) -> Sign:
    """Return the sign for the first move that hands still have to make, with advice.

    `todo` are the instructions that are not done. If the camera cannot see where one of these moves
    begins or ends, the sign says so instead.
    """
    if hidden := _hidden_squares(live, todo):
        return Sign(
            say("Camera cannot see {squares}", squares=hidden),
            say("Take your hand away, straighten the pieces, move the lamp, or confirm by hand."),
            BOTH,
        )
    if live.session.phase is Phase.SETUP:
        small = say_n("One piece to go.", "{n} pieces to go.", len(todo))
    else:
        # A piece that has left its square may lie on one that the camera cannot see.
        origins = {item.move.origin for item in todo} - {None}
        small = "" if origins <= live.quiet_reading.seen.keys() else _unseen_words(live)
        # A seat's page lists the moves itself.
        has_list = viewer and _plays_without_pad(live, viewer)
        if not small and not has_list:
            small = joined(" ", [joined("", (other.text, ".")) for other in todo[1:]])
    if not live.sees_board:
        small = joined(" ", (small, _confirm_words(viewer)))
    return Sign(todo[0].text, small, frozenset(item.seat for item in todo))


def _confirm_words(viewer: Viewer) -> str:
    return say("Then tap Done.") if viewer else say("Then tap Done, or press ready.")


def _hidden_squares(live: TableState, todo: list[Instruction]) -> str:
    """Return the squares of these instructions that are hidden from the camera, as words."""
    squares = {square for item in todo for square in (item.move.origin, item.move.target)}
    return listed(sorted(map(str, squares & live.quiet_reading.unknown)))


def _orders_sign(live: TableState, viewer: Viewer) -> Sign:
    """Return the sign while orders are collected.

    A lesson and some games have their own sentences. In all other games the players give orders, by
    a pad, a phone or by tiles.
    """
    session = live.session
    game = session.require_game()
    awaited = session.awaited_seats
    if session.is_guided and (step := lesson_step(session)):
        text, small = lesson_words(live, step, viewer)
        return Sign(text, small, awaited)
    if ui := game.card_ui(session.state, viewer) or game.board_ui(session.state, viewer):
        return _game_sign(live, ui, viewer)
    offer = offer_words(session, viewer) if session.draw_offer else ""
    if session.kit is not None and session.kit.order_tiles is not None:
        return _tiles_sign(live, viewer, offer)
    if viewer and viewer in awaited:
        grammar = game.pad(session.state, viewer)
        other = viewer.other
        progress = ""
        if other in session.sealed:
            progress = say("{side!c} has handed in.", side=game.sides[other].name)
        hint = joined(" ", (progress, say("Nobody sees yours before the reveal.")))
        length = grammar.length if grammar else 0
        text = _ORDERS_TO_GO.get(length, say("Give your orders"))
        return Sign(text, offer or hint, awaited, length)
    if len(awaited) > 1:
        return Sign(say("Both: hand in your orders"), offer, awaited)
    if viewer:
        return Sign(waiting_words(session, awaited), offer, awaited)
    side = game.sides[next(iter(awaited))].name
    return Sign(say("{side!c}: hand in your orders", side=side), offer, awaited)


def _tiles_sign(live: TableState, viewer: Viewer, offer: str) -> Sign:
    """Return the sign for orders that may be given by tiles."""
    session = live.session
    tiles = live.tiles
    if tiles.requested_rows is not None:
        small = offer or say("Keep your hands away.")
        return Sign(say("The camera reads the tiles"), small, tiles.requested_rows.seats)
    if tiles.faulty_rows:
        faulty_seat = (
            viewer if viewer and viewer in tiles.faulty_rows else next(iter(tiles.faulty_rows))
        )
        row = tiles.faulty_rows[faulty_seat]
        return Sign(
            fault_words(row, session.require_game().sides[faulty_seat]),
            fault_advice(row),
            frozenset(tiles.faulty_rows),
        )
    missing = session.awaited_seats - tiles.ready_seats
    hint = offer or say("Behind your wall; or give orders as always. Pictures show only the board.")
    if viewer in missing:
        return Sign(say("Lay three tiles, then press ready"), hint, missing)
    if len(missing) > 1:
        return Sign(say("Both: lay three tiles, then press ready"), hint, missing)
    seats = missing or session.awaited_seats
    return Sign(waiting_words(session, seats), hint if viewer is None else offer, seats)


def _game_sign(live: TableState, ui: CardUi | BoardUi, viewer: Viewer) -> Sign:
    """Return the sign of a game that brings its own sentence, in its `CardUi` or `BoardUi`.

    The table's own sentence comes first if an action lies open on the table, if the clock is
    stopped or has run out, or if the viewer waits for the other seat.
    """
    session = live.session
    if action := live.laid_action_for(viewer):
        hint = say("{laid}. If not, lay the cards apart or tap them.", laid=Verbatim(action))
        return Sign(_confirm_reading_words(live, viewer), hint, BOTH)
    if session.paused_by:
        reason = _PAUSE_REASONS.get(session.paused_by, say("The clock is stopped."))
        if is_first_decision_after_lesson(session):
            reason = _LESSON_IS_OVER
        text = say("Start the clock") if session.paused_by == "start" else say("Resume")
        return Sign(text, offer_words(session, viewer) or reason, BOTH)
    offer = offer_words(session, viewer) or _timed_out_words(session)
    if session.countdown and session.countdown.has_run_out:
        (seat,) = session.awaited_seats
        text = say("{side!c}: time is up", side=session.require_game().sides[seat].name)
        return Sign(text, offer or ui.hint, session.awaited_seats)
    if session.sealed and viewer not in session.awaited_seats:
        return Sign(waiting_words(session, session.awaited_seats), offer, session.awaited_seats)
    if isinstance(ui, BoardUi):
        # If the board is checked, the seat on turn may play by hand.
        is_by_hand = session.layout is not None and len(session.awaited_seats) == 1
        unseen = _unseen_words(live) if is_by_hand else ""
        return Sign(ui.sign, offer or unseen or ui.hint, session.awaited_seats)
    hint = ui.hint if _plays_without_pad(live, viewer) else ui.pad_hint or ui.hint
    # In a combat both players lay their stacks open, whichever seat then names the cards.
    return Sign(ui.sign, offer or hint, BOTH if ui.wants_both else session.awaited_seats)


def _timed_out_words(session: Session) -> str:
    """Return a sentence if the previous turn passed because its time ran out, else an empty one."""
    if not session.last_turn.is_timed_out:
        return ""
    (seat,) = session.last_turn.sealed
    return say("{side!c} passed: the time ran out.", side=session.require_game().sides[seat].name)


def _confirm_reading_words(live: TableState, viewer: Viewer) -> str:
    """Return a sentence on how to confirm that the open cards or pieces were read correctly."""
    if viewer is None or viewer not in live.session.awaited_seats:
        return say("Was it read right?")
    key = say("That is right") if live.has_cards else say("As it lies on the board")
    return say("Tap “{key}”", key=key)


def _over_sign(session: Session, viewer: Viewer) -> Sign:
    """Return the sign for the end of a game: who has won, and why."""
    outcome = session.outcome
    game = session.require_game()
    if outcome == ABANDONED:
        return Sign(outcome.reason, "", BOTH)
    if outcome is None or not outcome.winners:
        text = say("A draw: once more") if session.is_tie_to_replay else say("A draw")
        return Sign(text, outcome.reason if outcome else "", BOTH)
    if viewer in outcome.winners:
        return Sign(say("You win"), outcome.reason, outcome.winners)
    names = listed(game.sides[seat].name for seat in sorted(outcome.winners))
    return Sign(say("{side!c} wins", side=names), outcome.reason, outcome.winners)


def offer_words(session: Session, viewer: Viewer) -> str:
    """Return a sentence that a draw is offered. Empty without an offer."""
    seat = session.draw_offer
    if seat is None:
        return ""
    if seat is viewer:
        return say("You offer a draw.")
    return say("{side!c} offers a draw.", side=session.require_game().sides[seat].name)


# ---- order tiles ----


def fault_words(row: RowSeen, side: Side) -> str:
    """Return what the player of a row of tiles has to do about a fault, in at most 40 characters.

    It says nothing about the orders on the tiles.
    """
    name = side.name
    place = row.place
    words = {
        RowFault.NO_BOARD: say("Camera does not see the board"),
        RowFault.NO_STRIP: say("{side!c}: show the camera your strip", side=name),
        RowFault.TWO_STRIPS: say("{side!c}: put the second wall away", side=name),
        RowFault.MISSING: say(
            "{side!c}: tile {place} is missing or covered", side=name, place=place
        ),
        RowFault.ASKEW: say("{side!c}: straighten tile {place}", side=name, place=place),
        RowFault.DOUBLED: say("{side!c}: two tiles lie in place {place}", side=name, place=place),
        RowFault.FOREIGN: say("{side!c}: tile {place} is not yours", side=name, place=place),
    }
    return words[row.fault] if row.fault else ""


def fault_advice(row: RowSeen) -> str:
    """Return the smaller line for a faulty row: the reason, or what to do next."""
    if row.fault is RowFault.NO_BOARD:
        return say("Show it the board, or give your orders on a phone or a pad.")
    if row.fault is RowFault.NO_STRIP:
        return say("It finds your tiles by the markers at your edge. Then press ready again.")
    return say("Then press ready again.")
