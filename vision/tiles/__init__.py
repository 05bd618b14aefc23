"""Orders that players lay as tiles beside the board, behind walls that hide them from each other.

The camera reads the tiles on request. Every picture that is kept or shown leaves them out, because
orders are secret until the reveal.

May import `companion.core` and the pose of the board.
"""
