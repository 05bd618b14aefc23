"""The rules of a game as a booklet: A5 (or half Letter) pages, two on a sheet, in the order in which they are folded.

Printed on both sides and turned over the short edge, the sheets are laid on each other, folded in the middle and
stapled. Paragraphs have the numbers of the rules page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from companion.core.i18n import joined, say, speaking
from companion.core.kit import SEATS, Face, Kit, Layout
from companion.games.base import Game, Illustration, OptionRow, Rule
from companion.games.pads import Key
from companion.games.spelling import first_keys
from companion.printing.kit_pages.aid_pages import print_score_sheet
from companion.printing.kit_pages.board_pages import seat_words
from companion.printing.kit_pages.sheets import SIZES_MM, Paper, require_known

if TYPE_CHECKING:
    from companion.printing.pdf_pen import Pen

_OUTER_MM, _FOLD_MM, _TOP_MM, _FOOT_MM = 10.0, 12.0, 11.0, 13.0
_SIZES_MM = (3.9, 3.7, 3.5, 3.3, 3.1, 2.9, 2.7)
"""Sizes of the text; the largest with which the rules need no more sheets than with `_PLAIN_MM` is taken."""
_PLAIN_MM = 3.3
_NUMBER_MM, _GAP_MM, _WIDEST_GAP_MM = 8.0, 3.2, 8.0
_FIGURE_MM, _SUM_MM, _CAPTION_MM = (46.0, 52.0), 7.0, 2.8
_NAME_MM = 2.9


@dataclass(frozen=True)
class Booklet:
    """What a booklet is made of: the game, its board at the beginning, and the pictures of its rules by their ids."""

    game: Game[Any, Any]
    kit: Kit
    start: Layout
    pictures: Mapping[str, Illustration]


@dataclass(frozen=True)
class _Block:
    """Something that stays together on a page: its height, mm, and what draws it with the origin at its upper left."""

    height: float
    draw: Callable[[Pen], None]


_Leaf = Sequence[_Block]
"""One page of the booklet."""


def imposed(pages: int) -> list[tuple[int, int]]:
    """Which pages stand left and right on each side of each sheet, fronts and backs in turn.

    Raises ValueError unless the pages fill whole sheets.

    >>> imposed(8)
    [(8, 1), (2, 7), (6, 3), (4, 5)]
    """
    if pages % 4 or pages <= 0:
        raise ValueError(f"{pages} pages do not fill sheets of four")
    sides = []
    for side in range(pages // 2):
        low, high = side + 1, pages - side
        sides.append((high, low) if side % 2 == 0 else (low, high))
    return sides


def booklet_pdf(booklet: Booklet, paper: Paper = "a4", language: str = "en") -> bytes:
    """The booklet as a PDF; raises `Malformed` for an unknown paper or language."""
    require_known(paper, language)
    with speaking(language):
        return _print(booklet, paper)


def booklet_sheets(booklet: Booklet, paper: Paper = "a4", language: str = "en") -> int:
    """How many sheets the booklet has, each printed on both sides."""
    require_known(paper, language)
    with speaking(language):
        return len(_leaves(booklet, *_room(paper))) // 4


def _room(paper: Paper) -> tuple[float, float]:
    """Width and height of what is printed on a page, mm."""
    height, width = SIZES_MM[paper]
    return width / 2 - _OUTER_MM - _FOLD_MM, height - _TOP_MM - _FOOT_MM


def _print(booklet: Booklet, paper: Paper) -> bytes:
    # The PDF libraries take a tenth of a second to import and are needed here only.
    from companion.printing.pdf_pen import HAIR_MM, INK_2, Pen  # noqa: PLC0415  imported late on purpose, see above

    height, width = SIZES_MM[paper]
    half, title = width / 2, booklet.game.title
    room = _room(paper)
    leaves = _leaves(booklet, *room)
    pen = Pen(height, width, say("Rules of {game}", game=title))
    for number, (left, right) in enumerate(imposed(len(leaves))):
        pen.page(landscape=True)
        for page, x in ((left, _OUTER_MM), (right, half + _FOLD_MM)):
            with pen.at(x, height - _TOP_MM):
                _leaf(pen, leaves[page - 1], room[1])
            if page > 1:
                middle = x + room[0] / 2
                pen.text(middle, 5.2, str(page), 3.4, bold=True, anchor="middle")
        if number == 0:
            for low, high in ((0, 6), (height - 6, height)):
                pen.line((half, low), (half, high), width=2 * HAIR_MM, colour=INK_2, dash=(1.2, 0.8))
            for y in (0.25 * height, 0.75 * height):
                pen.line((half, y - 6), (half, y + 6), width=2 * HAIR_MM, colour=INK_2)
    return pen.bytes()


def _leaf(pen: Pen, blocks: _Leaf, height: float) -> None:
    """A page: what its blocks leave over stands between them, as far as they still belong together."""
    y, gap = 0.0, _GAP_MM
    if len(blocks) > 1:
        gap = min(_WIDEST_GAP_MM, (height - sum(block.height for block in blocks)) / (len(blocks) - 1))
    for block in blocks:
        with pen.at(0, y):
            block.draw(pen)
        y -= block.height + gap


# ---- what stands on which page ----------------------------------------------------------------------------------


def _leaves(booklet: Booklet, width: float, height: float) -> list[_Leaf]:
    """Cover, then everything else, as many sheets as plain text needs, in the largest text.

    What is left over, a third of a page or whole ones, are score sheets; a whole last one is for notes.
    """

    def flowed(size: float) -> list[_Leaf]:
        *others, last = _evenly(list(_blocks(booklet, width, size)), height)
        rest = height - sum(block.height + _GAP_MM for block in last)
        if rest > height / 3:
            last = [*last, _scores(booklet.kit, width, rest)]
        return [[_cover(booklet, width, height)], *others, last]

    sheets = -(-len(flowed(_PLAIN_MM)) // 4)
    fitting = (leaves for size in _SIZES_MM if len(leaves := flowed(size)) <= 4 * sheets)
    leaves = next(fitting)
    if not (free := 4 * sheets - len(leaves)):
        return leaves
    return [*leaves, *[[_scores(booklet.kit, width, height)]] * (free - 1), [_notes(width, height)]]


def _evenly(blocks: list[_Block], height: float) -> list[_Leaf]:
    """Blocks on as few pages as they need, all pages but the last as full as can be, none much emptier than another."""
    tall = [block.height + _GAP_MM for block in blocks]

    @cache
    def best(first: int, pages: int) -> tuple[float, tuple[int, ...]]:
        """How much the blocks from `first` on leave over, the squares of it added up, and where their pages end."""
        used = 0.0
        found: tuple[float, tuple[int, ...]] = (math.inf, (len(blocks),))
        for end in range(first + 1, len(blocks) + 1):
            used += tall[end - 1]
            if used > height + _GAP_MM and end > first + 1:
                break
            if pages == 1 and end == len(blocks):
                return 0.0, (end,)
            if pages > 1:
                waste, ends = best(end, pages - 1)
                found = min(found, (waste + max(0.0, height - used) ** 2, (end, *ends)))
        return found

    ends = best(0, len(list(_flow(blocks, height))))[1]
    return [blocks[first:end] for first, end in pairwise((0, *ends))]


def _flow(blocks: list[_Block], height: float) -> Iterator[_Leaf]:
    """Blocks on as many pages as they need; one that is higher than a page stands alone."""
    page: list[_Block] = []
    used = 0.0
    for block in blocks:
        if page and used + block.height > height:
            yield page
            page, used = [], 0.0
        page.append(block)
        used += block.height + _GAP_MM
    if page:
        yield page


def _blocks(booklet: Booklet, width: float, size: float) -> Iterator[_Block]:
    game, kit = booklet.game, booklet.kit
    if kit.deck:
        yield _titled(say("Suits"), _suits(kit, width))
    if kit.faces:
        yield _titled(say("Pieces"), _pieces(kit, width))
    if keys := first_keys(game):
        yield _titled(say("Orders"), _orders(keys, width))
    for number, rule in enumerate(game.rules, start=1):
        yield _paragraph(number, rule, booklet.pictures.get(rule.id), width, size)
    rows = [_option(row, width, size) for row in game.option_rows]
    if rows:
        yield _titled(say("Options"), rows[0])
        yield from rows[1:]


# ---- blocks -----------------------------------------------------------------------------------------------------


def _cover(booklet: Booklet, width: float, height: float) -> _Block:
    return _Block(height, partial(_draw_cover, booklet=booklet, width=width, height=height))


def _draw_cover(pen: Pen, booklet: Booklet, width: float, height: float) -> None:
    """Title, what it is about, the board at the beginning, and who is who."""
    from companion.printing.figures import print_start  # noqa: PLC0415  imported late, with the pen
    from companion.printing.pdf_pen import BAR_MM  # noqa: PLC0415  imported late, with the pen

    game, kit = booklet.game, booklet.kit
    pen.line((0, -BAR_MM / 2), (width, -BAR_MM / 2), width=BAR_MM)
    pen.text(0, -16, game.title, 17, bold=True, room=width)
    y = pen.paragraph(0, -20, width, joined("", [game.summary, "."]), 4.6)
    low = -height + 16
    with pen.at(0, low):
        print_start(pen, kit, booklet.start, width, y - low - 5)
    for seat, x in zip(SEATS, (0.0, width / 2), strict=True):
        side = kit.sides[seat]
        pen.drawing(side.drawing, x, -height, 10, side)
        pen.text(x + 12.5, -height + 3.4, seat_words(kit, seat), 4.2, bold=True, room=width / 2 - 15)


def _scores(kit: Kit, width: float, height: float) -> _Block:
    """A score sheet, as long as the page; its origin is at its lower left."""
    return _Block(height, partial(_draw_scores, kit=kit, width=width, height=height))


def _draw_scores(pen: Pen, kit: Kit, width: float, height: float) -> None:
    with pen.at(0, -height):
        print_score_sheet(pen, height, kit=kit, width=width)


def _notes(width: float, height: float) -> _Block:
    return _Block(height, partial(_draw_notes, width=width, height=height))


def _draw_notes(pen: Pen, width: float, height: float) -> None:
    """Lines to write on."""
    from companion.printing.pdf_pen import RULE  # noqa: PLC0415  imported late, with the pen

    pen.text(0, -5, say("Notes"), 5.2, bold=True)
    for line in range(2, int(height / 9)):
        pen.line((0, -9.0 * line), (width, -9.0 * line), width=0.2, colour=RULE)


def _titled(title: str, block: _Block) -> _Block:
    """A block below its heading."""
    return _Block(block.height + 9, partial(_draw_titled, title=title, block=block))


def _draw_titled(pen: Pen, title: str, block: _Block) -> None:
    pen.text(0, -5, title, 5.2, bold=True)
    with pen.at(0, -9):
        block.draw(pen)


def _grid(cells: Sequence[Callable[[Pen], None]], columns: int, width: float, high: float) -> _Block:
    """Equal cells in rows; each is drawn with the origin at its upper left."""

    def draw(pen: Pen) -> None:
        for number, cell in enumerate(cells):
            with pen.at(number % columns * width / columns, -(number // columns) * high):
                cell(pen)

    return _Block(-(-len(cells) // columns) * high, draw)


def _pieces(kit: Kit, width: float) -> _Block:
    columns = 2 if len(kit.faces) <= 8 else 3
    cells = [partial(_draw_piece, kit=kit, face=face, width=width / columns) for face in kit.faces]
    return _grid(cells, columns, width, 10.0)


def _draw_piece(pen: Pen, kit: Kit, face: Face, width: float) -> None:
    from companion.printing.kit_pages.tag_faces import print_picture  # noqa: PLC0415  imported late, with the pen

    side = kit.sides[face.seat] if face.seat else None
    with pen.at(4.4, -4.6):
        print_picture(pen, face, 8.4, side)
    pen.text(11, -5.7, face.name, _NAME_MM, room=width - 12.5)


def _orders(keys: Sequence[Key], width: float) -> _Block:
    return _grid([partial(_draw_key, key=key, width=width / 3) for key in keys], 3, width, 10.0)


def _draw_key(pen: Pen, key: Key, width: float) -> None:
    from companion.printing.pdf_pen import INK, text_width  # noqa: PLC0415  imported late, with the pen

    pen.drawing(key.drawing, 1, -8, 6.6, None, fill=INK)
    letter = pen.text(11, -5.7, key.initial or key.letter, 3.6, bold=True)
    room = width - letter - 14
    if text_width(key.label, _NAME_MM) <= 1.15 * room:
        pen.text(12.5 + letter, -5.7, key.label, _NAME_MM, room=room)
    else:
        pen.paragraph(12.5 + letter, -1.6, room, key.label, 0.8 * _NAME_MM)


def _suits(kit: Kit, width: float) -> _Block:
    """Each suit's drawing, and the values of one suit."""
    cards = kit.deck.cards if kit.deck else ()
    suits = [card for card in cards if card.value == cards[0].value]
    values = "  ".join(card.value for card in cards if card.suit == cards[0].suit)

    def draw(pen: Pen) -> None:
        from companion.printing.pdf_pen import INK  # noqa: PLC0415  imported late, with the pen

        for place, card in enumerate(suits):
            x = place * width / len(suits)
            pen.drawing(card.drawing, x, -8, 7, None, fill=INK)
        pen.text(0, -15, values, 4.6, bold=True, room=width)

    return _Block(18.0, draw)


