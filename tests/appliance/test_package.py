"""Test Debian's packages: apt installs, upgrades, removes and purges them offline.

Every binary in a package is for the package's architecture.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from backup_tools import fill_installation

from appliance import build, debian_roots
from appliance.debian_roots import IsolatedRoot
from companion import DEBIAN_HOME, __version__
from companion.maintenance.settings.template import settings_text

STATE, CONFIG = "/var/lib/tabletop-companion", "/etc/tabletop-companion"
# Version of the newer package that the tests upgrade to.
NEWER = "99.0"
# Bytes 18 and 19 of an ELF file (`e_machine`), by the processor that it is for.
ELF_MACHINES = {"aarch64": b"\xb7\x00", "x86_64": b"\x3e\x00"}
# Debian's name for the architecture of this computer. Empty if no package is built for it.
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, "")
Packages = Callable[[str], Path]


@pytest.fixture(params=debian_roots.PYTHONS)
def machine(
    request: pytest.FixtureRequest, deb: Packages, tmp_path: Path
) -> Iterator[IsolatedRoot]:
    """A root folder of each Debian, without the program. Its `/root` has the project's package."""
    if not ARCHITECTURE:
        pytest.skip("no package is built for this computer")
    try:
        root = debian_roots.plain_debian(request.param, ARCHITECTURE)
    except build.CannotBuild as reason:
        pytest.skip(f"no root folder can be built: {reason}")
    with debian_roots.open_copy(root, tmp_path / "root") as inside:
        shutil.copyfile(deb(ARCHITECTURE), inside.root / "root/companion.deb")
        yield inside


def install(inside: IsolatedRoot, file: str = "/root/companion.deb") -> str:
    """Install a package by apt, and return what apt prints."""
    return inside(f"apt-get install -y {file}", DEBIAN_FRONTEND="noninteractive")


def build_newer_package(inside: IsolatedRoot, folder: Path) -> None:
    """Build the same package with a later version, as `/root/newer.deb`."""
    tree = folder / "newer"
    build.run("dpkg-deb", "-R", str(inside.root / "root/companion.deb"), str(tree))
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {NEWER}", control.read_text()))
    (program,) = tree.glob(f"{DEBIAN_HOME[1:]}/lib/python3/site-packages/companion/__init__.py")
    program.write_text(program.read_text().replace(__version__, NEWER))
    build.run(
        "dpkg-deb",
        "-Zzstd",
        "-z1",
        "--root-owner-group",
        "-b",
        str(tree),
        str(inside.root / "root/newer.deb"),
    )
    shutil.rmtree(tree)


def add_games(inside: IsolatedRoot, folder: Path) -> None:
    """Add three finished games to the service's folder."""
    fill_installation(folder / "games", games=3)
    for path in (folder / "games").iterdir():
        if path.name != "settings.toml":
            build.run("cp", "-r", str(path), str(inside.root / STATE[1:]))
    inside(f"chown -R companion:companion {STATE}")


def count_games(inside: IsolatedRoot) -> int:
    return len(inside("companion history --json").strip().splitlines())


# ---- from installation to purge ------------------------------------------------------------------


