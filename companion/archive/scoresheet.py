"""Format a finished game as text for people: tags as in chess's PGN, then turns and receipts.

    [Game "outbuffered"]
    [Options {}]
    [Seed 7]
    [Begun "2026-11-21T20:15:00Z"]
    [South "Ann"]
    [North "Bob"]
    [Result "south"]
    [Reason "Purple wins: the lime flag is home."]

    1. south UUR | north DDL
    2. south IIS | north SSS

    [Receipts]
    1. 3.1 | south 0f3a… 6b5e… | north 77c1… 09ad…
    2. 3.2 | south …

The value of a tag is JSON. Four more tags come before the result if they are not empty: `Chance`
(the origin of the seed), `Chosen` (`true` if the owner chose the seed), `Machines` (the seats that
a program played) and `Coached` (the seats that asked the coach). A result is `"south"`, `"north"`,
`"tie"`, or `"*"` for a game without one.

A line of receipts has the moment, then the salt and the receipt of each seat: the SHA-256 of
`MOMENT SEAT ACTION SALT`. An empty salt is written as `-`. `Begun` and names are left out if they
are not known, and `Reason` if there is no result.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from companion.archive.game_file import GameFile
from companion.core.kit import SEATS

# Tags that are left out when they are empty, with their fields of the game file.
_OPTIONAL_TAGS = {
    "Chance": "chance", "Chosen": "is_chosen", "Machines": "machines", "Coached": "coached",
}  # fmt: skip


def format_score_sheet(game: GameFile) -> str:
    """Return a finished game as text, in the format above."""
    fields = msgspec.to_builtins(game)
    tags = {"Game": game.game, "Options": game.options, "Seed": game.seed}
    if game.begun:
        begun = datetime.fromtimestamp(game.begun, UTC)
        tags["Begun"] = begun.strftime("%Y-%m-%dT%H:%M:%SZ")
    tags |= {seat.title(): game.players[seat] for seat in SEATS if seat in game.players}
    tags |= {tag: fields[field] for tag, field in _OPTIONAL_TAGS.items() if fields[field]}
    tags["Result"] = "*"
    if game.outcome is not None:
        tags["Result"] = " ".join(game.outcome["winners"]) or "tie"
        tags["Reason"] = game.outcome["reason"]
    tag_lines = [
        f"[{tag} {msgspec.json.encode(value, order='sorted').decode()}]"
        for tag, value in tags.items()
    ]
    turn_lines = []
    receipt_lines = []
    for number, turn in enumerate(game.turns, start=1):
        sealed_actions = [(seat, turn.actions[seat]) for seat in SEATS if seat in turn.actions]
        actions = [f"{seat} {sealed.action}" for seat, sealed in sealed_actions]
        receipts = [
            f"{seat} {sealed.salt or '-'} {sealed.receipt}" for seat, sealed in sealed_actions
        ]
        turn_lines.append(f"{number}. {' | '.join(actions)}")
        receipt_lines.append(f"{number}. {' | '.join([turn.moment, *receipts])}")
    return "\n".join([*tag_lines, "", *turn_lines, "", "[Receipts]", *receipt_lines, ""])
