"""A bug bundle: what the camera saw and what was read from it, to be read again by somebody else.

A zip of settled frames (lossless PNG) and one `bundle.json`. While a game is on, a frame shows the board and nothing
beside it, and of a board of cards only the zones that were read: a hand of cards or a phone may lie anywhere else. The
excerpt of the journal holds what everybody at the table knows: no sealed action, no salt, no seed, no token, no name.
"""

from __future__ import annotations

import io
import platform
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import cv2
import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from companion import __version__
from companion.core.clock import Clock
from companion.core.config import Settings
from companion.core.errors import CompanionError, JournalError, Malformed
from companion.core.files import open_file
from companion.core.grid import Square
from companion.core.i18n import plain_words, speaking
from companion.core.kit import SEATS, Kit
from companion.core.ports import CameraStatus, Eye, Frame, Reading, SettledFrame
from companion.games import GAMES
from companion.storage.journal import Journal
from companion.table.records import AnyRecord, HandIn, NewGame
from companion.table.session import Phase, Session
from companion.table.table import Table
from vision.pieces.board_reader import board_reader
from vision.pose.optics import Lens

FORMAT = 1
NOTE = "bundle.json"
_MOST_FILES, _MOST_NOTE, _MOST_FRAME, _MOST_SIDE = 64, 4_000_000, 24_000_000, 4096
_MOST_PIXELS = 120_000_000
"""Of all pictures together; twenty at 1080p have a third of it."""
_LOOKS = 5
"""So often each frame is shown to the reader: it wants to see the same thing several times."""

Luma = NDArray[np.uint8]


class FrameNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was read in one frame. `covered` squares are hidden in the picture; `is_whole`: it shows the table, too."""

    file: str
    number: int
    at_s: float
    is_whole: bool
    game: str | None
    seen: dict[str, str]
    unknown: tuple[str, ...]
    beside: tuple[str, ...]
    strangers: tuple[int, ...]
    fans: dict[str, tuple[str, ...]]
    lens: Annotated[tuple[Annotated[float, Meta(ge=-1, le=10)], ...], Meta(min_length=2, max_length=4)]
    """Focal ratio and k1, and for lenses that need them k2 and 1 for a fisheye."""
    covered: tuple[str, ...] = ()


class BundleNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything of a bundle but its pictures."""

    format: int
    made_at: float
    versions: dict[str, str]
    camera: dict[str, str]
    settings: dict[str, Any]
    game: str | None
    options: dict[str, Any]
    frames: tuple[FrameNote, ...]
    table: dict[str, Any]
    journal: tuple[dict[str, Any], ...]


# ---- making one ------------------------------------------------------------------------------------------------------


