"""Helpers: two phones play at the machine's table until its plug is pulled.

They play games with sealed orders, or on a clock. They note each input that the service has
accepted, because the service has promised to keep these.
"""

from __future__ import annotations

import http.cookiejar
import json
import time
import urllib.error
import urllib.request
from random import Random
from typing import Any

from appliance.cuts import Promises, SentInput
from appliance.machine import until

SEATS = ("south", "north")
# Timeout for the first accepted input. An emulated machine is slow.
FIRST_INPUT_TIMEOUT_S = 60.0


class Refusal(Exception):
    """The service refused a request, for the reason in the message."""


class Browser:
    """An HTTP client with cookies that speaks JSON."""

    def __init__(self, url: str) -> None:
        self._url = url
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)

    def move_to(self, url: str) -> None:
        """Send further requests to another address, as after a restart. Cookies stay."""
        self._url = url

    def ask(self, path: str, body: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
        """Send a GET request, or with a body a POST request. Return the answer.

        Raises `Refusal`, and `OSError` if nobody answers.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Origin": self._url} | headers
        try:
            with self._opener.open(
                urllib.request.Request(self._url + path, data, headers), timeout=30
            ) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                raise Refusal(f"{path}: {error.code} {error.read().decode()[:300]}") from None


class Evening:
    """Two phones at the table, and the inputs that the service has promised to keep."""

    def __init__(self, url: str, host_key: str, rng: Random) -> None:
        self.phones = {seat: Browser(url) for seat in SEATS}
        # headers of the owner's requests
        self._host = {"X-Host-Key": host_key}
        self.rng = rng
        self.promises = Promises()

    def sit_down(self) -> None:
        """Take both seats. The owner's key replaces the code that the table's screen shows."""
        for seat, phone in self.phones.items():
            phone.ask(f"/api/seat/{seat}/take", {"name": seat.title()}, **self._host)

    def move_to(self, url: str) -> None:
        """Go on with the same machine after a restart, at the address of its new port."""
        for phone in self.phones.values():
            phone.move_to(url)

    def begin(self, has_clock: bool) -> None:
        """Begin a game with a clock, or one with sealed orders, instead of the current one."""
        if self.fetch_view()["phase"] not in ("lobby", "over"):
            self._post("south", "/api/host/abandon", {})
        # in this way to play BINMAT, the program only counts turns and runs a clock
        game, options = ("binmat", {"way": "referee"}) if has_clock else ("outbuffered", {})
        self._post("south", "/api/host/new-game", {"game": game, "options": options})
        if has_clock:
            until("the first turn", self._has_begun, 30, 0.1)

    def _has_begun(self) -> bool:
        """Do what starts the clock. Return whether the clock runs."""
        now = self.fetch_view()
        if now["phase"] == "setup":
            self._confirm(now)
        elif now["clock"] and now["clock"]["paused"]:
            self._post("south", "/api/table/resume", {})
        return bool(now["phase"] == "orders" and now["clock"] and not now["clock"]["paused"])

    def fetch_view(self) -> dict[str, Any]:
        """Return the public view."""
        return self.phones["south"].ask("/api/view")

    def play(self, seconds: float) -> None:
        """Play as fast as the machine answers, for some time after the first accepted input.

        Raises `Refusal` if no input is accepted in time.
        """
        count_before = len(self.promises.accepted)
        refusal = Refusal("nobody has handed anything in")
        end_s, is_accepted = time.monotonic() + FIRST_INPUT_TIMEOUT_S, False
        while time.monotonic() < end_s:
            try:
                self.step()
            except Refusal as error:  # the clock ran out first, or the camera disagrees
                refusal = error
            if not is_accepted and len(self.promises.accepted) > count_before:
                end_s, is_accepted = time.monotonic() + seconds, True
        if not is_accepted:
            raise refusal

    def step(self) -> None:
        """Do one thing that a person at the table may do next."""
        now = self.fetch_view()
        if now["phase"] in ("setup", "stages"):
            self._confirm(now)
        elif now["phase"] == "orders" and now["clock"]:
            if now["clock"]["paused"]:
                self._post("south", "/api/table/resume", {})
            self._hand_in(SentInput("table", now["moment"], ".", ""), "/api/table/act", {})
        elif now["phase"] == "orders":
            self._seal(now)
        else:
            self.begin(has_clock=False)

    def _confirm(self, now: dict[str, Any]) -> None:
        body = {"moment": now["moment"], "stage": now["stage"], "force": True}
        self._post("south", "/api/seat/south/confirm", body)

    def _seal(self, now: dict[str, Any]) -> None:
        """Hand in an action for one seat. Sometimes take it back before the other seat hands in."""
        waiting = [seat for seat in SEATS if not now["sealed"][seat]]
        seat, moment = self.rng.choice(waiting or SEATS), now["moment"]
        salt = f"{self.rng.getrandbits(128):032x}"
        action = "".join(self.rng.choices("UDLRIS", k=3))
        self._hand_in(
            SentInput(seat, moment, action, salt), f"/api/seat/{seat}/hand-in", {"salt": salt}
        )
        if len(waiting) > 1 and self.rng.random() < 0.2:
            self._post(seat, f"/api/seat/{seat}/take-back", {"moment": moment})

    def _hand_in(self, sent: SentInput, path: str, extra: dict[str, str]) -> None:
        """Hand in an action, and note whether the service accepts it."""
        phone = self.phones.get(sent.seat, self.phones["south"])
        self.promises.sent.append(sent)
        phone.ask(path, {"moment": sent.moment, "action": sent.action} | extra)
        self.promises.accepted.append(sent)

    def _post(self, seat: str, path: str, body: dict[str, Any]) -> None:
        self.phones[seat].ask(path, body, **(self._host if "/host/" in path else {}))
