"""Real Picamera2 keeps the camera contract that the fake keeps in `make test`."""

from __future__ import annotations

import re
import subprocess
import time

import pytest

from appliance import build, cameras

AT_REST = 1000
"""Context switches a second of a panel at rest: lgpio looks for edges, 640 to 790 times when tried, and for tones."""
pytestmark = [pytest.mark.appliance, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory, short: bool, figures: list[str]) -> str:
    """All that the machine with two virtual cameras has said."""
    if short:
        pytest.skip("the machine with cameras is not in the short form")
    try:
        disk = cameras.camera_disk()
    except build.CannotBuild as reason:
        pytest.skip(f"the machine cannot be built: {reason}")
    except subprocess.CalledProcessError as error:
        pytest.fail(build.told(error), pytrace=False)
    began_s = time.monotonic()
    said = cameras.run_contract(disk, tmp_path_factory.mktemp("cameras"), 900)
    figures.append(f"machine with cameras: {time.monotonic() - began_s:.0f} s")
    return said


def test_real_picamera2_keeps_the_camera_contract(said: str, figures: list[str]) -> None:
    passed = re.findall(r"::(\S+)\[real[^\]]*\] PASSED", said)
    figures.append(f"camera contract on real Picamera2: {len(passed)} tests")
    assert "contract: status 0" in said, said[-6000:]
    assert len(passed) >= 12, said[-6000:]


def test_a_panel_works_on_real_lines_through_lgpio(said: str, figures: list[str]) -> None:
    rates = {
        state: int(rate)
        for state, rate in re.findall(r"panel (at rest|lit|dark again): (\d+) switches", said)
    }
    figures.append(f"panel, switches a second: {rates}")
    for state in ("at rest", "lit", "dark again"):
        assert rates[state] <= AT_REST, state
    for press in ("('south', 'up', False)", "('north', 'back', False)"):
        assert said.count(press) == 5, press
    assert "panel tone: ['0', '1'] then ['0']" in said
    assert re.search(r"lit: .* lines \[\('1', '0'\)\]", said), (
        "one lamp is wired to ground, one to 3V3"
    )
    assert re.search(r"dark again: .* lines \[\('0', '1'\)\]", said)
