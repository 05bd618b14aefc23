"""The list of dependencies with their hashes fits pyproject.toml, and the wheel holds all that an installation needs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from companion.maintenance.releases.install import BUILD_LOCK, LOCK, PARTS, read_package
from companion.maintenance.releases.releases import PENDING
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from companion.core.config import Settings, read_settings
from companion.maintenance.settings.rows import all_keys
from companion.maintenance.settings.template import settings_text

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MACHINES = {
    "Bookworm": {"python_version": "3.11", "python_full_version": "3.11.2"},
    "Trixie": {"python_version": "3.13", "python_full_version": "3.13.5"},
}
HOLD = "make lock"


def locked(name: str = LOCK) -> list[tuple[Requirement, list[str]]]:
    """Every entry of a list with its hashes."""
    text = (ROOT / name).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", "--"))]
    parts = [line.split(" --hash=") for line in lines]
    return [(Requirement(first.strip()), [each.strip() for each in hashes]) for first, *hashes in parts]


def wanted() -> list[str]:
    """What an installation needs: the program, and what it needs for MQTT and at a hub."""
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *extras["mqtt"], *extras["table"]]


@pytest.mark.parametrize("machine", ["aarch64", "x86_64"])
@pytest.mark.parametrize("system", MACHINES)
def test_everything_that_is_needed_is_there_once(system: str, machine: str) -> None:
    here = {**MACHINES[system], "sys_platform": "linux", "platform_machine": machine, "os_name": "posix"}
    here |= {"platform_system": "Linux", "implementation_name": "cpython", "platform_python_implementation": "CPython"}
    found: dict[str, str] = {}
    for entry, _ in locked():
        if entry.marker is None or entry.marker.evaluate(here):
            name = canonicalize_name(entry.name)
            assert name not in found, f"{name} is there twice on {system}"
            found[name] = str(entry.specifier).removeprefix("==")
    needs = [need for need in map(Requirement, wanted()) if not need.marker or need.marker.evaluate(here)]
    for need in needs:
        version = found.get(canonicalize_name(need.name))
        assert version is not None, f"{need.name} is not in {LOCK}: {HOLD}"
        assert need.specifier.contains(version), f"{need} and not {version} is needed: {HOLD}"
    is_old = system == "Bookworm"
    assert found["numpy"].startswith("1.") is is_old, "picamera2 of Bookworm was built for numpy 1"
    assert found["opencv-python-headless"].startswith("4.11") is is_old


@pytest.mark.parametrize("name", [LOCK, BUILD_LOCK])
def test_every_entry_is_pinned_and_hashed(name: str) -> None:
    for entry, hashes in locked(name):
        assert re.fullmatch(r"==[^*]+", str(entry.specifier)), entry
        assert hashes, f"{entry.name} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), entry.name


@pytest.mark.parametrize("name", [LOCK, BUILD_LOCK])
def test_no_address_is_in_it(name: str) -> None:
    text = (ROOT / name).read_text()
    assert re.findall(r"^--.*", text, re.MULTILINE) == (["--no-binary nkeys"] if name == LOCK else [])
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted|file:", text)


# ---- what builds it, and is no part of it ------------------------------------------------------------------------------


def test_what_builds_the_program_has_a_list_of_its_own() -> None:
    tools = {canonicalize_name(entry.name): str(entry.specifier).removeprefix("==") for entry, _ in locked(BUILD_LOCK)}
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
        ".".join(part for part in path.relative_to(ROOT).with_suffix("").parts if part != "__init__")
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "__main__.py"
    ]
    program = (
        "import importlib, sys\n"
        f"sys.modules.update(dict.fromkeys({missing!r}))\n"
        f"for name in [*{modules!r}, 'colorzero', 'gpiozero']: importlib.import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- what is delivered -----------------------------------------------------------------------------------------------


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
    subprocess.run([sys.executable, "-W", "ignore", "-c", build], cwd=tree, check=True, capture_output=True)
    wheel = next(made.iterdir())
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    data = f"{wheel.name.split('-py3')[0]}.data/data/share/tabletop-companion"
    for folder in ("companion", "hardware", "vision", "web"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and not {"__pycache__", "pictures"} & set(path.parts):  # the README's pictures
                assert str(path.relative_to(ROOT)) in names, path
    for path in filter(Path.is_file, (ROOT / "systemd").iterdir()):
        assert f"{data}/systemd/{path.name}" in names, path
    package = read_package(wheel)
    assert (package.version, package.lock) == (PROJECT["project"]["version"], (ROOT / LOCK).read_bytes())


def test_the_settings_file_of_a_new_installation_is_the_defaults(tmp_path: Path) -> None:
    text = settings_text("/var/lib/tabletop-companion")
    assert read_settings(text) == Settings(state_dir="/var/lib/tabletop-companion")
    everything = re.sub(r"^#(?=[\w\[])", "", re.sub(r"^#field_of_view_deg.*", "", text, flags=re.M), flags=re.M)
    assert read_settings(everything.replace("/var/lib/tabletop-companion", Settings().state_dir)) == Settings()
    shown = {line.lstrip("#").partition(" = ")[0] for line in text.splitlines() if " = " in line and line[:2] != "# "}
    assert {key.rpartition(".")[2] for key in all_keys()} <= shown


# ---- the installer ---------------------------------------------------------------------------------------------------


def run_install(root: Path, task: str, **environment: str) -> subprocess.CompletedProcess[str]:
    script = ROOT / "systemd" / "install.sh"
    values = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DESTDIR": str(root), "PYTHON": sys.executable, **environment}
    return subprocess.run(["sh", str(script), task], capture_output=True, text=True, check=False, env=values)


def test_the_installer_says_what_is_wrong(tmp_path: Path) -> None:
    assert "Say install or uninstall" in run_install(tmp_path, "instal").stderr
    failed = run_install(tmp_path, "install", PYTHON="/bin/false")
    assert (failed.returncode, "Python 3.11 or newer" in failed.stderr) == (1, True)


def installed(root: Path) -> None:
    """What an installation leaves, as far as taking it away looks at it."""
    for place in (
        "opt/tabletop-companion/1.0",
        "var/lib/tabletop-companion",
        "var/lib/tabletop-companion-kiosk",
        "etc/tabletop-companion",
        "etc/systemd/system/companion-kiosk.service.d",
        "usr/local/bin",
    ):
        (root / place).mkdir(parents=True)
    (root / "var/lib/tabletop-companion/journal.sqlite").touch()
    (root / "usr/local/bin/companion").touch()
    wants = root / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True)
    for name in ("companion.service", "other.service"):
        (wants.parent / name).touch()
        (wants / name).symlink_to(f"../{name}")


@pytest.mark.parametrize("games", ["", "remove"])
def test_games_are_left_unless_asked(tmp_path: Path, games: str) -> None:
    installed(tmp_path)
    said = run_install(tmp_path, "uninstall", GAMES=games)
    assert said.returncode == 0, said.stderr
    assert not (tmp_path / "opt/tabletop-companion").exists()
    assert not (tmp_path / "usr/local/bin/companion").exists()
    kept = [each.name for each in (tmp_path / "etc/systemd/system").rglob("*.service")]
    assert kept == ["other.service", "other.service"]
    assert (tmp_path / "var/lib/tabletop-companion/journal.sqlite").exists() is (games != "remove")
    assert (tmp_path / "etc/tabletop-companion").exists() is (games != "remove")
    assert (tmp_path / "var/lib/tabletop-companion-kiosk").exists() is (games != "remove")
    assert not list(tmp_path.rglob("companion-kiosk.service.d"))
    assert run_install(tmp_path, "uninstall", GAMES=games).returncode == 0, "once more does no harm"


def part_of_install(root: Path, calls: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Some of the installer's functions as they are, with fakes in `calls`."""
    text = (ROOT / "systemd" / "install.sh").read_text().partition("# ---- what is asked for")[0]
    script = root / "systemd" / "part.sh"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"{text}\n{calls}\n")
    values = {"PATH": f"{root}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DESTDIR": str(folder or "")}
    return subprocess.run(["sh", str(script)], capture_output=True, text=True, check=False, env=values)


