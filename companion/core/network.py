"""How phones reach the pages: addresses of this machine, its Wi-Fi, and codes that people type.

Everything is in the form in which people read it or QR codes hold it. Nothing here opens the pages
or sends anything.
"""

from __future__ import annotations

import base64
import fcntl
import hmac
import secrets
import socket
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from segno import helpers

from companion.core.config import WebSettings
from companion.core.kit import Seat

# Letters and digits of codes, without those that look alike: no 0, 1, i, l, o.
CODE_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
# Address of the machine in its own hotspot (`companion.cli.hotspot`).
HOTSPOT_ADDRESS = "10.42.0.1"
# Names of the machine in its own hotspot. Not `.local`, which older phones do not resolve.
HOTSPOT_NAMES = ("table.lan", "table")
# File below the root with the hotspot's host names. It exists while `companion hotspot` is on.
HOTSPOT_NAMES_FILE = Path("etc/NetworkManager/dnsmasq-shared.d/tabletop-companion.conf")
# Folder in which the kernel lists network interfaces. Those with hardware have an entry `device`.
INTERFACES_FOLDER = Path("/sys/class/net")
# Request to the Linux kernel for the address of an interface (netdevice(7)).
_SIOCGIFADDR = 0x8915


@dataclass(frozen=True)
class Wifi:
    """A wireless network. Its password is not part of the repr, so that no log shows it."""

    name: str
    password: str = field(default="", repr=False)
    """Password. Empty for an open network."""
    hidden: bool = False
    """Whether the network hides its name."""

    @property
    def qr_text(self) -> str:
        r"""Text of a QR code with which a phone joins the network.

        >>> print(Wifi("Table; one", "ab:12345").qr_text)
        WIFI:T:WPA;S:Table\; one;P:ab\:12345;;
        """
        kind = "WPA" if self.password else "nopass"
        data = helpers.make_wifi_data(self.name, self.password or None, kind, self.hidden)
        text = data.decode() if isinstance(data, bytes) else data
        # The library omits the last semicolon for a hidden network.
        return text if text.endswith(";;") else f"{text};"


def format_host_key(secret: bytes) -> str:
    """Return the owner key as people type it: the first 50 bits of a random secret.

    They are ten letters and digits, with a dash in the middle.

    >>> format_host_key(bytes(32))
    'aaaaa-aaaaa'
    """
    # Base32 has five bits for each letter.
    text = base64.b32encode(secret)[:10].decode().lower()
    return f"{text[:5]}-{text[5:]}"


def seat_url(url: str, seat: Seat) -> str:
    """Return the short URL for taking a seat, given the URL of the table screen.

    >>> seat_url("http://192.0.2.7:8080/", Seat.SOUTH)
    'http://192.0.2.7:8080/s'
    """
    return f"{url}{seat[:1]}"


def short_url(url: str) -> str:
    """Return a URL as people type it: without the scheme and a slash at its end.

    >>> short_url("http://192.0.2.7:8080/s"), short_url("https://table.local/")
    ('192.0.2.7:8080/s', 'table.local')
    """
    return url.removeprefix("http://").removeprefix("https://").rstrip("/")


def new_code(length: int) -> str:
    """Return a random code that cannot be guessed, without characters that look alike."""
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(length))


def normalise_code(typed: str) -> str:
    """Return a typed code as it is compared: without dashes and spaces, in lower case.

    >>> normalise_code(" K7M-2qx ")
    'k7m2qx'
    """
    return "".join(typed.split()).replace("-", "").lower()


def matches_code(typed: str, code: str) -> bool:
    """Return whether a typed code is the right one.

    Any wrong code of the right length takes the same time, so that the duration does not reveal how
    much of it is right.
    """
    return hmac.compare_digest(normalise_code(typed).encode(), code.encode())


def format_code(code: str) -> str:
    """Return a code as people read it aloud, with a dash after three letters.

    >>> format_code("k7m2qx")
    'k7m-2qx'
    """
    return f"{code[:3]}-{code[3:]}" if code else ""


def page_urls(web: WebSettings, port: int) -> tuple[str, ...]:
    """Return the URLs of the table screen. The first one is the best for phones.

    With a certificate, the host names of the settings come first, because a certificate is issued
    for names.
    """
    scheme, default_port = ("https", 443) if web.certificate else ("http", 80)
    own_hosts = list_addresses(web.host)
    # A dictionary as an ordered set
    hosts = dict.fromkeys((*web.names, *own_hosts) if web.certificate else (*own_hosts, *web.names))
    end = "" if port == default_port else f":{port}"
    return tuple(f"{scheme}://{host_in_url(host)}{end}{web.path}/" for host in hosts)


def host_in_url(host: str) -> str:
    """Return a host as it is written in a URL: an IPv6 address needs brackets.

    >>> host_in_url("::1"), host_in_url("table.local")
    ('[::1]', 'table.local')
    """
    return f"[{host}]" if ":" in host else host


def reachable_host(host: str) -> str:
    """Return the host at which a client on this machine reaches a server that listens on `host`.

    >>> reachable_host("0.0.0.0"), reachable_host("192.168.1.5")
    ('127.0.0.1', '192.168.1.5')
    """
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


# ---- addresses of this machine -------------------------------------------------------------------


class InterfaceAddress(NamedTuple):
    """The IPv4 address of a network interface. An interface of a VPN has no hardware."""

    ip: str
    has_hardware: bool


def list_addresses(host: str) -> list[str]:
    """Return the addresses and names by which a server that listens on `host` is reached.

    The best one for phones is first: the address in the machine's own hotspot, then those of
    interfaces with hardware, then all others. The names of the machine follow. Without any network,
    the only address is the loopback address. This asks only the kernel, and never blocks.
    """
    if host not in ("0.0.0.0", "::"):
        return [host]
    outward_ip = outbound_address()
    # False sorts before True
    ranked = sorted(
        (ip != HOTSPOT_ADDRESS, not has_hardware, ip != outward_ip, ip)
        for ip, has_hardware in interface_addresses()
    )
    hosts = [ip for *_, ip in ranked]
    if not hosts:
        return [outward_ip or "127.0.0.1"]
    if HOTSPOT_ADDRESS in hosts and (Path("/") / HOTSPOT_NAMES_FILE).exists():
        hosts.append(HOTSPOT_NAMES[0])
    hosts.append(f"{socket.gethostname().partition('.')[0]}.local")
    return hosts


def outbound_address() -> str:
    """Return this machine's own address towards other networks.

    Empty if the machine has no route to other networks, as when phones use its own hotspot.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # An address for documentation (RFC 5737). Connecting a UDP socket sends nothing.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def interface_addresses() -> list[InterfaceAddress]:
    """Return the first IPv4 address of each network interface except the loopback."""
    found_addresses = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            # `struct ifreq` (netdevice(7)): a name of up to 15 bytes, the address from byte 20 on
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(probe, _SIOCGIFADDR, request)
            except OSError:  # the interface has no address
                continue
            ip = socket.inet_ntoa(answer[20:24])
            if not ip.startswith("127."):
                has_hardware = (INTERFACES_FOLDER / name / "device").exists()
                found_addresses.append(InterfaceAddress(ip, has_hardware))
    return found_addresses
