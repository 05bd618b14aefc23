"""What is known to be odd about cameras."""

from __future__ import annotations

import pytest

from vision.oddities import oddity_of


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("usb 046d:0825:AEEF80A0", "UVC Camera"), "unplug it and plug it in again"),
        (("usb 046d:082d", "HD Pro Webcam C920"), "lock it again"),
        (("v4l2 Droidcam", "Droidcam"), "another clock"),
        (("imx477",), "by hand"),
        (("imx708",), ""),
        (("", ""), ""),
    ],
)
def test_a_camera_is_known_by_name_or_number(names: tuple[str, ...], said: str) -> None:
    odd = oddity_of(*names)
    assert said in odd.sentence if odd else not said
