"""Which phone is the camera: a code for one phone and ten minutes, kept over a restart."""

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
    mark = pairing.pair(f" {code[:4].upper()}-{code[4:]} ", "192.0.2.9")
    assert pairing.is_camera(mark)
    late = pairing.code()
    clock.advance(PAIRING_CODE_S)
    for gone in (code, late):
        with pytest.raises(Illegal, match="used or too old"):
            pairing.pair(gone, "192.0.2.10")
    assert pairing.code() not in (code, late)


def test_guessing_ends_soon_and_keeps_nobody_else_out(pairing: PhonePairing) -> None:
    code = pairing.code()
    for _ in range(5):
        with pytest.raises(Illegal, match="used or too old"):
            pairing.pair("22222222", "192.0.2.9")
    with pytest.raises(Illegal, match="wait a minute"):
        pairing.pair(code, "192.0.2.9")
    assert pairing.pair(code, "192.0.2.10")


def test_the_phone_is_known_after_a_restart(
    pairing: PhonePairing, clock: FakeClock, tmp_path: Path
) -> None:
    mark = pairing.pair(pairing.code(), "192.0.2.9")
    file = tmp_path / "phone.json"
    assert PhonePairing(file, clock.monotonic_s).is_camera(mark)
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("{")
    assert PhonePairing(file, clock.monotonic_s).token == ""
