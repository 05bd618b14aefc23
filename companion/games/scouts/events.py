"""Event kinds of Scouts."""

from companion.core.i18n import say_n
from companion.games.events import EventKind, Highlight, Look

_INTEL = Highlight("eye", lambda n: say_n("{n} scout with intel", "{n} scouts with intel", n), 3)


class ScoutsEvent(EventKind):
    """The kinds of plays and their consequences."""

    BEGUN = "begun"
    DASH = "dash"
    JUMP = "jump"
    BOULDER = "boulder"
    ROCK = "rock"
    INTEL = "intel", Look(swells=True), None, _INTEL
    ENDED = "ended", Look(is_told=False)
