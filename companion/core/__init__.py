"""Foundations used by all other packages: errors, squares, kits, time, settings, languages,
drawings, ports.

Imports no other package of the project.
"""
