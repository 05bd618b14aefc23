"""What a camera shows of a still table is no movement, and whatever moves is one, however long it goes on."""

from collections.abc import Callable, Iterator
from itertools import islice

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from vision.detection.stillness import Background
from vision.reading import motion
from vision.reading.motion import Movement, compare, mark_read

Luma = NDArray[np.uint8]
Shape = tuple[int, int]
SIZE: Shape = (720, 1280)
LEARNING = 20


def table() -> NDArray[np.float32]:
    """A dark table, a sheet of paper with squares, and black and white tags on it."""
    rng = np.random.default_rng(5)
    picture = np.full(SIZE, 70, np.float32)
    picture += cv2.resize(rng.normal(0, 8, (90, 160)).astype(np.float32), SIZE[::-1])
    picture[80:640, 300:1000] = 215
    for column in range(300, 1000, 70):
        picture[80:640, column : column + 3] = 60
    for row in range(80, 640, 70):
        picture[row : row + 3, 300:1000] = 60
    for row, column in ((100, 320), (240, 460), (450, 670), (520, 880)):
        picture[row : row + 35, column : column + 35] = tag(rng)
    return picture


def tag(rng: np.random.Generator) -> NDArray[np.float32]:
    """A marker of 35 px: five by five modules in a black rim."""
    modules = np.zeros((7, 7), np.float32)
    modules[1:6, 1:6] = rng.integers(0, 2, (5, 5))
    return np.kron(30 + 180 * modules, np.ones((5, 5), np.float32))


class Shown:
    """A still table before a camera; `spoil` is what the camera makes of each picture."""

    def __init__(self, spoil: Callable[[NDArray[np.float32]], Luma]) -> None:
        self.picture, self._spoil = table(), spoil
        self._background = Background()

    def see(self, picture: NDArray[np.float32] | None = None) -> Movement:
        """The next frame, read whenever something has changed, as the reader does."""
        shown = self._spoil(self.picture if picture is None else picture)
        movement, self._background = compare(self._background, shown)
        if movement.drifted:
            self._background = mark_read(self._background, movement.changed)
        return movement

    def learn(self, frames: int = LEARNING) -> None:
        for _ in range(frames):
            self.see()


def plain(picture: NDArray[np.float32]) -> Luma:
    return picture.round().clip(0, 255).astype(np.uint8)


def fields() -> Iterator[NDArray[np.float32]]:
    """Noise of standard deviation 1: parts of one large field, which is much faster than a new one each time."""
    rng = np.random.default_rng(1)
    field = rng.standard_normal((SIZE[0] + 128, SIZE[1] + 128), np.float32)
    while True:
        row, column = rng.integers(0, 128, 2)
        yield field[row : row + SIZE[0], column : column + SIZE[1]]


def noisy(sigma: float, light: float = 1.0) -> Callable[[NDArray[np.float32]], Luma]:
    noise = fields()
    return lambda picture: plain(picture * np.float32(light) + np.float32(sigma) * next(noise))


