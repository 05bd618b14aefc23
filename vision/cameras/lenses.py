"""Stores which lens each camera has: the nominal one of its kind, one learned from the board, or
a calibrated one.

Learned and calibrated lenses are stored in a file. It is a JSON object with an entry for each
combination of camera, picture size and crop. `vision.pose.optics` defines focal ratio and
coefficients. `spread` is the relative standard deviation of the focal length, and `exact` is the
file's word for calibrated:

    {"usb 046d:0825:AEEF80A0 1280x960": {"focal_ratio": 0.77, "k1": 0.01, "spread": 0.004,
                                         "exact": false, "k2": 0.0, "fisheye": false}}

The limits for what is stored were chosen by judgement. `tests/vision/test_lenses.py` checks their
effect.
"""

from __future__ import annotations

import logging
import math
from pathlib import Path

import msgspec

from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from companion.core.files import MAX_TEXT_BYTES, read_file, replace_file
from companion.core.ports import Camera
from vision.cameras.source import PhysicalCamera
from vision.pose.lens_estimate import LensEstimate
from vision.pose.optics import LENSES, Lens
from vision.pose.pose import Pose

log = logging.getLogger(__name__)

# Interval in seconds at which a learned lens is saved. Larger: more is lost when the power fails.
# Smaller: more writes to the SD card.
_SAVE_INTERVAL_S = 300.0

# Minimum number of views of the board from which a stored lens was learned. Smaller: a few bad
# views may spoil it. Larger: a short game teaches nothing.
_MIN_VIEWS = 20

# Minimum number of corner markers in the last view. Two say nothing about the lens.
_MIN_MARKERS = 3

# Maximum relative standard deviation of a stored focal length. Nominal lenses are wrong by about an
# eighth. Larger: a doubtful lens is stored. Smaller: some cameras learn theirs anew at each start.
_MAX_SIGMA = 0.03

# A learned lens replaces the stored one if its standard deviation is at most this many times as
# large. Slightly above 1, because the newer lens counts even if it is a little less certain.
_MAX_SIGMA_RATIO = 1.05

# Maximum error of the board's corners with a usable lens, in widths of the picture: 1 px of 1280.
_MAX_RMS_WIDTHS = 1.0 / 1280

# Maximum difference between a learned and the nominal focal length, as a logarithm: by markers
# alone (a factor of 1.4), and by whole boards (a factor of 3.3). Larger: a wrong lens is believed.
# Smaller: the lens of an unusual camera is never stored.
_MAX_LOG_OFFSET = 0.35
_MAX_LOG_OFFSET_BY_LINES = 1.2

# Maximum difference between a learned and the nominal k1. Like `_MAX_LOG_OFFSET`, it is a bit less
# than a `LensEstimate` can change, so a lens at that limit is not believed.
_MAX_K1_OFFSET = 0.14

# Limits of the values in a file, which may have been edited. They are far beyond those of any lens
# that sees a table.
_FOCAL_RATIOS = 0.2, 10.0
_MAX_DISTORTION = 1.0

# Minimum zoom that counts as a crop. The key of a lens has the zoom with two decimals, and less
# than this would be 1.00.
_MIN_ZOOM = 1.005


