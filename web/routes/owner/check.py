"""The check of keys, lamps and tones, one by one, on the page Health."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from flask import Response

from companion.core.errors import Malformed, wrong_phase
from companion.core.event_cues import EventCue
from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.core.ports import Cue
from companion.games import event_cues
from companion.maintenance.panel_check import PanelCheck, PanelCheckFeature
from web.rendering.answers import TrialJson
from web.rendering.json_view import build_answer
from web.routes.api.body import ShortText
from web.routes.route import TableRouteGroup, get, host_only, post
from web.server.sse import Audience, format_event

# Interval in seconds at which an open page looks for pressed keys.
POLL_INTERVAL_S = 0.05
# Interval in seconds at which the stream of an open page prolongs the check.
RENEW_INTERVAL_S = 2.0

# Notice on all pages during the check.
CHECK_NOTICE = say("The keys of the pads are being tried out: they do nothing else now.")

Labels = Mapping[Cue | EventCue, str]
# The most important cues (tones with lamps) of the table. People hear all others in a game.
_CUES_OF_THE_TABLE: Labels = {
    Cue.AWAKE: say("The table is awake"),
    Cue.ORDERS_WANTED: say("Orders are due"),
    Cue.KEY_REFUSED: say("A key is refused"),
    Cue.BOARD_WRONG: say("The board is wrong"),
    Cue.TIME_OUT: say("Time is up"),
    Cue.WON: say("Won"),
}


def cue_labels() -> Labels:
    """Return the cues that can be tried, of the table and of events, with their labels."""
    of_events: Labels = {cue: cue.words for cue in event_cues() if cue.words}
    return {**_CUES_OF_THE_TABLE, **of_events}


@dataclass
class PanelTrials(TableRouteGroup):
    """The routes of the panel's check.

    During the check keys and lamps belong to the check, and not to the table. Only the owner may
    use these routes, because keys that players press may be secret.
    """

    name = "check"
    feature: PanelCheckFeature

    @get("/live/check", guard=host_only)
    def live(self) -> Response:
        """Stream pressed keys and lit lamps. The check continues while the stream is open."""
        panel = self._require_panel()
        sent_trial: TrialJson | None = None
        renewed_at_s = time.monotonic()

        def next_messages() -> str:
            nonlocal sent_trial, renewed_at_s
            now_s = time.monotonic()
            # a game that starts takes the keys back
            if self.page_context.is_game_on:
                panel.end()
            elif now_s - renewed_at_s > RENEW_INTERVAL_S:
                # the check expires by itself once no stream renews it
                renewed_at_s = now_s
                panel.renew()
            trial = build_answer(TrialJson, panel.state())
            if trial == sent_trial:
                return ""
            if sent_trial is None or trial["on"] != sent_trial["on"]:
                self._table.set_notice("trial", CHECK_NOTICE if trial["on"] else "")
            sent_trial = trial
            return format_event(json.dumps(trial), "trial")

        on_close = partial(self._end_check, panel)
        pause = partial(time.sleep, POLL_INTERVAL_S)
        return self._streams.stream(next_messages, pause, Audience.SEAT, on_close)

    def _end_check(self, panel: PanelCheck) -> None:
        panel.end()
        self._table.set_notice("trial", "")

    # ---- actions ----

    @post("/api/check/begin", guard=host_only)
    def begin(self) -> TrialJson:
        """Start the check. Raises `Illegal` while a game is on."""
        return self._run(lambda panel: panel.begin())

    @post("/api/check/end", guard=host_only)
    def end(self) -> None:
        """Return keys and lamps to the table."""
        self._require_panel().end()

    @post("/api/check/light", guard=host_only)
    def light(self, lamp: ShortText, on: bool) -> TrialJson:
        """Switch a lamp on or off. Raises `Malformed` for an unknown lamp."""
        if lamp not in self._require_panel().lamps:
            raise Malformed(say("There is no lamp {name}", name=lamp))
        return self._run(lambda panel: panel.light(lamp, on))

    @post("/api/check/play", guard=host_only)
    def play(self, cue: ShortText) -> TrialJson:
        """Play a cue with its tone and lamps. Raises `Malformed` for an unknown cue."""
        cues_by_name = {str(offered): offered for offered in cue_labels()}
        if cue not in cues_by_name:
            raise Malformed(say("There is no cue {name}", name=cue))
        return self._run(lambda panel: panel.play(cues_by_name[cue], frozenset(SEATS)))

    # ---- inside ----

    def _run(self, act: Callable[[PanelCheck], None]) -> TrialJson:
        """Call `act` with the check of the panel, and return the check's state.

        Raises `Illegal` while a game is on.
        """
        panel = self._require_panel()
        if self.page_context.is_game_on:
            raise wrong_phase(
                say("A game is on, and its keys belong to the players. Check between games."),
            )
        act(panel)
        return build_answer(TrialJson, panel.state())

    def _require_panel(self) -> PanelCheck:
        """Return the check of the panel. Raises `Illegal` if there are no pads."""
        if self.feature.panel is None:
            raise wrong_phase(self.feature.why_not or say("No pads: phones only."))
        return self.feature.panel
