"""Settings: one TOML file, read strictly. Unknown keys are refused with their place.

Each section of the file is a frozen class, each entry a field with its default. The docstrings of
the fields are the words of docs/settings.md. `load_settings` reads a file at the start of the
program, and every part is given the section that it needs. `companion.maintenance.settings` shows
and writes the file.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from companion.core.errors import ConfigError
from companion.core.files import MAX_TEXT_BYTES, expand_path, read_file
from companion.core.i18n import LANGUAGES, Verbatim, say, with_heading
from companion.core.resources import is_small_machine

# Pairs (section, entry) of settings that no longer exist. If a file has one, the program reports it
# and starts.
RETIRED_SETTINGS = (("panel", "brightness"), ("table", "demonstration_minutes"), ("web", "metrics"))


# ---- types of values -----------------------------------------------------------------------------


# The languages are those of the catalogues, which a type checker cannot know.
if TYPE_CHECKING:
    Language = str
else:
    Language = Literal[("auto", *LANGUAGES)]
# BCM number of a pin. The header of a Raspberry Pi has GPIO 0 to 27.
Pin = Annotated[int, Meta(ge=0, le=27)]
# A pin, or empty if it is not wired.
WiredPin = Pin | Literal[""]
# Hours and minutes on the machine's clock, such as `08:30`. Empty if no time is set.
TimeOfDay = Annotated[str, Meta(pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9])?$")]
# A name or address of a machine, without a port.
HostName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9:]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?$")]
# Pattern of an MQTT topic. A broker or Home Assistant would misinterpret other characters.
TOPIC_PATTERN = r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*"


# ---- sections ------------------------------------------------------------------------------------


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of every section. Sections are frozen and refuse unknown entries."""


class PadPins(_Section, frozen=True):
    """BCM numbers of one side's buttons and lamps. Leave an entry out, or write `""`, when it is
    not wired.
    """

    up: WiredPin = ""
    down: WiredPin = ""
    left: WiredPin = ""
    right: WiredPin = ""
    a: WiredPin = ""
    b: WiredPin = ""
    back: WiredPin = ""
    ready: WiredPin = ""
    lamp_1: WiredPin = ""
    lamp_2: WiredPin = ""
    lamp_3: WiredPin = ""
    lamp_turn: WiredPin = ""
    lamps_active_low: tuple[Literal["lamp_1", "lamp_2", "lamp_3", "lamp_turn"], ...] = ()
    """Lamps that are wired between 3V3 and the pin."""


# The default wiring of both pads, in the order of the fields above (docs/hardware.md).
SOUTH_PINS = PadPins(5, 6, 13, 19, 26, 11, 9, 10, 17, 27, 22, 4)
NORTH_PINS = PadPins(12, 16, 20, 21, 7, 8, 25, 24, 23, 15, 14, 2, ("lamp_2", "lamp_3", "lamp_turn"))
# The default pins of the buzzer, the table button and the system lamp.
BUZZER_PIN = 18
TABLE_BUTTON_PIN = 3
SYSTEM_LAMP_PIN = 1


class PanelSettings(_Section, frozen=True):
    """Pads, lamps and buzzer."""

    enabled: Literal["auto", "yes", "no"] = "auto"
    """Whether there is a panel. `auto` asks the machine for pins."""
    south: PadPins = SOUTH_PINS
    """Pins of South's pad. A table of its own replaces all of them."""
    north: PadPins = NORTH_PINS
    """Pins of North's pad."""
    buzzer: WiredPin = BUZZER_PIN
    """Pin of the buzzer."""
    table_button: WiredPin = TABLE_BUTTON_PIN
    """Pin of the table button. GPIO 3 also wakes a halted machine."""
    switch_off: bool = True
    """Whether the table button, held for five seconds, switches the machine off."""
    system_lamp: WiredPin = SYSTEM_LAMP_PIN
    """Pin of the lamp for booting, ready, fault, safe to unplug. The firmware leaves GPIO 1
    high."""
    system_lamp_active_low: bool = True
    """Whether the system lamp is wired between 3V3 and its pin."""
    silent: bool = False
    """Whether the turn lamps show every tone instead of the buzzer."""
    # With a shorter time, one press of a worn key would count twice. With a longer one, quick
    # presses would be lost.
    debounce_ms: Annotated[int, Meta(ge=1, le=200)] = 20
    """Milliseconds for which a key has to be up before it counts again."""


