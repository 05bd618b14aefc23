"""Orders that lie as tiles behind walls: how the camera reads them, and how every picture that is
kept leaves them out.

Knows `companion.core` alone, and the pose of the board.
"""
