"""`make arm64`: run the tests of reading, rules and pages with Python and wheels for arm64.

A Raspberry Pi has a processor of that architecture. The tests run in a root folder with Debian for
arm64, where QEMU emulates each program (`qemu-user-static`, through the kernel's binfmt_misc). The
emulated processor is the cortex-a72 of a Raspberry Pi 4, because numpy and OpenCV compute wrongly
with QEMU's default. Emulated times mean nothing. The arguments go to pytest in place of `FOLDERS`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from appliance import build, debian_roots

SUITE = "bookworm"
PROCESSOR = "cortex-a72"
FOLDERS = ("tests/core", "tests/games", "tests/vision", "tests/web")
# Tests with these marks are left out.
MARKS = "not (browser or alone or appliance)"
# Libraries that the tests need besides those of an installation.
TOOLS = (
    "pytest", "pytest-timeout", "pytest-xdist", "hypothesis",
    "selenium", "chess", "babel", "colorama",
)  # fmt: skip
# Files and folders of the project that are copied into the root folder.
COPIED = (
    "companion", "hardware", "vision", "web", "tests", "systemd", "docs",
    "pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile",
)  # fmt: skip
# Folder of the fetched wheels in the root folder.
_WHEELS = "/opt/wheels"


def main(arguments: list[str]) -> int:
    """Build what is missing, run the tests, and return pytest's exit status."""
    try:
        root = debian_roots.plain_debian(SUITE, "arm64")
    except build.CannotBuild as reason:
        print(f"Not run: {reason}", file=sys.stderr)
        return 1
    with (
        tempfile.TemporaryDirectory() as folder,
        debian_roots.open_copy(root, Path(folder) / "root") as chroot,
    ):
        _fetch_wheels(chroot.root / _WHEELS.lstrip("/"), debian_roots.PYTHONS[SUITE])
        _add_paths(chroot.root, debian_roots.PYTHONS[SUITE])
        source = chroot.root / "src"
        source.mkdir()
        for name in COPIED:
            build.run("cp", "-a", str(build.ROOT / name), str(source))
        command = ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m"]
        command += [MARKS, *(arguments or FOLDERS)]
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LC_ALL": "C.UTF-8",
            "QEMU_CPU": PROCESSOR,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        # the shell gets the command as `$@`
        shell = 'cd /src && exec "$@"'
        return subprocess.run(
            ["chroot", str(chroot.root), "/bin/sh", "-c", shell, "sh", *command],
            env=environment,
            check=False,
        ).returncode


def _fetch_wheels(folder: Path, python: str) -> None:
    """Download the wheels for arm64 of an installation, and those of the tests' libraries."""
    common = [
        *(sys.executable, "-m", "pip", "install", "--target", str(folder)),
        *["-q", "--upgrade", "--disable-pip-version-check", "--only-binary", ":all:"],
        *f"--implementation cp --python-version {python}".split(),
    ]
    common += [
        word for year in ("2014", "_2_28") for word in ("--platform", f"manylinux{year}_aarch64")
    ]
    build.run(*common, "--no-deps", "-r", str(build.ROOT / "companion/requirements.lock"))
    build.run(*common, *TOOLS)


def _add_paths(root: Path, python: str) -> None:
    """Let Python in the root folder find the program and the wheels.

    Also give the root folder the name `localhost`, which a bare Debian lacks.
    """
    packages = root / f"usr/local/lib/python{python}/dist-packages"
    packages.mkdir(parents=True, exist_ok=True)
    (packages / "companion.pth").write_text(f"/src\n{_WHEELS}\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
