"""Types of the fields in requests, and the base class of their bodies.

All are parsed strictly: an unknown field or a value of another type is refused.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

# A name, code or other short field.
ShortText = Annotated[str, Meta(max_length=200)]
# An action in the notation. Those of some games are long.
LongText = Annotated[str, Meta(max_length=4000)]

# Part of a route's address that names a seat. The route's method gets the name as `seat`.
SEAT_PART = "<any(south, north):seat>"


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of all request bodies. Empty by itself."""
