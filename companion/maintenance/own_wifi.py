"""The hotspot: the table's own Wi-Fi, for a machine that starts without a network.

The hotspot opens by itself after two minutes without an address. It stays open until the table
joins the Wi-Fi that its owner names on a page. (Another hotspot, which opens at every start, is
made by the command `companion hotspot`. This module has no part in it.)

The service itself may not change the network, so the change takes three steps:

1. The service writes a `WifiRequest` to a file in its own folder under `/run`.
2. systemd notices the file (companion-wifi.path) and runs `companion wifi` as root
   (`companion.cli.hotspot`). That command carries the request out, and writes a `WifiAnswer` to a
   file in a folder of root.
3. The service reads the answer in its next `step`.

No password appears in a log or on a command line.
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
# File with root's answer to the last request.
ANSWER_FILE = Path("/run/companion-wifi/answer")
# Maximum size of a request or an answer in bytes. The longest names and passwords take some 500.
MAX_REQUEST_BYTES = 2000
# Time in seconds without an address after which the hotspot opens. With a shorter time it would
# open while a slow router is still starting. With a longer one, people at a table without a network
# would have to wait.
NO_ADDRESS_TIMEOUT_S = 120.0
# Timeout in seconds for an answer. One attempt to join a Wi-Fi and three attempts to open the
# hotspot again take up to 250.
ANSWER_TIMEOUT_S = 300.0
# Password of the hotspot while the table has no owner, and whenever the table button opens it.
PUBLIC_PASSWORD = "tabletop"
# Beginning of all addresses in the hotspot's network.
HOTSPOT_NET = HOTSPOT_ADDRESS.rpartition(".")[0] + "."
# A WPA passphrase or key (IEEE 802.11, annex J.4). A network without a password is open.
_PASSWORD = re.compile(r"([ -~]{8,63}|[0-9A-Fa-f]{64})?")
# Maximum length of an SSID (IEEE 802.11, 9.4.2.2).
_MAX_NAME_BYTES = 32

# Code for why a request failed, as root answers it. It is empty after a request that succeeded.
# `describe_failure` turns it into a sentence.
FailureCode = Literal["", "no_radio", "password", "not_found", "refused"]


class WifiRequest(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"request_id": "number"}
):
    """A request to root: join a Wi-Fi, or open the hotspot."""

    request_id: str
    """Random text. The answer repeats it, which shows to which request the answer belongs."""
    hotspot: Wifi | None = None
    """Name and password of the hotspot.

    Without a `wifi`, root opens it. With one, root opens it again if that Wi-Fi cannot be joined.
    """
    wifi: Wifi | None = None
    """The Wi-Fi to join."""


class WifiAnswer(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename={"request_id": "number", "failure": "trouble"},
):
    """The outcome of a request."""

    request_id: str
    """The `request_id` of the request that is answered."""
    hotspot: Wifi | None = None
    """The hotspot, if it is open now."""
    failure: FailureCode = ""
    """Why the request failed. Empty if it succeeded."""


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
    """The service's side of the hotspot. Any thread may call any method.

    The service calls `step` every few seconds.

    :param folder: the service's folder, in which requests are written
    :param choose_password: returns the password with which the hotspot opens by itself
    :param on_change: called after every change, with whether the hotspot is open
    :param answer_path: file of root's answers. Tests replace it
    :param list_addresses: returns the machine's present addresses. Tests replace it
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        choose_password: Callable[[], str],
        on_change: Callable[[bool], None],
        *,
        answer_path: Path = ANSWER_FILE,
        list_addresses: Callable[[], Sequence[InterfaceAddress]] = interface_addresses,
    ) -> None:
        self._request_path = folder / REQUEST_FILE
        self._answer_path = answer_path
        self._clock = clock
        self._choose_password = choose_password
        self._on_change = on_change
        self._list_addresses = list_addresses
        self._lock = threading.RLock()
        # The request that root has not answered yet. None if there is none.
        self._pending: WifiRequest | None = None
        # Whether the service waits for an address, to open the hotspot if none comes.
        self._waits_for_address = True
        # Monotonic time at which the present wait began. While a request is pending it is the wait
        # for its answer, otherwise the wait for an address.
        self._wait_began_at_s = clock.monotonic_s()
        self.trouble = ""
        """Sentence on why the last request failed. Empty if it succeeded."""
        self.hotspot: Wifi | None = None
        """Name and password of the open hotspot. None if the hotspot is closed."""

    @property
    def joining_name(self) -> str:
        """Name of the Wi-Fi that root is trying to join. Empty if there is none."""
        request = self._pending
        return request.wifi.name if request and request.wifi else ""

    def step(self) -> None:
        """Do what is due now.

        While a request is pending, read its answer. Otherwise notice whether the hotspot is open,
        and open it after `NO_ADDRESS_TIMEOUT_S` without an address.
        """
        with self._lock:
            waited_s = self._clock.monotonic_s() - self._wait_began_at_s
            if self._pending is not None:
                self._handle_answer(self._pending, waited_s)
                return
            ips = {address.ip for address in self._list_addresses() if address.has_hardware}
            # An earlier run of the service may have opened the hotspot, and another program may
            # have closed it. While it is open, the last answer has its name and password.
            last_answer = self._read_answer() if HOTSPOT_ADDRESS in ips else None
            hotspot = last_answer.hotspot if last_answer else None
            if hotspot != self.hotspot:
                self.hotspot = hotspot
                self._on_change(hotspot is not None)
            if self._waits_for_address:
                # One address ends the wait for good: if the network is lost later, the hotspot
                # stays closed.
                self._waits_for_address = not ips
                if not ips and waited_s >= NO_ADDRESS_TIMEOUT_S:
                    self.open(self._choose_password())

    def open(self, password: str) -> None:
        """Request to open the hotspot, named after the machine."""
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
        """Write a request for root. The parameters are those of `WifiRequest`.

        If the file cannot be written, `trouble` says why.
        """
        with self._lock:
            request = WifiRequest(secrets.token_hex(8), hotspot, wifi)
            self.trouble = ""
            self._wait_began_at_s = self._clock.monotonic_s()
            try:
                replace_file(self._request_path, msgspec.json.encode(request))
                self._pending = request
                self._waits_for_address = False
            except OSError as error:
                self.trouble = describe_os_error(error)
            self._on_change(self.hotspot is not None)

    def _handle_answer(self, request: WifiRequest, waited_s: float) -> None:
        """Note the outcome of the pending request, once it is answered or its time is over.

        :param waited_s: seconds since the request was made
        """
        answer = self._read_answer()
        if answer is not None and answer.request_id == request.request_id:
            self.hotspot = answer.hotspot
            self.trouble = describe_failure(
                answer.failure, request.wifi.name if request.wifi else ""
            )
        elif waited_s >= ANSWER_TIMEOUT_S:
            # Without its file the request can no longer be carried out.
            self._request_path.unlink(missing_ok=True)
            self.trouble = say("The machine does not change its Wi-Fi: restart it.")
        else:
            return
        self._pending = None
        # If a Wi-Fi could not be joined, the machine may be without any network now. So wait for an
        # address again, unless the hotspot is open.
        self._wait_began_at_s = self._clock.monotonic_s()
        has_failed_to_join = request.wifi is not None and bool(self.trouble)
        self._waits_for_address = has_failed_to_join and self.hotspot is None
        self._on_change(self.hotspot is not None)

    def _read_answer(self) -> WifiAnswer | None:
        # The last answer stays in its file, so it may be that of an earlier request.
        try:
            content = read_file(self._answer_path, MAX_REQUEST_BYTES)
            return msgspec.json.decode(content, type=WifiAnswer)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None


def describe_failure(failure: FailureCode, name: str) -> str:
    """Return a sentence on why a request failed. Empty if it succeeded.

    :param name: name of the Wi-Fi that was to be joined. Empty if the request was to open the
        hotspot
    """
    if not failure:
        return ""
    if failure == "no_radio":
        return say("This machine has no Wi-Fi: plug in a cable.")
    if not name:
        return say(
            "The table’s own Wi-Fi cannot be opened: sudo apt install network-manager dnsmasq-base."
        )
    if failure == "password":
        return say("The password of the Wi-Fi {name} is wrong.", name=name)
    if failure == "not_found":
        return say("The Wi-Fi {name} is not found: check its name and its reach.", name=name)
    return say("The Wi-Fi {name} cannot be joined: check name and password.", name=name)
