"""No single setting that the settings page takes keeps the service down, whatever is typed into its field."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
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
from companion.maintenance.settings.rows import (
    LAMPS_ACTIVE_LOW,
    FieldKind,
    SettingRow,
    all_keys,
    pad_rows,
    page_may_write,
    sections,
)
from companion.maintenance.settings.sandbox import try_in_child
from companion.maintenance.settings.trial import SettingsTrial
from companion.service.app import Companion
from companion.service.settings_child import try_here

BY_HAND = {
    *(
        "state_dir",
        "web.host",
        "web.names",
        "web.proxies",
        "web.certificate",
        "web.key",
        "mqtt.password_file",
        "mqtt.ca_file",
    ),
    "bots.engines",
}

NUMBERS = (
    *("-1", "0", "1", "2", "27", "28", "200", "65535", "65536", "1e300", "-1e300", "1e-300", "5e-324", "0.001", "0,5"),
    *("nan", "inf", "-inf", "9" * 190, "1_000", "0x10", "٣", "1e", "--1", "yes", "", " ", "\0", "1;2"),
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
    *("{0}", "{{x}}", "<script>", "a#b", "#", "+", "a/+/b", "$SYS", "a//b", "//", "..", "../../etc/passwd", "/etc"),
    *("/dev/zero", "/dev/video0", "/proc/kmsg", "/proc/self/mem", "~root", "~nobody-here/x", "usb:", "usb:/dev/zero"),
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
    *("xn--a", "..", "(a+)+$", "(?:a|a)*b" + "a" * 60, "12345678", "1" * 63, "1" * 64, "22:00", "24:00", "99:99"),
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
    return [*(row for part in sections() for row in part.rows), *(row for pad in pad_rows().values() for row in pad)]


def post(place: Kept, **fields: str) -> int:
    sent = {key: text.encode("utf-8", "replace").decode() for key, text in fields.items()}
    return int(place.host.post("/settings", data={"seen": place.upkeep.on_file()[1], **sent}).status_code)


def typed_into(row: SettingRow) -> tuple[str, ...]:
    """All of its table; of the many pins, which are all alike, and of what is only shown, some."""
    values = VALUES[row.kind]
    if row.key in BY_HAND or (row.kind is FieldKind.PIN and row.key not in ("panel.buzzer", "panel.south.up")):
        return tuple(
            value for value in values if value in ("-1", "27", "28", "nan", "\0", "/etc", "evil.com", "1.2.3.4")
        )
    return (*values, *(row.typed(value) for value, _ in row.choices))


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What the page's door takes of all that is typed, by key, as the file says it then."""
    found: dict[str, list[Any]] = {}
    with pytest.MonkeyPatch.context() as patch, kept(tmp_path_factory.mktemp("hostile")) as place:
        patch.setattr("os.fsync", lambda _: None)  # no power is cut here, and a thousand of them take a minute
        patch.setattr("web.routes.settings.render_template", lambda *_, **__: "")  # the next test draws such pages
        for row in rows():
            for text in typed_into(row):
                status = post(place, **{row.key: text})
                assert status in (303, 400, 413), f"{row.key} = {text[:50]!r} is answered by {status}"
                if not place.path.exists():
                    continue
                value = flat(place.upkeep.on_file()[0])[row.key]
                assert status == 303
                if value not in found.setdefault(row.key, []):
                    found[row.key].append(value)
                place.path.unlink()
    return found


def test_what_leads_to_files_and_addresses_is_not_the_pages(taken: dict[str, list[Any]]) -> None:
    """The list is written out here: a setting that is added is not the page's until somebody says so."""
    assert {row.key for row in rows() if row.page is False} == BY_HAND
    assert set(all_keys()) == {row.key for row in rows()} | LAMPS_ACTIVE_LOW
    assert not BY_HAND & set(taken)
    assert {value.partition(":")[0] for value in taken["camera.source"]} == {"none", "usb", "picamera"}
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
def test_the_service_comes_up_with_all_that_was_taken(taken: dict[str, list[Any]], tmp_path: Path) -> None:
    tried: list[dict[str, Any]] = []
    for batch in batches(taken):
        if not all(changed_alone(key, value) for key, value in batch.items()) or batch in tried:
            continue  # two that belong together, such as quiet hours
        tried.append(batch)
        settings = changed(Settings(), {**batch, "web.host": "127.0.0.1"})
        own = settings.web.port  # ports are for the child and for the real services below
        try_here(settings, own)
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
def test_what_is_written_by_hand_does_not_hang_the_start_either(settings: Settings, tmp_path: Path) -> None:
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
                "/settings", data={"seen": place.upkeep.on_file()[1], key: text, "web.viewers": "30"}
            )
            assert answer.status_code == 400
            assert "Written into the file by hand, or given on the command line." in answer.get_data(as_text=True)
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
    assert (got.mqtt, got.web.viewers, got.camera.fps) == (MqttSettings(), 30, 5.0), "all others are the backup's"
    assert SettingsTrial(file).starting() == ""
    assert SettingsTrial(file).is_on, "and they are on trial"


