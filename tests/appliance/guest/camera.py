"""The camera inside the guest: it writes the last picture from a virtio port to /dev/video0 again
and again.

A picture comes as two 32-bit numbers, width and height, and one byte of brightness for each pixel.
It goes out as YUYV.
"""

import fcntl
import struct
import threading
import time
from pathlib import Path

PORT = Path("/dev/virtio-ports/appliance.frames")
VIDEO = "/dev/video0"
# Numbers of V4L2: VIDIOC_S_FMT, V4L2_BUF_TYPE_VIDEO_OUTPUT, V4L2_FIELD_NONE.
_S_FMT, _OUTPUT, _PROGRESSIVE = 0xC0D05605, 2, 1
FPS = 5.0
# Table for `bytes.translate` that makes each pixel brighter by one. No two pictures of a real
# sensor are the same, and a camera that repeats itself is taken for a frozen one.
BRIGHTER = bytes([*range(1, 256), 255])


class Picture:
    """The last picture that has come, in YUYV. It is grey at first."""

    def __init__(self, width, height):
        self.lock = threading.Condition()
        self.size = (width, height)
        self.data = b"\x60\x80" * (width * height)


def read_exactly(port, count):
    parts = []
    while count:
        part = port.read(min(count, 1 << 20))
        if part:
            parts.append(part)
            count -= len(part)
        else:
            time.sleep(0.02)
    return b"".join(parts)


def listen(picture):
    with PORT.open("rb", buffering=0) as port:
        while True:
            width, height = struct.unpack("<II", read_exactly(port, 8))
            data = bytearray(b"\x80") * (2 * width * height)
            data[0::2] = read_exactly(port, width * height)
            with picture.lock:
                picture.size, picture.data = (width, height), bytes(data)


def main():
    while not PORT.exists():
        time.sleep(0.1)
    picture = Picture(1280, 720)
    threading.Thread(target=listen, args=(picture,), daemon=True).start()
    with open(VIDEO, "wb", buffering=0) as video:
        width, height = picture.size
        form = struct.pack(
            "<IIIIIIIIII",
            width,
            height,
            int.from_bytes(b"YUYV", "little"),
            _PROGRESSIVE,
            2 * width,
            2 * width * height,
            8,
            0,
            0,
            0,
        )
        fcntl.ioctl(
            video, _S_FMT, bytearray(struct.pack("<II", _OUTPUT, 0) + form).ljust(208, b"\0")
        )
        while True:
            video.write(picture.data)
            time.sleep(1 / FPS)
            video.write(picture.data.translate(BRIGHTER))
            time.sleep(1 / FPS)


if __name__ == "__main__":
    main()
