"""Fuzz target: requests to a table's pages, made from the API's own description.

They come from four browsers: of a stranger (`nobody`), of South, of North, and of the owner, whom
addresses and names call `host`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from flask import Flask
from hypothesis import strategies as st
from internals import app_of, session_of
from simulated_room import simulated

from companion.core.clock import FakeClock
from companion.core.config import WifiSettings
from companion.core.errors import CompanionError
from companion.core.kit import SEATS
from companion.games import GAMES
from companion.service.app import Companion
from companion.table.session import Phase
from fuzz.endings import check_game_goes_on, check_replay, follow_and_resume
from fuzz.running import Probe, Target
from web.routes.openapi import DOCUMENT_PATH

ROLES = ("nobody", "south", "north", "host")
# Paths that contain one of these are left out: streams, which never end, and answers that take half
# a second.
SLOW_PATHS = ("/kit/", ".webp", "backup.zip", "bundle.zip", "live")
# Password of the table's own Wi-Fi. Only the owner may see it.
WIFI_PASSWORD = "nobody-tells-this-one"


class Installation:
    """A simulated service without threads, with a browser for each of `ROLES`."""

    def __init__(self, companion: Companion, app: Flask, clock: FakeClock) -> None:
        self.companion, self.app, self.clock = companion, app, clock
        self.table = companion.table
        self.people = {role: app.test_client() for role in ROLES}
        self.rng = Random(1)
        self.request_count = 0
        self.people["host"].post("/host", data={"key": companion.host_key})
        self.sit()

    def sit(self) -> None:
        """Let South's and North's browsers take their seats again, if they have lost them."""
        for seat in SEATS:
            if (
                self.table.nonce_of(seat) is not None
                and self.people[seat].get(f"/api/seat/{seat}/view").status_code != 200
            ):
                self.table.free_seat(seat)
            if self.table.nonce_of(seat) is None:
                self.people[seat].post(f"/api/seat/{seat}/take", json={"name": f"Player {seat}"})

    def begin(self, game: str) -> None:
        """Begin a game, up to its first orders.

        Before that, check that the journal restores the previous game, whatever was sent to it.
        """
        check_replay(self.table, self.companion.journal)
        if self.table.view().phase not in (Phase.LOBBY, Phase.OVER):
            self.table.abandon()
        self.table.new_game(
            game, dict(self.rng.choice(GAMES[game].presets).options), self.rng.randrange(1000)
        )
        self.settle()

    def settle(self) -> None:
        """Carry out all instructions, and let paused clocks run."""
        follow_and_resume(self.table)

    def play(self) -> None:
        """Hand in a legal action for one of the seats that are awaited."""
        session = session_of(self.table)
        if session.phase is Phase.ORDERS:
            seat = self.rng.choice(sorted(session.awaited_seats))
            action = session.require_game().random_action(session.state, seat, self.rng)
            with contextlib.suppress(CompanionError):
                self.table.hand_in(seat, session.moment, session.require_game().format(action))

    def pass_time(self) -> None:
        """Let time pass before a request, and play on, so that requests meet all phases.

        - Keys are read before every 5th request, and all parts are ticked before every 50th.
        - Lost seats are taken again before every 25th request. Then hands carry out what the table
          asks for, or a game begins, also before every 500th.
        - A legal action is handed in before every 3rd of the other requests.
        """
        self.request_count += 1
        self.clock.advance(self.rng.choice((0.05, 0.2, 0.7)))
        if self.request_count % 50 == 0:
            self.companion.step()
        elif self.request_count % 5 == 0:
            self.companion.step_keys()
        if self.request_count % 25 == 0:
            self.sit()
            view = self.table.view()
            if view.phase in (Phase.LOBBY, Phase.OVER) or self.request_count % 500 == 0:
                self.begin(self.rng.choice(sorted(GAMES)))
            elif view.phase in (Phase.SETUP, Phase.STAGES):
                self.settle()
        elif self.request_count % 3 == 0:
            self.play()

    def check_answer(self, status: int, headers: Any, content: bytes, role: str) -> None:
        """Check what must hold for every answer: it is no crash, and tells no secret.

        The status 503 means that the service is busy.
        """
        assert status < 500 or status == 503, f"{status}: {content[:300]!r}"
        assert b"Traceback" not in content
        assert status < 400 or content, f"a refusal ({status}) without a reason"
        if role != "host":
            answer = str(headers).encode() + content
            for secret in (self.companion.host_key.encode(), WIFI_PASSWORD.encode()):
                assert secret not in answer, f"the answer to {role} contains {secret!r}"

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
def requests(folder: Path, seed: int) -> Iterator[Probe]:
    """Send valid and invalid requests in all games, and compare the answers with the description.

    Schemathesis makes the requests from the description of the API.
    """
    import schemathesis  # noqa: PLC0415 - takes two seconds
    from schemathesis.checks import not_a_server_error  # noqa: PLC0415
    from schemathesis.core.failures import FailureGroup  # noqa: PLC0415
    from schemathesis.specs.openapi import checks as openapi_checks  # noqa: PLC0415

    checks = [
        not_a_server_error,
        openapi_checks.content_type_conformance,
        openapi_checks.response_schema_conformance,
        openapi_checks.status_code_conformance,
    ]
    modes = schemathesis.GenerationMode
    with open_installation(folder) as installation:
        installation.rng = Random(seed)
        installation.begin(installation.rng.choice(sorted(GAMES)))
        schema = schemathesis.openapi.from_wsgi(DOCUMENT_PATH, installation.app)
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
        valid_api = [
            cases
            for cases, operation in zip(valid, operations, strict=True)
            if operation.path.startswith("/api/")
        ]

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

        # half of the requests are valid ones to the API, because only these play
        cases = st.one_of(st.one_of(*valid, *invalid), st.one_of(*valid_api))
        yield Probe(st.tuples(cases, st.sampled_from(ROLES)), check, installation.finish)


TARGETS = (Target("requests", share=0.12, batch=600, open_probe=requests),)
