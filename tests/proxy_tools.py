"""A real nginx in front of a port, with or without TLS."""

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
FORWARDED = (
    "proxy_set_header Host $host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"
    "proxy_set_header X-Forwarded-Proto https; proxy_set_header X-Forwarded-Host $host;"
)


@contextmanager
def nginx(
    folder: Path,
    target: int,
    answers: Callable[[int], bool],
    *,
    more: str = "",
    tls: str = "",
    at: str = "/",
    onto: str = "",
) -> Iterator[int]:
    """Run nginx on a port until the end of the block, and yield the port once `answers` is true of
    it.

    It forwards only what lies under the path `at`, and puts `onto` in its place. `more` replaces
    the forwarded headers, and `tls` is the directives of a certificate.
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
        f"server {{ listen 127.0.0.1:{port}{' ssl' if tls else ''}; {tls}"
        f"location {at} {{ proxy_pass http://127.0.0.1:{target}{onto}; "
        "proxy_http_version 1.1; proxy_set_header Connection '';"
        f"{more or FORWARDED} }} }} }}"
    )
    assert NGINX is not None
    process = subprocess.Popen(
        [NGINX, "-c", str(config), "-p", str(folder)], stderr=subprocess.DEVNULL
    )
    try:
        until("nginx answers", lambda: answers(port))
        yield port
    finally:
        process.terminate()
        process.wait(60)