def encoded(quality: int, sigma: float) -> Callable[[NDArray[np.float32]], Luma]:
    spoil = noisy(sigma)

    def camera(picture: NDArray[np.float32]) -> Luma:
        data = cv2.imencode(".jpg", spoil(picture), [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        return np.asarray(cv2.imdecode(data, cv2.IMREAD_GRAYSCALE), np.uint8)

    return camera


def lit(by: Callable[[int], NDArray[np.float64] | float]) -> Callable[[NDArray[np.float32]], Luma]:
    """Light that is another in every frame, with the noise of a good camera."""
    spoil, numbers = noisy(1.5), iter(range(10_000))
    return lambda picture: spoil((picture * by(next(numbers))).astype(np.float32))


def unevenly_noisy() -> Callable[[NDArray[np.float32]], Luma]:
    """Three times as noisy where it is light as where it is dark."""
    noise = fields()
    return lambda picture: plain(picture + (2 + 7 * picture / 255) * next(noise))


CAMERAS: dict[str, Callable[[], Callable[[NDArray[np.float32]], Luma]]] = {
    "noise 0": lambda: plain,
    "noise 7": lambda: noisy(7),
    "noise 14": lambda: noisy(14),
    "uneven noise": unevenly_noisy,
    "dark": lambda: noisy(8, light=0.18),
    "jpeg 30": lambda: encoded(30, 3),
    "jpeg 16": lambda: encoded(16, 2),
    "exposure": lambda: lit(
        lambda number: 1 + 0.04 * float(np.random.default_rng(number).standard_normal())
    ),
    "bands": lambda: lit(
        lambda number: 1 - 0.1 * np.sin(np.arange(720)[:, None] / 50 + 1.7 * number)
    ),
    "dusk": lambda: lit(lambda number: 1 - 0.006 * number),
}


@pytest.mark.parametrize("camera", CAMERAS)
def test_a_still_table_is_still_and_what_happens_on_it_is_seen(camera: str) -> None:
    shown = Shown(CAMERAS[camera]())
    shown.learn()
    moving = sum(shown.see().moving for _ in range(40))
    assert moving == 0, f"{moving} of 40 still frames seem to move"
    shown.picture[240:275, 460:495] = 215
    shown.picture[240:275, 495:530] = tag(np.random.default_rng(6))
    assert any(shown.see().moving for _ in range(2)), "a tag was pushed by its own width"
    shown.learn(8)
    turned = np.rot90(shown.picture[450:485, 670:705]).copy()
    shown.picture[450:485, 670:705] = turned
    assert any(shown.see().moving for _ in range(2)), "a tag was turned in place"
    shown.learn(8)
    shown.picture[200:420, 500:720] = 150
    movement = shown.see()
    assert movement.moving, "a hand has come"
    assert movement.places is not None
    assert np.abs(movement.places.mean(axis=0) - (610, 310)).max() < 60
    shown.learn(8)
    assert sum(shown.see().moving for _ in range(10)) == 0, "it rests"


def test_a_single_block_that_a_codec_rounds_otherwise_is_no_movement_but_a_small_thing_is() -> None:
    shown = Shown(encoded(16, 2))
    shown.learn()
    shown.picture[304:328, 800:824] -= 90
    assert shown.see().moving


def hands(kind: str) -> Iterator[tuple[slice, slice, float]]:
    """Where a hand is in picture after picture, and how bright."""
    for number in range(10_000):
        if kind == "trembles":
            down = 300 + 3 * (number % 2)
            yield slice(down, down + 160), slice(520, 700), 140
        elif kind == "creeps":
            down = 100 + number
            yield slice(down, down + 160), slice(520, 700), 140
        else:
            reach = (40, 90, 140, 90)[number % 4]
            yield slice(300, 300 + reach), slice(0, 80), 25


@pytest.mark.parametrize("kind", ["trembles", "creeps", "waves at the rim"])
@pytest.mark.parametrize("camera", ["noise 7", "jpeg 30"])
def test_movement_that_goes_on_for_long_is_never_learned_as_noise(kind: str, camera: str) -> None:
    shown = Shown(CAMERAS[camera]())
    shown.learn()
    where = hands(kind)
    frames = [picture_with(shown.picture, *place) for place in islice(where, 150)]
    moving = [shown.see(frame).moving for frame in frames]
    assert sum(moving[-50:]) >= 49, (
        f"after 100 pictures only {sum(moving[-50:])} of 50 seem to move"
    )
    quiet = shown.picture
    quiet[520:555, 880:915] = 215
    quiet[520:555, 915:950] = tag(np.random.default_rng(8))
    places = shown.see(picture_with(quiet, *next(where))).places
    assert places is not None
    assert (np.abs(places - (915, 537)).max(axis=1) < 60).any(), (
        "a tag was pushed meanwhile, far from it"
    )


def picture_with(
    picture: NDArray[np.float32], rows: slice, columns: slice, level: float
) -> NDArray[np.float32]:
    changed = picture.copy()
    changed[rows, columns] = level
    return changed


def test_what_trembles_leaves_no_blind_spot_behind() -> None:
    shown = Shown(noisy(3))
    shown.learn()
    for place in islice(hands("trembles"), 120):
        shown.see(picture_with(shown.picture, *place))
    shown.learn(2)
    assert not shown.see().moving, "the hand has gone"
    shown.picture[300:335, 560:595] = tag(np.random.default_rng(9))
    assert shown.see().moving, "a tag lies where the hand was"


def test_a_picture_that_goes_dark_altogether_is_a_movement() -> None:
    shown = Shown(noisy(2))
    shown.learn()
    assert shown.see(np.zeros(SIZE, np.float32)).moving


def test_a_lamp_is_no_movement_but_everything_is_read_again_when_it_stays() -> None:
    light = [1.0]
    shown = Shown(lit(lambda _: light[0]))
    shown.learn()
    light[0] = 0.7
    after = [shown.see() for _ in range(6)]
    assert not any(movement.moving for movement in after)
    assert any(movement.drifted and abs(movement.light - 0.7) < 0.03 for movement in after)


def test_a_light_that_flickers_back_and_forth_is_not_read_again() -> None:
    shown = Shown(lit(lambda number: 1.0 if number < 20 else (0.9, 1.1)[number % 2]))
    shown.learn()
    assert not any(shown.see().drifted for _ in range(20))


def test_slow_changes_of_many_pictures_add_up_to_a_change() -> None:
    """What was read is the measure, not the picture before: a tag that is pushed slowly ends up pushed."""
    shown = Shown(noisy(4))
    shown.learn()
    piece = shown.picture[100:135, 320:355].copy()
    drifted = []
    for number in range(1, 36):
        shown.picture[100:135, 320:390] = 215
        shown.picture[100:135, 320 + number : 355 + number] = piece
        drifted.append(shown.see().drifted)
    assert sum(drifted) >= 6, f"{sum(drifted)} of 35 steps were noticed"


def test_a_hand_over_half_of_the_paper_does_not_bend_the_light_of_the_rest() -> None:
    """What the hand hides is darker than paper: taken for light, it would make all else differ."""
    shown, background = table() * np.float32(0.6), Background()
    for _ in range(3):
        _, background = compare(background, shown.astype(np.uint8))
    background = mark_read(background)
    hand = shown.copy()
    hand[200:, 300:800] = 75
    movement, _ = compare(background, hand.astype(np.uint8))
    rows, columns = np.nonzero(movement.changed)
    assert movement.moving
    assert rows.min() * 8 >= 190
    assert (columns.min() * 8, columns.max() * 8) == pytest.approx((300, 800), abs=24)


def test_what_comes_before_a_still_table_all_at_once_is_compared_a_single_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A picture of which a part has changed costs most of all where nothing moved until then."""
    shown, compared = Shown(noisy(2.0)), []
    shown.learn()
    whole = motion.exposure_between
    monkeypatch.setattr(
        motion, "exposure_between", lambda *pictures: compared.append(1) or whole(*pictures)
    )
    shown.picture[300:370, 600:670] = 30
    movement = shown.see()
    assert movement.moving
    assert movement.changed is not None
    assert movement.changed[300 // 8 + 1 : 370 // 8, 600 // 8 + 1 : 670 // 8].all()
    assert movement.places is not None
    assert np.abs(movement.places - (635, 335)).max() < 60
    assert len(compared) == 1
    assert not shown.see().moving, "it lies still in the next frame"
