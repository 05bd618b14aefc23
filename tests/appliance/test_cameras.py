"""Test the real Picamera2 by the camera contract, which `make test` runs on the fake.

The tests of the contract run inside a machine under QEMU. Here their results are read from its
console.
"""

from __future__ import annotations

import re
import subprocess
import time

import pytest

from appliance import build, cameras

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def machine_output(
    tmp_path_factory: pytest.TempPathFactory, short: bool, figures: list[str]
) -> str:
    """What the machine with two virtual cameras prints on its console."""
    if short:
        pytest.skip("the machine with cameras is not in the short form")
    try:
        disk = cameras.camera_disk()
    except build.CannotBuild as reason:
        pytest.skip(f"the machine cannot be built: {reason}")
    except subprocess.CalledProcessError as error:
        pytest.fail(build.describe_failure(error), pytrace=False)
    began_at_s = time.monotonic()
    machine_output = cameras.run_contract(disk, tmp_path_factory.mktemp("cameras"), 900)
    figures.append(f"machine with cameras: {time.monotonic() - began_at_s:.0f} s")
    return machine_output


def test_real_picamera2_keeps_the_camera_contract(machine_output: str, figures: list[str]) -> None:
    passed = re.findall(r"::(\S+)\[real[^\]]*\] PASSED", machine_output)
    figures.append(f"camera contract on real Picamera2: {len(passed)} tests")
    assert "contract: status 0" in machine_output, machine_output[-6000:]
    # a contract of fewer tests was not collected whole
    assert len(passed) >= 12, machine_output[-6000:]
