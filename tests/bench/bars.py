"""The bars of the benches: the largest values that may be measured, each with its source.

A bench passes its samples to `Bar.judge`, which prints them and says whether the bar is kept. The
benches of reading compare a ratio of two medians with `Bar.limit` instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Where limits come from.
PEOPLE_NOTICE = "what people at a table notice"
PI_KEEPS_UP = "a Raspberry Pi with 1 GB must keep up"


@dataclass(frozen=True)
class Bar:
    """A limit for a measured value."""

    name: str
    """The measured value, and its unit."""
    limit: float
    """The largest permitted value, in the unit that `name` ends with."""
    source: str
    """Where the limit comes from."""

    def judge(self, samples: Sequence[float]) -> bool:
        """Print the median and the 99th percentile of the samples.

        Return whether the 99th percentile is at most the limit.
        """
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


KEY_TO_LAMP_BAR = Bar("a pad's key -> its lamp, ms", 25.0, PEOPLE_NOTICE)
PHONE_TO_SCREENS_BAR = Bar("a phone's order -> all screens, ms", 80.0, PEOPLE_NOTICE)
WRONG_TO_NAME_BAR = Bar("a wrong piece at rest -> its name on all screens, s", 0.7, PEOPLE_NOTICE)
BUZZER_BAR = Bar("end of a turn -> the buzzer's edge, ms", 30.0, PEOPLE_NOTICE)
CLOCK_DRIFT_BAR = Bar("drift of a clock while turns run out, ms", 10.0, PEOPLE_NOTICE)
FIRST_PAGE_BAR = Bar("start -> first page, s", 6.0, PEOPLE_NOTICE)
RESUMED_BAR = Bar("killed service -> first page, s", 2.0, PEOPLE_NOTICE)
CAMERA_BAR = Bar("start -> the camera has read the board, s", 10.0, PEOPLE_NOTICE)
MEMORY_BAR = Bar("memory in play, MB", 170.0, PI_KEEPS_UP)
EVENING_BAR = Bar("memory after 20,000 requests and 40 games, MB", 190.0, PI_KEEPS_UP)
GROWTH_BAR = Bar("growth over the last half of these requests, MB", 2.0, PI_KEEPS_UP)
IDLE_BAR = Bar("share of a core while the board lies still", 0.12, PI_KEEPS_UP)
STILL_PICTURE_BAR = Bar("a still picture, times ArucoDetector's defaults", 1 / 20, PI_KEEPS_UP)
CHANGED_PICTURE_BAR = Bar("a changed picture, times ArucoDetector's defaults", 1.0, PI_KEEPS_UP)
FIRST_PICTURE_BAR = Bar("a first picture, times ArucoDetector's defaults", 4.0, PI_KEEPS_UP)
DECISION_BAR = Bar("a decision of level 3, processor time, s", 2.0, PEOPLE_NOTICE)
OPPONENT_BAR = Bar("memory of an opponent's process, MB", 60.0, PI_KEEPS_UP)
HUB_BAR = Bar(
    "hub and NATS with 200 tables and 1,000 watchers, MB", 300.0, "a small server with 1 GB"
)
HUB_TO_WATCHER_BAR = Bar("table -> watcher at a hub, ms", 80.0, PEOPLE_NOTICE)
