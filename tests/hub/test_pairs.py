"""One game at two tables through a real hub: agreed on by a code, played over NATS, whatever is killed on the way."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hub_tools import TableAtHub, has_all, hub_settings, joined, kept, kill_nats, running, until
from inside import session_of
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError
from nats.errors import Error as NatsError
from remote_tools import act, same_game

from companion import __version__
from companion.archive.history import History
from companion.core.errors import CompanionError, Illegal
from companion.core.kit import Seat
from companion.games.binmat.cards import DECK
from companion.hub.joining import card_of
from companion.hub.pairing import PairLook, PairTake, kit_mark, read_answer
from companion.hub.subjects import inbox_prefix, message_subject, near_subject, record_subject, wish_subject
from companion.hub_server.app import Hub
from companion.hub_server.heard import RecordPlace
from companion.table.public.messages import PublicPair, encoded
from companion.table.session import Phase

Two = tuple[TableAtHub, TableAtHub]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with running(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


@contextmanager
def two(hub: Hub, folder: Path) -> Iterator[list[TableAtHub]]:
    """South's table and North's, connected."""
    folder.mkdir(exist_ok=True)
    tables = [joined(hub, folder / name, names=True) for name in ("south", "north")]
    try:
        connected(tables)
        yield tables
    finally:
        for table in tables:
            table.close()


def connected(tables: list[TableAtHub]) -> None:
    until("the hub is there", lambda: all(table.line.is_connected for table in tables))


def agree(tables: list[TableAtHub], game: str = "outbuffered", **options: object) -> None:
    south, north = tables
    code = south.line.pairs.offer(game, options, Seat.SOUTH, "Mara")
    north.line.pairs.take(code, "Jonas")
    until("the game begins", lambda: all(session_of(table.table).remote for table in tables))


def phases(tables: list[TableAtHub]) -> list[Phase]:
    return [session_of(table.table).phase for table in tables]


def play(tables: list[TableAtHub], rng: Random, between: Callable[[], None] = lambda: None) -> None:
    """To the end, by random actions; what comes too late because the other table was quicker is refused."""

    def plays() -> bool:
        between()
        for table, seat in zip(tables, Seat, strict=True):
            with suppress(CompanionError):
                act(table.table, seat, rng)
            table.table.step()
        return phases(tables) == [Phase.OVER] * 2

    until("the game is over", plays, 60)


def says(table: TableAtHub, words: str) -> bool:
    """Does the table say this beside its game?"""
    table.table.step()
    return any(words in each for each in table.table.view().devices.notices)


def test_two_tables_agree_by_a_code_and_play(hub: Hub, tmp_path: Path) -> None:
    with two(hub, tmp_path) as tables:
        agree(tables, turn_limit=12)
        south, north = tables
        assert south.table.view().seats[Seat.NORTH].name == "Jonas"
        assert north.table.view().seats[Seat.SOUTH].name == "Mara"
        for table in tables:
            assert b"Mara" not in table.line.state()
            assert b"Jonas" not in table.line.state()
        play(tables, Random(3))
        same_game(south.table, north.table)
        south.played.begin()
        agree_again = pytest.raises(Illegal, match="A game is on")
        code = north.line.pairs.offer("outbuffered", {}, Seat.SOUTH, "")
        with agree_again:
            south.line.pairs.take(code, "")
        left = "The other table has left the game."
        until("the other table hears of it", lambda: (over := session_of(north.table).outcome) and over.reason == left)


@pytest.mark.parametrize("wish", ["offer", "look", "take", "withdraw"])
@pytest.mark.parametrize("is_heard", [False, True])
def test_a_line_that_breaks_under_a_wish_asks_once_more(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wish: str, is_heard: bool
) -> None:
    ask, broken = Client.request, [wish]

    async def breaks(self: Client, subject: str, payload: bytes, **how: Any) -> Msg:
        is_now = bool(broken) and f'"is":"{broken[0]}"'.encode() in payload
        if is_now:
            broken.clear()
        answer = await ask(self, subject, payload, **how) if is_heard or not is_now else None
        if answer is None or is_now:
            await self.close()
            raise ConnectionClosedError
        return answer

    with two(hub, tmp_path / "tables") as tables:
        south, north = tables
        monkeypatch.setattr(Client, "request", breaks)
        if wish == "withdraw":
            code = south.line.pairs.offer("outbuffered", {}, Seat.SOUTH, "Mara")
            south.line.pairs.withdraw()
            with pytest.raises(Illegal, match="under that code"):
                north.line.pairs.take(code, "Jonas")
        else:
            agree(tables)
        assert not broken


def test_whatever_is_killed_the_game_is_the_same_at_both_tables(tmp_path: Path) -> None:
    settings, rng = hub_settings(tmp_path / "hub"), Random(8)
    with ExitStack() as stack:
        hubs = [stack.enter_context(Hub(settings))]
        with two(hubs[0], tmp_path) as tables:
            agree(tables, "arena")
            left = [20]

            def break_something() -> None:
                if left[0] == 0 or rng.random() > 0.3:
                    return
                left[0] -= 1
                match rng.randrange(8):
                    case 0:
                        kill_nats(hubs[0])
                    case 1:
                        hubs.pop().close()
                        hubs.append(stack.enter_context(Hub(settings)))
                    case number:
                        gone = tables[number % 2]
                        gone.close()
                        tables[number % 2] = TableAtHub(gone.folder, gone.member)

            play(tables, rng, break_something)
            same_game(*(table.table for table in tables))


@pytest.mark.slow
def test_the_hub_deals_the_cards_and_deals_them_on_whatever_is_killed(tmp_path: Path) -> None:
    settings, rng = hub_settings(tmp_path / "hub"), Random(4)
    with ExitStack() as stack:
        hubs = [stack.enter_context(Hub(settings))]
        with two(hubs[0], tmp_path) as tables:
            agree(tables, "binmat", turns=40, seconds=0)
            until("the cards are dealt", lambda: phases(tables) == [Phase.ORDERS] * 2)
            left = [6]

            def break_something() -> None:
                if left[0] == 0 or rng.random() > 0.1:
                    return
                left[0] -= 1
                match left[0] % 3:
                    case 0:
                        kill_nats(hubs[0])
                    case 1:
                        hubs.pop().close()
                        hubs.append(stack.enter_context(Hub(settings)))
                    case _:
                        gone = tables[left[0] // 3]
                        gone.close()
                        tables[left[0] // 3] = TableAtHub(gone.folder, gone.member)

            play(tables, rng, break_something)
            until("the cards are opened", lambda: not any(session_of(table.table).is_covered for table in tables))
            same_game(*(table.table for table in tables))
            south, north = tables
            pair = hubs[0].folder.now.pair_of(south.member.table)
            assert pair
            for subject in (
                message_subject(pair.id, south.member.table, 1),
                message_subject(pair.id, f"to-{south.member.table}", 1),
                message_subject(pair.id, "order", 1),
            ):
                assert asked(hubs[0], north, f"$JS.API.DIRECT.GET.PAIRS.{subject}", b"", 0.5) == b""


def test_a_rematch_begins_once_both_tables_want_it_with_sides_changed(hub: Hub, tmp_path: Path) -> None:
    with two(hub, tmp_path) as tables:
        south, north = tables
        south.table.take_seat(Seat.SOUTH, "Mara")
        north.table.take_seat(Seat.NORTH, "Jonas")
        agree(tables, "binmat", turns=12, seconds=0)
        until("the cards are dealt", lambda: phases(tables) == [Phase.ORDERS] * 2)
        south.table.resign(Seat.SOUTH)
        until("it is over", lambda: not any(session_of(table.table).is_covered for table in tables))
        first = session_of(south.table).remote
        south.table.rematch(swap=True)
        until("it is said here", lambda: says(south, "waiting for the other table"))
        until("it is said there", lambda: says(north, "The other table wants a rematch"))
        assert phases(tables) == [Phase.OVER] * 2
        north.table.rematch(swap=True)
        until("the cards are dealt", lambda: phases(tables) == [Phase.ORDERS] * 2)
        for table, own, name in ((south, Seat.NORTH, "Mara"), (north, Seat.SOUTH, "Jonas")):
            remote = session_of(table.table).remote
            assert remote
            assert first
            assert remote.own is own
            assert remote.at.id != first.at.id
            assert table.table.view().seats[own].name == name
            assert table.table.view().seats[own.other].name == {"Mara": "Jonas", "Jonas": "Mara"}[name]
            assert table.table.view().match.score == (1, 0, 0)  # Jonas won from North; the match goes on
            assert not says(table, "ematch")
        play(tables[::-1], Random(6))
        until("the cards are opened", lambda: not any(session_of(table.table).is_covered for table in tables))
        same_game(south.table, north.table)


def evenings(tables: list[TableAtHub]) -> list[dict[str, int] | None]:
    """The score of the evening by names, as the end of the last game shows it at each table."""
    found: list[dict[str, int] | None] = []
    for table in tables:
        number = session_of(table.table).number
        past = History(table.journal, table.folder / "history", table.clock, on_table=lambda number=number: number)
        finale = past.finale(number)
        assert finale
        names = {seat: sitters[-1].name for seat, sitters in past.line(number).players.items()}  # type: ignore[union-attr]
        found.append(finale.evening and {names[seat]: wins for seat, wins in finale.evening.items()})
    return found


def test_the_score_of_the_evening_goes_by_names_whatever_the_side_and_the_game(hub: Hub, tmp_path: Path) -> None:
    with two(hub, tmp_path) as tables:
        south, north = tables
        south.table.take_seat(Seat.SOUTH, "Mara")
        north.table.take_seat(Seat.NORTH, "Jonas")
        agree(tables, "scouts")

        def gives_up(table: TableAtHub) -> None:
            remote = session_of(table.table).remote
            assert remote
            until("it is set up", lambda: [confirm(each) for each in tables] and phases(tables) == [Phase.ORDERS] * 2)
            table.table.resign(remote.own)
            until("it is over", lambda: phases(tables) == [Phase.OVER] * 2)

        gives_up(south)
        assert evenings(tables) == [{"Mara": 0, "Jonas": 1}] * 2
        for swaps in (True, True, False):
            before = session_of(south.table).number
            for table in tables:
                table.table.rematch(swap=swaps)
            until("the next one", lambda before=before: all(session_of(t.table).number > before for t in tables))
            gives_up(north)
        assert evenings(tables) == [{"Mara": 3, "Jonas": 1}] * 2
        assert session_of(south.table).score == session_of(north.table).score
        code = north.line.pairs.offer("kahmate", {}, Seat.SOUTH, "Jonas")  # agreed anew, with sides changed
        south.line.pairs.take(code, "Mara")
        until("it is on", lambda: all(session_of(each.table).phase is not Phase.OVER for each in tables))
        gives_up(south)
        assert evenings(tables) == [{"Mara": 3, "Jonas": 2}] * 2
        for table, seat in ((south, Seat.NORTH), (north, Seat.SOUTH)):  # and so they sit in the next game here
            table.played.begin()
            assert set(session_of(table.table).seats) == {seat}
            assert table.journal.restore().seats == session_of(table.table).seats


def confirm(table: TableAtHub) -> bool:
    """The board shows the set-up, if that is asked for."""
    session = session_of(table.table)
    if session.phase is Phase.SETUP and session.remote and not session.remote.is_shown_here:
        with suppress(CompanionError):
            table.table.confirm("host", session.moment, session.stage)
    return True


def test_a_game_goes_on_at_another_hub_when_its_hub_was_lost(tmp_path: Path) -> None:
    settings, rng = hub_settings(tmp_path / "hub"), Random(9)
    with ExitStack() as stack:
        hub = stack.enter_context(Hub(settings))
        with two(hub, tmp_path) as tables:
            agree(tables, "arena")
            turns = [0]

            def until_the_third_turn() -> None:
                turns[0] = min(len(session_of(table.table).turns) for table in tables)
                if turns[0] == 3:
                    raise TimeoutError

            with suppress(TimeoutError):
                play(tables, rng, until_the_third_turn)
            hub.close()
            shutil.rmtree(tmp_path / "hub")
            hub = stack.enter_context(Hub(settings))
            until("it is said", lambda: all("no longer knows this table" in table.line.sentence for table in tables))
            before = [session_of(table.table).remote for table in tables]
            for place, table in enumerate(tables):
                assert table.line.pairs.interrupted is None or not table.line.is_connected
                table.close()
                tables[place] = joined(hub, table.folder, names=True)
            connected(tables)
            south, north = tables
            code = south.line.pairs.offer("outbuffered", {}, Seat.NORTH, "")
            with (
                two(hub, tmp_path / "others") as (stranger, _),
                pytest.raises(Illegal, match="is not being played here"),
            ):
                stranger.line.pairs.take(code, "")
            north.line.pairs.take(code, "")
            assert [session_of(table.table).remote.at for table in tables] == [each.at for each in before if each]  # type: ignore[union-attr] # it is on
            play(tables, rng)
            same_game(*(table.table for table in tables))


def test_a_game_of_cards_whose_dealer_is_lost_is_ended(tmp_path: Path) -> None:
    with ExitStack() as stack:
        hub = stack.enter_context(running(tmp_path / "hub"))
        with two(hub, tmp_path) as tables:
            agree(tables, "binmat", seconds=0)
            until("the cards are dealt", lambda: phases(tables) == [Phase.ORDERS] * 2)
            other = stack.enter_context(running(tmp_path / "other"))
            for place, table in enumerate(tables):
                table.close()
                tables[place] = joined(other, table.folder, names=True)
            connected(tables)
            with pytest.raises(Illegal, match="no longer knows this game: end it"):
                tables[0].line.pairs.offer("outbuffered", {}, Seat.SOUTH, "")
            for table in tables:
                table.table.abandon()
                table.table.abandon()
            assert phases(tables) == [Phase.OVER] * 2
            agree(tables)


# ---- agreeing --------------------------------------------------------------------------------------------------------


def test_codes_that_lead_nowhere_are_refused_with_a_sentence(hub: Hub, tmp_path: Path) -> None:
    with two(hub, tmp_path) as (south, north):
        code = south.line.pairs.offer("outbuffered", {}, Seat.NORTH, "")
        with pytest.raises(Illegal, match="own code"):
            south.line.pairs.take(code, "")
        with pytest.raises(Illegal, match="No game is offered"):
            north.line.pairs.take("wrong", "")
        south.line.pairs.withdraw()
        assert south.line.pairs.code == ""
        for _ in range(4):
            with pytest.raises(Illegal, match="No game is offered"):
                north.line.pairs.take(code, "")
        with pytest.raises(Illegal, match="Too many wrong codes"):
            north.line.pairs.take(code, "")
        with pytest.raises(Illegal, match="one deck"):
            south.line.pairs.offer("binmat", {"way": "referee"}, Seat.SOUTH, "")
        with pytest.raises(Illegal, match="a deal cannot be chosen"):
            south.line.pairs.offer("binmat", {"deck": list(DECK)}, Seat.SOUTH, "")


def test_other_versions_and_other_rules_refuse_each_other(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with two(hub, tmp_path) as (south, north):
        code = south.line.pairs.offer("outbuffered", {}, Seat.SOUTH, "")
        with monkeypatch.context() as patch:
            patch.setattr("companion.hub.pair_line.__version__", "0.9.0")
            with pytest.raises(Illegal, match=f"has version {__version__}, this one 0.9.0: update"):
                north.line.pairs.take(code, "")
        with monkeypatch.context() as patch:
            patch.setattr("companion.hub.pairing.kit_mark", lambda *_: "other")
            with pytest.raises(Illegal, match="The other table has different rules for Outbuffered"):
                north.line.pairs.take(code, "")
        answer = asked(hub, north, wish_subject(north.member.table), PairTake(code, "0.9.0", 1))
        with pytest.raises(Illegal, match="update"):  # the hub does not believe it either
            read_answer(answer)
        assert phases([south, north]) == [Phase.LOBBY] * 2
        assert kit_mark("outbuffered", {}) != kit_mark("arena", {})


# ---- rights -----------------------------------------------------------------------------------------------------------


def asked(hub: Hub, table: TableAtHub, subject: str, wish: object, seconds: float = 3.0) -> bytes:
    """What a changed program with this table's key is answered; empty: nothing."""

    async def ask() -> bytes:
        client = Client()
        assert hub.nats is not None

        async def nothing(_: Exception) -> None:
            """Refusals come as errors beside."""

        await client.connect(
            hub.nats.url,
            nkeys_seed_str=table.member.seed,
            inbox_prefix=inbox_prefix(table.member.table),
            error_cb=nothing,
        )
        try:
            payload = wish if isinstance(wish, bytes) else msgspec.json.encode(wish)
            return (await client.request(subject, payload, timeout=seconds)).data
        except (NatsError, TimeoutError):
            return b""
        finally:
            await client.close()

    return asyncio.run(ask())


