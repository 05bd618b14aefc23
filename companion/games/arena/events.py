"""What happens in Robot Arena alone."""

from companion.games.events import EventKind, Look


class ArenaEvent(EventKind):
    """What becomes of robots."""

    DEFEND = "defend", Look(around="shield", size=1.12)
    ARMED = "armed", Look(around="burst", size=1.24, is_harm=True)
    SPAWN = "spawn"
    NO_SPAWN = "no_spawn"
    LEAVE = "leave"
