"""Tools for developers: self-play with the whole service, and a check of a game for its author.

May import everything except `cli`.
"""
