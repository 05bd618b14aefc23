"""Requests to the companion that runs on this machine, for its commands."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from companion.core.config import WebSettings
from companion.core.network import host_in_url, reachable_host

# Timeout in seconds for an answer: longer than the slowest checks of the doctor.
ANSWER_TIMEOUT_S = 20.0
# Field of `/health` that identifies a companion.
COMPANION_FIELD = "uptime_s"


def local_base_url(web: WebSettings, port: int | None = None) -> str:
    """Return the base URL of the companion for programs on this machine, without a final slash.

    On a loopback address the companion serves plain HTTP, even if it has a certificate.

    :param port: port to use instead of that in the settings
    """
    host = reachable_host(web.host)
    is_secure = web.certificate and host not in ("127.0.0.1", "::1", "localhost")
    scheme = "https" if is_secure else "http"
    return f"{scheme}://{host_in_url(host)}:{web.port if port is None else port}"


def send_request(
    base_url: str,
    path: str,
    key: str = "",
    body: Mapping[str, Any] | None = None,
    *,
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> tuple[int, bytes]:
    """Send a request to a companion on this machine. Return the status and content of the answer.

    Before that, ask `/health` whether it is a companion that listens, so that no other program gets
    the key. Raises `OSError` if no companion listens.

    :param base_url: what `local_base_url` returns
    :param path: path of the page
    :param key: owner key, or empty for what everybody may see
    :param body: JSON for a POST request. If it is None, a GET request is sent
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        # The certificate need not be verified, whatever name it has: this is the same machine.
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(
            host, parts.port, timeout=timeout_s, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=timeout_s)
    try:
        connection.request("GET", "/health")
        if COMPANION_FIELD not in json.loads(connection.getresponse().read()):
            raise ConnectionError("Something else listens there")
        method = "GET" if body is None else "POST"
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "X-Host-Key": key}
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (http.client.HTTPException, ValueError, TypeError) as error:
        raise ConnectionError(str(error)) from None
    finally:
        connection.close()
