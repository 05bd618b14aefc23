"""Test that no native code behind the board reader writes outside its memory.

A second process reads a picture of every game under glibc's checking allocator. Each block of
memory then has a guard that is checked when the block is freed, and freed memory is overwritten, so
that a later use of it shows. Since glibc 2.34 `MALLOC_CHECK_` does nothing unless
`libc_malloc_debug.so.0` is preloaded.
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

DEBUG_LIBRARY = "libc_malloc_debug.so.0"
# 3: report a broken block and abort. 85: overwrite freed memory with this byte.
DEBUG_ENVIRONMENT = {"LD_PRELOAD": DEBUG_LIBRARY, "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "85"}

# Reads the picture of each game four times, and prints whether its board was recognised and a
# settled frame was kept. Its argument is the folder with the pictures.
READER_PROGRAM = """
import sys
import numpy as np
from companion.games import GAMES
from companion.core.ports import Frame
from vision.diagnosis import BoardEye
from vision.reading.board_reader import make_board_reader

for name, game in GAMES.items():
    kit = game.kit(game.options({}))
    reader = make_board_reader({name: kit})
    reader.use(kit)
    eye = BoardEye(reader)
    picture = np.load(f"{sys.argv[1]}/{name}.npy")
    # The last frame has an odd size, and its rows are not contiguous in memory.
    for number, cut_px in enumerate((0, 0, 0, 7), start=1):
        luma = picture.copy()[cut_px:, : picture.shape[1] - 3 * cut_px]
        reading = reader.read(Frame(luma, number / 10, number))
        eye.record(Frame(luma, number / 10, number), reading)
        eye.picture(), eye.board(), eye.advice_without_board(), eye.photograph()
    print(name, reading.game, len(eye.settled_frames()) > 0)
"""


@pytest.fixture(autouse=True)
def skip_without_debug_library() -> None:
    try:
        ctypes.CDLL(DEBUG_LIBRARY)
    except OSError:
        pytest.skip(f"the C library has no {DEBUG_LIBRARY}")


@pytest.mark.slow
def test_reading_boards_does_not_corrupt_the_heap(tmp_path: Path) -> None:
    # a picture of each game at its start, with one piece on the first square
    for name, game in GAMES.items():
        table = render_table(KITS[name])
        table.set_up(game.expected(game.setup(game.options({}), Random(1))) or {})
        table.move_to(table.pieces()[0].id, next(iter(KITS[name].board.squares)))
        np.save(tmp_path / name, table.render_luma())

    # the process is aborted when a guard is broken, so it has to end well
    process = subprocess.run(
        [sys.executable, "-c", READER_PROGRAM, str(tmp_path)],
        check=False,
        env={**os.environ, **DEBUG_ENVIRONMENT},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert process.returncode == 0, process.stdout + process.stderr[-2000:]
    # it has read what it should: each board was recognised, and a settled frame was kept
    assert process.stdout.splitlines() == [f"{name} {name} True" for name in GAMES]