def test_a_table_writes_its_own_side_of_its_own_game_and_nobody_else_reads_it(hub: Hub, tmp_path: Path) -> None:
    with two(hub, tmp_path) as tables, two(hub, tmp_path / "others") as (stranger, _):
        agree(tables, turn_limit=4)
        south, north = tables
        remote = session_of(south.table).remote
        assert remote is not None
        pair, own, other = remote.at.id, south.member.table, north.member.table
        south.table.confirm("host", "1.0", 0)
        until("it is told", lambda: session_of(north.table).remote.heard == 1)  # type: ignore[union-attr]
        read = f"$JS.API.DIRECT.GET.PAIRS.{message_subject(pair, own, 1)}"
        assert b"shown" in asked(hub, north, read, b"")
        assert asked(hub, stranger, read, b"", 0.5) == b""
        for who in (stranger, north):
            assert asked(hub, who, message_subject(pair, own, 2), b"{}", 0.5) == b""
        assert asked(hub, stranger, message_subject(pair, stranger.member.table, 1), b"{}", 0.5) == b""
        assert asked(hub, stranger, near_subject(pair, own), b"", 0.5) == b""
        assert asked(hub, stranger, wish_subject(own), PairLook("x"), 0.5) == b""
        again = asked(hub, south, message_subject(pair, own, 1), b"{}", 1.0)
        assert b"seq" in again  # its own it may overwrite, which the other table has read already
        play(tables, Random(5))
        same_game(south.table, north.table)
        assert other != own


