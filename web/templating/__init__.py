"""What templates are given: functions and filters, small drawings and words, and the stylesheets and scripts they name.

May import what `web` may.
"""
