"""The games, by name. A new game is a folder here and a line in `GAMES`."""

from companion.core.errors import Malformed
from companion.core.event_cues import EventCue
from companion.core.i18n import Verbatim, say
from companion.games.arena import Arena
from companion.games.base import AnyGame
from companion.games.binmat import Binmat
from companion.games.events import CommonEvent
from companion.games.kahmate import Kahmate
from companion.games.outbuffered import Outbuffered
from companion.games.scouts import Scouts

GAMES: dict[str, AnyGame] = {
    game.name: game for game in (Outbuffered(), Scouts(), Arena(), Kahmate(), Binmat())
}


def game_named(name: str) -> AnyGame:
    """Return the game with this name. Raises `Malformed`, which lists the known names."""
    if name not in GAMES:
        text = say(
            "There is no game “{name}”: choose one of {games}",
            name=Verbatim(name),
            games=Verbatim(", ".join(GAMES)),
        )
        raise Malformed(text)
    return GAMES[name]


def event_cues() -> tuple[EventCue, ...]:
    """Return the distinct cues of the events of all games, the common ones first."""
    kinds = [*CommonEvent, *(kind for game in GAMES.values() for kind in game.events)]
    return tuple(dict.fromkeys(kind.cue for kind in kinds if kind.cue))
