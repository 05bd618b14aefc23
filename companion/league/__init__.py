"""People, results, ratings and tournaments of a hub.

The rules are pure functions on values. One SQLite file stores them. `companion.hub_server` opens
the league, and `web.hub` shows it.
"""
