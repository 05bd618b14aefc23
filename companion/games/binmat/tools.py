"""What BINMAT brings beside its rules: the command that explains combats, and how people play it in self-play."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from companion.core.errors import Malformed
from companion.core.grid import Square
from companion.core.kit import Layout, Seat
from companion.games.base import Event
from companion.games.binmat.cards import Cards, cards_text, parse_cards
from companion.games.binmat.combat import (
    ATTACKER,
    DEFENDER,
    ROLES,
    Combat,
    Edition,
    Fight,
    resolve,
)
from companion.games.binmat.counter import OpenCards
from companion.games.binmat.state import LANES, State
from companion.games.binmat.words import RULES
from companion.games.tools import Command, GameTools, Showdown, WayToPlay

RULE_TITLES = {rule.id: rule.title for rule in RULES}

# ---- one combat ------------------------------------------------------------------------------------------------------


def combat_of(
    stacks: tuple[str, str], open_before: tuple[str, bool], edition: str, initiator: str
) -> Combat:
    """Return the combat of two stacks given as text, bottom first.

    Raises `Malformed` when they cannot fight.

    Pairs are (attacker, defender). `open_before`: the attacker's cards that lay face up before, and whether the
    defender's stack did.
    """
    seat = DEFENDER if initiator == "defender" else ATTACKER
    attacker, defender = (parse_cards(stack) for stack in stacks)
    named, is_open = open_before
    lay_open = parse_cards(named)
    if strange := [card for card in lay_open if card not in attacker]:
        raise Malformed(
            f"{strange[0]} is not in the attacker stack, so it cannot have lain face up there"
        )
    if lay_open and edition == Edition.RULEBOOK:
        raise Malformed(
            "In the rulebook edition no card of an attacker stack lies face up before a combat"
        )
    return resolve(Fight(attacker, defender, seat, is_open, frozenset(lay_open)), Edition(edition))


def explain(combat: Combat) -> Iterator[str]:
    """Yield a combat in sentences, step by step with the rules' titles, then where every card is."""
    for step in combat.steps:
        yield step.title
        for event in step.events:
            why = f" {event.why}" if event.why else ""
            rule = f"  [{RULE_TITLES[event.rule]}]" if event.rule else ""
            yield f"  {event.text}{why}{rule}"
    yield "Afterwards"
    yield f"  Defender stack      {_cards_or_none(combat.defender)}"
    yield f"  Attacker discard    {_cards_or_none(combat.to_attacker_discard)}"
    yield f"  Lane discard        {_cards_or_none(combat.to_lane_discard)}"
    yield f"  Lane deck owes      {combat.due} card{'' if combat.due == 1 else 's'}"


def plain_combat(combat: Combat) -> dict[str, Any]:
    """Return a combat in plain JSON.

    Powers are None where it was bounced. The four lists hold every card once, afterwards.

    `attacker_stack` is always empty then. What the stacks held before is `attacker` and `defender`.
    """
    fight, attack, defence = combat.fight, combat.attack, combat.defence
    return {
        "edition": combat.edition,
        "initiator": ROLES[fight.initiator],
        "defender_open": fight.defender_open,
        "attacker_open": sorted(fight.attacker_open),
        "attacker": list(fight.attacker),
        "defender": list(fight.defender),
        "bounced": combat.bounced,
        "attacker_power": attack.power if attack else None,
        "defender_power": defence.power if defence else None,
        "attacker_sum": attack.total if attack else None,
        "defender_sum": defence.total if defence else None,
        "damage": combat.damage,
        "due": combat.due,
        "attacker_stack": [],
        "defender_stack": list(combat.defender),
        "attacker_discard": list(combat.to_attacker_discard),
        "lane_discard": list(combat.to_lane_discard),
        "steps": [
            {"title": step.title, "sentences": [_plain_event(event) for event in step.events]}
            for step in combat.steps
        ],
    }


def _plain_event(event: Event) -> dict[str, str | None]:
    rule = RULE_TITLES[event.rule] if event.rule else None
    return {"text": event.text, "why": event.why, "rule": rule}


