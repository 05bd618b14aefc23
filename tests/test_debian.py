"""Test that the parts of the Debian package fit the program and each other.

The last tests run the script that configures an installed package, in a root of their own.
`tests/appliance` installs the package on a whole machine.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from companion import DEBIAN_HOME, __version__
from companion.maintenance.settings.template import settings_text

ROOT = Path(__file__).parent.parent
DEBIAN = ROOT / "systemd/debian"
# Endings of the maintainer scripts of Debian packages.
ENDINGS = ("p*inst", "p*rm", "config", "rtupdate")
SCRIPTS = [path for ending in ENDINGS for path in sorted(DEBIAN.glob(f"*.{ending}"))]
SCRIPTS.append(ROOT / "systemd/configure.sh")


@pytest.fixture(scope="module")
def environment() -> ModuleType:
    """The module `systemd/debian/environment.py`. It builds the package, and is in none itself."""
    spec = importlib.util.spec_from_file_location("environment", DEBIAN / "environment.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_package_has_the_programs_version() -> None:
    newest_entry = (DEBIAN / "changelog").read_text().splitlines()[0]
    assert newest_entry.startswith(f"tabletop-companion ({__version__}) ")
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == __version__


def test_package_depends_on_the_pythons_it_serves(environment: ModuleType) -> None:
    assert f"/{environment.PROGRAM_FOLDER}" == DEBIAN_HOME
    control = " ".join((DEBIAN / "control").read_text().split())
    assert environment.PYTHONS == ("3.11", "3.13")
    # In Debian's notation, from 3.11 to before 3.12, or from 3.13 to before 3.14: so 3.12 is not
    # permitted.
    assert "python3 (>= 3.11), python3 (<< 3.12) | python3 (>= 3.13), python3 (<< 3.14)," in control
    assert set(environment.UV_PLATFORMS) == set(
        re.search(r"Architecture: (\w+ \w+)", control)[1].split()
    )  # type: ignore[index]


def test_units_and_command_use_the_packages_environment(
    environment: ModuleType, tmp_path: Path
) -> None:
    """Install the system's files. They must name the folder of the package's environment.

    The sources name the folder of an installation without a package, below `/opt`.
    """
    shutil.copytree(ROOT / "systemd", tmp_path / "systemd")
    environment.install_system_files(tmp_path, tmp_path / "systemd")
    for path in (*(tmp_path / "lib").rglob("*"), *(tmp_path / "usr").rglob("*")):
        assert path.is_dir() or "/opt/" not in path.read_text(), (
            f"{path.name} names the folder of an installation without a package"
        )
    service = (tmp_path / "lib/systemd/system/companion.service").read_text()
    assert re.findall(r"(?m)^Exec\w+=.*", service) == [
        f"ExecStart={DEBIAN_HOME}/bin/companion play"
        " --settings /etc/tabletop-companion/settings.toml"
        " --state-dir /var/lib/tabletop-companion"
    ]
    assert f"program={DEBIAN_HOME}/bin/companion\n" in (tmp_path / "usr/bin/companion").read_text()
    assert (tmp_path / "usr/bin/companion").stat().st_mode & 0o777 == 0o755


@pytest.mark.slow
def test_one_environment_serves_every_python(environment: ModuleType, tmp_path: Path) -> None:
    """Make an environment for two versions of Python.

    Packages of pure Python are in one folder for all versions, and compiled ones in a folder for
    each. So the Debian package serves several versions without containing everything twice.
    """
    # Make two packages for this Python and for another one, as an installation would: `pure` of
    # pure Python, and `fast`, which is compiled for one version.
    home = tmp_path / "home"
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    environment.PYTHONS = (own, "3.99")
    for python in environment.PYTHONS:
        folder = environment.site_packages(home, python)
        for name, tag in (("pure", "py3-none-any"), ("fast", f"cp{python}-linux")):
            (folder / f"{name}-1.dist-info").mkdir(parents=True)
            (folder / f"{name}-1.dist-info/WHEEL").write_text(f"Wheel-Version: 1.0\nTag: {tag}\n")
            (folder / f"{name}-1.dist-info/RECORD").write_text(
                f"{name}.py,,\n{name}-1.dist-info/RECORD,,\n../bin/x,,\n"
            )
            (folder / f"{name}.py").write_text(f"python = {python!r}\n")

    # Make one environment of both. This Python stands for the machine's.
    environment.move_pure_packages(home)
    environment.make_virtual_environment(home)
    (home / "bin/python3").unlink()
    (home / "bin/python3").symlink_to(Path(sys.executable).resolve())

    # The shared folder has only the pure package, and this Python imports both.
    assert sorted(path.name for path in environment.site_packages(home).iterdir()) == [
        "pure-1.dist-info",
        "pure.py",
    ]
    script = "import sys, pure, fast; print(sys.prefix, pure.__file__, fast.python)"
    command = [home / "bin/python3", "-I", "-c", script]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    shared = environment.site_packages(home).resolve() / "pure.py"
    assert output.split() == [str(home), str(shared), own]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_stop_at_the_first_error(script: Path) -> None:
    # `set -e` ends a script at an error. The shells also find mistakes without running it.
    lines = script.read_text().splitlines()
    assert lines[0] == "#!/bin/sh"
    assert {"set -e", "set -eu"} & set(lines)
    subprocess.run(["sh", "-n", str(script)], check=True)
    if shutil.which("shellcheck"):
        check = subprocess.run(
            ["shellcheck", "-e", "SC1091", str(script)], capture_output=True, text=True, check=False
        )
        assert check.returncode == 0, check.stdout


# ---- configuration of an installed package -------------------------------------------------------


def configure(root: Path) -> None:
    """Run the script that the package runs once its files are installed, but in another root."""
    values = {
        "PATH": "/usr/bin:/bin",
        "DESTDIR": str(root),
        "PYTHON": sys.executable,
        "FILES": str(ROOT / "systemd"),
    }
    subprocess.run(["sh", str(ROOT / "systemd/configure.sh")], check=True, env=values, cwd=ROOT)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The folder of the settings in the root `root`, which is empty otherwise."""
    folder = tmp_path / "root/etc/tabletop-companion"
    folder.mkdir(parents=True)
    return folder


def test_first_settings_are_not_written_through_a_link(config: Path, tmp_path: Path) -> None:
    """Let a link have the name of the script's temporary file. The script must replace the link.

    If it wrote through the link, whoever may write to the folder could change any file of root.
    """
    linked_file = tmp_path / "linked"
    linked_file.write_text("root's own")
    (config / ".settings.new").symlink_to(linked_file)
    configure(tmp_path / "root")
    assert linked_file.read_text() == "root's own"
    assert (config / "settings.toml").read_text() == settings_text("/var/lib/tabletop-companion")
    assert (config / "settings.toml").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in config.iterdir()] == ["settings.toml"]


def test_avahi_and_table_screen_get_the_port(config: Path, tmp_path: Path) -> None:
    settings = "[web]\nport = 9000\n"
    (config / "settings.toml").write_text(settings)
    configure(tmp_path / "root")
    assert (config / "settings.toml").read_text() == settings, "existing settings were changed"
    etc = tmp_path / "root/etc"
    assert "<port>9000</port>" in (etc / "avahi/services/tabletop-companion.service").read_text()
    port = (etc / "systemd/system/companion-kiosk.service.d/port.conf").read_text()
    assert port == "[Service]\nEnvironment=PORT=9000\n"
