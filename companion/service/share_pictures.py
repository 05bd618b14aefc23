"""The share pictures of a game and of its turns: which scenes are drawn, and for how long each is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from companion.archive.played_games import PictureKind, ReplayStep
from companion.archive.retelling import Retelling
from companion.printing.moving_pictures import Leaf, share_gif, share_webp

MOST_FRAMES = 120
_SHOWN_MS, _FASTEST_MS, _SLOWEST_MS, _LAST_MS = 45_000, 300, 900, 4_000
_TURN_MS = 1_200
"""How long all scenes together last, each at least and at most, and the last one."""


def share_picture(told: Retelling, kind: PictureKind, turn: int, photograph: Callable[[str], bytes | None]) -> bytes:
    """A game: the start, every step or in a long game every turn or some of them, and the end; or one of its turns.

    `turn` counts from 1, 0 is the whole game. A WebP has the photographs beside the board, asked for by their moments.
    """
    places = list(range(told.turns[turn - 1].first - 1, told.turns[turn - 1].last + 1)) if turn else _places(told)
    scenes = [told.scene(place) for place in places]
    names = {seat: sitters[-1].name for seat, sitters in told.line.players.items() if sitters}
    leaves = [_leaf(told, scene) for scene in scenes]
    if kind is PictureKind.WEBP:
        shots = [photograph(moment) if (moment := _seen_by(told, scene)) else None for scene in scenes]
        leaves = [replace(leaf, photograph=shot or b"") for leaf, shot in zip(leaves, shots, strict=True)]
    if places[-1] == told.places - 1:
        leaves[-1] = replace(leaves[-1], winners=frozenset(told.line.winners))
    frame_ms = _TURN_MS if turn else max(_FASTEST_MS, min(_SLOWEST_MS, _SHOWN_MS // len(scenes)))
    draw = share_webp if kind is PictureKind.WEBP else share_gif
    return draw(told.kit, names, leaves, frame_ms, _LAST_MS)


def _seen_by(told: Retelling, scene: ReplayStep) -> str:
    """The moment of the photograph that shows a scene: of the end of its turn; empty: there is none."""
    is_done = not scene.turn or told.turns[scene.turn - 1].last == scene.place
    return told.photograph(scene.turn) if is_done else ""


def _places(told: Retelling) -> list[int]:
    """The scenes to be drawn, the first and the last among them."""
    places = list(range(told.places))
    if len(places) > MOST_FRAMES:
        places = [0, *(turn.last for turn in told.turns)]
    stride = -(-len(places) // MOST_FRAMES)
    kept = places[::stride]
    return kept if kept[-1] == places[-1] else [*kept, places[-1]]


def _leaf(told: Retelling, scene: ReplayStep) -> Leaf:
    return Leaf(
        caption=f"{scene.turn}/{len(told.turns)}",
        layout=scene.layout,
        came_from=frozenset(origin for origin, _ in scene.moves),
        badges=scene.badges,
        lanes=scene.lanes,
        figure=str(scene.count[0]) if scene.count else "",
    )
