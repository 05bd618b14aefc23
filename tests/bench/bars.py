"""The bars of the benches: the largest values that may be measured, each with its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Sources of limits.
FEEL = "what people at a table notice"
PI = "a Raspberry Pi with 1 GB must keep up"


@dataclass(frozen=True)
class Bar:
    """A limit for a measured value."""

    name: str
    """The measured value, and its unit."""
    limit: float
    """The largest value of the 99th percentile."""
    source: str
    """Where the limit comes from."""

    def judge(self, samples: Sequence[float]) -> bool:
        """Print the median and the 99th percentile, and return whether the latter keeps the bar."""
        ordered = sorted(samples)
        p50, p99 = ordered[len(ordered) // 2], ordered[int(0.99 * len(ordered))]
        is_kept = p99 <= self.limit
        verdict = "ok" if is_kept else "NOT GOOD ENOUGH"
        print(
            f"{self.name:<50} p50 {p50:8.4g}  p99 {p99:8.4g}  of {len(ordered)} "
            f"(at most {self.limit:g})  {verdict}",
            flush=True,
        )
        return is_kept


KEY_TO_LAMP_MS = Bar("a pad's key -> its lamp, ms", 25.0, FEEL)
PHONE_TO_SCREENS_MS = Bar("a phone's order -> all screens, ms", 80.0, FEEL)
WRONG_TO_NAME_S = Bar("a wrong piece at rest -> its name on all screens, s", 0.7, FEEL)
BUZZER_MS = Bar("end of a turn -> the buzzer's edge, ms", 30.0, FEEL)
CLOCK_DRIFT_MS = Bar("drift of a clock while turns run out, ms", 10.0, FEEL)
FIRST_PAGE_S = Bar("start -> first page, s", 6.0, FEEL)
RESUMED_S = Bar("killed service -> first page, s", 2.0, FEEL)
CAMERA_S = Bar("start -> the camera has read the board, s", 10.0, FEEL)
MEMORY_MB = Bar("memory in play, MB", 170.0, PI)
EVENING_MB = Bar("memory after 20,000 requests and 40 games, MB", 190.0, PI)
GROWTH_MB = Bar("growth over the last half of these requests, MB", 2.0, PI)
IDLE_SHARE = Bar("share of a core while the board lies still", 0.12, PI)
STILL_RATIO = Bar("a still picture, times ArucoDetector's defaults", 1 / 20, PI)
CHANGED_RATIO = Bar("a changed picture, times ArucoDetector's defaults", 1.0, PI)
FIRST_RATIO = Bar("a first picture, times ArucoDetector's defaults", 4.0, PI)
DECISION_S = Bar("a decision of level 3, processor time, s", 2.0, FEEL)
OPPONENT_MB = Bar("memory of an opponent's process, MB", 60.0, PI)
HUB_MB = Bar(
    "hub and NATS with 200 tables and 1,000 watchers, MB", 300.0, "a small server with 1 GB"
)
HUB_TO_WATCHER_MS = Bar("table -> watcher at a hub, ms", 80.0, FEEL)
