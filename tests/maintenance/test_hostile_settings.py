"""No single setting that the settings page takes keeps the service down, whatever is typed into its field."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
from ports import free_port
from service import Client, Running, running, until
from setup_tools import Kept, kept
from test_backup import fill

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings, MqttSettings, Settings, VoiceSettings, WebSettings
from companion.core.errors import ConfigError
from companion.maintenance.settings.file import SettingsFile, changed, flat
from companion.maintenance.settings.last_good import LastGoodSettings
from companion.maintenance.settings.rows import (
    LAMPS_ACTIVE_LOW,
    FieldKind,
    SettingRow,
    all_keys,
    pad_rows,
    page_may_write,
    sections,
)
from companion.service.app import Companion

BY_HAND = {
    *(
        "state_dir",
        "web.host",
        "web.names",
        "web.proxies",
        "web.path",
        "web.certificate",
        "web.key",
        "mqtt.password_file",
        "mqtt.ca_file",
    ),
    "bots.engines",
}

NUMBERS = (
    *(
        "-1",
        "0",
        "1",
        "2",
        "27",
        "28",
        "200",
        "65535",
        "65536",
        "1e300",
        "-1e300",
        "1e-300",
        "5e-324",
        "0.001",
        "0,5",
    ),
    *(
        "nan",
        "inf",
        "-inf",
        "9" * 190,
        "1_000",
        "0x10",
        "٣",
        "1e",
        "--1",
        "yes",
        "",
        " ",
        "\0",
        "1;2",
    ),
)
TEXTS = (
    *(
        "",
        " ",
        "a",
        "x" * 32,
        "x" * 64,
        "x" * 65,
        "x" * 200,
        "x" * 201,
        "x" * 100_000,
        "\0",
        "a\0b",
        "a\r\nb",
        "\x1b[2J",
    ),
    *(
        "\u202e\u2066",
        "é",
        "日本語",
        "😀" * 40,
        "\ud800",
        "-1",
        "1e300",
        "nan",
        "true",
        "[]",
        '"""',
        "'''",
        "${HOME}",
        "%s%n",
    ),
    *(
        "{0}",
        "{{x}}",
        "<script>",
        "a#b",
        "#",
        "+",
        "a/+/b",
        "$SYS",
        "a//b",
        "//",
        "..",
        "../../etc/passwd",
        "/etc",
    ),
    *(
        "/dev/zero",
        "/dev/video0",
        "/proc/kmsg",
        "/proc/self/mem",
        "~root",
        "~nobody-here/x",
        "usb:",
        "usb:/dev/zero",
    ),
    *(
        "usb:99999999999999999999",
        "usb:../../x",
        "usb:C920",
        "picamera:99999",
        "picamera:7",
        "picamera:x",
        "auto:x",
        "none",
    ),
    *(
        "auto ",
        "http://[::1",
        "0.0.0.0",
        "1.2.3.4",
        "::",
        "256.256.256.256",
        "evil.com",
        "localhost:99999",
        "a" * 63 + ".b",
    ),
    *(
        "xn--a",
        "..",
        "(a+)+$",
        "(?:a|a)*b" + "a" * 60,
        "12345678",
        "1" * 63,
        "1" * 64,
        "22:00",
        "24:00",
        "99:99",
    ),
)
VALUES = {
    FieldKind.PIN: (*NUMBERS, "a"),
    FieldKind.WHOLE: NUMBERS,
    FieldKind.NUMBER: NUMBERS,
    FieldKind.CHOICE: ("", "x", "auto", "Yes", "true", "\0", "x" * 10_000, "[]"),
    FieldKind.YES_NO: ("", "x", "yes", "no", "Yes", "1", "\0"),
    FieldKind.TIME: TEXTS,
    FieldKind.TEXT: TEXTS,
    FieldKind.LIST: TEXTS,
}


def rows() -> list[SettingRow]:
    return [
        *(row for part in sections() for row in part.rows),
        *(row for pad in pad_rows().values() for row in pad),
    ]


def post(place: Kept, **fields: str) -> int:
    sent = {key: text.encode("utf-8", "replace").decode() for key, text in fields.items()}
    return int(place.host.post("/api/settings/change", json={"values": sent}).status_code)