class CameraSettings(_Section, frozen=True):
    """Where pictures of the board come from."""

    source: str = "auto"
    """Camera: `auto`, `none`, `picamera`, `usb:0`, or the path of a picture or a folder.

    `picamera:imx708` has this sensor, `usb:C920` these words in its name. `http://…` is a stream of
    JPEGs and `rtsp://…` a video in the network.
    """
    size: Literal["auto", "1280x720", "1920x1080"] = "auto"
    """Size of the pictures. `auto` is 1920x1080, or 1280x720 with little memory."""
    model: Literal[
        "auto",
        "camera-module-1",
        "camera-module-2",
        "camera-module-3",
        "camera-module-3-wide",
        "hq-6mm",
        "webcam",
    ] = "auto"
    """Model of the camera, for its lens. `auto` asks the sensor."""
    field_of_view_deg: Annotated[float, Meta(ge=20, le=140)] | None = None
    """Horizontal angle of any other lens in degrees, from its data sheet."""
    # With more pictures, a move is read sooner. With fewer, the processor has less work.
    fps: Annotated[float, Meta(ge=0.1, le=60)] = 10.0
    """Maximum number of pictures a second that are read."""
    mains_hz: Literal[50, 60] = 50
    """Frequency of the mains, whose lamps flicker."""
    # 200 MB are enough for some 6,600 turns, because a photograph takes about 30 kB.
    photographs_mb: Annotated[int, Meta(ge=0, le=100_000)] = 200
    """Megabytes that photographs of turns may take. With 0 none is taken."""

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of the picture."""
        if self.size == "auto":
            return (1280, 720) if self.is_small else (1920, 1080)
        width, height = self.size.split("x")
        return int(width), int(height)

    @property
    def is_small(self) -> bool:
        """Whether pictures are small because the machine has little memory, and no size is set."""
        return self.size == "auto" and is_small_machine()


class WebSettings(_Section, frozen=True):
    """The pages: their address, and who gets in."""

    host: str = "0.0.0.0"
    """Address to listen on."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    """Port of the pages."""
    # Each spectator takes an open connection, and has to be sent every new page.
    viewers: Annotated[int, Meta(ge=4, le=1000)] = 64
    """Maximum number of spectators."""
    join: Literal["open", "code"] = "open"
    """Who may sit down: everybody, or who enters the code of the table screen."""
    names: tuple[HostName, ...] = ()
    """Further host names by which browsers open the pages."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies whose forwarded headers count, such as `172.30.32.0/23`."""
    path: str = ""
    """Path under which a proxy shows the pages, such as `/table`. Empty is none."""
    certificate: str = ""
    """PEM file of the certificate. With a key the pages come by HTTPS."""
    key: str = ""
    """PEM file of its key."""


# Reading time in seconds from which on the pages wait for a tap instead.
WAIT_FOR_TAP_FROM_S = 60.0


class TableSettings(_Section, frozen=True):
    """The table screen and the game."""

    reading_time_s: Annotated[float, Meta(ge=0, le=60)] = 3.0
    """Seconds for which seven words stay on the screen. From 60 on they wait for a tap."""
    tip_south: Literal["left", "right"] = "left"
    """Side of the table screen on which South sits."""
    upright: bool = False
    """Whether boards stand upright on a wide table screen, South below, instead of lying on their
    side."""
    dark_minutes: Annotated[int, Meta(ge=0, le=1440)] = 60
    """Minutes without any change at the table after which the table screen goes dark. 0: never."""
    theme: Literal["system", "light", "dark", "night"] = "system"
    """Colours of the table screen. `night` is dark from eight in the evening until seven."""
    language: Language = "auto"
    """Language of the table screen, the voice and the console. `auto` is the browser's."""
    coach: Literal["machine", "always", "never"] = "machine"
    """Who may ask the coach: who plays against the machine, everybody, or nobody."""


class HistorySettings(_Section, frozen=True):
    """Which finished games are kept. Imported games always are."""

    keep: Literal["all", "games", "days"] = "all"
    """Games that are kept: all, the newest, or those of the last days."""
    games: Annotated[int, Meta(ge=1, le=100_000)] = 500
    """Number of the newest games."""
    days: Annotated[int, Meta(ge=1, le=36_500)] = 365
    """Number of the last days."""


class WifiSettings(_Section, frozen=True):
    """The network that phones join by a QR code."""

    name: Annotated[str, Meta(max_length=32)] = ""
    """Name of the network. The table's own hotspot needs none here."""
    password: Annotated[str, Meta(pattern=r"^([ -~]{8,63})?$")] = ""
    """Password, which the table screen shows. Empty is an open network."""
    hidden: bool = False
    """Whether the network hides its name."""

    def __repr__(self) -> str:
        return f"WifiSettings(name={self.name!r}, password=…)"


