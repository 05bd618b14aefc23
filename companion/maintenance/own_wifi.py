"""The table's own Wi-Fi, for a machine that starts without a network.

It opens by itself, and stays until the table joins the Wi-Fi that its owner names on a page.

The service may not change the network. It leaves a request in its own folder under `/run`. systemd
notices the file (companion-wifi.path) and runs `companion wifi` as root, which carries the request
out and answers in a folder of root's. No password appears in a log or on a command line.
"""

from __future__ import annotations

import re
import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from companion.core.clock import Clock
from companion.core.errors import Malformed, wrong_phase
from companion.core.files import describe_os_error, read_file, replace_file
from companion.core.i18n import say
from companion.core.network import HOTSPOT_ADDRESS, InterfaceAddress, Wifi, interface_addresses

# Name of the request file in the service's folder, which companion-wifi.path watches.
REQUEST_FILE = "wifi"
# File of root's answer to the last request.
ANSWER_FILE = Path("/run/companion-wifi/answer")
# Maximum size of a request or an answer in bytes. The longest names and passwords take some 500.
MAX_REQUEST_BYTES = 2000
# Time in seconds without an address after which the table's Wi-Fi opens. Shorter: it opens while a
# slow router still starts. Longer: people at a table without a network have to wait.
NO_ADDRESS_TIMEOUT_S = 120.0
# Timeout in seconds for an answer. One attempt to join a Wi-Fi and three to open the table's take
# up to 250.
ANSWER_TIMEOUT_S = 300.0
# Password of the table's Wi-Fi while the table has no owner, and when the table button opens it.
PUBLIC_PASSWORD = "tabletop"
# Beginning of all addresses in the table's Wi-Fi.
HOTSPOT_NET = HOTSPOT_ADDRESS.rpartition(".")[0] + "."
# A WPA passphrase or key (IEEE 802.11, annex J.4). Empty: the network is open.
_PASSWORD = re.compile(r"([ -~]{8,63}|[0-9A-Fa-f]{64})?")
# Maximum length of an SSID (IEEE 802.11, 9.4.2.2).
_MAX_NAME_BYTES = 32

# Why a request failed, as root answers it. Empty: it did not.
Trouble = Literal["", "no_radio", "password", "not_found", "refused"]


class WifiRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to root: join a Wi-Fi, or open the table's."""

    number: str
    """Random text that the answer repeats, so that it is recognised."""
    hotspot: Wifi | None = None
    """The table's Wi-Fi.

    It is opened if there is no Wi-Fi to join, and opened again if that one cannot be joined.
    """
    wifi: Wifi | None = None
    """The Wi-Fi to join."""


class WifiAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome of a request."""

    number: str
    """That of the request."""
    hotspot: Wifi | None = None
    """The table's Wi-Fi if it is open now."""
    trouble: Trouble = ""
    """Why the request failed."""


def require_valid_wifi(wifi: Wifi) -> None:
    """Raise `Malformed` for a name or password that no Wi-Fi can have."""
    has_control = any(ord(letter) < 32 or ord(letter) == 127 for letter in wifi.name)
    size = len(wifi.name.encode(errors="replace"))
    if not 0 < size <= _MAX_NAME_BYTES or has_control:
        raise Malformed(say("The name of a Wi-Fi has 1 to 32 characters."))
    if not _PASSWORD.fullmatch(wifi.password):
        raise Malformed(
            say("A Wi-Fi password has 8 to 63 letters, digits and signs of an English keyboard.")
        )


