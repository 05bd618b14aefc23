"""From markers to layouts: which piece lies on which square, and which squares are unknown.

May import `companion.core` and `vision`.
"""