class VoiceSettings(_Section, frozen=True):
    """The voice that says what happens."""

    by: Literal["auto", "screen", "machine", "off"] = "auto"
    """Speaker: the table screen's browser, `espeak-ng` on the machine, or nobody.

    `auto` is the machine, unless a screen speaks.
    """
    says: Literal["turns", "everything"] = "turns"
    """What is said: turns, warnings and results, or all that happens."""
    volume: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.6
    """Loudness from 0 to 1."""
    speed: Annotated[float, Meta(ge=0.5, le=2.0)] = 1.0
    """Speed, where 1 is that of a calm speaker."""


class QuietSettings(_Section, frozen=True, rename={"begin": "from", "end": "to"}):
    """Hours without tones and voice. Two equal times mean the whole day."""

    begin: TimeOfDay = ""
    """Beginning of the quiet hours, such as `22:00`."""
    end: TimeOfDay = ""
    """End of the quiet hours."""


class LogSettings(_Section, frozen=True):
    """How much the log says."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged."""


class MqttSettings(_Section, frozen=True):
    """What the table publishes on an MQTT broker."""

    enabled: bool = False
    """Whether the table publishes anything."""
    host: Annotated[str, Meta(min_length=1, max_length=200)] = "localhost"
    """Name or address of the broker."""
    port: Annotated[int, Meta(ge=1, le=65535)] = 1883
    """Port of the broker."""
    user: Annotated[str, Meta(max_length=200)] = ""
    """Name of the user."""
    password_file: Annotated[str, Meta(max_length=200)] = ""
    """File whose only line is the password."""
    tls: bool = False
    """Whether the connection is encrypted."""
    ca_file: Annotated[str, Meta(max_length=200)] = ""
    """PEM file of the authority that signed the broker's certificate."""
    topic: Annotated[str, Meta(max_length=64, pattern=rf"^({TOPIC_PATTERN})?$")] = ""
    """Beginning of all topics. Empty is `tabletop/` and the machine's name."""
    home_assistant: bool = True
    """Whether Home Assistant finds the table as a device."""
    discovery: Annotated[str, Meta(max_length=64, pattern=rf"^{TOPIC_PATTERN}$")] = "homeassistant"
    """Beginning of the topics by which Home Assistant finds devices."""
    name: Annotated[str, Meta(min_length=1, max_length=64)] = "Tabletop"
    """Name of the device."""
    names: bool = False
    """Whether players' names are published."""
    staff: bool = False
    """Whether pages have a key that calls the staff."""
    pause: bool = False
    """Whether a message may stop the clock."""

    @property
    def base_topic(self) -> str:
        """Beginning of all topics of this table."""
        if self.topic:
            return self.topic
        name = socket.gethostname().partition(".")[0]
        # Characters such as + and # have a special meaning in a topic.
        return f"tabletop/{re.sub(r'[^A-Za-z0-9_-]', '-', name) or 'table'}"


class BotsSettings(_Section, frozen=True):
    """Opponents from outside. They are programs that run here, so only this file can name them."""

    engines: tuple[
        Annotated[str, Meta(max_length=300, pattern=r"^[^\W_][\w .-]{0,23}=\S.*$")], ...
    ] = ()
    """`NAME=COMMAND` of each, a program that speaks the protocol of `companion bot`."""


class Settings(_Section, frozen=True):
    """The whole file."""

    state_dir: str = "~/.local/share/tabletop-companion"
    """Folder of games and keys."""
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
        return _state_folder(self.state_dir) / "journal.sqlite"

    @property
    def lenses_path(self) -> Path:
        """Absolute path of the lens data of cameras."""
        return self.journal_path.with_name("lenses.json")


# ---- reading -------------------------------------------------------------------------------------


def load_settings(path: Path | None) -> Settings:
    """Read the settings from a file, or return the defaults for None. Raises `ConfigError`."""
    if path is None:
        return Settings()
    try:
        # Some editors start a file with a byte order mark.
        text = read_file(path, MAX_TEXT_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            say("{file}: cannot be read: {error}", file=str(path), error=str(error))
        ) from None
    return parse_settings(text, str(path))


