"""Test how sentences name a command of this program: as it was typed, or by name in a service."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from companion.core.command_line import public_shell_command, shell_command


@pytest.fixture(autouse=True)
def started_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INVOCATION_ID", raising=False)


def test_a_clone_shows_the_command_as_typed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [".venv/bin/companion", "play"])
    typed = ".venv/bin/companion host-key"
    assert shell_command("host-key") == public_shell_command("host-key") == typed
    assert shell_command("host-key", "/a b") == ".venv/bin/companion host-key --state-dir '/a b'"

    # Started by `python -m companion`. The page for strangers does not show the folder.
    monkeypatch.setattr(sys, "argv", ["/somewhere/companion/__main__.py", "play"])
    assert public_shell_command("host-key") == "companion host-key", (
        "a page for strangers must not show a folder"
    )
    version_command = shell_command("--version")
    assert version_command == f"{sys.executable} -m companion --version"
    # The shown command works.
    assert subprocess.run(
        version_command, shell=True, capture_output=True, text=True, check=True
    ).stdout


def test_a_service_runs_the_command_on_the_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INVOCATION_ID", "f" * 32)
    monkeypatch.setattr(sys, "argv", ["/usr/lib/tabletop-companion/bin/companion"])
    assert shell_command("host-key", "/var/lib/tabletop-companion") == "companion host-key"
