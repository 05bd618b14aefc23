"""Build what a viewer may know of the table: the only way from a session to a page or a voice.

Everything here is computed for one viewer. Only the player who handed in a sealed action sees that
action. Once it is revealed, it appears stage by stage. Lamps show the same to everybody (see
`listeners.lamps_of`). The words are explained in `companion.table.session`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from companion.core.grid import Square
from companion.core.i18n import Verbatim, joined, say
from companion.core.kit import SEATS, Layout, Seat
from companion.games import game_named
from companion.games.base import Stage
from companion.games.help import public_possibilities
from companion.games.screen import Badge, BoardUi, CardUi, Tally, UnitOrder
from companion.table.board_check import NO_READING, HandMove, hand_moves
from companion.table.chance.game_chance import chance_view_of
from companion.table.clocks.countdown import Countdown
from companion.table.prompts.guide import guide_of
from companion.table.prompts.sign import offer_words, sign_of
from companion.table.session import NO_TURN, Phase, Session, Viewer
from companion.table.state import NO_DRAFT, TableState, instructions_of
from companion.table.table_view import (
    BoardView,
    ClockView,
    DevicesView,
    FairnessView,
    MatchView,
    Opened,
    OwnView,
    Progress,
    SeatView,
    TableView,
    TimeView,
    TurnView,
)
from companion.table.undo import moment_to_take_back

# Maximum number of sentences in the log of a page. More would make each view larger, and the whole
# game is in the archive.
_MAX_LOG_LINES = 12


def progress_of(live: TableState) -> Progress:
    """Return how far the table's game has come."""
    session = live.session
    return Progress(
        number=session.game_number,
        phase=session.phase,
        moment=session.moment,
        turn_numbers={turn.moment: turn.number for turn in session.turns},
        is_board_right=not live.problems,
        camera=live.camera.state,
    )


def photograph_title(moment: str, turn_numbers: Mapping[str, int]) -> str:
    """Return the caption of a photograph that was taken at a moment.

    `turn_numbers` maps moments to the numbers of their turns, as `Progress.turn_numbers`.

    >>> [photograph_title(moment, {"3.1": 1, "3.2": 1}) for moment in ("3.0", "3.2", "3.3")]
    ['Set-up', 'Turn 1', 'Taken back']
    """
    number = turn_numbers.get(moment)
    if moment.endswith(".0") or number == 0:
        return say("Set-up")
    return say("Taken back") if number is None else say("Turn {number}", number=number)


def view_of(live: TableState, viewer: Viewer) -> TableView:
    """Return the table as `viewer` may see it."""
    session = live.session
    game = session.game
    return TableView(
        version=live.version,
        viewer=viewer,
        phase=session.phase,
        moment=session.moment,
        game=game.name if game else None,
        chosen_game=live.chosen_game,
        title=game.title if game else "Tabletop Companion",
        kit=session.kit,
        sign=sign_of(live, viewer),
        seats={Seat.SOUTH: _seat_view(live, Seat.SOUTH), Seat.NORTH: _seat_view(live, Seat.NORTH)},
        turn=_turn_view(live),
        board=_board_view(live, viewer),
        own=_own_view(live, viewer),
        time=_time_view(session),
        match=_match_view(live),
        devices=DevicesView(
            live.camera, live.panel_notice, tuple(filter(None, live.notices.values()))
        ),
        # During a game there is no commitment to the next one yet.
        fairness=FairnessView(
            chance_view_of(session), session.commitment if session.is_between_games else ""
        ),
        guide=guide_of(session) if session.is_guided else None,
        help=public_possibilities(session.require_game(), session.state)
        if live.is_help_shown
        else (),
    )


def _turn_view(live: TableState) -> TurnView:
    """Return the turn, with nothing of the stages that are not shown yet."""
    session = live.session
    in_stages = session.phase is Phase.STAGES
    stages = session.stages if in_stages or session.phase is Phase.OVER else ()
    # Later stages of a turn that is being shown stay secret.
    open_stages = stages[: session.stage_index + 1] if in_stages else stages
    return TurnView(
        number=_shown_turn_number(session),
        stage=session.stage_index,
        title=session.shown_stage.title,
        stage_count=_stage_count(session) if stages else 0,
        instructions=instructions_of(live),
        orders=tuple(stage.orders for stage in open_stages) if stages else (),
        sheets=_revealed_sheets(session) if in_stages else {},
        events=session.shown_stage.events,
        revealed_orders=_revealed_orders(session),
        tallies=_shown_tallies(session) if in_stages else (),
        is_open=session.is_open and session.undo_requester is None,
        headline=live.headline,
        previous_stages=_previous_stages(session),
    )


def _last_layout(session: Session) -> Layout:
    """Return the last layout that was expected in a game that is over. Empty if there was none."""
    for stage in reversed(session.stages):
        if stage.expected:
            return stage.expected
    return (session.before_turn.layout if session.before_turn else None) or {}


