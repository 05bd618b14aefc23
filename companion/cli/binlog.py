"""What the commands `combat`, `binlog` and `replay --binlog` say: combats explained, logs read and written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from companion.archive.replay import GameFile, play_again
from companion.core.errors import Malformed
from companion.core.files import open_file
from companion.core.i18n import say
from companion.games.binmat import Binmat
from companion.games.binmat.cards import Cards, listed, parse_cards
from companion.games.binmat.combat import ATTACKER, DEFENDER, ROLES, Combat, Edition, Fight, plain, resolve
from companion.games.binmat.ledger import Ledger
from companion.games.binmat.log import FindingKind, LogReport, read_log
from companion.games.binmat.notation import log_of
from companion.games.binmat.state import LANES
from companion.games.binmat.words import RULES

_TITLES = {rule.id: rule.title for rule in RULES}
_LARGEST = 1_000_000
"""Bytes of the largest file that is read; a game is some ten thousand, and a million take seconds."""

# ---- one combat ------------------------------------------------------------------------------------------------------


def combat_of(stacks: tuple[str, str], open_before: tuple[str, bool], edition: str, initiator: str) -> Combat:
    """The combat of two stacks given as text, bottom first; raises `Malformed` when they cannot fight.

    Pairs are (attacker, defender); `open_before`: the attacker's cards that lay face up before, and whether the
    defender's stack did.
    """
    seat = DEFENDER if initiator == "defender" else ATTACKER
    attacker, defender = (parse_cards(stack) for stack in stacks)
    named, is_open = open_before
    lay_open = parse_cards(named)
    if strange := [card for card in lay_open if card not in attacker]:
        raise Malformed(f"{strange[0]} is not in the attacker stack, so it cannot have lain face up there")
    if lay_open and edition == Edition.RULEBOOK:
        raise Malformed("In the rulebook edition no card of an attacker stack lies face up before a combat")
    return resolve(Fight(attacker, defender, seat, is_open, frozenset(lay_open)), Edition(edition))


def explain(combat: Combat) -> Iterator[str]:
    """A combat in sentences, step by step with the rules' titles, then where every card is."""
    for step in combat.steps:
        yield step.title
        for event in step.events:
            why = f" {event.why}" if event.why else ""
            rule = f"  [{_TITLES[event.rule]}]" if event.rule else ""
            yield f"  {event.text}{why}{rule}"
    yield "Afterwards"
    yield f"  Defender stack      {_named(combat.defender)}"
    yield f"  Attacker discard    {_named(combat.to_attacker_discard)}"
    yield f"  Lane discard        {_named(combat.to_lane_discard)}"
    yield f"  Lane deck owes      {combat.due} card{'' if combat.due == 1 else 's'}"


def plain_combat(combat: Combat) -> dict[str, Any]:
    """A combat in plain JSON. Powers are None where it was bounced; the four lists hold every card once, afterwards.

    `attacker_stack` is always empty then; what the stacks held before is `attacker` and `defender`.
    """
    whole = plain(combat)
    return {
        "edition": whole["edition"],
        "initiator": ROLES[combat.fight.initiator],
        "defender_open": combat.fight.defender_open,
        "attacker_open": sorted(combat.fight.attacker_open),
        "attacker": whole["attacker"],
        "defender": whole["defender"],
        "bounced": combat.bounced,
        "attacker_power": combat.attack.power if combat.attack else None,
        "defender_power": combat.defence.power if combat.defence else None,
        "attacker_sum": combat.attack.total if combat.attack else None,
        "defender_sum": combat.defence.total if combat.defence else None,
        "damage": combat.damage,
        "due": combat.due,
        "attacker_stack": [],
        "defender_stack": whole["defender_after"],
        "attacker_discard": whole["to_attacker_discard"],
        "lane_discard": whole["to_lane_discard"],
        "steps": [
            {
                "title": step.title,
                "sentences": [
                    {
                        "text": event.text,
                        "why": event.why,
                        "rule": _TITLES[event.rule] if event.rule else None,
                    }
                    for event in step.events
                ],
            }
            for step in combat.steps
        ],
    }