def test_a_reset_leaves_what_is_the_machines(tmp_path: Path) -> None:
    with kept(
        tmp_path, '[web]\nnames = ["table.lan"]\nviewers = 20\n[mqtt]\nca_file = "/etc/ssl/house.pem"\n'
    ) as place:
        place.upkeep.reset(False)
        got = place.upkeep.on_file()[0]
        assert (got.web.names, got.mqtt.ca_file, got.web.viewers) == (("table.lan",), "/etc/ssl/house.pem", 64)


def test_what_the_child_complains_of_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    asked: list[Settings] = []

    def try_out(wanted: Settings) -> str:
        asked.append(wanted)
        return "no good."

    with kept(tmp_path, try_out=try_out) as place:
        assert post(place, **{"table.theme": "dark"}) == 303, "what works at once is seen at once"
        text = place.path.read_text()
        answer = place.host.post("/settings", data={"seen": place.upkeep.on_file()[1], "web.viewers": "30"})
        assert answer.status_code == 400
        assert "The new settings were tried and do not work: no good." in answer.get_data(as_text=True)
        assert 'value="30"' in answer.get_data(as_text=True)
        assert place.path.read_text() == text
        assert [each.web.viewers for each in asked] == [30]


# ---- the child -------------------------------------------------------------------------------------------------------


def test_the_child_finds_a_port_in_use_and_a_picture_that_is_none(tmp_path: Path) -> None:
    home = {"state_dir": str(tmp_path), "web": WebSettings(host="127.0.0.1", port=0)}
    assert try_in_child(Settings(**home), 1) == ""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert f"Port {port} is in use" in try_in_child(Settings(state_dir="x", web=WebSettings("127.0.0.1", port)), 1)
        assert try_in_child(Settings(state_dir="x", web=WebSettings("127.0.0.1", port)), port) == "", (
            "it is the own one"
        )
    assert "Not an ordinary file" in try_in_child(Settings(**home, camera=CameraSettings(source="/dev/zero")), 1)
    assert list(tmp_path.iterdir()) == [], "it leaves nothing in the state"


def test_a_child_that_takes_too_long_or_too_much_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(web=WebSettings("127.0.0.1", 0))
    begun_s = time.monotonic()
    assert "does not start with them within 0 s" in try_in_child(settings, 1, time_s=0.05)
    monkeypatch.setattr("companion.maintenance.settings.sandbox.MEMORY_BYTES", 2_000_000)
    assert try_in_child(settings, 1) == "they take too much memory."
    assert time.monotonic() - begun_s < 20


# ---- the trial -------------------------------------------------------------------------------------------------------


