"""What everybody may know of the table, as messages for other programs: their types, and how they
are made.
"""
