"""Points and simple shapes as SVG.

A point, or a way from one to another, is a complex number: x to the right, y down. So a quarter
turn clockwise is a factor of 1j, and a turn by any angle a factor of length 1. Colours come from
the style sheet through classes.
"""

from __future__ import annotations

from markupsafe import Markup, escape

from companion.core.i18n import translate


def xy(point: complex, places: str = "g") -> str:
    """Return a point as a path has it, such as `12.5 -3`. `places` is the format of its numbers."""
    return f"{point.real + 0:{places}} {point.imag + 0:{places}}"  # + 0: no "-0"


def area(corner: complex, size: complex) -> str:
    """Return the attributes of a rectangle with this upper left corner."""
    x, y, width, height = corner.real, corner.imag, size.real, size.imag
    return f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'


def circle(classes: str, centre: complex, radius: float, attributes: str = "") -> str:
    """Draw a circle."""
    place = f'cx="{centre.real:g}" cy="{centre.imag:g}" r="{radius:g}"'
    return f'<circle class="{classes}" {place}{attributes}/>'


def text(words: object, at: complex, attributes: str = "") -> str:
    """Draw words that are safe as they are, with their base line through a point."""
    return f'<text{attributes} x="{at.real:g}" y="{at.imag:g}">{words}</text>'


def use(
    drawing: str, centre: complex, size: float, classes: str = "", *, degrees: float = 0
) -> str:
    """Draw a drawing centred on a point, turned clockwise."""
    place = area(centre - size * (0.5 + 0.5j), size * (1 + 1j))
    styled = f' class="{classes}"' if classes else ""
    turned = f' transform="rotate({degrees:g} {xy(centre)})"' if degrees else ""
    return f'<use href="#{drawing}" {place}{styled}{turned}/>'


def unit(way: complex) -> complex:
    """Return a way of length 1 in the same direction."""
    return way / (abs(way) or 1)


def labelled_svg(classes: str, box: str, words: str, content: str, attributes: str = "") -> Markup:
    """Return a whole drawing, with words in the language spoken now for those who do not see it."""
    label = escape(translate(words))
    return Markup(
        f'<svg class="{classes}" viewBox="{box}" role="img" '
        f'aria-label="{label}"{attributes}>{content}</svg>'
    )


def ornament(classes: str, box: str, content: str, attributes: str = "") -> Markup:
    """Return a whole drawing that says nothing beyond the text beside it."""
    return Markup(
        f'<svg class="{classes}" viewBox="{box}" aria-hidden="true"{attributes}>{content}</svg>'
    )
