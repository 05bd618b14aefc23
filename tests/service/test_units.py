"""Test the systemd units against systemd's own checks and the program, and compiled templates."""

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
# Highest exposure of each unit by `systemd-analyze security`, 0 to 10. docs/security.md says why
# a browser cannot be closed further.
MAX_EXPOSURE = {
    "companion.service": 2.0,
    "companion-lamp.service": 2.0,
    "companion-poweroff.service": 2.0,
    "companion-wifi.service": 2.0,
    "companion-kiosk.service": 7.0,
}
# Keys that systemd 252 of Debian 12 does not know yet. It ignores them.
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
    assert set(MAX_EXPOSURE) == {name for name in UNITS if name.endswith(".service")}
    page = " ".join((SYSTEMD.parent / "docs/security.md").read_text(encoding="utf-8").split())
    assert "`companion-kiosk` stays at 7.0 or below, because" in page


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_every_line(name: str, tmp_path: Path) -> None:
    # Programs that are not installed here are replaced: systemd refuses units without theirs.
    for unit in UNITS:
        text = (SYSTEMD / unit).read_text()
        (tmp_path / unit).write_text(
            re.sub(
                r"(?m)^(ExecStart=)(/usr/lib/tabletop\S+|/usr/bin/cage)",
                rf"\1{sys.executable}",
                text,
            )
        )
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / name)]
    errors = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    unit_errors = [
        line for line in errors.splitlines() if str(tmp_path) in line or line.startswith(name)
    ]
    assert [
        line for line in unit_errors if not any(f"'{key}'" in line for key in UNKNOWN_TO_252)
    ] == []


def test_no_unit_waits_for_a_network() -> None:
    for name in UNITS:
        unit = Unit(name)["Unit"]
        for key in ("After", "Wants", "Requires", "BindsTo"):
            assert "network" not in unit.get(key, ""), f"{name}: {key}"


def test_units_and_program_agree_on_paths() -> None:
    folder = f"/run/{Unit('companion.service')['Service']['RuntimeDirectory']}"
    assert str(RUN_FOLDER) == folder
    assert Unit("companion-poweroff.path")["Path"]["PathExists"] == f"{folder}/{POWER_FILE}"
    assert f"{folder}/{POWER_FILE}" in (SYSTEMD / "companion-poweroff.service").read_text()
    assert Unit("companion-wifi.path")["Path"]["PathExists"] == f"{folder}/{REQUEST_FILE}"
    answers = Unit("companion-wifi.service")["Service"]
    assert str(ANSWER_FILE.parent) == f"/run/{answers['RuntimeDirectory']}"
    assert float(answers["TimeoutStartSec"]) < ANSWER_TIMEOUT_S


def test_units_start_only_existing_commands(capsys: pytest.CaptureFixture[str]) -> None:
    commands_by_unit = [
        re.findall(r"(?m)^ExecStart=.*/bin/companion (\w+)", (SYSTEMD / name).read_text())
        for name in UNITS
    ]
    commands = {command for unit_commands in commands_by_unit for command in unit_commands}
    assert commands == {"play", "lamp", "wifi"}
    for command in commands:
        with pytest.raises(SystemExit) as exit_info:
            main([command, "--help"])
        assert exit_info.value.code == 0, command


def test_the_announced_service_is_the_pages_port() -> None:
    service = ElementTree.parse(SYSTEMD / "avahi.service").getroot().find("service")
    assert service is not None
    assert service.findtext("type") == "_http._tcp"
    assert service.findtext("port") == str(WebSettings().port)


# ---- compiled templates --------------------------------------------------------------------------


def test_damaged_compiled_templates_are_compiled_again(tmp_path: Path) -> None:
    def render(text: str) -> str:
        cache = CompiledTemplates(tmp_path / "cache")
        return (
            Environment(loader=DictLoader({"a": text}), bytecode_cache=cache, autoescape=True)
            .get_template("a")
            .render()
        )

    assert render("one {{ 1 + 1 }}") == "one 2"
    (file,) = (tmp_path / "cache").iterdir()
    compiled = file.read_bytes()
    assert render("two {{ 1 + 1 }}") == "two 2", "a changed template is taken from the cache"
    for damaged in (b"", compiled[:9], compiled[:-1]):
        file.write_bytes(damaged)
        assert render("one {{ 1 + 1 }}") == "one 2"
        assert file.read_bytes() == compiled, "the damaged file is not written again"
