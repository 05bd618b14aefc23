"""An old phone as the camera: the owner's page with a code, and the phone's page for pictures.

The phone scans the code and gets a token (a random text) in a cookie. Whoever has the token is the
camera. The table sends the phone no orders of the players, but only what it reads in the phone's
pictures. The addresses of the phone's page and pictures begin with `/eye` and `/api/eye`.
"""

from __future__ import annotations

from typing import Any

from flask import (
    Response,
    jsonify,
    render_template,
    request,
)
from werkzeug.exceptions import NotFound

from companion.core.errors import CompanionError, Illegal, Refusal, wrong_phase
from companion.core.i18n import say, translate
from companion.core.ports import CameraState
from vision.network.phone import MAX_JPEG_BYTES
from web.features import PhoneCameraFeature
from web.rendering.answers import EyeJson
from web.rendering.camera_overlay import overlay_svg
from web.routes.api.body import ShortText
from web.routes.route import get, host_only, host_page, post
from web.security.auth import Auth, is_own_screen
from web.security.codes import PAIRING_CODE_LENGTH
from web.server.sse import Audience, Streams

# Minimum interval in seconds between two drawings of the reading for the phone. With a shorter
# interval the drawing would follow the board better, but be more work for the table.
DRAW_INTERVAL_S = 0.4


class PhoneCameraPages:
    """The routes of the phone: its page, its pairing, its pictures.

    Browsers give a camera only to pages over HTTPS. `is_secure` is whether the application of these
    routes is served over HTTPS. If not, the page leads to the address where it is, and explains the
    warning that the browser shows there.
    """

    # prefix of the endpoints
    name = "eye"

    def __init__(self, auth: Auth, phone_camera: PhoneCameraFeature, is_secure: bool) -> None:
        self._auth = auth
        self._phone_camera = phone_camera
        self._is_secure = is_secure
        self._last_drawn_at_s = -DRAW_INTERVAL_S

    @get("/eye")
    @get(f"/eye/<string(length={PAIRING_CODE_LENGTH}):code>")
    def page(self, code: str = "") -> Any:
        """Show the phone's page, or without HTTPS how to get past the browser's warning.

        Without HTTPS, raises `NotFound` while the HTTPS port is closed.
        """
        phone_camera = self._phone_camera
        if not (self._is_secure or request.is_secure or is_own_screen()):
            # a stranger must not open the HTTPS port: that is for the owner's page
            if not phone_camera.is_open():
                raise NotFound
            address = f"{phone_camera.open_address()}eye/{code}"
            return render_template("eye_warning.html", address=address)
        is_camera = phone_camera.pairing.is_camera(self._auth.camera_token())
        return render_template("eye.html", code=code, is_camera=is_camera)

    @post("/api/eye/pair")
    def pair(self, code: ShortText) -> Response:
        """Make this phone the camera. Every code pairs only one phone."""
        phone_camera = self._phone_camera
        if phone_camera.find_board_eye() is None:
            raise wrong_phase(say("The camera is switched off in the settings"))
        token = phone_camera.pairing.pair(code, request.remote_addr or "")
        phone_camera.choose_camera()
        answer = jsonify({})
        self._auth.set_camera_cookie(answer, token)
        return answer

    @post("/api/eye/picture", is_json=False)
    def picture(self) -> EyeJson:
        """Receive a picture from the phone.

        The answer says when to send the next picture. Every `DRAW_INTERVAL_S` it also has what the
        table reads in the pictures.

        `taken_ms` in the query is the time at which the picture was taken, by the table's clock.
        The phone cannot read that clock, so it counts on from `now_ms` in the last answer. Its
        first request has no picture and only asks for `now_ms`.
        """
        phone_camera = self._phone_camera
        if not phone_camera.pairing.is_camera(self._auth.camera_token()):
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("This phone is not the camera any more"))
        # a picture is larger than the default limit
        request.max_content_length = MAX_JPEG_BYTES
        jpeg = request.get_data()
        if jpeg:
            # this replaces the previous picture if nothing has read it yet
            phone_camera.connection.put(jpeg, request.args.get("taken_ms", 0.0, float) / 1000)
        now_s = phone_camera.clock.monotonic_s()
        # the period is longer while nothing moves on the board
        answer = EyeJson(
            now_ms=1000 * now_s, wait_ms=round(1000 * phone_camera.connection.period_s)
        )
        if now_s - self._last_drawn_at_s >= DRAW_INTERVAL_S:
            self._last_drawn_at_s = now_s
            self._add_reading(answer)
        return answer

    def _add_reading(self, answer: EyeJson) -> None:
        """Add the reading of the board to an answer: drawing, sentence, and whether all is well."""
        board_eye = self._phone_camera.find_board_eye()
        status = self._phone_camera.status()
        sees_board = status.state is CameraState.SEES_BOARD
        board = board_eye.board() if board_eye and sees_board else None
        sentence = status.sentence
        if status.state is CameraState.NO_BOARD:
            sentence = say("Get the whole board into the picture")
        if board:
            sentence = board.advice[0].text if board.advice else say("I see the whole board")
        answer["drawing"] = overlay_svg(board) if board else ""
        answer["words"] = translate(sentence)
        answer["is_well"] = board is not None and not board.advice


class PhoneOwnerPages:
    """The routes of the owner: the code for a phone, and the key that removes it."""

    # prefix of the endpoints
    name = "phone_camera"

    def __init__(self, streams: Streams, phone_camera: PhoneCameraFeature) -> None:
        self._streams = streams
        self._phone_camera = phone_camera

    @get("/camera/phone", guard=host_page)
    def code_page(self) -> Any:
        """Show the code for a phone to scan, or why the HTTPS port cannot be opened (503).

        With the query `first`, the page leads back to the questions of the first evening.
        """
        phone_camera = self._phone_camera
        try:
            # the phone needs this port as soon as it has scanned the code
            phone_camera.open_address()
        except CompanionError as error:
            trouble = error.message
            page = render_template("eye_code.html", phone_camera=phone_camera, trouble=trouble)
            return page, 503
        # the stream draws the key that leads back, so it needs the query, too
        live = request.full_path.replace("/camera", "/live/camera", 1).rstrip("?")
        return render_template("eye_code.html", live=live, phone_camera=phone_camera)

    @get("/live/camera/phone", guard=host_only)
    def live(self) -> Response:
        """Stream the fragment of the page."""

        def draw() -> str:
            return render_template("_eye_code.html", phone_camera=self._phone_camera)

        # the owner has a place among the seats, see `Audience`
        return self._streams.stream_redrawn(draw, Audience.SEAT)

    @post("/api/camera/phone/remove", guard=host_only)
    def remove(self) -> None:
        """Stop using the old phone as the camera."""
        if not self._phone_camera.is_camera:
            raise NotFound
        self._phone_camera.remove()