def _paragraph(number: int, rule: Rule, picture: Illustration | None, width: float, size: float) -> _Block:
    """A numbered paragraph, at its right the picture with its caption where there is one."""
    from companion.printing.pdf_pen import LEADING, broken  # noqa: PLC0415  imported late, with the pen

    beside = 0.0
    if picture:
        lines = len(broken(picture.caption, _FIGURE_MM[0], _CAPTION_MM))
        beside = _figure_height(picture) + 1.6 + LEADING * _CAPTION_MM * lines
    text = _round_picture(rule.text, width - _NUMBER_MM, size, beside)
    head = LEADING * (size + 1) * len(broken(rule.title, width - _NUMBER_MM, size + 1, bold=True))
    draw = partial(_draw_paragraph, number=number, rule=rule, text=text, picture=picture, width=width, size=size)
    return _Block(head + max(LEADING * size * len(text), beside), draw)


def _round_picture(words: str, width: float, size: float, beside: float) -> list[str]:
    """The lines of a text: narrow ones beside a picture of that height with its caption, the others wide."""
    from companion.printing.pdf_pen import LEADING, broken  # noqa: PLC0415  imported late, with the pen

    if not beside:
        return broken(words, width, size)
    narrow = broken(words, width - _FIGURE_MM[0] - 4, size)
    count = math.ceil(beside / (LEADING * size))
    return [*narrow[:count], *broken(" ".join(narrow[count:]), width, size)]


