"""BINMAT with real cards: people play on the table, the program counts turns and resolves combats.

This is the option `way` with the value `referee`. Anybody at the table may act for the side on
turn, as on a chess clock. People play, draw and discard without telling the program. They only tell
it that a turn is over, and they let it work out each combat.

A combat is the fight of the two stacks of one lane. Both stacks are turned face up and compared as
`combat.py` describes. The defender may lose cards by it. If the defender stack has too few cards,
the deck of the lane owes the rest to the attacker, who draws them.

A game is always in one of four phases (`RealCardsState.phase`). The same notation may mean
different things in different phases:

1. `turn`: the side on turn plays on the table. `.` says that the turn is done, and `--` that the
   side has passed. In both cases the next turn begins. `c` declares a combat and stops the clock,
   and `c3` also names its lane. The next phase is then `combat`.
2. `combat`: a combat is declared, and the program waits for its cards. They are given as
   `3: 5& 3% >+ / 4^ 2#`: the lane, the attacker stack, a slash, the defender stack. The lane may be
   left out. Each stack begins with its oldest card. `u` after a card says that it lay face up
   before the combat. In the hackmud edition the attacker stack may be empty: `3: / 4^ ?#`. Instead
   of the cards, `.` says that people have resolved the combat by hand, and `!` that the attacker
   has won by it. If the lane deck owes cards, the next phase is `drawing`, otherwise the next turn
   begins.
3. `drawing`: the attacker draws the cards that the lane deck owes. `.` says that he has drawn them,
   and the next turn begins. `!` says that the deck has too few, so that the attacker has won.
4. `over`: the game is over.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.grid import Square
from companion.core.i18n import joined, say, say_n
from companion.core.kit import Layout, Seat
from companion.games.base import Event, Outcome, Step, plain_outcome
from companion.games.binmat.actions import PASS
from companion.games.binmat.cards import BREAK, SUITS, VALUES, Cards, cards_text, parse_cards
from companion.games.binmat.combat import Combat, CombatSetup, add_combat, add_result_stage
from companion.games.binmat.events import (
    ATTACKER,
    DEFENDER,
    LANE_RUN_DRY,
    ROLES,
    TURNS_OVER,
    BinmatEvent,
    declaration_text,
    pass_text,
)
from companion.games.binmat.screen import ZONE_RANKS, player_on_turn
from companion.games.binmat.state import LANES, BinmatOptions
from companion.games.pads import Key, PadGrammar
from companion.games.screen import CardChoice, CardEntry, CardUi, ChoiceKey, Count
from companion.games.turn_log import TurnLog

DONE = "."
DECLARE = "c"
ATTACKER_WON = "!"
# Suffix of a card that lay face up before the combat.
OPEN_MARK = "u"
_DECLARATIONS = (DECLARE, *(f"{DECLARE}{lane}" for lane in LANES))
# Open cards such as `3: 5& 3% / 4^ 2#`: a lane and a colon, the attacker stack, a slash, the
# defender stack. Everything but the slash may be left out. The cards are checked later.
_OPEN_CARDS = re.compile(
    r"(?:(?P<lane>[0-5]): )?"
    r"(?:(?P<attacker>[^\s/]+(?: [^\s/]+)*) )?/ ?"
    r"(?P<defender>\S+(?: \S+)*)?"
)
# A card of a fan that the camera could not read.
_UNREAD_CARD = "X"
# Maximum number of characters of the sign, as `CardUi.sign` demands.
_MAX_SIGN_LENGTH = 40
# Action of each key of a page (`_keys`), by the name of the key.
_ACTION_OF_KEY = {"done": DONE, "combat": DECLARE, "won": ATTACKER_WON}


@dataclass(frozen=True, slots=True)
class RealCardsState:
    """A position of a game with real cards: the turns that are left, and the progress of a combat.

    The program knows no cards except those of a combat, and forgets them once the combat is
    resolved.
    """

    options: BinmatOptions
    turns_left: int
    is_declared: bool = False
    """Whether a combat is declared whose cards are not known yet."""
    lane: int | None = None
    """Lane of the combat. None without a combat, and if nobody has named the lane."""
    cards_owed: int = 0
    """Number of cards that the attacker has to draw after the combat."""
    outcome: Outcome | None = None

    @property
    def phase(self) -> Literal["turn", "combat", "drawing", "over"]:
        """What the table is doing now. The head of this module explains the four phases."""
        if self.outcome:
            return "over"
        if self.cards_owed:
            return "drawing"
        return "combat" if self.is_declared else "turn"

    @property
    def seat(self) -> Seat:
        """The seat that must act: the attacker if a combat gives him cards to draw."""
        return ATTACKER if self.cards_owed else self.options.seat(self.turns_left)

    @property
    def is_in_combat(self) -> bool:
        """Whether a combat is not over yet. It lasts until its cards have been drawn."""
        return self.phase in ("combat", "drawing")


# ---- notation ------------------------------------------------------------------------------------


def is_real_cards_notation(text: str) -> bool:
    """Return whether a text is notation that only a game with real cards has.

    `c3` and `--` are not, because the full game has them too.
    """
    return text in (DONE, DECLARE, ATTACKER_WON) or is_open_cards(text)


def is_open_cards(text: str) -> bool:
    """Return whether an action gives the open cards of a combat."""
    return "/" in text


def parse_action(text: str) -> str:
    """Return the action in its canonical notation. Raises `Malformed`."""
    if text in (DONE, ATTACKER_WON, PASS, *_DECLARATIONS):
        return text
    if not is_open_cards(text):
        raise Malformed(
            say(
                "Expected . (done), c or c3 (combat), ! (attacker has won), -- (pass) or open cards"
            )
        )
    return open_cards_text(parse_open_cards(text))


def parse_open_cards(text: str) -> CombatSetup:
    """Parse open cards such as `3: 5& 3% >+ / 4^u 2#u`. Raises `Malformed`."""
    match = _OPEN_CARDS.fullmatch(text)
    if not match:
        message = say(
            "Write open cards as the attacker’s, a slash, the defender’s, such as 3: 5& 3% >+ "
            "/ 4^ 2#"
        )
        raise Malformed(message)
    attacker, open_attacker_cards = _parse_stack(match["attacker"] or "")
    defender, open_defender_cards = _parse_stack(match["defender"] or "")
    if not attacker and not defender:
        raise Malformed(say("Combat needs a card in one of the two stacks"))
    return CombatSetup(
        attacker,
        defender,
        is_defender_open=_is_defender_open(open_defender_cards),
        open_attacker_cards=open_attacker_cards,
        lane=int(match["lane"]) if match["lane"] else None,
    )


def open_cards_text(setup: CombatSetup) -> str:
    """Return the canonical notation of open cards."""
    attacker = _mark_open(setup.attacker_stack, setup.open_attacker_cards)
    defender = _mark_open(
        setup.defender_stack, setup.defender_stack if setup.is_defender_open else ()
    )
    lane = "" if setup.lane is None else f"{setup.lane}:"
    return " ".join(filter(None, (lane, attacker, "/", defender)))


def _is_defender_open(open_cards: Collection[str]) -> bool:
    """Return whether the whole defender stack lay face up before the combat.

    `open_cards` are the cards of the stack that lay face up. All cards of a defender stack show the
    same side, except that the defender may begin a combat by playing a BREAK face up onto a stack
    that lies face down. A BREAK that lay face up therefore does not prove that the stack did.
    """
    return any(card[0] != BREAK for card in open_cards)


def _parse_stack(text: str) -> tuple[Cards, frozenset[str]]:
    """Return the cards of a stack, and those that are marked as face up before the combat."""
    words = text.split()
    cards = parse_cards(" ".join([word.removesuffix(OPEN_MARK) for word in words]))
    marked = [card for card, word in zip(cards, words, strict=True) if word.endswith(OPEN_MARK)]
    return cards, frozenset(marked)


def _mark_open(stack: Cards, open_cards: Collection[str]) -> str:
    """Return a stack in notation, with a mark after each card that lay open before the combat."""
    return " ".join([card + OPEN_MARK if card in open_cards else card for card in stack])


# ---- rules ---------------------------------------------------------------------------------------


def legal_actions(state: RealCardsState) -> tuple[str, ...]:
    """Return all legal actions except open cards, of which there are too many."""
    match state.phase:
        case "over":
            return ()
        case "turn":
            return (DONE, PASS, *_DECLARATIONS)
    return (DONE, ATTACKER_WON)


def check(state: RealCardsState, action: str) -> None:
    """Raise `Illegal` unless the action is legal now.

    Open cards are legal once a combat is declared. In the rulebook edition they need an attacker
    stack.
    """
    if action in legal_actions(state):
        return
    if is_open_cards(action) and state.is_declared:
        # In the hackmud edition the attacker stack may be empty (ruling).
        if parse_open_cards(action).attacker_stack or state.options.is_hackmud:
            return
        why = say("Combat needs at least one card in the attacker stack")
        raise Illegal(Refusal.WRONG_PHASE, why, "combat")
    raise Illegal(Refusal.WRONG_PHASE, _refusal_text(state, action), "clock")


def _refusal_text(state: RealCardsState, action: str) -> str:
    """Return a sentence on why an action is not legal, with what can be done in this phase."""
    if state.phase == "over":
        return say("The game is over")
    if is_open_cards(action):
        return say("Declare combat first")
    if state.phase == "drawing":
        return say("Cards must be drawn: write . when that is done, ! if the deck has too few")
    if state.phase == "combat":
        return say("A combat is on: write . when it is over, ! if the attacker has won")
    if action == ATTACKER_WON:
        return say("The attacker wins by a combat: declare it first")
    return say(
        "Cards are played on the table here: only . (done), c (combat) and -- (pass) are counted"
    )


def carry_out(state: RealCardsState, seat: Seat, action: str) -> Step[RealCardsState]:
    """Carry out a legal action: count the turn, declare a combat, or resolve it."""
    if is_open_cards(action):
        return _resolve_combat(state, parse_open_cards(action))
    role = ROLES[seat]
    if action in _DECLARATIONS:
        named_lane = action.removeprefix(DECLARE)
        lane = int(named_lane) if named_lane else None
        event = Event(BinmatEvent.COMBAT, declaration_text(role, lane), seat, rule="combat")
        return Step(replace(state, is_declared=True, lane=lane), (event,))
    if action == ATTACKER_WON:
        reason = say("The lane deck owes a card and has none.")
        outcome = Outcome(frozenset({ATTACKER}), reason, LANE_RUN_DRY)
        # The turn of the winning combat is counted too (ruling).
        return Step(replace(_end_turn(state), outcome=outcome), (outcome.event("winning"),))
    text = say("{role!c} is done.", role=role)
    if action == PASS:
        text = pass_text(role)
    elif state.cards_owed:
        text = say("{role!c} has drawn.", role=role)
    return Step(_end_turn(state), (Event(BinmatEvent.TURN_DONE, text, seat, rule="turns"),))


def _end_turn(state: RealCardsState) -> RealCardsState:
    """Return the state at the beginning of the next turn, without a combat.

    After the last turn it is the state in which the defender has won.
    """
    turns_left = state.turns_left - 1
    outcome = None
    if not turns_left:
        reason = say("All {turns} turns are over.", turns=state.options.turns)
        outcome = Outcome(frozenset({DEFENDER}), reason, TURNS_OVER)
    return RealCardsState(state.options, turns_left, outcome=outcome)


def _resolve_combat(state: RealCardsState, open_cards: CombatSetup) -> Step[RealCardsState]:
    """Resolve the declared combat, whose cards are now known.

    The seat on turn has declared it, so its TRAPs spring first. The last stage tells people what to
    discard. The turn ends unless the attacker has to draw cards first.
    """
    lane = state.lane if open_cards.lane is None else open_cards.lane
    setup = replace(open_cards, initiator=state.seat, lane=lane)
    combat = Combat(setup, state.options.edition)
    expected: dict[Square, Cards] | None = None
    if lane is not None:
        expected = {
            Square(lane, ZONE_RANKS[ATTACKER]): (),
            Square(lane, ZONE_RANKS[DEFENDER]): combat.defender_stack,
        }
    log = TurnLog()
    add_combat(log, combat)
    add_result_stage(log, combat, expected, _discard_tasks(combat))
    after = _end_turn(state)
    if combat.cards_owed:
        after = replace(state, is_declared=False, lane=lane, cards_owed=combat.cards_owed)
    return log.build_step(after)


def _discard_tasks(combat: Combat) -> tuple[tuple[Seat, str], ...]:
    """Return the instructions after a combat: who moves which cards to which pile.

    Each is a seat and a sentence of at most 40 characters. All other cards stay where they are,
    face up.
    """
    tasks = []
    if cards := combat.to_attacker_discard:
        parts = {"side": ROLES[ATTACKER], "cards": cards_text(cards), "count": len(cards)}
        text = say("{side!c}: discard {cards}", **parts)
        # Too long for the sign, so give only the number of cards.
        if len(text) > _MAX_SIGN_LENGTH:
            text = say("{side!c}: discard {count} cards", **parts)
        tasks.append((ATTACKER, text))
    if cards := combat.to_lane_discard:
        parts = {"side": ROLES[DEFENDER], "cards": cards_text(cards), "count": len(cards)}
        text = say("{side!c}: {cards} to the lane discard", **parts)
        if len(text) > _MAX_SIGN_LENGTH:
            text = say("{side!c}: {count} cards to the lane discard", **parts)
        tasks.append((DEFENDER, text))
    return tuple(tasks)


# ---- views and screens ---------------------------------------------------------------------------


def view(state: RealCardsState) -> dict[str, Any]:
    """Return the turns left, the player on turn, the combat and the outcome as plain JSON.

    `combat` is None unless one is declared. `due` is the number of cards that the attacker has to
    draw after a combat. Nothing is hidden, because the cards lie on the table.
    """
    return {
        "way": state.options.way,
        "edition": state.options.edition,
        "to_act": [] if state.outcome else [state.seat],
        "turns_left": state.turns_left,
        "player": str(player_on_turn(state.options, state.turns_left)),
        "combat": {"lane": state.lane} if state.is_declared else None,
        "due": state.cards_owed,
        "outcome": plain_outcome(state.outcome),
    }


def card_ui(state: RealCardsState, viewer: Seat | None) -> CardUi:
    """Return the turn count and the keys, which the side on turn and the table may use."""
    may_act = viewer in (None, state.seat) and not state.outcome
    sign, hint = _sign_and_hint(state)
    keys = _keys(state)
    choices = tuple(CardChoice(_ACTION_OF_KEY[key.name], key.name) for key in keys)
    acting = player_on_turn(state.options, state.turns_left)
    # The attacker draws the cards of a combat, even in a turn of the defender.
    if state.seat is not state.options.seat(state.turns_left):
        acting = ROLES[ATTACKER]
    return CardUi(
        count=Count(state.turns_left, state.options.turns, say("turns left")),
        acting=acting,
        keys=keys,
        choices=choices if may_act else (),
        entry=_build_card_entry(state) if may_act and state.phase == "combat" else None,
        sign=sign,
        hint=hint,
        pad_hint=say("Ready ends it. Hold it to declare combat.") if state.phase == "turn" else "",
        wants_both=state.phase == "combat",
    )


def _sign_and_hint(state: RealCardsState) -> tuple[str, str]:
    """Return what the table waits for, and a hint on how to finish it."""
    match state.phase:
        case "over":
            return "", ""
        case "drawing":
            hints = [say("Too few cards? {side!c} has won.", side=ROLES[ATTACKER])]
            if state.options.is_hackmud:
                hints.append(say("An empty deck is first refilled from its discard pile."))
            return _draw_cards_sign(state), joined(" ", hints)
        case "combat":
            sign = say("Both: fan your cards face up")
            if state.lane is not None:
                sign = say("Both: fan your cards of lane {lane}", lane=state.lane)
            return sign, say("The oldest at your edge. Or tap them on a phone.")
    player = player_on_turn(state.options, state.turns_left)
    return say("{player!c}: your turn", player=player), ""


def _draw_cards_sign(state: RealCardsState) -> str:
    """Return the instruction to draw cards. Without a lane it just says “the lane deck”."""
    side = ROLES[ATTACKER]
    if state.lane is None:
        return say_n(
            "{side!c}: draw {n} card from the lane deck",
            "{side!c}: draw {n} cards from the lane deck",
            state.cards_owed,
            side=side,
        )
    return say_n(
        "{side!c}: draw {n} card from lane deck {lane}",
        "{side!c}: draw {n} cards from lane deck {lane}",
        state.cards_owed,
        side=side,
        lane=state.lane,
    )


def _keys(state: RealCardsState) -> tuple[ChoiceKey, ...]:
    """Return the keys of a page in this phase. After the end of the game nobody may use them."""
    win_key = ChoiceKey("won", say("{side!c} wins the game", side=ROLES[ATTACKER]), is_final=True)
    match state.phase:
        case "drawing":
            return (ChoiceKey("done", say("All drawn"), is_main=True), win_key)
        case "combat":
            return (ChoiceKey("done", say("Worked out by hand")), win_key)
    done = ChoiceKey("done", say("Turn done"), is_main=True)
    return (done, ChoiceKey("combat", say("Combat")))


def _build_card_entry(state: RealCardsState) -> CardEntry:
    """Return the form in which somebody taps the cards of both stacks of a declared combat."""
    zones: dict[Seat, Any] = {}
    if state.lane is not None:
        zones = {seat: Square(state.lane, rank) for seat, rank in ZONE_RANKS.items()}
    is_hackmud = state.options.is_hackmud
    return CardEntry(
        tuple(VALUES),
        tuple(SUITS),
        zones,
        open_seat=DEFENDER,
        open_mark=OPEN_MARK,
        marks_single=is_hackmud,
        may_be_empty=is_hackmud,
    )


# ---- cards that the camera reads, and pads -------------------------------------------------------


def read_open_cards(state: RealCardsState, fans: Layout, fans_at_declaration: Layout) -> str | None:
    """Return the action that gives the cards of the declared combat, as the camera reads them.

    Players lay the cards of both stacks of the lane face up in fans. `fans` holds the face-up cards
    of each zone now. `fans_at_declaration` holds the cards that lay face up when the combat was
    declared: they get the suffix `u`. The result is None as long as the cards are not certain:

    - No combat is declared, or it is not clear in which lane.
    - No attacker card lies open.
    - A card could not be read, or a card is read twice, which must be an error of the camera.
    """
    if state.phase != "combat":
        return None
    lane = _find_open_lane(fans, fans_at_declaration) if state.lane is None else state.lane
    if lane is None:
        return None
    attacker_zone = Square(lane, ZONE_RANKS[ATTACKER])
    defender_zone = Square(lane, ZONE_RANKS[DEFENDER])
    attacker = fans.get(attacker_zone, ())
    defender = fans.get(defender_zone, ())
    cards = (*attacker, *defender)
    if not attacker or _UNREAD_CARD in cards or len(set(cards)) < len(cards):
        return None
    # Only in the hackmud edition do single attacker cards lie open before a combat.
    open_attacker_cards = (
        fans_at_declaration.get(attacker_zone, ()) if state.options.is_hackmud else ()
    )
    open_defender_cards = set(defender).intersection(fans_at_declaration.get(defender_zone, ()))
    setup = CombatSetup(
        attacker,
        defender,
        is_defender_open=_is_defender_open(open_defender_cards),
        open_attacker_cards=frozenset(open_attacker_cards),
        lane=lane,
    )
    return open_cards_text(setup)


def _find_open_lane(fans: Layout, fans_at_declaration: Layout) -> int | None:
    """Return the lane of a combat that was declared without one, or None if it is not clear.

    It is the only lane whose attacker stack lies face up. In the hackmud edition attacker cards of
    other lanes may have lain face up before. So if there are several such lanes, only those in
    which something has changed since the declaration count.
    """
    attacker_rank = ZONE_RANKS[ATTACKER]
    open_lanes = [zone.file for zone, cards in fans.items() if zone.rank == attacker_rank and cards]
    changed = {
        zone.file for zone, cards in fans.items() if cards != fans_at_declaration.get(zone, ())
    }
    candidates = [lane for lane in open_lanes if lane in changed] or open_lanes
    return candidates[0] if len(candidates) == 1 else None


# Ready ends the turn, and declares a combat when held. A declares a combat at once.
_TURN_PAD = PadGrammar(
    (Key(DECLARE, say("combat"), "blade", "a"),),
    length=1,
    held_ready=DECLARE,
    at_once="a",
    ready_alone=DONE,
)
# Ready ends the turn. B and then ready report that the attacker has won.
_COMBAT_PAD = PadGrammar(
    (Key(ATTACKER_WON, say("{side} won", side=ROLES[ATTACKER]), "burst", "b"),),
    length=1,
    ready_alone=DONE,
)


def pad(state: RealCardsState) -> PadGrammar:
    """Return the keys, the same on both pads: anybody may press for the side on turn."""
    return _COMBAT_PAD if state.is_in_combat else _TURN_PAD
