"""Settings: one TOML file, read strictly; unknown keys are refused with their place."""

from __future__ import annotations

import ipaddress
import re
import socket
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from companion.core.errors import ConfigError
from companion.core.files import MAX_TEXT, expanded, read_file
from companion.core.i18n import Verbatim, headed, say
from companion.core.resources import is_small_machine

RETIRED_SETTINGS: tuple[str, ...] = ("panel.brightness", "table.demonstration_minutes", "web.metrics")
"""Dotted names of entries and sections that no longer exist. One in a file is told at the start and stops nothing."""

Pin = Annotated[int, Meta(ge=0, le=27)]
TimeOfDay = Annotated[str, Meta(pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9])?$")]
"""Hours and minutes on the machine's clock, `08:30`; empty: none."""


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every section: frozen, strict."""


class PadPins(_Section, frozen=True, forbid_unknown_fields=True):
    """BCM numbers of one side's buttons and lamps; leave an entry out (`""` in TOML) when it is not wired.

    The entries of `lamps_active_low` are lamps wired between 3V3 and the pin.
    """

    up: Pin | Literal[""] = ""
    down: Pin | Literal[""] = ""
    left: Pin | Literal[""] = ""
    right: Pin | Literal[""] = ""
    a: Pin | Literal[""] = ""
    b: Pin | Literal[""] = ""
    back: Pin | Literal[""] = ""
    ready: Pin | Literal[""] = ""
    lamp_1: Pin | Literal[""] = ""
    lamp_2: Pin | Literal[""] = ""
    lamp_3: Pin | Literal[""] = ""
    lamp_turn: Pin | Literal[""] = ""
    lamps_active_low: tuple[str, ...] = ()


SOUTH_PINS = PadPins(5, 6, 13, 19, 26, 11, 9, 10, 17, 27, 22, 4)
NORTH_PINS = PadPins(12, 16, 20, 21, 7, 8, 25, 24, 23, 15, 14, 2, ("lamp_2", "lamp_3", "lamp_turn"))


class PanelSettings(_Section, frozen=True, forbid_unknown_fields=True):
    """Pads, lamps and buzzer. `silent` plays every tone on the turn lamps instead.

    `switch_off`: the table button, held for five seconds, switches the machine off. `system_lamp` says booting, ready,
    fault, safe to unplug; wired between 3V3 and its pin while `system_lamp_active_low`. GPIO 1 is all that the two pads
    leave: the firmware asks it for add-on boards at the start, through which such a lamp is high, as it has to be.
    """

    enabled: Literal["auto", "yes", "no"] = "auto"
    south: PadPins = SOUTH_PINS
    north: PadPins = NORTH_PINS
    buzzer: Pin | Literal[""] = 18
    table_button: Pin | Literal[""] = 3
    switch_off: bool = True
    system_lamp: Pin | Literal[""] = 1
    system_lamp_active_low: bool = True
    silent: bool = False
    debounce_ms: Annotated[int, Meta(ge=1, le=200)] = 20


class CameraSettings(_Section, frozen=True, forbid_unknown_fields=True):
    """Where frames come from: `auto`, `none`, `picamera`, `usb:0`, a path of an image, a folder or a video file.

    `picamera:imx708` is the Raspberry Pi camera with this sensor, `picamera:/base/…` that of libcamera's id,
    `picamera:1` the second one; `usb:C920` is the USB camera with these words in its name, whatever its number. `size`
    is asked of cameras; `auto` is 1920x1080, on boards with little memory 1280x720. `model` gives nominal lens data,
    `auto` guesses it from the sensor; `field_of_view_deg` is the horizontal angle of any other lens, from its data
    sheet. `fps` bounds the work of the reader. `mains_hz` is the mains frequency of the lamps: exposures of whole
    periods show no bands.
    """

    source: str = "auto"
    size: Literal["auto", "1280x720", "1920x1080"] = "auto"
    model: Literal[
        "auto", "camera-module-1", "camera-module-2", "camera-module-3", "camera-module-3-wide", "hq-6mm", "webcam"
    ] = "auto"
    field_of_view_deg: Annotated[float, Meta(ge=20, le=140)] | None = None
    fps: Annotated[float, Meta(gt=0, le=60)] = 10.0
    mains_hz: Literal[50, 60] = 50
    photographs_mb: Annotated[int, Meta(ge=0, le=100_000)] = 200
    """How much disk the photographs of all games' turns may take; 0: none is taken."""

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of the picture."""
        if self.size == "auto":
            return (1280, 720) if self.is_small else (1920, 1080)
        width, height = self.size.split("x")
        return int(width), int(height)

    @property
    def is_small(self) -> bool:
        """Are pictures small and few boards kept, because the machine has little memory and nobody said otherwise?"""
        return self.size == "auto" and is_small_machine()


Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9:]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?$")]
"""A name or address of a machine, without a port."""


class WebSettings(_Section, frozen=True, forbid_unknown_fields=True):
    """The pages' address, who gets in, and how many may follow at once: the number of spectators is `viewers`.

    `names` are further names under which the pages are asked for, beside the machine's own name and addresses. `join`:
    `code` asks whoever sits down for the code on the table's own screen. `certificate` and `key` are PEM files; with
    both the pages come by HTTPS.
    """

    host: str = "0.0.0.0"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    viewers: Annotated[int, Meta(ge=4, le=1000)] = 64
    join: Literal["open", "code"] = "open"
    names: tuple[Name, ...] = ()
    proxies: tuple[str, ...] = ()
    """Addresses and networks, such as `10.0.0.2` or `172.30.32.0/23`, of proxies whose forwarded headers count."""
    certificate: str = ""
    key: str = ""


class TableSettings(_Section, frozen=True, forbid_unknown_fields=True):
    """`reading_time_s`: how long a stage without anything to move stays on the screen.

    `tip_south`: to which edge of the table screen the sign's tip points for South.
    `theme`: `night` is dark from eight in the evening until seven.
    `language`: of the table screen, the voice and the console; `auto`: the browser's, else English.
    `coach`: who may ask it: people who play against the machine, everybody, or nobody.
    """

    reading_time_s: Annotated[float, Meta(ge=0, le=60)] = 3.0
    tip_south: Literal["left", "right"] = "left"
    theme: Literal["system", "light", "dark", "night"] = "system"
    language: Literal["auto", "en", "es", "fr"] = "auto"
    coach: Literal["machine", "always", "never"] = "machine"


class HistorySettings(_Section, frozen=True, forbid_unknown_fields=True):
    """Which games are kept: `all`, the newest `games` of them, or those of the last `days`; the others are removed.

    Games that were brought in from elsewhere are always kept.
    """

    keep: Literal["all", "games", "days"] = "all"
    games: Annotated[int, Meta(ge=1, le=100_000)] = 500
    days: Annotated[int, Meta(ge=1, le=36_500)] = 365


class WifiSettings(_Section, frozen=True, forbid_unknown_fields=True):
    """The network that phones join by a QR code; empty `name`: the machine's own hotspot, when it runs one.

    An empty `password` is an open network. It is shown on the table screen, printed, and in no log.
    """

    name: Annotated[str, Meta(max_length=32)] = ""
    password: Annotated[str, Meta(pattern=r"^([ -~]{8,63})?$")] = ""
    hidden: bool = False

    def __repr__(self) -> str:
        return f"WifiSettings(name={self.name!r}, password=…)"


class VoiceSettings(_Section, frozen=True, forbid_unknown_fields=True):
    """Who says aloud what happens: the table screen's browser, `espeak-ng` on this machine, or nobody.

    `auto`: the machine, unless a table screen speaks. `says`: whose turn it is, warnings and results, or all that
    happens. `volume` 0..1; `speed` 1 is a calm talker's.
    """

    by: Literal["auto", "screen", "machine", "off"] = "auto"
    says: Literal["turns", "everything"] = "turns"
    volume: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.6
    speed: Annotated[float, Meta(ge=0.5, le=2.0)] = 1.0


class QuietSettings(_Section, frozen=True, forbid_unknown_fields=True, rename={"begin": "from", "end": "to"}):
    """Hours in which no tone and no voice is heard and lamps are dim, such as from 22:00 to 08:00; empty: none.

    In the file they are `from` and `to`; both the same: the whole day.
    """

    begin: TimeOfDay = ""
    end: TimeOfDay = ""


class LogSettings(_Section, frozen=True, forbid_unknown_fields=True):
    """What the log says: from this level on, in systemd's journal and where more is asked for by `-v`."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class MqttSettings(_Section, frozen=True, forbid_unknown_fields=True):
    """What the table tells a broker of the house; off as delivered.

    `password_file` holds the password in its only line. `topic` is what all topics begin with: words of letters,
    digits, `_` and `-`, with slashes between them; empty: `tabletop/` and this machine's name. `home_assistant`:
    describe the table below `discovery`, so that Home Assistant makes a device of it. `names`: tell how the players are
    called. `staff`: there is a key that calls somebody. `pause`: the clock may be stopped by a message.
    """

    enabled: bool = False
    host: Annotated[str, Meta(min_length=1, max_length=200)] = "localhost"
    port: Annotated[int, Meta(ge=1, le=65535)] = 1883
    user: Annotated[str, Meta(max_length=200)] = ""
    password_file: Annotated[str, Meta(max_length=200)] = ""
    tls: bool = False
    ca_file: Annotated[str, Meta(max_length=200)] = ""
    topic: Annotated[str, Meta(max_length=64)] = ""
    home_assistant: bool = True
    discovery: Annotated[str, Meta(max_length=64)] = "homeassistant"
    name: Annotated[str, Meta(min_length=1, max_length=64)] = "Tabletop"
    names: bool = False
    staff: bool = False
    pause: bool = False

    @property
    def base_topic(self) -> str:
        """What all topics of this table begin with."""
        if self.topic:
            return self.topic
        name = socket.gethostname().partition(".")[0]
        return f"tabletop/{re.sub(r'[^A-Za-z0-9_-]', '-', name) or 'table'}"


