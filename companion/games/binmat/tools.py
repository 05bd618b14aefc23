"""The command `combat` of BINMAT, which explains a combat."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from companion.core.errors import Malformed
from companion.games.binmat.cards import Cards, cards_text, parse_cards
from companion.games.binmat.combat import ATTACKER, DEFENDER, Combat, Edition, Fight
from companion.games.binmat.words import RULES
from companion.games.tools import Command

RULE_TITLES = {rule.id: rule.title for rule in RULES}


def explain(combat: Combat) -> Iterator[str]:
    """Yield a combat in sentences, step by step, then the final place of every card."""
    for step in combat.stages:
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


def _cards_or_none(cards: Cards) -> str:
    return cards_text(cards) or "none"


# ---- the command line ----------------------------------------------------------------------------


def tools_of_binmat() -> tuple[Command, ...]:
    """Return the command `combat`."""
    purpose = "work a combat of BINMAT out and say why it ends so"
    return (Command("combat", purpose, _add_combat, _combat),)


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


def _combat(options: argparse.Namespace) -> int:
    """Resolve a combat of two stacks given as text, bottom first, and print why it ends so."""
    attacker = parse_cards(options.attacker)
    lay_open = parse_cards(options.attacker_open)
    edition = Edition(options.edition)
    if strange := [card for card in lay_open if card not in attacker]:
        raise Malformed(
            f"{strange[0]} is not in the attacker stack, so it cannot have lain face up there"
        )
    if lay_open and edition is Edition.RULEBOOK:
        raise Malformed(
            "In the rulebook edition no card of an attacker stack lies face up before a combat"
        )
    fight = Fight(
        attacker,
        parse_cards(options.defender),
        DEFENDER if options.initiator == "defender" else ATTACKER,
        options.defender_open,
        frozenset(lay_open),
    )
    combat = Combat(fight, edition)
    for sentence in explain(combat):
        print(sentence)
    return 0
