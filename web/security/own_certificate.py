"""A certificate that the table makes for itself, because browsers give a camera to pages with HTTPS
alone.

The `openssl` program makes it. No phone trusts it, so that each shows a warning once.
"""

from __future__ import annotations

import ssl
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from companion.core.errors import SystemTrouble
from companion.core.i18n import say
from web.security.rate_limit import parsed_address
from web.security.tls import certificate_context

DAYS = 800
"""Days for which it is made. iPhones accept none for more than 825 (support.apple.com,
HT210176)."""
RENEW_S = 600 * 24 * 3600.0
"""Age in seconds at which it is made anew."""
OPENSSL_TIMEOUT_S = 30.0


class NoCertificate(SystemTrouble):
    """The table cannot make a certificate."""

    kind = "certificate"


def own_certificate(folder: Path, hosts: Iterable[str]) -> ssl.SSLContext:
    """Return how connections are secured with the table's own certificate, made or made anew where
    it is due.

    `hosts` are the names and addresses under which phones ask for it. Raises `NoCertificate`.
    """
    certificate, key = folder / "own-certificate.pem", folder / "own-key.pem"
    if not (key.is_file() and _is_fresh(certificate)):
        _make(certificate, key, hosts)
    return certificate_context(str(certificate), str(key))


def _is_fresh(certificate: Path) -> bool:
    """Return whether it is there and young.

    One from the future was made while the clock was wrong.
    """
    try:
        age_s = time.time() - certificate.stat().st_mtime
    except OSError:
        return False
    return 0 <= age_s < RENEW_S


def _make(certificate: Path, key: Path, hosts: Iterable[str]) -> None:
    names = ",".join(f"{'IP' if parsed_address(host) else 'DNS'}:{host}" for host in hosts)
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
    ]
    command += ["-keyout", str(key), "-out", str(certificate), "-days", str(DAYS)]
    command += ["-subj", "/CN=Tabletop Companion", "-addext", f"subjectAltName={names}"]
    command += ["-addext", "extendedKeyUsage=serverAuth"]
    try:
        # openssl itself writes the key: nobody else may read it meanwhile
        subprocess.run(
            command, capture_output=True, check=True, timeout=OPENSSL_TIMEOUT_S, umask=0o077
        )
    except FileNotFoundError:
        raise NoCertificate(
            say("The table cannot make a certificate: sudo apt install openssl")
        ) from None
    except (OSError, subprocess.SubprocessError) as error:
        raise NoCertificate(
            say("The table cannot make a certificate: {error}", error=str(error))
        ) from None
