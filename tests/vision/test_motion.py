"""What a camera shows of a still table is no movement, and whatever moves is one, however long it
goes on.
"""

from collections.abc import Callable, Iterator
from itertools import count, islice

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from vision.detection.stillness import Background
from vision.reading.motion import Movement, compare_pictures, mark_read

Luma = NDArray[np.uint8]
Picture = NDArray[np.float32]
Camera = Callable[[Picture], Luma]
HEIGHT, WIDTH = 720, 1280
LEARNING = 20


def table() -> Picture:
    """A dark table, a sheet of paper with squares, and black and white tags on it."""
    rng = np.random.default_rng(5)
    picture = np.full((HEIGHT, WIDTH), 70, np.float32)
    picture += cv2.resize(rng.normal(0, 8, (90, 160)).astype(np.float32), (WIDTH, HEIGHT))
    picture[80:640, 300:1000] = 215
    for column in range(300, 1000, 70):
        picture[80:640, column : column + 3] = 60
    for row in range(80, 640, 70):
        picture[row : row + 3, 300:1000] = 60
    for number, (row, column) in enumerate(((100, 320), (240, 460), (450, 670), (520, 880))):
        picture[row : row + 35, column : column + 35] = tag(number)
    return picture


def tag(seed: int) -> Picture:
    """Return a marker of 35 px: five by five modules in a black rim."""
    modules = np.zeros((7, 7), np.float32)
    modules[1:6, 1:6] = np.random.default_rng(seed).integers(0, 2, (5, 5))
    return np.kron(30 + 180 * modules, np.ones((5, 5), np.float32))


def shifted_tag(picture: Picture, row: int, column: int) -> None:
    """Push a tag by its own width: paper where it was, another one beside."""
    picture[row : row + 35, column : column + 35] = 215
    picture[row : row + 35, column + 35 : column + 70] = tag(row)


class StillTable:
    """A still table in front of a camera, which changes each picture by `spoil`."""

    def __init__(self, spoil: Camera) -> None:
        self.picture, self._spoil = table(), spoil
        self._background = Background()
        self.learn()

    def see(self, picture: Picture | None = None) -> Movement:
        """Return the next frame, read whenever something has changed, as the reader does."""
        shown = self._spoil(self.picture if picture is None else picture)
        movement, self._background = compare_pictures(self._background, shown)
        if movement.has_changed:
            self._background = mark_read(self._background, movement.changed_blocks)
        return movement

    def learn(self, frames: int = LEARNING) -> None:
        for _ in range(frames):
            self.see()

    def with_hand(self, rows: slice, columns: slice, level: float) -> Picture:
        changed = self.picture.copy()
        changed[rows, columns] = level
        return changed


def is_near(movement: Movement, x: int, y: int) -> bool:
    """Return whether something has moved there."""
    places = movement.moving_px
    return places is not None and bool((np.abs(places - (x, y)).max(axis=1) < 60).any())


# ---- cameras -------------------------------------------------------------------------------------


def plain_camera(picture: Picture) -> Luma:
    return picture.round().clip(0, 255).astype(np.uint8)


def noisy_camera(sigma: float, light: float = 1.0, by_light: float = 0.0) -> Camera:
    """Return noise, stronger where it is light: parts of one large field, which is much faster."""
    rng = np.random.default_rng(1)
    field = rng.standard_normal((HEIGHT + 128, WIDTH + 128), np.float32)

    def camera(picture: Picture) -> Luma:
        row, column = rng.integers(0, 128, 2)
        noise = field[row : row + HEIGHT, column : column + WIDTH]
        return plain_camera(
            picture * np.float32(light) + (sigma + by_light * picture / 255) * noise
        )

    return camera


