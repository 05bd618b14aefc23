"""The camera inside the guest: it feeds the simulated device /dev/video0.

A test sends a picture over a virtio port: width and height as two 32-bit numbers, then one byte of
brightness for each pixel. The camera writes the last picture to the device again and again, in the
format YUYV.
"""

import fcntl
import struct
import threading
import time
from pathlib import Path

PORT = Path("/dev/virtio-ports/appliance.frames")
VIDEO = "/dev/video0"
# Numbers of V4L2, from linux/videodev2.h.
_VIDIOC_S_FMT = 0xC0D05605
_BUF_TYPE_VIDEO_OUTPUT = 2
_FIELD_NONE = 1
FPS = 5.0
# Table for `bytes.translate` that makes each byte of a picture larger by one. Every second frame is
# changed by it: no two frames of a real sensor are the same, so the service takes a camera that
# repeats itself for a frozen one.
BRIGHTER = bytes([*range(1, 256), 255])


class Picture:
    """The last picture that has come, in YUYV. It is grey at first."""

    def __init__(self, width, height):
        self.lock = threading.Condition()
        self.size = (width, height)
        self.data = b"\x60\x80" * (width * height)


def read_exactly(port, count):
    """Wait for `count` bytes from a port, and return them."""
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
    """Replace the picture by each new one that comes over the port."""
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
            _FIELD_NONE,
            2 * width,
            2 * width * height,
            8,
            0,
            0,
            0,
        )
        fcntl.ioctl(
            video,
            _VIDIOC_S_FMT,
            bytearray(struct.pack("<II", _BUF_TYPE_VIDEO_OUTPUT, 0) + form).ljust(208, b"\0"),
        )
        while True:
            video.write(picture.data)
            time.sleep(1 / FPS)
            video.write(picture.data.translate(BRIGHTER))
            time.sleep(1 / FPS)


if __name__ == "__main__":
    main()
