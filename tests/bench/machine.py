"""What the service asks of the machine: the time of its start, its memory, and its work while nobody does anything.

It runs as a process of its own in simulation: the rendered table takes the place of the board, every frame is read as
from a real camera. Its memory is taken in play: a game is on, and pictures of 1080p show the board change so often that
all settled frames are kept.
"""

from __future__ import annotations

import contextlib
import json
import re
import statistics
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from bench.bars import CAMERA_S, FIRST_PAGE_S, IDLE_SHARE, MEMORY_MB
from bench.crowd import Crowd
from bench.processes import LOCAL, running_service
from companion.core.kit import SEATS
from companion.games import GAMES
from companion.tools.selfplay.people import Phone, Stuck

STARTS = 5
MEMORY_VIEWERS = 10
IDLE_VIEWERS, IDLE_FPS = 3, 10
SETTINGS = f"{LOCAL}[camera]\nfps = {IDLE_FPS}\n"
SETTLE_S, IDLE_S = 8.0, 20.0
BOARDS, PICTURES_EACH, TURNS = 30, 6, 5
"""So many boards are shown for so many pictures each while so many turns are played: more than are kept."""
CONFIRM_S = 0.5
"""Between two attempts to confirm a stage."""


@dataclass(frozen=True)
class StartTime:
    """Seconds from the command until the first page and until the camera's first reading, and processor time till then."""

    page_s: float
    camera_s: float
    cpu_s: float


def measure_start(folder: Path) -> StartTime:
    """One start of the service, to the first page and to the first board that its camera has read."""
    with running_service(folder, SETTINGS, "--simulate") as process:
        page_s = process.until("/", b"</html>")
        cpu_s = process.cpu_s()
        return StartTime(
            page_s,
            process.until("/api/view", rb'"camera":\s*\{"state":\s*"(sees|no)_board"'),
            cpu_s,
        )


def film(folder: Path) -> None:
    """Pictures of 1080p, each several times, of a board on which a piece goes to and fro."""
    import cv2  # noqa: PLC0415 - heavy

    from companion.printing.printed_kit import printed_table  # noqa: PLC0415
    from vision.simulation.view import default_view  # noqa: PLC0415

    game = next(iter(GAMES.values()))
    options = game.options({})
    kit = game.kit(options)
    table = printed_table(kit, replace(default_view(kit), width=1920, height=1080))
    table.set_up(game.expected(game.setup(options, Random(0))) or {})
    piece, free = (
        table.pieces()[-1],
        [square for square in kit.board.squares if 0 < square.rank < kit.board.ranks - 1],
    )
    folder.mkdir()
    for board in range(BOARDS):
        table.move_to(piece.id, free[board % len(free)])
        first = folder / f"{board:03}-0.png"
        cv2.imwrite(str(first), table.render_luma())
        for number in range(1, PICTURES_EACH):
            (folder / f"{board:03}-{number}.png").hardlink_to(first)


def measure_memory(folder: Path) -> tuple[float, int]:
    """Memory in MB in play, with viewers and a camera at 1080p, and how many settled frames are kept then."""
    film(folder / "film")
    film_at = json.dumps(str(folder / "film"))
    with running_service(folder, f"{SETTINGS}source = {film_at}\n") as process:
        process.until("/", b"</html>")
        many = Crowd(process.port, MEMORY_VIEWERS)
        many.settle()
        _play([Phone(f"http://127.0.0.1:{process.port}", seat) for seat in SEATS])
        time.sleep(BOARDS * PICTURES_EACH / IDLE_FPS)
        memory_mb = process.memory_mb()
        many.close()
        return memory_mb, len(
            set(
                re.findall(
                    rb"/camera/settled/(\d+)", process.line("/live/health", b"/camera/settled")
                )
            )
        )


def _play(phones: list[Phone]) -> None:
    """Some turns of sealed orders, whatever the camera sees meanwhile."""
    for phone in phones:
        phone.post("take", {"name": "Bench"})
    phones[0].post("start", {"game": next(iter(GAMES))})
    turns = 0
    while turns < TURNS:
        view = phones[0].get("view")
        place = {"moment": view["moment"], "stage": view["stage"], "force": True}
        if view["phase"] in ("setup", "stages"):
            with contextlib.suppress(Stuck):  # the camera is still given its five seconds
                phones[0].post("confirm", place)
            time.sleep(CONFIRM_S)
            continue
        turns += 1
        for phone, action in zip(phones, ("UUI", "III"), strict=True):
            phone.post(
                "hand-in", {"moment": view["moment"], "action": action, "salt": f"{turns:032x}"}
            )


def measure_idle(folder: Path) -> float:
    """The share of one core while the board lies still with a few viewers."""
    with running_service(folder, SETTINGS, "--simulate") as process:
        process.until("/", b"</html>")
        few = Crowd(process.port, IDLE_VIEWERS)
        few.settle()
        time.sleep(SETTLE_S)
        before_s, began_s = process.cpu_s(), time.monotonic()
        time.sleep(IDLE_S)
        share = (process.cpu_s() - before_s) / (time.monotonic() - began_s)
        few.close()
        return share


def bench_machine() -> bool:
    """Measure and print it all; answers whether every bound is kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = measure_start(folder)  # compiles everything; an installation has that done
        starts = [measure_start(folder) for _ in range(STARTS)]
        (folder / "play").mkdir()
        memory_mb, settled = measure_memory(folder / "play")
        share = measure_idle(folder)
    page_s = statistics.median(start.page_s for start in starts)
    camera_s = statistics.median(start.camera_s for start in starts)
    cpu_s = statistics.median(start.cpu_s for start in starts)
    kept = (
        page_s <= FIRST_PAGE_S.most,
        camera_s <= CAMERA_S.most,
        memory_mb <= MEMORY_MB.most,
        share <= IDLE_SHARE.most,
    )
    lines = (
        f"start -> first page: {page_s:.2f} s (at most {FIRST_PAGE_S.most}), {cpu_s:.2f} s of processor time",
        f"start -> the camera has read the board: {camera_s:.2f} s (at most {CAMERA_S.most:.0f}); "
        f"the very first start, which compiles everything: {first.camera_s:.2f} s",
        f"memory in play with a camera at 1080p, {settled} settled frames and {MEMORY_VIEWERS} viewers: "
        f"{memory_mb:.0f} MB (at most {MEMORY_MB.most:.0f})",
        f"idle, {IDLE_VIEWERS} viewers, {IDLE_FPS} pictures a second: {share:.1%} of one core (at most "
        f"{IDLE_SHARE.most:.0%})",
    )
    for line, is_kept in zip(lines, kept, strict=True):
        print(f"{line}  {'ok' if is_kept else 'NOT GOOD ENOUGH'}", flush=True)
    return all(kept)
