"""The camera of an installation and what uses its pictures.

`BoardWatch` opens the camera that the settings name, connects the board's reader with the table,
and offers the pictures to pages and photographs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from companion.archive.photographs import PhotographAlbum, Photographer
from companion.core.clock import Clock
from companion.core.config import Settings
from companion.core.log_fields import log_fields
from companion.core.ports import Camera, CameraOffer, CameraStatus, Closeable
from companion.games import GAMES
from companion.table.listeners import TableListener
from companion.table.table import Table
from vision.cameras.camera_link import Cameras
from vision.cameras.catalogue import list_cameras, open_camera
from vision.cameras.lenses import LensStore
from vision.diagnosis import MAX_SETTLED, MAX_SETTLED_IF_SMALL, BoardEye
from vision.network.phone import PhoneLink
from vision.reading.board_reader import make_board_reader
from vision.watcher import Watcher, WatchListeners

log = logging.getLogger(__name__)


class BoardWatch(Closeable):
    """Watches the board for a table, and stores photographs in the `album`.

    A context manager whose `close` may be called twice. Nothing is watched at first: the service
    calls either `watch` or `watch_configured_camera`, once, and then starts the threads of
    `watcher` and `photographer`.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        table: Table,
        album: PhotographAlbum,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._table = table
        self._album = album
        self._stack = ExitStack()
        self.phone = PhoneLink(clock)
        """The connection to an old phone, which may be the camera."""
        self.watcher: Watcher | None = None
        """Reads the board in its own thread. None without a camera."""
        self.eye: BoardEye | None = None
        """Answers pages about the camera and its pictures. None without a camera."""
        self.photographer: Photographer | None = None
        """Takes a photograph of each turn. None if none are wanted."""

    def watch_configured_camera(self, *, may_simulate: bool) -> str:
        """Watch the board with the camera of the settings. Return the result as a sentence.

        Nothing is watched in two cases: if the settings say so, or if a table may be simulated
        instead because the settings leave the choice open and no camera is connected. Opening a
        camera may take seconds and fail, so the watcher does that in its thread, and tries again.

        :param may_simulate: whether the service simulates a table if there is no camera
        """
        settings = self._settings.camera
        is_automatic = settings.source == "auto"
        if settings.source == "none":
            return "No camera: switched off in the settings."
        if is_automatic and may_simulate and not list_cameras():
            return "No camera: none is connected."
        lenses = LensStore(self._settings.lenses_path, settings)
        # A camera that the settings name has to exist. If they leave the choice open, a table that
        # has never had a camera is not in trouble.
        cameras = Cameras(self.open, lambda: not is_automatic or bool(list_cameras()), lenses)
        self.watch(cameras, list_cameras)
        return "The camera is being opened; the pages work already."

    def open(self, source: str = "") -> Camera:
        """Open the camera of a source, or that of the settings. Raises `CameraError`."""
        return open_camera(self._settings.camera, self._clock, source, self.phone)

    def watch(
        self, opener: Cameras, list_offers: Callable[[], tuple[CameraOffer, ...]] = lambda: ()
    ) -> None:
        """Watch the board with a camera that `opener` opens.

        :param list_offers: lists the cameras among which the owner may choose on a page
        """
        settings = self._settings.camera
        table = self._table
        reader = make_board_reader(
            {name: game.kit(game.options({})) for name, game in GAMES.items()}
        )
        max_frames = MAX_SETTLED_IF_SMALL if settings.is_small else MAX_SETTLED
        self.eye = eye = BoardEye(reader, settings.source, list_offers, max_frames)

        listeners = WatchListeners(
            on_reading=table.handle_reading,
            on_status=self._note_status,
            on_frame=eye.record,
            on_rows=table.handle_rows,
        )
        self.watcher = watcher = Watcher(opener, reader, self._clock, listeners, settings.fps)
        eye.link = watcher.link
        self._stack.enter_context(watcher)
        # A row is a row of order tiles. The table says which rows it wants to be read
        # (`read_rows`), and gets what lies in them (`handle_rows` above).
        table.connect(
            TableListener(
                on_kit=watcher.use,
                on_rows=watcher.read_rows,
            )
        )
        if settings.photographs_mb:
            show_trouble = partial(table.set_notice, "photographs")
            photographer = Photographer(
                table, self._album, eye.photograph, self._clock, show_trouble
            )
            self.photographer = self._stack.enter_context(photographer)

    def _note_status(self, status: CameraStatus) -> None:
        log.info("Camera: %s", status.sentence, extra=log_fields("camera", state=str(status.state)))
        self._table.set_camera_status(status)

    def close(self) -> None:
        """Release the camera, and end the threads."""
        self._stack.close()
