"""What happens in Outbuffered alone."""

from companion.core.event_cues import EventCue
from companion.games.events import EventKind, Look


class OutbufferedEvent(EventKind):
    """What becomes of flags and of robots that are hit."""

    FLAG_TAKEN = "flag_taken", Look(), EventCue("flag_taken", "E5 120 ·40 A5 40 ·40 E6 40")
    FLAG_DROPPED = "flag_dropped"
    SENT_BACK = "sent_back"
