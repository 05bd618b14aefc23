"""Orders that players lay as tiles beside the board, behind walls that hide them from each other.

The camera reads them on request, and every picture that is kept or shown leaves them out.

May import `companion.core` and the pose of the board.
"""