def typed_into(row: SettingRow) -> tuple[str, ...]:
    """All of its table; of the many pins, which are all alike, and of what is only shown, some."""
    values = VALUES[row.kind]
    if row.key in BY_HAND or (
        row.kind is FieldKind.PIN and row.key not in ("panel.buzzer", "panel.south.up")
    ):
        return tuple(
            value
            for value in values
            if value in ("-1", "27", "28", "nan", "\0", "/etc", "evil.com", "1.2.3.4")
        )
    return (*values, *(row.typed(value) for value, _ in row.choices))


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What the page's door takes of all that is typed, by key, as the file says it then."""
    found: dict[str, list[Any]] = {}
    with pytest.MonkeyPatch.context() as patch, kept(tmp_path_factory.mktemp("hostile")) as place:
        patch.setattr(
            "os.fsync", lambda _: None
        )  # no power is cut here, and a thousand of them take a minute
        patch.setattr(
            "web.routes.owner.settings.render_template", lambda *_, **__: ""
        )  # the next test draws such pages
        for row in rows():
            for text in typed_into(row):
                status = post(place, **{row.key: text})
                assert status in (200, 400, 413), (
                    f"{row.key} = {text[:50]!r} is answered by {status}"
                )
                if not place.path.exists():
                    continue
                value = flat(place.upkeep.on_file()[0])[row.key]
                assert status == 200
                if value not in found.setdefault(row.key, []):
                    found[row.key].append(value)
                place.path.unlink()
    return found


def test_what_leads_to_files_and_addresses_is_not_the_pages(taken: dict[str, list[Any]]) -> None:
    """The list is written out here: a setting that is added is not the page's until somebody says so."""
    assert {row.key for row in rows() if row.page is False} == BY_HAND
    assert set(all_keys()) == {row.key for row in rows()} | LAMPS_ACTIVE_LOW
    assert not BY_HAND & set(taken)
    assert {value.partition(":")[0] for value in taken["camera.source"]} == {
        "none",
        "usb",
        "picamera",
    }
    assert not any("/" in value or "." in value for value in taken["camera.source"])
    assert len(taken) > 40, "otherwise this test tries nothing"


def test_a_page_with_nothing_but_hostile_values_is_drawn(tmp_path: Path) -> None:
    with kept(tmp_path) as place:
        for number in range(0, len(TEXTS), 3):
            typed = {row.key: VALUES[row.kind][number % len(VALUES[row.kind])] for row in rows()}
            assert post(place, **typed) in (400, 413)
        assert not place.path.exists()


