"""Test what the table publishes over MQTT, with a real broker and a service in simulation.

A broker gets what everybody at the table may know, and nothing that one seat hides. If it is
missing, slow or malicious, nobody at the table has to wait.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from internals import session_of
from mqtt_tools import (
    Broker,
    Subscriber,
    mqtt_settings,
    needs_broker,
    publish_now,
    table_with_broker,
)
from table.test_secrecy import SECRETS, Outsiders, Scene
from waiting import until

from companion.core.clock import FakeClock
from companion.core.config import MqttSettings, TableSettings, parse_settings
from companion.core.errors import ConfigError
from companion.core.kit import Seat
from companion.mqtt import connection as connection_module
from companion.mqtt.connection import (
    BrokerError,
    examine_broker,
    explain_loss,
    read_password,
)
from companion.mqtt.discovery import device_description
from companion.service.app import Companion
from companion.table import reducer
from companion.table.session import Phase

pytestmark = needs_broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(autouse=True)
def retry_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reconnect to a lost broker almost at once."""
    monkeypatch.setattr(connection_module, "MIN_PAUSE_S", 0.02)
    monkeypatch.setattr(connection_module, "MAX_PAUSE_S", 0.1)


def hand_in_all(companion: Companion, rng: Random) -> None:
    """Hand in a random action for each awaited seat. The salt of all of them begins with 5a17."""
    session = session_of(companion.table)
    for seat in sorted(session.awaited_seats):
        action = session.require_game().random_action(session.state, seat, rng)
        companion.table.hand_in(
            seat, session.moment, session.require_game().format(action), salt="5a175a175a17"
        )


def published_value(subscriber: Subscriber, name: str) -> Any:
    """Return the last message on the topic `tabletop/name`, decoded from JSON."""
    payload = subscriber.last(f"tabletop/{name}")
    assert payload, f"tabletop/{name} was not published"
    return json.loads(payload)


# ---- a whole game --------------------------------------------------------------------------------


def test_a_game_is_published_without_early_orders(tmp_path: Path, broker: Broker) -> None:
    """Play a whole game. Messages must follow it, but have no salt, name, receipt or key."""
    with (
        Subscriber(broker.port) as subscriber,
        table_with_broker(tmp_path, mqtt_settings(broker.port)) as companion,
    ):
        until("the connection opens", lambda: companion.broker.is_connected)
        table, rng = companion.table, Random(20)
        table.take_seat(Seat.SOUTH, "Mara")
        table.take_seat(Seat.NORTH, "Jonas")
        table.new_game("outbuffered", seed=1)

        # after each decision, the retained messages say what the public view says
        while (view := table.view()).phase is not Phase.OVER:
            if view.phase is Phase.ORDERS:
                hand_in_all(companion, rng)
            else:
                table.confirm("host", view.moment, view.turn.stage, force=True)
            publish_now(companion)
            subscriber.sync()
            view, state = table.view(), published_value(subscriber, "state")
            assert (state["phase"], state["turn"]) == (view.phase, view.turn.number)
            assert state["sign"] == view.sign.text
            assert state["waiting_for"] == sorted(view.sign.seats)

        # after the game, they say who has won
        outcome = table.view().match.outcome
        assert outcome
        assert published_value(subscriber, "state")["result"] == outcome.reason
        assert published_value(subscriber, "turn")["seat"] == (
            next(iter(outcome.winners)) if outcome.winners else "none"
        )

        # no message of the whole game has told a secret: the salt, names, receipts or the key
        own_payloads = [
            payload for topic, payload, _ in subscriber.messages if topic.startswith("tabletop/")
        ]
        assert len(own_payloads) > 200, "too few messages to prove anything"
        for payload in own_payloads:
            for secret in (b"5a175a17", b"Mara", b"Jonas", b"receipt", companion.host_key.encode()):
                assert secret not in payload

        # the events of the game were published in order, but those of keys were not
        kinds = [
            json.loads(payload)["event_type"]
            for topic, payload, _ in subscriber.messages
            if topic == "tabletop/event"
        ]
        assert {"orders_wanted", "sealed", "reveal", "hands_wanted"} < set(kinds)
        assert kinds[-1] in ("won", "tie")
        # the cues of keys would tell what somebody enters
        assert not set(kinds) & {"key_taken", "key_refused", "key_back", "keys_cleared"}


