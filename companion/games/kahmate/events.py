"""What happens in Kahmate alone."""

from companion.core.event_cues import CueLamps, EventCue
from companion.core.i18n import say
from companion.games.events import EventKind, Look

_FACE_OFF = EventCue("face_off", "A5 80 ·80 A5 80 ·80 E6 160", for_both=True, is_call=True, words=say("A face-off"))
_AGAIN = EventCue("face_off_again", "A5 80 ·80 A5 80", for_both=True, is_call=True, lamps=CueLamps.TURN_FLASHES)


class KahmateEvent(EventKind):
    """What pieces and ball do, face-offs, and the rounds."""

    BEGINS = "begins"
    RUN = "run"
    PASS = "pass"
    KICK = "kick"
    TACKLE = "tackle"
    BALL = "ball"
    FACE_OFF = "face_off", Look(), _FACE_OFF
    FACE_OFF_AGAIN = "face_off_again", Look(), _AGAIN
    STOPPED = "stopped"
    TURNED_OVER = "turned_over"
    STANDS_UP = "stands_up"
    REFILLED = "refilled"
    ROUND_END = "round_end"
