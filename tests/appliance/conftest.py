"""Fixtures: the machine and Debian's packages.

Nothing of this folder runs unless its path is given, as `make appliance` does.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance import build
from appliance.boot import boot
from appliance.machine import Machine
from companion import __version__


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--short", action="store_true", help="boot, one turn by the pins, the watchdog, three cuts"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the folder out of every run whose arguments do not name it."""
    is_named = any("tests/appliance" in str(argument) for argument in config.invocation_params.args)
    return None if is_named else True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FIGURES:
        terminalreporter.section("the machine")
        for figure in FIGURES:
            terminalreporter.write_line(figure)


# Measured figures, as sentences that are printed after the run.
FIGURES: list[str] = []
# Returns Debian's package of the working tree for an architecture, such as `arm64`.
Packages = Callable[[str], Path]
# Files and folders that Debian's packages are built from.
PACKAGED = (
    "companion",
    "hardware",
    "vision",
    "web",
    "systemd",
    "pyproject.toml",
    "README.md",
    "Makefile",
)


@pytest.fixture(scope="session")
def figures() -> list[str]:
    """The list to which tests append what they have measured. It is printed after the run."""
    return FIGURES


@pytest.fixture(scope="session")
def short(pytestconfig: pytest.Config) -> bool:
    """Whether only the short form is run (`--short`)."""
    return bool(pytestconfig.getoption("short"))


@pytest.fixture(scope="session")
def disk(figures: list[str]) -> build.Disk:
    """The built disk. Tests boot copies of it."""
    try:
        disk = build.disk()
    except build.CannotBuild as reason:
        pytest.skip(f"the machine cannot be built: {reason}")
    except subprocess.CalledProcessError as error:
        pytest.fail(build.describe_failure(error), pytrace=False)
    origin = f"built in {disk.build_s:.0f} s" if disk.build_s else "taken from the cache"
    figures.append(f"disk {origin}, {disk.image.stat().st_blocks * 512 / 1e6:.0f} MB")
    return disk


@pytest.fixture(scope="session")
def shared_machine(
    disk: build.Disk, tmp_path_factory: pytest.TempPathFactory, figures: list[str]
) -> Iterator[Machine]:
    """The machine, booted once for all tests that do not pull its plug."""
    with boot(disk, tmp_path_factory.mktemp("machine")) as machine:
        first_page_s = time.monotonic() - machine.began_at_s
        figures.append(f"from switching on to the first page: {first_page_s:.0f} s (emulated)")
        yield machine


@pytest.fixture(scope="session")
def deb(figures: list[str], short: bool) -> Packages:
    """A function that returns Debian's package of the working tree for an architecture."""
    if short:
        pytest.skip("the packages are not part of the short form")
    if not shutil.which("dpkg-deb"):
        pytest.skip("packages are built on Debian")
    folder = (
        build.cache_folder()
        / f"deb-{build.content_hash(*(build.ROOT / name for name in PACKAGED))}"
    )

    def build_package(architecture: str) -> Path:
        name = f"tabletop-companion_{__version__}_{architecture}.deb"
        if not (folder / name).exists():
            build.delete_old("deb-", keep=1)
            folder.mkdir(parents=True, exist_ok=True)
            build.run("make", "-C", str(build.ROOT), "deb", f"ARCHITECTURES={architecture}")
            # renamed once it is whole, so that an interrupted run leaves no half of a package
            shutil.copyfile(build.ROOT / "dist" / name, folder / f"{name}.new")
            (folder / f"{name}.new").rename(folder / name)
        figures.append(f"{name}: {(folder / name).stat().st_size / 1e6:.0f} MB")
        return folder / name

    return build_package
