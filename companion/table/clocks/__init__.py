"""The clocks of a turn as values, and their deadlines.

May import what `companion.table` may.
"""
