"""A league for every test of this folder that asks for one."""

from league_fixtures import clock, free_tables, league

__all__ = ["clock", "free_tables", "league"]
