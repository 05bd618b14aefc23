"""The environment of templates: their functions and filters, and the cache of compiled ones.

Functions and filters have the same names in templates as in Python, without a leading underscore.
The only exception is the filter `t`, which translates.
"""

from __future__ import annotations

import contextlib
from collections import deque
from functools import cache, partial
from pathlib import Path
from typing import Any

from flask import Flask, request
from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket
from markupsafe import Markup
from werkzeug.local import LocalProxy

from companion.core.drawings import DRAWINGS, PRINT_ONLY, sprite
from companion.core.i18n import (
    LANGUAGES,
    Sentence,
    current_language,
    current_side_names,
    joined,
    listed,
    say,
    say_n,
    strip_addressee,
    translate,
)
from companion.core.kit import SEATS
from companion.core.network import format_code, short_url
from companion.table.session import Phase
from companion.table.table_view import TableView
from web.rendering import cards, guide, piece_controls, time_line
from web.rendering.beats import encode_tones
from web.rendering.board import board_svg, past_board
from web.rendering.board_picture import picture_from_view
from web.rendering.camera_overlay import overlay_svg
from web.rendering.pieces import piece_icon
from web.static_files import static_version
from web.templating.icons import (
    game_picture,
    icon,
    notice_drawing,
    qr_code,
    rotated_icon,
    start_board,
)
from web.templating.phrases import (
    date_words,
    groups_of_four,
    rule_words,
    score_words,
    side_of,
    tenths,
    time_of_day,
    upper_first,
)

# Cache of the latest boards. Each entry has everything on which a drawing depends, and the drawing.
#
# Twelve are enough for four kinds of pages (two seats, table screen, spectators) in three
# languages. With fewer entries, a board that several people look at may be drawn more than once,
# which takes 0.1 ms each time. All threads share the deque without a lock, because any
# thread may append to a deque.
_BOARD_CACHE: deque[tuple[object, Markup]] = deque(maxlen=12)


def prepare_templates(app: Flask) -> None:
    """Set up an application's templates: functions, filters, and how values are rendered."""
    version = static_version()
    templates = app.jinja_env
    templates.trim_blocks = templates.lstrip_blocks = True
    templates.finalize = _translate_output
    templates.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    templates.globals.update(
        say=say,
        say_n=say_n,
        joined=joined,
        listed=listed,
        current_language=current_language,
        LANGUAGES=LANGUAGES,
        sprite=_sprite,
        styles=partial(_styles, version),
        scripts=partial(_scripts, version),
        # the prefix of all addresses, which is not empty behind a reverse proxy with a path
        root=LocalProxy(partial(getattr, request, "script_root")),
        asset=partial(_asset, version),
        current_board=_current_board,
        past_board=past_board,
        icon=icon,
        notice_drawing=notice_drawing,
        rotated_icon=rotated_icon,
        cards=cards,
        guide=guide,
        piece_controls=piece_controls,
        time_line=time_line,
        date_words=date_words,
        score_words=score_words,
        encode_tones=encode_tones,
        piece_icon=piece_icon,
        start_board=start_board,
        game_picture=game_picture,
        qr_code=qr_code,
        overlay_svg=overlay_svg,
        side_of=side_of,
        SEATS=SEATS,
    )
    templates.filters.update(
        format_code=format_code,
        groups_of_four=groups_of_four,
        rule_words=rule_words,
        short_url=short_url,
        tenths=tenths,
        time_of_day=time_of_day,
        upper_first=upper_first,
        t=translate,
        strip_addressee=strip_addressee,
    )


@cache
def _sprite() -> Markup:
    """Return the drawings of all pages as one SVG, from which `use` and scripts take them."""
    names = [name for name in DRAWINGS if name not in PRINT_ONLY]
    # the pages' security policy forbids style attributes, so a class hides the SVG
    return Markup(sprite(names).replace('style="position:absolute"', 'class="sprite"'))


def _asset(version: str, name: str) -> str:
    """Return the versioned address of a static file, which browsers may cache forever."""
    return f"{request.script_root}/static/{version}/{name}"


def _styles(version: str, *surfaces: str) -> Markup:
    """Return links to the style sheet of all pages and to those of surfaces: phone, wall, owner."""
    link = Markup('<link rel="stylesheet" href="{}">\n')
    return Markup().join(
        link.format(_asset(version, f"{name}.css")) for name in ("base", *surfaces)
    )


def _scripts(version: str, *names: str) -> Markup:
    tag = Markup('<script type="module" src="{}"></script>\n')
    return Markup().join(tag.format(_asset(version, f"{name}.js")) for name in names)


def _current_board(view: TableView, quarters: int = 0) -> Markup:
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
    for cached_key, drawing in tuple(_BOARD_CACHE):
        if cached_key == key:
            return drawing
    picture = picture_from_view(view)
    drawing = board_svg(picture, quarters) if picture else Markup()
    if view.phase is Phase.OVER and view.match.outcome:
        for seat in view.match.outcome.winners:
            side = view.seats[seat].side
            # the main pieces of the winner get another drawing, such as a robot that smiles
            if side and side.cheering:
                drawing = Markup(str(drawing).replace(f'#{side.drawing}"', f'#{side.cheering}"'))
    _BOARD_CACHE.append((key, drawing))
    return drawing


def _translate_output(value: Any) -> Any:
    """Translate a sentence to the viewer's language. Return other values unchanged."""
    return translate(value) if isinstance(value, Sentence) else value


class CompiledTemplates(FileSystemBytecodeCache):
    """Cache of compiled templates in a folder. Neither a damaged file nor a full disk stops a page.

    Compiling the templates would take most of the time until the first page after a start is shown.
    """

    def __init__(self, folder: Path) -> None:
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(str(folder))

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket (one template's code) from its file, unless that is old or damaged."""
        try:
            super().load_bytecode(bucket)
        except Exception:
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write the bucket to its file."""
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)
