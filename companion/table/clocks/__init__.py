"""The clocks of a turn as values, and when they want something of the table.

May import what `companion.table` may.
"""