class BotsSettings(_Section, frozen=True, forbid_unknown_fields=True):
    """Opponents from outside.

    engines: `NAME=COMMAND` of each, a program that speaks the protocol of `companion bot`; the game's name is added as
    its last word. Written into the file by hand: it is a program that runs here.
    """

    engines: tuple[Annotated[str, Meta(max_length=300, pattern=r"^[^\W_][\w .-]{0,23}=\S.*$")], ...] = ()


class Settings(_Section, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    state_dir: str = "~/.local/share/tabletop-companion"
    camera: CameraSettings = CameraSettings()
    panel: PanelSettings = PanelSettings()
    web: WebSettings = WebSettings()
    table: TableSettings = TableSettings()
    wifi: WifiSettings = WifiSettings()
    voice: VoiceSettings = VoiceSettings()
    quiet: QuietSettings = QuietSettings()
    history: HistorySettings = HistorySettings()
    mqtt: MqttSettings = MqttSettings()
    log: LogSettings = LogSettings()
    bots: BotsSettings = BotsSettings()

    @property
    def photographs_path(self) -> Path:
        """Absolute path of the photographs' folder."""
        return self.journal_path.with_name("photographs")

    @property
    def journal_path(self) -> Path:
        """Absolute path of the journal."""
        return Path(self.state_dir).expanduser().resolve() / "journal.sqlite"

    @property
    def lenses_path(self) -> Path:
        """Absolute path of what is known about the lenses of cameras."""
        return self.journal_path.with_name("lenses.json")


MAX_KEY_PARTS = 32
"""Parts of a dotted key. The longest of this program has two; a comment may have some dots more."""


def read_settings(text: str, name: str = "settings.toml") -> Settings:
    """Settings from TOML; raises `ConfigError` that names the place.

    >>> read_settings("[web]\\nport = 8765").web.port
    8765
    """
    try:
        tree = _tree_of(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(say("{file}: not TOML: {error}", file=name, error=str(error))) from None
    return settings_of(tree, name)


def _tree_of(text: str) -> dict[str, Any]:
    """Read TOML that a backup may have brought. Raises `tomllib.TOMLDecodeError`, also for what would take too long.

    `tomllib` keeps every beginning of a dotted key: 18 kB of `a.a.a` take 330 MB.
    """
    parts = 0
    for part in text.split("."):
        is_key = part.strip() and not {"\n", "="} & set(part)
        parts = parts + 1 if is_key else 0
        if parts > MAX_KEY_PARTS:
            raise tomllib.TOMLDecodeError("A key has too many parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("Nested too deeply") from None


def settings_of(tree: Mapping[str, Any], name: str) -> Settings:
    """Settings from sections and their values; raises `ConfigError` that names the place."""
    try:
        settings = msgspec.convert(_without(tree, _retired_in(tree)), Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(headed(name, _place(str(error)))) from None
    _refuse_double_pins(settings.panel, name)
    _refuse_topics(settings.mqtt, name)
    _refuse_paths(settings, name)
    _refuse_proxies(settings.web, name)
    if bool(settings.quiet.begin) != bool(settings.quiet.end):
        raise ConfigError(say("{file}: [quiet] needs both from and to, or neither", file=name))
    if bool(settings.web.certificate) != bool(settings.web.key):
        raise ConfigError(say("{file}: [web] needs both certificate and key, or neither", file=name))
    return settings


def retired_settings(path: Path) -> tuple[str, ...]:
    """Return a sentence for each retired setting in a file. A file that cannot be read has none."""
    try:
        tree = _tree_of(read_file(path, MAX_TEXT).decode())
    except (OSError, ValueError):
        return ()
    return tuple(_retired_words(name) for name in _retired_in(tree))


def _retired_words(name: str) -> str:
    section, _, entry = name.rpartition(".")
    place = f"[{section}] {entry}" if section else f"[{entry}]"
    return say("{setting} is no longer used: remove it from the settings file.", setting=place)


def _retired_in(tree: Mapping[str, Any]) -> list[str]:
    """Return the names of `RETIRED_SETTINGS` that the tree has."""
    return [name for name in RETIRED_SETTINGS if _has(tree, name.split("."))]


def _has(tree: object, steps: list[str]) -> bool:
    for step in steps:
        if not isinstance(tree, Mapping) or step not in tree:
            return False
        tree = tree[step]
    return True


def _without(tree: Mapping[str, Any], names: list[str]) -> Mapping[str, Any]:
    """Return the tree without these entries, which it has."""
    for name in names:
        tree = _without_one(tree, name.split("."))
    return tree


def _without_one(tree: Mapping[str, Any], steps: list[str]) -> Mapping[str, Any]:
    first, *deeper = steps
    left = dict(tree)
    if deeper:
        left[first] = _without_one(tree[first], deeper)
    else:
        left.pop(first, None)
    return left


def find_settings(path: Path | None, state_dir: str | None) -> Path:
    """The settings file: the one that is named, else `settings.toml` in the folder of the state; it may not exist."""
    if path is not None:
        return path
    return Path(state_dir or Settings().state_dir).expanduser() / "settings.toml"


def load_settings(path: Path | None) -> Settings:
    """Settings of a file, or the defaults for None; raises `ConfigError`."""
    if path is None:
        return Settings()
    try:
        text = read_file(path, MAX_TEXT).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(say("{file}: cannot be read: {error}", file=str(path), error=str(error))) from None
    return read_settings(text, str(path))


def _place(message: str) -> str:
    """Turn msgspec's path (`$.web`) into the file's own words (`[web]`)."""
    text, separator, path = message.partition(" - at `$")
    place = path.rstrip("`").lstrip(".")
    return say("{error} in [{place}]", error=text, place=place) if separator and place else text


TOPIC = r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*"
"""How a topic is spelled that the table’s own ones begin with."""


def _refuse_topics(mqtt: MqttSettings, name: str) -> None:
    """Raise `ConfigError` for a topic that a broker or Home Assistant would take for something else."""
    for key, topic in (("mqtt.topic", mqtt.topic), ("mqtt.discovery", mqtt.discovery)):
        is_delivered = key == "mqtt.topic" and not topic
        if not is_delivered and not re.fullmatch(TOPIC, topic):
            raise ConfigError(
                say("{file}: use letters, digits, _ and - with slashes between in [{place}]", file=name, place=key)
            )


def _refuse_proxies(web: WebSettings, name: str) -> None:
    """Raise `ConfigError` for what is neither an address nor a network."""
    for proxy in web.proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            raise ConfigError(
                say("{file}: “{text}” in [web] proxies is not an address or a network", file=name, text=Verbatim(proxy))
            ) from None


def _refuse_paths(settings: Settings, name: str) -> None:
    """Raise `ConfigError` for what can be no path."""
    web, mqtt = settings.web, settings.mqtt
    for key, path in (
        ("state_dir", settings.state_dir),
        ("web.certificate", web.certificate),
        ("web.key", web.key),
        ("mqtt.password_file", mqtt.password_file),
        ("mqtt.ca_file", mqtt.ca_file),
    ):
        try:
            expanded(path)
        except OSError:
            raise ConfigError(say("{file}: [{place}] is not a path on this machine", file=name, place=key)) from None


def _refuse_double_pins(panel: PanelSettings, name: str) -> None:
    """Raise `ConfigError` when one pin has two jobs or a lamp that does not exist is inverted."""
    jobs: dict[int, str] = {}
    entries: list[tuple[str, object]] = [("buzzer", panel.buzzer), ("table_button", panel.table_button)]
    entries.append(("system_lamp", panel.system_lamp))
    for side, pins in (("south", panel.south), ("north", panel.north)):
        fields = msgspec.structs.asdict(pins)
        inverted = fields.pop("lamps_active_low")
        if unknown := set(inverted) - {f for f in fields if f.startswith("lamp_")}:
            raise ConfigError(
                say(
                    "{file}: [panel.{side}] lamps_active_low names {lamps}: no such lamp",
                    file=name,
                    side=Verbatim(side),
                    lamps=", ".join(sorted(unknown)),
                )
            )
        entries += [(f"{side}.{field}", pin) for field, pin in fields.items()]
    for job, pin in entries:
        if not isinstance(pin, int):
            continue
        if pin in jobs:
            raise ConfigError(
                say(
                    "{file}: [panel] pin {pin} is both {first} and {second}: give each its own",
                    file=name,
                    pin=pin,
                    first=jobs[pin],
                    second=job,
                )
            )
        jobs[pin] = job
