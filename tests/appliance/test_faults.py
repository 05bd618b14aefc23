"""What goes wrong on a shelf: a camera is pulled and put back, the supply is weak, the case is too warm."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from appliance.house import House
from appliance.machine import Machine, until
from appliance.play import Board, view
from companion.core.ports import CameraState
from companion.games.outbuffered import Outbuffered

pytestmark = [pytest.mark.appliance, pytest.mark.timeout(900)]
THROTTLED, TEMPERATURE = "/run/appliance/throttled", "/run/appliance/thermal/thermal_zone0/temp"
LOOKED_AT_S = 150.0
"""The service looks at the machine once a minute."""
CAMERA_S = 120.0


@pytest.fixture(autouse=True)
def _long_form(short: bool) -> None:
    if short:
        pytest.skip("part of the long form")


def findings(machine: Machine) -> dict[str, tuple[str, str]]:
    """What the doctor finds, the worst of each topic: grade and words."""
    grades = ("ok", "note", "warn", "fail")
    found: dict[str, tuple[str, str]] = {}
    for each in json.loads(
        machine.run("companion", "doctor", "--json", check=False, timeout_s=180)
    )["findings"]:
        before = found.get(each["topic"], ("ok", ""))[0]
        if each["topic"] not in found or grades.index(each["grade"]) > grades.index(before):
            found[each["topic"]] = each["grade"], each["text"]
    return found


def status(machine: Machine) -> str:
    """What `/health` says of the machine."""
    return str(json.loads(machine.ask("fetch", "http://127.0.0.1:8080/health")[1])["machine"])


def test_low_voltage_and_heat_are_told_and_forgotten(house: House, figures: list[str]) -> None:
    machine = house.machine
    before = findings(machine)
    assert before["power"] == ("ok", "The voltage is fine, and nothing is slowed down.")
    assert before["warmth"] == ("ok", "The processor is at 48 °C.")
    machine.ask("write", THROTTLED, "0x50005\n")
    machine.ask("write", TEMPERATURE, "82000\n")
    began_s = time.monotonic()
    until("a word on the weak supply", lambda: status(machine) == "warn", LOOKED_AT_S, 2)
    figures.append(
        f"low voltage and heat: told {time.monotonic() - began_s:.0f} s after they began"
    )
    now = findings(machine)
    assert now["power"][0] == "warn"
    assert "The voltage is too low now" in now["power"][1]
    assert now["warmth"][0] == "warn"
    assert now["warmth"][1].startswith("The processor is at 82 °C. It is slowing down to cool")
    machine.ask("write", THROTTLED, "0x0\n")
    machine.ask("write", TEMPERATURE, "48312\n")
    until("no more word of it", lambda: status(machine) != "warn", LOOKED_AT_S, 2)


def test_a_camera_is_pulled_and_put_back(house: House, figures: list[str]) -> None:
    machine = house.machine
    board, restarts = Board(machine, Outbuffered()), machine.property("NRestarts")
    board.lay({})
    until("the board", lambda: camera(machine)["state"] == CameraState.SEES_BOARD, CAMERA_S, 1)
    began_s = time.monotonic()
    machine.run("systemctl", "stop", "appliance-camera")
    until("trouble", lambda: camera(machine)["state"] == CameraState.TROUBLE, CAMERA_S, 1)
    until("the device to be let go", lambda: is_pulled(machine), CAMERA_S, 1)
    until("its name", lambda: "/dev/video0" in camera(machine)["sentence"], CAMERA_S, 1)
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
        f"camera: told to be missing {pulled_s:.0f} s after it was pulled, read {time.monotonic() - began_s:.0f} s after "
        "it was put back"
    )
    assert machine.property("NRestarts") == restarts, "the service went on"


def camera(machine: Machine) -> dict[str, Any]:
    """How the table sees its camera."""
    return dict(view(machine).get("camera") or {"state": "", "sentence": ""})


def is_pulled(machine: Machine) -> bool:
    """Take the camera's device away; nobody may hold it open then."""
    machine.run("modprobe", "-r", "v4l2loopback", check=False)
    return "v4l2loopback" not in machine.run("lsmod")
