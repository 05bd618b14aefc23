"""The doctor's look at the settings: were those of a page put back?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from companion.diagnostics.findings import Finding, Grade
from companion.maintenance.settings.trial import SettingsTrial


def settings_put_back(path: Path) -> Iterator[Finding]:
    """That the newest settings did not work, until a page writes others."""
    if told := SettingsTrial(path).told():
        yield Finding("settings", Grade.WARN, told)
