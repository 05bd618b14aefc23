"""Finding the client of a request behind a proxy.

A proxy reports its client in headers, which anybody could forge. So these headers count only if
they come from a proxy that the settings name. A request through any proxy never counts as one from
the machine's own screen.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from flask import Flask

from companion.core.config import is_page_path
from web.security.rate_limit import OWN_ADDRESSES, parse_address, plain_address

# Stands for a client whose proxy reports no address, or an invalid one.
UNKNOWN_ADDRESS = "0.0.0.0"
# Headers in WSGI spelling, of which every proxy adds at least one.
PROXY_HEADERS = frozenset(
    {
        "HTTP_X_FORWARDED_FOR",
        "HTTP_X_FORWARDED_HOST",
        "HTTP_X_FORWARDED_PROTO",
        "HTTP_X_REAL_IP",
        "HTTP_FORWARDED",
        "HTTP_VIA",
    }
)


class RequestClient(NamedTuple):
    """The client of a request. A field that no proxy has reported is empty."""

    address: str
    scheme: str = ""
    """`http` or `https`, as used between client and proxy."""
    host: str = ""
    """Name under which the client knows the pages, perhaps with a port."""
    path: str = ""
    """Path below which the proxy serves the pages, such as `/table`."""


class Proxies:
    """The configured proxies, as addresses and networks.

    >>> proxies = Proxies(["10.0.0.2"])
    >>> proxies.find_client("10.0.0.2", {"HTTP_X_FORWARDED_FOR": "192.0.2.7",
    ... "HTTP_X_FORWARDED_PROTO": "https"})
    RequestClient(address='192.0.2.7', scheme='https', host='', path='')
    >>> proxies.find_client("192.0.2.9", {"HTTP_X_FORWARDED_FOR": "127.0.0.1"})
    RequestClient(address='192.0.2.9', scheme='', host='', path='')
    """

    def __init__(self, addresses: Iterable[str]) -> None:
        self._networks = tuple(ipaddress.ip_network(address, strict=False) for address in addresses)

    def find_client(self, address: str, environ: Mapping[str, Any]) -> RequestClient:
        """Return the client of a request: whoever connects from `address`, or a proxy's client.

        `environ` is the WSGI environment of the request, which has the proxy's headers.
        """
        if not self._networks or not self._is_proxy(address):
            # a request from this machine with a proxy's headers is somebody else's, even if the
            # settings do not name that proxy
            is_forwarded = address in OWN_ADDRESSES and not PROXY_HEADERS.isdisjoint(environ)
            return RequestClient(UNKNOWN_ADDRESS if is_forwarded else address)
        scheme = _last_value(environ.get("HTTP_X_FORWARDED_PROTO", "")).lower()
        host = _last_value(environ.get("HTTP_X_FORWARDED_HOST", ""))
        # the first header is that of Home Assistant, the second that of Traefik and Caddy
        prefix = environ.get("HTTP_X_INGRESS_PATH") or environ.get("HTTP_X_FORWARDED_PREFIX", "")
        path = _last_value(prefix).rstrip("/")
        return RequestClient(
            self._client_address(environ.get("HTTP_X_FORWARDED_FOR", "")),
            scheme if scheme in ("http", "https") else "",
            host,
            path if is_page_path(path) else "",
        )

    def _client_address(self, forwarded: str) -> str:
        """Return the client in a list of forwarded addresses.

        Each proxy appends the address from which it was called. So the client is the last address
        in the list that is not one of our proxies, and addresses before it may be forged. Return
        `UNKNOWN_ADDRESS` if there is no such address, or if an invalid one comes after it.
        """
        for text in reversed(forwarded.split(",")):
            address = _parse_forwarded(text)
            if not address:
                return UNKNOWN_ADDRESS
            if not self._is_proxy(address):
                # no client behind a proxy is this machine itself
                return UNKNOWN_ADDRESS if address in OWN_ADDRESSES else address
        return UNKNOWN_ADDRESS

    def _is_proxy(self, address: str) -> bool:
        parsed = parse_address(address)
        return parsed is not None and any(parsed in network for network in self._networks)


def _parse_forwarded(text: str) -> str:
    """Return an address from a proxy's header without brackets and port, empty if it is invalid."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        # one colon precedes a port, several are part of an IPv6 address
        text = text.partition(":")[0]
    parsed = parse_address(text)
    return plain_address(str(parsed)) if parsed else ""


def _last_value(header: str) -> str:
    """Return the last value of a list, which the nearest proxy has added."""
    return header.rpartition(",")[2].strip()


class ProxyMiddleware:
    """WSGI middleware between waitress and Flask, which tells Flask about the client.

    It sets the client's true address, scheme, host and path before Flask reads them. `path` is the
    configured path of the pages. A proxy may forward it or strip it.
    """

    def __init__(self, app: Flask, proxies: Proxies, scheme: str, path: str = "") -> None:
        self._app = app
        self._proxies = proxies
        self._scheme = scheme
        self._path = path

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        sender = environ["REMOTE_ADDR"]
        client = self._proxies.find_client(sender, environ)
        environ["REMOTE_ADDR"] = environ["REMOTE_HOST"] = client.address
        # programs on this machine may connect without TLS
        own_scheme = "http" if sender in OWN_ADDRESSES else self._scheme
        environ["wsgi.url_scheme"] = client.scheme or own_scheme
        if client.host:
            environ["HTTP_HOST"] = client.host
        environ["SCRIPT_NAME"] = client.path or self._path
        path = environ["PATH_INFO"]
        # whole segments only: `/tables` is not below `/table`
        if self._path and f"{path}/".startswith(f"{self._path}/"):
            environ["PATH_INFO"] = path.removeprefix(self._path) or "/"
        return self._app(environ, start_response)
