"""Points and simple shapes as SVG.

A point or a vector is a complex number: x to the right, y down. Multiplying by 1j rotates it
clockwise by a quarter turn, and multiplying by a number of length 1 rotates it by any angle.
Colours come from the style sheet through classes.
"""

from __future__ import annotations

from markupsafe import Markup, escape

from companion.core.i18n import translate


def xy(point: complex, number_format: str = "g") -> str:
    """Format a point for an SVG path, such as `12.5 -3`."""
    # adding 0 turns -0.0 into 0.0, which would be written as "-0"
    x = point.real + 0
    y = point.imag + 0
    return f"{x:{number_format}} {y:{number_format}}"


def box_attributes(corner: complex, size: complex) -> str:
    """Return the attributes of a rectangle by its upper left corner and its size."""
    place = f'x="{corner.real:g}" y="{corner.imag:g}"'
    return f'{place} width="{size.real:g}" height="{size.imag:g}"'


def circle(classes: str, centre: complex, radius: float, attributes: str = "") -> str:
    """Draw a circle."""
    shape = f'cx="{centre.real:g}" cy="{centre.imag:g}" r="{radius:g}"'
    return f'<circle class="{classes}" {shape}{attributes}/>'


def text(words: object, at: complex, attributes: str = "") -> str:
    """Draw text at a point of its base line. `words` must be escaped already."""
    return f'<text{attributes} x="{at.real:g}" y="{at.imag:g}">{words}</text>'


def use(
    drawing: str, centre: complex, size: float, classes: str = "", *, degrees: float = 0
) -> str:
    """Insert a drawing that the page defines once, centred on a point and rotated clockwise."""
    box = box_attributes(centre - size * (0.5 + 0.5j), size * (1 + 1j))
    class_attribute = f' class="{classes}"' if classes else ""
    rotation = f' transform="rotate({degrees:g} {xy(centre)})"' if degrees else ""
    return f'<use href="#{drawing}" {box}{class_attribute}{rotation}/>'


def unit_vector(vector: complex) -> complex:
    """Return the unit vector in the same direction, or 0 for 0."""
    return vector / (abs(vector) or 1)


def labelled_svg(classes: str, box: str, words: str, content: str, attributes: str = "") -> Markup:
    """Return a whole drawing, with a description in the current language for screen readers."""
    label = escape(translate(words))
    return Markup(
        f'<svg class="{classes}" viewBox="{box}" role="img" '
        f'aria-label="{label}"{attributes}>{content}</svg>'
    )


def decorative_svg(classes: str, box: str, content: str, attributes: str = "") -> Markup:
    """Return a whole drawing that is hidden from screen readers, because text says the same."""
    return Markup(
        f'<svg class="{classes}" viewBox="{box}" aria-hidden="true"{attributes}>{content}</svg>'
    )
