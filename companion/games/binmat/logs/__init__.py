"""Recorded games: their notation, the position as far as a log tells it, and combats held against the rules."""
