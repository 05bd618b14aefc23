"""The journal with or without a stopwatch: measurements are imported only where somebody wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from companion.core.config import Settings
from companion.storage.journal import Journal

if TYPE_CHECKING:
    from companion.service.metrics import Metrics


def open_journal(settings: Settings) -> tuple[Journal, Metrics | None]:
    """The journal, and what is measured of the service; None: nothing is. Raises `JournalError`."""
    path = settings.journal_path
    if not settings.web.metrics:
        return Journal(path), None
    from companion.service.metrics import Metrics  # noqa: PLC0415 - few want it, and it takes time

    metrics = Metrics()
    return Journal(path, on_written_s=metrics.wrote), metrics