def _draw_paragraph(
    pen: Pen, *, number: int, rule: Rule, text: list[str], picture: Illustration | None, width: float, size: float
) -> None:
    from companion.printing.figures import print_figure, print_sum  # noqa: PLC0415  imported late, with the pen
    from companion.printing.pdf_pen import INK_2, LEADING, RULE  # noqa: PLC0415  imported late, with the pen

    pen.line((0, 0.8), (width, 0.8), width=0.25, colour=RULE)
    pen.text(0, -(size + 1) * 0.98, str(number), size + 1, bold=True)
    y = pen.paragraph(_NUMBER_MM, 0, width - _NUMBER_MM, rule.title, size + 1, bold=True)
    for place, line in enumerate(text, start=1):
        pen.text(_NUMBER_MM, y - place * LEADING * size + (LEADING - 1) * size, line, size)
    if picture:
        wide, high = _FIGURE_MM[0], _figure_height(picture)
        sums = _SUM_MM * len(picture.tallies)
        x = width - wide
        if not picture.kit.deck:
            with pen.at(x, y - high + sums - 0.6):
                print_figure(pen, picture, wide, high - sums)
        for place, tally in enumerate(picture.tallies, start=1):
            with pen.at(x, y - high + sums - _SUM_MM * place - 0.6):
                print_sum(pen, picture.kit, tally, wide)
        pen.paragraph(x, y - high - 1.2, wide, picture.caption, _CAPTION_MM, colour=INK_2)


def _figure_height(picture: Illustration) -> float:
    """Height of a board, if one is shown, and of the sums below it, mm."""
    from companion.printing.figures import figure_size  # noqa: PLC0415  imported late, with the pen

    board = 0.0 if picture.kit.deck else figure_size(picture.kit, *_FIGURE_MM)[1]
    return board + _SUM_MM * len(picture.tallies)


def _option(row: OptionRow, width: float, size: float) -> _Block:
    from companion.printing.pdf_pen import LEADING, broken  # noqa: PLC0415  imported late, with the pen

    words = option_words(row)
    height = LEADING * size * (1 + len(broken(words, width, size)))

    def draw(pen: Pen) -> None:
        y = pen.paragraph(0, 0, width, row.title, size, bold=True)
        pen.paragraph(0, y, width, words, size)

    return _Block(height, draw)


def option_words(row: OptionRow) -> str:
    """What an option means and how it is delivered."""
    delivered = say("Default: {choice}.", choice=row.choices[0][0])
    return joined(" ", [row.sentence, delivered, say("A house rule.") if row.house_rule else ""])
