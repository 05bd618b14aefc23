"""The server for an old phone that serves as the table's camera.

It pairs the phone with the table by a code, and opens the HTTPS port that the phone's browser
needs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack

from flask import Flask

from companion.core.clock import Clock
from companion.core.config import Settings
from companion.core.errors import CompanionError
from companion.core.network import host_in_url, list_addresses
from companion.core.ports import Closeable
from companion.service.board_watch import BoardWatch
from companion.table.table import Table
from web.app import create_phone_app
from web.features import PhoneCameraFeature
from web.security.codes import PhonePairing
from web.server.server import PortInUse, Server, open_server

log = logging.getLogger(__name__)
# Port of the phone's page if the owner has set no certificate. If another program uses this port,
# any free port is used instead.
SECURE_PORT = 8443


class PhoneCameraServer(Closeable):
    """Serves an old phone's pages by HTTPS, once somebody asks for a code or a phone is in use.

    If the owner has set a certificate, the table's own server already uses HTTPS and serves these
    pages, too. Then no other server is opened. `close` may be called twice.

    :param urls: returns the addresses of the table's own server
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        board: BoardWatch,
        table: Table,
        urls: Callable[[], tuple[str, ...]],
    ) -> None:
        self._settings = settings
        self._stack = ExitStack()
        self._server: Server | None = None
        self._lock = threading.Lock()
        self.app: Flask | None = None
        """The application of the table's own pages. The service sets it before it calls `begin`."""
        # What the pages use of this object, from any thread.
        self.phone_camera = PhoneCameraFeature(
            connection=board.phone,
            pairing=PhonePairing(settings.journal_path.with_name("phone.json"), clock.monotonic_s),
            find_board_eye=lambda: board.eye,
            status=lambda: table.view().devices.camera,
            urls=urls,
            open_address=self.open_address,
            is_open=lambda: self._server is not None or bool(settings.web.certificate),
            clock=clock,
        )
        self.phone_camera.connection.on_return = self.phone_camera.choose_camera

    def begin(self) -> None:
        """Reconnect the phone that was the camera before this start, and open the HTTPS port."""
        self.phone_camera.choose_camera()
        try:
            self.open_address()
        except CompanionError as error:
            log.warning("The old phone cannot be the camera: %s", error.message)

    def open_address(self) -> str:
        """Return the HTTPS address for a phone.

        Unless all pages are served over HTTPS anyway, open a port of its own for the phone. The
        port stays open, so later calls return an address with the same port.

        Raises a `CompanionError` if the port cannot be opened.
        """
        web = self._settings.web
        if web.certificate:
            return self.phone_camera.urls()[0]
        # Browsers allow camera access only to HTTPS pages.
        hosts = list_addresses(web.host)
        with self._lock:
            if self._server is None:
                self._server = self._open(hosts)
        return f"https://{host_in_url(hosts[0])}:{self._server.port}/"

    def _open(self, hosts: list[str]) -> Server:
        """Start the server of the phone's pages on their own port, and return it.

        :param hosts: addresses of this machine, for a certificate that it makes itself
        """
        from web.security.tls import own_certificate  # noqa: PLC0415 - imports what only HTTPS needs

        web = self._settings.web
        tls = own_certificate(self._settings.journal_path.parent, hosts)
        assert self.app is not None
        app = create_phone_app(self.app, self.phone_camera)
        try:
            server = open_server(app, web.host, SECURE_PORT, tls, has_streams=False)
        except PortInUse:
            # Any free port will do, because the phone gets the whole address with its port.
            server = open_server(app, web.host, 0, tls, has_streams=False)
        self._stack.callback(server.close)
        server.start()
        return server

    def close(self) -> None:
        """Stop the server."""
        self._stack.close()
