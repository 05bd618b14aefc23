"""What a picture shows of squares: their paper, outlines and shadows, and which are empty.

May import `companion.core` and `vision`.
"""
