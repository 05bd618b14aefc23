"""What templates are given: functions and filters, small drawings and words.

May import what `web` may.
"""
