"""Open cards in the zones of a board: fans, what hides them, and what cannot be told.

May import `companion.core` and `vision`.
"""