def _previous_stages(session: Session) -> tuple[Stage, ...]:
    """Return the stages of the last turn of both seats, while the next orders are due."""
    # A turn of one seat needs no second look, because everybody saw it when it was played.
    if session.phase is not Phase.ORDERS or len(session.last_turn.sealed) < len(SEATS):
        return ()
    return tuple(stage for stage in session.stages if stage.expected is not None)


def _board_view(live: TableState, viewer: Viewer) -> BoardView:
    """Return the board as it is expected, what the camera sees, and what the game adds."""
    session = live.session
    reading = live.reading if live.sees_board else NO_READING
    return BoardView(
        layout=session.layout or _last_layout(session),
        undone_layout=session.undone_layout if session.phase is Phase.SETUP else {},
        undo_moves=_undo_moves(session) if session.undo_requester is not None else (),
        target=session.expected_layout,
        unknown=reading.unknown,
        problems=live.problems,
        broken_rule=live.broken_rule if live.problems else None,
        is_seen_by_camera=live.sees_board,
        suggested_game=live.suggested_game,
        fans=reading.fans,
        card_ui=_card_ui(live, viewer),
        board_ui=_board_ui(live, viewer),
        tiles_ready=live.tiles.ready_seats if session.may_use_tiles else None,
    )


def _undo_moves(session: Session) -> tuple[HandMove, ...]:
    """Return the moves of pieces that would undo the last turn. Empty in a game of cards."""
    kit = session.kit
    earlier = session.before_turn
    if earlier is None or kit is None or kit.deck:
        return ()
    return hand_moves(kit, session.layout or {}, earlier.layout or {})


def _own_view(live: TableState, viewer: Viewer) -> OwnView:
    """Return what only this viewer may know or do. Everybody may confirm actions that lie open."""
    session = live.session
    game = live.session.game
    if viewer is None:
        return OwnView(laid_action=live.laid_action_for(None))
    return OwnView(
        pad=game.pad(session.state, viewer) if game and session.is_in_play else None,
        sealed=session.own_sealed_action(viewer),
        take_back_moment=moment_to_take_back(session, viewer),
        laid_action=live.laid_action_for(viewer),
        possible_actions=live.possible_actions if viewer in session.awaited_seats else (),
    )


def _match_view(live: TableState) -> MatchView:
    """Return the result so far, and what the players have asked of each other."""
    session = live.session
    return MatchView(
        score=session.score,
        outcome=session.outcome,
        draw_offer=session.draw_offer,
        offer_words=offer_words(session, None),
        undo_requester=session.undo_requester,
        can_undo=session.can_undo,
        can_swap=session.can_swap,
        log=_log_lines(session),
        round_players=live.round_players,
    )


def _card_ui(live: TableState, viewer: Viewer) -> CardUi | None:
    """Return what a game of cards shows the viewer. None in a game of pieces.

    If the game asks for open cards without naming a lane, it is the only lane in which the camera
    sees open cards of North.
    """
    game = live.session.game
    kit = live.session.kit
    cards = game.card_ui(live.session.state, viewer) if game else None
    if cards is None or cards.entry is None or cards.entry.zones or not live.sees_board:
        return cards
    ranks = kit.deck.zones if kit and kit.deck else {}
    fans = live.reading.fans
    lanes = [zone.file for zone in fans if fans[zone] and zone.rank == ranks.get(Seat.NORTH)]
    if len(lanes) != 1:
        return cards
    zones = {seat: Square(lanes[0], rank) for seat, rank in ranks.items()}
    return replace(cards, entry=replace(cards.entry, zones=zones))


def _time_view(session: Session) -> TimeView:
    """Return the clock that runs now, and both seats' chess clocks if the game has them."""
    countdown = session.countdown
    chess_clocks = session.chess_clocks
    clock = _clock_view(countdown, session.paused_by) if countdown else None
    if chess_clocks is None:
        return TimeView(clock)
    left_s = chess_clocks.left_by_seat(countdown)
    # If no clock is set, both are drawn in proportion to the one with more time left.
    limit_s = countdown.limit_s if countdown else max(left_s.values())
    clocks = {seat: _clock_view(Countdown(limit_s, left_s[seat])) for seat in SEATS}
    if clock:
        clocks[chess_clocks.seat_on_turn] = clock
    return TimeView(clock, clocks)


def _clock_view(clock: Countdown, paused: str = "") -> ClockView:
    return ClockView(clock.limit_s, clock.left_s, clock.due_s, paused, clock.has_run_out)


def _board_ui(live: TableState, viewer: Viewer) -> BoardUi | None:
    """Return what a game of pieces shows the viewer beside its board. None in a game of cards.

    While a turn is shown stage by stage, this is what was shown before the turn, without controls.
    """
    session = live.session
    if session.game is None:
        return None
    if session.phase is not Phase.STAGES or session.before_turn is None:
        return session.game.board_ui(session.state, viewer)
    earlier = session.game.board_ui(session.before_turn.state, viewer)
    return earlier and replace(
        earlier,
        badges=_badges(session, earlier.badges),
        open_action="",
        keys=(),
        sheet=None,
        placing=None,
        duel=earlier.duel if _shown_tallies(session) else None,
    )


