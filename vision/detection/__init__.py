"""Detection in pictures: markers, also from straight above, and what is noise on a still table.

May import `companion.core` and `vision`.
"""
