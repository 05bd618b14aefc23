"""What is said of a row of order tiles that cannot be read."""

from __future__ import annotations

from companion.core.i18n import say
from companion.core.kit import RowFault, RowSeen, Side


def fault_words(row: RowSeen, side: Side) -> str:
    """What whoever has a row has to do about it, in at most 40 characters; nothing of what lies there."""
    name, place = side.name, row.place
    match row.fault:
        case RowFault.NO_BOARD:
            return say("Camera does not see the board")
        case RowFault.NO_STRIP:
            return say("{side!c}: show the camera your strip", side=name)
        case RowFault.TWO_STRIPS:
            return say("{side!c}: put the second wall away", side=name)
        case RowFault.MISSING:
            return say("{side!c}: tile {place} is missing or covered", side=name, place=place)
        case RowFault.ASKEW:
            return say("{side!c}: straighten tile {place}", side=name, place=place)
        case RowFault.DOUBLED:
            return say("{side!c}: two tiles lie in place {place}", side=name, place=place)
        case RowFault.FOREIGN:
            return say("{side!c}: tile {place} is not yours", side=name, place=place)
        case None:
            return ""


def fault_advice(row: RowSeen) -> str:
    """Why, and what comes next."""
    if row.fault is RowFault.NO_BOARD:
        return say("Show it the board, or give your orders on a phone or a pad.")
    if row.fault is RowFault.NO_STRIP:
        return say("It finds your tiles by the markers at your edge. Then press ready again.")
    return say("Then press ready again.")