def _cards_or_none(cards: Cards) -> str:
    return cards_text(cards) or "none"


# ---- the command line ------------------------------------------------------------------------------------------------


def tools_of_binmat() -> GameTools:
    """Return the command `combat`, and how self-play plays."""
    combat = Command(
        "combat", "work a combat of BINMAT out and say why it ends so", _add_combat, _combat
    )
    return GameTools((combat,), Rehearsal())


def _add_combat(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "attacker",
        help="the attacker stack, bottom first, such as '5& 3%% >+'; '' in hackmud alone",
    )
    command.add_argument(
        "--attacker-open", metavar="CARDS", default="", help="its cards that lay face up before"
    )
    command.add_argument("defender", help="the defender stack, '' for an empty one")
    command.add_argument("--edition", choices=("rulebook", "hackmud"), default="rulebook")
    command.add_argument(
        "--initiator", choices=("attacker", "defender"), default="attacker", help="who began it"
    )
    command.add_argument(
        "--defender-open", action="store_true", help="the defender stack lay face up before"
    )
    command.add_argument("--json", action="store_true", help="the same for machines")


def _combat(options: argparse.Namespace) -> int:
    stacks = options.attacker, options.defender
    open_before = options.attacker_open, options.defender_open
    combat = combat_of(stacks, open_before, options.edition, options.initiator)
    if options.json:
        print(json.dumps(plain_combat(combat), ensure_ascii=False))
        return 0
    for sentence in explain(combat):
        print(sentence)
    return 0


# ---- self-play -------------------------------------------------------------------------------------------------------


class Rehearsal:
    """How people play: somebody who likes to draw, to play and to fight, and seldom passes.

    A `CardRehearsal`.
    """

    end_turn = "."
    call = "c"
    pass_turn = "--"
    win = "!"
    keys: Mapping[str, tuple[str, ...]] = {"c": ("a",), "!": ("b", "ready")}

    def way(self, seed: int, *, has_machine: bool) -> WayToPlay:
        """Return both ways with both editions in turn.

        Against a machine the full game, whose cards are on phones.
        """
        way = "full" if has_machine else ("referee", "full")[seed // 2 % 2]
        options = {"way": way, "edition": ("rulebook", "hackmud")[seed % 2]}
        return WayToPlay(options, {**options, "way": "full"}, way == "referee")

    def liking(self, action: str) -> float:
        """Return the liking by the letter with which it begins."""
        return {"d": 5.0, "p": 1.0, "u": 2.0, "c": 4.0, "x": 0.2, "-": 0.1}[action[0]]

    def open_cards(self, state: State) -> Layout:
        """Return the defender stacks and the attacker's cards that lie face up, by their zones."""
        defence = {Square(lane, 0): state.defence[lane] for lane in LANES if state.is_up[lane]}
        up = state.attack_up
        attack = {
            Square(lane, 1): tuple(filter(up.__contains__, state.attack[lane])) for lane in LANES
        }
        return defence | {zone: cards for zone, cards in attack.items() if cards}

    def is_seen(self, state: State, action: str) -> bool:
        """Return False where stacks lay open before, or there is none: those have to be tapped in."""
        if action[0] != "c":
            return True
        lane = int(action[-1])
        attack, defence = state.attack[lane], state.defence[lane]
        return bool(attack) and not (
            state.attack_up.issuperset(attack) and (state.is_up[lane] or not defence)
        )

    def showdown(self, state: State, seat: Seat, action: str) -> Showdown:
        """Return both stacks of a lane."""
        lane = int(action[-1])
        played = (action[1:3],) if action[0] == "u" else ()
        attacker = state.attack[lane] + (played if seat is Seat.NORTH else ())
        defender = state.defence[lane] + (played if seat is Seat.SOUTH else ())
        up_before = state.attack_up.intersection(state.attack[lane])
        said = OpenCards(lane, attacker, defender, state.is_up[lane], up_before)
        mine, theirs = Square(lane, 1), Square(lane, 0)
        return Showdown(mine, theirs, {mine: attacker, theirs: defender}, str(said))
