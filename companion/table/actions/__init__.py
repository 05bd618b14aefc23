"""What people do beside handing in orders, and what devices tell: begin games, move a turn on, or back.

May import what `companion.table` may.
"""
