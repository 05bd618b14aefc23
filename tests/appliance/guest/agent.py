"""The machine's hands inside the guest: one JSON request a line over a virtio port, one JSON answer
a line.

`run` starts a command, `read` and `write` are files, `press` holds a button of the simulated pins
down, `lamps` reads levels, `fetch` asks the service for a page from inside. It is no part of the
product and needs no network; a machine without such a port is given the number of one of its
network's.
"""

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

PORT = Path("/dev/virtio-ports/appliance.agent")


def pins():
    """Return the folder of the simulated bank's lines."""
    return next(Path("/sys/devices/platform").glob("gpio-sim.*/gpiochip*/sim_gpio0")).parent


def run(argv, timeout_s=60, text=""):
    done = subprocess.run(
        argv, input=text, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


def press(keys, hold_s=0.08, pause_s=0.08):
    """Pull each line down and let it go again, one after the other."""
    bank = pins()
    for pin in keys:
        (bank / f"sim_gpio{pin}/pull").write_text("pull-down")
        time.sleep(hold_s)
        (bank / f"sim_gpio{pin}/pull").write_text("pull-up")
        time.sleep(pause_s)


def hold(pin, down=True):
    (pins() / f"sim_gpio{pin}/pull").write_text("pull-down" if down else "pull-up")


def lamps(lines, times=1, pause_s=0.0):
    """Return the levels of some lines so many times, because lamps blink."""
    bank, samples = pins(), []
    for _ in range(times):
        samples.append([int((bank / f"sim_gpio{pin}/value").read_text()) for pin in lines])
        time.sleep(pause_s)
    return samples


def fetch(url):
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return [answer.status, answer.read().decode()]
    except urllib.error.HTTPError as error:
        return [error.code, error.read().decode()]
    except OSError as error:
        return [0, str(error)]


def read(path):
    return Path(path).read_text(errors="replace")


def write(path, text):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


DOORS = {each.__name__: each for each in (run, press, hold, lamps, fetch, read, write)}


def answer_line(line):
    """Carry out a request, and return the answer as a line."""
    asked = json.loads(line)
    try:
        answer = {
            "id": asked["id"],
            "answer": DOORS[asked["door"]](*asked["with"], **asked["named"]),
        }
    except Exception as error:  # whatever went wrong belongs to whoever asked
        answer = {"id": asked["id"], "error": f"{type(error).__name__}: {error}"}
    return json.dumps(answer).encode() + b"\n"


def serve(number):
    """Answer one caller after the other over the network."""
    with socket.create_server(("", number)) as door:
        while True:
            caller, _ = door.accept()
            with caller, contextlib.suppress(OSError), caller.makefile("rb") as lines:
                for line in lines:
                    caller.sendall(answer_line(line))


def main():
    if len(sys.argv) > 1:
        serve(int(sys.argv[1]))
    while not PORT.exists():
        time.sleep(0.1)
    with PORT.open("r+b", buffering=0) as port:
        rest = b""
        while True:
            got = port.read(65536)
            if not got:
                time.sleep(0.05)  # nobody has the other end
                continue
            *lines, rest = (rest + got).split(b"\n")
            for line in lines:
                data = answer_line(line)
                while data:
                    data = data[port.write(data) :]


if __name__ == "__main__":
    main()
