"""Open cards in the zones of a board: fans, what hides them, and what stays unknown.

May import `companion.core` and `vision`.
"""
