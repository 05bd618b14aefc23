"""No native call of the reader breaks the heap: everything runs once under glibc's checking
allocator.

Since glibc 2.34 `MALLOC_CHECK_` does nothing unless `libc_malloc_debug.so.0` is preloaded. With it
every block has a guard that is looked at when it is freed, and freed memory is overwritten, so that
using it afterwards shows.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from reading_tools import KITS, render_table

from companion.games import GAMES

DEBUGGER = "libc_malloc_debug.so.0"
CHECKED = {"LD_PRELOAD": DEBUGGER, "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "85"}

READS = """
import sys
import numpy as np
from companion.games import GAMES
from companion.core.ports import Frame
from vision.diagnosis import BoardEye
from vision.reading.board_reader import board_reader

for name, game in GAMES.items():
    kit = game.kit(game.options({}))
    reader = board_reader({name: kit})
    reader.use(kit)
    eye = BoardEye(reader)
    seen = np.load(f"{sys.argv[1]}/{name}.npy")
    # the last one has an odd shape, and is no array of its own
    for number, cut in enumerate((0, 0, 0, 7), start=1):
        luma = seen.copy()[cut:, : seen.shape[1] - 3 * cut]
        reading = reader.read(Frame(luma, number / 10, number))
        eye.record(Frame(luma, number / 10, number), reading)
        eye.picture(), eye.board(), eye.advice_without_board(), eye.photograph()
    print(name, reading.game, len(eye.settled_frames()) > 0)
"""


@pytest.fixture(autouse=True)
def allocator() -> None:
    try:
        ctypes.CDLL(DEBUGGER)
    except OSError:
        pytest.skip(f"the C library has no {DEBUGGER}")


@pytest.mark.slow
def test_reading_boards_keeps_the_heap_whole(tmp_path: Path) -> None:
    for name, game in GAMES.items():
        table = render_table(KITS[name])
        table.set_up(game.expected(game.setup(game.options({}), Random(1))) or {})
        table.move_to(table.pieces()[0].id, next(iter(KITS[name].board.squares)))
        np.save(tmp_path / name, table.render_luma())
    done = subprocess.run(
        [sys.executable, "-c", READS, str(tmp_path)],
        check=False,
        env={**os.environ, **CHECKED},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.splitlines() == [f"{name} {name} True" for name in GAMES], (
        "all of them are read"
    )
