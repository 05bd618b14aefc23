"""The settings file of a new installation.

It says where games are kept, and where every other setting is explained. The installation writes
it: `python3 -m companion.maintenance.settings.template STATE_DIR`.
"""

from __future__ import annotations

import sys

import tomlkit

# Beginning of the file, in front of `state_dir`.
INTRODUCTION = """\
# Settings of Tabletop Companion. The settings page writes this file, too; what is written here by hand stays.
# docs/settings.md tells every setting with its default. After a change: sudo systemctl restart companion

# Where games, photographs and lens data are kept.
"""  # noqa: E501


def settings_text(state_dir: str) -> str:
    """Return the settings as TOML. Only the state directory is set."""
    return f"{INTRODUCTION}state_dir = {tomlkit.item(state_dir).as_string()}\n"


if __name__ == "__main__":
    sys.stdout.write(settings_text(sys.argv[1]))
