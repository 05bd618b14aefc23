"""Real cards: they stay on the table, while the program counts turns and resolves combats.

Anybody at the table may act for the side on turn, as on a chess clock. The notation:

- `.` ends a turn. In a combat it says that people have resolved it by hand.
- `c` declares a combat and stops the clock. `c3` also names the lane.
- `3: 5& 3% >+ / 4^ 2#` are the open cards of a combat: the lane, which may be left out, the
  attacker stack, a slash, the defender stack. Each stack begins with its oldest card. `u` after a
  card says that it lay face up before. In the hackmud edition the attacker stack may be empty:
  `3: / 4^ ?#`.
- `!` says that the attacker has won.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.grid import Square
from companion.core.i18n import joined, say, say_n
from companion.core.kit import Layout, Seat
from companion.games.base import Event, Outcome, Step, plain_outcome
from companion.games.binmat.cards import BREAK, SUITS, VALUES, Cards, cards_text, parse_cards
from companion.games.binmat.combat import (
    ATTACKER,
    DEFENDER,
    ROLES,
    RUN_DRY,
    TURNS_OVER,
    BinmatEvent,
    Combat,
    Fight,
    add_combat,
    add_result,
    declares,
    passes,
)
from companion.games.binmat.orders import PASS
from companion.games.binmat.screen import KIT, player_on_turn
from companion.games.binmat.state import LANES, BinmatOptions
from companion.games.pads import Key, PadGrammar
from companion.games.screen import CardChoice, CardEntry, CardUi, ChoiceKey, Count
from companion.games.turn_log import TurnLog

DONE = "."
CALL = "c"
WON = "!"
OPEN_MARK = "u"
_CALLS = (CALL, *(f"{CALL}{lane}" for lane in LANES))
_OPEN = re.compile(r"(?:([0-5]): )?(?:([^\s/]+(?: [^\s/]+)*) )?/ ?(\S+(?: \S+)*)?")
_ZONE = KIT.deck.zones if KIT.deck else {}
_SIGN_LENGTH = 40
_CHOICES = {
    "done": CardChoice(DONE, "done"),
    "combat": CardChoice(CALL, "combat"),
    "won": CardChoice(WON, "won"),
}
"""Action of each key."""


@dataclass(frozen=True, slots=True)
class Counter:
    """Number of turns left, and the progress of a combat.

    `called` is true from the declaration until the cards are known. Then `due` is the number of
    cards to draw. `lane` is the lane of the combat, if it has been named.
    """

    options: BinmatOptions
    turns_left: int
    called: bool = False
    lane: int | None = None
    due: int = 0
    outcome: Outcome | None = None

    @property
    def seat(self) -> Seat:
        """Return the seat that must act: the attacker if a combat gives him cards to draw."""
        return ATTACKER if self.due else self.options.seat(self.turns_left)


def parse_fight(text: str) -> Fight:
    """Parse open cards such as `3: 5& 3% >+ / 4^u 2#u`. Raises `Malformed`."""
    match = _OPEN.fullmatch(text)
    if not match:
        text = say(
            "Write open cards as the attacker’s, a slash, the defender’s, such as 3: 5& 3% >+ "
            "/ 4^ 2#"
        )
        raise Malformed(text)
    attacker, attacker_open = _parse_stack(match[2] or "")
    defender, defender_open = _parse_stack(match[3] or "")
    if not attacker and not defender:
        raise Malformed(say("Combat needs a card in one of the two stacks"))
    # an open BREAK proves nothing, because it may have been played to begin this combat
    lay_open = any(card[0] != BREAK for card in defender_open)
    lane = int(match[1]) if match[1] else None
    return Fight(attacker, defender, ATTACKER, lay_open, attacker_open, lane)


def fight_text(fight: Fight) -> str:
    """Return the canonical notation of open cards."""
    attacker = _mark_open(fight.attacker, fight.attacker_open)
    defender = _mark_open(fight.defender, fight.defender if fight.defender_open else ())
    lane = "" if fight.lane is None else f"{fight.lane}:"
    return " ".join(filter(None, (lane, attacker, "/", defender)))


def _parse_stack(text: str) -> tuple[Cards, frozenset[str]]:
    """Return the cards of a stack, and the set of those that lay open before."""
    words = text.split()
    cards = parse_cards(" ".join([word.removesuffix(OPEN_MARK) for word in words]))
    return cards, frozenset(
        card for card, word in zip(cards, words, strict=True) if word.endswith(OPEN_MARK)
    )


def is_counted(text: str) -> bool:
    """Return whether a text is notation that only a game with real cards has."""
    return text in (DONE, CALL, WON) or "/" in text


def parse_counter(text: str) -> str:
    """Return the action in its canonical notation. Raises `Malformed`."""
    if text in (DONE, WON, PASS, *_CALLS):
        return text
    if "/" not in text:
        raise Malformed(
            say(
                "Expected . (done), c or c3 (combat), ! (attacker has won), -- (pass) or open cards"
            )
        )
    return fight_text(parse_fight(text))


_TURN_PAD = PadGrammar(
    (Key(CALL, say("combat"), "blade", "a"),), 1, held_ready=CALL, at_once="a", ready_alone=DONE
)
"""Ready ends the turn, and declares a combat when held. A declares a combat at once."""
_COMBAT_PAD = PadGrammar(
    (Key(WON, say("{side} won", side=ROLES[ATTACKER]), "burst", "b"),), 1, ready_alone=DONE
)
"""Ready ends the turn. B and then ready report that the attacker has won."""


def legal_actions(state: Counter) -> tuple[str, ...]:
    """Return all legal actions except open cards, of which there are too many."""
    if state.outcome:
        return ()
    if state.called or state.due:
        return (DONE, WON)
    return (DONE, PASS, *_CALLS)


def check(state: Counter, action: str) -> None:
    """Raise `Illegal` for an action that is not legal now, or for open cards outside a combat."""
    if action in legal_actions(state):
        return
    rule = "clock"
    why = _refusal_text(state, action)
    if "/" in action and state.called:
        # in the hackmud edition the attacker stack may be empty (ruling)
        if parse_fight(action).attacker or state.options.is_hackmud:
            return
        rule = "combat"
        why = say("Combat needs at least one card in the attacker stack")
    raise Illegal(Refusal.WRONG_PHASE, why, rule)


def play(state: Counter, seat: Seat, action: str) -> Step[Counter]:
    """Count the turn, declare the combat, or resolve it."""
    if "/" in action:
        return _fight(state, parse_fight(action))
    role = ROLES[seat]
    if action in _CALLS:
        lane = int(action[1:]) if action[1:] else None
        event = Event(BinmatEvent.COMBAT, declares(role, lane), seat, rule="combat")
        return Step(replace(state, called=True, lane=lane), (event,))
    if action == WON:
        reason = say("The lane deck owes a card and has none.")
        outcome = Outcome(frozenset({ATTACKER}), reason, RUN_DRY)
        # the turn of the winning combat is counted too (ruling)
        return Step(replace(_end_turn(state), outcome=outcome), (outcome.event("winning"),))
    text = say("{role!c} is done.", role=role)
    if action == PASS:
        text = passes(role)
    elif state.due:
        text = say("{role!c} has drawn.", role=role)
    return Step(_end_turn(state), (Event(BinmatEvent.DONE, text, seat, rule="turns"),))


def view(state: Counter) -> dict[str, Any]:
    """Return the turns left, the player on turn, the combat and the outcome as plain JSON.

    Nothing is hidden, because the cards lie on the table.
    """
    return {
        "way": state.options.way,
        "edition": state.options.edition,
        "to_act": [] if state.outcome else [state.seat],
        "turns_left": state.turns_left,
        "player": str(player_on_turn(state.options, state.turns_left)),
        "combat": {"lane": state.lane} if state.called else None,
        "due": state.due,
        "outcome": plain_outcome(state.outcome),
    }


def card_ui(state: Counter, viewer: Seat | None) -> CardUi:
    """Return the turn count and the keys, which the side on turn and the table may use."""
    may_act = viewer in (None, state.seat) and not state.outcome
    sign, hint = _sign(state)
    is_turn = not (state.called or state.due or state.outcome)
    keys = _keys(state)
    acting = player_on_turn(state.options, state.turns_left)
    # the attacker draws the cards of a combat, whoever declared it
    if state.seat is not state.options.seat(state.turns_left):
        acting = ROLES[ATTACKER]
    return CardUi(
        count=Count(state.turns_left, state.options.turns, say("turns left")),
        acting=acting,
        keys=keys,
        choices=tuple(_CHOICES[key.name] for key in keys) if may_act else (),
        entry=_entry(state) if may_act else None,
        sign=sign,
        hint=hint,
        pad_hint=say("Ready ends it. Hold it to declare combat.") if is_turn else "",
        wants_both=state.called and not state.due and not state.outcome,
    )


def laid_open(state: Counter, fans: Layout, before: Layout) -> str | None:
    """Return the combat for cards that are laid open in one lane, once all of them have been read.

    Return None while no combat is declared or no attacker card lies open.
    """
    if not state.called:
        return None
    lane = _open_lane(fans, before) if state.lane is None else state.lane
    if lane is None:
        return None
    attacker_zone, defender_zone = (Square(lane, _ZONE[seat]) for seat in (ATTACKER, DEFENDER))
    attacker = fans.get(attacker_zone, ())
    defender = fans.get(defender_zone, ())
    # X is a card that could not be read, so the stack is not yet known
    if not attacker or "X" in (*attacker, *defender):
        return None
    # only in the hackmud edition do single attacker cards lie open before a combat
    lay_open = before.get(attacker_zone, ()) if state.options.is_hackmud else ()
    stacks = _mark_open(attacker, lay_open), _mark_open(defender, before.get(defender_zone, ()))
    return parse_counter(f"{lane}: {' / '.join(stacks)}")


def _open_lane(fans: Layout, before: Layout) -> int | None:
    """Return the lane whose attacker stack is laid open, or of several the changed one."""
    lanes = [zone.file for zone, cards in fans.items() if zone.rank == _ZONE[ATTACKER] and cards]
    changed = {zone.file for zone, cards in fans.items() if cards != before.get(zone, ())}
    lanes = [lane for lane in lanes if lane in changed] or lanes
    return lanes[0] if len(lanes) == 1 else None


def pad(state: Counter) -> PadGrammar:
    """Return the keys, the same on both pads: anybody may press for the side on turn."""
    if state.called or state.due:
        return _COMBAT_PAD
    return _TURN_PAD


def _mark_open(stack: Cards, lay_open: Collection[str]) -> str:
    """Return a stack in notation, with a mark after each card that lay open before."""
    return " ".join([card + OPEN_MARK * (card in lay_open) for card in stack])


def _refusal_text(state: Counter, action: str) -> str:
    if state.outcome:
        return say("The game is over")
    if "/" in action:
        return say("Declare combat first")
    if state.due:
        return say("Cards must be drawn: write . when that is done, ! if the deck has too few")
    if state.called:
        return say("A combat is on: write . when it is over, ! if the attacker has won")
    if action == WON:
        return say("The attacker wins by a combat: declare it first")
    return say(
        "Cards are played on the table here: only . (done), c (combat) and -- (pass) are counted"
    )


def _end_turn(state: Counter) -> Counter:
    remaining = state.turns_left - 1
    reason = say("All {turns} turns are over.", turns=state.options.turns)
    ending = Outcome(frozenset({DEFENDER}), reason, TURNS_OVER)
    outcome = None if remaining else ending
    return Counter(state.options, remaining, outcome=outcome)


def _fight(state: Counter, open_cards: Fight) -> Step[Counter]:
    lane = state.lane if open_cards.lane is None else open_cards.lane
    combat = Combat(replace(open_cards, initiator=state.seat, lane=lane), state.options.edition)
    zones: dict[Square, Cards] = {}
    if lane is not None:
        zones = {Square(lane, _ZONE[ATTACKER]): (), Square(lane, _ZONE[DEFENDER]): combat.defender}
    log = TurnLog()
    add_combat(log, combat)
    add_result(log, combat, expected=zones or None, todo=_hands(combat))
    after = _end_turn(state)
    # the turn ends only when the cards due have been drawn
    if combat.due:
        after = replace(state, called=False, lane=lane, due=combat.due)
    return log.step_to(after)


def _hands(combat: Combat) -> tuple[tuple[Seat, str], ...]:
    """Return the instructions after a combat: which cards go to which pile.

    All other cards stay where they are, face up.
    """
    todo = []
    if cards := combat.to_attacker_discard:
        parts = {"side": ROLES[ATTACKER], "cards": cards_text(cards), "count": len(cards)}
        text = say("{side!c}: discard {cards}", **parts)
        # too long for the sign, so give only the number of cards
        if len(text) > _SIGN_LENGTH:
            text = say("{side!c}: discard {count} cards", **parts)
        todo.append((ATTACKER, text))
    if cards := combat.to_lane_discard:
        parts = {"side": ROLES[DEFENDER], "cards": cards_text(cards), "count": len(cards)}
        text = say("{side!c}: {cards} to the lane discard", **parts)
        if len(text) > _SIGN_LENGTH:
            text = say("{side!c}: {count} cards to the lane discard", **parts)
        todo.append((DEFENDER, text))
    return tuple(todo)


def _sign(state: Counter) -> tuple[str, str]:
    """Return the sign, and a hint on how to finish."""
    if state.outcome:
        return "", ""
    if state.due:
        hints = [say("Too few cards? {side!c} has won.", side=ROLES[ATTACKER])]
        if state.options.is_hackmud:
            hints.append(say("An empty deck is first refilled from its discard pile."))
        return _draw_sign(state.due, state.lane), joined(" ", hints)
    if state.called:
        sign = say("Both: fan your cards face up")
        if state.lane is not None:
            sign = say("Both: fan your cards of lane {lane}", lane=state.lane)
        return sign, say("The oldest at your edge. Or tap them on a phone.")
    player = player_on_turn(state.options, state.turns_left)
    return say("{player!c}: your turn", player=player), ""


def _draw_sign(due: int, lane: int | None) -> str:
    """Return the instruction to draw cards. The lane may be unknown."""
    side = ROLES[ATTACKER]
    if lane is None:
        return say_n(
            "{side!c}: draw {n} card from the lane deck",
            "{side!c}: draw {n} cards from the lane deck",
            due,
            side=side,
        )
    return say_n(
        "{side!c}: draw {n} card from lane deck {lane}",
        "{side!c}: draw {n} cards from lane deck {lane}",
        due,
        side=side,
        lane=lane,
    )


def _keys(state: Counter) -> tuple[ChoiceKey, ...]:
    win_key = ChoiceKey("won", say("{side!c} wins the game", side=ROLES[ATTACKER]), is_final=True)
    if state.due:
        return (ChoiceKey("done", say("All drawn"), is_main=True), win_key)
    if state.called:
        return (ChoiceKey("done", say("Worked out by hand")), win_key)
    done = ChoiceKey("done", say("Turn done"), is_main=True)
    return (done, ChoiceKey("combat", say("Combat")))


def _entry(state: Counter) -> CardEntry | None:
    """Return the form for the cards of both stacks, or None outside a combat."""
    if not state.called:
        return None
    zones: dict[Seat, Any] = {}
    if state.lane is not None:
        zones = {seat: Square(state.lane, rank) for seat, rank in _ZONE.items()}
    is_hackmud = state.options.is_hackmud
    return CardEntry(
        tuple(VALUES), tuple(SUITS), zones, DEFENDER, OPEN_MARK, is_hackmud, is_hackmud
    )
