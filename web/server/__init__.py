"""The web server and its streams of server-sent events.

May import what `web` may.
"""