class OwnWifi:
    """The service's side of the table's Wi-Fi. Any thread may call any method.

    The service calls `step` every few seconds.

    :param folder: the service's folder, for requests
    :param password: returns the password with which the table's Wi-Fi opens by itself
    :param report: called after every change, with whether the table's Wi-Fi is open
    :param answer: file of root's answers. Tests replace it
    :param addresses: returns the machine's present addresses. Tests replace it
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        password: Callable[[], str],
        report: Callable[[bool], None],
        *,
        answer: Path = ANSWER_FILE,
        addresses: Callable[[], Sequence[InterfaceAddress]] = interface_addresses,
    ) -> None:
        self._request_path = folder / REQUEST_FILE
        self._answer_path = answer
        self._clock = clock
        self._password = password
        self._report = report
        self._addresses = addresses
        self._lock = threading.RLock()
        self._pending: WifiRequest | None = None
        # Time of the last event: a request, the opening of the table's Wi-Fi, or the beginning of a
        # wait for an address.
        self._last_event_s = clock.monotonic_s()
        # Whether the service is waiting for an address.
        self._waits_for_address = True
        self.trouble = ""
        """Reason why the last request failed, as a sentence."""
        self.hotspot: Wifi | None = None
        """The table's Wi-Fi. None if it is closed."""

    @property
    def joining_name(self) -> str:
        """Name of the Wi-Fi that root is trying to join. Empty if there is none."""
        request = self._pending
        return request.wifi.name if request and request.wifi else ""

    def step(self) -> None:
        """Read the answer to a request, or open the table's Wi-Fi after a long time offline."""
        with self._lock:
            waited_s = self._clock.monotonic_s() - self._last_event_s
            if self._pending is not None:
                self._handle_answer(self._pending, waited_s)
                return
            ips = {address.ip for address in self._addresses() if address.has_hardware}
            # an earlier run of the service may have opened it, and anybody may close it
            last = self._read_answer() if HOTSPOT_ADDRESS in ips else None
            hotspot = last.hotspot if last else None
            if hotspot != self.hotspot:
                self.hotspot = hotspot
                self._report(hotspot is not None)
            if self._waits_for_address:
                # one address is enough: losing the network later opens nothing
                self._waits_for_address = not ips
                if not ips and waited_s >= NO_ADDRESS_TIMEOUT_S:
                    self.open(self._password())

    def open(self, password: str) -> None:
        """Request to open the table's Wi-Fi, under the name of the machine."""
        host = re.sub(r"[^A-Za-z0-9.-]", "", socket.gethostname().partition(".")[0])
        self._request(Wifi(f"Tabletop {host}"[:_MAX_NAME_BYTES].rstrip(), password))

    def join(self, wifi: Wifi) -> None:
        """Request to join another Wi-Fi.

        Raises `Malformed`, and `Illegal` while another request is pending.
        """
        require_valid_wifi(wifi)
        with self._lock:
            if self._pending is not None:
                sentence = say("The table is changing its Wi-Fi: try again in a minute.")
                raise wrong_phase(sentence)
            self._request(self.hotspot, wifi)

    def _request(self, hotspot: Wifi | None, wifi: Wifi | None = None) -> None:
        """Leave a request for root, as in `WifiRequest`.

        If it cannot be written, `trouble` says why.
        """
        with self._lock:
            request = WifiRequest(secrets.token_hex(8), hotspot, wifi)
            self._waits_for_address = False
            self.trouble = ""
            self._last_event_s = self._clock.monotonic_s()
            try:
                replace_file(self._request_path, msgspec.json.encode(request))
                self._pending = request
            except OSError as error:
                self.trouble = describe_os_error(error)
            self._report(self.hotspot is not None)

    def _handle_answer(self, request: WifiRequest, waited_s: float) -> None:
        """Note the outcome of the pending request, if its answer has come or is overdue."""
        answer = self._read_answer()
        if answer is not None and answer.number == request.number:
            self.hotspot = answer.hotspot
            self.trouble = describe_trouble(
                answer.trouble, request.wifi.name if request.wifi else ""
            )
        elif waited_s >= ANSWER_TIMEOUT_S:
            self._request_path.unlink(missing_ok=True)
            self.trouble = say("The machine does not change its Wi-Fi: restart it.")
        else:
            return
        self._pending = None
        self._last_event_s = self._clock.monotonic_s()
        # after a failed join, wait for an address again unless the table's Wi-Fi is open
        has_failed = request.wifi is not None and bool(self.trouble)
        self._waits_for_address = has_failed and self.hotspot is None
        self._report(self.hotspot is not None)

    def _read_answer(self) -> WifiAnswer | None:
        try:
            content = read_file(self._answer_path, MAX_REQUEST_BYTES)
            return msgspec.json.decode(content, type=WifiAnswer)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None


def describe_trouble(trouble: Trouble, name: str) -> str:
    """Return a sentence on why a request failed. Empty if it did not.

    :param name: name of the Wi-Fi to join, empty if the table's own was to be opened
    """
    if not trouble:
        return ""
    if trouble == "no_radio":
        return say("This machine has no Wi-Fi: plug in a cable.")
    if not name:
        return say(
            "The table’s own Wi-Fi cannot be opened: sudo apt install network-manager dnsmasq-base."
        )
    if trouble == "password":
        return say("The password of the Wi-Fi {name} is wrong.", name=name)
    if trouble == "not_found":
        return say("The Wi-Fi {name} is not found: check its name and its reach.", name=name)
    return say("The Wi-Fi {name} cannot be joined: check name and password.", name=name)
