"""The ground that everything stands on: errors, squares, kits, time, settings, languages, drawings,
ports.

Imports nothing of the project but itself.
"""