def test_a_message_that_does_not_fit_ends_in_a_sentence_and_not_in_a_crash(hub: Hub, tmp_path: Path) -> None:
    with two(hub, tmp_path) as tables:
        agree(tables)
        south, north = tables
        remote = session_of(south.table).remote
        assert remote is not None
        asked(hub, north, message_subject(remote.at.id, north.member.table, 1), b'{"game": "no"}')
        until("it is said", lambda: says(south, "does not fit"))
        assert session_of(south.table).phase is Phase.SETUP
        south.table.abandon()
        south.table.abandon()
        assert session_of(south.table).phase is Phase.OVER


def test_a_table_that_is_gone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("companion.hub.pair_line.GONE_S", 0.5)
    monkeypatch.setattr("companion.hub.pair_line.LOOK_S", 0.1)
    with running(tmp_path / "hub") as hub, two(hub, tmp_path) as tables:
        agree(tables, turn_limit=4)
        south, north = tables
        north.close()
        until("it is said", lambda: says(south, "The other table is silent"))
        kill_nats(hub)
        until("it is said", lambda: says(south, "The connection to the other table is lost"))
        tables[1] = TableAtHub(north.folder, north.member)
        monkeypatch.undo()
        until("it is over", lambda: not any(says(south, words) for words in ("is silent", "is lost")))
        play(tables, Random(2))
        same_game(*(table.table for table in tables))


