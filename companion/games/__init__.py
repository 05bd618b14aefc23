"""The games, by name. A new game is a folder here and a line in `GAMES`.

A game is rules and nothing else: no page, no camera, no pin. `base` is its contract, `Game`. It
explains how the table plays a game, and what a game must and may have. The modules beside it are
what games declare and return:

- `events`: what happens in a turn, and how each kind of event looks and sounds.
- `screen`, `pads`: what pages show of a game, and how an action is tapped or keyed.
- `lesson`, `aids`, `tools`: a guided first game, printed player aids, commands of a game.

Others are functions of any game for the rest of the program: `action_words` and `help` put actions
into words, `turn_log` records a turn, `engine` serves the rules as JSON lines, and `plugins` finds
games of other packages, which it adds to `GAMES` at the start.

The table calls a game in phases. `setup` makes the first state. While `to_act` names seats, these
seats hand in actions. `apply` reveals and carries them out in stages, which players follow on the
board. `outcome` says how it ended. States are values, so nothing here has a lock or a thread.
"""

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
    """Return the distinct cues of the events of all games, those of `CommonEvent` first."""
    kinds = [*CommonEvent, *(kind for game in GAMES.values() for kind in game.events)]
    return tuple(dict.fromkeys(kind.cue for kind in kinds if kind.cue))
