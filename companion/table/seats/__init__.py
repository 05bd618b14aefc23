"""What belongs to the seats: drafts on a pad, who sits where, calls for the staff.

May import what `table` may.
"""
