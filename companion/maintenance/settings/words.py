"""The texts of the settings page: headings, and for each setting a title, a sentence and more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from companion.core.i18n import LANGUAGES, say


@dataclass(frozen=True)
class SettingWords:
    """The words for one setting, as the settings page shows them."""

    title: str
    sentence: str
    unit: str = ""
    choices: Mapping[Any, str] = field(default_factory=dict)
    """Words for each value to choose from, in the order in which they are shown."""


# Regular expression of the camera sources that the settings page may write. They are devices. Files
# are a source, too, but only for tests at the machine itself. After `picamera:` comes a number, the
# name of a sensor, or an id of libcamera, which looks like a path but is not the path of a file.
CAMERA_PATTERN = (
    r"auto|none|picamera(:([0-9]{1,3}|[a-z][a-z0-9_]{2,31}|/base/[a-zA-Z0-9_@/,.-]{1,150}))?"
    r"|usb:[^/\\]{1,100}"
)

# Sections and single settings that take effect without a restart of the service.
WITHOUT_RESTART = frozenset(
    {
        "table",
        "voice",
        "quiet",
        "history",
        "wifi",
        "mqtt",
        "panel.silent",
        "panel.switch_off",
    }
)

# Headings in the page's order, by the name of the section. The settings outside of all TOML tables
# are in the section with the empty name.
SECTIONS: Mapping[str, str] = {
    "table": say("Table"),
    "voice": say("Voice"),
    "quiet": say("Quiet hours"),
    "panel": say("Pads, lamps and buzzer"),
    "camera": say("Camera"),
    "history": say("Games played"),
    "wifi": say("Wi-Fi for phones"),
    "web": say("Network"),
    "mqtt": say("Home and café (MQTT)"),
    "log": say("Log"),
    "bots": say("Opponents"),
    "": say("Files"),
}

# Settings that the settings page may write.
ON_PAGE: Mapping[str, SettingWords] = {
    "table.reading_time_s": SettingWords(
        say("Time to read"),
        say("How long seven words stay on the screen. From 60 seconds on they wait for a tap."),
        say("seconds"),
    ),
    "table.tip_south": SettingWords(
        say("South sits"),
        say("Which edge of the table screen the sign points to for South."),
        choices={"left": say("Left"), "right": say("Right")},
    ),
    "table.upright": SettingWords(
        say("Boards stand upright"),
        say("For a table whose people sit before and behind the screen."),
    ),
    "table.dark_minutes": SettingWords(
        say("Screen goes dark"),
        say("When nobody has played for so long. A touch wakes it. 0: never."),
        say("minutes"),
    ),
    "table.theme": SettingWords(
        say("Colours of the table screen"),
        say("Light, dark, dark from eight in the evening until seven, or the same as its system."),
        choices={
            "system": say("System"),
            "light": say("Light"),
            "dark": say("Dark"),
            "night": say("Dark at night"),
        },
    ),
    "table.language": SettingWords(
        say("Language of the table"),
        say("For the table screen, the voice and the console. Phones choose their own."),
        choices={"auto": say("Browser"), **LANGUAGES},
    ),
    "table.coach": SettingWords(
        say("Coach"),
        say(
            "Who may ask what it would do: people who play against the machine, everybody, or "
            "nobody. Such games are marked."
        ),
        choices={
            "machine": say("Against the machine"),
            "always": say("Everybody"),
            "never": say("Nobody"),
        },
    ),
    "voice.by": SettingWords(
        say("Who speaks"),
        say("The table screen’s browser, espeak-ng on this machine, either one, or nobody."),
        choices={
            "auto": say("Either"),
            "screen": say("Screen"),
            "machine": say("Machine"),
            "off": say("Nobody"),
        },
    ),
    "voice.says": SettingWords(
        say("What is said"),
        say("Whose turn it is, warnings and results, or all that happens."),
        choices={"turns": say("Turns"), "everything": say("Everything")},
    ),
    "voice.volume": SettingWords(
        say("Volume"),
        say("1 is as loud as the machine can be."),
    ),
    "voice.speed": SettingWords(
        say("Speed"),
        say("1 is how fast a calm person talks."),
    ),
    "quiet.from": SettingWords(
        say("From"),
        say(
            "From this time on there are no tones and no voice, and lamps are dim. Empty: no quiet "
            "hours."
        ),
    ),
    "quiet.to": SettingWords(
        say("Until"),
        say("From this time on everything is back to normal."),
    ),
    "panel.enabled": SettingWords(
        say("Pads"),
        say("Use the pins if there are any, insist on them, or leave them alone."),
        choices={"auto": say("If there are any"), "yes": say("Always"), "no": say("Never")},
    ),
    "panel.silent": SettingWords(
        say("Silent"),
        say("The turn lamps show the rhythm of each tone instead."),
    ),
    "panel.debounce_ms": SettingWords(
        say("Key debounce"),
        say("How long a key’s contact may chatter before a press counts."),
        say("milliseconds"),
    ),
    "panel.buzzer": SettingWords(
        say("Pin of the buzzer"),
        say("Its GPIO number. Empty: not wired."),
    ),
    "panel.table_button": SettingWords(
        say("Pin of the table button"),
        say("Its GPIO number. Empty: not wired."),
    ),
    "panel.switch_off": SettingWords(
        say("Switch off with the table button"),
        say("Holding it for five seconds switches the machine off."),
    ),
    "panel.system_lamp": SettingWords(
        say("Pin of the system lamp"),
        say(
            "It shows booting, ready, fault or safe to unplug, from the machine’s next start on. "
            "Empty: not wired."
        ),
    ),
    "panel.system_lamp_active_low": SettingWords(
        say("System lamp at 3V3"),
        say("It is wired between 3V3 and its pin, not between its pin and ground."),
    ),
    "camera.source": SettingWords(
        say("Camera"),
        say(
            "auto, none, picamera, picamera:imx708, usb:0, or part of its name such as usb:C920. A "
            "path can only be written into the file by hand."
        ),
    ),
    "camera.size": SettingWords(
        say("Picture size"),
        say("A larger one reads smaller markers, a smaller one is easier on the machine."),
        choices={
            "auto": say("As the machine’s memory allows"),
            "1280x720": "1280 x 720",
            "1920x1080": "1920 x 1080",
        },
    ),
    "camera.model": SettingWords(
        say("Model"),
        say("Gives a first value for the lens angle. The rest is learned from the board."),
        choices={
            "auto": say("Guess"),
            "camera-module-1": "Camera Module 1",
            "camera-module-2": "Camera Module 2",
            "camera-module-3": "Camera Module 3",
            "camera-module-3-wide": "Camera Module 3 Wide",
            "hq-6mm": "HQ Camera, 6 mm",
            "webcam": say("Webcam"),
        },
    ),
    "camera.field_of_view_deg": SettingWords(
        say("Lens angle"),
        say("How wide a different lens sees, from its data sheet. Empty: as for the model."),
        say("degrees"),
    ),
    "camera.fps": SettingWords(
        say("Pictures read"),
        say("More of them notice a hand sooner, fewer are easier on the machine."),
        say("per second"),
    ),
    "camera.mains_hz": SettingWords(
        say("Mains frequency"),
        say(
            "So that lamps do not flicker in the picture: 60 in most of America, 50 in most other "
            "countries."
        ),
        say("hertz"),
        {50: "50", 60: "60"},
    ),
    "camera.photographs_mb": SettingWords(
        say("Photographs"),
        say("How much disk space the photographs of all games may use. 0: none are taken."),
        say("megabytes"),
    ),
    "history.keep": SettingWords(
        say("Games to keep"),
        say(
            "The others are removed with their photographs while nobody plays. Imported games stay."
        ),
        choices={"all": say("All"), "games": say("The newest"), "days": say("The last days")},
    ),
    "history.games": SettingWords(
        say("The newest"),
        say("How many games to keep, with “The newest”."),
        say("games"),
    ),
    "history.days": SettingWords(
        say("The last days"),
        say("How many days to keep, with “The last days”."),
        say("days"),
    ),
    "wifi.name": SettingWords(
        say("Network name"),
        say("Phones join it with a code on the table screen."),
    ),
    "wifi.password": SettingWords(
        say("Network password"),
        say("At least eight characters; empty: an open network."),
    ),
    "wifi.hidden": SettingWords(
        say("Hidden network"),
        say("It does not broadcast its name."),
    ),
    "web.port": SettingWords(
        say("Port"),
        say("The number after the colon in the pages’ address. 0: any free port."),
    ),
    "web.viewers": SettingWords(
        say("Viewers"),
        say("How many pages may follow the table at once."),
    ),
    "web.join": SettingWords(
        say("Who may sit down"),
        say(
            "Everybody on the network, or only those who know the code on the table’s own screen, "
            "for a network with strangers."
        ),
        choices={"open": say("Everybody"), "code": say("With the code")},
    ),
    "log.level": SettingWords(
        say("What is logged"),
        say(
            "Only errors, warnings too, what happens as well, or everything that helps to find a "
            "fault."
        ),
        choices={
            "error": say("Errors"),
            "warning": say("Warnings"),
            "info": say("What happens"),
            "debug": say("Everything"),
        },
    ),
    "mqtt.enabled": SettingWords(
        say("MQTT"),
        say("Tell an MQTT broker what happens at the table: turns, clocks, results."),
    ),
    "mqtt.host": SettingWords(
        say("Broker"),
        say("Its name or address; localhost: it runs on this machine."),
    ),
    "mqtt.port": SettingWords(
        say("Broker port"),
        say("Usually 1883, or 8883 with TLS."),
    ),
    "mqtt.user": SettingWords(
        say("User"),
        say("The table’s user name at the broker. Empty: none is needed."),
    ),
    "mqtt.tls": SettingWords(
        say("TLS"),
        say("Encrypt the connection to the broker."),
    ),
    "mqtt.topic": SettingWords(
        say("Topics"),
        say("What all topics of this table start with. Empty: tabletop/ and this machine’s name."),
    ),
    "mqtt.home_assistant": SettingWords(
        say("Home Assistant"),
        say("Describe the table so that Home Assistant adds it as a device."),
    ),
    "mqtt.discovery": SettingWords(
        say("Discovery"),
        say("Where Home Assistant looks for devices, as in its own settings."),
    ),
    "mqtt.name": SettingWords(
        say("Name of the table"),
        say("As Home Assistant shows it."),
    ),
    "mqtt.names": SettingWords(
        say("Names of the players"),
        say("Tell the broker their names, not only that they are there."),
    ),
    "mqtt.staff": SettingWords(
        say("Call the staff"),
        say("A key at the table and on phones sends a message that calls somebody."),
    ),
    "mqtt.pause": SettingWords(
        say("Stop the clock remotely"),
        say("A message may stop and resume the clock of a game."),
    ),
}

# Settings that the page may not write, because they name a file, a program or an address of this
# machine. Whoever has the owner key can use the page from any phone, and could do harm by them.
BY_HAND: Mapping[str, SettingWords] = {
    "state_dir": SettingWords(
        say("Folder"), say("Where games, photographs and lens data are kept.")
    ),
    "web.host": SettingWords(
        say("Address"),
        say("The address the pages are served on. 0.0.0.0: every address of this machine."),
    ),
    "web.names": SettingWords(
        say("Other names"),
        say(
            "Names under which the pages can be opened besides this machine’s name and addresses, "
            "separated by spaces."
        ),
    ),
    "web.proxies": SettingWords(
        say("Proxies"),
        say(
            "Addresses of proxies in front of the pages, separated by spaces. "
            "They are believed when they give a guest’s address. "
            "Whoever comes through one is not at this machine’s own screen."
        ),
    ),
    "web.path": SettingWords(
        say("Path"),
        say(
            "What a proxy has before the address of every page, such as /table. "
            "Empty: the pages have an address of their own."
        ),
    ),
    "web.certificate": SettingWords(
        say("Certificate"),
        say("A PEM file. With it and its key the pages are served over HTTPS. Empty: over HTTP."),
    ),
    "web.key": SettingWords(
        say("Certificate key"), say("A PEM file that only the companion can read.")
    ),
    "bots.engines": SettingWords(
        say("External engines"),
        say(
            "NAME=COMMAND for programs that play like “companion bot”. Each is offered as an "
            "opponent."
        ),
    ),
    "mqtt.password_file": SettingWords(
        say("Password file"),
        say(
            "A one-line file that this service can read. The password itself is not in the "
            "settings."
        ),
    ),
    "mqtt.ca_file": SettingWords(
        say("Broker certificate"),
        say("The certificate of the authority that signed it. Empty: those this machine trusts."),
    ),
}

WORDS = {**ON_PAGE, **BY_HAND}

# Keys and lamps of a pad, by their names in the settings.
PAD_PARTS: Mapping[str, str] = {
    "up": say("up"),
    "down": say("down"),
    "left": say("left"),
    "right": say("right"),
    "a": say("A"),
    "b": say("B"),
    "back": say("back"),
    "ready": say("ready"),
    "lamp_1": say("lamp 1"),
    "lamp_2": say("lamp 2"),
    "lamp_3": say("lamp 3"),
    "lamp_turn": say("turn lamp"),
}
