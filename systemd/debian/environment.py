"""Fills Debian's package: the program and what it needs of Python, for another machine than this
one.

    WHEEL=program.whl UV=uv environment.py PACKAGE ARCHITECTURE

`/usr/lib/tabletop-companion` becomes a virtual environment for each Python in `PYTHONS`, with the
distribution's own packages behind it (camera and pins come from there):

    bin/python3 -> /usr/bin/python3       whichever of them that is
    lib/python3/site-packages             what is the same for all of them, the program too
    lib/python3.11/site-packages …        what is compiled, or of another version
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PYTHONS = ("3.11", "3.13")
"""Of Bookworm and of Trixie; debian/control has them, too."""
HOME = Path("usr/lib/tabletop-companion")
PLATFORMS = {"amd64": "x86_64-manylinux_2_36", "arm64": "aarch64-manylinux_2_36"}
"""By Debian's name of the architecture: what uv calls it, with Bookworm's C library."""
LOCK = Path("companion/requirements.lock")
BUILD_LOCK = Path("companion/build.lock")
IDLE = ("*.a", "*.c", "*.cpp", "*.h", "*.pxd", "*.pxi", "*.pyi", "*.pyx", "tests", "__pycache__")
"""Of no use to a program that runs."""
ENABLED = (
    "companion.service",
    "companion-lamp.service",
    "companion-poweroff.path",
    "companion-wifi.path",
)


def main(package: Path, architecture: str) -> None:
    """Lay out everything that apt installs."""
    home = package / HOME
    every = site_packages(home, "")
    for python in PYTHONS:
        fetch(site_packages(home, python), python, PLATFORMS[architecture])
    share(home)
    install(every, "--no-index", "--no-deps", os.environ["WHEEL"])
    shutil.move(every / "share", home / "share")
    for folder in (every, *(site_packages(home, python) for python in PYTHONS)):
        tidy(folder)
    environment(home)
    system(package, home / "share/tabletop-companion/systemd")


def site_packages(home: Path, python: str) -> Path:
    """Return where packages lie. With `python` empty those for all."""
    return home / f"lib/python{python or 3}/site-packages"


def fetch(folder: Path, python: str, platform: str) -> None:
    """Install what the lock names for this Python and this machine, each checked against its
    hash.
    """
    where = ("--python-version", python, "--python-platform", platform)
    build_options = ("--build-constraints", str(BUILD_LOCK))  # for what is there as sources alone
    install(
        folder,
        *where,
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        *build_options,
        "-r",
        str(LOCK),
    )


def install(folder: Path, *what: str) -> None:
    """Unpack into a folder, with uv."""
    command = [
        os.environ["UV"],
        "pip",
        "install",
        "--quiet",
        "--no-config",
        "--no-cache",
        "--link-mode",
        "copy",
    ]
    subprocess.run([*command, "--target", str(folder), *what], check=True)


def share(home: Path) -> None:
    """Keep once what is pure Python and the same everywhere."""
    first, *others = (site_packages(home, python) for python in PYTHONS)
    every = site_packages(home, "")
    every.mkdir(parents=True)
    for notes in sorted(first.glob("*.dist-info")):
        is_pure = re.search(r"^Tag: \S+-none-any$", (notes / "WHEEL").read_text(), re.MULTILINE)
        if not is_pure or not all((other / notes.name).exists() for other in others):
            continue
        names = sorted(top_names(notes))
        for name in names:
            shutil.move(first / name, every / name)
            for other in others:
                remove(other / name)


def top_names(notes: Path) -> Iterator[str]:
    """Yield what a package has laid into the folder itself."""
    lines = (notes / "RECORD").read_text(encoding="utf-8").splitlines()
    names = {line.split("/")[0].split(",")[0] for line in lines}
    yield from (
        name for name in names if name not in ("..", "bin") and (notes.parent / name).exists()
    )


def remove(path: Path) -> None:
    """Remove a file, or a folder with all in it."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def tidy(folder: Path) -> None:
    """Take away commands of other packages and what only serves to compile or to test."""
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for name in (".lock", ".gitignore"):
        (folder / name).unlink(missing_ok=True)
    for pattern in IDLE:
        for path in sorted(folder.rglob(pattern)):
            if path.exists():
                remove(path)


def environment(home: Path) -> None:
    """Make the folder a virtual environment that has the program's command."""
    binary = home / "bin"
    binary.mkdir()
    (binary / "python3").symlink_to("/usr/bin/python3")
    (home / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = true\n")
    for python in PYTHONS:
        (site_packages(home, python) / "shared.pth").write_text("../../python3/site-packages\n")
    command = (
        f"#!/{HOME}/bin/python3\nimport sys\n\nfrom companion.cli import main\n\nsys.exit(main())\n"
    )
    (binary / "companion").write_text(command)
    (binary / "companion").chmod(0o755)


def system(package: Path, files: Path) -> None:
    """Lay down units, user, rules and the command of the system."""
    for unit in sorted([*files.glob("companion*.service"), *files.glob("companion*.path")]):
        lay(unit, package / "lib/systemd/system" / unit.name)
    lay(files / "companion.sysusers", package / "usr/lib/sysusers.d/tabletop-companion.conf")
    lay(
        files / "60-tabletop-companion.rules",
        package / "lib/udev/rules.d/60-tabletop-companion.rules",
    )
    lay(files / "companion", package / "usr/bin/companion", 0o755)
    for script in (files / "companion", files / "configure.sh"):
        script.chmod(0o755)


def lay(source: Path, target: Path, mode: int = 0o644) -> None:
    """Put a file of the tree in its place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
