"""The support bundle: findings, versions, the last lines of the log, and still frames.

A still frame is a picture of the camera in which nothing moved. The bundle has nothing secret: no
order, hand, name, key or address. So a frame shows only the board, because a hand of cards, a phone
or a row of order tiles may lie anywhere else. If the game is played with cards, zones of the board
that could not be read are hidden, too: somebody may hold cards over them.
"""

from __future__ import annotations

import io
import logging
import zipfile
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.i18n import translate
from companion.core.ports import SettledFrame
from companion.diagnostics.findings import Finding
from companion.service.logs import PlainFormatter
from companion.table.session import Phase
from companion.table.table_view import TableView

# Maximum number of log lines in memory. The oldest is dropped.
MAX_LOG_LINES = 300
# Topics of findings whose sentences name addresses. Of such a finding only the grade is included.
_PRIVATE_TOPICS = ("network", "wifi", "https", "port", "broker")

# First parts of the names of this program's loggers. Lines of other loggers are left out, because
# libraries may log what is secret.
_OWN_LOGGERS = ("companion", "web", "hardware", "vision")
# Grey level of everything that is hidden in a frame.
_HIDDEN_GREY = np.uint8(128)

# A grey picture, indexed by row and column.
Luma = NDArray[np.uint8]


class LogBuffer(logging.Handler):
    """Stores the last lines that this program has logged, from `open` to `close`.

    The service opens it first and closes it last.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[str] = deque(maxlen=MAX_LOG_LINES)
        self.setFormatter(PlainFormatter())
        self.addFilter(_is_own)

    def emit(self, record: logging.LogRecord) -> None:
        """Store one record."""
        logged_at = datetime.fromtimestamp(record.created, UTC)
        # A record whose arguments do not match its text is dropped.
        with suppress(TypeError, ValueError):
            self._lines.append(f"{logged_at:%Y-%m-%d %H:%M:%S} {self.format(record)}")

    def open(self) -> LogBuffer:
        """Start to collect what this program logs. Return this buffer."""
        logging.getLogger().addHandler(self)
        return self

    def close(self) -> None:
        """Stop collecting."""
        logging.getLogger().removeHandler(self)
        super().close()

    def text(self) -> str:
        """Return the lines, oldest first."""
        return "\n".join(self._lines)


def _is_own(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] in _OWN_LOGGERS


def make_bundle(
    findings: Iterable[Finding],
    log_text: str = "",
    frames: Iterable[SettledFrame] = (),
    view: TableView | None = None,
    private_texts: Iterable[str] = (),
) -> bytes:
    """Return a support bundle as a ZIP file.

    :param log_text: the last lines of the log
    :param frames: the last still frames
    :param view: what everybody at the table may see. It decides what a frame may show, so without
        it no frame is included
    :param private_texts: texts, such as a folder's path, that are replaced in findings and log.
        Empty ones are ignored
    """
    secrets = [text for text in private_texts if text]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("findings.txt", _redact(_findings_text(findings), secrets))
        bundle.writestr("log.txt", _redact(log_text, secrets))
        if view is not None:
            reading_lines = []
            for frame in frames:
                name = f"frame-{frame.number:06}.png"
                picture = _visible_part(frame, view)
                if picture is None:
                    continue
                # A PNG is stored as it is, since it is compressed already.
                _, encoded = cv2.imencode(".png", picture, [cv2.IMWRITE_PNG_COMPRESSION, 3])
                bundle.writestr(name, bytes(encoded), zipfile.ZIP_STORED)
                reading_lines.append(f"{name}: {_reading_text(frame)}")
            bundle.writestr("frames.txt", "\n".join(reading_lines))
    return file.getvalue()


def _findings_text(findings: Iterable[Finding]) -> str:
    """Return one line for each finding, in English whatever the table's language is."""
    lines = []
    for finding in findings:
        text = translate(finding.text, "en")
        if finding.topic in _PRIVATE_TOPICS:
            text = "(left out: it may name an address)"
        lines.append(f"{finding.grade:<5} {finding.topic:<8} {text}")
    return "\n".join(lines)


def _redact(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "…")
    return text


def _visible_part(frame: SettledFrame, view: TableView) -> Luma | None:
    """Return the picture of a frame, with everything hidden but the board. None if all is hidden.

    If no board was found in the frame, the whole picture is shown, but only in the lobby. Even just
    after a game it may show something secret, because the last turn may still be undone.
    """
    if frame.outline_px:
        # Somebody may hold cards over a zone that could not be read, so hide it.
        has_cards = view.kit is not None and view.kit.deck is not None
        return hide_all_but_board(frame, frame.reading.unknown if has_cards else frozenset())
    return frame.frame.luma if view.phase is Phase.LOBBY else None


def hide_all_but_board(frame: SettledFrame, hidden: frozenset[Square]) -> Luma:
    """Return a frame's picture in which everything outside the board is grey.

    The result is a copy of the brightness, with the shape (height, width) of the frame.

    :param hidden: squares of the board that are grey, too
    """
    luma = frame.frame.luma
    # 1 for each pixel that stays visible. First the board is drawn into it, then squares that are
    # hidden again.
    mask = np.zeros(luma.shape, np.uint8)
    hidden_px = [frame.squares_px[square] for square in hidden & set(frame.squares_px)]
    areas = [(frame.outline_px, 1), *((square_px, 0) for square_px in hidden_px)]
    for outline_px, value in areas:
        corners_px = np.array(outline_px).round().astype(np.int32)
        cv2.fillConvexPoly(mask, corners_px, value)
    return np.where(mask == 1, luma, _HIDDEN_GREY)


def _reading_text(frame: SettledFrame) -> str:
    """Return a line with what was read on the board, without anything that lies beside it."""
    reading = frame.reading
    entries = [f"{square} {face}" for square, face in sorted(reading.seen.items())]
    for zone, cards in sorted(reading.fans.items()):
        entries.append(f"{zone} {' '.join(cards)}")
    entries += [f"{square} unknown" for square in sorted(reading.unknown)]
    return f"{reading.game or 'no board'}; {', '.join(entries)}"
