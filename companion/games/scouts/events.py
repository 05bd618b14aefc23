"""What happens in Scouts alone."""

from companion.games.events import EventKind


class ScoutsEvent(EventKind):
    """The kinds of plays, and what follows from them."""

    BEGUN = "begun"
    DASH = "dash"
    JUMP = "jump"
    BOULDER = "boulder"
    ROCK = "rock"
    INTEL = "intel"
    ENDED = "ended"
