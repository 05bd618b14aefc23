"""Helpers: packages with games, installed in a folder, and processes that find them there.

Anybody may write a game for the program. It comes as a Python package, whose entry points name the
classes of its games. Tests install such packages without pip.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Name of the group of entry points by which games are found.
ENTRY_POINT_GROUP = "tabletop_companion.games"


def install_package(folder: Path, module: str, code: str, entry_points: dict[str, str]) -> None:
    """Install a package with one module in a folder, by the files that pip would write there.

    `code` is the text of the module. `entry_points` has the object of each game, such as
    `clash:Clash`, by the name of the game.
    """
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    info = folder / f"{module}_game-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {module}-game\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = "\n".join(f"{name} = {value}" for name, value in entry_points.items())
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\n{lines}\n", encoding="utf-8")


def run_python(
    folder: Path, *arguments: str, timeout_s: float = 150
) -> subprocess.CompletedProcess[str]:
    """Run Python in a process that finds the packages of a folder, and the helpers of the tests."""
    paths = (str(ROOT), str(folder), str(ROOT / "tests"))
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def run_companion(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program's command line in a process that finds the packages of a folder."""
    return run_python(folder, "-m", "companion", *arguments)


def run_code(folder: Path, code: str, *arguments: str) -> str:
    """Run code in a process that finds the packages of a folder, and return its output.

    The code finds the arguments in `sys.argv[1:]`.
    """
    result = run_python(folder, "-c", code, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout
