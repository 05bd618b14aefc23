"""Who may do what, how often, from where, and over TLS.

May import what `web` may.
"""
