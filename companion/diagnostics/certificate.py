"""The doctor's check of the certificate of the pages. It checks what a phone checks, before a phone
does.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from companion.core.clock import EARLIEST_S
from companion.core.i18n import joined, say
from companion.diagnostics.findings import Finding, ok, warn

SOON_S = 14 * 24 * 3600.0
"""Time in seconds before its expiry at which a certificate should be renewed."""
_NO_CHECK_TIME = 0x20_0000
"""`X509_V_FLAG_NO_CHECK_TIME` of OpenSSL, for which `ssl` has no name. The dates are checked
separately.
"""


@dataclass(frozen=True)
class Validity:
    """Validity period of a certificate in Unix time, and the expected names that it does not cover.

    `refused` is the reason why phones reject it on any day. Empty if they accept it.
    """

    begins_s: float = 0.0
    ends_s: float = 0.0
    not_for: tuple[str, ...] = ()
    refused: str = ""


def validity(served: ssl.SSLContext, certificate: str, names: Sequence[str] = ()) -> Validity:
    """Return the validity of a certificate to a phone that trusts the issuer in this PEM file."""
    try:
        begins, ends = _dates(served, certificate)
    except ssl.SSLError as error:
        return Validity(refused=getattr(error, "verify_message", "") or str(error))
    not_for = []
    for name in names:
        try:
            _dates(served, certificate, name)
        except (ssl.SSLError, UnicodeError):  # or a name that no certificate can have
            not_for.append(name)
    return Validity(begins, ends, tuple(not_for))


def _dates(
    served: ssl.SSLContext, certificate: str, name: str | None = None
) -> tuple[float, float]:
    """Return the first and last second of a certificate, from a TLS handshake in memory.

    Raises `ssl.SSLError` if it does not cover `name`.
    """
    phone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    phone.check_hostname = name is not None
    phone.load_verify_locations(Path(certificate).expanduser())
    # an issuer in the file is trusted without a root certificate above it
    phone.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | _NO_CHECK_TIME
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        phone.wrap_bio(down, up, server_hostname=name),
        served.wrap_bio(up, down, server_side=True),
    )
    # each end in turn: three rounds are enough to complete the handshake
    for end in ends * 3:
        with suppress(ssl.SSLWantReadError):
            end.do_handshake()
    details = ends[0].getpeercert() or {}
    first, last = (ssl.cert_time_to_seconds(str(details[key])) for key in ("notBefore", "notAfter"))
    return first, last


def certificate(validity: Validity | None, now_s: float) -> Iterator[Finding]:
    """Yield whether phones accept the certificate today. None: the pages are served over HTTP."""
    if validity is None:
        return
    if validity.refused:
        text = say("Phones will not accept the certificate: {why}.", why=validity.refused)
        yield warn("https", text)
        return
    yield _today(validity, now_s)
    for name in validity.not_for:
        text = say(
            "The certificate does not cover {name}, so phones show a warning. Have it issued for "
            "this name too, or remove the name.",
            name=name,
        )
        yield warn("https", text)


def _today(validity: Validity, now_s: float) -> Finding:
    begins, ends = (
        time.strftime("%Y-%m-%d", time.gmtime(at_s))
        for at_s in (validity.begins_s, validity.ends_s)
    )
    # a clock that was never set cannot be used to check dates
    if now_s < EARLIEST_S or validity.begins_s <= now_s <= validity.ends_s - SOON_S:
        return ok("https", say("The certificate is valid until {day}.", day=ends))
    if now_s < validity.begins_s:
        text = say(
            "The certificate is not valid before {day}, and phones reject it until then: is the "
            "clock right?",
            day=begins,
        )
        return warn("https", text)
    if now_s > validity.ends_s:
        text = say(
            "The certificate expired on {day}: phones show a warning or do not connect.", day=ends
        )
    else:
        text = say("The certificate expires on {day}.", day=ends)
    advice = say("Renew it, then restart the companion.")
    return warn("https", joined(" ", (text, advice)))
