"""Connections and streams: server-sent events and the web server that carries them.

May import what `web` may.
"""
