"""Helpers: fixtures of a league for the tests of this folder."""

from league_fixtures import clock, free_tables, league

__all__ = ["clock", "free_tables", "league"]
