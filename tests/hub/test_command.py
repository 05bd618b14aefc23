"""Test the commands `companion hub`, `hub join` and `hub leave`, and the owner's pages for them.

The hub and the tables are real. One test runs the hub as a process.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hub_tools import AdmittingHub, hub_settings, running_hub
from internals import app_of
from ports import free_port
from simulated_room import local_settings
from waiting import until

from companion.cli import main
from companion.core.config import TableSettings, WebSettings
from companion.core.errors import CompanionError
from companion.core.network import format_host_key
from companion.hub.membership import read_membership
from companion.hub_server.folder import HubFolder
from companion.service.app import Companion

pytestmark = pytest.mark.slow


@contextmanager
def hub_process(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """Run `companion hub` as a process, with a delay of a minute for spectators.

    Yield the process, the hub's address and its join code.
    """
    arguments = ["hub", "--name", "Club", "--host", "127.0.0.1", "--port", "0"]
    arguments += ["--nats-port", str(free_port()), "--folder", str(folder), "--delay", "60"]
    process = subprocess.Popen(
        [sys.executable, "-m", "companion", *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        output = ""
        # the last line that it prints when it is ready says how to stop it
        while "Ctrl-C" not in output:
            line = process.stdout.readline()
            assert line, output
            output += line
        match = re.search(r"hub join (\S+) (\w+)", output)
        assert match, output
        assert format_host_key(HubFolder(folder).file.owner_key) not in output, (
            "the owner key was printed, and logs would keep it"
        )
        yield process, match[1], match[2]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


def test_one_command_runs_a_hub_that_tables_join(tmp_path: Path) -> None:
    """The process runs NATS as its child, and NATS must not outlive it, however it ends."""
    with hub_process(tmp_path / "hub") as (process, address, code):
        children = subprocess.run(
            ["pgrep", "-P", str(process.pid)], capture_output=True, check=True
        )
        nats_pid = int(children.stdout)
        key = format_host_key(HubFolder(tmp_path / "hub").file.owner_key)

        # A table joins by the printed code. Only the service may read the file with its private
        # key.
        with Companion(local_settings(tmp_path / "table"), simulate=True) as companion:
            companion.hub.join(address, code, sends_names=False)
            assert oct((tmp_path / "table/hub.json").stat().st_mode)[-3:] == "600"
            with pytest.raises(CompanionError, match="not the code"):  # a code serves one table
                companion.hub.join(address, code, sends_names=False)

            # the hub's owner admits the table
            admission = urllib.request.Request(
                f"http://{address}/api/hub/let-in",
                b'{"number": 1}',
                {"Content-Type": "application/json", "X-Host-Key": key},
            )
            assert urllib.request.urlopen(admission).status == 200
            until("the table is admitted", lambda: "Table 1 of Club." in companion.hub.sentence)

        # the wall shows the options of the command line
        wall = urllib.request.urlopen(f"http://{address}/").read()
        assert b"Club" in wall
        assert b"1 minute late." in wall

        os.kill(process.pid, signal.SIGKILL)
        process.wait(60)
        until("NATS died with its hub", lambda: not Path(f"/proc/{nats_pid}").exists())


def test_commands_join_and_leave_a_hub(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands find the running service by the settings, and let it join and leave."""
    settings = local_settings(tmp_path / "table", table=TableSettings(reading_time_s=0.1))
    with running_hub(tmp_path / "hub") as hub, Companion(settings, simulate=True) as companion:
        (tmp_path / "settings.toml").write_text(
            f'state_dir = "{tmp_path}/table"\n'
            f'[web]\nhost = "127.0.0.1"\nport = {companion.server.port}\n'
        )
        table_options = ["--settings", str(tmp_path / "settings.toml")]
        join = ["hub", "join", *table_options, hub.urls()[0], hub.table_join_code.code, "--names"]
        assert main(join) == 0
        assert companion.hub.sentence
        until("the table is connected", lambda: "of Our club" in companion.hub.sentence)
        member = read_membership(tmp_path / "table/hub.json")
        assert member is not None
        assert member.sends_names

        assert main(["hub", "leave", *table_options]) == 0
        assert companion.hub.sentence == ""
        assert not (tmp_path / "table/hub.json").exists()
    capsys.readouterr()


def test_the_owners_page_joins_and_leaves_a_hub(tmp_path: Path) -> None:
    settings = local_settings(tmp_path / "table")
    with running_hub(tmp_path / "hub") as hub, Companion(settings, simulate=True) as companion:
        key = {"X-Host-Key": companion.host_key}
        app = app_of(companion.server)
        browser = app.test_client()
        assert browser.get("/host/hub").status_code == 403

        # joining needs the owner key
        form = {"address": hub.urls()[0], "code": hub.table_join_code.code}
        assert browser.post("/api/host/hub/join", json=form).status_code == 403
        assert browser.post("/api/host/hub/join", json=form, headers=key).status_code == 200
        until(
            "the page names the hub",
            lambda: "Table 1 of Our club." in browser.get("/host", headers=key).text,
        )

        # leaving needs it, too
        assert browser.post("/api/host/hub/leave", json={}).status_code == 403
        assert browser.post("/api/host/hub/leave", json={}, headers=key).status_code == 200
        assert "Our club" not in browser.get("/host", headers=key).text
        assert "Join a hub of many tables" in browser.get("/host/hub/game", headers=key).text


def test_a_table_plays_despite_an_unreadable_membership(tmp_path: Path) -> None:
    """A table without a hub is still a table, so the service starts and only says what is wrong."""
    (tmp_path / "hub.json").write_text("nonsense")
    settings = local_settings(tmp_path)
    with Companion(settings, simulate=True) as companion:
        assert "Join the hub again" in companion.hub.sentence
        companion.table.new_game("outbuffered", {}, 1)


def test_a_table_joins_a_hub_over_tls(tmp_path: Path) -> None:
    """With a certificate for its pages, the hub uses TLS for NATS as well."""
    # a certificate that signs itself, so the table has to be told to trust it
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    output = "-subj /CN=hub -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem"
    subprocess.run(f"{command} {output}".split(), cwd=tmp_path, check=True, capture_output=True)
    web = WebSettings(
        host="127.0.0.1",
        port=0,
        names=("127.0.0.1",),
        certificate=str(tmp_path / "cert.pem"),
        key=str(tmp_path / "key.pem"),
    )
    with AdmittingHub(hub_settings(tmp_path / "hub", web=web)) as hub:
        address = f"https://127.0.0.1:{hub.server.port}"
        settings = local_settings(tmp_path / "table")
        with Companion(settings, simulate=True) as companion:
            companion.hub.join(
                address,
                hub.table_join_code.code,
                sends_names=False,
                ca=str(tmp_path / "cert.pem"),
            )
            until("the table is connected", lambda: "Table 1" in companion.hub.sentence)
            member = read_membership(tmp_path / "table/hub.json")
            assert member is not None
            assert all(server.startswith("tls://") for server in member.servers)


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ("--certificate x", "both certificate and key"),
        ("host-key", "No hub has run in"),
    ],
)
def test_wrong_arguments_are_refused_and_create_no_hub(
    arguments: str, refusal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hub", *arguments.split(), "--folder", str(tmp_path / "hub")]) == 1
    assert refusal in capsys.readouterr().err
    assert not (tmp_path / "hub" / "hub.json").exists()


def test_the_host_key_command_prints_the_owner_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = format_host_key(HubFolder(tmp_path).file.owner_key)
    assert main(["hub", "host-key", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out.strip() == key
