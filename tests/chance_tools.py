"""The chance of a game, computed again by code that shares nothing with the program."""

from __future__ import annotations

import hashlib
import random
from typing import Any

from internals import session_of
from table_tools import follow_instructions
from web_fixtures import WebRig

from companion.games.binmat.cards import DECK

SOUTH_CONTRIBUTION, NORTH_CONTRIBUTION = "5e" * 32, "a0" * 32


def recompute(opened: dict[str, Any]) -> tuple[str, str]:
    """Return the commitment and the seed of what was opened, in hexadecimal digits.

    They are computed as docs/security.md tells players to check them.
    """
    commitment = hashlib.sha256(bytes.fromhex(opened["secret"])).hexdigest()
    by_seat = opened["contributions"]
    text = (
        f"{commitment} {opened['secret']} {by_seat.get('south', '-')} {by_seat.get('north', '-')}"
    )
    return commitment, hashlib.sha256(text.encode()).hexdigest()


def deal(seed: str) -> list[str]:
    """Return the 78 cards of BINMAT as a seed, in hexadecimal digits, shuffles them."""
    cards = list(DECK)
    random.Random(f"{int(seed, 16)}/0").shuffle(cards)
    return cards


def next_commitment(rig: WebRig) -> str:
    """Return the commitment to the chance of the next game. Empty while a game is on."""
    return str(rig.browser().get("/api/view").get_json()["next_commitment"])


def place_pieces(rig: WebRig, most: int = 1) -> None:
    """WebRig the pieces of both sides of Kahmate, and put what is drawn on the board."""
    for _ in range(most):
        moment = rig.table.view().moment
        session = session_of(rig.table)
        for seat in sorted(session.awaited_seats):
            play = next(iter(session.require_game().legal_actions(session.state, seat)))
            rig.table.hand_in(seat, moment, session.require_game().format(play))
        follow_instructions(rig.table)
