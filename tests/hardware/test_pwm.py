"""The process that dims lamps and sounds tones: its waves on a clock that is told when to move, and the process itself."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
from collections import defaultdict

import pytest

from hardware.pins import pwm
from hardware.pins.pwm import MESSAGE, Waves, serve

WAIT_S = 10.0


class Lines:
    """What lines were given, and when; runs waves from edge to edge, each so much too late."""

    def __init__(self, late_s: float = 0.0) -> None:
        self.edges: dict[int, list[tuple[float, bool]]] = defaultdict(list)
        self.waves = Waves(lambda handle, is_high: self.edges[handle].append((self.now_s, is_high)))
        self.now_s, self.wakes, self._late_s = 10.0, 0, late_s
        self.next_s = 10.0

    def put(self, handle: int, hz: float, share: float) -> None:
        self.waves.put(handle, hz, share, self.now_s)
        self.next_s = self.waves.step(self.now_s)

    def run(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        while self.next_s + self._late_s < end_s:
            self.now_s = self.next_s + self._late_s
            self.next_s = self.waves.step(self.now_s)
            self.wakes += 1
        self.now_s = end_s

    def share(self, handle: int, since_s: float) -> float:
        """How much of the time since then a line was high."""
        edges = [*self.edges[handle], (self.now_s, False)]
        spans = itertools.pairwise(edges)
        high_s = sum(max(0.0, end_s - max(at_s, since_s)) for (at_s, is_high), (end_s, _) in spans if is_high)
        return high_s / (self.now_s - since_s)


@pytest.mark.parametrize("share", [0.01, 0.4, 0.5, 0.99])
@pytest.mark.parametrize("late_s", [0.0, 0.0004])
def test_a_line_is_high_for_its_share_of_the_time_also_where_it_is_woken_late(share: float, late_s: float) -> None:
    lines = Lines(late_s)
    lines.put(5, 200, share)
    lines.run(0.1)
    began_s = lines.now_s
    lines.run(1.0)
    assert lines.share(5, began_s) == pytest.approx(share, abs=0.005 + 200 * late_s)
    assert lines.wakes <= 443, "twice a cycle, and no more"


def test_a_tone_has_its_frequency_and_begins_at_once() -> None:
    lines = Lines()
    lines.put(18, 1760, 0.0)
    assert lines.edges[18] == [(10.0, False)]
    lines.run(0.0123)
    lines.put(18, 880.0, 0.5)
    lines.run(1.0)
    rises = [at_s for at_s, is_high in lines.edges[18] if is_high]
    assert rises[0] == pytest.approx(10.0123, abs=1e-6)
    assert len(rises) == pytest.approx(880, abs=1)
    assert [b - a for a, b in itertools.pairwise(rises)] == pytest.approx([1 / 880] * (len(rises) - 1), abs=1e-5)


def test_lines_of_one_frequency_wake_the_processor_together() -> None:
    lines = Lines()
    for handle in range(8):
        lines.put(handle, 200, 0.4)
        lines.run(0.0007)
    lines.wakes = 0
    lines.run(1.0)
    assert lines.wakes == pytest.approx(400, abs=2)


def test_a_lamp_that_swells_goes_on_in_step() -> None:
    lines = Lines()
    for step in range(1, 50):
        lines.put(4, 200, step / 100)
        lines.put(27, 200, 0.2)
        lines.run(0.02)
    rises = [at_s for at_s, is_high in lines.edges[4] if is_high]
    assert [b - a for a, b in itertools.pairwise(rises)] == pytest.approx([0.005] * (len(rises) - 1), abs=1e-5)
    began_s = lines.now_s
    lines.run(1.0)
    assert lines.share(4, began_s) == pytest.approx(0.49, abs=0.005)


def test_a_steady_line_and_one_that_was_given_back_wake_nobody() -> None:
    lines = Lines()
    lines.put(5, 200, 0.4)
    lines.put(6, 0, 1.0)
    lines.put(7, 200, 1.0)
    lines.put(5, 0, 0.0)
    lines.run(1.0)
    assert (lines.wakes, lines.edges[5][-1][1], lines.edges[6], lines.edges[7]) == (
        0,
        False,
        [(10, True)],
        [(10, True)],
    )
    lines.put(5, 200, 0.4)
    lines.waves.drop(5)
    count = len(lines.edges[5])
    assert lines.waves.step(lines.now_s + 1) == float("inf")
    assert len(lines.edges[5]) == count


def test_one_that_slept_does_not_make_up_for_the_edges_that_it_missed() -> None:
    lines = Lines()
    lines.put(5, 200, 0.5)
    lines.now_s += 60.0004
    count = len(lines.edges[5])
    assert lines.waves.step(lines.now_s) - lines.now_s < 0.005
    assert len(lines.edges[5]) - count <= 1


# ---- the process -------------------------------------------------------------------------------------------------


def test_lines_come_over_the_socket_and_are_let_go_before_the_answer() -> None:
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line, other_end = os.pipe()
    written: list[bool] = []
    with near, far:
        socket.send_fds(near, [MESSAGE.pack(17, 0.0, 1.0)], [other_end])
        near.send(MESSAGE.pack(17, 0.0, 0.0))
        near.send(MESSAGE.pack(17, -1.0, 0.0))
        near.send(MESSAGE.pack(18, -1.0, 0.0))
        near.shutdown(socket.SHUT_WR)
        os.close(other_end)
        serve(far, lambda _, is_high: written.append(is_high))
        assert (near.recv(8), near.recv(8)) == (b"\0", b"\0")
    assert written == [True, False]
    assert os.read(line, 1) == b"", "nobody holds the other end any more"
    os.close(line)


def test_the_process_outlives_a_signal_to_its_group_and_ends_with_its_service() -> None:
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with near, far:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", pwm.__file__, str(far.fileno())], pass_fds=[far.fileno()]
        )
        far.close()
        near.settimeout(WAIT_S)
        near.send(MESSAGE.pack(4, -1.0, 0.0))
        assert near.recv(8) == b"\0"
        for ending in (signal.SIGTERM, signal.SIGINT):
            process.send_signal(ending)
        near.send(MESSAGE.pack(4, -1.0, 0.0))
        assert near.recv(8) == b"\0"
    assert process.wait(WAIT_S) == 0
