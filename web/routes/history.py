"""The pages of past games: list, replay, statistics, files to download and upload, and films.

A replay consists of scenes. A scene is the board after a stage of a turn, and scene 0 is the start
of the game.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from flask import Response, make_response, redirect, render_template, request
from markupsafe import Markup
from msgspec import Meta
from werkzeug.exceptions import NotFound, RequestEntityTooLarge

from companion.archive.finale import turns_to_review
from companion.archive.history import History
from companion.archive.played_games import (
    MAX_GAME_BYTES,
    Ending,
    GameLine,
    ReplayScene,
)
from companion.archive.replay import Replay
from companion.bots.coach import Hint
from companion.core.errors import Malformed
from companion.core.i18n import (
    current_language,
    say,
    set_language,
    side_names,
    translate,
)
from companion.core.kit import SEATS, Seat
from companion.table.session import player_names_by_side
from web.rendering.answers import GamesJson, NameForgotten
from web.rendering.board import board_svg
from web.rendering.board_picture import picture_from_scene
from web.rendering.json_view import to_builtins
from web.routes.api.body import ShortText
from web.routes.route import TableRouteGroup, attachment, form, get, host_only, post

# Number of games per page of the list.
GAMES_PER_PAGE = 50
# Maximum size of what a form adds to the file that it uploads.
_FORM_BYTES = 4096
# The text for each ending of a game, if the game has no reason of its own.
_ENDING_WORDS = {
    Ending.ON: say("Still on"),
    Ending.TIE: say("A draw"),
    Ending.ABANDONED: say("Ended early"),
    Ending.UNFINISHED: say("Never finished"),
    Ending.BROKEN: say("Cannot be read"),
}


@dataclass
class HistoryPages(TableRouteGroup):
    """The routes under `/history`. Everybody may read, but only the owner may change anything."""

    name = "history"
    history: History
    # The coach's judgements by turn and seat, for every replay that is in memory.
    _reviews: WeakKeyDictionary[Replay, dict[int, Mapping[Seat, Hint]]] = field(
        default_factory=WeakKeyDictionary
    )

    # ---- the list ----

    @get("/history")
    def games(self, error: str = "") -> str:
        """Show all games, newest first, in pages of fifty, and the statistics of players."""
        page_number, lines = self._page_of_games()
        count = self.history.count()
        records = self.history.statistics()
        return render_template(
            "history.html",
            lines=lines,
            page=page_number,
            pages=max(math.ceil(count / GAMES_PER_PAGE), 1),
            count=count,
            is_host=self._auth.is_host(),
            error=error,
            duration_words=duration_words,
            result_words=self._result_words,
            records=records,
            most=max((record.total.games for record in records), default=1),
        )

    @get("/api/history")
    def api_games(self) -> GamesJson:
        """Return one page of the list for programs. The query `page` is its number, from 1."""
        _, lines = self._page_of_games()
        return {"count": self.history.count(), "games": to_builtins(lines)}

    def _page_of_games(self) -> tuple[int, Sequence[GameLine]]:
        """Return the number of the requested page, and the games on it."""
        page_number = max(request.args.get("page", 1, type=int), 1)
        return page_number, self.history.lines((page_number - 1) * GAMES_PER_PAGE, GAMES_PER_PAGE)

    @form("/history", file="file", guard=host_only, form_page="games", endpoint="bring_in")
    def import_game(self) -> Any:
        """Import a game from a file and show its replay. If it is wrong, the list says why."""
        # the file of a game is larger than the default limit of a request
        request.max_content_length = request.max_form_memory_size = MAX_GAME_BYTES + _FORM_BYTES
        try:
            file = request.files.get("file")
        except RequestEntityTooLarge:
            text = say("A game file may have at most {number} bytes", number=MAX_GAME_BYTES)
            raise Malformed(text) from None
        if file is None or not file.filename:
            raise Malformed(say("Choose a file first"))
        with file.stream:
            number = self.history.import_game(file.read())
        return redirect(f"/history/{number}", 303)

    @post("/api/history/remove", guard=host_only)
    def remove(self, number: Annotated[int, Meta(ge=1)]) -> None:
        """Remove a game with its photographs."""
        self.history.remove(number)

    @post("/api/history/forget", guard=host_only)
    def forget(self, name: ShortText) -> NameForgotten:
        """Remove a name from all games."""
        return {"games": self.history.forget(name)}

    # ---- one game ----

    @get("/history/<int:number>")
    def game(self, number: int) -> str:
        """Show the replay of a finished game at the scene of the query `at`.

        A game without a replay has a page, too, which says why.
        """
        line = self._require_line(number)
        # from here on, sentences call the sides by the names of the game's players
        set_language(current_language(), self._players_by_side(line))
        scene_values: dict[str, Any] = {"replay": None}
        if line.has_replay:
            replay = self.history.replay(number)
            requested = request.args.get("at", 0, type=int)
            scene_index = min(max(requested, 0), replay.scene_count - 1)
            scene_values = self._scene_values(replay, scene_index)
        return render_template(
            "game.html",
            line=line,
            game=self._games.get(line.game),
            is_host=self._auth.is_host(),
            duration_words=duration_words,
            result_words=self._result_words,
            **scene_values,
        )

    @get("/history/<int:number>/scene/<int:place>")
    def scene(self, number: int, place: int) -> str:
        """Return one scene of a replay as a fragment of its page. Raises `NotFound`.

        `place` is the index of the scene.
        """
        replay = self._replay(number)
        if place >= replay.scene_count:
            raise NotFound
        game = self._games.get(replay.line.game)
        return render_template(
            "_scene.html", line=replay.line, game=game, **self._scene_values(replay, place)
        )

    @get("/history/<int:number>/turn/<int:turn>/better", endpoint="better")
    def review_turn(self, number: int, turn: int) -> str:
        """Return the coach's judgement of both seats' actions in a turn, as a fragment.

        Raises `NotFound` without a coach, and for a turn that is not worth a review.
        """
        replay = self._replay(number)
        coach = self._features.coach
        if coach is None or turn not in turns_to_review(replay.leads, replay.line.winners):
            raise NotFound
        reviews = self._reviews.setdefault(replay, {})
        if turn not in reviews:
            views_and_actions = {seat: replay.decision_of(turn, seat) for seat in SEATS}
            # a seat that did nothing in this turn has no view and action, and is not judged
            reviews[turn] = {
                seat: coach.review(*view_and_action, replay.spell_action)
                for seat, view_and_action in views_and_actions.items()
                if view_and_action
            }
        return render_template("_better.html", advices=reviews[turn], replay=replay)

    def _has_review(self, replay: Replay, scene_index: int, turn: int) -> bool:
        """Return whether a scene is the end of a turn that the coach can judge.

        `turn` is the number of the scene's turn in the replay, or 0 before the first turn.
        """
        if self._features.coach is None or not turn:
            return False
        is_end = scene_index == replay.turns[turn - 1].last_scene
        return is_end and turn in turns_to_review(replay.leads, replay.line.winners)

    def _scene_values(self, replay: Replay, scene_index: int) -> dict[str, Any]:
        """Return the template values of a scene."""
        scene = replay.scene(scene_index)
        turn = replay.turns[scene.turn - 1] if scene.turn else None
        has_camera = self._features.camera is not None
        return {
            "replay": replay,
            "scene": scene,
            "turn": turn,
            "photograph": replay.photograph_moment(scene.turn) if has_camera else "",
            "scene_board": scene_board,
            "at": scene_index,
            "has_better": self._has_review(replay, scene_index, scene.turn),
        }

    def _replay(self, number: int) -> Replay:
        """Return the replay of a game.

        From then on, sentences of this answer call the sides by the names of the game's players.
        Raises `NotFound` for an unknown game, `Illegal` if the game is not over, and `Malformed` if
        it cannot be read.
        """
        replay = self.history.replay(self._require_line(number).number)
        set_language(current_language(), self._players_by_side(replay.line))
        return replay

    def _players_by_side(self, line: GameLine) -> Mapping[str, str]:
        """Return the name of each side's last player, by the name of the side."""
        last = {seat: player.name for seat, player in line.last_players.items()}
        return player_names_by_side(self._games.get(line.game), last)

    def _result_words(self, line: GameLine) -> str:
        """Return how a game has ended, with its players' names, in the language of the request."""
        with side_names(self._players_by_side(line)):
            return translate(line.reason or _ENDING_WORDS.get(line.ending, ""))

    def _require_line(self, number: int) -> GameLine:
        """Return a game's line in the list. Raises `NotFound`."""
        line = self.history.line(number)
        if line is None:
            raise NotFound
        return line

    # ---- files ----

    @get("/history/<int:number>.json")
    def as_json(self, number: int) -> Response:
        """Return a finished game as a file."""
        content = self.history.as_json(self._require_line(number).number)
        return attachment(content, "application/json", f"game-{number}.json")

    @get("/history/<int:number>.txt")
    def as_text(self, number: int) -> Response:
        """Return a finished game in notation."""
        text = self.history.as_text(self._require_line(number).number)
        return attachment(text.encode(), "text/plain; charset=utf-8", f"game-{number}.txt")

    @get("/history/<int:number>.webp")
    def picture(self, number: int) -> Response:
        """Return a finished game as a moving picture of its board."""
        game = self._require_line(number).number
        picture = self._run_in_worker(lambda: self.history.picture(game))
        return Response(picture, mimetype="image/webp")

    # ---- an old address ----

    @get("/statistics")
    def old_address(self) -> Response:
        """Redirect to the list of games, which has the statistics below it."""
        return make_response(redirect("/history#players"))


# ---- words and drawings --------------------------------------------------------------------------


def duration_words(duration_s: float) -> str:
    """Format the duration of a game. Empty for 0."""
    if not duration_s:
        return ""
    minutes = round(duration_s / 60)
    if minutes < 1:
        return say("{seconds} s", seconds=round(duration_s))
    if minutes < 60:
        return say("{minutes} min", minutes=minutes)
    return say("{hours} h {minutes} min", hours=minutes // 60, minutes=minutes % 60)


def scene_board(replay: Replay, scene: ReplayScene) -> Markup:
    """Draw the board of a scene, with bounces and shots."""
    return board_svg(picture_from_scene(replay.kit, scene))
