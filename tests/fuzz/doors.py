"""Requests to a table's pages, made from the API's own description, by four kinds of people."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from hypothesis import strategies as st
from internals import app_of, session_of
from simulated_room import simulated

from companion.core.clock import FakeClock
from companion.core.config import WifiSettings
from companion.core.errors import CompanionError
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.service.app import Companion
from companion.table.session import Phase
from fuzz.endings import check_game_goes_on, check_replay, follow_and_resume
from fuzz.running import Probe, Target
from web.routes.openapi import PATH

ROLES = ("nobody", "south", "north", "host")
# Parts of the paths of streams, and of what takes a good part of a second.
SLOW_PATHS = ("/kit/", ".webp", "backup.zip", "bundle.zip", "live")
WIFI_PASSWORD = "nobody-tells-this-one"


class Installation:
    """A whole simulated installation without threads, and four kinds of people in front of it."""

    def __init__(self, companion: Companion, app: Flask, clock: FakeClock) -> None:
        self.companion, self.app, self.clock = companion, app, clock
        self.table = companion.table
        self.people = {role: app.test_client() for role in ROLES}
        self.rng = Random(1)
        self.asked = 0
        self.people["host"].post("/host", data={"key": companion.host_key})
        self.sit()

    def sit(self) -> None:
        """Seat those who should have the seats."""
        for seat in SEATS:
            if (
                self.table.nonce_of(seat) is not None
                and self.person(seat).get(f"/api/seat/{seat}/view").status_code != 200
            ):
                self.table.free_seat(seat)
            if self.table.nonce_of(seat) is None:
                self.person(seat).post(f"/api/seat/{seat}/take", json={"name": f"Player {seat}"})

    def person(self, seat: Seat) -> FlaskClient:
        """Return the browser of a seat."""
        return self.people[str(seat)]

    def begin(self, game: str) -> None:
        """Begin a game up to its first orders. The game before must replay, whatever was sent to
        it.
        """
        check_replay(self.table, self.companion.journal)
        if self.table.view().phase not in (Phase.LOBBY, Phase.OVER):
            self.table.abandon()
        self.table.new_game(
            game, dict(self.rng.choice(GAMES[game].presets).options), self.rng.randrange(1000)
        )
        self.settle()

    def settle(self) -> None:
        """Do all that hands have to do, and let clocks run."""
        follow_and_resume(self.table)

    def play(self) -> None:
        """Hand in something legal for somebody who is awaited."""
        session = session_of(self.table)
        if session.phase is Phase.ORDERS:
            seat = self.rng.choice(sorted(session.awaited_seats))
            action = session.require_game().random_action(session.state, seat, self.rng)
            with contextlib.suppress(CompanionError):
                self.table.hand_in(seat, session.moment, session.require_game().format(action))

    def pass_time(self) -> None:
        """Let time pass. Sometimes the camera looks, somebody sits down again, or a game begins."""
        self.asked += 1
        self.clock.advance(self.rng.choice((0.05, 0.2, 0.7)))
        if self.asked % 50 == 0:
            self.companion.step()
        elif self.asked % 5 == 0:
            self.companion.step_keys()
        if self.asked % 25 == 0:
            self.sit()
            view = self.table.view()
            if view.phase in (Phase.LOBBY, Phase.OVER) or self.asked % 500 == 0:
                self.begin(self.rng.choice(sorted(GAMES)))
            elif view.phase in (Phase.SETUP, Phase.STAGES):
                self.settle()
        elif self.asked % 3 == 0:
            self.play()

    def check_answer(self, status: int, headers: Any, content: bytes, role: str) -> None:
        """Check what holds for every answer."""
        assert status < 500 or status == 503, f"{status}: {content[:300]!r}"
        assert b"Traceback" not in content
        assert status < 400 or content, "a refusal says something"
        if role != "host":
            answer = str(headers).encode() + content
            for secret in (self.companion.host_key.encode(), WIFI_PASSWORD.encode()):
                assert secret not in answer, f"tells {secret!r}"

    def finish(self) -> None:
        """Check that the game goes on, and that its journal leads to the same table."""
        check_replay(self.table, self.companion.journal)
        with contextlib.suppress(CompanionError):
            self.table.abandon()
        for game in sorted(GAMES):
            self.sit()
            self.begin(game)
            check_game_goes_on(self.table, self.companion.journal, turns=3)


@contextmanager
def open_installation(folder: Path) -> Iterator[Installation]:
    """Open a simulated installation in a folder."""
    clock = FakeClock()
    wifi = WifiSettings(name="Table", password=WIFI_PASSWORD)
    with simulated(folder, clock, wifi=wifi) as companion:
        yield Installation(companion, app_of(companion.server), clock)


@contextmanager
def requests(folder: Path, number: int) -> Iterator[Probe]:
    """Send requests that schemathesis makes of the description, right and wrong, in all games."""
    import schemathesis  # noqa: PLC0415 - takes two seconds
    from schemathesis.checks import not_a_server_error  # noqa: PLC0415
    from schemathesis.core.failures import FailureGroup  # noqa: PLC0415
    from schemathesis.specs.openapi import checks as of_answers  # noqa: PLC0415

    checks = [
        not_a_server_error,
        of_answers.content_type_conformance,
        of_answers.response_schema_conformance,
        of_answers.status_code_conformance,
    ]
    modes = schemathesis.GenerationMode
    with open_installation(folder) as installation:
        installation.rng = Random(number)
        installation.begin(installation.rng.choice(sorted(GAMES)))
        schema = schemathesis.openapi.from_wsgi(PATH, installation.app)
        operations = [operation.ok() for operation in schema.get_all_operations()]
        operations = [
            operation
            for operation in operations
            if not any(part in operation.path for part in SLOW_PATHS)
        ]
        valid = [operation.as_strategy(generation_mode=modes.POSITIVE) for operation in operations]
        invalid = [
            operation.as_strategy(generation_mode=modes.NEGATIVE) for operation in operations
        ]
        is_api = [operation.path.startswith("/api/") for operation in operations]
        api_cases = [way for way, holds in zip(valid, is_api, strict=True) if holds]

        def check(case: Any) -> tuple[str, int]:
            installation.pass_time()
            request, role = case
            request.headers.pop("X-Host-Key", None)
            request.cookies.clear()
            answer = request.call(
                session=installation.people[role], environ_base={"REMOTE_ADDR": "192.0.2.5"}
            )
            try:
                if answer.status_code != 503:
                    request.validate_response(answer, checks=checks)
            except FailureGroup as group:
                faults = "; ".join(
                    f"{failure.title}: {failure.message}" for failure in group.exceptions
                )
                raise AssertionError(f"{request.method} {request.path}: {faults}") from None
            installation.check_answer(answer.status_code, answer.headers, answer.content, role)
            return str(answer.status_code), 1

        cases = st.one_of(st.one_of(*valid, *invalid), st.one_of(*api_cases))
        yield Probe(st.tuples(cases, st.sampled_from(ROLES)), check, installation.finish)


TARGETS = (Target("requests", 0.12, 600, requests),)
