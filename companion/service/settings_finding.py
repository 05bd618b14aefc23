"""The doctor's look at the settings: were those of a page put back, and what is no longer used?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from companion.core.config import retired_settings
from companion.diagnostics.findings import Finding, Grade
from companion.maintenance.settings.last_good import LastGoodSettings


def settings_findings(path: Path) -> Iterator[Finding]:
    """Yield what is to be said about the settings file."""
    if notice := LastGoodSettings(path).told():
        yield Finding("settings", Grade.WARN, notice)
    for sentence in retired_settings(path):
        yield Finding("settings", Grade.NOTE, sentence)
