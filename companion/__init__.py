"""Tabletop Companion: the referee beside a real board game table."""

__version__ = "0.1.0"
