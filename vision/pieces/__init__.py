"""From markers to layouts: which piece lies on which square, and which squares cannot be told.

May import `companion.core` and `vision`.
"""