class StoredLens(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a lens, as it is in the file. See `Lens` for its numbers."""

    focal_ratio: float
    k1: float
    focal_sigma: float = msgspec.field(name="spread")
    """Relative standard deviation of the focal length."""
    is_calibrated: bool = msgspec.field(default=False, name="exact")
    """Whether the lens was calibrated, so that nothing learned replaces it."""
    k2: float = 0.0
    fisheye: bool = False
    """Whether the lens needs the fisheye model instead of k1 alone."""

    @classmethod
    def from_lens(cls, lens: Lens, focal_sigma: float, is_calibrated: bool = False) -> StoredLens:
        """Return the stored form of a lens, rounded."""
        return cls(
            focal_ratio=round(lens.focal_ratio, 5),
            k1=round(lens.k1, 5),
            focal_sigma=round(focal_sigma, 5),
            is_calibrated=is_calibrated,
            k2=round(lens.k2, 5),
            fisheye=lens.is_fisheye,
        )

    @property
    def lens(self) -> Lens:
        """The lens for the pose."""
        return Lens(self.focal_ratio, self.k1, self.k2, self.fisheye)

    def is_plausible(self) -> bool:
        """Return whether these values can belong to a lens. With a NaN, a comparison is false."""
        low, high = _FOCAL_RATIOS
        return (
            low <= self.focal_ratio <= high
            and abs(self.k1) <= _MAX_DISTORTION
            and abs(self.k2) <= _MAX_DISTORTION
            and 0 <= self.focal_sigma < 1
        )


def nominal_lens(settings: CameraSettings, camera: Camera) -> Lens:
    """Return the lens according to the settings and the camera's kind.

    A cropped sensor has a larger focal ratio.
    """
    if settings.field_of_view_deg is not None:
        return Lens(0.5 / math.tan(math.radians(settings.field_of_view_deg) / 2))
    lens_name = "webcam"
    zoom = 1.0
    if isinstance(camera, PhysicalCamera):
        lens_name = camera.lens_name
        zoom = camera.zoom
    lens = LENSES[lens_name if settings.model == "auto" else settings.model]
    return Lens(lens.focal_ratio * zoom, lens.k1)


class LensStore:
    """Knows the lens of each camera, and saves those that were learned or calibrated in a file.

    `update` stores what was learned, in memory only. `save` writes the file. `save_periodically`
    does both every 300 s. The watcher's thread uses the store, or else `companion calibrate`.
    Without a path nothing is written. A file that cannot be read is logged, and overwritten later.
    """

    def __init__(self, path: Path | None, settings: CameraSettings) -> None:
        self._path = path
        self._settings = settings
        self._lenses = _load(path) if path else {}
        # Whether a lens has changed since the last attempt to write the file.
        self._is_changed = False
        # Monotonic time of the next `save_periodically` that does something. None before the first.
        self._save_due_at_s: float | None = None

    def lens_of(self, camera: Camera) -> tuple[Lens, bool]:
        """Return the lens of a camera, and whether it was calibrated, so that it never changes."""
        lens = self._lenses.get(self._key(camera))
        if lens is None:
            return nominal_lens(self._settings, camera), False
        return lens.lens, lens.is_calibrated

    def save_periodically(
        self, camera: Camera, estimate: LensEstimate, pose: Pose | None, now_s: float
    ) -> None:
        """Update the lens from the estimate and save it, every 300 s. Does nothing in between."""
        if self._save_due_at_s is None:
            self._save_due_at_s = now_s + _SAVE_INTERVAL_S
        if now_s < self._save_due_at_s:
            return
        self._save_due_at_s = now_s + _SAVE_INTERVAL_S
        self.update(camera, estimate, pose)
        self.save()

    def update(self, camera: Camera, estimate: LensEstimate, pose: Pose | None) -> None:
        """Store the estimate of a camera's lens if it is good enough. `save` writes the file later.

        Does nothing for a calibrated lens, or if the estimate is doubtful, rests on few views or is
        clearly less certain than the stored lens. `pose` is that of the last picture, and has to
        fit well.
        """
        key = self._key(camera)
        if not key or estimate.views < _MIN_VIEWS or estimate.is_calibrated:
            return
        if (
            pose is None
            or pose.markers < _MIN_MARKERS
            or pose.rms_px > _MAX_RMS_WIDTHS * pose.width_px
        ):
            # The board was seen too little, or the estimate does not fit the last picture.
            return

        # Is it better than the stored lens?
        focal_sigma = estimate.focal_sigma
        stored = self._lenses.get(key)
        if stored is not None:
            is_less_certain = focal_sigma > stored.focal_sigma * _MAX_SIGMA_RATIO
            if stored.is_calibrated or is_less_certain:
                return

        # Can it be right?
        lens = StoredLens.from_lens(estimate.lens, focal_sigma)
        nominal = nominal_lens(self._settings, camera)
        if not lens.is_plausible() or focal_sigma > _MAX_SIGMA or _is_far(estimate, nominal):
            return
        self._is_changed |= lens != stored
        self._lenses[key] = lens

    def save_calibrated(self, camera: Camera, lens: Lens, focal_sigma: float) -> None:
        """Save a calibrated lens, which nothing learned replaces. Raises `CameraError`.

        `focal_sigma` is the relative standard deviation of its focal length.
        """
        key = self._key(camera)
        if not key:
            raise CameraError(
                f"{camera.name} has no lens that can be stored: calibrate with the camera itself"
            )
        self._lenses[key] = StoredLens.from_lens(lens, focal_sigma, is_calibrated=True)
        self._write()

    def save(self) -> None:
        """Write the file if something has changed. A failure is logged."""
        if self._is_changed:
            try:
                self._write()
            except CameraError as error:
                log.warning("%s", error.message)

    def _write(self) -> None:
        """Write the file. Raises `CameraError`."""
        # Clear this first, even if writing fails: otherwise every call of `save` would try again,
        # and log the same failure.
        self._is_changed = False
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, msgspec.json.format(msgspec.json.encode(self._lenses)))
        except OSError as error:
            raise CameraError(
                f"{self._path}: the lenses cannot be stored: {error.strerror}: "
                "make room, or mend state_dir"
            ) from error

    def _key(self, camera: Camera) -> str:
        """Return the key of a lens: the camera, the size of its picture, and its crop.

        The key is empty if this is not a real camera but, for example, a file.
        """
        if not isinstance(camera, PhysicalCamera) or not camera.identity:
            return ""
        zoom = f" zoom {camera.zoom:.2f}" if camera.zoom > _MIN_ZOOM else ""
        width, height = self._settings.size_px
        return f"{camera.identity} {width}x{height}{zoom}"


def _is_far(estimate: LensEstimate, nominal: Lens) -> bool:
    """Return whether a learned lens is too far from the nominal one to be believed.

    A lens that was learned from the printed lines of whole boards may be farther away from it,
    because these lines determine a lens better than corner markers alone.
    """
    log_offset = abs(math.log(estimate.lens.focal_ratio / nominal.focal_ratio))
    if estimate.is_from_lines:
        return log_offset > _MAX_LOG_OFFSET_BY_LINES
    k1_offset = abs(estimate.lens.k1 - nominal.k1)
    return log_offset > _MAX_LOG_OFFSET or k1_offset > _MAX_K1_OFFSET


def _load(path: Path) -> dict[str, StoredLens]:
    """Return the plausible lenses of a file. A file that cannot be read is logged."""
    try:
        lenses = msgspec.json.decode(read_file(path, MAX_TEXT_BYTES), type=dict[str, StoredLens])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        log.warning("%s: cannot be read: %s: the cameras learn their lenses anew", path, error)
        return {}
    return {key: lens for key, lens in lenses.items() if lens.is_plausible()}