def make_bundle(eye: Eye, table: Table, journal: Journal, settings: Settings, clock: Clock) -> bytes:
    """The zip of what the camera has seen until now."""
    view = table.view()
    is_whole = view.phase in (Phase.LOBBY, Phase.OVER)
    kit, entries = view.kit, entries_of(journal, table.progress().number)
    frames = [each for each in eye.settled() if is_whole or each.outline_px]
    notes, pictures = [], []
    for frame in frames:
        covered = frozenset[Square]() if is_whole or not (kit and kit.deck) else frame.reading.unknown
        name = f"frame-{frame.number:06}.png"
        notes.append(_frame_note(name, frame, is_whole, covered))
        pictures.append((name, _png(frame.frame.luma if is_whole else board_alone(frame, covered))))
    note = BundleNote(
        format=FORMAT,
        made_at=clock.wall_s(),
        versions=_versions(),
        camera=_camera_words(view.devices.camera, eye.source()),
        settings=_plain_settings(settings),
        game=view.game,
        options=next((dict(entry["options"]) for entry in entries if entry["is"] == "new_game"), {}),
        frames=tuple(notes),
        table=_public(table),
        journal=tuple(entries),
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as bundle:
        with speaking("en"):  # a bundle is the same whoever asks for it
            content = msgspec.json.encode(note, enc_hook=plain_words)
        bundle.writestr(NOTE, msgspec.json.format(content), zipfile.ZIP_DEFLATED)
        for name, picture in pictures:
            bundle.writestr(name, picture, zipfile.ZIP_STORED)
    return file.getvalue()


def board_alone(frame: SettledFrame, covered: frozenset[Square]) -> Luma:
    """A copy of a frame with everything beside the board, and these squares, in one grey."""
    luma = frame.frame.luma
    mask = np.zeros(luma.shape, np.uint8)
    cv2.fillConvexPoly(mask, np.array(frame.outline_px).round().astype(np.int32), 255)
    for square in covered & set(frame.squares_px):
        cv2.fillConvexPoly(mask, np.array(frame.squares_px[square]).round().astype(np.int32), 0)
    return np.asarray(np.where(mask == 255, luma, np.uint8(128)), dtype=np.uint8)


def _frame_note(name: str, frame: SettledFrame, is_whole: bool, covered: frozenset[Square]) -> FrameNote:
    reading = frame.reading
    return FrameNote(
        file=name,
        number=frame.number,
        at_s=round(frame.frame.at_s, 3),
        is_whole=is_whole,
        game=reading.game,
        seen={str(square): face for square, face in sorted(reading.seen.items())},
        unknown=tuple(str(square) for square in sorted(reading.unknown)),
        beside=reading.beside if is_whole else (),
        strangers=reading.strangers if is_whole else (),
        fans={str(zone): tuple(cards) for zone, cards in sorted(reading.fans.items())},
        lens=frame.lens,
        covered=tuple(str(square) for square in sorted(covered)),
    )


def _png(luma: Luma) -> bytes:
    return bytes(cv2.imencode(".png", luma, [cv2.IMWRITE_PNG_COMPRESSION, 3])[1])


def _versions() -> dict[str, str]:
    return {
        "companion": __version__,
        "python": platform.python_version(),
        "opencv": cv2.__version__,
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }


def _camera_words(status: CameraStatus, source: str) -> dict[str, str]:
    """State and sentence; a file's path is nobody's business."""
    shown = _plain_source(source)
    return {"source": shown, "state": status.state, "sentence": status.sentence.replace(source, shown)}


def _plain_source(source: str) -> str:
    known = source in ("auto", "none", "picamera") or source.startswith(("usb:", "picamera:"))
    return source if known else "a file"


def _plain_settings(settings: Settings) -> dict[str, Any]:
    """The settings that may matter for reading a board: no path and no address."""
    camera = dict(msgspec.to_builtins(settings.camera))
    camera["source"] = _plain_source(settings.camera.source)
    return {"camera": camera, "table": msgspec.to_builtins(settings.table)}


def _public(table: Table) -> dict[str, Any]:
    """What everybody sees of the table, without names."""
    view = table.view()
    return {
        "phase": view.phase,
        "moment": view.moment,
        "turn": view.turn.number,
        "stage": view.turn.stage,
        "sign": [view.sign.text, view.sign.small],
        "problems": [problem.text for problem in view.board.problems],
        "instructions": [item.text for item in view.turn.instructions],
        "unknown": [str(square) for square in sorted(view.board.unknown)],
        "layout": {str(square): list(faces) for square, faces in sorted(view.board.layout.items())},
        "log": list(view.match.log),
        "outcome": view.match.outcome.reason if view.match.outcome else None,
    }


def entries_of(journal: Journal, number: int) -> list[dict[str, Any]]:
    """The game's records as everybody knows them."""
    if not number:
        return []
    try:
        session = journal.fold(number)
        return [_public_entry(entry.record, session, entry.at) for entry in journal.entries(number)]
    except (CompanionError, JournalError):
        return []


def _public_entry(record: AnyRecord, session: Session, at: float) -> dict[str, Any]:
    """One record; an action is told once all sealed ones of its turn are open, as on the pages."""
    told: dict[str, Any] = {"is": type(record).__struct_config__.tag, "at": at}
    if isinstance(record, NewGame):
        return told | {"game": record.game, "options": dict(record.options)}
    for name in ("by", "moment", "stage", "seat"):
        if hasattr(record, name):
            told[name] = getattr(record, name)
    if isinstance(record, HandIn):
        turn = next((turn for turn in session.opened if turn.moment == record.moment), None)
        if turn is not None and len(turn.sealed) == len(SEATS):
            told["action"] = record.action
    return told


# ---- reading one again -----------------------------------------------------------------------------------------------


def read_bundle(path: Path) -> tuple[BundleNote, dict[str, Luma]]:
    """A bundle's note and its pictures by file; raises `Malformed` for anything that is none, or is too large."""
    try:
        with open_file(path) as file, zipfile.ZipFile(file) as bundle:
            sizes = {info.filename: info for info in bundle.infolist()}
            foreign = Malformed(f"{path} is not a bug bundle: save one on the camera page")
            if len(bundle.infolist()) > _MOST_FILES or NOTE not in sizes:
                raise foreign
            note = msgspec.json.decode(_part(bundle, sizes[NOTE], _MOST_NOTE, path), type=BundleNote)
            if len(note.frames) != len({frame.file for frame in note.frames}):
                raise foreign
            if note.format != FORMAT:
                raise Malformed(f"{path} has format {note.format}, this program reads {FORMAT}: update the program")
            missing = [frame.file for frame in note.frames if frame.file not in sizes]
            if missing:
                raise Malformed(f"{path} is damaged: {missing[0]} is missing in it")
            pictures: dict[str, Luma] = {}
            for frame in note.frames:
                pictures[frame.file] = _picture(_part(bundle, sizes[frame.file], _MOST_FRAME, path), path)
                if sum(picture.size for picture in pictures.values()) > _MOST_PIXELS:
                    raise Malformed(f"{path}: its pictures are too large together: this is no bug bundle")
            return note, pictures
    except OSError as error:
        raise Malformed(f"{path} cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        if isinstance(error, CompanionError):
            raise
        raise Malformed(f"{path} is damaged, or not a bug bundle: {error}") from None
    except zlib.error as error:
        raise Malformed(f"{path} is damaged: {error}") from None


def _part(bundle: zipfile.ZipFile, info: zipfile.ZipInfo, most: int, path: Path) -> bytes:
    """A file of the zip, never more than `most` bytes of it, whatever it says about itself."""
    with bundle.open(info) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise Malformed(f"{path}: {info.filename} is larger than {most // 1_000_000} MB: this is no bug bundle")
    return content


def _picture(content: bytes, path: Path) -> Luma:
    """A PNG as (height, width); its head is looked at first, so that a small file cannot become a huge picture."""
    is_png = content[:8] == b"\x89PNG\r\n\x1a\n" and content[12:16] == b"IHDR" and len(content) > 24
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20)) if is_png else (0, 0)
    if not 0 < width <= _MOST_SIDE or not 0 < height <= _MOST_SIDE:
        raise Malformed(f"{path} is damaged: a picture in it is none, or is larger than {_MOST_SIDE} pixels")
    picture = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_GRAYSCALE)
    if picture is None:
        raise Malformed(f"{path} is damaged: a picture in it cannot be read")
    return np.asarray(picture, dtype=np.uint8)


