"""Test the systemd units against systemd's own checks and the program, and compiled templates.

Two commands of systemd do its checks: `systemd-analyze verify` reads a unit, and `systemd-analyze
security` grades how much of the machine a service can reach.
"""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jinja2 import DictLoader, Environment

from companion.cli.lamp import RUN_FOLDER
from companion.cli.main import main
from companion.core.config import WebSettings
from companion.maintenance.own_wifi import ANSWER_FILE, ANSWER_TIMEOUT_S, REQUEST_FILE
from companion.service.systemd import POWER_FILE
from web.templating.environment import CompiledTemplates

SYSTEMD = Path(__file__).parents[2] / "systemd"
UNITS = sorted(
    path.name
    for path in SYSTEMD.iterdir()
    if path.suffix in (".service", ".path") and path.stem != "avahi"
)
# Highest exposure of each service by `systemd-analyze security`, from 0 (safe) to 10. The kiosk
# runs a browser. docs/security.md says why its exposure cannot be lower.
MAX_EXPOSURE = {
    "companion.service": 2.0,
    "companion-lamp.service": 2.0,
    "companion-poweroff.service": 2.0,
    "companion-wifi.service": 2.0,
    "companion-kiosk.service": 7.0,
}
# Keys that newer versions of systemd know. Version 252 of Debian 12 warns of them and ignores them.
UNKNOWN_TO_252 = {"RestartSteps", "RestartMaxDelaySec"}
needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd is not installed"
)


class Unit(configparser.RawConfigParser):
    """A unit file. Keys keep their capitals. Of a key that comes twice, the last value counts."""

    def __init__(self, name: str) -> None:
        super().__init__(strict=False)
        self.optionxform = str  # type: ignore[assignment,method-assign] # keys have capitals
        self.read(SYSTEMD / name)


@needs_systemd
@pytest.mark.parametrize(("name", "max_exposure"), MAX_EXPOSURE.items())
def test_a_unit_is_closed_as_far_as_promised(name: str, max_exposure: float) -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(SYSTEMD / name)]
    analysis = subprocess.run(command, capture_output=True, text=True, check=False)
    exposure = re.search(r"exposure level for \S+: ([\d.]+)", analysis.stdout)
    assert exposure, analysis.stderr
    print(f"systemd-analyze security {name}: {exposure[1]}")
    assert float(exposure[1]) <= max_exposure


def test_every_service_has_a_bounded_exposure() -> None:
    # A new service needs a bound above, and the highest bound needs its reason in the docs.
    assert set(MAX_EXPOSURE) == {name for name in UNITS if name.endswith(".service")}
    page = " ".join((SYSTEMD.parent / "docs/security.md").read_text(encoding="utf-8").split())
    assert "`companion-kiosk` stays at 7.0 or below, because" in page


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_every_line(name: str, tmp_path: Path) -> None:
    # systemd refuses a unit whose program is not installed. So let all units run Python instead.
    for unit in UNITS:
        text = (SYSTEMD / unit).read_text()
        (tmp_path / unit).write_text(
            re.sub(
                r"(?m)^(ExecStart=)(/usr/lib/tabletop\S+|/usr/bin/cage)",
                rf"\1{sys.executable}",
                text,
            )
        )

    # Only errors about this unit count, not those about the machine on which the test runs.
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / name)]
    errors = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    unit_errors = [
        line for line in errors.splitlines() if str(tmp_path) in line or line.startswith(name)
    ]
    assert [
        line for line in unit_errors if not any(f"'{key}'" in line for key in UNKNOWN_TO_252)
    ] == []


def test_no_unit_waits_for_a_network() -> None:
    """A table without a network has to start as well, to open its hotspot."""
    for name in UNITS:
        unit = Unit(name)["Unit"]
        for key in ("After", "Wants", "Requires", "BindsTo"):
            assert "network" not in unit.get(key, ""), f"{name}: {key}"


def test_units_and_program_agree_on_paths() -> None:
    # The service's own folder, in which it asks to switch off and to change the Wi-Fi.
    folder = f"/run/{Unit('companion.service')['Service']['RuntimeDirectory']}"
    assert str(RUN_FOLDER) == folder
    assert Unit("companion-poweroff.path")["Path"]["PathExists"] == f"{folder}/{POWER_FILE}"
    assert f"{folder}/{POWER_FILE}" in (SYSTEMD / "companion-poweroff.service").read_text()
    assert Unit("companion-wifi.path")["Path"]["PathExists"] == f"{folder}/{REQUEST_FILE}"

    # The folder in which root answers. The unit ends before the service stops waiting for it.
    wifi_service = Unit("companion-wifi.service")["Service"]
    assert str(ANSWER_FILE.parent) == f"/run/{wifi_service['RuntimeDirectory']}"
    assert float(wifi_service["TimeoutStartSec"]) < ANSWER_TIMEOUT_S


def test_units_start_only_existing_commands(capsys: pytest.CaptureFixture[str]) -> None:
    commands_by_unit = [
        re.findall(r"(?m)^ExecStart=.*/bin/companion (\w+)", (SYSTEMD / name).read_text())
        for name in UNITS
    ]
    commands = {command for unit_commands in commands_by_unit for command in unit_commands}
    assert commands == {"play", "lamp", "wifi"}
    # A command that exists prints its help.
    for command in commands:
        with pytest.raises(SystemExit) as exit_info:
            main([command, "--help"])
        assert exit_info.value.code == 0, command


def test_the_announced_service_is_the_pages_port() -> None:
    # avahi announces the pages to the local network.
    service = ElementTree.parse(SYSTEMD / "avahi.service").getroot().find("service")
    assert service is not None
    assert service.findtext("type") == "_http._tcp"
    assert service.findtext("port") == str(WebSettings().port)


# ---- compiled templates --------------------------------------------------------------------------


def test_damaged_compiled_templates_are_compiled_again(tmp_path: Path) -> None:
    """A power cut may leave a damaged file in the cache, which must not stop the pages."""

    def render(text: str) -> str:
        """Render a template through the cache, as a new process would."""
        cache = CompiledTemplates(tmp_path / "cache")
        return (
            Environment(loader=DictLoader({"a": text}), bytecode_cache=cache, autoescape=True)
            .get_template("a")
            .render()
        )

    # The template is compiled to one file. A changed template replaces it.
    assert render("one {{ 1 + 1 }}") == "one 2"
    (file,) = (tmp_path / "cache").iterdir()
    compiled = file.read_bytes()
    assert render("two {{ 1 + 1 }}") == "two 2", "a changed template must be compiled again"

    # The file is empty, cut in the middle, or lacks its last byte.
    for damaged in (b"", compiled[:9], compiled[:-1]):
        file.write_bytes(damaged)
        assert render("one {{ 1 + 1 }}") == "one 2"
        assert file.read_bytes() == compiled, "the damaged file must be written again"
