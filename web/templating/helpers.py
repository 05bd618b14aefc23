"""The functions and filters of all templates."""

from __future__ import annotations

import contextlib
from collections import deque
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from flask import Flask, request
from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket
from markupsafe import Markup
from werkzeug.local import LocalProxy

from companion.core.drawings import DRAWINGS, ON_PAPER, sprite
from companion.core.i18n import (
    LANGUAGES,
    Sentence,
    current_language,
    current_side_names,
    joined,
    listed,
    say,
    say_n,
    to_owner,
    translate,
)
from companion.core.kit import SEATS
from companion.core.network import dashed_code, short_url
from companion.table.session import Phase
from companion.table.table_view import TableView
from web.rendering import cards, guide, piece_controls, time_line
from web.rendering.board import board_svg, past_board
from web.rendering.board_picture import board_words, scene_of, tones_of
from web.rendering.camera_overlay import seen_svg
from web.rendering.pieces import picture
from web.static_files import static_version
from web.templating.icons import (
    game_picture,
    icon,
    notice_drawing,
    pointing,
    qr_code,
    start_board,
)
from web.templating.phrases import (
    clock_words,
    first_up,
    groups,
    rule_words,
    score_words,
    side_of,
    tenths,
)


def register_template_helpers(app: Flask) -> None:
    """Register the functions and filters of an application's templates."""
    version = static_version()
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.finalize = _translate_output
    app.jinja_env.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    app.jinja_env.globals.update(
        say=say,
        say_n=say_n,
        joined=joined,
        listed=listed,
        current_language=current_language,
        LANGUAGES=LANGUAGES,
        sprite=lambda *names: _sprite(
            names or tuple(name for name in DRAWINGS if name not in ON_PAPER)
        ),
        styles=partial(_styles, version),
        scripts=partial(_scripts, version),
        root=LocalProxy(lambda: request.script_root),
        asset=partial(_asset, version),
        board=_board,
        past_board=past_board,
        words=lambda view: board_words(scene) if (scene := scene_of(view)) else "",
        ic=icon,
        notice_drawing=notice_drawing,
        pointing=pointing,
        cards=cards,
        guide=guide,
        beside=piece_controls,
        time_line=time_line,
        score_words=score_words,
        tones_of=tones_of,
        picture=picture,
        start_board=start_board,
        game_picture=game_picture,
        qr=qr_code,
        seen_svg=seen_svg,
        side_of=side_of,
        SEATS=SEATS,
    )
    app.jinja_env.filters.update(
        clock=clock_words,
        code=dashed_code,
        groups=groups,
        first_up=first_up,
        shown=short_url,
        rule_words=rule_words,
        tenths=tenths,
        t=translate,
        to_owner=to_owner,
    )


_BOARD_CACHE: deque[tuple[object, Markup]] = deque(maxlen=12)
"""Cache of the latest boards: everything on which a drawing depends, and the drawing."""


@lru_cache(maxsize=1)
def _sprite(names: tuple[str, ...]) -> Markup:
    """Return the drawings for a page as one SVG, from which scripts and `use` take them."""
    # the pages' policy forbids style attributes
    return Markup(sprite(names).replace('style="position:absolute"', 'class="sprite"'))


def _asset(version: str, name: str) -> str:
    """Return the versioned address of a static file, which browsers may cache for ever."""
    return f"{request.script_root}/static/{version}/{name}"


def _styles(version: str, *surfaces: str) -> Markup:
    """Return links to the common style sheet and to those of some surfaces: phone, wall or
    owner.
    """
    link = Markup('<link rel="stylesheet" href="{}">\n')
    return Markup().join(
        link.format(_asset(version, f"{name}.css")) for name in ("base", *surfaces)
    )


def _scripts(version: str, *names: str) -> Markup:
    tag = Markup('<script type="module" src="{}"></script>\n')
    return Markup().join(tag.format(_asset(version, f"{name}.js")) for name in names)


def _board(view: TableView, quarters: int = 0) -> Markup:
    """Draw the board of a view, or return the cached drawing if nothing on it has changed."""
    # everything on which the drawing depends
    key = (
        current_language(),
        current_side_names(),
        quarters,
        view.kit,
        view.phase,
        view.board,
        view.turn,
    )
    for known, drawing in tuple(_BOARD_CACHE):
        if known == key:
            return drawing
    scene = scene_of(view)
    drawing = board_svg(scene, quarters) if scene else Markup()
    if view.phase is Phase.OVER and view.match.outcome:
        for seat in view.match.outcome.winners:
            side = view.seats[seat].side
            # the winner's pieces get another drawing, such as a robot that smiles
            if side and side.cheering:
                drawing = Markup(str(drawing).replace(f'#{side.drawing}"', f'#{side.cheering}"'))
    _BOARD_CACHE.append((key, drawing))
    return drawing


def _translate_output(value: Any) -> Any:
    """Translate a sentence to the viewer's language. Return other values unchanged."""
    return translate(value) if isinstance(value, Sentence) else value


class CompiledTemplates(FileSystemBytecodeCache):
    """Cache of compiled templates in a folder. Neither a damaged file nor a full disk stops a page.

    Compiling the templates takes most of the time until the first page of a start is shown.
    """

    def __init__(self, folder: Path) -> None:
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(str(folder))

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket from its file, if that is of the current template."""
        try:
            super().load_bytecode(bucket)
        except Exception:
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write the bucket to its file."""
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)
