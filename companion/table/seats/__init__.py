"""What belongs to the seats: drafts on a pad, claims to a pad's seat, calls for the staff.

May import what `table` may.
"""
