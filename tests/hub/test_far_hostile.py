"""A hostile table answers remote phones, and hostile phones ask: what the hub's pages make of it."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from far_tools import FarPhone, FarTable
from hub_tools import joined, until
from nats.aio.client import Client as Nats

from companion.core.kit import Seat
from companion.core.ports.far import FarAnswer, FarRequest
from companion.hub.far import FarCall, packed_call, read_call
from companion.hub.membership import read_membership
from companion.hub.subjects import far_subject, inbox_prefix, told_far_subject

Answer = Callable[[FarCall], list[bytes]]


@contextmanager
def instead_of(far: FarTable, answer: Answer) -> Iterator[list[FarCall]]:
    """Somebody with the table's own key answers in its place."""
    member = read_membership(Path(far.settings.state_dir) / "hub.json")
    assert member is not None
    far.companion.close()
    asked: list[FarCall] = []
    ready, over = threading.Event(), threading.Event()

    async def talk() -> None:
        client = Nats()
        await client.connect(
            list(member.servers),
            nkeys_seed_str=member.seed,
            allow_reconnect=False,
            inbox_prefix=inbox_prefix(member.table),
        )

        async def hear(message: Any) -> None:
            call = read_call(message.data)
            if isinstance(call, FarCall):
                asked.append(call)
                for piece in answer(call):
                    await client.publish(told_far_subject(member.table, call.id), piece)

        await client.subscribe(far_subject(member.table), cb=hear)
        await client.flush()
        ready.set()
        while not over.is_set():
            await asyncio.sleep(0.02)
        await client.close()

    thread = threading.Thread(target=lambda: asyncio.run(talk()))
    thread.start()
    try:
        assert ready.wait(20)
        yield asked
    finally:
        over.set()
        thread.join()


def seated(far: FarTable) -> FarPhone:
    phone = far.phone()
    phone.sit(far.invite())
    return phone


def page(**changes: Any) -> list[bytes]:
    return [packed_call(FarAnswer(**{"content_type": "text/html", "body": b"<p>hello</p>", **changes}))]


@pytest.mark.parametrize(
    ("answer", "status", "location"),
    [
        (page(body=b"<script>alert(1)</script>"), 200, ""),
        (page(content_type="application/javascript"), 404, ""),
        (page(content_type="text/css"), 404, ""),
        (page(content_type="image/svg+xml"), 404, ""),
        (page(content_type="text/html\r\nSet-Cookie: far=x"), 404, ""),
        (page(status=302, location="https://evil.example/"), 303, "/"),
        (page(status=302, location="//evil.example/"), 303, "/"),
        (page(status=302, location="/\\evil.example/"), 303, "/"),
        (page(status=302, location="javascript:alert(1)"), 303, "/"),
        (page(status=302, location="/seat/north"), 303, "/seat/north"),
        (page(number=1), 503, ""),
        ([b"nonsense"], 503, ""),
        ([msgspec.msgpack.encode({"cookies": {"far": "x"}})], 503, ""),
        ([msgspec.msgpack.encode({"status": 99})], 503, ""),
    ],
)  # fmt: skip
def test_what_a_table_may_answer(far: FarTable, answer: list[bytes], status: int, location: str) -> None:
    phone = seated(far)
    with instead_of(far, lambda _: answer) as asked:
        got = until("the table is asked", lambda: asked_once(phone, asked))
        assert (got.status, got.headers.get("Location", "")) == (status, location)
        assert "script-src 'self';" in got.headers["Content-Security-Policy"]
        assert "unsafe" not in got.headers["Content-Security-Policy"]
        assert got.headers["X-Content-Type-Options"] == "nosniff"
        assert not any(name in header for header in got.headers.get_all("Set-Cookie", []) for name in ("far=", "host="))


def asked_once(phone: FarPhone, asked: list[FarCall]) -> http.client.HTTPResponse | None:
    """What the hub answers to one request, without following where it leads; None: nobody was asked for it."""
    before = len(asked)
    with closing(http.client.HTTPConnection("127.0.0.1", int(phone.url.rpartition(":")[2]), timeout=30)) as line:
        cookies = "; ".join(f"{name}={value}" for name, value in phone.cookies.items())
        line.request("GET", "/seat/north", headers={"Accept": "text/html", "Cookie": cookies})
        got = line.getresponse()
        got.read()
        return got if len(asked) > before else None


