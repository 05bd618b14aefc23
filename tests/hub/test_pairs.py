"""Test one game at two tables over a real hub: agreed on by a code, played over NATS.

Services, hub and NATS are killed on the way. A table with a changed program gets no more rights.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hub_tools import AdmittingHub, TableAtHub, act_with_key, hub_settings, kill_nats, running_hub
from internals import session_of
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError
from nats.errors import Error as NatsError
from pair_tools import (
    begin_linked_game,
    count_messages,
    has_notice,
    phases,
    play,
    request_with_key,
    two_tables,
)
from remote_tools import assert_tables_agree
from waiting import until

from companion import __version__
from companion.core.errors import Illegal
from companion.core.kit import Seat
from companion.hub.pair_messages import (
    PairAcceptance,
    PairWithdrawal,
    decode_answer,
)
from companion.hub.subjects import message_subject, presence_subject, request_subject
from companion.hub_server.app import Hub
from companion.hub_server.nats_connection import (
    BAD_MESSAGE_COST,
    MAX_NUMBER_DIGITS,
    MESSAGE_RATE,
)
from companion.table.session import Phase

pytestmark = pytest.mark.slow


def test_two_tables_agree_by_a_code_and_play(hub: Hub, tmp_path: Path) -> None:
    """Each table knows the other player's name, but does not tell the hub any name."""
    with two_tables(hub, tmp_path) as tables:
        begin_linked_game(tables, turn_limit=12)
        south, north = tables
        assert south.rig.view.seats[Seat.NORTH].name == "Jonas"
        assert north.rig.view.seats[Seat.SOUTH].name == "Mara"
        for table in tables:
            assert b"Mara" not in table.adapter.encode_state()
            assert b"Jonas" not in table.adapter.encode_state()
        play(tables, Random(3))
        assert_tables_agree(south.table, north.table)

        # With a game at South's table alone, that table can accept no offer. So it leaves the pair
        # at once, and the game ends at North's table.
        south.rig.begin()
        code = north.adapter.pairs.offer("outbuffered", {}, Seat.SOUTH, "")
        with pytest.raises(Illegal, match="A game is on"):
            south.adapter.pairs.accept(code, "")
        reason = "The other table has left the game."
        until(
            "the other table ends its game",
            lambda: (outcome := session_of(north.table).outcome) and outcome.reason == reason,
        )


