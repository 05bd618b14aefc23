"""Remote phones at a table's seat, by a real hub: they play, they are let in and put out, and nobody else hears."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from far_tools import FarPhone, FarTable, confirm, far_table, play
from hub_tools import disk_of_its_own, fill, joined, kept, kill_nats, until
from hub_tools import running as running_hub
from inside import app_of, is_offered, journal_of, session_of
from nats.aio.client import Client as Nats
from service import Client, Running, running

from companion import __version__
from companion.cli import main
from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.core.ports.far import MOST_PHOTOGRAPH, FarRequest
from companion.games import GAMES
from companion.hub.far import FarCall, FarOpen, FarOpened, packed_call, read_opened
from companion.hub.far_line import FarLine
from companion.hub.membership import read_membership
from companion.hub.subjects import far_subject, inbox_prefix, told_far_subject
from companion.hub_server.far_desk import FarDesk
from companion.hub_server.listener import HubListener
from companion.hub_server.store import HubStore
from companion.table.session import FAR, Phase

_DOWN = "The line to the table is down. What you just did has not arrived there."


def notices(far: FarTable) -> str:
    return " ".join(str(each) for each in far.companion.table.view().devices.notices)


def test_a_whole_game_from_afar(far: FarTable) -> None:
    phone, table = far.phone(), far.companion.table
    assert "Sit down" in phone.form("/enter", code=far.invite())[1]
    page = phone.sit(far.invite(), name="Ines")
    assert "its machine" not in page
    view = table.view().seats[Seat.NORTH]
    assert (str(view.name), view.door) == ("Ines", FAR)
    table.take_seat(Seat.SOUTH, "Mara")
    table.new_game("outbuffered", {"turn_limit": 6})
    play(far, phone, 200)
    until("a tie is played again", lambda: table.progress().number == 2)
    assert play(far, phone, 2) == 2
    assert phone.ask("/api/seat/north/resign")[0] == 200
    assert table.view().phase is Phase.OVER
    status, page = phone.page("/seat/north")
    assert status == 200
    assert "Receipts" in page
    for path in ("/history/2", "/history/1", "/history/1/scene/1"):  # whoever looks at it goes on doing so
        assert phone.page(path)[0] == 200, path
    assert phone.page("/history/9")[0] == 404
    leads_where_it_may_go(phone, "/seat/north", "/history/1", "/rules/", "/rules/outbuffered")
    far.companion.hub.uninvite(Seat.NORTH)
    late = far.phone()
    late.sit(far.invite(), name="Jonas")
    assert late.page("/seat/north")[0] == 200
    assert late.page("/history/1")[0] == 404  # that game was not this phone's


def answered(phone: FarPhone, link: str) -> int:
    """The status; 0 while the line is too busy."""
    status = phone.send(link)[0]
    return 0 if status == 503 else status


def leads_where_it_may_go(phone: FarPhone, *paths: str) -> None:
    """No link of these pages is one that a remote phone is refused."""
    links = {link for path in paths for link in re.findall(r'href="?(/[^"#?>]*)', phone.page(path)[1])}
    assert len(links) > 6
    for link in links:
        assert until("the line has room", lambda link=link: answered(phone, link)) == 200, link


@pytest.mark.parametrize(
    ("game", "options"),
    [("scouts", {}), ("arena", {}), ("kahmate", {"round_limit": 6}), ("binmat", GAMES["binmat"].presets[0].options)],
)
def test_a_whole_game_of_every_other_kind(far: FarTable, game: str, options: dict[str, object]) -> None:
    phone, table = far.phone(), far.companion.table
    phone.sit(far.invite())
    table.take_seat(Seat.SOUTH, "Mara")
    table.new_game(game, options)
    play(far, phone, 40 if game == "scouts" else 400)
    if table.view().phase is not Phase.OVER:  # scouts of chance hardly ever arrive
        assert phone.ask("/api/seat/north/resign")[0] == 200
    assert table.view().phase is Phase.OVER
    status, page = phone.page("/seat/north")
    assert (status, "finale" in page) == (200, True)


def test_what_is_let_through(far: FarTable) -> None:
    phone, key = far.phone(), {"X-Host-Key": far.companion.host_key}
    assert phone.page("/seat/north")[1].count("Play remotely")  # no code, no table
    phone.sit(far.invite())
    for path in (
        "/host",
        "/settings",
        "/camera",
        "/history",
        "/watch",
        "/api/view",
        "/live/table",
        "/seat/../host",
        "/%2e%2e/host",
    ):
        status, body, _ = phone.send(path, None, key)
        assert status in (403, 404), path
        assert far.companion.host_key.encode() not in body
    for door in ("confirm", "by-pad", "machine", "tiles", "take"):
        status, answer = phone.ask(f"/api/seat/north/{door}")
        assert (status, answer["error"]["kind"]) == (403, "illegal"), door
        assert "remote phone cannot do that" in answer["error"]["message"]
    for door in ("host/new-game", "host/free-seat", "host/hub/leave", "table/act"):
        status, body, _ = phone.send(f"/api/{door}", b"{}", {"Content-Type": "application/json", **key})
        assert status == 403, door
    assert phone.ask("/api/seat/south/leave")[0] == 403
    assert phone.send("/api/seat/north/draw", b"x" * 20_000, {"Content-Type": "application/json"})[0] == 413
    foreign = {"Content-Type": "application/json", "Origin": "http://evil.example"}
    assert phone.send("/api/seat/north/leave", b"{}", foreign)[0] == 403
    assert phone.send("/", None, {"Host": "evil.example"})[0] == 421
    assert phone.page("/")[1].count('data-seat="north"')


def test_an_invitation_is_for_one_sitting(far: FarTable) -> None:
    code, first, second, table = far.invite(), far.phone(), far.phone(), far.companion.table
    assert second.form("/enter", code=code)[0] == 200
    first.sit(code)
    with pytest.raises(CompanionError, match="is taken: free the seat first"):
        far.companion.hub.invite(Seat.NORTH)
    status, page = second.form("/join/north", name="Somebody")
    assert (status, "This invitation is over" in page) == (403, True)
    assert far.phone().form("/enter", code=code)[0] == 403
    far.companion.hub.uninvite(Seat.NORTH)
    assert table.view().seats[Seat.NORTH].name is None
    status, page = first.page("/seat/north")
    assert (status, "This invitation is over" in page) == (403, True)
    assert not first.cookies  # this browser has forgotten the table
    fresh = far.invite()
    far.companion.hub.uninvite(Seat.NORTH)
    assert far.phone().form("/enter", code=fresh)[0] == 403


def test_an_invitation_survives_a_restart_and_a_used_one_stays_used(far: FarTable) -> None:
    code = far.invite()
    waiting = far.phone()
    assert waiting.form("/enter", code=code)[0] == 200  # its name is being typed
    far.restart_table()
    assert far.companion.hub.invitations[Seat.NORTH].code == code
    until("the hub knows it", lambda: is_offered(far.hub, code))
    assert "Menu" in waiting.form("/join/north", name="Ines")[1]
    far.restart_table()
    assert not far.companion.hub.invitations
    assert waiting.page("/seat/north")[0] == 200
    assert far.phone().form("/enter", code=code)[0] == 403
    far.companion.hub.uninvite(Seat.NORTH)
    far.restart_table()
    assert far.phone().form("/enter", code=code)[0] == 403
    assert far.companion.table.view().seats[Seat.NORTH].name is None


def test_two_phones_with_one_invitation_and_one_that_is_taken_back(far: FarTable) -> None:
    code, phones = far.invite(), [far.phone() for _ in range(4)]
    for phone in phones:
        assert phone.form("/enter", code=code)[0] == 200
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda one: one[1].form("/join/north", name=f"No {one[0]}"), enumerate(phones)))
    assert sorted(status for status, _ in answers) == [200, 403, 403, 403]
    assert sum("This invitation is over" in page for _, page in answers) == 3
    code, late = far.invite(Seat.SOUTH), far.phone()
    assert late.form("/enter", code=code)[0] == 200
    far.companion.table.take_seat(Seat.SOUTH, "Mara")  # somebody in the room was quicker
    status, page = late.form("/join/south", name="Late")
    assert (status, "This invitation is over" in page) == (403, True)
    far.companion.table.free_seat(Seat.SOUTH)
    assert late.form("/enter", code=code)[0] == 200
    far.companion.hub.uninvite(Seat.SOUTH)
    status, page = late.form("/join/south", name="Late")
    assert (status, "This invitation is over" in page) == (403, True)
    assert far.companion.table.view().seats[Seat.SOUTH].name is None
    assert read_membership(Path(far.settings.state_dir) / "hub.json").invitations == {}  # type: ignore[union-attr]


def test_photographs_of_its_own_game_reach_a_phone_far_away(far: FarTable) -> None:
    phone, table = far.phone(), far.companion.table
    phone.sit(far.invite())
    table.take_seat(Seat.SOUTH, "Mara")
    table.new_game("outbuffered")
    album, moment, kept = far.companion.album, "1.77", b"\xff\xd8" + b"photograph" * 10_000
    album.keep(1, moment, kept)
    status, picture, headers = phone.send(f"/api/photograph/1/{moment}")
    assert (status, headers["Content-Type"], picture) == (200, "image/jpeg", kept)
    album.keep(1, "1.99", b"\xff\xd8" + b"x" * MOST_PHOTOGRAPH)  # larger than any photograph of a board
    assert phone.send("/api/photograph/1/1.99")[0] == 403
    album.keep(2, moment, picture)
    assert phone.send(f"/api/photograph/2/{moment}")[0] == 403  # another game's
    for path in ("/camera/frame.jpg", "/camera/settled/1.jpg", "/live/camera", "/api/photographs"):
        assert phone.send(path)[0] in (403, 404), path  # as for a phone at the table, or less
    answers = [phone.send(f"/api/photograph/1/{moment}")[0] for _ in range(60)]
    assert 503 in answers  # it takes no more of the line than it may
    until("it is answered again", lambda: phone.page("/seat/north")[0] == 200)


def test_the_clock_of_a_phone_far_away_waits_for_the_hub(far: FarTable) -> None:
    phone, table = far.phone(), far.companion.table
    phone.sit(far.invite())
    table.take_seat(Seat.SOUTH, "Mara")
    table.new_game("scouts")
    while not (session_of(table).countdown and session_of(table).awaited == {Seat.NORTH}):
        play(far, phone, 1)
    screen = app_of(far.companion.server).test_client()
    tidied = screen.post("/workbench/tidy", json={})  # a piece that lies wrong would be told first
    assert tidied.status_code == 200, tidied.text
    far.hub.close()
    until("the clock stands still", lambda: session_of(table).is_cut)
    until("the table screen says so", lambda: "Wait for the connection" in screen.get("/?screen").text)
    assert 'data-post="/api/table/resume"' not in screen.get("/?screen").text
    far.start_hub()
    until("the phone asks again", lambda: phone.page("/seat/north")[0] == 200)
    until("the clock goes on", lambda: not session_of(table).paused)


def test_codes_are_not_guessed(far: FarTable) -> None:
    code, stranger = far.invite(), far.phone()
    answers = [stranger.form("/enter", code=f"aaaaaaa{letter}")[1] for letter in "23456789"]
    assert "No seat is offered under this code now" in answers[0]
    assert "Too many wrong codes" in answers[-1]
    assert "Too many wrong codes" in stranger.form("/enter", code=code)[1]
    assert stranger.page(f"/{code}")[1].count("Play remotely")  # a link alone takes nothing, and asks no table


def test_a_table_with_a_code_of_its_own_screen_lets_its_guests_in(tmp_path: Path) -> None:
    with far_table(tmp_path, join="code") as far:
        far.phone().sit(far.invite())
        assert far.companion.table.view().seats[Seat.NORTH].door == FAR


def test_both_change_places_and_the_phone_far_away_follows(far: FarTable) -> None:
    phone = far.phone()
    phone.sit(far.invite())
    far.companion.table.swap_seats()
    assert far.companion.table.view().seats[Seat.SOUTH].door == FAR
    assert 'data-seat="south"' in phone.page("/seat/north")[1]
    assert phone.ask("/api/seat/south/leave")[0] == 200
    assert "This invitation is over" in phone.page("/")[1]


def test_the_table_says_who_is_far_away_and_who_is_gone(far: FarTable) -> None:
    phone = far.phone()
    phone.sit(far.invite())
    until("it is said", lambda: notices(far) == "North plays remotely, but that phone is not connected now.")
    request = urllib.request.Request(
        f"{phone.url}/live/seat/north",
        headers={"Cookie": "; ".join(f"{name}={value}" for name, value in phone.cookies.items())},
    )
    with urllib.request.urlopen(request, timeout=20) as stream:
        assert b'id="live"' in b"".join(stream.readline() for _ in range(8))
        until("it is there", lambda: not notices(far))
        far.companion.table.take_seat(Seat.SOUTH, "Mara")
        far.companion.table.new_game("outbuffered")
        until("the page follows", lambda: b"Outbuffered" in stream.readline())
    until("it is gone", lambda: "not connected now" in notices(far))
    page = app_of(far.companion.server).test_client().get("/join").text
    assert "Ines plays remotely." in page


def test_a_hub_that_is_killed_loses_nothing(far: FarTable) -> None:
    phone, table = far.phone(), far.companion.table
    phone.sit(far.invite())
    table.take_seat(Seat.SOUTH, "Mara")
    table.new_game("outbuffered")
    for seed in range(3):
        play(far, phone, 3, seed)
        kill_nats(far.hub)
        status, _, _ = phone.send("/seat/north", None, {"Accept": "text/html"})
        assert status in (200, 503)
        until("the table is back", lambda: far.is_connected() and phone.page("/seat/north")[0] == 200)
        play(far, phone, 3, seed)
        far.restart_hub()
        until("the seat is there", lambda: phone.page("/seat/north")[0] == 200)
    sealed = [turn.sealed[Seat.NORTH].salt for turn in session_of(table).turns]
    assert len(sealed) == len(set(sealed)) >= 8


def test_a_full_disk_at_the_hub_stops_no_remote_phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with disk_of_its_own(tmp_path / "hub") as disk, far_table(tmp_path) as far:
        phone, table = far.phone(), far.companion.table
        phone.sit(far.invite())
        table.take_seat(Seat.SOUTH, "Mara")
        table.new_game("outbuffered")
        assert play(far, phone, 1) == 1
        cuts: list[str] = []
        with monkeypatch.context() as counted:
            counted.setattr(FarDesk, "on_cut", lambda _: cuts.append("the hub's end"))
            counted.setattr(FarLine, "broken", lambda _: cuts.append("the table's end"))
            fill(disk)
            until("the hub says it", lambda: "disk is full" in far.hub.room.trouble)
            assert play(far, phone, 2) == 2
            until("the table says it", lambda: "disk may be full" in far.companion.hub.sentence)
            assert play(far, phone, 2) == 2
            assert cuts == []


def test_a_table_that_is_away_is_said_and_comes_back(far: FarTable) -> None:
    phone = far.phone()
    phone.sit(far.invite())
    table = far.companion.table
    table.take_seat(Seat.SOUTH, "Mara")
    table.new_game("outbuffered")
    play(far, phone, 1)
    session = session_of(table)
    assert session.awaited == {Seat.NORTH}
    order = {"moment": session.moment, "action": "UUS", "salt": "5" * 32}
    receipt = phone.ask("/api/seat/north/hand-in", **order)[1]["receipt"]
    far.companion.close()
    status, page = phone.page("/seat/north")
    assert (status, "The table does not answer" in page, "data-again" in page) == (503, True, True)
    status, answer = phone.ask("/api/seat/north/hand-in", **order)
    assert (status, answer["error"]["message"]) == (503, _DOWN)
    far.start_table()
    until("the seat's page", lambda: phone.page("/seat/north")[0] == 200)
    assert session_of(far.companion.table).turns[-1].sealed[Seat.NORTH].receipt == receipt


def test_an_offered_seat_is_known_to_a_hub_that_starts_again(far: FarTable) -> None:
    code = far.invite()
    far.restart_hub()
    until("the table has said it again", lambda: is_offered(far.hub, code))
    far.phone().sit(code)


def test_a_hub_that_starts_knows_its_address_before_a_table_can_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would refuse what it has offered itself, and the link that a friend was sent would be over."""
    told: list[FarOpened] = []
    start = HubStore.start

    def first(store: HubStore, heard: HubListener) -> None:
        wish = msgspec.json.encode(FarOpen(Seat.NORTH, __version__, "abcdefgh"))
        told.append(read_opened(heard.on_far_wish("7" * 16, wish)))
        start(store, heard)

    monkeypatch.setattr(HubStore, "start", first)
    with running_hub(tmp_path, far_port=0) as hub:
        assert told == [FarOpened("abcdefgh", hub.far_url())]