class Reread(msgspec.Struct, frozen=True):
    """One frame of a bundle read again. `differs`: a sentence for every difference."""

    number: int
    pieces: int
    differs: tuple[str, ...]

    def sentence(self) -> str:
        """The frame in one line."""
        found = f"{self.pieces} pieces" if self.pieces != 1 else "one piece"
        return f"Frame {self.number}: {'; '.join(self.differs) if self.differs else f'as then, {found}'}."


def read_again(note: BundleNote, pictures: Mapping[str, Luma]) -> Iterator[Reread]:
    """Every frame of a bundle, read by this program, beside what was read then."""
    kits = {name: game.kit(game.options({})) for name, game in GAMES.items()}
    reader = board_reader(kits)
    if note.frames:
        focal_ratio, k1, k2, is_fisheye = (*note.frames[-1].lens, 0.0, 0.0)[:4]
        reader.use_lens(Lens(max(focal_ratio, 0.1), k1, k2, bool(is_fisheye)))
    reader.use(_kit_of(note))
    for frame in note.frames:
        reading = Reading({})
        for look in range(_LOOKS):
            reading = reader.read(Frame(pictures[frame.file], frame.at_s + look / 10, frame.number + look))
        yield Reread(frame.number, _count(reading), tuple(_differences(frame, reading)))


def _kit_of(note: BundleNote) -> Kit | None:
    if note.game is None or note.game not in GAMES:
        return None
    game = GAMES[note.game]
    return game.kit(game.options(note.options))


def _count(reading: Reading) -> int:
    return len(reading.seen) + sum(len(cards) for cards in reading.fans.values())


def _differences(then: FrameNote, now: Reading) -> Iterator[str]:
    if then.game != now.game:
        yield f"the board was {then.game or 'not seen'}, is {now.game or 'not seen'} now"
        return
    covered = set(then.covered)
    names = {*then.seen, *then.unknown, *then.fans, *map(str, (*now.seen, *now.unknown, *now.fans))} - covered
    for name in sorted(names):
        square = Square.parse(name)
        before = _words(then.seen.get(name), then.fans.get(name), name in then.unknown)
        after = _words(now.seen.get(square), now.fans.get(square), square in now.unknown)
        if before != after:
            yield f"{name} was {before}, is {after} now"
    if then.is_whole:
        for what, was, has in (("beside", then.beside, now.beside), ("strangers", then.strangers, now.strangers)):
            if was != has:
                yield f"{what} was {', '.join(map(str, was)) or 'nothing'}, is {', '.join(map(str, has)) or 'nothing'}"


def _words(face: str | None, cards: tuple[str, ...] | None, is_unknown: bool) -> str:
    if is_unknown:
        return "unknown"
    return " ".join(cards) if cards else face or "empty"
