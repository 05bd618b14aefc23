"""How a command is typed where this program was started: by its name, as it was typed, or by the
interpreter.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from companion.core.command_line import public_shell_command, shell_command


@pytest.fixture(autouse=True)
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INVOCATION_ID", raising=False)


def test_a_clone_names_what_was_typed_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [".venv/bin/companion", "play"])
    assert (
        shell_command("host-key")
        == public_shell_command("host-key")
        == ".venv/bin/companion host-key"
    )
    assert shell_command("host-key", "/a b") == ".venv/bin/companion host-key --state-dir '/a b'"
    monkeypatch.setattr(sys, "argv", ["/somewhere/companion/__main__.py", "play"])
    assert public_shell_command("host-key") == "companion host-key", "no folder of this machine"
    shown = shell_command("--version")
    assert shown == f"{sys.executable} -m companion --version"
    assert subprocess.run(shown, shell=True, capture_output=True, text=True, check=True).stdout


def test_a_service_runs_the_command_on_the_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INVOCATION_ID", "f" * 32)
    monkeypatch.setattr(sys, "argv", ["/usr/lib/tabletop-companion/bin/companion"])
    assert shell_command("host-key", "/var/lib/tabletop-companion") == "companion host-key"