@pytest.mark.parametrize("secret", ["orders", "card", "order sheet", "strength card"])
def test_a_secret_changes_no_message(
    tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setattr(reducer, "receipt_of", lambda *_: "ab" * 32)
    """Play the same twice, with another hidden value. All messages must be the same.

    Receipts are replaced, because they are hashes of the secret.
    """
    begin, *hidden_values = SECRETS[secret]
    games = []
    for number, hidden_value in enumerate(hidden_values):
        clock = FakeClock()
        folder = tmp_path / str(number)
        mqtt = mqtt_settings(broker.port, names=True, staff=True, pause=True)
        with (
            Subscriber(broker.port) as subscriber,
            table_with_broker(folder, mqtt, clock) as companion,
        ):
            until("the connection opens", lambda each=companion: each.broker.is_connected)
            scene = Scene(companion, clock, Outsiders(companion))
            for act in begin(scene, hidden_value):
                publish_now(companion)
                act()
                clock.advance(1)
                publish_now(companion)
            subscriber.sync()
            games.append(
                [
                    (topic, payload)
                    for topic, payload, retained in subscriber.messages
                    if not retained
                ]
            )
    # without the messages on "mark", which the subscriber itself sends to wait for all others
    first, second = ([message for message in game if message[0] != "mark"] for game in games)
    assert first == second
    assert len(first) > 12, "too few messages to prove anything"


def count_messages(subscriber: Subscriber, topic: str) -> int:
    return len([message for message in subscriber.messages if message[0] == topic])


# ---- clocks --------------------------------------------------------------------------------------


def test_a_running_clock_is_published_once(tmp_path: Path, broker: Broker) -> None:
    """Let a clock of 60 s run for 5 s, and stop it by a command."""
    clock = FakeClock(wall_s=1_800_000_000.0)
    mqtt = mqtt_settings(broker.port, pause=True)
    with (
        Subscriber(broker.port) as subscriber,
        table_with_broker(tmp_path, mqtt, clock) as companion,
    ):
        companion.table.new_game("binmat", {"way": "referee", "seconds": 60.0}, seed=1)
        companion.table.resume("host")
        publish_now(companion)
        subscriber.sync()
        first = published_value(subscriber, "clock")
        assert (first["runs"], first["left_s"], first["limit_s"]) == (True, 60.0, 60.0)
        assert first["ends_at"] == "2027-01-15T08:01:00+00:00"

        # five seconds later, nothing more was published about the clock
        count = count_messages(subscriber, "tabletop/clock")
        for _ in range(5):
            clock.advance(1)
            companion.table.redraw()
            publish_now(companion)
        subscriber.sync()
        assert count_messages(subscriber, "tabletop/clock") == count

        # a command stops the clock, and 55 s are left
        subscriber.publish("tabletop/paused/set", b"ON")

        def is_paused() -> bool:
            companion.table.step()
            return bool(companion.table.view().time.clock.paused)  # type: ignore[union-attr]

        until("the clock stops", is_paused)
        publish_now(companion)
        subscriber.sync()
        stopped = published_value(subscriber, "clock")
        assert (stopped["runs"], stopped["left_s"], stopped["ends_at"]) == (False, 55.0, None)


# ---- Home Assistant ------------------------------------------------------------------------------


def test_home_assistant_finds_one_device_and_its_parts(tmp_path: Path, broker: Broker) -> None:
    mqtt = mqtt_settings(broker.port, topic="cafe/table3", name="Table 3", staff=True, pause=True)
    discovery_topic = "homeassistant/device/cafe_table3/config"
    with Subscriber(broker.port) as subscriber:
        with table_with_broker(tmp_path, mqtt) as companion:
            publish_now(companion)
            subscriber.sync()
            device = json.loads(subscriber.last(discovery_topic) or b"")
            assert device["dev"]["name"] == "Table 3"
            assert device["o"]["name"] == "tabletop-companion"
            assert subscriber.last(device["availability_topic"]) == b"online"

            # each component has an id of its own, and shows a topic that is published
            parts = device["cmps"]
            assert len({part["unique_id"] for part in parts.values()}) == len(parts) >= 17
            for part in parts.values():
                assert part["p"] in ("sensor", "binary_sensor", "event", "button", "switch")
                for key in ("state_topic", "json_attributes_topic"):
                    if key in part and part["p"] != "event":
                        assert subscriber.last(part[key]), f"{part[key]} was not published"

            # neither events of keys nor commands that play
            events = parts["events"]["event_types"]
            assert "won" in events
            assert not [kind for kind in events if kind.startswith("key_")]
            commands = {part["command_topic"] for part in parts.values() if "command_topic" in part}
            assert commands == {"cafe/table3/staff/set", "cafe/table3/paused/set"}
        subscriber.sync()
        assert subscriber.last("cafe/table3/availability") == b"offline"


def test_home_assistant_has_no_commands_by_default() -> None:
    parts = device_description(MqttSettings(topic="a"), "1")["cmps"]
    assert not [part for part in parts.values() if "command_topic" in part]


def test_topics_no_longer_used_are_cleared(tmp_path: Path, broker: Broker) -> None:
    """Rename the topic and switch discovery off, then switch MQTT off."""
    mqtt = mqtt_settings(broker.port, topic="old")
    with table_with_broker(tmp_path, mqtt) as companion, Subscriber(broker.port) as subscriber:
        publish_now(companion)
        renamed = msgspec.structs.replace(mqtt, topic="new", home_assistant=False)
        companion.use_settings(msgspec.structs.replace(companion.settings, mqtt=renamed))
        publish_now(companion)
        subscriber.sync()
        topics = {topic for topic, _, _ in subscriber.messages if subscriber.last(topic)}
        assert "new/state" in topics
        assert not [topic for topic in topics if "old" in topic]
        assert not [topic for topic in topics if topic.startswith("homeassistant/device/new")]

        off = msgspec.structs.replace(renamed, enabled=False)
        companion.use_settings(msgspec.structs.replace(companion.settings, mqtt=off))
        subscriber.wait_for(
            lambda _: not subscriber.last("new/state") and not subscriber.last("new/availability")
        )
        assert companion.broker.sentence == ""


def test_retained_messages_follow_the_tables_language(tmp_path: Path, broker: Broker) -> None:
    """The table has the new language first. The adapter must not keep what it published then."""
    with (
        table_with_broker(tmp_path, mqtt_settings(broker.port)) as companion,
        Subscriber(broker.port) as subscriber,
    ):
        german = TableSettings(language="de")
        companion.table.use_settings(german)
        publish_now(companion)
        companion.broker.use_settings(msgspec.structs.replace(companion.settings, table=german))
        publish_now(companion)
        subscriber.sync()
        assert published_value(subscriber, "state")["sign"] == "Scannt den Code auf eurer Seite"


# ---- calling the staff ---------------------------------------------------------------------------


def test_the_staff_answers_and_ends_a_call(tmp_path: Path, broker: Broker) -> None:
    """Call the staff, who answer by commands. Commands that are wrong or old change nothing."""
    with (
        Subscriber(broker.port) as subscriber,
        table_with_broker(tmp_path, mqtt_settings(broker.port, staff=True)) as companion,
    ):
        bell = companion.broker.bell
        until("the bell has a listener", lambda: bell.has_listener)
        bell.ring("south")
        publish_now(companion)
        subscriber.sync()
        assert published_value(subscriber, "staff") == {
            "call": "called",
            "by": "south",
            "words": "The staff has been called.",
        }
        event = published_value(subscriber, "event")
        assert (event["event_type"], event["by"]) == ("staff_called", "south")

        # wrong commands are ignored, the right ones answer the call and end it
        for invalid in (b"COMING", b"x" * 5000, b"\xff\xfe"):
            subscriber.publish("tabletop/staff/set", invalid)
        subscriber.publish("tabletop/staff/set", b"coming")
        until("the answer arrives", lambda: bell.sentence() == "Somebody is coming.")
        subscriber.publish("tabletop/staff/set", b"done")
        until("the call ends", lambda: bell.call == "none")

        # a retained command is ignored, because it may be an old one
        bell.set_listening(True)
        subscriber.publish("tabletop/staff/set", b"coming", retain=True)
        publish_now(companion)
        assert bell.call == "none"
        subscriber.publish("tabletop/staff/set", b"", retain=True)


# ---- a broker that is lost, refuses or does not answer -------------------------------------------


def test_a_returning_broker_gets_everything_again(tmp_path: Path) -> None:
    """Kill the broker. Meanwhile the table goes on, and a new broker gets its newest state."""
    with (
        Broker(tmp_path) as broker,
        table_with_broker(tmp_path / "state", mqtt_settings(broker.port)) as companion,
    ):
        publish_now(companion)
        broker.kill()
        until("the loss is noticed", lambda: not companion.broker.is_connected)
        for number in range(40):
            companion.table.take_seat(Seat.SOUTH, f"Guest {number}")
            companion.table.free_seat(Seat.SOUTH)
            companion.step_keys()
        until("the loss is reported", lambda: "cannot be reached" in companion.broker.sentence)

        companion.table.take_seat(Seat.NORTH, "Jonas")
        broker.start()
        publish_now(companion)
        with Subscriber(broker.port) as subscriber:
            assert published_value(subscriber, "seats")["north"]["taken"] is True
            assert subscriber.last("tabletop/availability") == b"online"
            states = [message for message in subscriber.messages if message[0] == "tabletop/state"]
            assert {retained for _, _, retained in states} == {True}


def test_the_broker_reports_a_silent_table_offline(tmp_path: Path, broker: Broker) -> None:
    """Cut the connection without a farewell. The broker then publishes the last will."""
    with (
        Subscriber(broker.port) as subscriber,
        table_with_broker(tmp_path, mqtt_settings(broker.port, topic="will")) as companion,
    ):
        publish_now(companion)
        connection = companion.broker.connection
        assert connection is not None
        assert connection._client
        sock = connection._client.socket()
        assert isinstance(sock, socket.socket)
        sock.shutdown(socket.SHUT_RDWR)
        subscriber.wait_for(lambda messages: ("will/availability", b"offline", False) in messages)


def test_a_wrong_password_is_reported(tmp_path: Path) -> None:
    password_file = tmp_path / "word"
    with Broker(tmp_path, user="table") as broker:
        password_file.write_text("guess\n")
        mqtt = mqtt_settings(broker.port, user="table", password_file=str(password_file))
        (finding,) = examine_broker(mqtt)
        assert finding.grade == "warn"
        assert finding.text == (
            "The broker 127.0.0.1 refuses the table (Not authorized): "
            "check [mqtt] user and password_file."
        )
        password_file.write_text("secret\n")
        (finding,) = examine_broker(mqtt)
        assert (finding.grade, finding.text) == (
            "ok",
            f"Connected to the broker 127.0.0.1, port {broker.port}.",
        )
        with table_with_broker(tmp_path / "state", mqtt) as companion:
            publish_now(companion)
            sentence = companion.broker.sentence
    assert "Connected" in sentence


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")
def test_only_the_right_certificate_is_trusted(tmp_path: Path) -> None:
    """Connect to a broker with a certificate of its own, without and with a copy of it."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    output = "-subj /CN=house -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem"
    subprocess.run(f"{command} {output}".split(), cwd=tmp_path, check=True, capture_output=True)
    with Broker(tmp_path, tls=True) as broker:
        (finding,) = examine_broker(mqtt_settings(broker.port, tls=True))
        assert finding.text.startswith(
            "The broker 127.0.0.1 cannot be trusted (CERTIFICATE_VERIFY_FAILED): check [mqtt] tls"
        )
        mqtt = mqtt_settings(broker.port, tls=True, ca_file=str(tmp_path / "cert.pem"))
        with table_with_broker(tmp_path / "state", mqtt) as companion:
            publish_now(companion)
            assert companion.broker.is_connected

        (finding,) = examine_broker(
            mqtt_settings(broker.port, tls=True, ca_file=str(tmp_path / "none.pem"))
        )
        assert finding.text.endswith("none.pem cannot be read: No such file or directory.")


def test_a_silent_broker_delays_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connect to a port that accepts connections but never answers. The table must go on."""
    monkeypatch.setattr(connection_module, "KEEPALIVE_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with table_with_broker(tmp_path, mqtt_settings(silent.getsockname()[1])) as companion:
            until(
                "the silence is reported",
                lambda: companion.broker.sentence == "The broker 127.0.0.1 does not answer.",
            )
            companion.table.new_game("outbuffered", seed=1)
            companion.step_keys()
        assert not companion.broker.is_connected


def test_the_default_topic_has_the_machines_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "tisch 3.local")
    assert MqttSettings().base_topic == "tabletop/tisch-3"
    assert MqttSettings(topic="cafe/3").base_topic == "cafe/3"


# ---- settings and explanations -------------------------------------------------------------------


def test_the_password_is_one_line_of_text(tmp_path: Path) -> None:
    """Read password files. A refusal must not repeat what is in the file."""
    file = tmp_path / "word"
    assert read_password("") is None
    file.write_text("correct horse\n")
    assert read_password(str(file)) == "correct horse"
    for content in (b"", b"-----BEGIN PRIVATE KEY-----\nMII\n", b"x" * 300, b"a\0b"):
        file.write_bytes(content)
        with pytest.raises(BrokerError) as refused:
            read_password(str(file))
        assert "PRIVATE" not in refused.value.message
    with pytest.raises(BrokerError, match="No such file"):
        read_password(str(tmp_path / "none"))


def test_a_lost_broker_is_explained() -> None:
    mqtt = MqttSettings(host="broker")
    assert "unknown name" in explain_loss(socket.gaierror(-2, "unknown name"), mqtt)


@pytest.mark.parametrize("topic", ["a/#", "a//b", "a b", "x" * 65])
def test_a_topic_with_special_characters_is_refused(topic: str) -> None:
    with pytest.raises(ConfigError, match=r"regex .* in \[mqtt\.topic\]|length <= 64"):
        parse_settings(f'[mqtt]\ntopic = "{topic}"')


def test_no_thread_runs_while_mqtt_is_off(tmp_path: Path) -> None:
    with table_with_broker(tmp_path, MqttSettings()) as companion:
        assert companion.broker.connection is None
        assert not [thread for thread in threading.enumerate() if "paho" in thread.name]
        assert not companion.broker.bell.has_listener
