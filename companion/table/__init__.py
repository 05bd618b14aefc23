"""The live table: one owner thread, a pure reducer, what the board says, and what each may know of
it.

May import `core` and `games`.
"""