def test_a_table_sets_no_cookie_but_that_of_its_seat(far: FarTable) -> None:
    phone = seated(far)
    own = far.hub.folder.now.tables[0].id
    with instead_of(far, lambda _: page(cookies={"seat_south": "good.value", "seat_north": "bad; Domain=example"})):
        before = phone.cookies
        phone.page("/seat/north")
        assert set(phone.cookies) - set(before) == {f"seat_south.{own}"}
        assert f"seat_north.{own}" not in phone.cookies


def test_a_table_that_never_ends_or_never_begins(far: FarTable, monkeypatch: pytest.MonkeyPatch) -> None:
    phone = seated(far)
    monkeypatch.setattr("web.hub.far.ANSWERS_S", 0.5)
    monkeypatch.setattr("companion.core.ports.far.MOST_ANSWER", 100_000)
    with instead_of(far, lambda _: []):
        words = "Once it is back, this page shows whether your last action arrived."
        until("it is said", lambda: words in phone.page("/seat/north")[1])

    monkeypatch.setattr("web.hub.far.ANSWERS_S", 10.0)
    endless = [packed_call(FarAnswer(n, False, content_type="text/html", body=b"x" * 40_000)) for n in range(20)]
    with pytest.MonkeyPatch.context() as later:
        later.setattr(far.companion, "close", lambda: None)  # it is closed already
        with instead_of(far, lambda _: endless):
            status, text = phone.page("/seat/north")
            assert (status, "The table sends too much" in text) == (503, True)


def test_the_table_is_given_nothing_but_its_own_cookies(far: FarTable) -> None:
    phone = seated(far)
    hub = FarPhone(far.hub.urls()[0].rstrip("/"))
    hub.form("/host", key=far.hub.host_key)
    secret = hub.cookies["host"]
    everything = {**phone.cookies, "host": secret, "card": "abcdefgh", "seat_north.0000": "of-another-table"}
    with instead_of(far, lambda _: page()) as asked:
        cookies = "; ".join(f"{name}={value}" for name, value in everything.items())
        phone.jar.clear()
        phone.send("/seat/north", None, {"Cookie": cookies, "X-Host-Key": far.hub.host_key, "Authorization": "Basic x"})
        until("it is asked", lambda: asked)
        told = packed_call(asked[0])
        assert set(asked[0].request.cookies) == {"seat_north"}
        for each in (secret, "of-another-table", "abcdefgh", far.hub.host_key, everything["far"], "Basic"):
            assert each.encode() not in told


def test_another_table_answers_nothing_in_its_place(
    far: FarTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = joined(far.hub, tmp_path / "other")
    phone, own = seated(far), far.hub.folder.now.tables[0].id
    monkeypatch.setattr("web.hub.far.ANSWERS_S", 1.0)

    with instead_of(far, lambda _: []) as asked:

        async def lie() -> None:
            client = Nats()
            await client.connect(
                list(other.member.servers), nkeys_seed_str=other.member.seed, allow_reconnect=False,
                inbox_prefix=inbox_prefix(other.member.table),
            )  # fmt: skip
            request = asyncio.ensure_future(asyncio.to_thread(phone.page, "/seat/north"))
            while not asked:
                await asyncio.sleep(0.01)
            for table in (own, other.member.table):
                await client.publish(told_far_subject(table, asked[0].id), page()[0])
            assert (await request)[0] == 503
            await client.close()

        asyncio.run(lie())
    other.close()


def test_a_phone_that_asks_too_much_is_told_so_and_the_table_goes_on(far: FarTable) -> None:
    phone = seated(far)
    answers: list[int] = []

    def many() -> None:
        mine = FarPhone(phone.url)
        cookies = "; ".join(f"{name}={value}" for name, value in phone.cookies.items())
        for _ in range(60):
            answers.append(mine.send("/clock", None, {"Cookie": cookies})[0])

    threads = [threading.Thread(target=many) for _ in range(6)]
    for each in threads:
        each.start()
    far.companion.table.take_seat(Seat.SOUTH, "Mara")
    far.companion.table.new_game("outbuffered")
    for each in threads:
        each.join()
    assert set(answers) <= {200, 503}
    assert len(answers) == 360
    assert FarRequest("x", "GET", "/").body == b""
    assert "secret" not in repr(FarRequest("x", "POST", "/", body=b"secret"))
