"""Lays out the files of Debian's package: the program with its Python dependencies, and the units.

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
from pathlib import Path

# Python versions of Bookworm and Trixie. Keep debian/control in step.
PYTHONS = ("3.11", "3.13")
# Folder of the program in the package.
PROGRAM_FOLDER = "usr/lib/tabletop-companion"
# uv's name of the platform with Bookworm's C library, by Debian's name of the architecture.
UV_PLATFORMS = {"amd64": "x86_64-manylinux_2_36", "arm64": "aarch64-manylinux_2_36"}
# Dependencies with their hashes, and what builds those that exist only as source.
LOCK = "companion/requirements.lock"
BUILD_LOCK = "companion/build.lock"
# Patterns of files and folders that are not needed at run time.
UNNEEDED_PATTERNS = (
    "*.a",
    "*.c",
    "*.cpp",
    "*.h",
    "*.pxd",
    "*.pxi",
    "*.pyi",
    "*.pyx",
    "tests",
    "__pycache__",
)


def main(package: Path, architecture: str) -> None:
    """Lay out all files that apt installs.

    :param package: folder that stands for `/` of the machine
    :param architecture: Debian's name of it, such as `arm64`
    """
    home = package / PROGRAM_FOLDER
    common = site_packages(home)
    for python in PYTHONS:
        install_dependencies(site_packages(home, python), python, UV_PLATFORMS[architecture])
    move_pure_packages(home)
    install_packages(common, "--no-index", "--no-deps", os.environ["WHEEL"])
    shutil.move(common / "share", home / "share")
    for folder in (common, *(site_packages(home, python) for python in PYTHONS)):
        remove_unneeded(folder)
    make_virtual_environment(home)
    install_system_files(package, home / "share/tabletop-companion/systemd")


def site_packages(home: Path, python: str = "3") -> Path:
    """Return the folder of packages for one version of Python, or of those for all versions."""
    return home / f"lib/python{python}/site-packages"


def install_dependencies(folder: Path, python: str, platform: str) -> None:
    """Install the packages of the lock file for this Python and platform. Hashes are checked."""
    target_options = ("--python-version", python, "--python-platform", platform)
    trust_options = ("--no-deps", "--require-hashes", "--only-binary", ":all:")
    # for packages that exist only as source
    build_options = ("--build-constraints", BUILD_LOCK)
    install_packages(folder, *target_options, *trust_options, *build_options, "-r", LOCK)


def install_packages(folder: Path, *arguments: str) -> None:
    """Install packages into a folder with `uv pip install`."""
    command = [os.environ["UV"], "pip", "install", "--quiet", "--no-config", "--no-cache"]
    command += ["--link-mode", "copy", "--target", str(folder)]
    subprocess.run([*command, *arguments], check=True)


def move_pure_packages(home: Path) -> None:
    """Move packages that are pure Python and the same for all versions into the common folder."""
    first, *others = (site_packages(home, python) for python in PYTHONS)
    common = site_packages(home)
    common.mkdir(parents=True)
    for metadata in sorted(first.glob("*.dist-info")):
        is_pure = re.search(r"^Tag: \S+-none-any$", (metadata / "WHEEL").read_text(), re.MULTILINE)
        # the name of the folder has the version of the package
        if not is_pure or not all((other / metadata.name).exists() for other in others):
            continue
        for name in top_level_names(metadata):
            shutil.move(first / name, common / name)
            for other in others:
                remove(other / name)


def top_level_names(metadata: Path) -> list[str]:
    """Return the top-level files and folders of an installed package.

    :param metadata: its `.dist-info` folder, which lists them in `RECORD`
    """
    lines = (metadata / "RECORD").read_text(encoding="utf-8").splitlines()
    names = {line.split("/")[0].split(",")[0] for line in lines} - {"..", "bin"}
    return sorted(name for name in names if (metadata.parent / name).exists())


def remove(path: Path) -> None:
    """Remove a file or a whole folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def remove_unneeded(folder: Path) -> None:
    """Remove the commands of dependencies, and files that are needed only to compile or to test."""
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for name in (".lock", ".gitignore"):
        (folder / name).unlink(missing_ok=True)
    for pattern in UNNEEDED_PATTERNS:
        for path in sorted(folder.rglob(pattern)):
            if path.exists():
                remove(path)


def make_virtual_environment(home: Path) -> None:
    """Turn a folder into a virtual environment with the program's command."""
    binary = home / "bin"
    binary.mkdir()
    (binary / "python3").symlink_to("/usr/bin/python3")
    (home / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = true\n")
    for python in PYTHONS:
        (site_packages(home, python) / "shared.pth").write_text("../../python3/site-packages\n")
    command = (
        f"#!/{PROGRAM_FOLDER}/bin/python3\n"
        "import sys\n\nfrom companion.cli import main\n\nsys.exit(main())\n"
    )
    (binary / "companion").write_text(command)
    (binary / "companion").chmod(0o755)


def install_system_files(package: Path, files: Path) -> None:
    """Install units, the system user, udev rules and the system-wide command.

    :param files: folder with the files of `systemd`
    """
    for unit in sorted([*files.glob("companion*.service"), *files.glob("companion*.path")]):
        copy_file(unit, package / "lib/systemd/system" / unit.name)
    copy_file(files / "companion.sysusers", package / "usr/lib/sysusers.d/tabletop-companion.conf")
    rules = "60-tabletop-companion.rules"
    copy_file(files / rules, package / "lib/udev/rules.d" / rules)
    copy_file(files / "companion", package / "usr/bin/companion", 0o755)
    for script in (files / "companion", files / "configure.sh"):
        script.chmod(0o755)


def copy_file(source: Path, target: Path, mode: int = 0o644) -> None:
    """Copy a file to its place in the package."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