def _badges(session: Session, before: Mapping[Square, Badge]) -> Mapping[Square, Badge]:
    """Return the badges on the pieces after the stage that is shown.

    `before` has those before the turn.
    """
    badges = session.shown_stage.badges
    # Pieces that hands have not moved yet have their badges on their old squares.
    if session.needs_hands and badges:
        earlier = session.stages[session.stage_index - 1].badges if session.stage_index else before
        badges = {**earlier, **badges}
    return badges


def _shown_turn_number(session: Session) -> int:
    """Return the number of the turn that is shown, by the game's own count.

    The last turn is shown during its stages, and if it has ended the game. Otherwise the turn that
    is due is shown.
    """
    has_ended = (
        session.phase is Phase.OVER and session.require_game().outcome(session.state) is not None
    )
    if session.turns and (session.phase is Phase.STAGES or has_ended):
        return session.last_turn.number
    return session.due_turn_number


def _seat_view(live: TableState, seat: Seat) -> SeatView:
    """Return a seat as everybody may see it, without anything that its player hides."""
    session = live.session
    player = session.seats.get(seat)
    # A player at another table has sealed the action there.
    remote = session.remote if session.is_remote(seat) else None
    sealed = session.sealed.get(seat) or (remote.sealed_action if remote else None)
    game = game_named(live.chosen_game) if live.chosen_game else session.game
    return SeatView(
        seat=seat,
        side=game.sides[seat] if game else None,
        name=Verbatim(player.name) if player else None,
        door=player.door if player else "",
        is_awaited=seat in session.awaited_seats,
        sealed_at=sealed.at if sealed else None,
        receipt=sealed.receipt if sealed else None,
        entered_count=live.drafts.get(seat, NO_DRAFT).count,
        sitting=sitting_of(session.nonce_of(seat)),
        is_coached=seat in session.coached_seats,
        has_card=bool(player and player.card),
    )


def sitting_of(nonce: str | None) -> str:
    """Return the id of a player's stay in a seat, by which pages tell players apart.

    It is a hash of the player's nonce, which it does not reveal. `nonce` is None for a free seat.

    >>> sitting_of(None), len(sitting_of("secret"))
    ('', 12)
    """
    return hashlib.sha256(f"sitting {nonce}".encode()).hexdigest()[:12] if nonce else ""


def _stage_count(session: Session) -> int:
    """Return the number of stages that the pages show for a turn.

    There is at least one for each order of a pad, so a turn that a win cuts short looks as long as
    any other.
    """
    # A turn of both seats has as many orders for North as for South.
    grammar = session.require_game().pad(session.state, Seat.SOUTH)
    return max(grammar.length if grammar else 0, len(session.stages))


def _shown_tallies(session: Session) -> tuple[Tally, ...]:
    """Return the sums to show with the stage: its own, or the latest before it in this turn."""
    shown_stages = session.stages[: session.stage_index + 1]
    return next((stage.tallies for stage in reversed(shown_stages) if stage.tallies), ())


def _revealed_orders(session: Session) -> tuple[Opened, ...]:
    """Return both actions of the last turn that is completely revealed.

    Empty for a turn of one seat, whose action may name a card that stays hidden.
    """
    turn = session.fully_shown_turns[-1] if session.fully_shown_turns else NO_TURN
    if len(turn.sealed) < len(SEATS):
        return ()
    return tuple(
        Opened(seat, turn.moment, sealed.action, sealed.salt, sealed.receipt)
        for seat, sealed in sorted(turn.sealed.items())
    )


def _revealed_sheets(session: Session) -> Mapping[Seat, tuple[UnitOrder, ...]]:
    """Return the orders of each seat's pieces that the stages so far have revealed."""
    if session.before_turn is None:
        return {}
    game = session.require_game()
    sealed = session.last_turn.sealed
    actions = {seat: game.parse(order.action) for seat, order in sealed.items()}
    return (
        game.opened(session.before_turn.state, actions, session.stages, session.stage_index) or {}
    )


def _log_lines(session: Session) -> tuple[str, ...]:
    """Return the last sentences about events, oldest first.

    While a turn is shown stage by stage, only the events of its earlier stages are included.
    """
    lines = []
    for turn in session.turns:
        events = turn.events
        if session.phase is Phase.STAGES and turn is session.last_turn:
            past_stages = turn.stages[: session.stage_index]
            events = tuple(event for stage in past_stages for event in stage.events)
        lines += [joined(". ", (turn.number, event.text)) for event in events]
    return tuple(lines[-_MAX_LOG_LINES:])
