"""`companion calibrate`: measure the lens of a camera exactly, from a printed page.

The command asks for views of the page from several sides and saves the lens that fits them. Playing
does not need it, since the board itself teaches the lens roughly.
"""

from __future__ import annotations

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
from vision.cameras.lenses import LensStore, nominal_lens

if TYPE_CHECKING:
    from companion.printing.tiling import Paper

# Maximum residual of the corners (root mean square), as a share of the width of the picture: 0.6 px
# of 1280 px. If it is larger, the views do not show one lens and a flat page. Chosen by eye: a
# higher limit accepts a bent page, a lower one refuses good views of a noisy camera.
MAX_RESIDUAL = 0.6 / 1280
# Maximum standard deviation of the focal length, as a share of the focal length. Chosen by eye: a
# higher limit accepts views that are too much alike, a lower one asks for more views.
MAX_SPREAD = 0.01
# Number of pictures in a row that are refused for the same reason before that reason is printed. A
# reason that soon passes by itself is not worth a line.
MIN_REFUSALS = 20


def write_calibration_page(path: Path, paper: Paper) -> None:
    """Write the page for printing, and print what to do with it."""
    from companion.printing.lens_page import calibration_pdf  # noqa: PLC0415 - the PDF library is slow to import

    write_file(path, calibration_pdf(paper))
    print(
        f"{path}: print it at 100 %, on matt paper, and glue it flat on something stiff. Then run "
        "companion calibrate "
        "and hold the page in front of the camera as it says."
    )


def measure_lens(settings: Settings) -> LensFit:
    """Measure the lens of the camera in the settings and save it.

    After each view it prints which one to show next. Raises `CameraError` when the camera fails or
    the views do not fit together. Nothing is saved then.
    """
    with closing(open_camera(settings.camera, RealClock())) as camera:
        # Take a picture first. Only then is it known how much of the sensor is used, on which the
        # nominal lens depends.
        camera.frame()
        calibration = Calibration(nominal_lens(settings.camera, camera))
        print(
            f"{camera.name}: hold the page in front of it; Ctrl-C stops without changing anything."
        )
        _collect_views(calibration, camera)
        fit = _solve(calibration)
        store = LensStore(settings.lenses_path, settings.camera)
        store.save_calibrated(camera, fit.lens, fit.focal_sigma)
    return fit


def _collect_views(calibration: Calibration, camera: Camera) -> None:
    """Add views of the page until they suffice. Raises `CameraError` when the camera fails."""
    print(f"{calibration.missing_views()[0]}.")
    last_refusal = ""
    repeats = 0
    while calibration.missing_views():
        # `add` returns why it refuses a picture, and an empty text if it takes it as a view.
        refusal = calibration.add(camera.frame().luma)
        repeats = repeats + 1 if refusal == last_refusal else 1
        last_refusal = refusal
        if not refusal:
            next_view = [f"{view}." for view in calibration.missing_views()[:1]]
            print(f"View {calibration.views} is taken.", *next_view)
        elif repeats == MIN_REFUSALS:
            print(f"{refusal}.")


def _solve(calibration: Calibration) -> LensFit:
    """Return the lens that fits the views. Raises `CameraError` when they do not fit together."""
    print("Working out the lens: this takes some seconds.")
    fit = calibration.solve()
    if fit.rms_widths > MAX_RESIDUAL or fit.focal_sigma > MAX_SPREAD:
        raise CameraError(
            f"The views do not fit together ({fit.rms_px:.2f} px left over, focal length to "
            f"{100 * fit.focal_sigma:.1f} %): glue the page flat, hold it still, tilt it more, and "
            "begin again"
        )
    return fit
