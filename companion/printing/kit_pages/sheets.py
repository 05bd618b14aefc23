"""The printable kit of a game: instructions, the board on as many pages as it needs, and the tags
of all pieces.

True millimetres on A4 or Letter, vectors only, a 100 mm ruler on every page. Equal input gives
equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, get_args

from companion.core.errors import Malformed
from companion.core.i18n import LANGUAGES, say, speaking
from companion.core.kit import Kit
from companion.games.aids import Extras
from companion.printing.kit_pages.aid_pages import blocks_of, print_score_sheet
from companion.printing.kit_pages.board_pages import print_board
from companion.printing.kit_pages.deck_pages import (
    card_grid,
    part_title,
    pile_parts,
    print_backs,
    print_fronts,
    print_part,
)
from companion.printing.kit_pages.instructions import print_instructions
from companion.printing.kit_pages.tag_pages import TagPage, print_tag_page, tag_pages, tags_in
from companion.printing.pdf_pen import Pen, tinted
from companion.printing.tiling import Extent, Tiling, Window, board_extent, tile_board

Paper = Literal["a4", "letter", "a3", "a2", "a1"]
SIZES_MM: Mapping[Paper, tuple[float, float]] = {
    "a4": (210.0, 297.0),
    "letter": (215.9, 279.4),
    "a3": (297.0, 420.0),
    "a2": (420.0, 594.0),
    "a1": (594.0, 841.0),
}
"""Upright width and height, ISO 216 and ANSI/ASME Y14.1. Those above A4 are a print shop's."""
MARGIN_MM = 7.0
"""Kept free all round: most printers leave 4 to 6.4 mm white."""
FOOT_MM = 10.0
"""Height of the band with the ruler above the lower margin."""
BACK = "back"
"""Name of a card's back."""

LOW_FOOT_MM = 6.4
"""Height of the ruler and its words themselves: all that pages of cards leave for it."""
_LIGHT = 0.18
"""Share of a side's colour that is left where ink is saved."""


@dataclass(frozen=True)
class KitStyle:
    """How a kit is printed.

    `low_ink` prints the sides' colours lightly and the backs of cards as lines. Markers and board
    stay as they are. `board_only` leaves out everything else.
    """

    paper: Paper = "a4"
    language: str = "en"
    low_ink: bool = False
    board_only: bool = False


@dataclass(frozen=True)
class Sheets:
    """What was printed: `pages` in all, the board on `across` x `down` of them, and the names on
    each page.

    `names` has one entry a page: `("instructions",)`, `("board A1",)`, the faces whose tags are on
    it and the names of what stands below them, places of piles, the names of cards, or as many
    `BACK`s as there are places for them. `kinds` tells each page's kind: `instructions`, `board`,
    `pieces`, `extras`, `places`, `cards` or `backs`.
    """

    pages: int
    across: int
    down: int
    names: tuple[tuple[str, ...], ...]
    kinds: tuple[str, ...] = ()


def kit_pdf(kit: Kit, style: KitStyle | None = None, extras: Extras | None = None) -> bytes:
    """Return the printable kit as a PDF.

    Raises `Malformed` for an unknown paper or language.
    """
    return kit_sheets(kit, style, extras)[0]


def kit_sheets(
    kit: Kit, style: KitStyle | None = None, extras: Extras | None = None
) -> tuple[bytes, Sheets]:
    """Return the printable kit as a PDF, and what is on its pages.

    Raises `Malformed` as `kit_pdf` does.
    """
    style = style or KitStyle()
    require_known(style.paper, style.language)
    with speaking(style.language):
        return _print(kit, style, extras or Extras())


def require_known(paper: str, language: str) -> None:
    """Raise `Malformed` for a paper or a language in which nothing is printed."""
    if paper not in get_args(Paper):
        raise Malformed(say("Paper “{paper}” is unknown: use a4 or letter", paper=paper))
    if language not in LANGUAGES:
        raise Malformed(
            say(
                "Language “{language}” is unknown: use {known}",
                language=language,
                known=", ".join(LANGUAGES),
            )
        )


