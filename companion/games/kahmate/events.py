"""Event kinds of Kahmate."""

from companion.core.event_cues import CueLamps, EventCue
from companion.core.i18n import say, say_n
from companion.games.events import EventKind, Highlight, Look

_FACE_OFF = EventCue(
    "face_off", "A5 80 ·80 A5 80 ·80 E6 160", for_both=True, is_call=True, words=say("A face-off")
)
_AGAIN = EventCue(
    "face_off_again", "A5 80 ·80 A5 80", for_both=True, is_call=True, lamps=CueLamps.TURN_FLASHES
)

_FACE_OFFS = Highlight("blade", lambda n: say_n("{n} face-off", "{n} face-offs", n), 3)
_TACKLES = Highlight("shot", lambda n: say_n("{n} tackle", "{n} tackles", n), 2)
_KICKS = Highlight("ball", lambda n: say_n("{n} kick", "{n} kicks", n))


class KahmateEvent(EventKind):
    """Events of pieces and ball, face-offs and rounds."""

    BEGINS = "begins"
    RUN = "run"
    PASS = "pass"
    KICK = "kick", Look(), None, _KICKS
    TACKLE = "tackle", Look(swells=True), None, _TACKLES
    BALL = "ball"
    FACE_OFF = "face_off", Look(swells=True), _FACE_OFF, _FACE_OFFS
    FACE_OFF_AGAIN = "face_off_again", Look(), _AGAIN
    STOPPED = "stopped"
    TURNED_OVER = "turned_over", Look(swells=True)
    STANDS_UP = "stands_up", Look(swells=True)
    REFILLED = "refilled"
    ROUND_END = "round_end", Look(is_told=False)