def test_apt_keeps_games_until_a_purge(machine: IsolatedRoot, tmp_path: Path) -> None:
    """Removing keeps games and settings. Purging deletes them, unless debconf says to keep them."""
    # install: the service is enabled, but not started, because no systemd runs here
    output = install(machine)
    assert "No systemd is running here" in output
    assert machine("companion --version") == f"companion {__version__}\n"
    assert machine(
        "stat -c '%U %a' /var/lib/tabletop-companion /etc/tabletop-companion"
    ).split() == ["companion", "700", "companion", "750"]
    assert machine(f"cat {CONFIG}/settings.toml") == settings_text(STATE)
    for unit, state in (
        ("companion.service", "enabled"),
        ("companion-lamp.service", "enabled"),
        ("companion-poweroff.path", "enabled"),
        ("companion-wifi.path", "enabled"),
        ("companion-kiosk.service", "disabled"),
    ):
        assert machine(f"systemctl is-enabled {unit} || true").strip() == state
    assert (
        "<port>8080</port>"
        in (machine.root / "etc/avahi/services/tabletop-companion.service").read_text()
    )
    units = machine("systemd-analyze verify companion.service companion-lamp.service 2>&1 || true")
    assert not re.search(r"(?i)no such file|not executable|failed to", units), units
    assert machine(f"find {DEBIAN_HOME} -name '*.pyc' | head -1"), (
        "the program is not compiled, so each start would compile it"
    )

    # people play, and change a setting
    add_games(machine, tmp_path)
    games = count_games(machine)
    assert games
    machine(f"printf '\\n[web]\\nport = 9000\\n' >>{CONFIG}/settings.toml")
    settings = machine(f"cat {CONFIG}/settings.toml")

    # upgrade: games and settings stay, and what depends on the port follows it
    build_newer_package(machine, tmp_path)
    install(machine, "/root/newer.deb")
    assert machine("companion --version") == f"companion {NEWER}\n"
    assert (count_games(machine), machine(f"cat {CONFIG}/settings.toml")) == (games, settings)
    assert (
        "<port>9000</port>"
        in (machine.root / "etc/avahi/services/tabletop-companion.service").read_text()
    )
    assert (
        "PORT=9000"
        in (machine.root / "etc/systemd/system/companion-kiosk.service.d/port.conf").read_text()
    )

    # remove: the program goes, and an older version of it finds the games
    output = machine("apt-get remove -y tabletop-companion", DEBIAN_FRONTEND="noninteractive")
    assert f"Games are in {STATE}, settings in {CONFIG}" in output
    assert not (machine.root / DEBIAN_HOME[1:]).exists()
    assert not (machine.root / "usr/bin/companion").exists()
    assert not (machine.root / "etc/avahi/services/tabletop-companion.service").exists()
    install(machine)
    assert count_games(machine) == games, "the older version has lost games"

    # purge while debconf says to keep games
    machine(
        "echo 'tabletop-companion tabletop-companion/remove-games boolean false' | "
        "debconf-set-selections"
    )
    output = machine("apt-get purge -y tabletop-companion", DEBIAN_FRONTEND="noninteractive")
    assert f"Games and settings stay: {STATE}, {CONFIG}" in output
    assert (machine.root / STATE[1:] / "journal.sqlite").exists()
    install(machine)
    assert count_games(machine) == games

    # purge: everything goes
    output = machine("apt-get purge -y tabletop-companion", DEBIAN_FRONTEND="noninteractive")
    assert f"Games and settings go: {STATE}, {CONFIG}" in output
    assert not (machine.root / STATE[1:]).exists()
    assert not (machine.root / CONFIG[1:]).exists()
    assert not list((machine.root / "etc/systemd/system").rglob("companion*"))
    assert not list((machine.root / "usr/share/python3/runtime.d").glob("tabletop*"))


# ---- what is in it -------------------------------------------------------------------------------


@pytest.mark.parametrize(("architecture", "elf"), [("arm64", "aarch64"), ("amd64", "x86_64")])
def test_every_binary_is_for_the_packages_architecture(
    deb: Packages, architecture: str, elf: str, tmp_path: Path
) -> None:
    file = deb(architecture)
    assert build.run("dpkg-deb", "-f", str(file), "Architecture").strip() == architecture
    build.run("dpkg-deb", "-x", str(file), str(tmp_path))
    home = tmp_path / DEBIAN_HOME[1:]
    compiled = [
        path for path in home.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"
    ]
    assert {path.read_bytes()[18:20] for path in compiled} == {ELF_MACHINES[elf]}
    for python in debian_roots.PYTHONS.values():
        names = [
            path.name
            for path in (home / f"lib/python{python}").rglob("*.so")
            if "cpython" in path.name
        ]
        assert names
        assert all(f"cpython-{python.replace('.', '')}-{elf}" in name for name in names)
    assert not [
        path for path in (tmp_path / "opt", tmp_path / "etc", tmp_path / "var") if path.exists()
    ]