def test_packages_that_cannot_be_fetched_do_not_end_the_installation(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name, status in (("apt-get", 100), ("apt-cache", 0)):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\nexit {status}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    done = part_of_install(tmp_path, 'is_there() { [ "$1" = python3-venv ]; }\npackages\necho "went on"')
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "went on")
    assert "Not all of these packages could be installed: openssl python3-picamera2 avahi-daemon." in done.stdout


def release_in(root: Path) -> Path:
    """What of a release the installer looks at; answers the folder of the settings."""
    current = root / "opt/tabletop-companion/current"
    shutil.copytree(ROOT / "systemd", current / "share/tabletop-companion/systemd")
    (current / "bin").mkdir()
    (current / "bin/python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (current / "bin/python3").chmod(0o755)
    config = root / "etc/tabletop-companion"
    config.mkdir(parents=True)
    return config


def test_the_first_settings_go_into_no_file_that_a_link_names(tmp_path: Path) -> None:
    config, victim = release_in(tmp_path / "root"), tmp_path / "victim"
    victim.write_text("root's own")
    (config / ".settings.new").symlink_to(victim)
    done = part_of_install(tmp_path, "settings\nport", tmp_path / "root")
    assert (done.returncode, done.stdout, done.stderr) == (0, "8080\n", "")
    assert victim.read_text() == "root's own"
    assert (config / "settings.toml").read_text() == settings_text("/var/lib/tabletop-companion")
    assert (config / "settings.toml").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in config.iterdir()] == ["settings.toml"]