def test_a_withdrawal_survives_a_lost_answer(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table asks again after it has connected again, and the hub is content with that."""
    plain_request = Client.request
    # emptied once the connection has been broken
    breaks_due = [True]

    async def request_and_break(self: Client, subject: str, payload: bytes, **options: Any) -> Msg:
        """Lose the connection, once, after the hub has answered a withdrawal."""
        answer = await plain_request(self, subject, payload, **options)
        if breaks_due and b'"is":"withdraw"' in payload:
            breaks_due.clear()
            await self.close()
            raise ConnectionClosedError
        return answer

    with two_tables(hub, tmp_path / "tables") as (south, north):
        monkeypatch.setattr(Client, "request", request_and_break)
        code = south.adapter.pairs.offer("outbuffered", {}, Seat.SOUTH, "Mara")
        south.adapter.pairs.withdraw()
        with pytest.raises(Illegal, match="under that code"):
            north.adapter.pairs.accept(code, "Jonas")
        assert not breaks_due, "no connection was broken"


def test_kills_leave_both_tables_with_one_game(tmp_path: Path) -> None:
    """Twelve times during a game of Arena, NATS, the hub or one of the tables is killed."""
    settings = hub_settings(tmp_path / "hub")
    rng = Random(8)
    # 0 stands for NATS and 1 for the hub. Other even numbers stand for South's table, and odd ones
    # for North's.
    targets = [rng.randrange(8) for _ in range(12)]
    with ExitStack() as stack:
        hubs = [stack.enter_context(AdmittingHub(settings))]
        with two_tables(hubs[0], tmp_path) as tables:

            def kill_now_and_then() -> None:
                """Kill or restart the next of the targets, in three of ten calls."""
                if not targets or rng.random() > 0.3:
                    return
                target = targets.pop()
                if target == 0:
                    kill_nats(hubs[0])
                elif target == 1:
                    hubs.pop().close()
                    hubs.append(stack.enter_context(AdmittingHub(settings)))
                else:
                    closed = tables[target % 2]
                    closed.close()
                    tables[target % 2] = TableAtHub(closed.folder, closed.member)

            begin_linked_game(tables, "arena")
            play(tables, rng, kill_now_and_then)
            assert_tables_agree(*(table.table for table in tables))


def test_a_second_game_needs_another_code(hub: Hub, tmp_path: Path) -> None:
    with two_tables(hub, tmp_path) as tables:
        south, north = tables
        begin_linked_game(tables, "outbuffered", turn_limit=12)
        south.table.resign(Seat.SOUTH)
        until("the game is over at both tables", lambda: phases(tables) == [Phase.OVER] * 2)
        first_game = session_of(south.table).remote
        assert first_game

        # a rematch is not enough, because it would need both tables' consent
        with pytest.raises(Illegal, match="pair the tables again"):
            south.table.rematch(swap=True)
        code = south.adapter.pairs.offer("outbuffered", {"turn_limit": 12}, Seat.NORTH, "Mara")
        north.adapter.pairs.accept(code, "Jonas")
        until("the second game begins", lambda: phases(tables) == [Phase.SETUP] * 2)
        until(
            "the hub deletes the first game's messages",
            lambda: count_messages(hub, first_game.remote_seat.id) == 0,
        )
        play(tables[::-1], Random(6))
        assert_tables_agree(south.table, north.table)


# ---- agreement -----------------------------------------------------------------------------------


def test_wrong_codes_are_refused_with_a_sentence(hub: Hub, tmp_path: Path) -> None:
    with two_tables(hub, tmp_path) as (south, north):
        code = south.adapter.pairs.offer("outbuffered", {}, Seat.NORTH, "")
        with pytest.raises(Illegal, match="own code"):
            south.adapter.pairs.accept(code, "")
        with pytest.raises(Illegal, match="No game is offered"):
            north.adapter.pairs.accept("wrong", "")
        south.adapter.pairs.withdraw()
        assert south.adapter.pairs.offered_code == ""

        # the withdrawn code is wrong, too. The fifth wrong code is the last that the hub checks.
        for _ in range(4):
            with pytest.raises(Illegal, match="No game is offered"):
                north.adapter.pairs.accept(code, "")
        with pytest.raises(Illegal, match="Too many wrong codes"):
            north.adapter.pairs.accept(code, "")

        # BINMAT cannot be played at two tables
        with pytest.raises(Illegal, match="one deck"):
            south.adapter.pairs.offer("binmat", {}, Seat.SOUTH, "")


def test_other_versions_refuse_each_other(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with two_tables(hub, tmp_path) as (south, north):
        code = south.adapter.pairs.offer("outbuffered", {}, Seat.SOUTH, "")
        with monkeypatch.context() as patch:
            patch.setattr("companion.hub.pair_client.__version__", "0.9.0")
            with pytest.raises(Illegal, match=f"has version {__version__}, this one 0.9.0: update"):
                north.adapter.pairs.accept(code, "")
        answer = request_with_key(
            hub, north, request_subject(north.member.table_id), PairAcceptance(code, "0.9.0", 1)
        )
        with pytest.raises(Illegal, match="update"):  # the hub refuses the version as well
            decode_answer(answer)
        assert phases([south, north]) == [Phase.LOBBY] * 2


# ---- rights --------------------------------------------------------------------------------------


def test_a_table_writes_only_its_own_messages(hub: Hub, tmp_path: Path) -> None:
    with two_tables(hub, tmp_path) as tables, two_tables(hub, tmp_path / "others") as (stranger, _):
        begin_linked_game(tables, turn_limit=4)
        south, north = tables
        remote = session_of(south.table).remote
        assert remote is not None
        pair, south_id = remote.remote_seat.id, south.member.table_id
        south.rig.confirm()
        until(
            "South's first message arrives",
            lambda: session_of(north.table).remote.received_count == 1,
        )  # type: ignore[union-attr]
        # only the other table of the pair reads the message
        first_message = f"$JS.API.DIRECT.GET.PAIRS.{message_subject(pair, south_id, 1)}"
        assert b"shown" in request_with_key(hub, north, first_message, b"")
        assert request_with_key(hub, stranger, first_message, b"", 0.5) == b""
        # nobody else writes messages, presence or requests as South's table
        for table in (stranger, north):
            subject = message_subject(pair, south_id, 2)
            assert request_with_key(hub, table, subject, b"{}", 0.5) == b""
        subject = message_subject(pair, stranger.member.table_id, 1)
        assert request_with_key(hub, stranger, subject, b"{}", 0.5) == b""
        assert request_with_key(hub, stranger, presence_subject(pair, south_id), b"", 0.5) == b""
        withdrawal_subject = request_subject(south_id)
        assert request_with_key(hub, stranger, withdrawal_subject, PairWithdrawal(), 0.5) == b""


def test_a_flooding_table_is_shut_out(hub: Hub, tmp_path: Path) -> None:
    with two_tables(hub, tmp_path) as tables:
        begin_linked_game(tables)
        south, north = tables
        remote = session_of(south.table).remote
        assert remote
        # the number of this message has one digit more than the hub allows
        too_high_number = 10**MAX_NUMBER_DIGITS
        subject = message_subject(remote.remote_seat.id, south.member.table_id, too_high_number)

        async def flood(client: Client) -> None:
            with suppress(NatsError, OSError):  # the hub disconnects the table meanwhile
                for _ in range(round(MESSAGE_RATE.burst / BAD_MESSAGE_COST) + 20):
                    await client.publish(subject, b"")

        act_with_key(hub, south, flood)

        until("the table is shut out", lambda: hub.room.table(south.member.number).is_shut_out)  # type: ignore[union-attr]
        at_hub = hub.room.table(north.member.number)
        assert at_hub
        assert not at_hub.is_shut_out

        def is_connected_again() -> bool:
            # the hub may still be handling messages of the flood, which shut the table out again
            if hub.room.table(south.member.number).is_shut_out:  # type: ignore[union-attr]
                hub.members.admit(south.member.table_id)
            return south.adapter.is_connected

        until("the table is connected again", is_connected_again)


def test_a_message_that_does_not_fit_is_reported(hub: Hub, tmp_path: Path) -> None:
    with two_tables(hub, tmp_path) as tables:
        begin_linked_game(tables)
        south, north = tables
        remote = session_of(south.table).remote
        assert remote is not None
        request_with_key(
            hub,
            north,
            message_subject(remote.remote_seat.id, north.member.table_id, 1),
            b'{"game": "no"}',
        )
        until("the message is reported", lambda: has_notice(south, "does not fit"))
        assert session_of(south.table).phase is Phase.SETUP

        # abandoned twice, the game ends without the other table's consent
        south.table.abandon()
        south.table.abandon()
        assert session_of(south.table).phase is Phase.OVER


def test_a_silent_table_and_hub_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("companion.hub.pair_client.SILENCE_TIMEOUT_S", 0.5)
    monkeypatch.setattr("companion.hub.pair_client.POLL_INTERVAL_S", 0.1)
    with running_hub(tmp_path / "hub") as hub, two_tables(hub, tmp_path) as tables:
        begin_linked_game(tables, turn_limit=4)
        south, north = tables
        north.close()
        until("the silence is reported", lambda: has_notice(south, "The other table is silent"))

        kill_nats(hub)
        until(
            "the loss is reported",
            lambda: has_notice(south, "The connection to the other table is lost"),
        )

        # North's table is back, and the timeouts are the usual ones
        tables[1] = TableAtHub(north.folder, north.member)
        monkeypatch.undo()
        until(
            "both notices disappear",
            lambda: not any(has_notice(south, words) for words in ("is silent", "is lost")),
        )
        play(tables, Random(2))
        assert_tables_agree(*(table.table for table in tables))