def jpeg_camera(quality: int, sigma: float) -> Camera:
    spoil = noisy_camera(sigma)

    def camera(picture: Picture) -> Luma:
        data = cv2.imencode(".jpg", spoil(picture), [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        return np.asarray(cv2.imdecode(data, cv2.IMREAD_GRAYSCALE), np.uint8)

    return camera


def lamp_camera(by: Callable[[int], NDArray[np.float64] | float]) -> Camera:
    """Return a camera whose light differs in every frame, with the noise of a good one."""
    spoil, numbers = noisy_camera(1.5), count()
    return lambda picture: spoil((picture * by(next(numbers))).astype(np.float32))


def exposure(number: int) -> float:
    return 1 + 0.04 * float(np.random.default_rng(number).standard_normal())


CAMERAS: dict[str, Callable[[], Camera]] = {
    "noise 0": lambda: plain_camera,
    "noise 7": lambda: noisy_camera(7),
    "noise 14": lambda: noisy_camera(14),
    "uneven noise": lambda: noisy_camera(2, by_light=7),
    "dark": lambda: noisy_camera(8, light=0.18),
    "jpeg 30": lambda: jpeg_camera(30, 3),
    "jpeg 16": lambda: jpeg_camera(16, 2),
    "exposure": lambda: lamp_camera(exposure),
    "bands": lambda: lamp_camera(
        lambda n: 1 - 0.1 * np.sin(np.arange(HEIGHT)[:, None] / 50 + 1.7 * n)
    ),
    "dusk": lambda: lamp_camera(lambda n: 1 - 0.006 * n),
}


@pytest.mark.parametrize(
    "camera",
    ["noise 0", "noise 14", "uneven noise", "dark", "jpeg 16", "exposure", "bands", "dusk"],
)
def test_only_what_moves_is_movement(camera: str) -> None:
    shown = StillTable(CAMERAS[camera]())
    assert sum(shown.see().is_moving for _ in range(40)) == 0
    shifted_tag(shown.picture, 240, 460)
    assert any(shown.see().is_moving for _ in range(2)), "a tag was pushed by its own width"
    shown.learn(8)
    shown.picture[450:485, 670:705] = np.rot90(shown.picture[450:485, 670:705]).copy()
    assert any(shown.see().is_moving for _ in range(2)), "a tag was turned in place"
    shown.learn(8)
    shown.picture[200:420, 500:720] = 150
    movement = shown.see()
    assert movement.is_moving, "a hand has come"
    assert movement.moving_px is not None
    assert np.abs(movement.moving_px.mean(axis=0) - (610, 310)).max() < 60
    shown.learn(8)
    assert sum(shown.see().is_moving for _ in range(10)) == 0, "it rests"


def hands(kind: str) -> Iterator[tuple[slice, slice, float]]:
    """Yield where a hand is in picture after picture, and how bright."""
    for number in count():
        if kind == "waves at the rim":
            reach = (40, 90, 140, 90)[number % 4]
            yield slice(300, 300 + reach), slice(0, 80), 25
        else:
            down = 300 + 3 * (number % 2) if kind == "trembles" else 100 + number
            yield slice(down, down + 160), slice(520, 700), 140


@pytest.mark.parametrize(
    ("kind", "camera"),
    [("trembles", "jpeg 30"), ("creeps", "noise 7"), ("waves at the rim", "jpeg 30")],
)
def test_long_movement_is_never_learned_as_noise(kind: str, camera: str) -> None:
    shown, where = StillTable(CAMERAS[camera]()), hands(kind)
    moving = [shown.see(shown.with_hand(*place)).is_moving for place in islice(where, 150)]
    assert sum(moving[-50:]) >= 49
    shifted_tag(shown.picture, 520, 880)
    movement = shown.see(shown.with_hand(*next(where)))
    assert is_near(movement, 915, 537), "a tag was pushed meanwhile, far from it"


# ---- light ---------------------------------------------------------------------------------------


def test_a_lamp_is_drift_and_no_movement() -> None:
    shown = StillTable(lamp_camera(lambda number: 1.0 if number < LEARNING else 0.7))
    after = [shown.see() for _ in range(6)]
    assert not any(movement.is_moving for movement in after)
    assert any(movement.has_changed for movement in after)


def test_a_flickering_light_is_no_drift() -> None:
    shown = StillTable(
        lamp_camera(lambda number: 1.0 if number < LEARNING else (0.9, 1.1)[number % 2])
    )
    assert not any(shown.see().has_changed for _ in range(20))


def test_slow_changes_add_up() -> None:
    """What was read is the measure, not the picture before: a tag that is pushed slowly ends up
    pushed.
    """
    shown, drifted = StillTable(noisy_camera(4)), []
    piece = shown.picture[100:135, 320:355].copy()
    for number in range(1, 36):
        shown.picture[100:135, 320:390] = 215
        shown.picture[100:135, 320 + number : 355 + number] = piece
        drifted.append(shown.see().has_changed)
    assert sum(drifted) >= 6


def test_a_large_hand_leaves_other_light_alone() -> None:
    """What the hand hides is darker than paper: taken for light, it would make all else differ."""
    still, background = table() * np.float32(0.6), Background()
    for _ in range(3):
        _, background = compare_pictures(background, still.astype(np.uint8))
    still[200:, 300:800] = 75
    movement, _ = compare_pictures(mark_read(background), still.astype(np.uint8))
    rows, columns = np.nonzero(movement.changed_blocks)
    assert movement.is_moving
    assert rows.min() * 8 >= 190
    assert (columns.min() * 8, columns.max() * 8) == pytest.approx((300, 800), abs=24)