def kit_plan(kit: Kit, style: KitStyle | None = None, extras: Extras | None = None) -> Sheets:
    """Return what would be printed, without printing it."""
    style = style or KitStyle()
    with speaking(style.language):
        return _sheets(*_pages(kit, style, extras or Extras()), style)


def board_in_one_piece(kit: Kit) -> Paper | None:
    """Return the smallest paper on which the board needs no joint.

    None where none is large enough.
    """
    board = board_extent(kit.board)
    for paper, size in SIZES_MM.items():
        for width, height in (size, size[::-1]):
            if (
                board.width <= width - 2 * MARGIN_MM
                and board.height <= height - 2 * MARGIN_MM - FOOT_MM
            ):
                return paper
    return None


def _tiling(kit: Kit, paper: Paper) -> Tiling:
    width, height = SIZES_MM[paper]
    return tile_board(kit.board, width - 2 * MARGIN_MM, height - 2 * MARGIN_MM, FOOT_MM)


def _sheets(tiling: Tiling, body: Sequence[_Page], style: KitStyle) -> Sheets:
    first = () if style.board_only else ("instructions",)
    names = (*((name,) for name in first), *(page.names for page in body))
    return Sheets(
        len(names), tiling.across, tiling.down, names, (*first, *(page.kind for page in body))
    )


def _pages(kit: Kit, style: KitStyle, extras: Extras) -> tuple[Tiling, list[_Page]]:
    """Return how the board is spread, and all pages below the instructions."""
    tiling = _tiling(kit, style.paper)
    board = list(_board_pages(kit, tiling, style.paper))
    if style.board_only:
        return tiling, board
    room = _room(style.paper, landscape=False)
    pages = tag_pages(kit, tags_in(kit), blocks_of(kit, extras, room), room)
    return tiling, [*board, *_tag_pages(kit, pages), *_deck_pages(kit, style.paper, extras)]


def _print(kit: Kit, style: KitStyle, extras: Extras) -> tuple[bytes, Sheets]:
    if style.low_ink:
        # only the colours of the sides: markers and boards are printed as ever
        sides = {
            seat: replace(side, rgb=tinted(side.rgb, _LIGHT)) for seat, side in kit.sides.items()
        }
        kit = replace(kit, sides=sides)
    tiling, body = _pages(kit, style, extras)
    sheets = _sheets(tiling, body, style)

    pen = Pen(
        *SIZES_MM[style.paper],
        say("{game}: board and pieces", game=kit.title),
        low_ink=style.low_ink,
    )
    if not style.board_only:
        pen.page()
        room = _room(style.paper, landscape=False)
        print_instructions(
            pen,
            kit,
            tiling,
            room,
            kinds=sheets.kinds[1:],
        )
        _foot(pen, say("{game}: instructions", game=kit.title), 1, sheets.pages)
    for number, page in enumerate(body, start=1 if style.board_only else 2):
        pen.page(page.landscape)
        page.draw(pen)
        _foot(pen, say("{game}: {sheet}", game=kit.title, sheet=page.title), number, sheets.pages)
    return pen.bytes(), sheets


@dataclass(frozen=True)
class _Page:
    """A page below the instructions: its kind, the names of what is on it, its own, and what draws
    it.
    """

    kind: str
    names: tuple[str, ...]
    title: str
    draw: Callable[[Pen], None]
    landscape: bool = False


def _board_pages(kit: Kit, tiling: Tiling, paper: Paper) -> Iterator[_Page]:
    room = _room(paper, tiling.landscape)
    for window in tiling.windows:
        name = f"board {window.label}" if tiling.pages > 1 else "board"
        draw = partial(
            print_board,
            kit=kit,
            tiling=tiling,
            window=window,
            room=room,
        )
        yield _Page(
            "board",
            (name,),
            _board_label(tiling, window),
            draw,
            tiling.landscape,
        )


def _tag_pages(kit: Kit, pages: Sequence[TagPage]) -> Iterator[_Page]:
    with_tags = sum(bool(page.cells) for page in pages)
    for number, page in enumerate(pages, start=1):
        kind = "pieces" if page.cells else "extras"
        many = say("Pieces, {number} of {pages}", number=number, pages=with_tags)
        head = say("For the table") if not page.cells else say("Pieces") if with_tags == 1 else many
        foot = say("pieces") if page.cells else say("for the table")
        draw = partial(
            print_tag_page, page=page, kit=kit, title=head, origin=(MARGIN_MM, MARGIN_MM + FOOT_MM)
        )
        yield _Page(kind, page.names, foot, draw)


def _deck_pages(kit: Kit, paper: Paper, extras: Extras) -> Iterator[_Page]:
    """Yield places for piles, beside a seat's own the score sheet, then cards and their backs in
    turn.

    """
    deck = kit.deck
    if deck is None:
        return
    room = _room(paper, landscape=True)
    for part in pile_parts(kit, deck, (room.width, room.height)):
        names = tuple(str(place) for column in part for place in column)
        score = None
        # the page of a seat's own piles has room for the score sheet
        if extras.aids and not part[0][0].lane:
            names = (*names, "score sheet")
            score = partial(print_score_sheet, kit=kit)
        draw = partial(
            print_part,
            kit=kit,
            deck=deck,
            part=part,
            room=room,
            beside=score,
        )
        yield _Page(
            "places",
            names,
            part_title(part),
            draw,
            landscape=True,
        )
    grid = card_grid(deck, SIZES_MM[paper], MARGIN_MM, LOW_FOOT_MM)
    fronts = grid.pages(deck)
    for number, cards in enumerate(fronts, start=1):
        names = tuple(card.name for card in cards)
        # the last page of cards may have cells to spare, which take the rules in brief
        notes = extras.shared_points if number == len(fronts) else ()
        draw = partial(
            print_fronts,
            deck=deck,
            grid=grid,
            cards=cards,
            notes=notes,
        )
        title = say("cards, {number} of {pages}", number=number, pages=len(fronts))
        yield _Page(
            "cards",
            names,
            title,
            draw,
            grid.landscape,
        )
        draw = partial(print_backs, grid=grid)
        title = say("backs, {number} of {pages}", number=number, pages=len(fronts))
        yield _Page(
            "backs",
            (BACK,) * grid.size,
            title,
            draw,
            grid.landscape,
        )


def _room(paper: Paper, landscape: bool) -> Extent:
    """Return what a page has within its margins and above its foot."""
    width, height = SIZES_MM[paper][:: -1 if landscape else 1]
    return Extent(MARGIN_MM, MARGIN_MM + FOOT_MM, width - MARGIN_MM, height - MARGIN_MM)


def _board_label(tiling: Tiling, window: Window) -> str:
    """Return a page's name, such as “board A1 of A1-B2”."""
    if tiling.pages == 1:
        return say("board")
    return say("board {page} of A1-{last}", page=window.label, last=tiling.windows[-1].label)


def _foot(pen: Pen, words: str, page: int, pages: int) -> None:
    """Draw the ruler and the page's name, on every page at the same place."""
    pen.ruler(MARGIN_MM, MARGIN_MM)
    # right of the ruler, which is 100 mm long
    x = MARGIN_MM + 104
    right = pen.width_mm - MARGIN_MM
    counted = say("{page} of {pages}", page=page, pages=pages)
    room = (
        right
        - x
        - pen.text(
            right,
            MARGIN_MM + 3.3,
            counted,
            3.2,
            anchor="right",
        )
        - 3
    )
    pen.text(
        x,
        MARGIN_MM + 3.3,
        words,
        3.2,
        bold=True,
        room=room,
    )
    pen.text(
        x,
        MARGIN_MM + 0.6,
        say("Print at 100 %. The black and white bar is 100 mm long."),
        2.8,
        room=right - x,
    )
