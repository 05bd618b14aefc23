"""Who makes tones and light: nothing runs at rest, and the hardware makes the tone where it has the pin."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpiozero.pins.mock import MockFactory, MockPin, MockPWMPin
from panel_tools import SOUTH, Rig

from companion.core.config import PanelSettings
from companion.core.kit import Seat
from companion.core.ports import Cue, SeatLamps, TurnLamp
from hardware.pin_owners import PinOwner
from hardware.pwm_buzzer import hardware_tone
from hardware.wiring import Buzzer, Lamp, LampPin

HIGH, LOW = LampPin("a", Seat.SOUTH, "1", 17, False), LampPin("b", Seat.SOUTH, "2", 14, True)


def running(rig: Rig) -> list[int]:
    """The pins on which a PWM runs: each wakes the processor hundreds of times a second."""
    return [number for number, pin in pins(rig).items() if getattr(pin, "frequency", None) is not None]


def pins(rig: Rig) -> dict[int, MockPWMPin]:
    lamps = {lamp.pin: device._device.pin for lamp, device in rig.panel._lamps.items()}
    assert rig.panel.sounder is not None
    return {**lamps, 18: rig.panel.sounder._device.pin}


def test_a_panel_at_rest_runs_no_pwm() -> None:
    rig = Rig(PanelSettings())
    with rig.panel:
        assert len(pins(rig)) == 9
        assert running(rig) == []
        rig.show(SeatLamps(frozenset({1}), TurnLamp.ON))
        assert set(running(rig)) == {17, 4}, "two lamps, dimmed to 40 %"
        rig.show(SeatLamps())
        assert running(rig) == []
        rig.signal(Cue.KEY_TAKEN, SOUTH)
        assert running(rig) == [18]
        rig.after(1000)
        assert running(rig) == []


def test_full_brightness_runs_no_pwm() -> None:
    rig = Rig(PanelSettings(brightness=1.0))
    with rig.panel:
        rig.show(SeatLamps(frozenset({1}), TurnLamp.ON))
        assert rig.lit() == {"south_1", "south_turn"}
        assert running(rig) == []


@pytest.mark.parametrize("lamp", [HIGH, LOW])
def test_a_lamp_goes_between_dark_dimmed_and_full(lamp: LampPin) -> None:
    factory = MockFactory(pin_class=MockPWMPin)
    device = Lamp(lamp, factory)
    pin = factory.pin(lamp.pin)
    for level, brightness, expected in ((0, 1, 0.0), (1, 0.4, 0.4), (1, 1, 1.0), (0.5, 0.4, 0.2), (0, 1, 0.0)):
        device.show(level, brightness)
        assert float(pin.state) == pytest.approx(1 - expected if lamp.is_active_low else expected)
        assert (pin.frequency is None) == (expected in (0.0, 1.0))
    device.show(1, 0.4)
    device.close()
    assert pin.frequency is None


def test_a_lamp_on_pins_without_pwm_is_on_or_off() -> None:
    factory = MockFactory(pin_class=MockPin)
    device = Lamp(HIGH, factory)
    assert not device.can_dim
    device.show(1, 0.4)
    assert factory.pin(17).state
    device.show(0.4, 0.4)
    assert not factory.pin(17).state
    device.close()


# ---- the hardware's tone ----------------------------------------------------------------------------------------

PWM = PinOwner("pwm@7e20c000")


class Chip:
    """A PWM chip made of files, which export a channel as the kernel does."""

    def __init__(self, root: Path, node: str = "soc/pwm@7e20c000", device: str = "fe20c000.pwm") -> None:
        self.root = root
        self.folder = root / "sys/class/pwm/pwmchip0"
        self.folder.mkdir(parents=True)
        of_node = root / "sys/firmware/devicetree/base" / node
        of_node.mkdir(parents=True)
        platform = root / "sys/devices/platform/soc" / device
        platform.mkdir(parents=True)
        (platform / "of_node").symlink_to(of_node)
        (self.folder / "device").symlink_to(platform)

    def channel(self, number: int, period: int = 0) -> Path:
        folder = self.folder / f"pwm{number}"
        folder.mkdir()
        for name, value in (("period", period), ("duty_cycle", 0), ("enable", 0)):
            (folder / name).write_text(str(value))
        return folder


def said(folder: Path) -> tuple[int, int, int]:
    """Period and duty cycle in ns, and whether it is on."""
    period, duty, enable = (int((folder / name).read_text()) for name in ("period", "duty_cycle", "enable"))
    return period, duty, enable


def test_the_hardware_makes_the_tone_where_it_has_the_pin(tmp_path: Path) -> None:
    folder = Chip(tmp_path).channel(0)
    tone = hardware_tone(18, {18: PWM}, tmp_path)
    assert tone is not None
    factory = MockFactory(pin_class=MockPWMPin)
    buzzer = Buzzer(18, factory, tone)
    assert buzzer.is_made_by_hardware
    buzzer.sound(440.0)
    assert said(folder) == (2_272_727, 1_136_363, 1)
    buzzer.sound(880.0)
    assert said(folder) == (1_136_364, 568_182, 1)
    buzzer.sound(None)
    assert said(folder)[2] == 0
    buzzer.sound(440.0)
    buzzer.close()
    assert said(folder)[2] == 0
    assert not factory.pins, "the pin stays with its driver"


def test_the_channel_is_that_of_the_board(tmp_path: Path) -> None:
    chip = Chip(tmp_path, "axi/pcie@1000120000/rp1/pwm@98000", "1f00098000.pwm")
    folder = chip.channel(2, period=1000)
    tone = hardware_tone(18, {18: PinOwner("pwm@98000")}, tmp_path)
    assert tone is not None
    tone.sound(1000.0)
    assert said(folder) == (1_000_000, 500_000, 1)
    tone.close()
    tone.close()


@pytest.mark.parametrize("owner", [PinOwner("spi@7e204000"), PinOwner("pwm@7e20c800")])
def test_another_owner_makes_no_tone(tmp_path: Path, owner: PinOwner) -> None:
    Chip(tmp_path).channel(0)
    assert hardware_tone(18, {18: owner}, tmp_path) is None
    assert hardware_tone(18, {}, tmp_path) is None
    assert hardware_tone(17, {17: PWM}, tmp_path) is None, "no PWM reaches this pin"


def test_a_channel_that_may_not_be_used_is_named_and_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Chip(tmp_path)
    (tmp_path / "sys/class/pwm/pwmchip0/pwm0").mkdir()
    monkeypatch.setattr("hardware.pwm_buzzer.READY_S", 0.0)
    assert hardware_tone(18, {18: PWM}, tmp_path) is None
    assert "The hardware's tone on GPIO 18 cannot be used" in caplog.text
