"""The JSON API: what pages and programs ask of the table, by who may ask. Every body is read
strictly.

May import what `web.routes` may.
"""
