"""Tests of pairing a phone as the camera, with `PhonePairing` on a fake clock.

A code pairs one phone within ten minutes. The pairing outlasts a restart.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from companion.core.clock import FakeClock
from companion.core.errors import Illegal
from web.security.codes import PAIRING_CODE_S, PhonePairing


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def pairing(tmp_path: Path, clock: FakeClock) -> PhonePairing:
    return PhonePairing(tmp_path / "phone.json", clock.monotonic_s)


def test_a_code_pairs_one_phone_in_ten_minutes(pairing: PhonePairing, clock: FakeClock) -> None:
    code = pairing.code()
    assert pairing.code() == code
    token = pairing.pair(f" {code[:4].upper()}-{code[4:]} ", "192.0.2.9")
    assert pairing.is_camera(token)
    expired = pairing.code()
    clock.advance(PAIRING_CODE_S)
    for invalid in (code, expired):
        with pytest.raises(Illegal, match="used or too old"):
            pairing.pair(invalid, "192.0.2.10")
    assert pairing.code() not in (code, expired)


def test_guessing_blocks_only_the_guessing_phone(pairing: PhonePairing) -> None:
    code = pairing.code()
    for _ in range(5):
        with pytest.raises(Illegal, match="used or too old"):
            pairing.pair("22222222", "192.0.2.9")
    with pytest.raises(Illegal, match="wait a minute"):
        pairing.pair(code, "192.0.2.9")
    assert pairing.pair(code, "192.0.2.10")


def test_a_pairing_outlasts_a_restart(
    pairing: PhonePairing, clock: FakeClock, tmp_path: Path
) -> None:
    token = pairing.pair(pairing.code(), "192.0.2.9")
    file = tmp_path / "phone.json"
    assert PhonePairing(file, clock.monotonic_s).is_camera(token)
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("{")
    assert PhonePairing(file, clock.monotonic_s).token == ""
