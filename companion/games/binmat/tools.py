"""The command `companion combat`, which resolves a combat of BINMAT and explains the result."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from companion.core.errors import Malformed
from companion.games.binmat.cards import Cards, cards_text, parse_cards
from companion.games.binmat.combat import Combat, CombatSetup
from companion.games.binmat.events import ATTACKER, DEFENDER
from companion.games.binmat.state import Edition
from companion.games.binmat.words import RULES
from companion.games.tools import Command

RULE_TITLES = {rule.id: rule.title for rule in RULES}


def _explanation_lines(combat: Combat) -> Iterator[str]:
    """Yield a combat in sentences, stage by stage, then the final place of every card."""
    for stage in combat.stages:
        yield stage.title
        for event in stage.events:
            why = f" {event.why}" if event.why else ""
            rule = f"  [{RULE_TITLES[event.rule]}]" if event.rule else ""
            yield f"  {event.text}{why}{rule}"
    owed = combat.cards_owed
    yield "Afterwards"
    yield f"  Defender stack      {_cards_or_none(combat.defender_stack)}"
    yield f"  Attacker discard    {_cards_or_none(combat.to_attacker_discard)}"
    yield f"  Lane discard        {_cards_or_none(combat.to_lane_discard)}"
    yield f"  Lane deck owes      {owed} card{'' if owed == 1 else 's'}"


def _cards_or_none(cards: Cards) -> str:
    return cards_text(cards) or "none"


def binmat_commands() -> tuple[Command, ...]:
    """Return the game's only command, `combat`."""
    purpose = "work out a combat of BINMAT and explain how it ends"
    return (Command("combat", purpose, _add_arguments, _print_combat),)


def _add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "attacker",
        help="the attacker stack, bottom first, such as '5& 3%% >+', or '' (only in hackmud)",
    )
    command.add_argument(
        "--attacker-open", metavar="CARDS", default="", help="attacking cards that lay face up"
    )
    command.add_argument("defender", help="the defender stack, '' for an empty one")
    command.add_argument("--edition", choices=("rulebook", "hackmud"), default="rulebook")
    command.add_argument(
        "--initiator", choices=("attacker", "defender"), default="attacker", help="who began it"
    )
    command.add_argument(
        "--defender-open", action="store_true", help="the defender stack lay face up"
    )


def _print_combat(options: argparse.Namespace) -> int:
    """Resolve a combat of two stacks that are given as text, and print its explanation.

    Return the exit status. Raises `Malformed` for a text that does not list cards, and for stacks
    between which the edition allows no combat.
    """
    attacker = parse_cards(options.attacker)
    open_cards = parse_cards(options.attacker_open)
    edition = Edition(options.edition)
    for card in open_cards:
        if card not in attacker:
            raise Malformed(
                f"{card} is not in the attacker stack, so it cannot have lain face up there"
            )
    if open_cards and edition is Edition.RULEBOOK:
        raise Malformed(
            "In the rulebook edition no card of an attacker stack lies face up before a combat"
        )
    setup = CombatSetup(
        attacker,
        parse_cards(options.defender),
        initiator=DEFENDER if options.initiator == "defender" else ATTACKER,
        is_defender_open=options.defender_open,
        open_attacker_cards=frozenset(open_cards),
    )
    for line in _explanation_lines(Combat(setup, edition)):
        print(line)
    return 0
