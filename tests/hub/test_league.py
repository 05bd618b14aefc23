"""Test results and desired states over a real hub.

Each result reaches the league once, whatever fails. A table follows what the hub wants of it, or
reports why it does not.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hub_tools import (
    AdmittingHub,
    TableAtHub,
    fill_disk,
    hub_settings,
    join_table,
    kill_nats,
    mount_small_disk,
    need_of_table,
    records_at_hub,
    shows_last_input,
)
from simulated_room import local_settings
from waiting import until

from companion.core.errors import SystemTrouble
from companion.core.kit import SEATS, Seat
from companion.hub.commands import (
    MAX_COMMAND_BYTES,
    MAX_SETTINGS,
    HubCommand,
    decode_command,
    encode_command,
)
from companion.hub.joining import fetch_card_id
from companion.hub.membership import read_membership
from companion.hub_server.app import Hub
from companion.service.app import Companion
from companion.table.public.messages import unpack_sentence

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def short_repeat_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("companion.hub_server.desired_state.REPEAT_S", 0.1)


def show_cards(hub: Hub, table: TableAtHub) -> None:
    """Seat two people, create cards for them at the hub, and show the cards at the table."""
    for seat, name in zip(SEATS, ("Mara", "Jonas"), strict=True):
        table.table.take_seat(seat, name)
        table.table.show_card(seat, fetch_card_id(table.member, hub.league.cards.create(name).code))


def play_game(table: TableAtHub, loser: Seat) -> None:
    """Play a game in which a seat resigns at once."""
    table.rig.begin()
    table.table.resign(loser)


def test_results_come_once_despite_killed_hubs(tmp_path: Path) -> None:
    """Four games are played: with the hub, after its NATS was killed, and two while no hub runs."""
    settings = hub_settings(tmp_path / "hub")
    with AdmittingHub(settings) as hub:
        table = join_table(hub, tmp_path / "table")
        show_cards(hub, table)
        play_game(table, Seat.NORTH)
        until("the first result arrives", lambda: len(hub.league.results.latest(10)) == 1)

        kill_nats(hub)
        play_game(table, Seat.SOUTH)
        until("the second result arrives", lambda: len(hub.league.results.latest(10)) == 2, 40)

    for _ in range(2):
        play_game(table, Seat.NORTH)

    with AdmittingHub(settings) as hub:
        until("all four results arrive", lambda: len(hub.league.results.latest(10)) == 4, 40)
        results = hub.league.results.latest(10)  # newest first
        # Mara, who sat at South each time, has the first card. She lost only the second game.
        assert [stored.south for stored in results] == [1] * 4
        winners = [stored.result.winner for stored in reversed(results)]
        assert winners == [Seat.SOUTH, Seat.NORTH, Seat.SOUTH, Seat.SOUTH]
        assert hub.league.ratings("outbuffered")[0].person == 1
    table.close()


def test_results_come_once_despite_a_full_disk(tmp_path: Path) -> None:
    with mount_small_disk(tmp_path / "disk") as disk:
        settings = hub_settings(disk / "hub")
        with AdmittingHub(settings) as hub:
            table = join_table(hub, tmp_path / "table")
            show_cards(hub, table)
            play_game(table, Seat.NORTH)
            until("the first result arrives", lambda: len(hub.league.results.latest(10)) == 1)

            # on a full disk the hub stores nothing, but the table plays on
            fill_disk(disk)
            for _ in range(2):
                play_game(table, Seat.SOUTH)
            until("the hub reports the full disk", lambda: "disk is full" in hub.room.trouble)
            until(
                "the table reports the full disk",
                lambda: "disk may be full" in table.adapter.sentence,
            )

            # a call for the staff needs no disk
            table.bell.ring("south")
            table.table.step()
            until("the hub hears the call", lambda: need_of_table(hub, 1) == "It is calling.")

        # with space again, the next hub gets all that was played meanwhile
        (disk / "ballast").unlink()
        with AdmittingHub(settings) as hub:
            until("the hub shows the last input", lambda: shows_last_input(hub, table))
            until("the table is connected", lambda: "Table 1" in table.adapter.sentence)
            assert hub.room.trouble == ""
            assert [
                record.entry for record in records_at_hub(hub, table.member.table_id)
            ] == table.entries()
            winners = [stored.result.winner for stored in reversed(hub.league.results.latest(10))]
            assert winners == [Seat.SOUTH, Seat.NORTH, Seat.NORTH]
            table.close()


def test_an_unknown_card_code_is_reported(hub: Hub, tmp_path: Path) -> None:
    table = join_table(hub, tmp_path / "table")
    with pytest.raises(SystemTrouble, match="No player’s card has this code"):
        fetch_card_id(table.member, "zzzzzzzz")
    table.close()


def test_a_hubs_settings_are_saved_or_refused(hub: Hub, tmp_path: Path) -> None:
    settings = local_settings(tmp_path)
    with Companion(settings, simulate=True, settings_path=tmp_path / "settings.toml") as companion:
        companion.hub.join(hub.urls()[0], hub.table_join_code.code, sends_names=False)
        member = read_membership(tmp_path / "hub.json")
        assert member
        until(
            "the table reports its state",
            lambda: (table := hub.room.table(member.number)) and table.state,
        )

        def send_setting(key: str, value: str) -> str:
            """Change a setting from the hub, and return the table's answer."""
            sentence_before = companion.hub.sentence
            hub.members.change_settings(member.table_id, {key: value})
            until("the table answers", lambda: companion.hub.sentence != sentence_before)
            return companion.hub.sentence.partition("The hub has sent settings. ")[2]

        saved = send_setting("table.reading_time_s", "7")
        assert saved.startswith("Saved")
        until(
            "the answer arrives at the hub",
            lambda: saved in unpack_sentence(hub.room.table(member.number).state.answer),  # type: ignore[union-attr]
        )

        # the same value again, values that are not valid, and a setting that a hub may not change
        assert send_setting("table.reading_time_s", "7") == "Nothing was changed."
        for key, value in (("table.reading_time_s", "-1"), ("nonsense", "1")):
            assert "Saved" not in send_setting(key, value)
        assert companion.table.settings.reading_time_s == 7
        assert "can only be changed at the table itself" in send_setting(
            "mqtt.host", "broker.example"
        )


@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        (b'{"staff": "fire"}', "Invalid enum value 'fire'"),
        # a name that is a number and no packed sentence
        (
            b'{"wish": {"pairing": {"round": 1, "names": {"south": 17}, "game": "scouts"}}}',
            "cannot be read",
        ),
        (
            b'{"settings": {'
            + b",".join(b'"a%d": ""' % n for n in range(MAX_SETTINGS + 1))
            + b"}}",
            f"length <= {MAX_SETTINGS}",
        ),
        (b" " * MAX_COMMAND_BYTES + b"{}", "too large"),
    ],
)
def test_an_invalid_command_is_not_decoded(payload: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        decode_command(payload)


def test_a_valid_command_is_decoded() -> None:
    command = HubCommand(staff="done")
    assert decode_command(encode_command(command)) == command
