"""Helpers: compute the chance of a game again, with code that shares nothing with the program.

The table and both players each give a part of a game's seed, so that nobody can choose it. Before
the game the table publishes a commitment to its part, which is checked here.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any

from internals import session_of
from table_tools import follow_instructions
from web_fixtures import WebRig

from companion.games.binmat.cards import DECK


def recompute(opened: dict[str, Any]) -> tuple[str, str]:
    """Return the commitment and the seed in hexadecimal digits, from a game's opened chance.

    `opened` has the secret and both contributions. The computation is the one by which players can
    check a game (docs/security.md, "Fair chance").
    """
    commitment = hashlib.sha256(bytes.fromhex(opened["secret"])).hexdigest()
    by_seat = opened["contributions"]
    seed_text = (
        f"{commitment} {opened['secret']} {by_seat.get('south', '-')} {by_seat.get('north', '-')}"
    )
    return commitment, hashlib.sha256(seed_text.encode()).hexdigest()


def deal(seed: str) -> list[str]:
    """Return the 78 cards of BINMAT as a seed in hexadecimal digits shuffles them."""
    cards = list(DECK)
    random.Random(f"{int(seed, 16)}/0").shuffle(cards)
    return cards


def next_commitment(rig: WebRig) -> str:
    """Return the commitment to the chance of the next game, or an empty text during a game."""
    return str(rig.browser().get("/api/view").get_json()["next_commitment"])


def play_first_actions(rig: WebRig) -> None:
    """Hand in a legal action for each seat that is due, and confirm what hands have to do then.

    In a new game of Kahmate, both sides place their pieces. In BINMAT, one side takes its turn.
    """
    moment = rig.table.view().moment
    session = session_of(rig.table)
    for seat in sorted(session.awaited_seats):
        action = next(iter(session.require_game().legal_actions(session.state, seat)))
        rig.table.hand_in(seat, moment, session.require_game().format(action))
    follow_instructions(rig.table)
