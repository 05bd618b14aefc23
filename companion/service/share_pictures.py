"""The share picture of a game: which of its scenes are drawn, and for how long each is seen."""

from __future__ import annotations

from companion.archive.played_games import ReplayStep
from companion.archive.retelling import Retelling
from companion.printing.replay_gif import Leaf, share_gif

MOST_FRAMES = 120
_SHOWN_MS, _FASTEST_MS, _SLOWEST_MS, _LAST_MS = 45_000, 300, 900, 4_000
"""How long all scenes together last, each at least and at most, and the last one."""


def share_picture(told: Retelling) -> bytes:
    """A game as a GIF: the start, every step or in a long game every turn or some of them, and the end."""
    scenes = [told.scene(place) for place in _places(told)]
    names = {seat: sitters[-1].name for seat, sitters in told.line.players.items() if sitters}
    leaves = [_leaf(told, scene) for scene in scenes[:-1]]
    last = _leaf(told, scenes[-1], is_last=True)
    frame_ms = max(_FASTEST_MS, min(_SLOWEST_MS, _SHOWN_MS // len(scenes)))
    return share_gif(told.kit, names, [*leaves, last], frame_ms, _LAST_MS)


def _places(told: Retelling) -> list[int]:
    """The scenes to be drawn, the first and the last among them."""
    places = list(range(told.places))
    if len(places) > MOST_FRAMES:
        places = [0, *(turn.last for turn in told.turns)]
    stride = -(-len(places) // MOST_FRAMES)
    kept = places[::stride]
    return kept if kept[-1] == places[-1] else [*kept, places[-1]]


def _leaf(told: Retelling, scene: ReplayStep, is_last: bool = False) -> Leaf:
    return Leaf(
        caption=f"{scene.turn}/{len(told.turns)}",
        layout=scene.layout,
        came_from=frozenset(origin for origin, _ in scene.moves),
        badges=scene.badges,
        lanes=scene.lanes,
        figure=str(scene.count[0]) if scene.count else "",
        winners=frozenset(told.line.winners) if is_last else frozenset(),
    )
