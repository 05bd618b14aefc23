"""The pose of the board: lens models, the pose from markers, and its uncertainty.

May import `companion.core` and `vision`.
"""
