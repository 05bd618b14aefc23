"""Where the board is: lens models, the pose from its markers, and how certain that is.

May import `companion.core` and `vision`.
"""
