"""What is found in a picture: markers, movement, foreign objects.

May import `companion.core` and `vision`.
"""
