"""What everybody may know of the table, as messages that leave it: their form, and how they are
made.
"""