def test_settings_stay_once_the_service_was_well(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("[web]\nviewers = 20\n")
    trial = SettingsTrial(path)
    trial.file().change({"web.viewers": 30}, trial.file().read().seen)
    assert trial.starting() == ""
    assert trial.is_on
    trial.proven()
    assert [each.name for each in tmp_path.iterdir()] == ["settings.toml"]
    assert SettingsTrial(path).starting() == ""
    assert SettingsFile(path).read().settings.web.viewers == 30


def test_a_start_that_was_cut_off_puts_them_back(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("# ours\n[web]\nviewers = 20\n")
    for viewers in (30, 40):  # two changes before one start: the file of before both is the good one
        trial = SettingsTrial(path)
        trial.file().change({"web.viewers": viewers}, trial.file().read().seen)
    assert SettingsTrial(path).starting() == "", "the first start, which nobody hears of again"
    told = SettingsTrial(path).starting()
    assert (
        "The new settings cannot be used, so the previous ones are in use: the companion did not start with them."
        in told
    )
    assert path.read_text() == "# ours\n[web]\nviewers = 20\n"
    assert "viewers = 40" in (tmp_path / "settings.refused.toml").read_text()
    assert (tmp_path / "settings.refused.toml").stat().st_mode & 0o777 == 0o600
    assert SettingsTrial(path).starting() == "", "the old ones are not on trial"
    assert SettingsTrial(path).told() == told, "the page and the doctor go on telling it"
    SettingsTrial(path).file().change({"web.viewers": 50}, SettingsFile(path).read().seen)
    assert SettingsTrial(path).told() == ""


def test_where_there_was_no_file_there_is_none_again(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    SettingsTrial(path).file().change({"web.viewers": 30}, "")
    SettingsTrial(path).starting()
    assert SettingsTrial(path).starting() != ""
    assert not path.exists()


def test_what_was_changed_by_hand_or_while_it_runs_is_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    trial = SettingsTrial(path)
    trial.file().change({"web.viewers": 30}, "")
    trial.starting()
    trial.file().change({"web.viewers": 31}, trial.file().read().seen)
    trial.proven()
    assert trial.starting() == "", "those have not begun to start"
    assert trial.is_on
    path.write_text("[web]\nviewers = 99\n")
    assert trial.starting() == ""
    assert not trial.is_on
    assert "99" in path.read_text()


@pytest.mark.parametrize("note", ["", "{", "[]", '{"before": 3, "mark": "x"}', "\ud800"])
def test_a_note_that_cannot_be_read_is_none(tmp_path: Path, note: str) -> None:
    (tmp_path / ".settings.on-trial.json").write_bytes(note.encode(errors="surrogatepass"))
    assert SettingsTrial(tmp_path / "settings.toml").starting() == ""


# ---- real services ---------------------------------------------------------------------------------------------------


def saved(service: Running, **fields: str) -> tuple[int, str]:
    client = Client(service.url)
    client.send("/host", f"key={service.host_key}".encode(), {"Content-Type": "application/x-www-form-urlencoded"})
    _, page, _ = client.send("/settings")
    seen = page.decode().partition('name="seen" value="')[2].partition('"')[0]
    body = "&".join([f"seen={seen}", *(f"{key.replace('__', '.')}={value}" for key, value in fields.items())])
    status, answer, _ = client.send("/settings", body.encode(), {"Content-Type": "application/x-www-form-urlencoded"})
    return status, answer.decode()


def test_settings_with_which_no_start_succeeds_are_put_back(tmp_path: Path) -> None:
    """Pins that must be there and are not: the child has none either way, so the start itself finds out."""
    service = Running(tmp_path, "--port", str(free_port()), "--camera", "none")
    try:
        file = tmp_path / "settings.toml"
        good = file.read_text()
        with socket.create_server(("127.0.0.1", 0)) as other:
            status, page = saved(service, web__port=str(other.getsockname()[1]))
            assert (status, "is in use" in page) == (400, True)
        assert file.read_text() == good
        assert saved(service, panel__enabled="yes", camera__fps="0.001")[0] == 200
        assert 'enabled = "yes"' in file.read_text()
        service.begin_anew()
        until("the settings of before", lambda: file.read_text() == good, timeout_s=60)

        def found() -> str:
            try:
                client, headers = Client(service.url), {"X-Host-Key": service.host_key}
                return json.dumps(json.loads(client.send("/api/doctor", None, headers)[1]))
            except (OSError, ValueError):
                return ""

        until(
            "the doctor tells it",
            lambda: "The new settings cannot be used, so the previous ones are in use" in found(),
            timeout_s=60,
        )
    finally:
        service.close()


def test_a_service_that_is_killed_at_its_start_comes_up_with_the_settings_of_before(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    good = f'state_dir = "{tmp_path}"\n[web]\nhost = "127.0.0.1"\nport = 0\n[voice]\nby = "off"\n'
    file.write_text(good)
    SettingsTrial(file).file().change({"web.viewers": 77}, SettingsFile(file).read().seen)
    command = [sys.executable, "-m", "companion", "play", "--settings", str(file), "--simulate"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        until("the first start", lambda: SettingsTrial(file).is_on, timeout_s=60)
        first.kill()
    assert "77" in file.read_text()
    with running(tmp_path, "--settings", str(file), "--simulate") as service:
        assert file.read_text() == good
        assert "The new settings cannot be used" in service.log
        assert "77" in (tmp_path / "mine.refused.toml").read_text()
        view = json.dumps(Client(service.url).get("/api/view"))
        assert "The new settings cannot be used" in view or "mine.refused.toml" in "".join(service.said)
