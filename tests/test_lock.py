"""The list of dependencies with their hashes fits pyproject.toml, and the wheel holds all that an
installation needs.
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
LOCK, HUB_LOCK, BUILD_LOCK = (
    "companion/requirements.lock",
    "companion/hub.lock",
    "companion/build.lock",
)
PACKAGES = ("companion", "hardware", "vision", "web")
# Files and folders that the wheel is made of.
PARTS = (*PACKAGES, "systemd", "pyproject.toml", "README.md", "LICENSE")
MACHINES = {
    "Bookworm": {"python_version": "3.11", "python_full_version": "3.11.2"},
    "Trixie": {"python_version": "3.13", "python_full_version": "3.13.5"},
}
HOLD = "make lock"


def entries(name: str = LOCK) -> list[tuple[Requirement, list[str]]]:
    """Return every entry of a list with its hashes."""
    text = (ROOT / name).read_text().replace("\\\n", " ")
    lines = [
        line
        for line in text.splitlines()
        if line.strip() and not line.lstrip().startswith(("#", "--"))
    ]
    parts = [line.split(" --hash=") for line in lines]
    return [
        (Requirement(first.strip()), [each.strip() for each in hashes]) for first, *hashes in parts
    ]


def requirements() -> list[str]:
    """Return what an installation needs: the program, and what it needs for MQTT and at a hub."""
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *extras["mqtt"], *extras["table"]]


def versions(name: str, here: dict[str, str] | None = None) -> dict[str, str]:
    """Return the version of each package in a list, where wanted on such a machine."""
    versions_by_name: dict[str, str] = {}
    for entry, _ in entries(name):
        if here is None or entry.marker is None or entry.marker.evaluate(here):
            package = canonicalize_name(entry.name)
            assert here is None or package not in versions_by_name, f"{package} is there twice"
            versions_by_name[package] = str(entry.specifier).removeprefix("==")
    return versions_by_name


@pytest.mark.parametrize("machine", ["aarch64", "x86_64"])
@pytest.mark.parametrize("system", MACHINES)
def test_everything_that_is_needed_is_there_once(system: str, machine: str) -> None:
    here = default_environment() | MACHINES[system] | {"platform_machine": machine}
    found = versions(LOCK, here)
    for need in map(Requirement, requirements()):
        if need.marker is None or need.marker.evaluate(here):
            version = found[canonicalize_name(need.name)]
            assert need.specifier.contains(version), f"{need} and not {version} is needed: {HOLD}"
    is_old = system == "Bookworm"
    assert found["numpy"].startswith("1.") is is_old, "picamera2 of Bookworm was built for numpy 1"
    assert found["opencv-python-headless"].startswith("4.11") is is_old


@pytest.mark.parametrize("name", [LOCK, HUB_LOCK, BUILD_LOCK])
def test_every_entry_is_pinned_and_hashed(name: str) -> None:
    for entry, hashes in entries(name):
        assert re.fullmatch(r"==[^*]+", str(entry.specifier)), entry
        assert hashes, f"{entry.name} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), entry.name


def test_a_hubs_lock_agrees_with_the_tables() -> None:
    held, of_tables = versions(HUB_LOCK), versions(LOCK)
    extras = PROJECT["project"]["optional-dependencies"]
    for need in map(Requirement, (*extras["table"], *extras["hub"])):
        if not need.name.startswith("tabletop-"):
            assert need.specifier.contains(held[canonicalize_name(need.name)]), f"{need}: {HOLD}"
    for name in held.keys() & of_tables.keys():
        assert held[name] == of_tables[name], f"{name}: {HOLD}"
    recipe = (ROOT / "Makefile").read_text().partition("$(VENV)/.hub:")[2].partition("\n\n")[0]
    installs = [line for line in recipe.splitlines() if "pip install" in line]
    assert len(installs) == 2
    assert all("--require-hashes --no-deps" in line for line in installs)


def test_the_wheel_holds_everything(tmp_path: Path) -> None:
    tree, made = tmp_path / "tree", tmp_path / "dist"
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree / part)
    build = f"from setuptools.build_meta import build_wheel; build_wheel({str(made)!r})"
    made.mkdir()
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", build], cwd=tree, check=True, capture_output=True
    )
    wheel = next(made.iterdir())
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    data = f"{wheel.name.split('-py3')[0]}.data/data/share/tabletop-companion"
    for path in (path for folder in PACKAGES for path in (ROOT / folder).rglob("*")):
        # the README's pictures stay outside
        if path.is_file() and {"__pycache__", "pictures"}.isdisjoint(path.parts):
            assert str(path.relative_to(ROOT)) in names, path
    for path in filter(Path.is_file, (ROOT / "systemd").iterdir()):
        assert f"{data}/systemd/{path.name}" in names, path
    packages = {name.partition("/")[0] for name in names if name.endswith(".py")}
    assert packages == set(PACKAGES), "neither tests nor benches are installed"
