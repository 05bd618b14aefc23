"""Test how movement is told from noise and changes of light, by comparing pictures.

The pictures are drawn. A *camera* is a function that adds its kind of noise or light to a picture.
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
HEIGHT = 720
WIDTH = 1280
# Number of pictures of a still table, from which the noise of a camera is learned.
LEARNING_FRAMES = 20


def draw_table() -> Picture:
    """Return a dark table with a sheet of squares, on which four black and white tags lie."""
    rng = np.random.default_rng(5)
    picture = np.full((HEIGHT, WIDTH), 70, np.float32)
    picture += cv2.resize(rng.normal(0, 8, (90, 160)).astype(np.float32), (WIDTH, HEIGHT))
    picture[80:640, 300:1000] = 215
    for column in range(300, 1000, 70):
        picture[80:640, column : column + 3] = 60
    for row in range(80, 640, 70):
        picture[row : row + 3, 300:1000] = 60
    for seed, (row, column) in enumerate(((100, 320), (240, 460), (450, 670), (520, 880))):
        picture[row : row + 35, column : column + 35] = draw_tag(seed)
    return picture


def draw_tag(seed: int) -> Picture:
    """Return a tag of 35 px: five by five random modules in a black rim."""
    modules = np.zeros((7, 7), np.float32)
    modules[1:6, 1:6] = np.random.default_rng(seed).integers(0, 2, (5, 5))
    return np.kron(30 + 180 * modules, np.ones((5, 5), np.float32))


def push_tag(picture: Picture, row: int, column: int) -> None:
    """Put paper in the place of a tag, and a tag on the right of that place."""
    picture[row : row + 35, column : column + 35] = 215
    picture[row : row + 35, column + 35 : column + 70] = draw_tag(row)


class DrawnTable:
    """A drawn table, and the background that is learned from pictures of a camera above it.

    Tests change its `picture`.
    """

    def __init__(self, camera: Camera) -> None:
        self.picture = draw_table()
        self._camera = camera
        self._background = Background()
        self.learn()

    def see(self, picture: Picture | None = None) -> Movement:
        """Compare the next frame, and mark its changes as read, as the reader does."""
        luma = self._camera(self.picture if picture is None else picture)
        movement, self._background = compare_pictures(self._background, luma)
        if movement.has_changed:
            self._background = mark_read(self._background, movement.changed_blocks)
        return movement

    def learn(self, frames: int = LEARNING_FRAMES) -> None:
        for _ in range(frames):
            self.see()

    def with_hand(self, rows: slice, columns: slice, level: float) -> Picture:
        """Return the picture with a hand, as a rectangle of this brightness."""
        picture = self.picture.copy()
        picture[rows, columns] = level
        return picture


def moves_near(movement: Movement, x: int, y: int) -> bool:
    """Return whether something moves within 60 px of a place."""
    places_px = movement.moving_px
    return places_px is not None and bool((np.abs(places_px - (x, y)).max(axis=1) < 60).any())


# ---- cameras -------------------------------------------------------------------------------------


def plain_camera(picture: Picture) -> Luma:
    return picture.round().clip(0, 255).astype(np.uint8)


def noisy_camera(sigma: float, light: float = 1.0, sigma_by_light: float = 0.0) -> Camera:
    """Return a camera with noise, whose deviation grows by `sigma_by_light` from black to white.

    Each picture gets another part of one large field of noise, which is much faster than to draw
    new noise for each.
    """
    rng = np.random.default_rng(1)
    field = rng.standard_normal((HEIGHT + 128, WIDTH + 128), np.float32)

    def camera(picture: Picture) -> Luma:
        row, column = rng.integers(0, 128, 2)
        noise = field[row : row + HEIGHT, column : column + WIDTH]
        sigmas = sigma + sigma_by_light * picture / 255
        return plain_camera(picture * np.float32(light) + sigmas * noise)

    return camera


def jpeg_camera(quality: int, sigma: float) -> Camera:
    noisy = noisy_camera(sigma)

    def camera(picture: Picture) -> Luma:
        data = cv2.imencode(".jpg", noisy(picture), [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        return np.asarray(cv2.imdecode(data, cv2.IMREAD_GRAYSCALE), np.uint8)

    return camera


def lamp_camera(light_of: Callable[[int], NDArray[np.float64] | float]) -> Camera:
    """Return a camera with little noise, under a light that depends on the number of the frame."""
    noisy = noisy_camera(1.5)
    numbers = count()
    return lambda picture: noisy((picture * light_of(next(numbers))).astype(np.float32))


def unsteady_exposure(number: int) -> float:
    return 1 + 0.04 * float(np.random.default_rng(number).standard_normal())


# Functions that make a new camera. The number in a name is the deviation of the noise in levels,
# or the quality of the JPEG.
CAMERAS: dict[str, Callable[[], Camera]] = {
    "noise 0": lambda: plain_camera,
    "noise 7": lambda: noisy_camera(7),
    "noise 14": lambda: noisy_camera(14),
    "uneven noise": lambda: noisy_camera(2, sigma_by_light=7),
    "dark": lambda: noisy_camera(8, light=0.18),
    "jpeg 30": lambda: jpeg_camera(30, 3),
    "jpeg 16": lambda: jpeg_camera(16, 2),
    "exposure": lambda: lamp_camera(unsteady_exposure),
    "bands": lambda: lamp_camera(
        lambda n: 1 - 0.1 * np.sin(np.arange(HEIGHT)[:, None] / 50 + 1.7 * n)
    ),
    "dusk": lambda: lamp_camera(lambda n: 1 - 0.006 * n),
}


@pytest.mark.parametrize(
    "camera",
    ["noise 0", "noise 14", "uneven noise", "dark", "jpeg 16", "exposure", "bands", "dusk"],
)
def test_a_still_table_shows_no_movement(camera: str) -> None:
    """Movement of a tag or a hand is noticed within two pictures, and ends when they rest."""
    table = DrawnTable(CAMERAS[camera]())
    assert sum(table.see().is_moving for _ in range(40)) == 0, "a still table moves"

    # a tag is pushed to the right by its own width
    push_tag(table.picture, 240, 460)
    assert any(table.see().is_moving for _ in range(2)), "a pushed tag is not noticed"
    table.learn(8)

    # another tag is turned by 90 degrees where it lies
    table.picture[450:485, 670:705] = np.rot90(table.picture[450:485, 670:705]).copy()
    assert any(table.see().is_moving for _ in range(2)), "a tag turned in place is not noticed"
    table.learn(8)

    # a hand appears, with its middle at (610, 310)
    table.picture[200:420, 500:720] = 150
    movement = table.see()
    assert movement.is_moving, "a hand is not noticed"
    assert movement.moving_px is not None
    assert np.abs(movement.moving_px.mean(axis=0) - (610, 310)).max() < 60

    # the hand stays where it is
    table.learn(8)
    assert sum(table.see().is_moving for _ in range(10)) == 0, "a resting hand moves"


def hand_positions(kind: str) -> Iterator[tuple[slice, slice, float]]:
    """Yield the rows, the columns and the brightness of a moving hand in each picture."""
    for number in count():
        if kind == "waves at the rim":
            height = (40, 90, 140, 90)[number % 4]
            yield slice(300, 300 + height), slice(0, 80), 25
        else:
            top = 300 + 3 * (number % 2) if kind == "trembles" else 100 + number
            yield slice(top, top + 160), slice(520, 700), 140


@pytest.mark.parametrize(
    ("kind", "camera"),
    [("trembles", "jpeg 30"), ("creeps", "noise 7"), ("waves at the rim", "jpeg 30")],
)
def test_long_movement_is_never_learned_as_noise(kind: str, camera: str) -> None:
    # a hand moves for 150 pictures, and still counts as moving in the last fifty of them
    table = DrawnTable(CAMERAS[camera]())
    hand = hand_positions(kind)
    are_moving = [table.see(table.with_hand(*place)).is_moving for place in islice(hand, 150)]
    assert sum(are_moving[-50:]) >= 49

    # meanwhile a tag is pushed somewhere else, to a place around (915, 537)
    push_tag(table.picture, 520, 880)
    movement = table.see(table.with_hand(*next(hand)))
    assert moves_near(movement, 915, 537), "a tag pushed far from the hand is not noticed"


# ---- light ---------------------------------------------------------------------------------------


def test_a_lamp_causes_a_change_without_movement() -> None:
    """A lamp is switched off, which takes 30 % of the light."""
    table = DrawnTable(lamp_camera(lambda number: 1.0 if number < LEARNING_FRAMES else 0.7))
    movements = [table.see() for _ in range(6)]
    assert not any(movement.is_moving for movement in movements)
    assert any(movement.has_changed for movement in movements)


def test_a_flickering_light_changes_nothing() -> None:
    table = DrawnTable(
        lamp_camera(lambda number: 1.0 if number < LEARNING_FRAMES else (0.9, 1.1)[number % 2])
    )
    assert not any(table.see().has_changed for _ in range(20))


def test_slow_changes_add_up() -> None:
    """Push a tag by one pixel in each of 35 pictures.

    Two pictures in a row differ very little. Each is compared with the last one that was read, so
    small changes add up until they are noticed, again and again.
    """
    table, changes = DrawnTable(noisy_camera(4)), []
    tag = table.picture[100:135, 320:355].copy()
    for number in range(1, 36):
        table.picture[100:135, 320:390] = 215
        table.picture[100:135, 320 + number : 355 + number] = tag
        changes.append(table.see().has_changed)
    assert sum(changes) >= 6


def test_a_large_hand_is_not_a_change_of_light() -> None:
    """A large hand makes the picture darker.

    If that were taken for less light, the rest of the picture would seem to have changed. Only the
    blocks of 8 px under the hand may have.
    """
    picture = draw_table() * np.float32(0.6)
    background = Background()
    for _ in range(3):
        _, background = compare_pictures(background, picture.astype(np.uint8))

    # the hand covers columns 300 to 800 from row 200 to the lower edge
    picture[200:, 300:800] = 75
    movement, _ = compare_pictures(mark_read(background), picture.astype(np.uint8))
    rows, columns = np.nonzero(movement.changed_blocks)
    assert movement.is_moving
    assert rows.min() * 8 >= 190
    assert (columns.min() * 8, columns.max() * 8) == pytest.approx((300, 800), abs=24)