def raw(far: FarTable, work: Any, seed: str | None = None, table: str = "x") -> Any:
    """Something said at NATS, by the hub's own key or a table's."""

    async def talk() -> Any:
        assert far.hub.nats is not None
        client, prefix = Nats(), inbox_prefix(table)
        await client.connect(
            far.hub.nats.url, nkeys_seed_str=seed or far.hub.folder.now.seed, allow_reconnect=False, inbox_prefix=prefix
        )
        try:
            return await asyncio.wait_for(work(client), 20)
        finally:
            await client.close()

    return asyncio.run(talk())


def test_another_version_is_refused_with_a_sentence(far: FarTable, monkeypatch: pytest.MonkeyPatch) -> None:
    phone = far.phone()
    phone.sit(far.invite())
    monkeypatch.setattr("companion.hub_server.far_desk.__version__", "0.0.1")
    status, page = phone.page("/seat/north")
    assert status == 409
    assert "The table and its hub have different versions" in page
    with pytest.raises(CompanionError, match="update one of them"):
        far.companion.hub.invite(Seat.SOUTH)


def test_a_link_says_that_versions_differ_and_holds_again_once_they_do_not(
    far: FarTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = far.invite()
    with monkeypatch.context() as newer:
        newer.setattr("companion.hub_server.far_desk.__version__", "9.9.9")
        far.restart_hub()
        page = until(
            "the table has said it", lambda: (told := far.phone().form("/enter", code=code))[0] != 403 and told
        )
        assert "The table and its hub have different versions of the program: one of them needs an update." in page[1]
    far.restart_hub()
    until("the table has said it again", lambda: is_offered(far.hub, code))
    assert far.companion.table.far.invitations[Seat.NORTH].code == code
    far.phone().sit(code)


def test_the_same_call_once_more_changes_nothing(far: FarTable) -> None:
    phone = far.phone()
    phone.sit(far.invite())
    table = far.hub.folder.now.tables[0].id
    cookies: Any = {name.partition(".")[0]: value for name, value in phone.cookies.items() if name.startswith("seat_")}
    request = FarRequest(
        "aaaaaaaa", "POST", "/api/seat/north/draw", content_type="application/json", cookies=cookies, body=b"{}"
    )
    call = FarCall("0" * 32, __version__, request)

    async def twice(client: Nats) -> int:
        heard = await client.subscribe(told_far_subject(table, call.id))
        for _ in range(2):
            await client.publish(far_subject(table), packed_call(call))
        await heard.next_msg(10)
        with pytest.raises(Exception, match="timeout"):
            await heard.next_msg(1)
        return 1

    assert raw(far, twice) == 1


def test_only_its_own_table_hears_a_phone(far: FarTable, tmp_path: Path) -> None:
    """Nothing of an order is at another table, on the hub's disk, in a log, or in what spectators see."""
    phone, table = far.phone(), far.companion.table
    other = joined(far.hub, tmp_path / "other")
    heard: list[bytes] = []
    phone.sit(far.invite())
    table.take_seat(Seat.SOUTH, "Mara")
    table.new_game("outbuffered")
    confirm(table)
    own = far.hub.folder.now.tables[0].id
    salt = "5ec2e7" * 5

    async def listen(client: Nats) -> None:
        async def hear(message: Any) -> None:
            heard.append(message.data)

        for subject in (far_subject(own), told_far_subject(own, "*"), ">", "far.>", "told.>"):
            await client.subscribe(subject, cb=hear)
        await client.flush()
        order = {"moment": session_of(table).moment, "action": "UUS", "salt": salt}
        status, answer = await asyncio.to_thread(phone.ask, "/api/seat/north/hand-in", **order)
        assert status == 200, answer
        await asyncio.sleep(0.2)

    raw(far, listen, other.member.seed)
    assert not heard
    assert session_of(table).sealed[Seat.NORTH].salt == salt
    until("it is kept", lambda: len(kept(far.hub, own)) == len(entries(far)))
    told = json.dumps([str(each) for each in kept(far.hub, own)])
    assert "UUS" not in told
    assert salt not in told
    for path in (tmp_path / "hub").rglob("*"):
        if path.is_file():
            assert salt.encode() not in path.read_bytes(), path
    other.close()


def entries(far: FarTable) -> list[int]:
    member = read_membership(Path(far.settings.state_dir) / "hub.json")
    assert member is not None
    return [entry.id for entry in journal_of(far.companion.table).entries() if entry.id > member.start]


def test_by_the_hosts_page_and_by_the_command_line(far: FarTable, capsys: pytest.CaptureFixture[str]) -> None:
    host, key = app_of(far.companion.server).test_client(), {"X-Host-Key": far.companion.host_key}
    assert host.get("/host/hub/far").status_code == 403
    assert "Invite for North" in host.get("/host/hub/far", headers=key).text
    assert host.post("/host/hub/far", data={"seat": "north"}).status_code == 403
    assert host.post("/host/hub/far", data={"seat": "north"}, headers=key).status_code == 303
    code = far.companion.table.far.invitations[Seat.NORTH].code
    assert f"{far.hub.far_url()}{code}" in host.get("/host/hub/far", headers=key).text
    assert code in host.get("/host", headers=key).text
    assert host.post("/host/hub/far", data={"end": "north"}, headers=key).status_code == 303
    assert not far.companion.table.far.invitations
    known = ["--state-dir", far.settings.state_dir, "--port", str(far.companion.server.port)]
    assert main(["hub", "invite", "north", *known]) == 0
    said = capsys.readouterr().out
    code = far.companion.table.far.invitations[Seat.NORTH].code
    assert f"Link to send:  {far.hub.far_url()}{code}" in said
    far.phone().sit(code)
    assert main(["hub", "invite", "north", *known]) == 1
    assert "free the seat first" in capsys.readouterr().err
    assert main(["hub", "uninvite", "north", *known]) == 0
    assert far.companion.table.view().seats[Seat.NORTH].name is None


def test_the_hubs_pages_lead_there(far: FarTable) -> None:
    phone = far.phone()
    hub = app_of(far.hub.server).test_client()
    assert hub.get("/far").location == far.hub.far_url().replace("127.0.0.1", "localhost")
    assert "Play remotely" in hub.get("/watch").text
    assert phone.page("/enter")[1].count("it could read your orders")


@pytest.mark.parametrize("game", ["outbuffered", "arena", "kahmate"])
def test_spectators_see_the_same_whatever_was_ordered(tmp_path: Path, game: str) -> None:
    def seen(folder: Path, chance: int) -> tuple[str, list[str], str]:
        folder.mkdir()
        with far_table(folder) as far:
            phone, table = far.phone(), far.companion.table
            phone.sit(far.invite())
            table.take_seat(Seat.SOUTH, "Mara")
            table.new_game(game, seed=1)
            confirm(table)
            session = session_of(table)
            action = session.playing.format(session.playing.random_action(session.state, Seat.NORTH, Random(chance)))
            order = {"moment": session.moment, "action": action, "salt": "5" * 32}
            assert phone.ask("/api/seat/north/hand-in", **order)[0] == 200
            own = far.hub.folder.now.tables[0].id
            until("it is kept", lambda: len(kept(far.hub, own)) == len(entries(far)))
            records = [str(record.view) for record in kept(far.hub, own)]
            assert "sealed=True" in records[-1]
            watch = app_of(far.hub.server).test_client()
            until("it is shown", lambda: far.hub.room.table(1).shown.record.view.seats[Seat.NORTH].sealed)  # type: ignore[union-attr]
            return action, records, watch.get("/watch/1").text

    (action, *one), (different, *other) = seen(tmp_path / "one", 1), seen(tmp_path / "other", 2)
    assert action != different
    assert one == other


def test_a_table_that_is_killed_has_every_order_with_a_receipt(tmp_path: Path) -> None:
    """SIGKILL of the service right after the receipt: the order is there once, and the phone still has its seat."""
    with running_hub(tmp_path / "hub", far_port=0) as hub, ExitStack() as stack:
        service = stack.enter_context(running(tmp_path))
        service.host("hub/join", address=hub.urls()[0], code=hub.door.code)
        code = until("an invitation", lambda: invited(service))
        phone = FarPhone(hub.far_url().rstrip("/"))
        phone.sit(code)
        south = Client(service.url)
        south.post("/api/seat/south/take", name="Mara")
        service.new_game("outbuffered")
        for turn in range(3):
            while (view := south.get("/api/view"))["phase"] in ("setup", "stages"):
                done = json.dumps({"moment": view["moment"], "stage": view["stage"], "force": True}).encode()
                Client(service.url).send("/api/host/confirm", done, host_of(service))  # or the camera was quicker
            order = {"moment": view["moment"], "action": "UDI", "salt": f"{turn}" * 32}
            receipt = phone.ask("/api/seat/north/hand-in", **order)[1]["receipt"]
            service.kill()
            assert phone.page("/seat/north")[0] == 503
            service = stack.enter_context(running(tmp_path))
            until("the table is back", lambda: phone.page("/seat/north")[0] == 200)
            assert phone.ask("/api/seat/north/mine")[1]["action"] == "UDI"
            assert phone.ask("/api/seat/north/hand-in", **order) == (200, {"receipt": receipt})
            south = again(south, service)
            south.post("/api/seat/south/hand-in", moment=view["moment"], action="III", salt="7" * 32)
        assert south.get("/api/view")["turn"] >= 3


def host_of(service: Running) -> dict[str, str]:
    return {"X-Host-Key": service.host_key, "Content-Type": "application/json"}


def invited(service: Running) -> str:
    """The code for North; empty while the hub has not answered yet."""
    status, body, _ = Client(service.url).send("/api/host/hub/invite", b'{"seat": "north"}', host_of(service))
    return str(json.loads(body)["code"]) if status == 200 else ""


def again(before: Client, service: Running) -> Client:
    """The same phone at a service that may have another port now."""
    client = Client(service.url)
    for cookie in before.jar:
        client.jar.set_cookie(cookie)
    return client
