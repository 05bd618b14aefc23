"""What people do beside handing in orders: begin games, move a turn on, or back.

May import what `companion.table` may.
"""
