"""Helpers: the rig of a table with a camera, behind which a test sets what a fake eye sees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import Mock

from flask.testing import FlaskClient
from web_fixtures import WebRig, open_web_rig

from companion.core.kit import Kit
from companion.core.ports import (
    Advice,
    BoardSeen,
    CameraOffer,
    CameraState,
    CameraStatus,
    Outline,
    Reading,
    SquareSeen,
)
from companion.games import GAMES
from web.features import CameraFeature

KIT = GAMES["outbuffered"].kit(GAMES["outbuffered"].options({}))


def board_seen(kit: Kit = KIT, *advice: Advice, **squares: SquareSeen) -> BoardSeen:
    """Return a seen board at 10 px per mm. Squares are empty and well seen by default."""
    board = kit.board
    all_squares = tuple(
        replace(
            squares.get(str(square), SquareSeen(square, (), is_known=True, certainty=1.0)),
            corners_px=corners_of(*board.centre_mm(square)),
        )
        for square in board.squares
        if square not in board.holes
    )
    reading = Reading({}, quiet=True, game=kit.game, beside=("lime flag",))
    return BoardSeen((1920, 1080), corners_of(100, 100), kit, reading, all_squares, advice)


def corners_of(x_mm: float, y_mm: float) -> Outline:
    """Return the corners, in px, of a square of 40 mm around a point of the board."""
    return tuple(
        (10 * (x_mm + right), 10 * (y_mm + down))
        for right, down in ((-20, -20), (20, -20), (20, 20), (-20, 20))
    )


def fake_eye() -> Mock:
    """Return an eye with two cameras, which sees a good board."""
    eye = Mock()
    eye.latest_number.return_value = 7
    eye.picture.return_value = b"\xff\xd8picture"
    eye.advice_without_board.return_value = ()
    eye.board.return_value = board_seen()
    eye.cameras.return_value = (
        CameraOffer("picamera", "Pi camera"),
        CameraOffer("usb:C920", "C920 <b>"),
    )
    eye.source.return_value = "picamera"
    eye.link.locks = (True, False)  # the focus is held, the exposure is not
    return eye


def fake_album() -> Mock:
    """Return an album with photographs of two moments of game 1."""
    album = Mock(trouble="Photographs cannot be kept.")
    album.moments = lambda game: ("1.0", "1.1") if game == 1 else ()
    album.photograph = lambda game, moment: (
        b"\xff\xd8turn" if moment in album.moments(game) else None
    )
    return album


@dataclass
class Room:
    """The rig of a table with a camera, and the fake eye behind it."""

    rig: WebRig
    eye: Mock

    def host(self) -> FlaskClient:
        """Return a browser that has entered the owner key."""
        return self.rig.host()

    def fragment(self, browser: FlaskClient | None = None) -> str:
        """Return the first fragment of the page's stream, by default as the owner gets it."""
        with (browser or self.host()).get("/live/health", buffered=False) as answer:
            text = ""
            for part in answer.response:
                text += part if isinstance(part, str) else part.decode()
                if text.count("\n\n") >= 2:
                    break
        return re.sub(r"^data: ", "", text, flags=re.M)


@contextmanager
def room_in(folder: Path) -> Iterator[Room]:
    eye = fake_eye()
    with open_web_rig(folder, camera=CameraFeature(eye, fake_album())) as rig:
        rig.table.set_camera_status(
            CameraStatus(CameraState.SEES_BOARD, "The camera sees the board")
        )
        rig.table.step()
        yield Room(rig, eye)
