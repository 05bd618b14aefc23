"""Pins that belong to a driver: made-up device trees and pin controllers of a Pi 4 and a Pi 5, told by pin and owner."""

from __future__ import annotations

import logging
import struct
from pathlib import Path

import pytest
from gpiozero.pins.mock import MockFactory, MockPWMPin

from companion.core.clock import FakeClock
from companion.core.config import PanelSettings
from companion.service.device_findings import pads
from hardware import panel as panel_module
from hardware.panel import Panel, pin_conflicts
from hardware.pin_owners import PinOwner, pin_owners
from hardware.simulated import simulated_panel

SOC = "proc/device-tree/soc"


def write(root: Path, path: str, content: bytes) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def group(root: Path, name: str, handle: int, *pins: int) -> None:
    """A group of pins on a Pi 1 to 4."""
    write(root, f"{SOC}/gpio@7e200000/{name}/phandle", struct.pack(">I", handle))
    write(root, f"{SOC}/gpio@7e200000/{name}/brcm,pins", b"".join(struct.pack(">I", pin) for pin in pins))


def device(root: Path, path: str, status: str, *handles: int) -> None:
    write(root, f"{path}/pinctrl-0", b"".join(struct.pack(">I", handle) for handle in handles))
    if status:
        write(root, f"{path}/status", status.encode() + b"\0")


@pytest.fixture
def pi4(tmp_path: Path) -> Path:
    """A Pi 4 with its serial port on, SPI and I2C off, 1-Wire on pin 4, PWM on pin 18."""
    group(tmp_path, "uart0_gpio14", 7, 14, 15)
    group(tmp_path, "uart0_gpio32", 8, 32, 33)
    group(tmp_path, "spi0_gpio7", 9, 9, 10, 11)
    group(tmp_path, "i2c1", 10, 2, 3)
    group(tmp_path, "w1_pins@0", 11, 4)
    group(tmp_path, "pwm_pins", 12, 18)
    device(tmp_path, f"{SOC}/serial@7e201000", "okay", 7, 8)
    device(tmp_path, f"{SOC}/spi@7e204000", "disabled", 9)
    device(tmp_path, f"{SOC}/i2c@7e804000", "disabled", 10)
    device(tmp_path, f"{SOC}/pwm@7e20c000", "okay", 12)
    device(tmp_path, "proc/device-tree/onewire@4", "", 11)
    return tmp_path


def test_the_device_tree_tells_whose_pins_are(pi4: Path) -> None:
    serial = PinOwner("serial@7e201000")
    assert pin_owners(pi4) == {14: serial, 15: serial, 4: PinOwner("onewire@4"), 18: PinOwner("pwm@7e20c000")}


def test_a_pi_5_names_its_pins(tmp_path: Path) -> None:
    rp1 = "proc/device-tree/axi/pcie@1000120000/rp1"
    write(tmp_path, f"{rp1}/gpio@d0000/rp1_i2c1_2_3/phandle", struct.pack(">I", 90))
    write(tmp_path, f"{rp1}/gpio@d0000/rp1_i2c1_2_3/pins", b"gpio2\0gpio3\0")
    device(tmp_path, f"{rp1}/i2c@74000", "okay", 90)
    assert pin_owners(tmp_path) == {2: PinOwner("i2c@74000"), 3: PinOwner("i2c@74000")}


def test_the_pin_controller_knows_better_where_it_may_be_read(pi4: Path) -> None:
    write(
        pi4,
        "sys/kernel/debug/pinctrl/fe200000.gpio-pinctrl-bcm2711/pinmux-pins",
        b"Pinmux settings per pin\nFormat: pin (name): mux_owner gpio_owner hog?\n"
        b"pin 8 (gpio8): fe204000.spi (GPIO UNCLAIMED) function alt0 group gpio8\n"
        b"pin 14 (gpio14): (MUX UNCLAIMED) (GPIO UNCLAIMED)\n"
        b"pin 17 (gpio17): (MUX UNCLAIMED) pinctrl-bcm2711:529\n"
        b"pin 40 (gpio40): fe20c800.pwm (GPIO UNCLAIMED) function alt0 group gpio40\n",
    )
    assert pin_owners(pi4) == {8: PinOwner("fe204000.spi")}
    assert pin_owners(pi4)[8].kind == "spi"


def test_a_machine_that_tells_nothing_has_no_owners(tmp_path: Path) -> None:
    assert pin_owners(tmp_path) == {}
    write(tmp_path, f"{SOC}/serial@7e201000/pinctrl-0", b"\0\0")
    write(tmp_path, f"{SOC}/gpio@7e200000/odd/phandle", b"")
    assert pin_owners(tmp_path) == {}


def test_conflicts_are_told_by_pin_and_owner_with_the_remedy(pi4: Path) -> None:
    found = pin_conflicts(PanelSettings(), pin_owners(pi4))
    assert found == (
        "GPIO 4 belongs to 1-Wire (onewire@4), which stops working when the panel takes it. "
        "Remove its dtoverlay from /boot/firmware/config.txt, or use another pin.",
        "GPIO 14 and 15 belong to the serial port (serial@7e201000), which stops working when the panel takes them. "
        "Switch it off: sudo raspi-config, Interface Options, Serial Port, or use other pins.",
    ), "the PWM makes the buzzer's tone"
    (lamp_at_pwm,) = pin_conflicts(PanelSettings(buzzer=""), {17: PinOwner("pwm@7e20c000")})
    assert lamp_at_pwm.startswith("GPIO 17 belongs to the tone generator (PWM) (pwm@7e20c000)")


def test_they_are_told_before_a_pin_is_taken(
    pi4: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    taken_when_told: list[int] = []
    factory = simulated_factory()
    monkeypatch.setattr(panel_module, "open_factory", lambda: factory)
    monkeypatch.setattr(panel_module, "pin_owners", lambda: pin_owners(pi4))
    monkeypatch.setattr(panel_module, "hardware_tone", lambda *_: None)
    log = logging.getLogger(panel_module.__name__)
    monkeypatch.setattr(log, "warning", lambda *_: taken_when_told.append(len(factory.pins)))
    with Panel(PanelSettings(), FakeClock(), lambda _: None, threads=False) as panel:
        assert taken_when_told == [0, 0]
        assert len(panel.conflicts) == 2
        told = [each.text for each in pads(panel, is_simulated=False)]
    assert told[0] == "17 keys and 8 lamps are in use."
    assert told[1:3] == list(panel.conflicts)
    assert "dtoverlay=pwm,pin=18,func=2" in told[3]


def test_simulated_pins_belong_to_nobody() -> None:
    panel, _ = simulated_panel(PanelSettings(), FakeClock(), lambda _: None, threads=False)
    with panel:
        assert panel.conflicts == ()


def simulated_factory() -> MockFactory:
    return MockFactory(revision="c03114", pin_class=MockPWMPin)