def forge(hub: Hub, folder: Path, pair: PublicPair) -> None:
    """A table that has nothing to do with a game tells how that ended."""
    stranger = joined(hub, folder / "stranger")
    try:
        stranger.play()
        stranger.table.resign(Seat.NORTH)
        until("it is there", lambda: has_all(hub, stranger))
        own = kept(hub, stranger.member.table)[-1]
        record = msgspec.structs.replace(own, entry=own.entry + 1, mark="f" * 16, pair=pair)
        told = asked(hub, stranger, record_subject(stranger.member.table), encoded(record))
        until("it is heard", lambda: hub.league.results.sequence >= msgspec.json.decode(told)["seq"])
    finally:
        stranger.close()


def test_a_game_at_two_tables_is_one_result_for_both_players(hub: Hub, tmp_path: Path) -> None:
    mara, jonas = (hub.league.cards.make(name) for name in ("Mara", "Jonas"))
    with two(hub, tmp_path / "tables") as tables:
        agree(tables)
        for table, seat, person in zip(tables, Seat, (mara, jonas), strict=True):
            table.table.take_seat(seat, person.name)
            table.table.show_card(seat, card_of(table.member, person.code))
        pair = session_of(tables[0].table).remote.at.id  # type: ignore[union-attr]
        key = f"pair.{pair}"
        forge(hub, tmp_path, PublicPair(pair, Seat.SOUTH))
        assert hub.league.results.of(key) is None
        play(tables, Random(7))
        until("both have told it", lambda: (told := hub.league.results.of(key)) and told.result.at is None)
        whole = hub.league.results.of(key)
        assert whole is not None
        assert (whole.south, whole.north) == (mara.number, jonas.number)
        outcome = session_of(tables[0].table).outcome
        assert outcome is not None
        assert {whole.result.winner} - {None} == set(outcome.winners)
        assert {each.person for each in hub.league.ladders.of("outbuffered", 0)} >= {mara.number, jonas.number}
        numbers = {table.member.table for table in tables}
        assert [each.result.key for each in hub.league.results.last(100) if each.result.table in numbers] == [key]


