"""How a command asks the companion that is running on this machine, as its host."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any

from companion.core.config import WebSettings
from companion.core.errors import SystemTrouble
from companion.core.network import from_here

ANSWERS_S = 20.0


def ask_running(web: WebSettings, key: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Ask something of the companion that is running.

    Return its JSON. Raises `SystemTrouble` where it refuses.
    """
    host = from_here(web.host)
    line: http.client.HTTPConnection
    if web.certificate and host not in ("127.0.0.1", "::1", "localhost"):
        # This machine itself, whatever name its certificate bears.
        line = http.client.HTTPSConnection(
            host,
            web.port,
            timeout=ANSWERS_S,
            context=ssl._create_unverified_context(),
        )
    else:
        line = http.client.HTTPConnection(host, web.port, timeout=ANSWERS_S)
    refused = ""
    told: dict[str, Any] = {}
    try:
        line.request("GET", "/health")
        float(json.loads(line.getresponse().read())["uptime_s"])  # whatever else listens there is not told the key
        headers = {"Content-Type": "application/json", "X-Host-Key": key}
        line.request("POST", path, json.dumps(body).encode(), headers)
        answer = line.getresponse()
        told = json.loads(answer.read())
        if answer.status != 200:
            refused = str(told["error"]["message"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        raise SystemTrouble(
            f"A companion is running, but does not answer on port {web.port}: name its port with --port"
        ) from None
    finally:
        line.close()
    if refused:
        raise SystemTrouble(f"The companion that is running refuses: {refused}")
    return told
