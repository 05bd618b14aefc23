"""Event kinds of Outbuffered."""

from companion.core.event_cues import EventCue
from companion.core.i18n import say_n
from companion.games.events import EventKind, Highlight, Look

_TAKEN = EventCue("flag_taken", "E5 120 ·40 A5 40 ·40 E6 40")
_FLAGS = Highlight("flag-s", lambda n: say_n("{n} flag taken", "{n} flags taken", n), 3)


class OutbufferedEvent(EventKind):
    """Events of flags and of robots that are hit."""

    FLAG_TAKEN = "flag_taken", Look(swells=True), _TAKEN, _FLAGS
    FLAG_DROPPED = "flag_dropped"
    SENT_BACK = "sent_back"