def test_the_port_of_the_settings_is_told_to_avahi_and_to_the_table_screen(tmp_path: Path) -> None:
    root = tmp_path / "root"
    config = release_in(root)
    for text, port in (("[web]\nport = 9000\n", 9000), ("[web\n", 8080)):
        (config / "settings.toml").write_text(text)
        assert part_of_install(tmp_path, "service\ntell_port", root).returncode == 0
        assert f"<port>{port}</port>" in (root / "etc/avahi/services/tabletop-companion.service").read_text()
        told = (root / "etc/systemd/system/companion-kiosk.service.d/port.conf").read_text()
        assert told == f"[Service]\nEnvironment=PORT={port}\n"


def test_run_again_it_ends_nothing_that_is_in_order(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (release_in(root) / "settings.toml").touch()
    fakes = """
        runs() { :; }
        udevadm() { :; }
        systemctl() { [ "$1" = daemon-reload ] || echo "$1"; }
        say() { :; }
        service
tell_port
start
"""
    assert part_of_install(tmp_path, fakes, root).stdout == "restart\n"
    assert part_of_install(tmp_path, fakes, root).stdout == "start\n"
    (root / "etc/systemd/system/companion.service").unlink()
    assert part_of_install(tmp_path, fakes, root).stdout == "restart\n"


def test_another_release_is_begun_anew(tmp_path: Path) -> None:
    root = tmp_path / "root"
    home = root / "opt/tabletop-companion"
    home.mkdir(parents=True)
    for name, changed in (("1.0", "yes"), ("1.0", ""), ("2.0", "yes")):
        calls = f'switch() {{ ln -sfn {name} {home}/current; }}\npython=switch\nrelease\necho "<$changed>"'
        assert part_of_install(tmp_path, calls, root).stdout == f"<{changed}>\n"
    (home / PENDING).touch()
    assert part_of_install(tmp_path, calls, root).stdout == "<yes>\n", "cut off before the service began anew"


def test_the_hotspot_goes_with_the_program(tmp_path: Path) -> None:
    calls = f"root=\nhotspot={tmp_path}/profile\ncompanion=echo\nclose_hotspot"
    assert part_of_install(tmp_path, calls, tmp_path / "root").stdout == ""
    (tmp_path / "profile").touch()
    assert part_of_install(tmp_path, calls, tmp_path / "root").stdout == "hotspot off\n"
    done = part_of_install(tmp_path, calls.replace("echo", "false"), tmp_path / "root")
    assert (done.returncode, "could not be removed" in done.stdout) == (0, True)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="needs shellcheck")
def test_the_installer_is_clean_shell() -> None:
    ended = subprocess.run(
        ["shellcheck", str(ROOT / "systemd" / "install.sh")], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout
