"""The printable kit of a game: instructions, the board on as many pages as it needs, the tags of
all pieces, and the cards.

Everything is drawn in true millimetres and as vectors. Every page has a ruler of 100 mm. Equal
input gives equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from companion.core.i18n import in_language, say
from companion.core.kit import Kit
from companion.games.aids import Extras
from companion.printing.kit_pages.aid_pages import draw_score_sheet, page_parts
from companion.printing.kit_pages.board_pages import draw_board
from companion.printing.kit_pages.deck_pages import (
    card_grid,
    draw_backs,
    draw_fronts,
    draw_pile_page,
    pile_page_title,
    pile_pages,
)
from companion.printing.kit_pages.instructions import draw_instructions
from companion.printing.kit_pages.tag_pages import draw_tag_page, tag_pages
from companion.printing.pdf_pen import Pen, tint
from companion.printing.shared_drawings import draw_foot
from companion.printing.tiling import (
    FOOT_MM,
    MARGIN_MM,
    PAPER_SIZES_MM,
    Paper,
    Tiling,
    board_extent,
    page_size,
    printable_area,
    tile_board,
)

# Name of a card's back in `Page.names`.
BACK = "back"

# Share of a side's colour that remains with `KitStyle.low_ink`. Chosen by eye.
_LOW_INK_SHARE = 0.18


class KitStyle(NamedTuple):
    """How a kit is printed."""

    paper: Paper = "a4"
    language: str = "en"
    """One of `companion.core.i18n.LANGUAGES`."""
    low_ink: bool = False
    """Whether to save ink: the sides' colours are light, and the backs of cards are thin lines.
    Markers and boards are printed as always.
    """
    board_only: bool = False
    """Whether everything but the board is left out."""


class Page(NamedTuple):
    """One page of a kit."""

    kind: str
    """`instructions`, `board`, `pieces`, `extras`, `places`, `cards` or `backs`."""
    names: tuple[str, ...]
    """Names of the things on the page. They are `board A1`, the faces of tags and what is below
    them, piles, cards, or one `BACK` for each cell.
    """
    title: str
    """What the page is, in words that fit the middle of a sentence. They are printed at the foot.
    """
    draw: Callable[[Pen], None]
    """Function that draws the page, without its foot."""
    landscape: bool = False


def kit_pages(kit: Kit, style: KitStyle, extras: Extras | None = None) -> Sequence[Page]:
    """Return the pages of a kit without printing them.

    `extras` are what the game prints besides board, pieces and cards. Raises `Malformed` if
    squares, cards or places for piles do not fit the paper, and ValueError if the kit has more
    equal pieces than markers for them.
    """
    paper = style.paper
    if style.low_ink:
        # only the sides' colours are lighter: markers and boards are printed as always
        sides = {
            seat: replace(side, rgb=tint(side.rgb, _LOW_INK_SHARE))
            for seat, side in kit.sides.items()
        }
        kit = replace(kit, sides=sides)
    width, height = PAPER_SIZES_MM[paper]
    tiling = tile_board(kit.board, width - 2 * MARGIN_MM, height - 2 * MARGIN_MM, FOOT_MM)
    with in_language(style.language):
        pages = list(_board_pages(kit, tiling, paper))
        if style.board_only:
            return pages
        extras = extras or Extras()
        pages += _tag_pages(kit, paper, extras)
        pages += _deck_pages(kit, paper, extras)
        draw = partial(
            draw_instructions,
            kit=kit,
            tiling=tiling,
            area=printable_area(paper, landscape=False),
            kinds=[page.kind for page in pages],
        )
        return [Page("instructions", ("instructions",), say("instructions"), draw), *pages]


def kit_pdf(
    kit: Kit, style: KitStyle, extras: Extras | None = None
) -> tuple[bytes, Sequence[Page]]:
    """Return the printable kit as a PDF, and its pages.

    Raises what `kit_pages` raises, and ValueError if the kit's notes do not fit the page of
    instructions.
    """
    pages = kit_pages(kit, style, extras)
    with in_language(style.language):
        pen = Pen(say("{game}: board and pieces", game=kit.title), low_ink=style.low_ink)
        for number, page in enumerate(pages, start=1):
            pen.start_page(*page_size(style.paper, page.landscape))
            page.draw(pen)
            draw_foot(
                pen,
                say("{game}: {sheet}", game=kit.title, sheet=page.title),
                say("Print at 100 %. The black and white bar is 100 mm long."),
                say("{page} of {pages}", page=number, pages=len(pages)),
            )
        return pen.to_pdf(), pages


def paper_for_whole_board(kit: Kit) -> Paper | None:
    """Return the smallest paper that holds the board without a joint, or None if none does."""
    board = board_extent(kit.board)
    for paper in PAPER_SIZES_MM:
        for landscape in (False, True):
            area = printable_area(paper, landscape)
            if board.width <= area.width and board.height <= area.height:
                return paper
    return None


def _board_pages(kit: Kit, tiling: Tiling, paper: Paper) -> Iterator[Page]:
    """Yield the pages of the board, row by row from South."""
    area = printable_area(paper, tiling.landscape)
    for board_page in tiling.pages:
        name = "board"
        title = say("board")
        if tiling.page_count > 1:
            name = f"board {board_page.label}"
            last = tiling.pages[-1].label
            title = say("board {page} of A1-{last}", page=board_page.label, last=last)
        draw = partial(draw_board, kit=kit, tiling=tiling, page=board_page, area=area)
        yield Page("board", (name,), title, draw, tiling.landscape)


def _tag_pages(kit: Kit, paper: Paper, extras: Extras) -> Iterator[Page]:
    """Yield the pages of pieces, then pages for the parts that do not fit below the pieces."""
    area = printable_area(paper, landscape=False)
    pages = tag_pages(kit, page_parts(kit, extras, area), area)
    tag_page_count = sum(page.has_tags for page in pages)
    for number, page in enumerate(pages, start=1):
        kind = "extras"
        head = say("For the table")
        foot = say("for the table")
        if page.has_tags:
            kind = "pieces"
            head = say("Pieces")
            foot = say("pieces")
            if tag_page_count > 1:
                head = say("Pieces, {number} of {pages}", number=number, pages=tag_page_count)
        draw = partial(draw_tag_page, page=page, kit=kit, title=head, area=area)
        yield Page(kind, page.names, foot, draw)


def _deck_pages(kit: Kit, paper: Paper, extras: Extras) -> Iterator[Page]:
    """Yield the places for piles, then cards and their backs in turn.

    The score sheet is beside a seat's own piles. Nothing is yielded for a kit without cards.
    """
    deck = kit.deck
    if deck is None:
        return
    area = printable_area(paper, landscape=True)
    for page in pile_pages(kit, deck, area):
        names = tuple(
            f"lane {lane} {pile}" if lane else str(pile) for lane, piles in page for pile in piles
        )
        draw_sheet = None
        # the page of a seat's own piles has space for the score sheet
        if extras.aids and not page[0].lane:
            names = (*names, "score sheet")
            draw_sheet = partial(draw_score_sheet, kit=kit)
        draw = partial(
            draw_pile_page, kit=kit, deck=deck, page=page, area=area, draw_beside=draw_sheet
        )
        yield Page("places", names, pile_page_title(page), draw, landscape=True)
    grid = card_grid(deck, paper)
    per_page = len(grid.cells)
    starts = range(0, len(deck.cards), per_page)
    fronts = [deck.cards[start : start + per_page] for start in starts]
    for number, cards in enumerate(fronts, start=1):
        # spare cells on the last page of cards hold the rules in brief
        notes = extras.shared_points if number == len(fronts) else ()
        draw = partial(draw_fronts, deck=deck, grid=grid, cards=cards, notes=notes)
        yield Page(
            "cards",
            tuple(card.name for card in cards),
            say("cards, {number} of {pages}", number=number, pages=len(fronts)),
            draw,
            grid.landscape,
        )
        yield Page(
            "backs",
            (BACK,) * per_page,
            say("backs, {number} of {pages}", number=number, pages=len(fronts)),
            partial(draw_backs, grid=grid),
            grid.landscape,
        )
