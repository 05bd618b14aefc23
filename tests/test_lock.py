"""Test that the lock files fit pyproject.toml, and that the wheel has every file it needs.

A lock file lists each package of an installation with its version and hashes. So every machine gets
the same packages, and nobody can replace one on its way. The wheel is the program itself as a
package.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Lock files of a table, of a hub, and of what builds the wheel.
LOCK = "companion/requirements.lock"
HUB_LOCK = "companion/hub.lock"
BUILD_LOCK = "companion/build.lock"
PACKAGES = ("companion", "hardware", "vision", "web")
# Files and folders from which the wheel is built.
WHEEL_SOURCES = (*PACKAGES, "systemd", "pyproject.toml", "README.md", "LICENSE")
# Python of each Raspberry Pi OS on which the program is installed.
SYSTEMS = {
    "Bookworm": {"python_version": "3.11", "python_full_version": "3.11.2"},
    "Trixie": {"python_version": "3.13", "python_full_version": "3.13.5"},
}
# The command that writes lock files that fit.
MENDING_COMMAND = "make lock"


def entries(name: str = LOCK) -> list[tuple[Requirement, list[str]]]:
    """Return every entry of a lock file with its hashes."""
    # an entry has several lines, which all but the last one end in a backslash
    text = (ROOT / name).read_text().replace("\\\n", " ")
    lines = [
        line
        for line in text.splitlines()
        if line.strip() and not line.lstrip().startswith(("#", "--"))
    ]
    parts = [line.split(" --hash=") for line in lines]
    return [
        (Requirement(package.strip()), [digest.strip() for digest in hashes])
        for package, *hashes in parts
    ]


def requirements() -> list[str]:
    """Return what a table's installation requires, with MQTT and with the line to a hub."""
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *extras["mqtt"], *extras["table"]]


def versions(name: str, environment: dict[str, str] | None = None) -> dict[str, str]:
    """Return the version of each package in a lock file.

    `environment` has values of markers, such as the version of Python. With it, only packages that
    are installed there count, and each must be listed once.
    """
    versions_by_name: dict[str, str] = {}
    for entry, _ in entries(name):
        if environment is None or entry.marker is None or entry.marker.evaluate(environment):
            package = canonicalize_name(entry.name)
            assert environment is None or package not in versions_by_name, (
                f"{package} is listed twice"
            )
            versions_by_name[package] = str(entry.specifier).removeprefix("==")
    return versions_by_name


@pytest.mark.parametrize("machine", ["aarch64", "x86_64"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_lock_has_every_requirement_once(system: str, machine: str) -> None:
    environment = default_environment() | SYSTEMS[system] | {"platform_machine": machine}
    locked = versions(LOCK, environment)
    for need in map(Requirement, requirements()):
        if need.marker is None or need.marker.evaluate(environment):
            version = locked[canonicalize_name(need.name)]
            assert need.specifier.contains(version), (
                f"{need} and not {version} is needed: {MENDING_COMMAND}"
            )
    # Bookworm's picamera2 was built for numpy 1, and OpenCV 4.11 is the last for it
    is_bookworm = system == "Bookworm"
    assert locked["numpy"].startswith("1.") is is_bookworm
    assert locked["opencv-python-headless"].startswith("4.11") is is_bookworm


@pytest.mark.parametrize("name", [LOCK, HUB_LOCK, BUILD_LOCK])
def test_every_entry_is_pinned_and_hashed(name: str) -> None:
    for entry, hashes in entries(name):
        assert re.fullmatch(r"==[^*]+", str(entry.specifier)), entry
        assert hashes, f"{entry.name} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", digest) for digest in hashes), entry.name


def test_hub_lock_agrees_with_table_lock() -> None:
    # The hub's lock file has all that its extras need.
    hub_versions = versions(HUB_LOCK)
    table_versions = versions(LOCK)
    extras = PROJECT["project"]["optional-dependencies"]
    for need in map(Requirement, (*extras["table"], *extras["hub"])):
        if not need.name.startswith("tabletop-"):
            assert need.specifier.contains(hub_versions[canonicalize_name(need.name)]), (
                f"{need}: {MENDING_COMMAND}"
            )

    # A package that both have has the same version in both.
    for name in hub_versions.keys() & table_versions.keys():
        assert hub_versions[name] == table_versions[name], f"{name}: {MENDING_COMMAND}"

    # The Makefile installs only what the lock files list, and checks the hashes.
    recipe = (ROOT / "Makefile").read_text().partition("$(VENV)/.hub:")[2].partition("\n\n")[0]
    installs = [line for line in recipe.splitlines() if "pip install" in line]
    assert len(installs) == 2
    assert all("--require-hashes --no-deps" in line for line in installs)


def test_wheel_has_every_file_it_needs(tmp_path: Path) -> None:
    """Build the wheel in another folder, and look for each file of the program in it."""
    tree = tmp_path / "tree"
    wheels = tmp_path / "dist"
    for part in WHEEL_SOURCES:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree / part)
    build = f"from setuptools.build_meta import build_wheel; build_wheel({str(wheels)!r})"
    wheels.mkdir()
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", build], cwd=tree, check=True, capture_output=True
    )
    wheel = next(wheels.iterdir())
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    # Files of the packages lie at their paths, and those of the system below `data`.
    data = f"{wheel.name.split('-py3')[0]}.data/data/share/tabletop-companion"
    for path in (path for folder in PACKAGES for path in (ROOT / folder).rglob("*")):
        # the wheel has no pictures of the README
        if path.is_file() and {"__pycache__", "pictures"}.isdisjoint(path.parts):
            assert str(path.relative_to(ROOT)) in names, path
    for path in filter(Path.is_file, (ROOT / "systemd").iterdir()):
        assert f"{data}/systemd/{path.name}" in names, path
    packages = {name.partition("/")[0] for name in names if name.endswith(".py")}
    assert packages == set(PACKAGES), "the wheel has packages of tests or benches, or lacks one"
