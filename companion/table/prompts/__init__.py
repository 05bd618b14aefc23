"""The prompts of the table: each viewer's sign, the guide of a lesson, and faulty rows of tiles.

May import what `companion.table` may.
"""
