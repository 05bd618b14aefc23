"""The way in for an old phone that is the camera: who it is, and the port with HTTPS that its browser asks for."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from companion.core.errors import CompanionError
from companion.core.network import addresses, bracketed
from companion.core.ports import Closeable
from web.app import create_phone_app
from web.features import PhoneRoom
from web.security.phone_pairing import PhonePairing
from web.server.server import PortInUse, Server, serve

if TYPE_CHECKING:
    from companion.service.app import Companion

log = logging.getLogger(__name__)
SECURE_PORT = 8443
"""Port of the phone's page where the table has no certificate of its owner; any free one where this is taken."""


class PhoneDoor(Closeable):
    """Opens the port with HTTPS when somebody wants a code, or when a phone is the camera already."""

    def __init__(self, companion: Companion) -> None:
        self._companion = companion
        self._stack = ExitStack()
        self._server: Server | None = None
        self._lock = threading.Lock()
        folder = companion.settings.journal_path.parent
        self.room = PhoneRoom(
            line=companion.board.phone,
            pairing=PhonePairing(folder / "phone.json", companion.clock.monotonic_s),
            eye=lambda: companion.eye,
            status=lambda: companion.table.view().devices.camera,
            urls=companion.urls,
            address=self.address,
            clock=companion.clock,
        )
        self.room.line.when_back = self.room.use

    def begin(self) -> None:
        """Watch the phone that was the camera before the start."""
        self.room.use()
        try:
            self.address()
        except CompanionError as error:
            log.warning("The old phone cannot be the camera: %s", error.message)

    def address(self) -> str:
        """Return where a phone opens its page with HTTPS. Raises a `CompanionError` where there can be none."""
        web = self._companion.settings.web
        if web.certificate:
            return self._companion.urls()[0]
        hosts = addresses(web.host)
        with self._lock:
            if self._server is None:
                self._server = self._open(hosts)
        return f"https://{bracketed(hosts[0])}:{self._server.port}/"

    def _open(self, hosts: list[str]) -> Server:
        """Return the pages of the phone on a port of their own."""
        from web.security.own_certificate import own_certificate  # noqa: PLC0415 - brings what only HTTPS needs

        companion, web = self._companion, self._companion.settings.web
        tls = own_certificate(companion.settings.journal_path.parent, hosts)
        app = create_phone_app(companion.server.app, self.room, web)
        try:
            server = serve(app, web.host, SECURE_PORT, tls, has_streams=False)
        except PortInUse:
            server = serve(app, web.host, 0, tls, has_streams=False)
        self._stack.callback(server.close)
        server.start()
        return server

    def close(self) -> None:
        """Close the port."""
        self._stack.close()
