"""Kinds of events that only BINMAT has."""

from companion.core.event_cues import CueLamps, EventCue
from companion.core.i18n import say, say_n
from companion.games.events import EventKind, Highlight, Look

_COMBAT = EventCue(
    "combat",
    "E5 60 A5 60 E5 60 A5 60",
    for_both=True,
    lamps=CueLamps.ORDER_LAMPS,
    words=say("Combat"),
)
_COMBATS = Highlight("blade", lambda n: say_n("{n} combat", "{n} combats", n), 3)
_DAMAGES = Highlight("burst", lambda n: say_n("{n} breach", "{n} breaches", n), 4)


class BinmatEvent(EventKind):
    """Card actions, and the parts of a combat."""

    DRAW = "draw"
    RESHUFFLE = "reshuffle"
    PLAY_DOWN = "play_down"
    PLAY_UP = "play_up"
    DISCARD = "discard"
    PASS = "pass"
    HAND_LOST = "hand_lost"
    DONE = "done"
    COMBAT = "combat", Look(), _COMBAT, _COMBATS
    REVEAL = "reveal"
    TRAP = "trap"
    TRAP_IDLE = "trap_idle"
    SUM = "sum"
    REPELLED = "repelled"
    DAMAGE = "damage", Look(), None, _DAMAGES
    DUE = "due"
    KEPT = "kept"
    MOVED = "moved"