def batches(taken: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The first value of every key, then the second …; what does not go together goes alone."""
    for number in range(max(map(len, taken.values()))):
        together: dict[str, Any] = {}
        for key, values in taken.items():
            if number < len(values):
                try:
                    changed(Settings(), {**together, key: values[number]})
                    together[key] = values[number]
                except ConfigError:
                    yield {key: values[number]}
        yield together


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_service_comes_up_with_all_that_was_taken(
    taken: dict[str, list[Any]], tmp_path: Path
) -> None:
    tried: list[dict[str, Any]] = []
    for batch in batches(taken):
        if not all(changed_alone(key, value) for key, value in batch.items()) or batch in tried:
            continue  # two that belong together, such as quiet hours
        tried.append(batch)
        folder = tmp_path / str(len(tried))
        here: dict[str, Any] = {
            "state_dir": str(folder),
            "web.host": "127.0.0.1",
            "web.port": 0,
            "voice.by": "off",
        }
        if batch.get("panel.enabled") == "yes":  # without pins that ends a start, on purpose
            here["panel.enabled"] = "auto"
        settings = changed(Settings(), {**batch, **here})
        with Companion(settings, simulate=False, clock=FakeClock(), threads=False) as companion:
            companion.step()
    assert {key for batch in tried for key in batch} == set(taken)


def changed_alone(key: str, value: object) -> bool:
    try:
        return bool(changed(Settings(), {key: value}))
    except ConfigError:
        return False


@pytest.mark.parametrize(
    "settings",
    [
        Settings(camera=CameraSettings(source="/dev/zero")),
        Settings(camera=CameraSettings(source="/proc/kmsg")),
        Settings(camera=CameraSettings(source="~nobody-of-this-name/x")),
        Settings(camera=CameraSettings(source="x" * 5000)),
        Settings(camera=CameraSettings(source="a\0b")),
        Settings(mqtt=MqttSettings(enabled=True, tls=True, ca_file="/dev/zero")),
        Settings(mqtt=MqttSettings(enabled=True, user="a", password_file="/proc/kmsg")),
    ],
    ids=lambda each: f"{each.camera.source[:20]} {each.mqtt.ca_file}".strip(),
)
@pytest.mark.timeout(60)
def test_what_is_written_by_hand_does_not_hang_the_start_either(
    settings: Settings, tmp_path: Path
) -> None:
    web, voice = WebSettings(host="127.0.0.1", port=0), VoiceSettings(by="off")
    parts = {name: getattr(settings, name) for name in settings.__struct_fields__}
    settings = Settings(**{**parts, "state_dir": str(tmp_path), "web": web, "voice": voice})
    with Companion(settings, simulate=False, clock=FakeClock(), threads=False) as companion:
        companion.step()
        assert companion.server.port


# ---- the doors -------------------------------------------------------------------------------------------------------


def test_a_crafted_request_changes_nothing(tmp_path: Path) -> None:
    ours = '[web]\nnames = ["table.lan"]\n'
    with kept(tmp_path, ours) as place:
        for key, text in (
            ("state_dir", "/etc"),
            ("web.host", "1.2.3.4"),
            ("web.names", "evil.com"),
            ("mqtt.ca_file", "/x"),
        ):
            answer = place.host.post(
                "/api/settings/change", json={"values": {key: text, "web.viewers": "30"}}
            )
            assert answer.status_code == 400
            assert (
                "Written into the file by hand, or given on the command line."
                in answer.get_data(as_text=True)
            )
        assert place.path.read_text() == ours
        with pytest.raises(ConfigError, match="by hand"):
            place.upkeep.change({"web.key": "/etc/shadow"}, place.upkeep.on_file()[1])
        assert not page_may_write("something.new", 1)


def test_a_backup_brings_no_paths_and_no_addresses(tmp_path: Path) -> None:
    from companion.maintenance.backup import apply_staged, make_backup, stage_restore  # noqa: PLC0415 - of this test alone

    there, here = fill(tmp_path / "there"), tmp_path / "here"
    evil = tmp_path / "evil.toml"
    evil.write_text(
        'state_dir = "/etc"\n[camera]\nsource = "/dev/zero"\nfps = 5.0\n[web]\nhost = "1.2.3.4"\nnames = ["evil.com"]\n'
        'viewers = 30\n[mqtt]\nca_file = "/dev/zero"\npassword_file = "/etc/shadow"\n'
    )
    with (tmp_path / "b.zip").open("wb") as target:
        make_backup(there, evil, FakeClock(), False, target)
    here.mkdir()
    file = here / "settings.toml"
    file.write_text('[web]\nnames = ["table.lan"]\n')
    mine = Settings(state_dir=str(here))
    stage_restore(tmp_path / "b.zip", mine, file)
    apply_staged(mine, file)
    got = SettingsFile(file).read().settings
    assert (got.state_dir, got.camera.source, got.web.host, got.web.names) == (
        str(here),
        "auto",
        "0.0.0.0",
        ("table.lan",),
    )
    assert (got.mqtt, got.web.viewers, got.camera.fps) == (MqttSettings(), 30, 5.0), (
        "all others are the backup's"
    )


def test_a_reset_leaves_what_is_the_machines(tmp_path: Path) -> None:
    with kept(
        tmp_path,
        '[web]\nnames = ["table.lan"]\nviewers = 20\n[mqtt]\nca_file = "/etc/ssl/house.pem"\n',
    ) as place:
        place.upkeep.reset(False)
        got = place.upkeep.on_file()[0]
        assert (got.web.names, got.mqtt.ca_file, got.web.viewers) == (
            ("table.lan",),
            "/etc/ssl/house.pem",
            64,
        )


# ---- the last settings that worked -----------------------------------------------------------------------------------


GOOD, BAD = b"# ours\n[web]\nviewers = 20\n", b"[web]\nviewers = 30\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "settings.toml"
    path.write_bytes(GOOD)
    LastGoodSettings(path).succeeded(GOOD)
    path.write_bytes(BAD)
    return path


def test_three_failed_starts_bring_back_what_worked(path: Path) -> None:
    for _ in range(3):
        LastGoodSettings(path).starting()
        assert path.read_bytes() == BAD
    LastGoodSettings(path).starting()
    assert path.read_bytes() == GOOD
    refused = path.with_name("settings.refused.toml")
    assert (refused.read_bytes(), refused.stat().st_mode & 0o777) == (BAD, 0o600)
    told = LastGoodSettings(path).told()
    assert told == (
        "The companion did not start three times, so the last settings that worked are back. The others are in "
        "settings.refused.toml."
    )
    LastGoodSettings(path).succeeded(GOOD)
    assert LastGoodSettings(path).told() == told, "until they are changed again"
    SettingsFile(path).change({"web.viewers": 50}, SettingsFile(path).read().seen)
    assert LastGoodSettings(path).told() == ""


def test_a_start_that_succeeds_begins_the_count_anew(path: Path) -> None:
    good = LastGoodSettings(path)
    for _ in range(2):
        good.starting()
    good.succeeded(BAD)
    for _ in range(5):
        good.starting()
        good.excuse()
    assert path.read_bytes() == BAD


def test_without_settings_that_worked_nothing_is_put_back(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    for _ in range(5):
        LastGoodSettings(path).starting()
    path.write_bytes(BAD)
    for _ in range(5):
        LastGoodSettings(path).starting()
    assert path.read_bytes() == BAD


def test_a_folder_that_cannot_be_written_keeps_nobody_from_playing(tmp_path: Path) -> None:
    path = tmp_path / "file" / "settings.toml"
    path.parent.write_text("no folder")
    LastGoodSettings(path).starting()
    LastGoodSettings(path).succeeded(b"")
    assert LastGoodSettings(path).told() == ""


# ---- real services ---------------------------------------------------------------------------------------------------


def saved(service: Running, **fields: str) -> tuple[int, str]:
    client = Client(service.url)
    client.send(
        "/host",
        f"key={service.host_key}".encode(),
        {"Content-Type": "application/x-www-form-urlencoded"},
    )
    body = json.dumps({"values": {key.replace("__", "."): value for key, value in fields.items()}})
    status, answer, _ = client.send(
        "/api/settings/change", body.encode(), {"Content-Type": "application/json"}
    )
    return status, answer.decode()


def test_a_service_that_did_not_start_three_times_comes_up_with_the_settings_of_before(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mine.toml"
    good = f'state_dir = "{tmp_path}"\n[web]\nhost = "127.0.0.1"\nport = 0\n[voice]\nby = "off"\n'
    LastGoodSettings(file).succeeded(good.encode())
    file.write_text(f"{good}[panel]\nenabled = 'yes'\n")
    command = [
        sys.executable,
        "-m",
        "companion",
        "play",
        "--settings",
        str(file),
        "--camera",
        "none",
    ]
    for _ in range(3):
        failed = subprocess.run(command, capture_output=True, check=False, timeout=60)
        assert failed.returncode == 1
    with running(tmp_path, "--settings", str(file), "--simulate") as service:
        assert file.read_text() == good
        assert "did not start three times" in service.log
        assert "enabled = 'yes'" in (tmp_path / "mine.refused.toml").read_text()
        assert "did not start three times" in json.dumps(Client(service.url).get("/api/view"))


def test_settings_with_which_a_restart_fails_leave_those_of_before_in_use(tmp_path: Path) -> None:
    service = Running(tmp_path, "--port", str(free_port()), "--camera", "none")
    try:
        assert saved(service, panel__enabled="yes")[0] == 200
        service.begin_anew()

        def view() -> str:
            try:
                return json.dumps(Client(service.url).get("/api/view"))
            except (OSError, HTTPException):
                return ""

        until(
            "the pages tell it", lambda: "so the previous ones are in use" in view(), timeout_s=60
        )
    finally:
        service.close()
