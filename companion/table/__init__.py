"""The live table: its owner thread, the pure reducer, the board check, and the views for each
viewer.

May import `core` and `games`.
"""
