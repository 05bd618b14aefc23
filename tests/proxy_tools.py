"""Helpers: run a real nginx as a proxy in front of a port of this machine.

Some owners put a proxy before the service, for https or to serve it below a path of their site.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ports import free_port
from waiting import until

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
needs_nginx = pytest.mark.skipif(NGINX is None, reason="no nginx: apt-get install nginx-light")
# Directives that forward the address of the client, and say that it has used https.
FORWARDED_HEADERS = (
    "proxy_set_header Host $host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"
    "proxy_set_header X-Forwarded-Proto https; proxy_set_header X-Forwarded-Host $host;"
)


@contextmanager
def nginx(
    folder: Path, target_port: int, is_up: Callable[[int], bool], *, more: str = ""
) -> Iterator[int]:
    """Run nginx in front of a port until the end of the block.

    Yield the port of nginx once `is_up` returns True for it. `more` has directives in place of
    `FORWARDED_HEADERS`.
    """
    port = free_port()
    config = folder / "nginx.conf"
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config.write_text(
        f"pid {folder}/nginx.pid; daemon off; error_log {folder}/error.log; worker_processes 1;"
        f"events {{}} http {{ access_log off; {temporary} "
        f"server {{ listen 127.0.0.1:{port}; "
        f"location / {{ proxy_pass http://127.0.0.1:{target_port}; "
        "proxy_http_version 1.1; proxy_set_header Connection '';"
        f"{more or FORWARDED_HEADERS} }} }} }}"
    )
    assert NGINX is not None
    process = subprocess.Popen(
        [NGINX, "-c", str(config), "-p", str(folder)], stderr=subprocess.DEVNULL
    )
    try:
        until("the start of nginx", lambda: is_up(port))
        yield port
    finally:
        process.terminate()
        process.wait(60)
