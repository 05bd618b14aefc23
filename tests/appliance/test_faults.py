"""Test what the service does when its camera is unplugged and plugged in again."""

from __future__ import annotations

import time
from typing import Any

import pytest

from appliance.house import SharedMachine
from appliance.machine import Machine, until
from appliance.play import Board, view
from companion.core.ports import CameraState
from companion.games.outbuffered import Outbuffered

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(900)]
CAMERA_S = 120.0


@pytest.fixture(autouse=True)
def _long_form(short: bool) -> None:
    if short:
        pytest.skip("part of the long form")


def test_the_service_goes_on_without_its_camera(house: SharedMachine, figures: list[str]) -> None:
    machine = house.machine
    board, restarts = Board(machine, Outbuffered()), machine.property("NRestarts")
    board.lay({})
    until("the board", lambda: camera(machine)["state"] == CameraState.SEES_BOARD, CAMERA_S, 1)
    began_s = time.monotonic()
    machine.run("systemctl", "stop", "appliance-camera")
    until(
        "trouble with the camera",
        lambda: camera(machine)["state"] == CameraState.TROUBLE,
        CAMERA_S,
        1,
    )
    until("the service to close the device", lambda: unload_camera(machine), CAMERA_S, 1)
    until(
        "a sentence that names the device",
        lambda: "/dev/video0" in camera(machine)["sentence"],
        CAMERA_S,
        1,
    )
    pulled_s = time.monotonic() - began_s
    machine.run(
        "modprobe", "v4l2loopback", "video_nr=0", "card_label=Table camera", "max_buffers=2"
    )
    machine.run("systemctl", "start", "appliance-camera")
    board.lay({})
    began_s = time.monotonic()
    until(
        "the board again", lambda: camera(machine)["state"] == CameraState.SEES_BOARD, CAMERA_S, 1
    )
    figures.append(
        f"camera: reported missing {pulled_s:.0f} s after it was unplugged, "
        f"read {time.monotonic() - began_s:.0f} s after it was plugged in again"
    )
    assert machine.property("NRestarts") == restarts, "the service was restarted"


def camera(machine: Machine) -> dict[str, Any]:
    """Return what the public view says of the camera."""
    return dict(view(machine).get("camera") or {"state": "", "sentence": ""})


def unload_camera(machine: Machine) -> bool:
    """Remove the camera's device, and return whether it is gone.

    The kernel keeps it while a process has it open.
    """
    machine.run("modprobe", "-r", "v4l2loopback", check=False)
    return "v4l2loopback" not in machine.run("lsmod")
