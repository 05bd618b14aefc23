"""The certificate that a table makes for itself, because browsers give a camera by HTTPS alone."""

from __future__ import annotations

import os
import ssl
import time
from pathlib import Path

import pytest

from companion.diagnostics.certificate import validity
from web.security import tls as own
from web.security.tls import NoCertificate, own_certificate

HOSTS = ("192.0.2.7", "table.local", "::1")


def test_it_is_for_the_tables_names_and_addresses(tmp_path: Path) -> None:
    served = own_certificate(tmp_path, HOSTS)
    found = validity(served, str(tmp_path / "own-certificate.pem"), (*HOSTS, "example.org"))
    assert found.refused == ""
    assert found.not_for == ("example.org",)
    assert 700 < (found.ends_s - time.time()) / 86400 < 825
    assert (tmp_path / "own-key.pem").stat().st_mode & 0o077 == 0


def test_it_is_kept_and_made_anew_in_time(tmp_path: Path) -> None:
    file = tmp_path / "own-certificate.pem"

    def made(age_s: float) -> bytes:
        if file.exists():
            os.utime(file, (time.time() - age_s, time.time() - age_s))
        assert isinstance(own_certificate(tmp_path, HOSTS), ssl.SSLContext)
        return file.read_bytes()

    first = made(0)
    assert made(1000) == first
    second = made(own.RENEW_S + 1)
    assert second != first
    assert made(-5000) != second, "it was made while the clock was wrong"


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCertificate, match="sudo apt install openssl"):
        own_certificate(tmp_path, HOSTS)
