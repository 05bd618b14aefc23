"""Orders laid as tiles behind walls: how the camera reads them, and how kept pictures leave them
out.

May import `companion.core` and the pose of the board.
"""