def parse_settings(text: str, name: str = "settings.toml") -> Settings:
    """Parse settings in TOML.

    Raises `ConfigError` with a message that names the place, and calls the file `name`.

    >>> parse_settings("[web]\\nport = 8765").web.port
    8765
    """
    try:
        tree = _parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(say("{file}: not TOML: {error}", file=name, error=str(error))) from None
    return settings_from_tree(tree, name)


def _parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises `tomllib.TOMLDecodeError`, also if it is nested too deeply."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("Nested too deeply") from None


def settings_from_tree(tree: Mapping[str, Any], name: str) -> Settings:
    """Return the settings in a tree of sections and their values, as TOML is parsed.

    Messages call the file `name`. Retired settings are left out. Raises `ConfigError` that names
    the place.
    """
    # Copy the sections, because retired entries are removed from them.
    current: dict[str, Any] = {
        key: dict(part) if isinstance(part, Mapping) else part for key, part in tree.items()
    }
    for section, entry in _retired_in(tree):
        del current[section][entry]
    try:
        settings = msgspec.convert(current, Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(with_heading(name, _convert_place(str(error)))) from None
    require_valid_web(settings.web, name)
    if bool(settings.quiet.begin) != bool(settings.quiet.end):
        raise ConfigError(say("{file}: [quiet] needs both from and to, or neither", file=name))
    try:
        expand_path(settings.state_dir)
    except OSError:
        raise ConfigError(
            say("{file}: [{place}] is not a path on this machine", file=name, place="state_dir")
        ) from None
    return settings


def retired_setting_notices(path: Path) -> tuple[str, ...]:
    """Return a notice for each retired setting in a file. Empty if the file cannot be read."""
    try:
        tree = _parse_toml(read_file(path, MAX_TEXT_BYTES).decode("utf-8-sig"))
    except (OSError, ValueError):
        return ()
    return tuple(
        say(
            "{setting} is no longer used: remove it from the settings file.",
            setting=f"[{section}] {entry}",
        )
        for section, entry in _retired_in(tree)
    )


def _retired_in(tree: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the sections and entries of `RETIRED_SETTINGS` that are in the tree."""
    sections = {name: part for name, part in tree.items() if isinstance(part, Mapping)}
    return [
        (section, entry)
        for section, entry in RETIRED_SETTINGS
        if entry in sections.get(section, {})
    ]


def find_settings(path: Path | None, state_dir: str | None) -> Path:
    """Return the path of the settings file, which need not exist.

    It is `path`, or if that is None, `settings.toml` in the state directory. If `state_dir` is
    None, that is the usual one. Raises `ConfigError` if `state_dir` cannot be a folder.
    """
    if path is not None:
        return path
    return _state_folder(state_dir or Settings().state_dir) / "settings.toml"


def _state_folder(state_dir: str) -> Path:
    """Return the absolute path of the state directory. Raises `ConfigError` if it cannot be one."""
    try:
        return expand_path(state_dir).resolve()
    except (OSError, RuntimeError):  # a loop of links is a RuntimeError
        raise ConfigError(
            say("state_dir: “{path}” is not a folder on this machine", path=Verbatim(state_dir))
        ) from None


def _convert_place(message: str) -> str:
    """Return msgspec's message with its place (`$.web`) in the notation of the file (`[web]`)."""
    text, _, path = message.partition(" - at `$")
    place = path.rstrip("`").lstrip(".")
    return say("{error} in [{place}]", error=text, place=place) if place else text


_PAGE_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")


def is_page_path(text: str) -> bool:
    """Return whether pages can be served under this path. The empty path is the root.

    It begins with a slash and does not end with one. Its parts have plain characters, and none
    begins with a dot.

    >>> [is_page_path(text) for text in ("", "/table", "/api/ingress/x_1", "table", "/table/",
    ... "//evil", "/..")]
    [True, True, True, False, False, False, False]
    """
    return _PAGE_PATH.fullmatch(text) is not None


def require_valid_web(web: WebSettings, name: str) -> None:
    """Raise `ConfigError` for a path, a proxy or a certificate with which no page can be served.

    The message calls the settings file `name`.
    """
    if not is_page_path(web.path):
        raise ConfigError(
            say(
                "{file}: “{text}” in [web] path is not a path such as /table",
                file=name,
                text=Verbatim(web.path),
            )
        )
    for proxy in web.proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            raise ConfigError(
                say(
                    "{file}: “{text}” in [web] proxies is not an address or a network",
                    file=name,
                    text=Verbatim(proxy),
                )
            ) from None
    if bool(web.certificate) != bool(web.key):
        raise ConfigError(
            say("{file}: [web] needs both certificate and key, or neither", file=name)
        )