def test_tables_that_report_different_results_are_told_until_the_host_has_decided(hub: Hub, tmp_path: Path) -> None:
    with two(hub, tmp_path / "tables") as tables:
        agree(tables)
        pair = session_of(tables[0].table).remote.at.id  # type: ignore[union-attr]
        tables[0].table.abandon()
        tables[0].table.abandon()
        until("it is over at both", lambda: phases(tables) == [Phase.OVER] * 2)
        until("all is told", lambda: all(has_all(hub, table) for table in tables))
        one = kept(hub, tables[0].member.table)[-1]
        for table, seat in zip(tables, Seat, strict=True):  # each host says that the own side has won
            view = msgspec.structs.replace(one.view, is_void=False, winners=(seat,), result=one.view.sign)
            record = msgspec.structs.replace(one, epoch=9, pair=PublicPair(pair, seat), view=view)
            hub.listener.on_record(table.member.table, record, 0.0, RecordPlace(hub.league.results.sequence + 1, 0.0))
        until("both hosts know", lambda: all(says(table, "reports a different result") for table in tables))
        numbers = [table.member.number for table in tables]
        for own, other in (numbers, numbers[::-1]):
            at_hub = hub.room.table(own)
            assert at_hub
            assert at_hub.contests == other
        hub.league.results.decide(f"pair.{pair}", Seat.SOUTH)
        until("it is over", lambda: not any(says(table, "reports a different result") for table in tables))