def _named(cards: Cards) -> str:
    return listed(cards) or "none"


# ---- logs ------------------------------------------------------------------------------------------------------------


def read_log_file(path: Path, edition: str, turns: int | None) -> LogReport:
    """Read a file and check what it tells, as `read_log` does; raises `Malformed` when it is no log at all."""
    options = Binmat().options({"edition": edition} | ({} if turns is None else {"turns": turns}))
    reading = read_log(_lines_of(path), options.edition, turns)
    if not reading.turns and not reading.moves:
        raise Malformed(
            f"{path} is no log of this game: no line of it is a turn such as V012 n------ or a move such as a0 d3"
        )
    return reading


def _lines_of(path: Path) -> list[str]:
    try:
        with open_file(path) as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise Malformed(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > _LARGEST:
        raise Malformed(f"{path} is too large for a log: more than {_LARGEST // 1_000_000} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise Malformed(f"{path} is no text: expected a log with a line for every turn and move")
    if not text.strip():
        raise Malformed(f"{path} is empty: expected a log with a line for every turn and move")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def report(reading: LogReport) -> Iterator[str]:
    """What was found, line by line, and a summary."""
    for finding in reading.findings:
        turn = "" if finding.turn is None else f"turn {finding.turn}, "
        yield f"line {finding.line:<4} {finding.kind:<9} {turn}{finding.text}"
    if reading.ledger:
        yield from _position(reading.ledger)
    combats = reading.agree + reading.differ + reading.unchecked
    yield (
        f"{_count(reading.turns, 'turn')}, {_count(reading.moves, 'move')}, {_count(combats, 'combat')}: "
        f"{reading.agree} agree, {reading.differ} differ, {reading.unchecked} not checkable."
    )
    unread = sum(finding.kind is FindingKind.UNREAD for finding in reading.findings)
    if unread:
        yield f"{_count(unread, 'line')} could not be read and {'was' if unread == 1 else 'were'} skipped."
    if reading.outcome:
        yield reading.outcome.reason
    differing = sum(finding.kind is FindingKind.DIFFERS for finding in reading.findings)
    yield f"Log and rules differ in {_count(differing, 'point')}." if differing else "Log and rules agree."


def _position(ledger: Ledger) -> Iterator[str]:
    """Where the cards are at the end, as far as they are known."""
    yield "Lane  deck  discard  defender stack / attacker stack"
    for lane in LANES:
        defender, attacker = ledger.cards(f"d{lane}"), ledger.cards(f"a{lane}")
        stacks = (
            f"{' '.join(defender) or '-'}{' (face up)' if ledger.is_up[lane] else ''} / {' '.join(attacker) or '-'}"
        )
        yield f"{lane:>4}  {len(ledger.cards(f'l{lane}')):>4}  {len(ledger.cards(f'x{lane}')):>7}  {stacks}"
    yield f"Attacker deck {len(ledger.cards('la'))}, attacker discard {len(ledger.cards('xa'))}"
    for name in sorted(ledger.piles):
        if name.startswith("h"):
            yield f"Hand of {name[1:]}: {' '.join(ledger.cards(name)) or '-'}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def log_lines(played: GameFile, is_open: bool) -> Iterator[str]:
    """A finished full game as a log; raises `Malformed` for other games and where file and rules disagree."""
    if played.game != Binmat.name or played.options.get("way", "full") != "full":
        raise Malformed(say("Only a full game of BINMAT can be written as a log: the program knows its cards"))
    first, plays = None, []
    for before, turn, step in play_again(played):
        first = first or before
        ((seat, order),) = turn.orders.items()
        plays.append((seat, order.action, step))
    if first:
        yield from log_of(first, plays, is_open)
