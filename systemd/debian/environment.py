"""Builds the content of Debian's package: the program and its Python dependencies, for any
architecture.

    WHEEL=program.whl UV=uv environment.py PACKAGE ARCHITECTURE

`/usr/lib/tabletop-companion` becomes a virtual environment for each Python in `PYTHONS`. It
includes the distribution's own packages (camera and pins come from there):

    bin/python3 -> /usr/bin/python3       whichever version that is
    lib/python3/site-packages             packages that are the same for all, and the program
    lib/python3.11/site-packages …        packages that are compiled or differ by version
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
"""Python versions of Bookworm and Trixie. Keep debian/control in step."""
HOME = Path("usr/lib/tabletop-companion")
PLATFORMS = {"amd64": "x86_64-manylinux_2_36", "arm64": "aarch64-manylinux_2_36"}
"""uv's platform with Bookworm's C library, by Debian's name of the architecture."""
LOCK = Path("companion/requirements.lock")
BUILD_LOCK = Path("companion/build.lock")
IDLE = ("*.a", "*.c", "*.cpp", "*.h", "*.pxd", "*.pxi", "*.pyi", "*.pyx", "tests", "__pycache__")
"""Files that are not needed at run time."""
ENABLED = (
    "companion.service",
    "companion-lamp.service",
    "companion-poweroff.path",
    "companion-wifi.path",
)


def main(package: Path, architecture: str) -> None:
    """Lay out all files that apt installs."""
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
    """Return the folder of packages for a Python version, or for all if `python` is empty."""
    return home / f"lib/python{python or 3}/site-packages"


def fetch(folder: Path, python: str, platform: str) -> None:
    """Install the packages of the lock file for this Python and platform. Hashes are checked."""
    where = ("--python-version", python, "--python-platform", platform)
    build_options = (
        "--build-constraints",
        str(BUILD_LOCK),
    )  # for packages that exist only as source
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
    """Install packages into a folder with uv."""
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
    """Move packages that are pure Python and the same for all versions into the common folder."""
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
    """Yield the top-level files and folders of a package."""
    lines = (notes / "RECORD").read_text(encoding="utf-8").splitlines()
    names = {line.split("/")[0].split(",")[0] for line in lines}
    yield from (
        name for name in names if name not in ("..", "bin") and (notes.parent / name).exists()
    )


def remove(path: Path) -> None:
    """Remove a file or a whole folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def tidy(folder: Path) -> None:
    """Remove other packages' commands, and files that are needed only to compile or to test."""
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for name in (".lock", ".gitignore"):
        (folder / name).unlink(missing_ok=True)
    for pattern in IDLE:
        for path in sorted(folder.rglob(pattern)):
            if path.exists():
                remove(path)


def environment(home: Path) -> None:
    """Turn the folder into a virtual environment with the program's command."""
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
    """Install units, the system user, udev rules and the system-wide command."""
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
    """Copy a file to its place in the package."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
