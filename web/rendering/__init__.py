"""How the table is drawn for a browser: boards, pieces, cards, overlays, JSON.

May import what `web` may.
"""
