"""Diagnosis: probes of the machine, and the findings that doctor, pages and `/health` show.

May import everything below: `core` up to `archive` and `printing`, not `maintenance`.
"""
