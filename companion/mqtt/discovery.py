"""The table as a device of Home Assistant, a program that controls the devices of a home.

Home Assistant finds devices by itself: each publishes one retained message that describes it, under
a prefix on which Home Assistant listens. A component is one sensor, switch or button of the device.

Source: Home Assistant, "MQTT", device discovery payload. It defines the short keys `dev` (device),
`o` (origin), `cmps` (components), `p` (platform), `mf` (manufacturer), `mdl` (model) and `sw`
(software version).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from companion.core.config import MqttSettings
from companion.core.ports import CameraState
from companion.mqtt import topics
from companion.table.session import Phase


def device_id(settings: MqttSettings) -> str:
    """Return the device's id, which must be unique on this broker.

    >>> device_id(MqttSettings(topic="cafe/table-3"))
    'cafe_table-3'
    """
    return settings.base_topic.replace("/", "_")


def config_topic(settings: MqttSettings) -> str:
    """Return the topic of the table's description.

    >>> config_topic(MqttSettings(topic="tabletop"))
    'homeassistant/device/tabletop/config'
    """
    return f"{settings.discovery}/device/{device_id(settings)}/config"


def device_description(settings: MqttSettings, version: str) -> Mapping[str, Any]:
    """Return the description of the whole device.

    `version` is that of the program. Components that send commands are included only if the
    settings allow them. Even these neither play nor reveal nor end anything.
    """
    base, device = settings.base_topic, device_id(settings)
    components = {**_game_sensors(base), **_table_sensors(base)}
    if settings.staff:
        components |= _staff_components(base)
    if settings.pause:
        components["pause"] = _binary_sensor(
            "Clock stopped",
            f"{base}/{topics.STATE}",
            "value_json.paused",
            platform="switch",
            icon="mdi:pause",
            command_topic=f"{base}/{topics.PAUSED_SET}",
            optimistic=False,
        )
    for key, component in components.items():
        component["unique_id"] = f"{device}_{key}"
    return {
        "dev": {
            "ids": [device],
            "name": settings.name,
            "mf": "Tabletop Companion",
            "mdl": "Board game table",
            "sw": version,
        },
        "o": {"name": "tabletop-companion", "sw": version},
        "availability_topic": f"{base}/{topics.AVAILABILITY}",
        "cmps": components,
    }


def _game_sensors(base: str) -> dict[str, dict[str, Any]]:
    """Return the sensors for the game and its progress."""
    state, turn, clock = f"{base}/{topics.STATE}", f"{base}/{topics.TURN}", f"{base}/{topics.CLOCK}"
    return {
        "sign": _sensor(
            "Sign",
            state,
            "{{ value_json.sign[:255] }}",
            "mdi:sign-direction",
            json_attributes_topic=state,
        ),
        "phase": _sensor(
            "Phase",
            state,
            "{{ value_json.phase }}",
            "mdi:progress-clock",
            device_class="enum",
            options=[phase.value for phase in Phase],
        ),
        "game": _sensor("Game", state, "{{ value_json.title }}", "mdi:chess-rook"),
        "turn": _sensor("Turn", state, "{{ value_json.turn }}", "mdi:counter"),
        "seat": _sensor(
            "Whose turn",
            turn,
            "{{ value_json.seat }}",
            "mdi:account-arrow-right",
            json_attributes_topic=turn,
            device_class="enum",
            options=["south", "north", "both", "none"],
        ),
        "colour": _sensor("Colour", turn, "{{ value_json.colour }}", "mdi:palette"),
        "ends": _sensor(
            "Clock runs out",
            clock,
            "{{ value_json.ends_at }}",
            "mdi:timer-sand",
            json_attributes_topic=clock,
            device_class="timestamp",
        ),
        "paused": _binary_sensor("Paused", state, "value_json.paused", icon="mdi:pause"),
        "events": {
            "p": "event",
            "name": "Event",
            "state_topic": f"{base}/{topics.EVENT}",
            "event_types": list(topics.event_types()),
            "icon": "mdi:bullhorn",
        },
    }


def _table_sensors(base: str) -> dict[str, dict[str, Any]]:
    """Return the sensors for the seats, the camera and trouble."""
    seats, devices = f"{base}/{topics.SEATS_TAKEN}", f"{base}/{topics.DEVICES}"
    return {
        "south": _binary_sensor("South", seats, "value_json.south.taken", device_class="occupancy"),
        "north": _binary_sensor("North", seats, "value_json.north.taken", device_class="occupancy"),
        "trouble": _binary_sensor(
            "Trouble",
            devices,
            "value_json.trouble",
            device_class="problem",
            json_attributes_topic=devices,
        ),
        "camera": _sensor(
            "Camera",
            devices,
            "{{ value_json.camera }}",
            "mdi:camera",
            device_class="enum",
            options=[state.value for state in CameraState],
            entity_category="diagnostic",
        ),
    }


def _staff_components(base: str) -> dict[str, dict[str, Any]]:
    """Return the sensor for a staff call, and the two buttons that answer it."""
    command = {"p": "button", "command_topic": f"{base}/{topics.STAFF_SET}"}
    return {
        "staff": _binary_sensor(
            "Staff called",
            f"{base}/{topics.STAFF}",
            "value_json.call != 'none'",
            icon="mdi:bell-ring",
        ),
        "staff_coming": {
            **command,
            "name": "Someone is coming",
            "payload_press": "coming",
            "icon": "mdi:run",
        },
        "staff_done": {
            **command,
            "name": "Call answered",
            "payload_press": "done",
            "icon": "mdi:check",
        },
    }


def _sensor(
    name: str,
    topic: str,
    template: str,
    icon: str | None = None,
    **extra: Any,
) -> dict[str, Any]:
    """Return a sensor that shows a value of the messages on a topic.

    `template` is a Jinja template for that value. `extra` has more keys of Home Assistant, which
    replace those made here, such as `json_attributes_topic`, the topic of further values.
    """
    component = {
        "p": "sensor",
        "name": name,
        "state_topic": topic,
        "value_template": template,
        "icon": icon,
        **extra,
    }
    return {key: value for key, value in component.items() if value is not None}


def _binary_sensor(
    name: str, topic: str, condition: str, *, platform: str = "binary_sensor", **extra: Any
) -> dict[str, Any]:
    """Return a sensor that is on while a Jinja condition on `value_json` holds.

    With the platform `switch`, it also sends commands. `extra` is as in `_sensor`. A sensor with a
    device class needs no icon, because Home Assistant has one for each class.
    """
    template = f"{{{{ 'ON' if {condition} else 'OFF' }}}}"
    return _sensor(name, topic, template, p=platform, **extra)
