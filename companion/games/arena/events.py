"""Kinds of events that only Robot Arena has."""

from companion.core.i18n import say_n
from companion.games.events import EventKind, Highlight, Look

_SPAWNS = Highlight("spawn-s", lambda n: say_n("{n} new robot", "{n} new robots", n))
_LOSSES = Highlight(
    "cross", lambda n: say_n("{n} robot lost", "{n} robots lost", n), 3, is_loss=True
)


class ArenaEvent(EventKind):
    """Events of single robots, and spawning that fails."""

    DEFEND = "defend", Look(around="shield", size=1.12)
    ARMED = "armed", Look(around="burst", size=1.24, is_harm=True)
    SPAWN = "spawn", Look(swells=True), None, _SPAWNS
    NO_SPAWN = "no_spawn"
    LEAVE = "leave", Look(swells=True), None, _LOSSES
