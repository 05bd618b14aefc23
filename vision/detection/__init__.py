"""Detection in pictures: markers, movement, foreign objects.

May import `companion.core` and `vision`.
"""
