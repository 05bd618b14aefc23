"""`companion calibrate`: measure the lens of a camera exactly, from a printed page.

The command asks for views of the page from several sides and stores the lens that fits them.
Playing does not need it, since the board itself teaches the lens roughly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from companion.cli.options import write_file
from companion.core.clock import RealClock
from companion.core.config import Settings
from companion.core.errors import CameraError
from companion.core.ports import Camera
from vision.cameras.calibration import Calibration, LensFit
from vision.cameras.catalogue import open_camera
from vision.cameras.lenses import LensShelf, nominal_lens
from vision.detection.markers import Luma

if TYPE_CHECKING:
    from companion.printing.tiling import Paper

# Maximum residual, divided by the width of the picture: 0.6 px in one of 1280 px. Above it, the
# views do not show one lens and a flat page. Chosen by eye: higher accepts a bent page, lower
# refuses good views of a noisy camera.
MAX_MISFIT = 0.6 / 1280
# Maximum standard deviation of the focal length, as a share of it. Chosen by eye: higher accepts
# views that are too much alike, lower asks for more of them.
MAX_SPREAD = 0.01
# Number of pictures in a row with the same trouble after which it is printed, so that trouble that
# passes by itself is not.
PICTURES_BEFORE_ADVICE = 20


def print_page(path: Path, paper: Paper) -> None:
    """Write the page for printing, and print what to do with it."""
    from companion.printing.lens_page import calibration_page  # noqa: PLC0415 - the PDF library is slow to import

    write_file(path, calibration_page(paper))
    print(
        f"{path}: print it at 100 %, on matt paper, and glue it flat on something stiff. Then run "
        "companion calibrate "
        "and hold the page in front of the camera as it says."
    )


def measure(settings: Settings) -> LensFit:
    """Measure the camera of the settings and store its lens.

    It prints after each view what is still missing. Raises `CameraError` when the camera fails or
    the views do not fit together. Nothing is stored then.
    """
    with closing(open_camera(settings.camera, RealClock())) as camera:
        camera.frame()  # only a picture shows how much of the sensor is used
        calibration = Calibration(nominal_lens(settings.camera, camera))
        print(
            f"{camera.name}: hold the page in front of it; Ctrl-C stops without changing anything."
        )
        _collect_views(calibration, _pictures(camera))
        fit = _solve(calibration)
        shelf = LensShelf(settings.lenses_path, settings.camera)
        shelf.store_calibrated(camera, fit.lens, fit.spread)
    return fit


def _pictures(camera: Camera) -> Iterator[Luma]:
    while True:
        yield camera.frame().luma


def _collect_views(calibration: Calibration, pictures: Iterator[Luma]) -> None:
    """Add views until they suffice. Raises `CameraError` when the camera stops before that."""
    print(f"{calibration.missing_views()[0]}.")
    last_trouble = ""
    repeats = 0
    for luma in pictures:
        trouble = calibration.add(luma)
        # the same trouble is printed once it lasts, not for every picture
        repeats = repeats + 1 if trouble == last_trouble else 1
        last_trouble = trouble
        if trouble:
            if repeats == PICTURES_BEFORE_ADVICE:
                print(f"{trouble}.")
            continue
        missing = calibration.missing_views()
        if not missing:
            print(f"View {calibration.views} is taken.")
            return
        print(f"View {calibration.views} is taken. {missing[0]}.")
    raise CameraError("The camera stopped before there were enough views: begin again")


def _solve(calibration: Calibration) -> LensFit:
    """Return the lens that fits the views. Raises `CameraError` when they do not fit together."""
    print("Working out the lens: this takes some seconds.")
    fit = calibration.solve()
    if fit is None:
        raise CameraError(
            f"Too few views ({calibration.views}): show the page from at least three sides"
        )
    if fit.misfit > MAX_MISFIT or fit.spread > MAX_SPREAD:
        raise CameraError(
            f"The views do not fit together ({fit.rms_px:.2f} px left over, focal length to "
            f"{100 * fit.spread:.1f} %): glue the page flat, hold it still, tilt it more, and "
            "begin again"
        )
    return fit
