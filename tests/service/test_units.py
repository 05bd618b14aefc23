"""The units: closed as far as they can be, understood by systemd, fitting the program; and a start
without a network.
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
# Highest exposure of each unit by `systemd-analyze security`, 0 to 10. docs/security.md says why
# a browser cannot be closed further.
MOST_EXPOSED = {
    "companion.service": 2.0,
    "companion-lamp.service": 2.0,
    "companion-poweroff.service": 2.0,
    "companion-wifi.service": 2.0,
    "companion-kiosk.service": 7.0,
}
UNKNOWN_TO_252 = {"RestartSteps", "RestartMaxDelaySec"}
needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd is not installed"
)


class Unit(configparser.RawConfigParser):
    """A unit file: keys as they are written, the last of those that come twice."""

    def __init__(self, name: str) -> None:
        super().__init__(strict=False)
        self.optionxform = str  # type: ignore[assignment,method-assign] # keys have capitals
        self.read(SYSTEMD / name)


@needs_systemd
@pytest.mark.parametrize(("name", "most"), MOST_EXPOSED.items())
def test_it_is_as_closed_as_it_should_be(name: str, most: float) -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(SYSTEMD / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stderr
    print(f"systemd-analyze security {name}: {found[1]}")
    assert float(found[1]) <= most


def test_every_service_has_a_bounded_exposure() -> None:
    assert set(MOST_EXPOSED) == {name for name in UNITS if name.endswith(".service")}
    page = " ".join((SYSTEMD.parent / "docs/security.md").read_text(encoding="utf-8").split())
    assert "`companion-kiosk` stays at 7.0 or below, because" in page


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_every_line(name: str, tmp_path: Path) -> None:
    for unit in UNITS:  # with programs that are there: what is wrong then is the unit's own
        text = (SYSTEMD / unit).read_text()
        (tmp_path / unit).write_text(
            re.sub(
                r"(?m)^(ExecStart=)(/usr/lib/tabletop\S+|/usr/bin/cage)",
                rf"\1{sys.executable}",
                text,
            )
        )
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / name)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()
    ours = [line for line in said if str(tmp_path) in line or line.startswith(name)]
    assert [line for line in ours if not any(f"'{key}'" in line for key in UNKNOWN_TO_252)] == []


def test_nothing_waits_for_a_network() -> None:
    for name in UNITS:
        unit = Unit(name)["Unit"]
        for key in ("After", "Wants", "Requires", "BindsTo"):
            assert "network" not in unit.get(key, ""), f"{name}: {key}"


def test_folders_are_those_that_the_program_means() -> None:
    folder = f"/run/{Unit('companion.service')['Service']['RuntimeDirectory']}"
    assert str(RUN_FOLDER) == folder
    assert Unit("companion-poweroff.path")["Path"]["PathExists"] == f"{folder}/{POWER_FILE}"
    assert f"{folder}/{POWER_FILE}" in (SYSTEMD / "companion-poweroff.service").read_text()
    assert Unit("companion-wifi.path")["Path"]["PathExists"] == f"{folder}/{REQUEST_FILE}"
    answers = Unit("companion-wifi.service")["Service"]
    assert str(ANSWER_FILE.parent) == f"/run/{answers['RuntimeDirectory']}"
    assert float(answers["TimeoutStartSec"]) < ANSWER_TIMEOUT_S


def test_units_start_only_existing_commands(capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        re.findall(r"(?m)^ExecStart=.*/bin/companion (\w+)", (SYSTEMD / name).read_text())
        for name in UNITS
    ]
    commands = {command for each in found for command in each}
    assert commands == {"play", "lamp", "wifi"}
    for command in commands:
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0, command


def test_the_network_name_leads_to_the_pages() -> None:
    service = ElementTree.parse(SYSTEMD / "avahi.service").getroot().find("service")
    assert service is not None
    assert service.findtext("type") == "_http._tcp"
    assert service.findtext("port") == str(WebSettings().port)


# ---- compiled templates --------------------------------------------------------------------------


def test_damaged_compiled_templates_are_compiled_again(tmp_path: Path) -> None:
    def page(text: str) -> str:
        cache = CompiledTemplates(tmp_path / "kept")
        return (
            Environment(loader=DictLoader({"a": text}), bytecode_cache=cache, autoescape=True)
            .get_template("a")
            .render()
        )

    assert page("one {{ 1 + 1 }}") == "one 2"
    (kept,) = (tmp_path / "kept").iterdir()
    whole = kept.read_bytes()
    assert page("two {{ 1 + 1 }}") == "two 2", "another text is another template"
    for damaged in (b"", whole[:9], whole[:-1]):
        kept.write_bytes(damaged)
        assert page("one {{ 1 + 1 }}") == "one 2"
        assert kept.read_bytes() == whole, "mended"
