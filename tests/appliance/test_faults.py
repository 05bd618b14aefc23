"""Test what the service does when its camera is unplugged and plugged in again."""

from __future__ import annotations

import time
from typing import Any

import pytest

from appliance.machine import Machine, until
from appliance.play import Board, fetch_view
from companion.core.ports import CameraState
from companion.games.outbuffered import Outbuffered

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(900)]
CAMERA_TIMEOUT_S = 120.0


@pytest.fixture(autouse=True)
def _long_form(short: bool) -> None:
    if short:
        pytest.skip("part of the long form")


def test_the_service_goes_on_without_its_camera(
    shared_machine: Machine, figures: list[str]
) -> None:
    board = Board(shared_machine, Outbuffered())
    restarts = shared_machine.unit_property("NRestarts")
    board.lay({})
    wait_for_state(shared_machine, CameraState.SEES_BOARD)

    # the camera is unplugged: pictures end, then the device is gone, and the sentence names it
    began_at_s = time.monotonic()
    shared_machine.run("systemctl", "stop", "appliance-camera")
    wait_for_state(shared_machine, CameraState.TROUBLE)
    until(
        "the service to close the device",
        lambda: unload_camera(shared_machine),
        CAMERA_TIMEOUT_S,
        1,
    )
    until(
        "a sentence that names the device",
        lambda: "/dev/video0" in camera(shared_machine)["sentence"],
        CAMERA_TIMEOUT_S,
        1,
    )
    reported_s = time.monotonic() - began_at_s

    # the camera is plugged in again
    shared_machine.run(
        "modprobe", "v4l2loopback", "video_nr=0", "card_label=Table camera", "max_buffers=2"
    )
    shared_machine.run("systemctl", "start", "appliance-camera")
    board.lay({})
    began_at_s = time.monotonic()
    wait_for_state(shared_machine, CameraState.SEES_BOARD)
    figures.append(
        f"camera: reported missing {reported_s:.0f} s after it was unplugged, "
        f"read {time.monotonic() - began_at_s:.0f} s after it was plugged in again"
    )
    assert shared_machine.unit_property("NRestarts") == restarts, "the service was restarted"


def camera(machine: Machine) -> dict[str, Any]:
    """Return what the public view says of the camera."""
    return dict(fetch_view(machine).get("camera") or {"state": "", "sentence": ""})


def wait_for_state(machine: Machine, state: CameraState) -> None:
    """Wait until the camera has this state."""
    until(
        f"the camera's state {state}",
        lambda: camera(machine)["state"] == state,
        CAMERA_TIMEOUT_S,
        1,
    )


def unload_camera(machine: Machine) -> bool:
    """Remove the camera's device, and return whether it is gone.

    The kernel keeps it as long as a process has it open.
    """
    machine.run("modprobe", "-r", "v4l2loopback", check=False)
    return "v4l2loopback" not in machine.run("lsmod")
