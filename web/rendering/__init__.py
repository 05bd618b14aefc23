"""Drawings and JSON for browsers: boards, pieces, cards, overlays.

May import what `web` may.
"""
