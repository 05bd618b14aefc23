"""Functions, filters, icons and phrases for templates.

May import what `web` may.
"""
