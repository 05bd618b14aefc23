"""The agent inside the guest: it carries out the requests that the tests send to the machine.

A request is one line of JSON over a virtio port, and so is its answer. `FUNCTIONS` lists what can
be requested. The agent is not part of the product, and needs no network. On a machine without
virtio ports it is started with the number of a TCP port, on which it listens instead.
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
    """Return the folder with the lines of the simulated bank of pins."""
    return next(Path("/sys/devices/platform").glob("gpio-sim.*/gpiochip*/sim_gpio0")).parent


def run(argv, timeout_s=60, text=""):
    """Run a command, and return its exit status and both outputs."""
    done = subprocess.run(
        argv, input=text, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


def press(key_pins, hold_s=0.08, pause_s=0.08):
    """Press and release the keys at these pins one after the other.

    A key connects its pin to ground, so a pressed key pulls the pin down.
    """
    bank = pins()
    for pin in key_pins:
        (bank / f"sim_gpio{pin}/pull").write_text("pull-down")
        time.sleep(hold_s)
        (bank / f"sim_gpio{pin}/pull").write_text("pull-up")
        time.sleep(pause_s)


def hold(pin, down=True):
    """Press the key at a pin and hold it, or with `down=False` release it."""
    (pins() / f"sim_gpio{pin}/pull").write_text("pull-down" if down else "pull-up")


def lamps(lamp_pins, times=1, pause_s=0.0):
    """Read the levels of these pins `times` times, because lamps blink.

    Return a list of levels for each time.
    """
    bank, samples = pins(), []
    for _ in range(times):
        samples.append([int((bank / f"sim_gpio{pin}/value").read_text()) for pin in lamp_pins])
        time.sleep(pause_s)
    return samples


def fetch(url):
    """Return the status and the text of a page. The status is 0 if nobody answers."""
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


FUNCTIONS = {
    function.__name__: function for function in (run, press, hold, lamps, fetch, read, write)
}


def answer_line(line):
    """Carry out a request, and return the answer as a line."""
    request = json.loads(line)
    try:
        function = FUNCTIONS[request["function"]]
        result = function(*request["arguments"], **request["keywords"])
        answer = {"id": request["id"], "answer": result}
    except Exception as error:  # the test that sent the request has to see any error
        answer = {"id": request["id"], "error": f"{type(error).__name__}: {error}"}
    return json.dumps(answer).encode() + b"\n"


def serve(port):
    """Answer one caller after the other on a TCP port."""
    with socket.create_server(("", port)) as listener:
        while True:
            caller, _ = listener.accept()
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
                time.sleep(0.05)  # no test has opened the other end
                continue
            *lines, rest = (rest + got).split(b"\n")
            for line in lines:
                data = answer_line(line)
                while data:
                    data = data[port.write(data) :]


if __name__ == "__main__":
    main()
