"""Requests of a table to a hub's pages: joining it, and looking up a player's card.

To join, the table makes a pair of keys, and sends the public key with the code that is shown on the
hub's screen. The answer contains the addresses of the NATS servers, to which the table then
connects with its private key. It also contains the table's id, which is part of the NATS subjects
of its messages.
"""

from __future__ import annotations

import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from companion import __version__
from companion.core.errors import SystemTrouble
from companion.core.files import describe_os_error
from companion.core.i18n import say
from companion.core.network import host_in_url
from companion.hub.membership import Membership

try:
    import nats  # noqa: F401 - the connection needs it later
    import nkeys
except ImportError:
    raise SystemTrouble(
        say("The client of the hub is not installed: pip install 'tabletop-companion[table]'")
    ) from None

T = TypeVar("T")
# Timeout in seconds for the hub's answer, and maximum size of that answer in bytes.
ANSWER_TIMEOUT_S = 10.0
MAX_ANSWER_BYTES = 16_384
# Exceptions of a request that fails, and of an answer that cannot be read.
_REQUEST_ERRORS = (
    OSError,
    ValueError,
    HTTPException,  # a body that is cut off
    RecursionError,  # deeply nested JSON
)


class JoinAnswer(msgspec.Struct, frozen=True):
    """The hub's answer to a table that joins.

    `table`, `number` and `room` become `table_id`, `number` and `hub_name` of the `Membership`.
    """

    table: str
    number: int
    room: str
    servers: tuple[str, ...]
    """Addresses of the NATS servers. One without a host is at the hub's own address."""


class CardAnswer(msgspec.Struct, frozen=True):
    """The hub's answer to a card's code."""

    card: str
    """The hub's identifier of the card."""


def join(
    address: str,
    join_code: str,
    name: str,
    *,
    sends_names: bool,
    ca: str = "",
    start_after: int = 0,
) -> Membership:
    """Join the hub whose pages are at this address, and return the membership.

    `join_code` is shown on the hub's screen. `name` is the table's name for people. `sends_names`,
    `ca` and `start_after` are as in `Membership`. Raises `SystemTrouble` with a sentence for
    people.
    """
    base = base_url(address)
    try:
        url = urlsplit(base)
        scheme = url.scheme
        host = url.hostname
    except ValueError:  # an IPv6 address without its closing bracket
        scheme = ""
        host = None
    if not host or scheme not in ("http", "https"):
        raise SystemTrouble(
            say("“{address}” is not the address of a hub, such as hub.local:8500", address=address)
        )
    # the private key never leaves this machine. NATS calls it a seed.
    private_key = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)
    public_key = nkeys.from_seed(bytearray(private_key)).public_key.decode()
    request = {"code": join_code, "key": public_key, "name": name, "version": __version__}
    answer = _post(f"{base}/api/hub/join", request, JoinAnswer, ca)
    servers = tuple(_server_url(server, host) for server in answer.servers)
    return Membership(
        address=base,
        table_id=answer.table,
        number=answer.number,
        hub_name=answer.room,
        servers=servers,
        private_key=private_key.decode(),
        start_after=start_after,
        sends_names=sends_names,
        ca=ca,
    )


def base_url(address: str) -> str:
    """Return the address of a hub's pages with a scheme and without a slash at its end."""
    return (address if "//" in address else f"http://{address}").rstrip("/")


def tls_context(ca: str) -> ssl.SSLContext:
    """Return the TLS context that verifies the hub's certificate. Raises `SystemTrouble`."""
    try:
        return ssl.create_default_context(cafile=ca or None)
    except OSError as error:
        raise SystemTrouble(
            say(
                "The certificate {file} cannot be read: {error}",
                file=ca,
                error=describe_os_error(error),
            )
        ) from None


def fetch_card_id(membership: Membership, card_code: str) -> str:
    """Ask the hub for the identifier of the player's card with this code.

    Raises `SystemTrouble` with a sentence for people.
    """
    request = {"code": card_code, "table": membership.table_id}
    return _post(f"{membership.address}/api/hub/card", request, CardAnswer, membership.ca).card


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, so that a hub cannot send this machine to another address."""

    def redirect_request(self, *_: object) -> None:
        return None


def _post(url: str, body: Mapping[str, str], answer_type: type[T], ca: str) -> T:
    """Post JSON to the hub's pages, and decode the answer. Raises `SystemTrouble`."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, msgspec.json.encode(body), headers)
    context = tls_context(ca) if url.startswith("https:") else None
    opener = urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(request, timeout=ANSWER_TIMEOUT_S) as answer:
            return msgspec.json.decode(answer.read(MAX_ANSWER_BYTES), type=answer_type)
    except urllib.error.HTTPError as error:
        # a hub answers an error with a sentence in JSON, so anything else is not a hub
        try:
            with error:
                content = msgspec.json.decode(error.read(MAX_ANSWER_BYTES))
                message = str(content["error"]["message"])
        except (*_REQUEST_ERRORS, KeyError, TypeError):
            message = say("There is no hub at {address}", address=url)
        raise SystemTrouble(message) from None
    except _REQUEST_ERRORS as error:
        reason = getattr(error, "reason", error)
        raise SystemTrouble(
            say("The hub at {address} does not answer: {error}", address=url, error=str(reason))
        ) from None


def _server_url(server: str, host: str) -> str:
    """Return the address of a server, with the host of the hub's pages if it has none."""
    scheme, _, rest = server.partition("://")
    if not rest.startswith(":"):
        return server
    return f"{scheme}://{host_in_url(host)}{rest}"
