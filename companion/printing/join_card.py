"""The table card, folded like a tent, by which phones find the table: a QR code and addresses.

Both halves of the card are the same, and the upper one is upside down, so that both seats can read
the folded card. All lengths are in mm, and offsets without a name were chosen by eye.
"""

from __future__ import annotations

from collections.abc import Sequence

import segno

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.core.network import Wifi, seat_url, short_url
from companion.printing.pdf_pen import PALE_INK, Pen
from companion.printing.shared_drawings import draw_bar
from companion.printing.tiling import Paper, page_size

# Margin around each half of the card.
_MARGIN_MM = 12.0
# Size of a QR code, without the white around it.
_QR_MM = 58.0
# White around a QR code. It has to be as wide as four modules (ISO/IEC 18004), which it is for
# codes of 29 modules or more. Very short addresses make codes of 25 modules, which have a little
# less.
_QUIET_MM = 8.5


def join_card_pdf(addresses: Sequence[str], wifi: Wifi | None, paper: Paper) -> bytes:
    """Return the card as a PDF, in the current language. Raises `Malformed` without an address.

    :param addresses: URLs of the table screen, the best one first, each with its trailing slash
    :param wifi: network that phones have to join first, or None
    """
    if not addresses:
        raise Malformed(say("There is no address to print: connect the companion to a network"))
    width, height = page_size(paper, landscape=False)
    pen = Pen(say("Table card"))
    pen.start_page(width, height)
    pen.fold((0, height / 2), (width, height / 2))
    # the second half is upside down: once folded, the card is read from both sides
    for _ in pen.both_ways(width, height):
        _draw_half(pen, width, height / 2, addresses, wifi)
    return pen.to_pdf()


def _draw_half(
    pen: Pen, width: float, height: float, addresses: Sequence[str], wifi: Wifi | None
) -> None:
    """Draw one half of the card, with the origin at its lower left corner."""
    left = _MARGIN_MM
    right = width - _MARGIN_MM
    top = height - _MARGIN_MM
    draw_bar(pen, left, right, top)
    pen.text(left, top - 14, say("Sit down at the table"), 13, bold=True, max_width_mm=right - left)

    # (x, code_y) is the lower left corner of the next code
    code_y = top - 34 - _QR_MM
    x = left
    if wifi:
        network = say("Network {name}", name=wifi.name)
        password = (
            say("Password {password}", password=wifi.password)
            if wifi.password
            else say("No password")
        )
        _draw_code(
            pen, x, code_y, wifi.qr_text, title=say("1. Join the Wi-Fi"), lines=(network, password)
        )
        x += (right - left) / 2
    best = addresses[0]
    title = say("2. Scan this") if wifi else say("Scan this")
    south, north = (short_url(seat_url(best, seat)) for seat in SEATS)
    seats = say("South: {address}", address=south), say("North: {address}", address=north)
    _draw_code(pen, x, code_y, f"{best}join", title=title, lines=seats)

    # without a second code there is space for addresses to type
    if not wifi:
        x += _QR_MM + 12
        _draw_addresses(pen, x, top - 24, right - x, addresses)

    words = say("Table screen: {address}", address=short_url(best))
    pen.text(left, 9, words, 4.0, colour=PALE_INK, max_width_mm=right - left)


def _draw_addresses(
    pen: Pen, x: float, y: float, width_mm: float, addresses: Sequence[str]
) -> None:
    """Draw, below y, up to three addresses that people can type, between two lines of text."""
    words = say("Or open one of these in a browser on the same network:")
    y = pen.paragraph(x, y, width_mm, words, 4.6)
    # the best address is set largest
    for address, size_mm in zip(addresses, (8.0, 5.6, 5.6), strict=False):
        y -= 11
        words = short_url(f"{address}join")
        pen.text(x, y, words, size_mm, bold=True, max_width_mm=width_mm)
    words = say("One tap takes a seat. To watch only, choose “Watch”.")
    pen.paragraph(x, y - 5, width_mm, words, 4.6)


def _draw_code(
    pen: Pen, x: float, y: float, text: str, *, title: str, lines: Sequence[str]
) -> None:
    """Draw a QR code of `text` with its title above it and its lines below it.

    (x, y) is the lower left corner of the code.
    """
    pen.text(x, y + _QR_MM + _QUIET_MM, title, 5.6, bold=True, max_width_mm=_QR_MM + 14)
    code = segno.make(text, error="m", micro=False)
    pen.square_code([bytes(row) for row in code.matrix], x, y, _QR_MM)
    for number, line in enumerate(lines, start=1):
        pen.text(x, y - _QUIET_MM - 2 - 6.2 * (number - 1), line, 4.6, max_width_mm=_QR_MM + 16)
