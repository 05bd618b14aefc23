"""The seats: drafts on a pad, the players of each seat, calls for the staff.

May import what `table` may.
"""
