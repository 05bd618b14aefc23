"""`companion hub`: run a hub, let this table join one, and direct what its people play.

Nothing is imported here: a command brings only what it needs.
"""
